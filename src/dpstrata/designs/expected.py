"""What is expected of a survey before it is asked: its means, and its precision if some do not answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpstrata.allocation.variances import variance_if_some_answer
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import FloatArray

if TYPE_CHECKING:
    from dpstrata.designs.record import Design

_ALIKE = 0.1


def expected_answers(plan: Design) -> list[float | None]:
    """Return the mean, or share of yes, expected of every question, where it is known in all strata."""
    if len(plan.inputs.questions) == 1 and (mean := _expected_of_survey(plan)) is not None:
        return [mean]
    weights = plan.strata.sizes / plan.strata.population
    means = []
    for told in plan.spreads.values.values():
        known = told.get("mean", told.get("proportion"))
        # a category has a share for each of its answers, and no single figure
        whole = math.nan if known is None or known.ndim > 1 else float(weights @ known)
        means.append(None if math.isnan(whole) else whole)
    return means


def _expected_of_survey(plan: Design) -> float | None:
    """Return the mean of the only question, as far as options or columns of the strata say so."""
    if plan.inputs.expected_mean is not None:
        return plan.inputs.expected_mean
    strata, question = plan.strata, plan.inputs.question
    space = question.space
    if not space.numbers:
        return None
    try:
        means = strata.expected_means(question)
    except InputError:  # a column of that name that holds something else
        means = None
    if means is None:
        shares = _implied_shares(plan)
        if shares is None:
            return None
        means = space.at_shares(shares)
    mean = float((strata.sizes * means).sum() / strata.population)
    return mean if space.lower < mean < space.upper else None


def precision_if_some_answer(plan: Design, share: float) -> float | None:
    """Return the precision if a share of those invited answers; ``None`` for designs that count on one.

    Those have response rates, or a mean, whose noise is set by the number of answers; or they are waves.
    """
    if plan.expected_answers is not None or plan.scaled_by_answers or plan.waves is not None:
        return None
    correct = plan.inputs.finite_population
    variance = variance_if_some_answer(plan.problem, plan.sample_sizes, share, finite_population=correct)
    return variance if plan.standard_error is None else math.sqrt(variance)


def _implied_shares(plan: Design) -> FloatArray | None:
    """Find the shares of two answers from their spread, where they are alike; of p and 1 − p the smaller."""
    strata, question = plan.strata, plan.inputs.question
    sources = [strata.sd_sources] if isinstance(strata.sd_sources, str) else strata.sd_sources
    if "bound" in sources:
        return None
    sds = plan.sds * plan.problem.forms.ranges[0]
    shares = question.of_kind.proportions_of(question, sds, strata.sizes)
    return None if shares is None or np.ptp(shares) > _ALIKE else shares
