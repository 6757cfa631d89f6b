"""The questions a planner asks, each a search over the same solver."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np

from dpstrata.errors import DpstrataWarning, InfeasibleError
from dpstrata.model.comparison import variance_parts
from dpstrata.model.design_record import Design
from dpstrata.model.inputs import Inputs
from dpstrata.model.outcome import Outcome
from dpstrata.model.problem import Problem
from dpstrata.model.strata import Strata
from dpstrata.solvers.exact import solve_exactly
from dpstrata.solvers.free import best_sizes
from dpstrata.solvers.solution import Solution


def answer(strata: Strata, inputs: Inputs) -> Design:
    """Answer the question that ``inputs`` ask about ``strata``."""
    search = _Search(strata, inputs)
    if inputs.total is not None:
        return search.with_total(inputs.total)
    if inputs.at_most is not None:
        return search.with_at_most(inputs.at_most)
    assert inputs.target_variance is not None
    return search.with_target(inputs.target_variance)


class _Search:
    """Designs of one survey for any total, solved at most once each."""

    def __init__(self, strata: Strata, inputs: Inputs) -> None:
        self.strata = strata
        self.inputs = inputs
        self._problem = inputs.problem(strata)
        self.solutions: dict[int, Solution] = {}
        self.variances: dict[int, float] = {}

    def problem(self, total: int) -> Problem:
        """Pose the problem for ``total``; terms and bounds are shared."""
        return self._problem if total == self._problem.total else replace(self._problem, total=total)

    def solve(self, total: int) -> Solution:
        """Solve for ``total``."""
        if total not in self.solutions:
            self.solutions[total] = solve_exactly(self.problem(total))
        return self.solutions[total]

    def variance(self, total: int) -> float:
        """Variance of the best design with ``total`` interviews."""
        if total not in self.variances:
            parts = variance_parts(
                self.problem(total),
                np.asarray(self.solve(total).sizes, dtype=np.int64),
                finite_population=self.inputs.finite_population,
            )
            self.variances[total] = parts.total
        return self.variances[total]

    def best_total(self) -> int:
        """Return the number of interviews beyond which more hurt."""
        return int(best_sizes(self._problem).sum())

    def design(self, total: int, outcome: Outcome | None) -> Design:
        """Wrap up the design with ``total`` interviews."""
        solution = self.solve(total)
        assert solution.relaxed_sizes is not None
        return Design.certified(
            self.strata, self.inputs, self.problem(total), solution.sizes, solution.relaxed_sizes, outcome
        )

    def with_total(self, total: int) -> Design:
        """Design for a given total; warn if it is beyond the best one."""
        price = self.solve(total).price
        best = self.best_total() if price is not None and price < 0 else total
        if best >= total:
            return self.design(total, None)
        outcome = Outcome(best, self.variance(best))
        plan = self.design(total, outcome)
        mean = self.inputs.objective == "mean"
        got = f"{math.sqrt(plan.variance) if mean else plan.variance:.4g}"
        warnings.warn(
            f"total={total:,} is more than helps: it gives {got}. {outcome.in_words(total, mean=mean)}",
            DpstrataWarning,
            stacklevel=4,
        )
        return plan

    def with_at_most(self, limit: int) -> Design:
        """Design for the best number of interviews that is not above ``limit``."""
        least, most = int(self._problem.lower.sum()), int(self._problem.upper.sum())
        if limit < least:
            raise InfeasibleError(
                f"at_most must be at least the sum of the minimums ({least:,}), got at_most={limit:,}."
            )
        best = self.best_total()
        total = min(limit, best)
        at_limit = self.variance(min(limit, most))
        return self.design(total, Outcome(best, self.variance(best), limit, at_limit))

    def with_target(self, target: float) -> Design:
        """Design for the fewest interviews whose variance is at most ``target``."""
        least = int(self._problem.lower.sum())
        best = self.best_total()
        if self.variance(best) > target:
            asked = "target_se" if self.inputs.target_se is not None else "target_margin"
            raise InfeasibleError(
                f"{asked} asks for a standard error of {math.sqrt(target):.6g}, but the best possible under "
                f"this privacy is {math.sqrt(self.variance(best)):.6g}, with {best:,} interviews."
            )
        total = self._fewest(least, best, target)
        fewer = None if total == least else self.variance(total - 1)
        outcome = Outcome(best, self.variance(best), target_variance=target, variance_with_one_fewer=fewer)
        return self.design(total, outcome)

    def _fewest(self, low: int, high: int, target: float) -> int:
        """Search between a total that may miss the target and one that reaches it.

        The variance is convex in 1/total, and the price is its slope, so Newton's method from below does not
        overshoot; the total before each guess that reaches the target is tried next.
        """
        if self.variance(low) <= target:
            return low
        while high > 4 * low:  # minimums bend the curve far from the target
            middle = math.isqrt(low * high)
            low, high = (middle, high) if self.variance(middle) > target else (low, middle)
        while high - low > 1:
            price = self.solve(low).price
            assert price is not None
            slope = price * low**2  # of the variance in 1/total
            inverse = 1 / low - (self.variance(low) - target) / slope if slope > 0 else 0.0
            guess = math.ceil(1 / inverse - 1e-9) if inverse > 1 / high else (low + high) // 2
            guess = min(max(guess, low + 1), high - 1)
            if self.variance(guess) > target:
                low = guess
                continue
            high = guess
            if high - low > 1:
                low, high = (high - 1, high) if self.variance(high - 1) > target else (low, high - 1)
        return high
