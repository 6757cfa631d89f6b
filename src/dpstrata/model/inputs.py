"""Everything a design was asked for, and the problem that follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral, Real
from statistics import NormalDist
from typing import Literal

import numpy as np

from dpstrata.arrays import IntArray, read_only
from dpstrata.errors import InfeasibleError, InputError, NotAvailableError
from dpstrata.model.answers import Answers
from dpstrata.model.checks import LARGEST_POPULATION
from dpstrata.model.objectives import coefficients
from dpstrata.model.problem import Problem
from dpstrata.model.strata import Strata
from dpstrata.model.terms import Objective, Terms
from dpstrata.privacy.mechanisms.shared import SharedBudget
from dpstrata.privacy.promise import Promise
from dpstrata.privacy.registry import get_mechanism

Trust = Literal["local", "curator"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The arguments of :func:`dpstrata.design`, as given, with the answers resolved."""

    epsilon: float
    delta: float = 0.0
    total: int | None = None
    at_most: int | None = None
    budget: float | None = None
    target_se: float | None = None
    target_margin: float | None = None
    target_cv: float | None = None
    mechanism: str = "laplace"
    objective: Objective = "mean"
    answers: Answers = field(default_factory=lambda: Answers(0.0, 1.0))
    questions: int = 1
    trust: Trust = "local"
    local_epsilon_cap: float | None = None
    min_per_stratum: int = 1
    min_fraction: float = 0.0
    max_fraction: float = 1.0
    domains: tuple[str, ...] | None = None
    confidence: float = 0.95
    finite_population: bool = True

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _as_number(name, value, kind))
        self._check_ranges()
        self._check_available()
        self._check_question()

    def _check_question(self) -> None:
        """Require exactly one of total, at_most and a precision target."""
        asked = {
            name: getattr(self, name)
            for name in ("total", "at_most", "target_se", "target_margin")
            if getattr(self, name) is not None
        }
        if len(asked) != 1:
            got = " and ".join(asked) or "none of them"
            raise InputError(f"a design needs one of total, at_most, target_se and target_margin, got {got}.")
        (name, value), *_ = asked.items()
        if name in ("total", "at_most") and not 1 <= value <= LARGEST_POPULATION:
            raise InputError(f"{name} must be at least 1 and at most 2^62.")
        if name.startswith("target"):
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"{name} must be positive, got {name}={value:g}.")
            if self.objective != "mean":
                raise InputError(f"{name} is for objective='mean', got objective={self.objective!r}.")

    @property
    def target_variance(self) -> float | None:
        """Variance of the population mean to reach, if a precision was asked for."""
        if self.target_se is not None:
            return self.target_se**2
        if self.target_margin is not None:
            return (self.target_margin / NormalDist().inv_cdf(0.5 + self.confidence / 2)) ** 2
        return None

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
        if not 0.0 < self.confidence < 1.0:
            raise InputError(f"confidence must lie between 0 and 1, got confidence={self.confidence:g}.")
        if self.questions < 1:
            raise InputError(f"questions must be at least 1, got questions={self.questions}.")
        if self.trust not in ("local", "curator"):
            raise InputError(f"trust must be 'local' or 'curator', got {self.trust!r}.")

    def _check_available(self) -> None:
        """Refuse what this version understands but does not carry out; nothing is silently ignored."""
        asked = {
            "budget": self.budget is not None,
            "target_cv": self.target_cv is not None,
            "delta": self.delta != 0.0,
            "trust='curator'": self.trust == "curator",
            "local_epsilon_cap": self.local_epsilon_cap is not None,
            "domains": self.domains is not None,
        }
        for name, wanted in asked.items():
            if wanted:
                raise NotAvailableError(f"{name} is not available in this version of dpstrata; leave it out.")

    def problem(self, strata: Strata, total: int | None = None) -> Problem:
        """State the optimisation problem that these inputs pose for ``strata``.

        Parameters
        ----------
        strata : Strata
            The population.
        total : int, optional
            Where the inputs do not fix it; by default the least that the bounds allow.
        """
        if strata.response_rates is not None and not np.all(strata.response_rates == 1.0):
            raise NotAvailableError(
                "response rates below 1 are not available in this version of dpstrata; leave the column out."
            )
        mechanism = get_mechanism(self.mechanism, answer_range=self.answers.range, steps=self.answers.steps)
        if self.questions > 1:
            mechanism = SharedBudget(mechanism, self.questions)
        sds = strata.spreads(self.answers)
        terms = Terms(
            sizes=strata.sizes,
            sds=sds,
            coefficients=coefficients(strata, sds, self.objective),
            objective=self.objective,
            promise=Promise(self.epsilon, self.delta),
            mechanism=mechanism,
        )
        lower, upper = self._bounds(strata)
        if total is None:
            total = int(lower.sum()) if self.total is None else self.total
        return Problem(terms, lower, upper, total)

    def _bounds(self, strata: Strata) -> tuple[IntArray, IntArray]:
        """Fewest and most people to invite in each stratum, from all that binds them."""
        sizes = strata.sizes
        lower, upper = np.minimum(self.min_per_stratum, sizes), sizes
        if self.min_fraction > 0:
            lower = np.maximum(lower, _fraction_of(sizes, self.min_fraction, up=True))
        if self.max_fraction < 1:
            upper = _fraction_of(sizes, self.max_fraction, up=False)
        if strata.mins is not None:
            lower = np.maximum(lower, strata.mins)
        if strata.maxs is not None:
            upper = np.minimum(upper, strata.maxs)
        if np.any(lower > upper):
            wrong = np.flatnonzero(lower > upper)
            i = int(wrong[0])
            raise InfeasibleError(
                f"the minimum of a stratum must be at most its maximum, got minimum {lower[i]:,} and "
                f"maximum {upper[i]:,} in stratum {strata.name(i)!r}"
                + (f" (and in {wrong.size - 1:,} more)." if wrong.size > 1 else ".")
            )
        return read_only(lower), read_only(upper)


_KINDS: dict[str, type[int] | type[float]] = {
    **dict.fromkeys(("total", "at_most", "questions", "min_per_stratum"), int),
    **dict.fromkeys(
        ("epsilon", "delta", "budget", "target_se", "target_margin", "target_cv", "local_epsilon_cap"), float
    ),
    **dict.fromkeys(("min_fraction", "max_fraction", "confidence"), float),
}


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


def _fraction_of(sizes: IntArray, fraction: float, *, up: bool) -> IntArray:
    """Round fraction·N up or down, taking the fraction for the decimal number that was written."""
    exact = Fraction(repr(float(fraction)))
    rounding = math.ceil if up else math.floor
    return np.array([rounding(exact * size) for size in sizes.tolist()], dtype=np.int64)
