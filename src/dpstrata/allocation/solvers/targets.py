r"""Fewest interviews, or least cost, for several precision targets at once (Bethel 1989, made private).

Every target is a weighted sum of the same stratum variances, so prices μ on the targets make one problem of
them: minimise :math:`c_i n + (\sum_d \mu_d w_{di}) g_i(n)` in each stratum, the same terms with combined
coefficients. The best prices give the bound, a concave function of the prices whose gradient is by how much
each target is missed: a few multiplicative steps come near (Chromy 1987), then Newton's method on the targets
that bind. Sizes at those prices are then mended: a little more where a target is missed, less where no target
minds, and for few strata every candidate that the bound leaves is tried.

Where that leaves a gap, whole people are chosen by a linear program. At the best prices most people are
clearly in or out; only those whose worth is near their cost are open. Taking shares of them is a linear
program with one row for each target. Its solution at a vertex splits at most as many people as there are
targets that bind, so rounding those up costs at most that many people more than the bound, and its dual
prices are the best there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpstrata.allocation.domains import Partition
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import (
    Bound,
    best_at_prices,
    certify_targets,
    combined_weights,
    needed_sizes,
    unit_terms,
)
from dpstrata.allocation.solvers.search import best_combination, candidates_within
from dpstrata.allocation.solvers.sizes_at_price import real_sizes
from dpstrata.allocation.solvers.solution import Bounded
from dpstrata.allocation.variances import mean_variances, stratum_variances
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray

_SCALINGS = 30  # steps of each search for prices
_NEWTON_STEPS = 60
_HALVINGS = 30
_PEOPLE = 2000  # near the margin, among whom the linear program chooses
_PER_TARGET = 20
_WIDENINGS = 3
_WHOLE_SCALINGS = 40
_ONE_BY_ONE = 100  # rounds


class TargetProblem:
    """Least cost within targets; vectors of targets have one entry for each.

    Parameters
    ----------
    problem : Problem
        Terms and bounds; its total is not used.
    costs : array or None
        Cost of one person; ``None`` counts people.
    partitions : sequence of Partition
        The domains with their targets.
    most : array of int
        Sizes beyond which more people hurt; they must meet every target.
    finite_population : bool
        Whether variances count the finite population correction.
    """

    def __init__(
        self,
        problem: Problem,
        costs: FloatArray | None,
        partitions: Sequence[Partition],
        most: IntArray,
        *,
        finite_population: bool,
    ) -> None:
        self.problem = problem
        self.counts_people = costs is None
        self.costs = np.ones(len(most)) if costs is None else costs
        self.partitions = [part for part in partitions if np.isfinite(part.limits).any()]
        self.bound = [np.isfinite(part.limits) for part in self.partitions]
        self.limits = np.concatenate(
            [part.limits[bound] for part, bound in zip(self.partitions, self.bound, strict=True)]
        )
        self.most = most
        self.lower = needed_sizes(problem, partitions, most, finite_population=finite_population)
        self.finite_population = finite_population
        self.correction: FloatArray = np.zeros(len(most))
        if finite_population:
            self.correction = problem.forms.correction(problem.terms.sizes)
        self.unit = unit_terms(problem.terms)
        self.base: FloatArray = np.zeros(len(most))
        """What a unit of variance of each stratum's mean costs beside the targets."""

    def weights(self, prices: FloatArray) -> FloatArray:
        """Return what a unit of variance of each stratum's mean costs at prices of the targets."""
        return self.base + combined_weights(self.partitions, prices)

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up a value of each stratum in every target."""
        return np.concatenate(
            [part.sums(values)[bound] for part, bound in zip(self.partitions, self.bound, strict=True)]
        )

    def variances(self, sizes: IntArray | FloatArray) -> FloatArray:
        """Variance of each stratum's mean."""
        return mean_variances(self.problem, sizes, finite_population=self.finite_population)

    def missed(self, sizes: IntArray) -> BoolArray:
        """Which targets are missed."""
        parts = stratum_variances(self.problem, sizes, finite_population=self.finite_population, planned=True)
        reached = [
            part.variances(*parts)[bound] for part, bound in zip(self.partitions, self.bound, strict=True)
        ]
        return np.concatenate(reached) > self.limits

    def cost(self, sizes: IntArray | FloatArray) -> float:
        """Cost of an allocation."""
        return float((self.costs * sizes).sum())

    def at(self, prices: FloatArray, guess: IntArray) -> IntArray:
        """Best whole sizes at prices of the targets."""
        return best_at_prices(self.unit, self.weights(prices), self.costs, self.lower, self.most, guess)

    def uses(self, row: int, variances: FloatArray) -> FloatArray:
        """Return what variances of one stratum's mean, without the correction, use of every target."""
        return np.outer(variances - self.correction[row], self.shares(np.array([row])))

    def shares(self, rows: IntArray) -> FloatArray:
        """Weight of some strata in every target."""
        columns = [
            np.where(part.codes[rows] == group, part.weights[rows], 0.0)
            for part, bound in zip(self.partitions, self.bound, strict=True)
            for group in np.flatnonzero(bound)
        ]
        return np.column_stack(columns)


