"""A design beside the classical allocations, all under the same privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpstrata.allocation.baselines import BASELINES, baseline_sizes, baseline_sizes_at_cost, neyman_weights
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.variances import least_noise, planned_variance, saved_by_devices, variance_parts
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
        The same sizes with no noise.
    effective_sample_size : float or None
        How many interviews without noise, allocated by Neyman, would do as well; ``None`` where no stratum
        has any spread.
    """

    design: str
    sample_sizes: IntArray
    variance: float
    ratio: float
    planned_variance: float
    variance_without_privacy: float
    effective_sample_size: float | None
    standard_error: float | None
    """Root of the variance for the population mean, ``None`` for other objectives."""
    cost: float | None = None
    """What the sizes cost, where the strata say what an invitation does."""

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
    equal_cost: bool = False,
    rivals: Sequence[str] = BASELINES,
) -> tuple[Comparison, ...]:
    """Score ``sizes`` as this design, then classical allocations of the same total, or cost."""

    def rival(name: str) -> IntArray:
        if costs is None or not equal_cost:
            return baseline_sizes(problem, name)
        return baseline_sizes_at_cost(problem, name, costs, total_cost(costs, sizes))

    reference, rows = None, []
    for name in (OWN, *rivals):
        allocation = sizes if name == OWN else read_only(rival(name))
        parts = variance_parts(problem, allocation, finite_population=finite_population)
        minimised = parts.total
        credited = problem.terms.release.credits_devices or problem.forms is not None
        if problem.terms.random_answers or credited or problem.families:
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
                effective_sample_size=_effective_size(problem, allocation),
                standard_error=float(np.sqrt(parts.total)) if problem.terms.objective == "mean" else None,
                cost=None if costs is None else total_cost(costs, allocation),
            )
        )
    return tuple(rows)


def _effective_size(problem: Problem, sizes: IntArray) -> float | None:
    """Solve (Σ|a|S/√r)²/m = Σf for m: Neyman's variance without noise, the correction being on both sides."""
    terms = problem.terms
    spread = float(neyman_weights(terms).sum())
    if spread == 0 or problem.forms is not None:
        return None
    noise = least_noise(problem, sizes) if problem.families else -saved_by_devices(problem, sizes)
    return spread**2 / (problem.objective(sizes) + noise)
