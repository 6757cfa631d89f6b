"""Choosing the best mechanism for someone who plans a survey."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from dpstrata.allocation.posing import pose
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.variances import planned_variance
from dpstrata.designs.choice import BEST, Choice, contenders, valid_mechanisms
from dpstrata.designs.record import Design
from dpstrata.errors import InfeasibleError
from dpstrata.planning.forms.plans import with_chosen_forms, with_proven_forms
from dpstrata.planning.goal_search import (
    design_for,
    warn_beyond_the_best,
    warn_of_empty_strata,
    warn_of_loose_targets,
)
from dpstrata.survey.forms import Forms
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.strata import Strata

Posed: TypeAlias = dict[tuple[str, Forms], Problem]
"""What was posed for one survey, but for the total, by mechanism and forms."""


def design_with_best(strata: Strata, inputs: Inputs, posed: Posed | None = None) -> Design:
    """Reach the goal with the valid mechanism that does best.

    That is the least variance, as it is minimised; for a precision target the least cost or the fewest
    people, then the least variance. Ties go to the mechanism that comes first. If none reaches the goal,
    the reason is that of the one that comes closest. Only mechanisms that can be the best are tried.
    ``posed`` holds the problems that they pose, but for the total, and is filled.
    """
    posed = {} if posed is None else posed
    return design_with_best_of(_considered(strata, inputs, posed), strata, inputs, posed)


def design_with_best_of(names: Sequence[str], strata: Strata, inputs: Inputs, posed: Posed) -> Design:
    """Reach the goal with the best of these mechanisms, as :func:`design_with_best` ranks them."""
    plans: list[tuple[tuple[float, ...], Design]] = []
    reasons: list[InfeasibleError] = []
    rows = []
    for name in names:
        try:
            named = replace(inputs, mechanism=name)
            plan = design_for(strata, named, _posed(named, strata, posed))
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


def _considered(strata: Strata, inputs: Inputs, posed: Posed) -> list[str]:
    """Name the mechanisms that can be the best at some budget that the limits and the goal allow."""
    valid = valid_mechanisms(inputs)
    names = contenders(inputs, valid=valid)
    if len(names) == 1:
        return names
    problem = _posed(replace(inputs, mechanism=names[0]), strata, posed)
    limit = inputs.total or inputs.at_most
    most = problem.upper
    if limit is not None:
        most = np.minimum(most, problem.lower + max(limit - int(problem.lower.sum()), 0))
    return contenders(inputs, *problem.terms.budgets_between(problem.lower, most), valid=valid)


def _posed(inputs: Inputs, strata: Strata, posed: Posed) -> Problem:
    """Return the problem that inputs with a named mechanism pose; its terms are made once for all goals."""
    key = inputs.mechanism, inputs.forms
    posed[key] = pose(inputs, strata, like=posed.get(key))
    return posed[key]


def _rank(plan: Design, figures: Choice) -> tuple[float, ...]:
    """Order designs for one goal with different mechanisms, the best first."""
    variance = figures.variance or 0.0
    if plan.problem.terms.random_answers:
        correct = plan.inputs.finite_population
        variance = planned_variance(plan.problem, plan.sample_sizes, finite_population=correct)
    people = plan.total if figures.cost is None else figures.cost
    return (people, variance) if plan.inputs.asks_for_least else (variance,)


def design_as_asked(
    strata: Strata, inputs: Inputs, posed: Posed | None = None, *, warn: bool = True
) -> Design:
    """Reach the goal, with the best mechanism if that is asked for.

    Parameters
    ----------
    strata, inputs : Strata, Inputs
        The population, and what is asked.
    posed : dict, optional
        The problems that other totals posed; filled with what is posed here.
    warn : bool
        Whether a total beyond the best one is warned about, to the caller's caller.
    """
    posed = {} if posed is None else posed
    inputs = with_chosen_forms(strata, inputs)
    if inputs.mechanism == BEST:
        plan = design_with_best(strata, inputs, posed)
    else:
        plan = with_proven_forms(design_for(strata, inputs, _posed(inputs, strata, posed)))
    if warn:
        warn_beyond_the_best(plan, stacklevel=3)
        warn_of_empty_strata(plan, stacklevel=3)
        warn_of_loose_targets(plan, stacklevel=3)
    return plan
