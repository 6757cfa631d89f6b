"""Rounding to whole people with several targets, by a linear program over the people near the margin.

At the best prices most people are clearly in or out; only those whose worth is near their cost are open.
Taking shares of them is a linear program with one row for each target. Its solution at a vertex splits at
most as many people as there are targets that bind, so rounding those up costs at most that many people more
than the bound, and its dual prices are the best there are.
"""

from __future__ import annotations

import numpy as np

from dpstrata.allocation.solvers.target_problem import TargetProblem
from dpstrata.numerics.arrays import FloatArray, IntArray

_PEOPLE = 2000
_PER_TARGET = 20
_WIDENINGS = 3
_SCALINGS = 40
_ONE_BY_ONE = 100  # rounds


def round_people(problem: TargetProblem, prices: FloatArray) -> tuple[IntArray, FloatArray]:
    """Choose among the people near the margin.

    Parameters
    ----------
    problem : TargetProblem
        The problem.
    prices : array
        Nearly the best prices of the targets.

    Returns
    -------
    sizes : array of int
        Sizes that meet the targets but for rounding, or at least come near.
    prices : array
        The dual prices of the program.
    """
    prices, near = _for_whole_people(problem, prices)
    wanted = _PEOPLE + _PER_TARGET * len(problem.limits)
    for _ in range(_WIDENINGS):
        rows, n = _people_near_the_margin(problem, near, prices, wanted)
        start = near.copy()
        np.minimum.at(start, rows, n)
        needed = problem.sums(problem.variances(start)) - problem.limits
        gains = (
            problem.shares(rows) * (problem.unit.gain(n.astype(float), rows) - problem.unit.origin)[:, None]
        )
        if np.all(gains.sum(axis=0) >= needed):
            return _take(problem, start, rows, gains, needed, prices)
        wanted *= 8
    return near, prices


def _for_whole_people(problem: TargetProblem, prices: FloatArray) -> tuple[FloatArray, IntArray]:
    """Scale the prices until the best whole sizes nearly meet the targets that bind.

    Where strata have few people, whole sizes at the best prices for real ones can be far off.
    """
    sizes = problem.at(prices, problem.lower)
    for _ in range(_SCALINGS):
        ratio = problem.sums(problem.variances(sizes)) / problem.limits
        if np.all((np.abs(ratio - 1.0) < 1e-3) | (prices == 0)):
            break
        prices = np.asarray(prices * np.clip(ratio, 0.5, 2.0))
        sizes = problem.at(prices, sizes)
    return prices, sizes


def _take(
    problem: TargetProblem,
    start: IntArray,
    rows: IntArray,
    gains: FloatArray,
    needed: FloatArray,
    prices: FloatArray,
) -> tuple[IntArray, FloatArray]:
    """Add people to ``start`` at the least cost that gains what is needed."""
    costs, sizes = problem.costs[rows], start.copy()
    if len(needed) == 1:  # the most gain for the money first
        worth = gains[:, 0] / costs
        order = np.argsort(-worth, kind="stable")
        count = int(np.searchsorted(np.cumsum(gains[order, 0]), needed[0])) + 1
        last = order[min(count, len(order)) - 1]
        np.add.at(sizes, rows[order[:count]], 1)
        return sizes, np.array([1.0 / worth[last]])

    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    scale = 1.0 / problem.limits
    program = linprog(
        costs, A_ub=csr_matrix(-(gains * scale).T), b_ub=-needed * scale, bounds=(0.0, 1.0), method="highs-ds"
    )
    if program.status != 0:
        return start, prices
    np.add.at(sizes, rows, np.ceil(program.x - 1e-9).astype(np.int64))
    return sizes, np.maximum(-program.ineqlin.marginals, 0.0) * scale


def _people_near_the_margin(
    problem: TargetProblem, near: IntArray, prices: FloatArray, wanted: int
) -> tuple[IntArray, IntArray]:
    """List people by stratum and by how many come before them: the closest of each target and of all."""
    weights = problem.weights(prices)
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


def meet_targets(problem: TargetProblem, prices: FloatArray, sizes: IntArray) -> IntArray:
    """Raise the prices of missed targets until none is."""
    typical = prices.max() or 1.0
    raised = prices.copy()
    step = 1e-9
    for _ in range(200):
        missed = problem.missed(sizes)
        if not missed.any():
            return sizes
        raised[missed] = np.maximum(raised[missed], 1e-9 * typical) * (1.0 + step)
        sizes = np.maximum(sizes, problem.at(raised, sizes))
        step = min(2.0 * step, 1.0)
    return problem.most


def trim(problem: TargetProblem, sizes: IntArray, prices: FloatArray) -> IntArray:
    """Leave out people while every target stays met: first those whose loss is least for their cost.

    One by one at first; where more remain, many at once, and fewer again towards the end.
    """
    weights = problem.weights(prices)
    step, rounds, ending = 1, 0, False
    while not problem.missed(sizes).any():
        fewer = _with_fewer(problem, sizes, weights, step)
        if fewer is not None:
            sizes, rounds = fewer, rounds + 1
            step *= 2 if rounds > _ONE_BY_ONE and not ending else 1
        elif step > 1:
            step, ending = step // 2, True
        else:
            break
    return sizes


def _with_fewer(problem: TargetProblem, sizes: IntArray, weights: FloatArray, step: int) -> IntArray | None:
    """Leave out ``step`` people in as many strata as the targets allow, if there is one."""
    before = problem.variances(sizes)
    room = problem.limits - problem.sums(before)
    loss = problem.variances(np.maximum(sizes - step, 1)) - before
    order = np.argsort(weights * loss / problem.costs, kind="stable")
    order = order[sizes[order] - step >= problem.lower[order]]
    taken = _prefix_that_fits(problem, order, loss, room)
    trial = sizes.copy()
    trial[taken] -= step
    while taken.size and problem.missed(trial).any():  # by rounding of the sums
        trial[taken[-1]] += step
        taken = taken[:-1]
    return trial if taken.size else None


def _prefix_that_fits(
    problem: TargetProblem, order: IntArray, loss: FloatArray, room: FloatArray
) -> IntArray:
    """Choose people in the given order as long as all their targets have room.

    One who does not fit uses no room; what they would have used is given back in the next round.
    """
    chosen = np.zeros(len(loss), dtype=bool)
    waiting = order
    while waiting.size:
        fits = np.ones(len(waiting), dtype=bool)
        start = 0
        for part, bound in zip(problem.partitions, problem.bound, strict=True):
            groups = part.codes[waiting]
            use = part.weights[waiting] * loss[waiting]
            free = np.full(len(part.groups), np.inf)
            free[bound] = room[start : start + int(bound.sum())]
            start += int(bound.sum())
            by_group = np.argsort(groups, kind="stable")
            running = np.cumsum(use[by_group])
            first = np.searchsorted(groups[by_group], np.arange(len(part.groups)))
            offset = np.where(first > 0, running[np.maximum(first - 1, 0)], 0.0)
            sums = np.empty(len(waiting))
            sums[by_group] = running - offset[groups[by_group]]
            fits &= sums <= free[groups]
        new = waiting[fits]
        if not new.size:
            break
        chosen[new] = True
        used = np.zeros(len(loss))
        used[new] = loss[new]
        room = room - problem.sums(used)
        waiting = waiting[~fits]
    return np.flatnonzero(chosen)
