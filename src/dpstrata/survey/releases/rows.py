"""The releases of a questionnaire: rows of answers are randomised, and rows or tables of them published.

The mathematics of rows is that of forms (``allocation/form_terms.py``); what differs here is who sees what.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from dpstrata.survey.releases.microdata import Microdata
from dpstrata.survey.releases.sums import Sums
from dpstrata.words.numbers import factor_up, plain_number, round_up

if TYPE_CHECKING:
    from dpstrata.survey.releases.base import Release

_FIXED = "forms are fixed before any answer is seen, and are the same in all strata"
_DEALT_IN_SECRET = (
    "every person in the sample gets one form, dealt at random as part of the secret draw, and nobody learns "
    "who got which"
)
_DEALT = "everyone gets one form, dealt at random before any answer is seen"
_FORMS = "the questionnaire, its forms, and how many people get each of them in each stratum"
_ROWS = "the number of rows in each stratum and of each form"
_WHO_GOT = "who got which form"


class _OfRows:
    """What is said of whole rows, whatever is published of them."""

    __slots__ = ()

    protected: ClassVar[str] = "a person's answers, all of them together,"

    def also_assumed(self, *, everyone: bool) -> tuple[str, ...]:
        """Say how forms come to people; where everyone is asked, each form alone keeps the promise."""
        return _FIXED, _DEALT if everyone else _DEALT_IN_SECRET


class RowMicrodata(_OfRows, Microdata):
    """Every randomised row is published."""

    __slots__ = ()

    noise_sd_of: ClassVar[str] = "the mean"
    published: ClassVar[str] = "a single randomised row"
    published_one: ClassVar[str] = "one randomised row"

    @property
    def who_noises(self) -> str:
        """Say that devices do."""
        return "devices send a person's row of answers as it is or a random one, and all rows are published"

    @property
    def noise_goes_to(self) -> str:
        """A row."""
        return "a row of answers"

    @property
    def assumption(self) -> str:
        """Say that the order of rows tells nothing."""
        return "randomised rows are shuffled or added up before anything is released"

    @property
    def also_public(self) -> tuple[str, ...]:
        """Name the forms, and how many rows there are."""
        return _FORMS, _ROWS

    def also_secret(self, *, everyone: bool) -> tuple[str, ...]:
        """Name who got which, as far as the sample hides anyone."""
        return () if everyone else (_WHO_GOT,)

    def against_the_office(self, largest: float, *, waves: int = 1) -> tuple[str, str]:
        """Say what one person's row tells."""
        factor = factor_up(math.exp(largest))
        return (
            "If rows are randomised before anyone else sees them, whoever sees a single row and knows who "
            "gave it can change their odds about all its answers together by a factor of at most "
            f"{factor} (local epsilon at most {round_up(largest, 2)}).",
            "If the office's list of who gave which row leaks, protection is limited to a factor of "
            f"{factor} for the whole row.",
        )

    def seen_in_words(self) -> str:
        """Name one person's row."""
        return "a person's randomised row, knowing who gave it"


class RowSums(_OfRows, Sums):
    """Tables of each form are published, with the office's noise."""

    __slots__ = ()

    budget_of: ClassVar[str] = "epsilon of a form"
    published: ClassVar[str] = "what is published of a form"
    published_one: ClassVar[str] = "one published form"
    told: ClassVar[str] = "counts"

    @property
    def noised_at(self) -> tuple[str, ...]:
        """On devices, or at the office where it gets raw rows."""
        return ("device", "office")

    @property
    def who_noises(self) -> str:
        """Name the layers."""
        return (
            "devices send a person's row of answers as it is or a random one, and the office noises the "
            "tables of each form"
        )

    @property
    def noise_goes_to(self) -> str:
        """A row."""
        return "a row of answers on the device"

    @property
    def assumption(self) -> str:
        """Say what the office must do."""
        return "the office publishes the noised tables of each form once, and no single row"

    @property
    def also_public(self) -> tuple[str, ...]:
        """Say that counts are published with tables."""
        return _FORMS, _ROWS

    def also_secret(self, *, everyone: bool) -> tuple[str, ...]:
        """Name who got which form, as above, beside what devices send and the office's noise."""
        return (*(() if everyone else (_WHO_GOT,)), *super().also_secret(everyone=everyone))

    def against_the_office(self, largest: float, *, waves: int = 1) -> tuple[str, str]:
        """Say what is left against the office, and if its file leaks."""
        assert self.device_epsilon is not None
        factor = factor_up(math.exp(self.device_epsilon))
        return (
            "A person's whole row of answers, with any numbers moved to a level next to them at random, is "
            "sent as it is or replaced by a random one on their own device: whoever sees what it sends, the "
            "office too, can change their odds about all the answers together by a factor of at most "
            f"{factor} (device epsilon = {plain_number(self.device_epsilon)}), however many questions the "
            "form has.",
            f"If the office's file leaks, protection is limited to a factor of {factor} for the whole row.",
        )

    def seen_in_words(self) -> str:
        """Name what has to be seen for the largest loss."""
        return "what a person's device sends, or a form's tables, knowing everyone who got that form"


OF_ROWS: dict[str, type[Release]] = {"microdata": RowMicrodata, "sums": RowSums}
