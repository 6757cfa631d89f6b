"""Everything a design was asked for, and the problem that follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpstrata.arrays import FloatArray, IntArray, read_only
from dpstrata.errors import InfeasibleError, InputError, NotAvailableError, option
from dpstrata.model.goals import Goal, Targets, check_goal, goal_of, normal_quantile, targets_of
from dpstrata.model.objectives import coefficients
from dpstrata.model.options import Options
from dpstrata.model.problem import Problem
from dpstrata.model.releases import release_of
from dpstrata.model.releases.base import Release
from dpstrata.model.strata import Strata
from dpstrata.model.terms import Terms
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.promises import promise_of
from dpstrata.privacy.promises.base import Promise

FORMULAS = 2  # also the version of the design document
# No local budget that epsilon and sizes allow comes near this, so a larger cap changes nothing.
_NO_CAP = 200.0


@dataclass(frozen=True, slots=True)
class Inputs(Options):
    """The options of a design, each taken as it is meant, and required to go together.

    Two fields are no options. ``default_answers`` says that nobody stated what can be answered, so that no
    file of answers is noised. ``formulas`` is the version of the design document whose formulas are used, so
    that a document is checked, and everything derived from it computed, with what held when it was made.
    """

    default_answers: bool = field(default=False, metadata={"since": 2})
    formulas: int = FORMULAS

    def __post_init__(self) -> None:
        stated: object = self.answers
        if stated is None:
            object.__setattr__(self, "default_answers", True)
        Options.__post_init__(self)
        self.promise.check(mechanism=self.mechanism, delta=self.delta, cap=self.local_epsilon_cap)
        self._check_together()
        self._check_available()
        check_goal(self)

    @property
    def promise(self) -> Promise:
        """What is promised to everyone."""
        return promise_of(self)

    @property
    def release(self) -> Release:
        """What is released, and who sees what."""
        return release_of(self)

    @property
    def goal(self) -> Goal:
        """What is asked for."""
        return goal_of(self)

    @property
    def targets(self) -> Targets:
        """The precisions to reach, if any."""
        return targets_of(self)

    @property
    def asks_for_least(self) -> bool:
        """Whether the goal is the fewest people, or the least cost, that reach a precision."""
        return self.goal.asks_for_least

    @property
    def mean_in_words(self) -> str:
        """What is estimated: the mean, or that of clipped answers."""
        return f"mean of answers {self.clipping}" if self.clip else "mean"

    @property
    def clipping(self) -> str:
        """What is done to answers outside the range, for designs that clip them."""
        return f"clipped to {_grouped(self.answers.lower)}–{_grouped(self.answers.upper)}"

    @property
    def z(self) -> float:
        """Normal quantile of the confidence: a margin of error in standard errors."""
        return normal_quantile(self.confidence)

    def _check_together(self) -> None:
        """Require that options go together; each has been checked by itself."""
        if self.min_fraction > self.max_fraction:
            raise InputError.must(
                "min_fraction",
                f"be at most {option('max_fraction', self.max_fraction, 'g')}",
                self.min_fraction,
                "g",
            )
        if self.clip and (not self.answers.can_clip or self.default_answers):
            got = "none stated" if self.default_answers else str(self.answers)
            raise InputError(
                f"{option('clip')} needs {option('answers')} in an interval, such as 0:8000, got {got}."
            )
        self.release.check(self)

    def _check_available(self) -> None:
        """Refuse what this version understands but does not carry out; nothing is silently ignored."""
        if self.mechanism != "gaussian" or not self.promise.amplified:
            return
        asked = {
            f"{option('questions')} above 1": self.questions > 1,
            option("local_epsilon_cap"): self.local_epsilon_cap is not None,
        }
        for name, wanted in asked.items():
            if wanted:
                raise NotAvailableError(
                    f"{name} with Gaussian noise is not available in this version of dpstrata; leave it out."
                )

    def terms(self, strata: Strata) -> Terms:
        """State the functions that these inputs lead to for ``strata``."""
        sds = strata.spreads(self.answers)
        rates = strata.response_rates
        mechanism = self._mechanism()
        cap = math.inf
        if self.local_epsilon_cap is not None:  # 3 times 0.8 is 2.4, as written
            cap = float(self.questions * Fraction(repr(self.local_epsilon_cap)))
        return Terms(
            sizes=strata.sizes,
            sds=sds,
            coefficients=coefficients(strata, sds, self.objective),
            objective=self.objective,
            promise=self.promise,
            mechanism=mechanism,
            response_rates=None if rates is None or bool(np.all(rates == 1.0)) else rates,
            cap=cap if cap < _NO_CAP else None,
            release=self.release,
            certain_answers=self.formulas == 1,
        )

    def _mechanism(self) -> Mechanism:
        """Return what noises an answer, fitted to the promise."""
        mechanism = self.promise.fitted(self.mechanism, answers=self.answers, questions=self.questions)
        misfit = self.release.misfit(mechanism)
        if misfit is not None:
            raise InputError(misfit, argument="mechanism", value=self.mechanism)
        return mechanism

    def problem(self, strata: Strata, total: int | None = None) -> Problem:
        """State the optimisation problem that these inputs pose for ``strata``.

        Parameters
        ----------
        strata : Strata
            The population.
        total : int, optional
            Where the inputs do not fix it; by default the least that the bounds allow.
        """
        terms = self.terms(strata)
        lower, upper = self.bounds(strata)
        if total is None:
            total = int(lower.sum()) if self.total is None else self.total
        if self.promise.least_rate > 0 and total < int(lower.sum()):
            raise InfeasibleError(
                f"{option('total')} must be at least the sum of the minimums ({int(lower.sum()):,}), of "
                f"which {self.promise.least_rate_in_words} of every stratum, got "
                f"{option('total', total, ',')}."
            )
        if terms.response_rates is not None and total > int(upper.sum()):
            raise InfeasibleError(
                f"{option('total')} must be at most what the maximums and the people who would answer allow "
                f"({int(upper.sum()):,}), got {option('total', total, ',')}."
            )
        return Problem(terms, lower, upper, total)

    def bounds(self, strata: Strata) -> tuple[IntArray, IntArray]:
        """Fewest and most people to invite in each stratum, from all that binds them."""
        sizes = strata.sizes
        if strata.response_rates is not None:
            sizes = _would_answer(strata, strata.response_rates)
        lower, upper = np.minimum(self.min_per_stratum, sizes), sizes
        if self.min_fraction > 0:
            lower = np.maximum(lower, _fraction_of(strata.sizes, self.min_fraction, up=True))
        if self.max_fraction < 1:
            upper = np.minimum(upper, _fraction_of(strata.sizes, self.max_fraction, up=False))
        least_rate = self.promise.least_rate
        if least_rate > 0:
            rates = 1.0 if strata.response_rates is None else strata.response_rates
            needed = np.ceil(least_rate * strata.sizes * rates).astype(np.int64)
            lower = np.maximum(lower, needed)
        if strata.mins is not None:
            lower = np.maximum(lower, strata.mins)
        if strata.maxs is not None:
            upper = np.minimum(upper, strata.maxs)
        if np.any(lower > upper):
            wrong = np.flatnonzero(lower > upper)
            i = int(wrong[0])
            reason = ", the people who would answer," if sizes[i] < min(lower[i], strata.sizes[i]) else ""
            raise InfeasibleError(
                f"the minimum of a stratum must be at most its maximum, got minimum {lower[i]:,} and "
                f"maximum {upper[i]:,}{reason} in stratum {strata.name(i)!r}"
                + (f" (and in {wrong.size - 1:,} more)." if wrong.size > 1 else ".")
            )
        return read_only(lower), read_only(upper)


def _would_answer(strata: Strata, rates: FloatArray) -> IntArray:
    """Return how many people of each stratum would answer, at least."""
    people = _fraction_of(strata.sizes, rates, up=False)
    if np.any(people < 1):
        i = int(np.argmin(people))
        raise InfeasibleError(
            "the response rate times the size must be at least 1, so that someone would answer, got "
            f"{rates[i]:g} times {strata.sizes[i]:,} in stratum {strata.name(i)!r}."
        )
    return people


def _fraction_of(sizes: IntArray, fraction: float | FloatArray, *, up: bool) -> IntArray:
    """Round fraction·N up or down, taking each fraction for the decimal number that was written."""
    rough = sizes * fraction
    rounded = np.ceil(rough) if up else np.floor(rough)
    whole: IntArray = rounded.astype(np.int64)
    rounding = math.ceil if up else math.floor
    shares = np.broadcast_to(fraction, sizes.shape)
    for i in np.flatnonzero(np.abs(rough - np.rint(rough)) <= 1e-12 * rough + 1e-9).tolist():
        whole[i] = rounding(Fraction(repr(float(shares[i]))) * int(sizes[i]))
    return whole


def _grouped(value: float) -> str:
    """Write an end of a range as people do: 8,000."""
    return f"{value:,.10g}"
