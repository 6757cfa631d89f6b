r"""Least variance within a budget that also meets several targets.

A price λ of the budget and prices μ of the targets make one problem of them: minimise
:math:`(w_i + \sum_d \mu_d w_{di}) g_i(n) + \lambda c_i n` in each stratum. Divided by λ that is the least
cost for the targets with a price 1/λ on the variance of the whole beside them; the λ at which it costs the
budget gives the bound. Whole sizes are then found as for a budget alone, none of which may miss a target.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpstrata.allocation.domains import Partition
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import combined_weights
from dpstrata.allocation.solvers.budget import BudgetProblem
from dpstrata.allocation.solvers.priced import find_price
from dpstrata.allocation.solvers.rounding import meet_targets
from dpstrata.allocation.solvers.search import Candidates
from dpstrata.allocation.solvers.solution import Bounded
from dpstrata.allocation.solvers.target_prices import best_prices
from dpstrata.allocation.solvers.target_problem import TargetProblem
from dpstrata.numerics.arrays import FloatArray, IntArray

_NOTHING = 1e-12  # a share of the value that prices of targets which do not bind may have


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
