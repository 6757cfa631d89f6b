"""A design beside classical allocations, which ignore privacy; all are scored under the same privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpstrata.allocation.balance import balance
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.variances import VarianceParts, planned_variance, variance_parts
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.survey.costs import total_cost

BASELINES = ("neyman", "proportional", "equal")
_NEGLIGIBLE = 1e-12  # of the largest weight: no share of it is a person, and sums of weights would lose it
OWN = "this_design"  # what the design itself is called beside the others


def baseline_sizes(problem: Problem, name: str) -> IntArray:
    """Sample sizes of a classical allocation for the problem's total and limits.

    ``neyman`` is what is optimal without noise for the same objective, n ∝ a·S/√r (for the population mean
    N·S where everyone answers; if no stratum has any spread, n ∝ N); ``proportional`` is n ∝ N; ``equal`` the
    same everywhere.
    """
    return largest_remainders(baseline_weights(problem, name), problem.lower, problem.upper, problem.total)


def baseline_sizes_at_cost(problem: Problem, name: str, costs: FloatArray, most: float) -> IntArray:
    """Sample sizes of a classical allocation that cost at most ``most``, and nearly that.

    As :func:`baseline_sizes`, with the money for a total: what is optimal without noise is then
    n ∝ a·S/√(r·cost). Shares are rounded down, and what is left goes to the largest fractions that it still
    pays for.

    Parameters
    ----------
    problem : Problem
        Terms and limits; its total is not used.
    name : str
        One of the classical allocations.
    costs : array
        Cost of one person, > 0.
    most : float
        The cost to keep to; the minimums cost no more.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.3], costs=[1, 4]), epsilon=1, budget=100)
    >>> baseline_sizes_at_cost(plan.problem, "equal", plan.strata.costs, 100.0).tolist()
    [20, 20]
    """
    weights = baseline_weights(problem, name)
    if name == "neyman":
        weights = weights / np.sqrt(costs)
    lower, upper = problem.lower, problem.upper
    spent, _ = balance(None, costs * weights, None, costs * lower, costs * upper, most)
    shares = _without_rounding(spent / costs)
    sizes = np.clip(np.floor(shares), lower, upper).astype(np.int64)
    left = most - total_cost(costs, sizes)
    waiting = np.argsort(-(shares - sizes), kind="stable")
    waiting = waiting[(shares > sizes)[waiting] & (sizes < upper)[waiting]]
    while (waiting := waiting[costs[waiting] <= left]).size:
        together = np.cumsum(costs[waiting])
        count = int(np.searchsorted(together, left, side="right"))
        sizes[waiting[:count]] += 1
        left -= float(together[count - 1])
        waiting = waiting[count:]
    return sizes


def baseline_weights(problem: Problem, name: str) -> FloatArray:
    """Return what the sizes of a classical allocation are proportional to, whatever people cost."""
    terms = problem.terms
    if name == "equal":
        return np.ones(len(terms))
    weights = neyman_weights(problem) if name == "neyman" else terms.sizes.astype(float)
    if not weights.any():
        return terms.sizes.astype(float)
    weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]))  # exact, and far from the smallest numbers
    return np.where(weights < _NEGLIGIBLE, 0.0, weights)


def neyman_weights(problem: Problem) -> FloatArray:
    """|a|·S/√r: what sample sizes are proportional to when nothing is noised."""
    terms = problem.terms
    weights = np.abs(terms.coefficients) * problem.forms.sds
    return weights if terms.response_rates is None else weights / np.sqrt(terms.response_rates)


def largest_remainders(weights: FloatArray, lower: IntArray, upper: IntArray, total: int) -> IntArray:
    """Round shares proportional to ``weights`` to whole numbers that add up to ``total``.

    Shares are clipped to the limits and rescaled until they add up; then each is rounded down, and the
    people left over go to the largest fractions, the earlier stratum first.

    Examples
    --------
    >>> largest_remainders(np.array([3.0, 2.0, 1.0]), np.ones(3, int), np.full(3, 9), 10).tolist()
    [5, 3, 2]
    """
    shares, _ = balance(None, weights, None, lower.astype(float), upper.astype(float), float(total))
    shares = _without_rounding(shares)
    sizes = np.clip(np.floor(shares), lower, upper).astype(np.int64)
    left = total - int(sizes.sum())
    fractions = shares - sizes
    while left != 0:
        direction = 1 if left > 0 else -1
        room = sizes < upper if direction > 0 else sizes > lower
        order = np.argsort(np.where(room, -direction * fractions, np.inf), kind="stable")
        chosen = order[: min(abs(left), int(room.sum()))]
        sizes[chosen] += direction
        fractions[chosen] -= direction
        left -= direction * len(chosen)
    return sizes


def _without_rounding(shares: FloatArray) -> FloatArray:
    """Make whole what is whole but for rounding, so that it is not rounded down by one."""
    near = np.rint(shares)
    return np.where(np.abs(shares - near) <= 1e-12 * near, near, shares)


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
