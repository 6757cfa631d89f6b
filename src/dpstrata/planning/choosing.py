"""Choosing for someone who plans a survey: the best mechanism, and whom to trust."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpstrata.errors import InfeasibleError, InputError
from dpstrata.model.choice import BEST, Choice, contenders
from dpstrata.model.comparison import planned_variance
from dpstrata.model.design_record import Design
from dpstrata.model.inputs import Inputs
from dpstrata.model.problem import Problem
from dpstrata.model.releases import kind_of
from dpstrata.model.releases.base import Release
from dpstrata.model.strata import Strata
from dpstrata.planning.questions import answer, warn_beyond_the_best, warn_of_empty_strata
from dpstrata.privacy.written import figure


def answer_best(strata: Strata, inputs: Inputs, posed: dict[str, Problem] | None = None) -> Design:
    """Answer the question with the valid mechanism that does best.

    That is the least variance, as it is minimised; for a precision target the least cost or the fewest
    people, then the least variance. Ties go to the mechanism that comes first. If none meets the question,
    the reason is that of the one that comes closest. Only mechanisms that can be the best are tried.
    ``posed`` holds the problems that they pose, but for the total, and is filled.
    """
    posed = {} if posed is None else posed
    plans: list[tuple[tuple[float, ...], Design]] = []
    reasons: list[InfeasibleError] = []
    rows = []
    for name in _considered(strata, inputs, posed):
        try:
            named = replace(inputs, mechanism=name)
            plan = answer(strata, named, _posed(named, strata, posed))
        except InfeasibleError as reason:
            reasons.append(reason)
            rows.append(Choice(name, None, None, None))
            continue
        rows.append(Choice(name, plan.total, plan.variance, plan.cost))
        plans.append((_rank(plan, rows[-1]), plan))
    if not plans:
        raise min(reasons, key=lambda reason: reason.misses or (True, math.inf))
    _, best = min(plans, key=lambda each: each[0])
    return replace(best, choice=tuple(rows))


def _considered(strata: Strata, inputs: Inputs, posed: dict[str, Problem]) -> list[str]:
    """Name the mechanisms that can be the best at some budget that the bounds and the question allow."""
    names = contenders(inputs)
    if len(names) == 1:
        return names
    problem = _posed(replace(inputs, mechanism=names[0]), strata, posed)
    limit = inputs.total or inputs.at_most
    most = problem.upper
    if limit is not None:
        most = np.minimum(most, problem.lower + max(limit - int(problem.lower.sum()), 0))
    return contenders(inputs, *problem.terms.budgets_between(problem.lower, most))


def _posed(inputs: Inputs, strata: Strata, posed: dict[str, Problem]) -> Problem:
    """Return the problem that inputs with a named mechanism pose, but for the total."""
    if inputs.mechanism not in posed:
        posed[inputs.mechanism] = inputs.problem(strata)
    return posed[inputs.mechanism]


def _rank(plan: Design, figures: Choice) -> tuple[float, ...]:
    """Order designs of one question with different mechanisms, the best first."""
    variance = figures.variance or 0.0
    if plan.problem.terms.random_answers:
        correct = plan.inputs.finite_population
        variance = planned_variance(plan.problem, plan.sample_sizes, finite_population=correct)
    people = plan.total if figures.cost is None else figures.cost
    return (people, variance) if plan.inputs.asks_for_least else (variance,)


def answer_any(
    strata: Strata, inputs: Inputs, posed: dict[str, Problem] | None = None, *, warn: bool = True
) -> Design:
    """Answer the question, with the best mechanism if that is asked for.

    Parameters
    ----------
    strata, inputs : Strata, Inputs
        The population, and what is asked.
    posed : dict, optional
        The problems that other totals posed, by mechanism; filled with what is posed here.
    warn : bool
        Whether a total beyond the best one is warned about, to the caller's caller.
    """
    posed = {} if posed is None else posed
    if inputs.mechanism == BEST:
        plan = answer_best(strata, inputs, posed)
    else:
        plan = answer(strata, inputs, _posed(inputs, strata, posed))
    if warn:
        warn_beyond_the_best(plan, stacklevel=3)
        warn_of_empty_strata(plan, stacklevel=3)
    return plan


@dataclass(frozen=True, slots=True, eq=False)
class TrustComparison:
    """The same question answered with noise on every answer and by a trusted curator.

    Attributes
    ----------
    local, curator : Design or None
        The two designs; ``None`` where no design meets the question.
    """

    local: Design | None
    curator: Design | None

    @property
    def ratio(self) -> float | None:
        """Variance with noise on every answer over that of the curator, where both can be designed."""
        if self.local is None or self.curator is None or self.curator.variance == 0:
            return None
        return self.local.variance / self.curator.variance

    @property
    def in_words(self) -> str:
        """What local protection costs, in a sentence."""
        if self.local is None or self.curator is None:
            other = "with a trusted curator it can" if self.curator is not None else "nor by a curator"
            return f"With noise on every answer the question cannot be met, {other}."
        if self.local.inputs.asks_for_least:
            return (
                f"Noise on every answer needs {self.local.strata.counted(self.local.total)}, a trusted "
                f"curator {self.curator.strata.counted(self.curator.total)}."
            )
        first, second = (_described(plan) for plan in (self.local, self.curator))
        return (
            f"With noise on every answer {first}, with a trusted curator {second}: not having to trust "
            f"anyone costs {self.ratio or 1.0:.3g} times the variance."
        )

    def __repr__(self) -> str:
        return self.in_words


def _described(plan: Design) -> str:
    value = plan.variance if plan.standard_error is None else plan.standard_error
    measure = "an objective" if plan.standard_error is None else "a standard error"
    return f"{plan.strata.counted(plan.total)} give {measure} of {figure(value)}"


def compare_trust(plan: Design) -> TrustComparison:
    """Answer the question of a design with noise on every answer, and by a trusted curator.

    Parameters
    ----------
    plan : Design
        The design. A mechanism that a curator cannot use is replaced by the additive one that does best; a
        cap on single answers is left out there, since there are none.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> round(dps.compare_trust(dps.design(strata, epsilon=1.0, total=200)).ratio, 2)
    3.29
    """
    if not isinstance(plan, Design):
        raise InputError(f"compare_trust needs a Design, got {type(plan).__name__}.")
    mechanism = plan.inputs.mechanism if plan.choice is None else BEST
    local, curator = (_with_release(plan, kind_of(name), mechanism) for name in ("local", "curator"))
    return TrustComparison(local, curator)


def _with_release(plan: Design, kind: type[Release], mechanism: str) -> Design | None:
    """Answer the question of a design with another release, if it can be met."""
    inputs = kind.instead_of(plan.inputs)
    fits = inputs.release.misfit(plan.mechanism) is None
    try:
        return answer_any(plan.strata, replace(inputs, mechanism=mechanism if fits else BEST), warn=False)
    except InfeasibleError:
        return None
