r"""Least variance within a budget, where people of different strata cost differently, with targets or not.

The price λ of a unit of cost ties the strata together, as the price of a person does for a total. At any λ
each stratum has its best size; the λ whose sizes just use up the budget gives the bound. What rounding
leaves of the budget is then spent on people who still fit, and for few strata every candidate left is tried.

Where targets must be met too, a price λ of the budget and prices μ of the targets make one problem of them:
minimise :math:`(w_i + \sum_d \mu_d w_{di}) g_i(n) + \lambda c_i n` in each stratum. Divided by λ that is the
least cost for the targets with a price 1/λ on the variance of the whole beside them; the λ at which it costs
the budget gives the bound. Whole sizes are then found as for a budget alone, none of which may miss a target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpstrata.allocation.domains import Partition
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import (
    Bound,
    best_at_prices,
    certify_budget,
    combined_weights,
    unit_terms,
)
from dpstrata.allocation.solvers.search import Candidates, best_combination, candidates_within
from dpstrata.allocation.solvers.sizes_at_price import best_sizes, find_price, real_sizes
from dpstrata.allocation.solvers.solution import Bounded
from dpstrata.allocation.solvers.targets import TargetProblem, best_prices, meet_targets
from dpstrata.allocation.variances import mean_variances
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.survey.costs import fits_budget, total_cost

_HALVINGS = 60
_ONE_BY_ONE = 500  # people who are added singly; more are added by a price of their own
_MOST_EXCHANGES = 500
_LEAST_PRICE = 1e-25  # of that at which nobody is invited beyond the minimums: multiples reach all others
_NOTHING = 1e-12  # a share of the value that prices of targets which do not bind may have


def solve_budget(problem: Problem, costs: FloatArray, budget: float, *, finite_population: bool) -> Bounded:
    """Find sizes of little variance that cost at most ``budget``, with a proof of how little.

    Parameters
    ----------
    problem : Problem
        Terms and bounds; its total is not used. The minimums must be within the budget.
    costs : array
        Cost of one person, > 0.
    budget : float
        The most that all may cost.
    finite_population : bool
        Whether variances count the finite population correction.
    """
    return BudgetProblem(problem, costs, budget, finite_population).solve()


class BudgetProblem:
    """One problem with its costs; parameters as of :func:`solve_budget`."""

    def __init__(self, problem: Problem, costs: FloatArray, budget: float, finite_population: bool) -> None:
        self.problem = problem
        self.terms = problem.terms
        self.costs = costs
        self.budget = budget
        self.finite_population = finite_population
        self.lower = problem.lower
        self.most = best_sizes(problem)  # beyond these more people hurt
        self.unit = unit_terms(problem.terms)
        self.weights = problem.terms.coefficients**2
        self.priced = self.weights  # what a unit of variance of each stratum's mean costs, in variance
        self.partitions: Sequence[Partition] = ()
        self.prices = np.zeros(0)  # of targets, if there are any

    def solve(self) -> Bounded:
        """Search, spend what is left, prove."""
        if self.fits(self.most):  # nobody more would help: the price is zero
            return Bounded(self.most, self.most.astype(float), self.certify(self.most, 0.0))
        price, relaxed = self.relax()
        sizes = self.exchange(self.fill(self.rounded(price, relaxed), price))
        bound = self.certify(sizes, price)
        if not bound.optimal:
            sizes, complete = self.try_all(sizes, price, bound)
            bound = self.certify(sizes, price, searched=complete)
        return Bounded(sizes, relaxed, bound)

    def rounded(self, price: float, relaxed: FloatArray) -> IntArray:
        """Return whole sizes that fit, near the best real ones."""
        return self.raised(self.lower, self.most, price, np.floor(relaxed).astype(np.int64))

    def fits(self, sizes: IntArray) -> bool:
        """Whether the budget pays for them."""
        return fits_budget(self.costs, sizes, self.budget)

    def left(self, sizes: IntArray) -> float:
        """Return what they leave of the budget, a little more rather than less."""
        return self.budget * (1.0 + 1e-12) - total_cost(self.costs, sizes)

    def certify(self, sizes: IntArray, price: float, *, searched: bool = False) -> Bound:
        """Prove what the prices prove."""
        return certify_budget(
            self.problem,
            self.costs,
            self.budget,
            sizes,
            price,
            finite_population=self.finite_population,
            searched=searched,
            partitions=self.partitions,
            target_prices=self.prices.tolist(),
        )

    def relax(self) -> tuple[float, FloatArray]:
        """Find the price at which the best real sizes cost the budget."""
        lower, upper = self.lower.astype(float), self.most.astype(float)
        x = np.sqrt(lower * upper)

        def spend(price: float) -> float:
            nonlocal x
            x = real_sizes(self.terms, price * self.costs, lower=lower, upper=upper, start=x)
            return float((self.costs * x).sum())

        # Real sizes that need no price may cost less than the budget though the best whole ones cost more.
        if spend(0.0) <= self.budget:
            return 0.0, x
        # Begin where sizes of a plain survey, n ∝ √(A·V/c), would cost the budget.
        spread = np.sqrt(self.terms.variances) + 0.1 * math.sqrt(self.terms.noise.unit)
        weight = float((np.abs(self.terms.coefficients) * spread * np.sqrt(self.costs)).sum())
        price = find_price(spend, self.budget, (weight / self.budget) ** 2)
        spend(price)
        return price, x

    def raised(self, low: IntArray, high: IntArray, price: float, guess: IntArray) -> IntArray:
        """Return the best sizes between ``low``, which fits, and ``high`` at about the least price that fits.

        The prices tried are multiples of ``price``, found by doubling and halving.
        """
        price = max(price, _LEAST_PRICE * float((self.gains(low) / self.costs).max(initial=0.0)))

        def at(factor: float, start: IntArray) -> IntArray:
            return best_at_prices(self.unit, self.weights, factor * price * self.costs, low, high, start)

        dearest = float(self.costs[high > low].max(initial=0.0))
        sizes = at(1.0, np.clip(guess, low, high))
        too_low, enough = 0.0, 1.0
        if not self.fits(sizes):
            step = 1e-12
            while not self.fits(sizes) and step < 1e30:
                sizes = at(1.0 + step, sizes)
                too_low, enough, step = enough, 1.0 + step, 8.0 * step
            if not self.fits(sizes):
                return low
        for _ in range(_HALVINGS):
            middle = (too_low + enough) / 2
            if self.left(sizes) < dearest or not too_low < middle < enough:
                break
            rival = at(middle, sizes)
            too_low, enough, sizes = (too_low, middle, rival) if self.fits(rival) else (middle, enough, sizes)
        return sizes

    def fill(self, sizes: IntArray, price: float) -> IntArray:
        """Spend what is left on people who still fit: many at a price of their own, the last singly."""
        while True:
            cheap = (self.costs <= self.left(sizes)) & (sizes < self.most)
            if not cheap.any():
                return sizes
            if self.left(sizes) / float(self.costs[cheap].min()) <= _ONE_BY_ONE:
                return self.fill_singly(sizes)
            fuller = self.raised(sizes, np.where(cheap, self.most, sizes), price, sizes)
            if np.array_equal(fuller, sizes):
                return self.fill_singly(sizes)
            sizes = fuller

    def fill_singly(self, sizes: IntArray) -> IntArray:
        """Spend what is left, the most variance for the money first."""
        sizes = sizes.copy()
        worth = self.gains(sizes) / self.costs
        for _ in range(_ONE_BY_ONE):
            worth[self.costs > self.left(sizes)] = 0.0
            i = int(np.argmax(worth))
            if worth[i] <= 0:
                break
            sizes[i] += 1
            if not self.fits(sizes):
                sizes[i] -= 1
                worth[i] = 0.0
                continue
            row = np.array([i])
            gain = float(self.terms.gain(sizes[row].astype(float), row)[0]) - self.terms.origin
            worth[i] = gain / self.costs[i] if sizes[i] < self.most[i] else 0.0
        return sizes

    def gains(self, sizes: IntArray) -> FloatArray:
        """Return what the next person of each stratum takes off the variance; nothing beyond the most."""
        gain = self.terms.gain(sizes.astype(float)) - self.terms.origin
        return np.where(sizes < self.most, np.maximum(gain, 0.0), 0.0)

    def losses(self, sizes: IntArray) -> FloatArray:
        """Return what the last person of each stratum took off it; infinite at the minimum."""
        loss = self.terms.gain(np.maximum(sizes - 1.0, 1.0)) - self.terms.origin
        return np.where(sizes > self.lower, loss, np.inf)

    def exchange(self, sizes: IntArray) -> IntArray:
        """Move single persons between strata while that fits the budget and helps."""
        by_cost = np.argsort(self.costs, kind="stable")
        ordered = self.costs[by_cost]
        for _ in range(_MOST_EXCHANGES if len(sizes) <= 1000 else 3):
            gain, loss = self.gains(sizes)[by_cost], self.losses(sizes)
            # The best person to add among those who cost at most what leaving one out makes free.
            best = np.maximum.accumulate(gain)
            affordable = np.searchsorted(ordered, self.costs + self.left(sizes), side="right") - 1
            helps = best[affordable] - loss  # a person can always replace themselves
            j = int(np.argmax(helps))
            i = int(by_cost[np.argmax(gain[: affordable[j] + 1])])
            moved = sizes.copy()
            moved[j] -= 1
            moved[i] += 1
            if helps[j] <= 1e-12 * loss[j] or i == j or not self.fits(moved):
                break
            sizes = moved
        return sizes

    def try_all(self, sizes: IntArray, price: float, bound: Bound) -> tuple[IntArray, bool]:
        """Try every allocation that the bound leaves, if those are few."""
        prices = price * self.costs
        best = best_at_prices(self.unit, self.priced, prices, self.lower, self.most, sizes)
        room = (bound.value - self.proven(best, price)) * (1 + 1e-6) + 1e-12 * bound.value
        found = candidates_within(self.unit, self.priced, prices, self.lower, self.most, best, room)
        if found is None:
            return sizes, False
        complete, better = best_combination(
            [part.sizes for part in found],
            [weight * part.variances for weight, part in zip(self.weights, found, strict=True)],
            [part.excess for part in found],
            [self.uses(i, part) for i, part in enumerate(found)],
            self.limits(),
            best=self.problem.objective(sizes) * (1 - 1e-14),
            room=room,
            accept=self.fits,
        )
        return (sizes if better is None else better), complete

    def proven(self, best: IntArray, price: float) -> float:
        """Return the bound that the prices prove, at the best sizes for them."""
        spread = self.weights * mean_variances(self.problem, best, finite_population=self.finite_population)
        return float(spread.sum()) + price * (float((self.costs * best).sum()) - self.budget)

    def limits(self) -> FloatArray:
        """Return what an allocation may use of everything that is limited."""
        return np.array([self.budget])

    def uses(self, row: int, part: Candidates) -> FloatArray:
        """Return what sizes of one stratum use of it, a row for each of them."""
        return np.reshape(self.costs[row] * part.sizes, (-1, 1))


def solve_spending(
    problem: Problem,
    costs: FloatArray,
    budget: float,
    partitions: Sequence[Partition],
    cheapest: IntArray,
    *,
    finite_population: bool,
) -> Bounded:
    """Find sizes of little variance that cost at most ``budget`` and meet every target, with a proof.

    Parameters
    ----------
    problem : Problem
        Terms and bounds; its total is not used.
    costs : array
        Cost of one person, > 0.
    budget : float
        The most that all may cost.
    partitions : sequence of Partition
        The domains with their targets.
    cheapest : array of int
        Sizes that meet the targets within the budget.
    finite_population : bool
        Whether variances count the finite population correction.
    """
    return _Spending(problem, costs, budget, partitions, cheapest, finite_population).solve()


class _Spending(BudgetProblem):
    """One problem with its costs and targets."""

    def __init__(
        self,
        problem: Problem,
        costs: FloatArray,
        budget: float,
        partitions: Sequence[Partition],
        cheapest: IntArray,
        finite_population: bool,
    ) -> None:
        super().__init__(problem, costs, budget, finite_population)
        self.cheapest = cheapest
        self.partitions = partitions
        self.targets = TargetProblem(
            problem, costs, partitions, self.most, finite_population=finite_population
        )
        self.lower = self.targets.lower
        self.prices = np.zeros(len(self.targets.limits))  # of the targets, in variance of the whole

    def fits(self, sizes: IntArray) -> bool:
        """Whether the budget pays for them and they miss no target."""
        return super().fits(sizes) and not self.targets.missed(sizes).any()

    def relax(self) -> tuple[float, FloatArray]:
        """Find the price at which the best real sizes that meet the targets cost the budget."""
        targets, found = self.targets, None

        def spend(price: float) -> float:
            nonlocal found
            targets.base = self.weights / price
            found = best_prices(targets, None if found is None else found[0])
            return targets.cost(found[1])

        alone = float(
            np.sqrt(self.weights * targets.variances(self.cheapest) * self.cheapest * self.costs).sum()
        )
        price = find_price(spend, self.budget, (alone / self.budget) ** 2)
        spend(price)
        assert found is not None
        prices, relaxed = found
        binding = prices * targets.limits > _NOTHING * self.budget
        self.prices = np.where(binding, prices, 0.0) * price
        self.priced = self.weights + combined_weights(targets.partitions, self.prices)
        return price, relaxed

    def rounded(self, price: float, relaxed: FloatArray) -> IntArray:
        """Return whole sizes that fit: those at the prices, the whole being worth less if it must."""
        near, step = np.floor(relaxed).astype(np.int64), 1e-9
        while step < 1:
            self.targets.base = self.weights / price * (1 - step)
            sizes = meet_targets(
                self.targets, self.prices / price, self.targets.at(self.prices / price, near)
            )
            if self.fits(sizes):
                return min((sizes, self.cheapest), key=lambda each: self.after_filling(each, price))
            step *= 4
        return self.cheapest

    def after_filling(self, sizes: IntArray, price: float) -> float:
        """Variance once what sizes leave of the budget is spent."""
        return self.problem.objective(self.fill(sizes, price))

    def proven(self, best: IntArray, price: float) -> float:
        """Return the bound that the prices prove, at the best sizes for them."""
        missed = self.targets.sums(self.targets.variances(best)) - self.targets.limits
        return super().proven(best, price) + float(np.dot(self.prices, missed))

    def limits(self) -> FloatArray:
        """Return what an allocation may use of everything that is limited: the budget, and every target."""
        return np.append(self.budget, self.targets.limits)

    def uses(self, row: int, part: Candidates) -> FloatArray:
        """Return what sizes of one stratum use of it, a row for each of them."""
        return np.hstack([super().uses(row, part), self.targets.uses(row, part.variances)])
