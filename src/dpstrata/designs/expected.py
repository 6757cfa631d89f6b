"""The mean that is expected of a survey before it is asked, as far as someone said so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpstrata.errors import InputError
from dpstrata.numerics.arrays import FloatArray

if TYPE_CHECKING:
    from dpstrata.designs.record import Design

_ALIKE = 0.1


def expected_mean(plan: Design) -> float | None:
    """Return the mean that is expected, as far as someone said so."""
    if plan.inputs.expected_mean is not None:
        return plan.inputs.expected_mean
    strata, answers = plan.strata, plan.inputs.answers
    if not answers.numbers:
        return None
    try:
        means = strata.expected_means()
    except InputError:  # a column of that name that holds something else
        means = None
    if means is None:
        shares = strata.proportions if strata.proportions is not None else _implied_shares(plan)
        if shares is None:
            return None
        means = answers.at_shares(shares)
    mean = float((strata.sizes * means).sum() / strata.population)
    return mean if answers.lower < mean < answers.upper else None


def expected_answers(plan: Design) -> list[float | None]:
    """Return the mean, or share of yes, expected of every question, where it is known in all strata."""
    spreads = plan.inputs.spreads_in(plan.strata)
    weights = plan.strata.sizes / plan.strata.population
    means = []
    for question in spreads.questionnaire:
        told = spreads.values[question.name]
        known = told.get("mean", told.get("proportion"))
        # a category has a share for each of its answers, and no single figure
        whole = math.nan if known is None or known.ndim > 1 else float(weights @ known)
        means.append(None if math.isnan(whole) else whole)
    return means


def _implied_shares(plan: Design) -> FloatArray | None:
    """Find the shares of two answers from their spread, where they are alike; of p and 1 − p the smaller."""
    strata, answers = plan.strata, plan.inputs.answers
    sources = [strata.sd_sources] if isinstance(strata.sd_sources, str) else strata.sd_sources
    shares = None if "bound" in sources else answers.proportions_of(plan.sds, strata.sizes)
    return None if shares is None or np.ptp(shares) > _ALIKE else shares
