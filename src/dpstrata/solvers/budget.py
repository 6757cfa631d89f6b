"""Least variance within a budget, where people of different strata cost differently.

The price λ of a unit of cost ties the strata together, as the price of a person does for a total. At any λ
each stratum has its best size; the λ whose sizes just use up the budget gives the bound. What rounding
leaves of the budget is then spent person by person, and for few strata every candidate left is tried.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpstrata.arrays import FloatArray, IntArray
from dpstrata.model.bound import Bound, best_at_prices, certify_budget, unit_terms
from dpstrata.model.problem import Problem
from dpstrata.solvers.free import best_sizes
from dpstrata.solvers.priced import find_price, real_sizes
from dpstrata.solvers.search import best_combination, candidates_within

_CLOSER = 40  # halvings of the price's last step
_MOST_SUMMED = 10_000  # costs that are summed without any rounding
_MOST_WORK = 10**7  # strata looked at while exchanging people


class Bounded(NamedTuple):
    """A design whose proof is a bound."""

    sizes: IntArray
    relaxed_sizes: FloatArray
    bound: Bound


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
    return _Budget(problem, costs, budget, finite_population).solve()


class _Budget:
    """One problem with its costs."""

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

    def solve(self) -> Bounded:
        """Search, spend what is left, prove."""
        if self.cost(self.most) <= self.budget:  # nobody more would help: the price is zero
            return Bounded(self.most, self.most.astype(float), self.certify(self.most, 0.0))
        price, relaxed = self.relax()
        sizes = self.exchange(self.fill(self.fitting(price, relaxed)))
        bound = self.certify(sizes, price)
        if not bound.optimal:
            sizes, complete = self.try_all(sizes, price, bound)
            bound = self.certify(sizes, price, searched=complete)
        return Bounded(sizes, relaxed, bound)

    def cost(self, sizes: IntArray) -> float:
        """Cost of an allocation."""
        spent = self.costs * sizes
        return math.fsum(spent.tolist()) if len(spent) <= _MOST_SUMMED else float(spent.sum())

    def certify(self, sizes: IntArray, price: float, *, searched: bool = False) -> Bound:
        """Prove what ``price`` proves."""
        return certify_budget(
            self.problem,
            self.costs,
            self.budget,
            sizes,
            price,
            finite_population=self.finite_population,
            searched=searched,
        )

    def relax(self) -> tuple[float, FloatArray]:
        """Find the price at which the best real sizes cost the budget."""
        lower, upper = self.lower.astype(float), self.most.astype(float)
        x = np.sqrt(lower * upper)

        def spend(price: float) -> float:
            nonlocal x
            x = real_sizes(self.terms, price * self.costs, lower=lower, upper=upper, start=x)
            return float((self.costs * x).sum())

        # Begin where sizes of a plain survey, n ∝ √(A·V/c), would cost the budget.
        spread = self.terms.sds + 0.1 * self.terms.mechanism.answer_range
        weight = float((np.abs(self.terms.coefficients) * spread * np.sqrt(self.costs)).sum())
        price = find_price(spend, self.budget, (weight / self.budget) ** 2)
        spend(price)
        return price, x

    def at(self, price: float, guess: IntArray) -> IntArray:
        """Best whole sizes at a price."""
        return best_at_prices(self.unit, self.weights, price * self.costs, self.lower, self.most, guess)

    def fitting(self, price: float, guess: FloatArray) -> IntArray:
        """Best whole sizes at nearly the least price that the budget affords."""
        sizes = self.at(price, np.floor(guess).astype(np.int64))
        low, step = 0.0, 1e-12
        while self.cost(sizes) > self.budget:
            low, step = step, 4.0 * step
            sizes = self.at(price * (1.0 + step), sizes)
        for _ in range(_CLOSER if low else 0):
            if self.budget - self.cost(sizes) < self.costs.max():
                break
            middle = (low + step) / 2
            rival = self.at(price * (1.0 + middle), sizes)
            if self.cost(rival) > self.budget:
                low = middle
            else:
                step, sizes = middle, rival
        return sizes

    def gains(self, sizes: IntArray) -> FloatArray:
        """Return what the next person of each stratum takes off the variance; nothing beyond the most."""
        gain = self.terms.gain(sizes.astype(float)) - self.terms.origin
        return np.where(sizes < self.most, np.maximum(gain, 0.0), 0.0)

    def losses(self, sizes: IntArray) -> FloatArray:
        """Return what the last person of each stratum took off it; infinite at the minimum."""
        loss = self.terms.gain(np.maximum(sizes - 1.0, 1.0)) - self.terms.origin
        return np.where(sizes > self.lower, loss, np.inf)

    def fill(self, sizes: IntArray) -> IntArray:
        """Spend what is left, the most variance for the money first."""
        sizes = sizes.copy()
        left = self.budget - self.cost(sizes)
        worth = self.gains(sizes) / self.costs
        while True:
            worth[self.costs > left] = 0.0
            i = int(np.argmax(worth))
            if worth[i] <= 0:
                return sizes
            sizes[i] += 1
            left = self.budget - self.cost(sizes) if len(sizes) <= 1000 else left - float(self.costs[i])
            if left < 0:  # by rounding
                sizes[i] -= 1
                return sizes
            row = np.array([i])
            gain = float(self.terms.gain(sizes[row].astype(float), row)[0]) - self.terms.origin
            worth[i] = gain / self.costs[i] if sizes[i] < self.most[i] else 0.0

    def exchange(self, sizes: IntArray) -> IntArray:
        """Move single persons between strata while that fits the budget and helps."""
        sizes = sizes.copy()
        by_cost = np.argsort(self.costs, kind="stable")
        ordered = self.costs[by_cost]
        for _ in range(max(3, _MOST_WORK // len(sizes) ** 2 if len(sizes) > 1000 else 500)):
            left = self.budget - self.cost(sizes)
            gain, loss = self.gains(sizes)[by_cost], self.losses(sizes)
            # The best person to add among those who cost at most what leaving one out makes free.
            best = np.maximum.accumulate(gain)
            affordable = np.searchsorted(ordered, self.costs + left, side="right") - 1
            helps = best[affordable] - loss  # a person can always replace themselves
            j = int(np.argmax(helps))
            i = int(by_cost[np.argmax(gain[: affordable[j] + 1])])
            if helps[j] <= 1e-12 * loss[j] or i == j:
                return sizes
            moved = sizes.copy()
            moved[j] -= 1
            moved[i] += 1
            if self.cost(moved) > self.budget:
                return sizes
            sizes = moved
        return sizes

    def try_all(self, sizes: IntArray, price: float, bound: Bound) -> tuple[IntArray, bool]:
        """Try every allocation that the bound leaves, if those are few."""
        prices = price * self.costs
        best = self.at(price, sizes)
        room = (bound.value - bound.lower_bound) * (1 + 1e-6) + 1e-12 * bound.value
        found = candidates_within(self.unit, self.weights, prices, self.lower, self.most, best, room)
        if found is None:
            return sizes, False
        complete, better = best_combination(
            [part.sizes for part in found],
            [weight * part.variances for weight, part in zip(self.weights, found, strict=True)],
            [part.excess for part in found],
            [(cost * part.sizes)[:, None] for cost, part in zip(self.costs, found, strict=True)],
            np.array([self.budget]),
            best=self.problem.objective(sizes) * (1 - 1e-14),
            room=room,
            accept=lambda rival: self.cost(rival) <= self.budget,
        )
        return (sizes if better is None else better), complete
