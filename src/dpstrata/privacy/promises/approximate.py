"""(ε, δ): the factor of ε, but for events of probability δ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dpstrata.errors import InputError, option
from dpstrata.privacy.mechanisms.gaussian import LARGEST_LOCAL_DELTA
from dpstrata.privacy.promises.base import FALSE_ALARMS, Seen, power_in_words
from dpstrata.privacy.promises.pure import PureEpsilon
from dpstrata.words.numbers import factor_up, plain_number


@dataclass(frozen=True, slots=True)
class ApproximateEpsilon(PureEpsilon):
    """The promise of ε with a δ.

    Parameters
    ----------
    epsilon : float
        Central budget, from 1e-6 to 100.
    delta : float
        By how much a probability may differ beyond the factor of epsilon, 0 < delta < 1.

    Raises
    ------
    InputError
        If either is outside its range.
    """

    title: ClassVar[str] = "epsilon with delta"
    symbols: ClassVar[Mapping[str, str]] = {"epsilon": "epsilon", "delta": "delta"}
    limits_odds: ClassVar[bool] = False
    any_mechanism: ClassVar[bool] = False

    delta: float

    def __post_init__(self) -> None:
        PureEpsilon.__post_init__(self)
        if not 0.0 <= self.delta < 1.0:
            raise InputError.must("delta", "be at least 0 and below 1", self.delta, "g")

    @property
    def _delta(self) -> float:
        return self.delta

    @property
    def least_rate(self) -> float:
        """An answer's own delta, δ·rN/n, must stay small."""
        return self.delta / LARGEST_LOCAL_DELTA

    @property
    def least_rate_in_words(self) -> str:
        """Say that it is for delta."""
        return f"{option('delta', self.delta, 'g')} requires {self.least_rate:.3g}"

    def _beyond_the_factor(self, release: Seen) -> str:
        return (
            f" Beyond that factor, the probability of any outcome may differ by delta = "
            f"{plain_number(self.delta)}; for {release.published}, by delta times stratum size over sample "
            "size."
        )

    def odds_in_words(self, in_all: Mapping[str, float] | None, *, both_waves: bool) -> str:
        """Say how well a test can tell answers apart; no belief is bounded for certain."""
        epsilon = self.epsilon if in_all is None else in_all["epsilon"]
        # The best test at level α under (ε, δ): Kairouz, Oh and Viswanath (2017), theorem 2.1.
        power = min(
            math.exp(epsilon) * FALSE_ALARMS + self.delta,
            1 - math.exp(-epsilon) * (1 - self.delta - FALSE_ALARMS),
        )
        return (
            "If a person had answered differently, the probability of any released result would differ by a "
            f"factor of at most {factor_up(math.exp(epsilon))}, plus {plain_number(self.delta)}. "
            f"{power_in_words(power)}"
        )
