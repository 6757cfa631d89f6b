"""What a promise must say about itself."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol

from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.promises import Spent
from dpstrata.words.numbers import plain_number, round_up

FALSE_ALARMS = 0.05


class Seen(Protocol):
    """What a promise asks a form of release for its words."""

    @property
    def published(self) -> str:
        """What is noised once, as it is published: "a single noised answer"."""

    @property
    def protected(self) -> str:
        """What of a person the promise is about: "a person's answer"."""

    def against_the_office(self, largest: float, *, waves: int = 1) -> tuple[str, str]:
        """Say what they can learn, for a promise with local budgets, and what is left after a leak."""

    def always_against_the_office(self) -> tuple[str, str]:
        """Say the same for a promise that a secret sample does not strengthen."""


class Promise(ABC):
    """What every person of the population is promised against whoever sees the release.

    A kind is a frozen dataclass whose fields are the options of ``design`` that ask for it. It refuses values
    out of range when it is made.
    """

    __slots__ = ()

    title: ClassVar[str]
    symbols: ClassVar[Mapping[str, str]]
    """What each of its options is called in words, by the name of the option."""
    amplified: ClassVar[bool]
    """Whether a secret sample strengthens it, so that there are local budgets."""
    limits_odds: ClassVar[bool] = False
    """Whether it bounds what any belief can become, for certain."""
    any_mechanism: ClassVar[bool] = False
    """Whether every mechanism that fits the answers keeps it; the others are kept by Gaussian noise alone."""

    @property
    def central_epsilon(self) -> float:
        """ε against whoever sees the release; NaN where there is none."""
        return math.nan

    @property
    def least_rate(self) -> float:
        """The share of every stratum that must be invited at least."""
        return 0.0

    @property
    def odds_minus_one(self) -> float:
        """The c of e(n) = ln(1 + cN/n), the variable in which terms are written.

        Where noise does not depend on n, this is a mere choice of units.
        """
        return 1.0

    def exact_odds_minus_one(self, mp: Any) -> Any:
        """Return the same in mpmath."""
        return mp.mpf(1)

    # --- checks and mathematics ---------------------------------------------------------------

    def check(self, *, mechanism: str, delta: float, cap: float | None) -> None:  # noqa: B027 - most go
        """Refuse other options that do not go with it."""

    @abstractmethod
    def fitted(self, mechanism: str, space: AnswerSpace) -> Mechanism:
        """Return what noises an answer so that it keeps the promise.

        Parameters
        ----------
        mechanism : str
            Its name.
        space : AnswerSpace
            What can be answered.
        """

    @classmethod
    def added(cls, values: Iterable[float]) -> float:
        """Add up what several releases have spent under one of its options."""
        return math.fsum(values)

    @property
    def spent(self) -> Spent:
        """What one release spends."""
        return Spent(**{name: getattr(self, name) for name in self.symbols})

    # --- JSON ---------------------------------------------------------------------------------

    @property
    @abstractmethod
    def central(self) -> dict[str, float | None]:
        """What is promised, as in the design document."""

    @abstractmethod
    def in_all(self, on_deviations: float) -> dict[str, float] | None:
        """Add what a pure epsilon spent before, as in the document; nothing where the two cannot be added."""

    def local(self, budgets: FloatArray, most_hidden: float) -> dict[str, float] | None:
        """Describe local budgets as in the design document; nothing where there are none.

        Parameters
        ----------
        budgets : array
            The local ε of each stratum.
        most_hidden : float
            The largest ratio of stratum size to sample size.
        """
        return None

    # --- words --------------------------------------------------------------------------------

    @property
    def in_words(self) -> str:
        """The promise, briefly."""
        return ", ".join(
            f"{symbol} = {plain_number(getattr(self, name))}" for name, symbol in self.symbols.items()
        )

    @property
    def cautions(self) -> list[str]:
        """What a reader should know about it before signing."""
        return []

    @property
    def least_rate_in_words(self) -> str:
        """Say why a share of every stratum must be invited, before "of every stratum"."""
        return f"{self.in_words} requires {self.least_rate:.3g}"

    @abstractmethod
    def in_all_in_words(self, on_deviations: float) -> str:
        """Say, after "the survey spends", what it comes to with a pure epsilon spent before."""

    @abstractmethod
    def sentences(self, *, largest: float, release: Seen, everyone: bool, waves: int = 1) -> tuple[str, ...]:
        """Say what it means for the public, for whoever sees what was noised once, and after a leak.

        Parameters
        ----------
        largest : float
            The largest local ε of any stratum.
        release : Seen
            What is released.
        everyone : bool
            Whether everyone is invited, so that no sample hides anyone.
        waves : int
            How many waves a person may answer in.
        """

    @abstractmethod
    def odds_in_words(self, in_all: Mapping[str, float] | None, *, both_waves: bool) -> str:
        """Say what it does to what someone believes about a person.

        Parameters
        ----------
        in_all : mapping or None
            All that is spent, as :meth:`in_all` has it.
        both_waves : bool
            Whether that is the sum of two waves.
        """


def power_in_words(power: float) -> str:
    """Say how often someone is right who tests one answer against another."""
    return (
        "A test of whether a person gave one answer rather than another, with a false-alarm rate of 5%, "
        f"detects that answer in at most {round_up(min(100 * power, 100.0), 1)}% of the cases where it was "
        "given. Without noise that would be 100%; by guessing it is 5%."
    )
