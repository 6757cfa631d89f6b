"""Epsilon: whoever sees the release can change their odds about a person by a factor of at most exp(ε).

Alone, or but for events of a probability δ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.promises.base import FALSE_ALARMS, Promise, Seen, power_in_words
from dpstrata.words.numbers import factor_up, plain_number, round_down, round_up, sum_as_written

SMALLEST_EPSILON = 1e-6
LARGEST_EPSILON = 100.0
_LARGE_EPSILON = 3.0


@dataclass(frozen=True, slots=True)
class PureEpsilon(Promise):
    """The promise of ε alone.

    Parameters
    ----------
    epsilon : float
        Central budget, from 1e-6 to 100.

    Raises
    ------
    InputError
        If it is outside its range.
    """

    title: ClassVar[str] = "pure epsilon"
    symbols: ClassVar[Mapping[str, str]] = {"epsilon": "epsilon"}
    amplified: ClassVar[bool] = True
    limits_odds: ClassVar[bool] = True
    any_mechanism: ClassVar[bool] = True

    epsilon: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and SMALLEST_EPSILON <= self.epsilon <= LARGEST_EPSILON):
            bounds = f"lie between {SMALLEST_EPSILON:g} and {LARGEST_EPSILON:g}"
            raise InputError.must("epsilon", bounds, self.epsilon, "g")

    @property
    def _delta(self) -> float:
        return 0.0

    @property
    def central_epsilon(self) -> float:
        """ε."""
        return self.epsilon

    @property
    def odds_minus_one(self) -> float:
        """``c = exp(epsilon) - 1``, the constant of every amplification formula."""
        return math.expm1(self.epsilon)

    def exact_odds_minus_one(self, mp: Any) -> Any:
        """Return the same in mpmath."""
        return mp.expm1(mp.mpf(self.epsilon))

    def fitted(self, mechanism: str, space: AnswerSpace) -> Mechanism:
        """Return the mechanism of that name."""
        noise = get_mechanism(mechanism, space)
        if (self._delta > 0) != noise.needs_delta:
            named = option("mechanism", mechanism)
            raise InputError(
                f"{named} needs {option('delta')} above 0."
                if noise.needs_delta
                else f"{option('delta', self._delta, 'g')} does not go with {named}, which needs no "
                f"delta; remove {option('delta')}.",
                argument="delta",
                value=self._delta,
            )
        noise.prepare(self.epsilon, self._delta)
        return noise

    @property
    def central(self) -> dict[str, float | None]:
        """ε and δ."""
        return {"epsilon": self.epsilon, "delta": self._delta}

    def in_all(self, on_deviations: float) -> dict[str, float]:
        """Add the two, as they are written."""
        return {"epsilon": float(sum_as_written(self.epsilon, on_deviations)), "delta": self._delta}

    def local(self, budgets: FloatArray, most_hidden: float) -> dict[str, float]:
        """Return the range of ε, and the largest δ of what is noised once."""
        return {
            "smallest_epsilon": float(budgets.min()),
            "largest_epsilon": float(budgets.max()),
            "largest_delta": self._delta * most_hidden,
        }

    @property
    def cautions(self) -> list[str]:
        """Warn of an ε that protects little."""
        if self.epsilon <= _LARGE_EPSILON:
            return []
        return [f"An epsilon of {self.epsilon:g} is a weak promise: the odds can change a lot (see below)."]

    def in_all_in_words(self, on_deviations: float) -> str:
        """Say the sum."""
        return f"{sum_as_written(self.epsilon, on_deviations)} in total."

    def sentences(self, *, largest: float, release: Seen, everyone: bool, waves: int = 1) -> tuple[str, ...]:
        """Say by which factor odds can change."""
        against = (
            "even against someone who knows everyone who took part"
            if everyone
            else "against anyone who does not know who was invited"
        )
        published = (
            f"If the assumptions hold, the released results change anyone's odds about {release.protected} "
            f"by a factor of at most {factor_up(math.exp(self.epsilon))} (epsilon = "
            f"{plain_number(self.epsilon)}), beyond what they say about people in general, whether or not "
            f"that person took part. This holds {against}."
            f"{self._beyond_the_factor(release)}"
        )
        return published, *release.against_the_office(largest, waves=waves)

    def _beyond_the_factor(self, release: Seen) -> str:
        return ""

    def odds_in_words(self, in_all: Mapping[str, float] | None, *, both_waves: bool) -> str:
        """Say what a belief of 50% can become."""
        epsilon = self.epsilon if in_all is None else in_all["epsilon"]
        who = (
            "the release changes"
            if epsilon == self.epsilon
            else "both waves together change"
            if both_waves
            else "the release, with what was spent on the standard deviations, changes"
        )
        *_, (_, low, high) = beliefs(epsilon)
        return (
            f"Whatever someone believed about a person's answer before, {who} the odds by a factor of at "
            f"most {factor_up(math.exp(epsilon))}, beyond what the results say about people in general: a "
            f"belief of 50% stays between {low} and {high}."
        )


def beliefs(epsilon: float) -> list[tuple[str, str, str]]:
    """List what a belief can become: before, then at least and at most after, rounded outwards.

    Examples
    --------
    >>> beliefs(1.0)[-1]
    ('50%', '26.8%', '73.2%')
    """
    rows = []
    for before in (1, 10, 50):
        odds = before / (100 - before)
        low, high = (100.0 * _share(math.log(odds) + move) for move in (-epsilon, epsilon))
        rows.append((f"{before}%", f"{round_down(low, 1)}%", f"{round_up(high, 1)}%"))
    return rows


def _share(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0


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
        from dpstrata.privacy.mechanisms.gaussian import LARGEST_LOCAL_DELTA  # which no other promise loads

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
