r"""Fewest interviews, or least cost, for several precision targets at once (Bethel 1989, made private).

Every target is a weighted sum of the same stratum variances, so prices μ on the targets make one problem of
them: minimise :math:`c_i n + (\sum_d \mu_d w_{di}) g_i(n)` in each stratum, the same terms with combined
coefficients. The best prices give the bound. Sizes at those prices are then mended: a little more where a
target is missed, less where no target minds, and for few strata every candidate that the bound leaves is
tried.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpstrata.allocation.domains import Partition
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import Bound, certify_targets
from dpstrata.allocation.solvers.rounding import meet_targets, round_people, trim
from dpstrata.allocation.solvers.search import best_combination, candidates_within
from dpstrata.allocation.solvers.solution import Bounded
from dpstrata.allocation.solvers.target_prices import best_prices
from dpstrata.allocation.solvers.target_problem import TargetProblem
from dpstrata.numerics.arrays import FloatArray, IntArray


def solve_targets(
    problem: Problem,
    costs: FloatArray | None,
    partitions: Sequence[Partition],
    most: IntArray,
    *,
    finite_population: bool,
) -> Bounded:
    """Find sizes of little cost that meet every target, with a proof of how little.

    Parameters
    ----------
    problem : Problem
        Terms and bounds; its total is not used.
    costs : array or None
        Cost of one person; ``None`` counts people.
    partitions : sequence of Partition
        The domains with their targets; sizes ``most`` must meet them all.
    most : array of int
        Sizes beyond which more people hurt.
    finite_population : bool
        Whether variances count the finite population correction.
    """
    targets = TargetProblem(problem, costs, partitions, most, finite_population=finite_population)
    if not targets.missed(targets.lower).any():
        nothing = np.zeros(len(targets.limits))
        return Bounded(targets.lower, targets.lower.astype(float), _certify(targets, targets.lower, nothing))
    prices, relaxed = best_prices(targets)
    near = targets.at(prices, np.floor(relaxed).astype(np.int64))
    sizes = trim(targets, meet_targets(targets, prices, near), prices)
    bound = _certify(targets, sizes, prices)
    if not bound.optimal:
        rounded, other_prices = round_people(targets, prices)
        rounded = trim(targets, meet_targets(targets, prices, rounded), prices)
        if targets.cost(rounded) < targets.cost(sizes):
            sizes = rounded
        proofs = [_certify(targets, sizes, each) for each in (prices, other_prices)]
        bound = max(proofs, key=lambda proof: proof.lower_bound)
        prices = np.array(bound.prices)
    if not bound.optimal:
        sizes, complete = _try_all(targets, sizes, prices, bound)
        bound = _certify(targets, sizes, prices, searched=complete)
    return Bounded(sizes, relaxed, bound)


def _certify(problem: TargetProblem, sizes: IntArray, prices: FloatArray, *, searched: bool = False) -> Bound:
    """Prove what the prices prove."""
    return certify_targets(
        problem.problem,
        None if problem.counts_people else problem.costs,
        problem.partitions,
        sizes,
        prices.tolist(),
        finite_population=problem.finite_population,
        searched=searched,
    )


def _try_all(
    problem: TargetProblem, sizes: IntArray, prices: FloatArray, bound: Bound
) -> tuple[IntArray, bool]:
    """Try every allocation that the bound leaves, if those are few."""
    weights = problem.weights(prices)
    best = problem.at(prices, sizes)
    proven = problem.cost(best) + float(
        np.dot(prices, problem.sums(problem.variances(best)) - problem.limits)
    )
    room = (bound.value - proven) * (1 + 1e-6) + 1e-9 * bound.value
    found = candidates_within(problem.unit, weights, problem.costs, problem.lower, problem.most, best, room)
    if found is None:
        return sizes, False
    complete, better = best_combination(
        [part.sizes for part in found],
        [cost * part.sizes for cost, part in zip(problem.costs, found, strict=True)],
        [part.excess for part in found],
        [problem.uses(i, part.variances) for i, part in enumerate(found)],
        problem.limits,
        best=bound.value * (1 - 1e-12),
        room=room,
        accept=lambda rival: not problem.missed(rival).any(),
    )
    return (sizes if better is None else better), complete
