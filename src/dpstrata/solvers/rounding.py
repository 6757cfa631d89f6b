"""Rounding to whole people with several targets, by a linear program over the people near the margin.

At the best prices most people are clearly in or out; only those whose worth is near their cost are open.
Taking shares of them is a linear program with one row for each target. Its solution at a vertex splits at
most as many people as there are targets that bind, so rounding those up costs at most that many people more
than the bound, and its dual prices are the best there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpstrata.arrays import FloatArray, IntArray
from dpstrata.model.bound import combined_weights

if TYPE_CHECKING:
    from dpstrata.solvers.targets import Targets

_PEOPLE = 2000
_PER_TARGET = 20
_WIDENINGS = 4


def round_people(problem: Targets, near: IntArray, prices: FloatArray) -> tuple[IntArray, FloatArray]:
    """Choose among the people near the margin.

    Parameters
    ----------
    problem : Targets
        The problem.
    near : array of int
        Best whole sizes at ``prices``.
    prices : array
        Nearly the best prices of the targets.

    Returns
    -------
    sizes : array of int
        Sizes that meet the targets but for rounding, or ``near`` where the program has no solution.
    prices : array
        The dual prices of the program.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    targets = len(problem.limits)
    wanted = _PEOPLE + _PER_TARGET * targets
    for _ in range(_WIDENINGS):
        rows, n = _people_near_the_margin(problem, near, prices, wanted)
        start = near.copy()
        np.minimum.at(start, rows, n)
        people = problem.unit.gain(n.astype(float), rows) - problem.unit.origin
        reached = problem.sums(problem.variances(start))
        scale = 1.0 / problem.limits
        matrix = csr_matrix((problem.shares(rows) * people[:, None] * scale).T)
        program = linprog(
            problem.costs[rows],
            A_ub=-matrix,
            b_ub=-(reached - problem.limits) * scale,
            bounds=(0.0, 1.0),
            method="highs-ds",
        )
        if program.status == 0:
            taken = np.ceil(program.x - 1e-9).astype(np.int64)
            sizes = start.copy()
            np.add.at(sizes, rows, taken)
            return sizes, np.maximum(-program.ineqlin.marginals, 0.0) * scale
        wanted *= 8
    return near, prices


def _people_near_the_margin(
    problem: Targets, near: IntArray, prices: FloatArray, wanted: int
) -> tuple[IntArray, IntArray]:
    """List people by stratum and by how many come before them: the closest of each target and of all."""
    weights = combined_weights(problem.partitions, prices)
    reach = int(np.clip(wanted // len(near), 1, 2 * len(problem.limits) + 4))
    offsets = np.arange(-reach, reach)
    rows = np.repeat(np.arange(len(near)), len(offsets))
    n = near[rows] + np.tile(offsets, len(near))
    there = (n >= problem.lower[rows]) & (n < problem.most[rows])
    rows, n = rows[there], n[there]
    gain = problem.unit.gain(n.astype(float), rows) - problem.unit.origin
    distance = np.abs(weights[rows] * gain / problem.costs[rows] - 1.0)
    # A stratum's people are taken up to one distance, so that they follow each other without gaps.
    order = np.argsort(distance, kind="stable")
    limit = np.zeros(len(near))
    np.maximum.at(limit, rows[order[:wanted]], distance[order[:wanted]])
    for part in problem.partitions:
        by_group = order[np.argsort(part.codes[rows[order]], kind="stable")]
        groups = part.codes[rows[by_group]]
        place = np.arange(len(groups)) - np.searchsorted(groups, groups)
        first = by_group[place < _PER_TARGET]
        np.maximum.at(limit, rows[first], distance[first])
    chosen = distance <= limit[rows]
    return rows[chosen], n[chosen]
