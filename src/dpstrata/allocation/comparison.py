"""A design beside the classical allocations, all under the same privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpstrata.allocation.baselines import BASELINES, baseline_sizes, baseline_sizes_at_cost
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.variances import VarianceParts, planned_variance, variance_parts
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.survey.costs import total_cost

OWN = "this_design"  # what the design itself is called beside the others


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One allocation, scored under the same privacy as the design.

    Attributes
    ----------
    design : str
        ``this_design``, ``neyman``, ``proportional`` or ``equal``.
    sample_sizes : array of int
        Its sample sizes, within the design's limits, with its total or for its cost.
    variance : float
        Of the estimator (for objectives other than ``mean`` the objective's value).
    ratio : float
        The planned variance over the design's.
    planned_variance : float
        What is minimised: the variance, or an upper bound of it where the number of answers is random, with a
        questionnaire, and where devices save the office noise.
    variance_without_privacy : float
        If everyone in the same sample were asked every question and no noise were added.
    """

    design: str
    sample_sizes: IntArray
    variance: float
    ratio: float
    planned_variance: float
    variance_without_privacy: float
    standard_error: float | None
    """Root of the variance for the population mean, ``None`` for other objectives."""
    cost: float | None = None
    """What the sizes cost, where the strata say what an invitation does."""

    @property
    def standard_error_without_privacy(self) -> float | None:
        """Root of the variance without privacy for the population mean, ``None`` for other objectives."""
        return None if self.standard_error is None else math.sqrt(self.variance_without_privacy)

    @property
    def total(self) -> int:
        """People invited in all strata together."""
        return int(self.sample_sizes.sum())


def compare_designs(
    problem: Problem,
    sizes: IntArray,
    *,
    finite_population: bool,
    costs: FloatArray | None = None,
    rivals: Sequence[str] = BASELINES,
    own: VarianceParts | None = None,
) -> tuple[Comparison, ...]:
    """Score ``sizes`` as this design, then classical allocations of the same cost.

    With the same cost for everyone, or none stated, that is the same number of people. ``own`` are the parts
    of the variance of ``sizes``, where they are known.
    """

    def rival(name: str) -> IntArray:
        if costs is None or not np.ptp(costs):
            return baseline_sizes(problem, name)
        return baseline_sizes_at_cost(problem, name, costs, total_cost(costs, sizes))

    reference, rows = None, []
    for name in (OWN, *rivals):
        allocation = sizes if name == OWN else read_only(rival(name))
        parts = own if name == OWN else None
        if parts is None:
            parts = variance_parts(problem, allocation, finite_population=finite_population)
        minimised = parts.total
        if problem.terms.random_answers or problem.forms.credits_devices or problem.families:
            minimised = planned_variance(problem, allocation, finite_population=finite_population)
        reference = minimised if reference is None else reference  # the design itself comes first
        rows.append(
            Comparison(
                design=name,
                sample_sizes=allocation,
                variance=parts.total,
                ratio=minimised / reference if reference > 0 else 1.0,
                planned_variance=minimised,
                variance_without_privacy=parts.sampling,
                standard_error=float(np.sqrt(parts.total)) if problem.terms.objective == "mean" else None,
                cost=None if costs is None else total_cost(costs, allocation),
            )
        )
    return tuple(rows)
