"""The releases of rows: a person's answers are randomised together, and rows or tables of them published.

The mathematics of rows is that of forms (``allocation/form_terms.py``); what differs here is what else can be
asked for, and who sees what.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpstrata.errors import InputError, option
from dpstrata.privacy.mechanisms.category_response import CategoryResponse
from dpstrata.survey.forms import (
    AUTO,
    are_chosen,
    as_forms,
    names_on,
    require_complete,
    require_partition,
    require_together,
)
from dpstrata.survey.goals import check_expected_mean, has_targets
from dpstrata.survey.releases import OPTION
from dpstrata.survey.releases.base import Release, one_target
from dpstrata.survey.releases.microdata import Microdata
from dpstrata.survey.releases.sums import Sums
from dpstrata.survey.targets import CV
from dpstrata.words.numbers import factor_up, plain_number, round_up

if TYPE_CHECKING:
    from dpstrata.survey.inputs import Inputs

ROWS = "randomized_response"  # what happens to a row, and the name of the noise in documents
# options that speak of a single answer, and what they are where nobody gave them
_OF_ONE_ANSWER: dict[str, Any] = {"local_epsilon_cap": None, "objective": "mean"}
# those that speak of one question, which may be the only one
_OF_ONE_QUESTION: dict[str, Any] = {
    "target_se": None,
    "target_margin": None,
    "target_cv": None,
    "expected_mean": None,
    "clip": False,
    "prior": None,
}
_INSTEAD = {
    "target_se": "give each question its own target_se (in an XLSForm: dp_target)",
    "target_margin": "give each question its own target_margin",
}

_FIXED = "forms are fixed before any answer is seen, and are the same in all strata"
_DEALT_IN_SECRET = (
    "every person in the sample gets one form, dealt at random as part of the secret draw, and nobody learns "
    "who got which"
)
_DEALT = "everyone gets one form, dealt at random before any answer is seen"
_FORMS = "the questionnaire, its forms, and how many people get each of them in each stratum"
_ROWS = "the number of rows in each stratum and of each form"
_WHO_GOT = "who got which form"


def are_rows(inputs: Inputs) -> bool:
    """Whether a person's answers are randomised together, as a row on a form.

    The only question of a survey is noised by any mechanism that fits it instead, unless its form is given,
    or it has categories whose counts are published.
    """
    counted = inputs.release == "sums" and inputs.questions[0].names and inputs.device_epsilon is not None
    return len(inputs.questions) > 1 or inputs.forms != AUTO or bool(counted)


def kind_of_rows(name: str, *, several: bool) -> type[Release]:
    """Return the form of release of rows, of one answer or several, that a value of the option asks for."""
    if name not in _KINDS:
        raise InputError(
            f"rows of answers are published as they are or as tables; use {option(OPTION, 'sums')} or "
            f"{option(OPTION, 'microdata')} instead of {option(OPTION, name)}.",
            argument=OPTION,
        )
    return _KINDS[name][several]


class _OfRows(Release):
    """What can be asked for, whatever is published of rows."""

    __slots__ = ()

    of_rows: ClassVar[bool] = True

    def settle(self, inputs: Inputs) -> None:
        """Give the only question its targets; refuse what is not for rows, and read the forms."""
        put = object.__setattr__
        of_one = {**_OF_ONE_ANSWER, **({} if len(inputs.questions) == 1 else _OF_ONE_QUESTION)}
        for name, default in of_one.items():
            if getattr(inputs, name) != default:
                instead = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
                raise InputError(
                    f"{option(name)} is for a single question that is noised by itself{instead}.",
                    argument=name,
                )
        alone = len(inputs.questions) == 1 and inputs.mechanism == CategoryResponse.name  # which is the same
        if not alone and inputs.mechanism not in ("best", ROWS):
            raise InputError(
                "rows of answers are always randomised as a whole, by randomized response; remove "
                f"{option('mechanism')}.",
                argument="mechanism",
            )
        if inputs.epsilon is None or inputs.delta or inputs.zcdp is not None or inputs.gdp is not None:
            raise InputError("rows of answers support pure epsilon only; remove delta, zcdp or gdp.")
        if has_targets(inputs.domains):
            raise InputError(
                f"targets of {option('domains')} cannot be used where answers are rows on a form; give "
                "targets to questions.",
                argument="domains",
            )
        put(inputs, "mechanism", ROWS)
        put(inputs, "forms", as_forms(inputs.forms))
        names = inputs.questions.names
        if not isinstance(inputs.forms, str):
            everyone = [question.name for question in inputs.questions if question.everyone]
            chosen = are_chosen(inputs.forms)
            require_partition(names_on(inputs.forms), names, everyone, overlap=chosen)
            require_together(names_on(inputs.forms), inputs.questions)
        if are_chosen(inputs.forms):
            require_complete(inputs.forms, inputs.questions, tables=self.noise_power == 2)
        if len(names) == 1:
            _give_targets(inputs)

    def added_up(self, device_epsilon: float | None) -> tuple[str, ...]:
        """Name sums, where there are devices: the office never sees raw rows."""
        return () if device_epsilon is None else ("sums",)


def _give_targets(inputs: Inputs) -> None:
    """Make the targets of the survey those of its only question, so that they are stated once."""
    put, question = object.__setattr__, inputs.question
    check_expected_mean(inputs)
    if inputs.target_cv is not None and inputs.target_se is None:
        put(inputs, "target_se", CV(inputs.target_cv).standard_error(z=inputs.z, mean=inputs.expected_mean))
        put(inputs, "target_cv", None)
        put(inputs, "expected_mean", None)
    own = replace(
        question,
        target_se=one_target("target_se", question, inputs.target_se),
        target_margin=one_target("target_margin", question, inputs.target_margin),
    )
    put(inputs, "target_se", None)
    put(inputs, "target_margin", None)
    put(inputs, "questions", replace(inputs.questions, questions=(own,)))


class AnswerMicrodata(_OfRows, Microdata):
    """Every randomised answer to the only question is published."""

    __slots__ = ()

    noise_sd_of: ClassVar[str] = "the mean"

    def check(self, inputs: Inputs) -> None:
        """Refuse a device budget."""
        if inputs.device_epsilon is not None:
            raise InputError(
                f"with rows of answers, {option(OPTION, self.name)} takes the device budget from the "
                f"sample sizes; remove {option('device_epsilon')}, or use {option(OPTION, 'sums')}.",
                argument="device_epsilon",
            )


class _OfSeveral(_OfRows):
    """What is said of rows of several answers, whatever is published of them."""

    __slots__ = ()

    protected: ClassVar[str] = "a person's answers, all of them together,"

    @property
    def also_public(self) -> tuple[str, ...]:
        """Name the forms, and how many rows there are."""
        return _FORMS, _ROWS

    def also_assumed(self, *, everyone: bool) -> tuple[str, ...]:
        """Say how forms come to people; where everyone is asked, each form alone keeps the promise."""
        return _FIXED, _DEALT if everyone else _DEALT_IN_SECRET

    def also_secret(self, *, everyone: bool) -> tuple[str, ...]:
        """Name who got which form, as far as the sample hides anyone."""
        return (*(() if everyone else (_WHO_GOT,)), *super().also_secret(everyone=everyone))


class RowMicrodata(_OfSeveral, AnswerMicrodata):
    """Every randomised row is published."""

    __slots__ = ()

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


class AnswerSums(_OfRows, Sums):
    """The counts of the answers to the only question, or their sum, are published with the office's noise."""

    __slots__ = ()

    budget_of: ClassVar[str] = "epsilon of the totals"
    published: ClassVar[str] = "what is published of a stratum"
    published_one: ClassVar[str] = "the totals of a stratum"
    told: ClassVar[str] = "counts"

    @classmethod
    def asked_for(cls, options: Any) -> Self:
        """Take the device budget; what it does to a row is up to its form."""
        return cls(options.device_epsilon)

    def check(self, inputs: Inputs) -> None:
        """Require devices."""
        if self.device_epsilon is None:
            raise InputError(
                f"rows are randomised on devices, so {option(OPTION, self.name)} requires "
                f"{option('device_epsilon')}.",
                argument="device_epsilon",
            )

    @property
    def noised_at(self) -> tuple[str, ...]:
        """On devices, or at the office where it gets raw rows."""
        return ("device", "office")

    @property
    def who_noises(self) -> str:
        """Name the layers."""
        return (
            "devices send a person's answer as it is or a random one, and the office noises the totals of "
            "each stratum"
        )

    @property
    def assumption(self) -> str:
        """Say what the office must do."""
        return "the office publishes the noised totals once, and no single answer"

    def seen_in_words(self) -> str:
        """Name what has to be seen for the largest loss."""
        return "what a person's device sends, or the noised totals of a stratum, knowing everyone invited"


class RowSums(_OfSeveral, AnswerSums):
    """Tables of each form are published, with the office's noise."""

    __slots__ = ()

    budget_of: ClassVar[str] = "epsilon of a form"
    published: ClassVar[str] = "what is published of a form"
    published_one: ClassVar[str] = "one published form"

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


# of one question, and of several
_KINDS: dict[str, tuple[type[Release], type[Release]]] = {
    "microdata": (AnswerMicrodata, RowMicrodata),
    "sums": (AnswerSums, RowSums),
}
