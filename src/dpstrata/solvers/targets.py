r"""Fewest interviews, or least cost, for several precision targets at once (Bethel 1989, made private).

Every target is a weighted sum of the same stratum variances, so prices μ on the targets make one problem of
them: minimise :math:`c_i n + (\sum_d \mu_d w_{di}) g_i(n)` in each stratum, the same terms with combined
coefficients. The best prices maximise a concave function; its gradient is by how much each target is missed.
They give the bound. Sizes at those prices are then mended: a little more where a target is missed, less
where no target minds, and for few strata every candidate that the bound leaves is tried.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpstrata.arrays import BoolArray, FloatArray, IntArray
from dpstrata.model.bound import (
    Bound,
    best_at_prices,
    certify_targets,
    combined_weights,
    needed_sizes,
    unit_terms,
)
from dpstrata.model.comparison import mean_variances, stratum_variances
from dpstrata.model.domains import Partition
from dpstrata.model.problem import Problem
from dpstrata.solvers.budget import Bounded
from dpstrata.solvers.priced import real_sizes
from dpstrata.solvers.rounding import round_people
from dpstrata.solvers.search import best_combination, candidates_within

_SCALINGS = 30
_NEWTON_STEPS = 60


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
    return Targets(problem, costs, partitions, most, finite_population).solve()


class Targets:
    """One problem with its targets, each a place in vectors of one entry per target."""

    def __init__(
        self,
        problem: Problem,
        costs: FloatArray | None,
        partitions: Sequence[Partition],
        most: IntArray,
        finite_population: bool,
    ) -> None:
        self.problem = problem
        self.given_costs = costs
        self.costs = np.ones(len(most)) if costs is None else costs
        self.partitions = [part for part in partitions if np.isfinite(part.limits).any()]
        self.bound = [np.isfinite(part.limits) for part in self.partitions]
        self.limits = np.concatenate(
            [part.limits[bound] for part, bound in zip(self.partitions, self.bound, strict=True)]
        )
        self.most = most
        self.lower = needed_sizes(problem, partitions, most, finite_population=finite_population)
        self.finite_population = finite_population
        self.unit = unit_terms(problem.terms)
        self.x = np.sqrt(self.lower.astype(float) * self.most)

    # --- what sizes give ----------------------------------------------------------------------

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
        parts = stratum_variances(self.problem, sizes, finite_population=self.finite_population)
        reached = [
            part.variances(*parts)[bound] for part, bound in zip(self.partitions, self.bound, strict=True)
        ]
        return np.concatenate(reached) > self.limits

    # --- the prices ---------------------------------------------------------------------------

    def real(self, prices: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Best real sizes at prices, with what they miss of the targets, and the weights."""
        weights = combined_weights(self.partitions, prices)
        self.x = real_sizes(
            self.unit,
            self.costs,
            scale=weights,
            lower=self.lower.astype(float),
            upper=self.most.astype(float),
            start=self.x,
        )
        return self.x, self.sums(self.variances(self.x)) - self.limits, weights

    def value(self, prices: FloatArray, x: FloatArray, miss: FloatArray) -> float:
        """Return the bound that the prices prove for real sizes."""
        return float((self.costs * x).sum() + np.dot(prices, miss))

    def start(self) -> FloatArray:
        """Prices that would do for each target alone, then scaled by how much each is missed.

        Where variances fall like 1/n, the size goes with the root of the price, so the square of the ratio
        mends a single target at once (Chromy 1987).
        """
        lowest = self.lower.astype(float)
        rough = self.variances(lowest) * lowest
        root = self.sums(np.sqrt(rough * self.costs))  # Σ w √(g n c): within a factor of the right one
        prices = (root / self.limits) ** 2 / len(self.limits)
        for _ in range(_SCALINGS):
            _, miss, _ = self.real(prices)
            ratio = (miss + self.limits) / self.limits
            prices = np.asarray(np.maximum(prices * np.clip(ratio, 1e-3, 1e3) ** 2, 1e-300))
            if np.all((np.abs(ratio - 1) < 1e-3) | (prices < 1e-12 * prices.max())):
                break
        return np.where(prices < 1e-9 * prices.max(), 0.0, prices)

    def prices(self) -> FloatArray:
        """Maximise the bound by Newton's method on the targets that bind."""
        prices = self.start()
        x, miss, weights = self.real(prices)
        value = self.value(prices, x, miss)
        best, best_value = prices, value
        for _ in range(_NEWTON_STEPS):
            free = (prices > 0) | (miss > 0)
            slack = np.where(free, np.abs(miss) * np.where(prices > 0, prices, 0.0), 0.0).sum()
            if slack <= 1e-10 * value and np.all(miss[free] <= 1e-9 * self.limits[free]):
                break
            places = np.flatnonzero(free)
            curvature = self.curvature(x, weights)[np.ix_(places, places)]
            ridge = 1e-12 * np.trace(curvature) / len(places) + 1e-300
            move = np.zeros(len(prices))
            move[places] = np.linalg.lstsq(curvature + ridge * np.eye(len(places)), miss[places], rcond=None)[
                0
            ]
            step = 1.0
            for _ in range(30):
                trial = np.maximum(prices + step * move, 0.0)
                x, miss, weights = self.real(trial)
                risen = self.value(trial, x, miss)
                if risen > value or step < 1e-8:
                    break
                step /= 3.0
            if risen <= value * (1 + 1e-14):
                if risen > best_value:
                    best = trial
                break
            prices, value = trial, risen
            best, best_value = (prices, value) if value > best_value else (best, best_value)
        return best

    def curvature(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Σ_i w_di w_ei g'²/(W g''): how fast what is missed falls with the prices."""
        W, H = self.unit.curve(x)
        tilt = self.unit.origin if self.unit.tilts is None else self.unit.tilts
        slope = self.unit.scale * W / x**2 - tilt
        inside = (x > self.lower) & (x < self.most) & (weights > 0)
        bend = np.where(inside, weights * self.unit.scale * H / x**3, 1.0)
        share = np.where(inside, slope * slope / bend, 0.0)
        rows = []
        for part, bound in zip(self.partitions, self.bound, strict=True):
            row = []
            for other, other_bound in zip(self.partitions, self.bound, strict=True):
                crossed = part.codes * len(other.groups) + other.codes
                table = np.bincount(
                    crossed,
                    weights=share * part.weights * other.weights,
                    minlength=len(part.groups) * len(other.groups),
                ).reshape(len(part.groups), len(other.groups))
                row.append(table[bound][:, other_bound])
            rows.append(np.hstack(row))
        return np.vstack(rows)

    # --- whole numbers ------------------------------------------------------------------------

    def at(self, prices: FloatArray, guess: IntArray) -> IntArray:
        """Best whole sizes at prices."""
        weights = combined_weights(self.partitions, prices)
        return best_at_prices(self.unit, weights, self.costs, self.lower, self.most, guess)

    def solve(self) -> Bounded:
        """Find prices, mend the sizes, prove."""
        if not self.missed(self.lower).any():
            prices = np.zeros(len(self.limits))
            return Bounded(self.lower, self.lower.astype(float), self.certify(self.lower, prices))
        prices = self.prices()
        relaxed = self.x.copy()
        near = self.at(prices, np.floor(relaxed).astype(np.int64))
        sizes = self.trim(self.feasible(prices, near), prices)
        bound = self.certify(sizes, prices)
        if not bound.optimal:
            rounded, other_prices = round_people(self, near, prices)
            rounded = self.trim(self.feasible(prices, rounded), prices)
            if self.cost(rounded) < self.cost(sizes):
                sizes = rounded
            bound = max(
                (self.certify(sizes, each) for each in (prices, other_prices)),
                key=lambda each: each.lower_bound,
            )
            prices = np.array(bound.prices)
        if not bound.optimal:
            sizes, complete = self.try_all(sizes, prices, bound)
            bound = self.certify(sizes, prices, searched=complete)
        return Bounded(sizes, relaxed, bound)

    def certify(self, sizes: IntArray, prices: FloatArray, *, searched: bool = False) -> Bound:
        """Prove what the prices prove."""
        return certify_targets(
            self.problem,
            self.given_costs,
            self.partitions,
            sizes,
            prices.tolist(),
            finite_population=self.finite_population,
            searched=searched,
        )

    def cost(self, sizes: IntArray) -> float:
        """Cost of an allocation."""
        return float((self.costs * sizes).sum())

    def feasible(self, prices: FloatArray, sizes: IntArray) -> IntArray:
        """Raise the prices of missed targets until none is."""
        typical = prices.max() or 1.0
        raised = prices.copy()
        step = 1e-9
        for _ in range(200):
            missed = self.missed(sizes)
            if not missed.any():
                return sizes
            raised[missed] = np.maximum(raised[missed], 1e-9 * typical) * (1.0 + step)
            sizes = np.maximum(sizes, self.at(raised, sizes))
            step = min(2.0 * step, 1.0)
        return self.most

    def trim(self, sizes: IntArray, prices: FloatArray) -> IntArray:
        """Leave out people while every target stays met: first those whose loss is least for their cost."""
        sizes = sizes.copy()
        weights = combined_weights(self.partitions, prices)
        while not self.missed(sizes).any():
            room = self.limits - self.sums(self.variances(sizes))
            can = sizes > self.lower
            loss = self.variances(np.maximum(sizes - 1, 1)) - self.variances(sizes)
            order = np.argsort(weights * loss / self.costs, kind="stable")
            order = order[can[order]]
            taken = self._prefix_that_fits(order, loss, room)
            if not taken.size:
                break
            trial = sizes.copy()
            trial[taken] -= 1
            while self.missed(trial).any():  # by rounding of the sums
                trial[taken[-1]] += 1
                taken = taken[:-1]
            if not taken.size:
                break
            sizes = trial
        return sizes

    def _prefix_that_fits(self, order: IntArray, loss: FloatArray, room: FloatArray) -> IntArray:
        """Choose people in the given order as long as all their targets have room.

        One who does not fit uses no room; what they would have used is given back in the next round.
        """
        chosen = np.zeros(len(loss), dtype=bool)
        waiting = order
        while waiting.size:
            fits = np.ones(len(waiting), dtype=bool)
            start = 0
            for part, bound in zip(self.partitions, self.bound, strict=True):
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
            room = room - self.sums(used)
            waiting = waiting[~fits]
        return np.flatnonzero(chosen)

    def try_all(self, sizes: IntArray, prices: FloatArray, bound: Bound) -> tuple[IntArray, bool]:
        """Try every allocation that the bound leaves, if those are few."""
        weights = combined_weights(self.partitions, prices)
        best = self.at(prices, sizes)
        proven = self.value(prices, best.astype(float), self.sums(self.variances(best)) - self.limits)
        room = (bound.value - proven) * (1 + 1e-6) + 1e-9 * bound.value
        found = candidates_within(self.unit, weights, self.costs, self.lower, self.most, best, room)
        if found is None:
            return sizes, False
        correction = (
            self.problem.terms.sds**2 / self.problem.terms.sizes if self.finite_population else 0.0 * weights
        )
        shares = self.shares(np.arange(len(sizes)))
        complete, better = best_combination(
            [part.sizes for part in found],
            [cost * part.sizes for cost, part in zip(self.costs, found, strict=True)],
            [part.excess for part in found],
            [np.outer(part.variances - correction[i], shares[i]) for i, part in enumerate(found)],
            self.limits,
            best=bound.value * (1 - 1e-12),
            room=room,
            accept=lambda rival: not self.missed(rival).any(),
        )
        return (sizes if better is None else better), complete

    def shares(self, rows: IntArray) -> FloatArray:
        """Weight of some strata in every target."""
        columns = [
            np.where(part.codes[rows] == group, part.weights[rows], 0.0)
            for part, bound in zip(self.partitions, self.bound, strict=True)
            for group in np.flatnonzero(bound)
        ]
        return np.column_stack(columns)
