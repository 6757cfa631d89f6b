"""Everything a design was asked for, and the problem that follows from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral, Real
from statistics import NormalDist
from typing import Literal

import numpy as np

from dpstrata.arrays import FloatArray, IntArray, read_only
from dpstrata.errors import InfeasibleError, InputError, NotAvailableError
from dpstrata.model.answers import Answers
from dpstrata.model.checks import LARGEST_POPULATION
from dpstrata.model.objectives import coefficients
from dpstrata.model.problem import Problem
from dpstrata.model.strata import Strata
from dpstrata.model.terms import Objective, Terms
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.promises import promise_of
from dpstrata.privacy.promises.base import Promise
from dpstrata.privacy.registry import MECHANISMS

Trust = Literal["local", "curator"]
Target = float | Mapping[str, float] | None
"""What the domains of a column must reach: the same for all, one for each that has one, or nothing."""

QUESTIONS = ("total", "at_most", "budget", "target_se", "target_margin", "target_cv")
TARGETS = ("target_se", "target_margin", "target_cv")
FORMULAS = 2  # also the version of the design document
# No local budget that epsilon and sizes allow comes near this, so a larger cap changes nothing.
_NO_CAP = 200.0


@dataclass(frozen=True, slots=True)
class Inputs:
    """The arguments of :func:`dpstrata.design`, as given, with the answers resolved.

    Two fields are not among them. ``formulas`` is the version of the design document whose formulas are used,
    so that a document is checked, and everything derived from it computed, with what held when it was made.
    ``default_answers`` says that nobody stated what can be answered, so that no file of answers is noised.
    """

    epsilon: float | None = None
    delta: float = 0.0
    zcdp: float | None = None
    gdp: float | None = None
    total: int | None = None
    at_most: int | None = None
    budget: float | None = None
    target_se: float | None = None
    target_margin: float | None = None
    target_cv: float | None = None
    expected_mean: float | None = None
    mechanism: str = "best"
    objective: Objective = "mean"
    answers: Answers = field(default_factory=lambda: Answers(0.0, 1.0))
    questions: int = 1
    trust: Trust = "local"
    local_epsilon_cap: float | None = None
    min_per_stratum: int = 1
    min_fraction: float = 0.0
    max_fraction: float = 1.0
    domains: Mapping[str, Target] | None = None
    confidence: float = 0.95
    finite_population: bool = True
    clip: bool = False
    default_answers: bool = False
    formulas: int = FORMULAS

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _as_number(name, value, kind))
        if self.domains is not None:
            domains = {column: _as_target(column, target) for column, target in self.domains.items()}
            object.__setattr__(self, "domains", domains)
        self.promise.check(mechanism=self.mechanism, delta=self.delta, cap=self.local_epsilon_cap)
        self._check_ranges()
        self._check_available()
        self._check_question()

    @property
    def promise(self) -> Promise:
        """What is promised to everyone."""
        return promise_of(self)

    @property
    def mean_in_words(self) -> str:
        """What is estimated: the mean, or that of clipped answers."""
        return f"mean of answers {self.clipping}" if self.clip else "mean"

    @property
    def clipping(self) -> str:
        """What is done to answers outside the range, for designs that clip them."""
        return f"clipped to {_grouped(self.answers.lower)}–{_grouped(self.answers.upper)}"

    def _check_question(self) -> None:
        """Require one of total, at_most, budget and a precision target; a budget may join a target."""
        asked = [name for name in QUESTIONS if getattr(self, name) is not None]
        targets = [name for name in asked if name in TARGETS]
        alone = asked if not targets else [name for name in asked if name != "budget"]
        if len(alone) > 1 or (not asked and not self.has_domain_targets):
            got = " and ".join(alone) or "none of them"
            raise InputError(f"a design needs one of {', '.join(QUESTIONS)}, got {got}.")
        if self.has_domain_targets and not set(alone) <= set(TARGETS) and alone != ["budget"]:
            raise InputError(
                f"targets for domains leave open how many people are invited, got {alone[0]} too."
            )
        for name in asked:
            value = getattr(self, name)
            if name in ("total", "at_most") and not 1 <= value <= LARGEST_POPULATION:
                raise InputError(f"{name} must be at least 1 and at most 2^62, got {name}={value:,}.")
            if not value > 0:
                raise InputError(f"{name} must be positive, got {name}={value:g}.")
            if name in TARGETS or name == "budget":
                _check_moderate(name, value)
        if (targets or self.domains) and self.objective != "mean":
            name = targets[0] if targets else "domains"
            raise InputError(f"{name} is for objective='mean', got objective={self.objective!r}.")
        self._check_expected_mean()

    def _check_expected_mean(self) -> None:
        mean = self.expected_mean
        if (self.target_cv is None) != (mean is None):
            raise InputError(
                "target_cv needs expected_mean, the mean it is relative to (or that column of the strata), "
                "and nothing else does; "
                f"got {'target_cv' if mean is None else 'expected_mean'} alone."
            )
        if mean is not None and (not self.answers.lower <= mean <= self.answers.upper or mean == 0):
            raise InputError(
                f"expected_mean must lie among the answers ({self.answers}) and not be 0, "
                f"got expected_mean={mean:g}."
            )

    @property
    def has_domain_targets(self) -> bool:
        """Whether any domain has a precision to reach."""
        return any(target is not None and target != {} for target in (self.domains or {}).values())

    @property
    def spends_budget(self) -> bool:
        """Whether the least variance within a budget is asked for, and not the least cost of a precision.

        Targets of domains must then be met too; under version 1 they asked for the least cost.
        """
        if self.budget is None or self.target_variance is not None:
            return False
        return self.formulas > 1 or not self.has_domain_targets

    @property
    def asks_for_least(self) -> bool:
        """Whether the fewest people, or the least cost, that reach a precision are asked for."""
        return not self.spends_budget and (self.target_variance is not None or self.has_domain_targets)

    @property
    def target_variance(self) -> float | None:
        """Variance of the population mean to reach, if a precision was asked for."""
        target = next((value for name in TARGETS if (value := getattr(self, name)) is not None), None)
        return None if target is None else self.variance_of(target)

    def variance_of(self, target: float, mean: float | None = None) -> float:
        """Variance that a target of the kind asked for means; standard errors unless said otherwise.

        A coefficient of variation is relative to ``mean``, by default that of the whole population.
        """
        mean = self.expected_mean if mean is None else mean
        if self.target_cv is not None and mean is not None:
            target *= abs(mean)
        elif self.target_margin is not None:
            target /= self.z
        # The largest number whose root is the target, so that a design's own standard error can be asked for.
        variance = target * target
        while math.sqrt(following := math.nextafter(variance, math.inf)) <= target:
            variance = following
        return variance

    @property
    def z(self) -> float:
        """Normal quantile of the confidence: a margin of error in standard errors."""
        return NormalDist().inv_cdf(0.5 + self.confidence / 2)

    def _check_ranges(self) -> None:
        if self.min_per_stratum < 1:
            raise InputError(
                f"min_per_stratum must be at least 1, got min_per_stratum={self.min_per_stratum}: "
                "a stratum with no interview cannot be estimated."
            )
        if not 0.0 <= self.min_fraction <= self.max_fraction <= 1.0 or self.max_fraction == 0.0:
            raise InputError(
                "min_fraction and max_fraction must satisfy 0 <= min_fraction <= max_fraction <= 1 and "
                f"max_fraction > 0, got {self.min_fraction:g} and {self.max_fraction:g}."
            )
        if not 1e-6 <= self.confidence <= 1.0 - 1e-9:
            raise InputError(f"confidence must lie between 0 and 1, got confidence={self.confidence:g}.")
        if not isinstance(self.mechanism, str) or self.mechanism not in (*MECHANISMS, "best"):
            known = ", ".join((*MECHANISMS, "best"))
            raise InputError(f"mechanism must be one of {known}, got {self.mechanism!r}.")
        for name in ("finite_population", "clip"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        if self.clip and (self.answers.step is not None or self.default_answers):
            got = "none stated" if self.default_answers else f"the grid {self.answers}"
            raise InputError(f"clip needs answers in an interval, such as 0:8000, got {got}.")
        if not 1 <= self.questions <= 1000:
            raise InputError(
                f"questions must be at least 1 and at most 1000, got questions={self.questions}."
            )
        if self.trust not in ("local", "curator"):
            raise InputError(f"trust must be 'local' or 'curator', got {self.trust!r}.")
        cap = self.local_epsilon_cap
        if cap is not None and not 1e-6 <= cap <= 1000.0:
            raise InputError(
                f"local_epsilon_cap must be at least 1e-6 and at most 1000, got local_epsilon_cap={cap:g}."
            )
        if cap is not None and self.trust == "curator":
            raise InputError(
                "local_epsilon_cap is about single noised answers, and with trust='curator' there are none."
            )

    def _check_available(self) -> None:
        """Refuse what this version understands but does not carry out; nothing is silently ignored."""
        if self.mechanism != "gaussian" or not self.promise.amplified:
            return
        asked = {
            "questions above 1": self.questions > 1,
            "local_epsilon_cap": self.local_epsilon_cap is not None,
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
            curator=self.trust == "curator",
            certain_answers=self.formulas == 1,
        )

    def _mechanism(self) -> Mechanism:
        """Return what noises an answer, fitted to the promise."""
        answers = self.answers
        mechanism = self.promise.fitted(
            self.mechanism, answer_range=answers.range, steps=answers.steps, questions=self.questions
        )
        if self.trust == "curator" and not mechanism.additive:
            raise InputError(
                "a curator noises the mean of a stratum, so trust='curator' needs noise that is added to it, "
                f"got mechanism={self.mechanism!r}. Use another mechanism."
            )
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
                f"total must be at least the sum of the minimums ({int(lower.sum()):,}), of which "
                f"{self.promise.least_rate_in_words} of every stratum, got total={total:,}."
            )
        if terms.response_rates is not None and total > int(upper.sum()):
            raise InfeasibleError(
                f"total must be at most what the maximums and the people who would answer allow "
                f"({int(upper.sum()):,}), got total={total:,}."
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


_KINDS: dict[str, type[int] | type[float]] = {
    **dict.fromkeys(("total", "at_most", "questions", "min_per_stratum"), int),
    **dict.fromkeys(
        (
            "epsilon",
            "delta",
            "zcdp",
            "gdp",
            "budget",
            "target_se",
            "target_margin",
            "target_cv",
            "expected_mean",
        ),
        float,
    ),
    **dict.fromkeys(("local_epsilon_cap", "min_fraction", "max_fraction", "confidence"), float),
}


def _as_target(column: str, target: object) -> float | dict[str, float] | None:
    """Take what the domains of a column must reach as plain numbers."""
    if target is None:
        return None
    if isinstance(target, Mapping):
        each = {str(group): _as_target(f"{column}={group}", value) for group, value in target.items()}
        return {group: value for group, value in each.items() if isinstance(value, float)}
    number = _as_number(f"the target of {column}", target, float)
    if not number > 0:
        raise InputError(f"the target of {column} must be a positive number, got {target!r}.")
    _check_moderate(f"the target of {column}", number)
    return float(number)


def _check_moderate(name: str, value: float) -> None:
    if not 1e-100 <= value <= 1e100:
        raise InputError(f"{name} must lie between 1e-100 and 1e100, got {value:g}.")


def _as_number(name: str, value: object, kind: type[int] | type[float]) -> int | float:
    """Take any real number (NumPy's too) as a plain one; whole numbers must be whole."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise InputError(f"{name} must be a number, got {value!r}.")
    if kind is int and isinstance(value, Integral):
        return int(value)
    try:
        number = float(value)
    except OverflowError:
        raise InputError(f"{name} must be a number of moderate size.") from None
    if kind is float:
        return number
    if not number.is_integer():
        raise InputError(f"{name} must be a whole number, got {name}={number:g}.")
    return int(number)


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