def best_prices(problem: TargetProblem, near: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Find the best prices of the targets, from prices ``near`` them if given, and the best real sizes."""
    search = _Prices(problem)
    prices = search.climb(search.start() if near is None else near)
    return prices, search.real(prices)[0]


class _Prices:
    """The search, with the real sizes it has come to."""

    def __init__(self, problem: TargetProblem) -> None:
        self.problem = problem
        self.lower, self.most = problem.lower.astype(float), problem.most.astype(float)
        self.x = np.sqrt(self.lower * self.most)

    def real(self, prices: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Best real sizes at prices, with what they miss of the targets, and the weights."""
        problem = self.problem
        weights = problem.weights(prices)
        self.x = real_sizes(
            problem.unit, problem.costs, scale=weights, lower=self.lower, upper=self.most, start=self.x
        )
        return self.x, problem.sums(problem.variances(self.x)) - problem.limits, weights

    def value(self, prices: FloatArray, x: FloatArray, miss: FloatArray) -> float:
        """Return the bound that the prices prove for real sizes."""
        beside = float((self.problem.base * self.problem.variances(x)).sum())
        return self.problem.cost(x) + beside + float(np.dot(prices, miss))

    def start(self) -> FloatArray:
        """Begin with prices that would do for each target alone, scaled by how much each is missed.

        Where variances fall like 1/n, the size goes with the root of the price, so the square of the ratio
        mends a single target at once.
        """
        problem = self.problem
        rough = problem.variances(self.lower) * self.lower
        root = problem.sums(np.sqrt(rough * problem.costs))  # Σ w √(g n c): within a factor of the right one
        prices = (root / problem.limits) ** 2 / len(problem.limits)
        for _ in range(_SCALINGS):
            _, miss, _ = self.real(prices)
            ratio = (miss + problem.limits) / problem.limits
            prices = np.asarray(np.maximum(prices * np.clip(ratio, 1e-3, 1e3) ** 2, 1e-300))
            if np.all((np.abs(ratio - 1) < 1e-3) | (prices < 1e-12 * prices.max())):
                break
        return np.where(prices < 1e-9 * prices.max(), 0.0, prices)

    def climb(self, prices: FloatArray) -> FloatArray:
        """Raise the bound by Newton's method on the targets that bind."""
        x, miss, weights = self.real(prices)
        value = self.value(prices, x, miss)
        for _ in range(_NEWTON_STEPS):
            free = (prices > 0) | (miss > 0)
            slack = float((np.abs(miss) * prices).sum())
            if slack <= 1e-10 * value and np.all(miss[free] <= 1e-9 * self.problem.limits[free]):
                break
            move = self.step(x, weights, miss, np.flatnonzero(free))
            for halving in range(_HALVINGS):
                trial = np.maximum(prices + move / 3.0**halving, 0.0)
                x, miss, weights = self.real(trial)
                risen = self.value(trial, x, miss)
                if risen > value:
                    break
            if risen <= value * (1 + 1e-14):
                break
            prices, value = trial, risen
        return prices

    def step(self, x: FloatArray, weights: FloatArray, miss: FloatArray, free: IntArray) -> FloatArray:
        """Newton's step in the prices of the targets ``free``."""
        curvature = self.curvature(x, weights)[np.ix_(free, free)]
        ridge = 1e-12 * float(np.trace(curvature)) / len(free) + 1e-300
        move = np.zeros(len(miss))
        move[free] = np.linalg.lstsq(curvature + ridge * np.eye(len(free)), miss[free], rcond=None)[0]
        return move

    def curvature(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Σ_i w_di w_ei g'²/(W g''): how fast what is missed falls with the prices."""
        problem, unit = self.problem, self.problem.unit
        W, H = unit.curve(x)
        slope = unit.scale * W / x**2 - (unit.origin if unit.tilts is None else unit.tilts)
        inside = (x > self.lower) & (x < self.most) & (weights > 0) & (H > 0)
        bend = np.where(inside, weights * unit.scale * H / x**3, 1.0)
        share = np.where(inside, slope * slope / bend, 0.0)
        pairs = list(zip(problem.partitions, problem.bound, strict=True))
        rows = []
        for part, bound in pairs:
            row = []
            for other, other_bound in pairs:
                table = np.bincount(
                    part.codes * len(other.groups) + other.codes,
                    weights=share * part.weights * other.weights,
                    minlength=len(part.groups) * len(other.groups),
                ).reshape(len(part.groups), len(other.groups))
                row.append(table[bound][:, other_bound])
            rows.append(np.hstack(row))
        return np.vstack(rows)


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
    for _ in range(_WHOLE_SCALINGS):
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
