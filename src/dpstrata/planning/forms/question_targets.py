r"""The fewest people with whom every question of a questionnaire reaches its target, for given forms.

Any sizes that reach all targets :math:`T_j` have :math:`\sum_j p_j V_j(n) \le \sum_j p_j T_j`, whatever
prices :math:`p_j \ge 0` questions have. With these as importances, the exact solver finds the fewest people
who reach that sum; nobody reaches all targets with fewer. Prices rise where a question misses its target at
those sizes and fall elsewhere, until both numbers of people meet. The fewest who reach all targets are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpstrata.allocation.posing import pose
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.questions import planned_sum, with_importances
from dpstrata.allocation.solvers.exact import solve_exactly
from dpstrata.allocation.solvers.free import best_sizes
from dpstrata.allocation.variances import question_parts, variance_parts
from dpstrata.designs.outcome import Outcome
from dpstrata.designs.questions import variance_targets
from dpstrata.designs.record import Design
from dpstrata.errors import InfeasibleError, NotAvailableError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.strata import Strata
from dpstrata.words.numbers import figure

_UPDATES = 45
_CLOSE = 1e-3  # relative distance of the people found from the bound at which the search ends


def design_for_targets(strata: Strata, inputs: Inputs) -> Design:
    """Design for the fewest people with whom every question reaches its target."""
    if strata.costs_differ:
        raise NotAvailableError(
            f"targets of questions require the same cost of an invitation in every stratum in this version "
            f"of dpstrata; make the costs equal, or give {option('total')}."
        )
    search = _Prices(strata, inputs)
    found = search.run()
    total = int(found.sizes.sum())
    problem = search.problem if total == search.problem.total else replace(search.problem, total=total)
    variance = variance_parts(problem, search.most, finite_population=inputs.finite_population).total
    return Design.certified(
        strata,
        inputs,
        problem,
        found.sizes,
        found.relaxed,
        Outcome(best_total=int(search.most.sum()), best_variance=variance),
        prices=tuple(found.prices.tolist()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Sizes that reach all targets, and the prices they were found with, in people for a unit of variance."""

    sizes: IntArray
    relaxed: FloatArray
    prices: FloatArray


class _Prices:
    """Prices of the questions, and the fewest people at them."""

    def __init__(self, strata: Strata, inputs: Inputs) -> None:
        self.inputs, self.strata = inputs, strata
        self.problem = pose(inputs, strata)
        self.targets = variance_targets(inputs)
        self.asked = np.isfinite(self.targets)
        self.least = int(self.problem.lower.sum())
        with np.errstate(divide="ignore"):
            self.weights = np.where(self.asked, 1.0 / self.targets, 0.0)
        # office noise and sampling fall with every person; only published rows have a best number
        self.most = best_sizes(self._priced(self.weights / self.weights.sum()))
        self._require_reachable()

    def _priced(self, weights: FloatArray) -> Problem:
        return with_importances(self.problem, weights / weights.sum())

    def variances(self, sizes: IntArray) -> FloatArray:
        """Variance of every question over its target."""
        parts = question_parts(
            self.problem, sizes, finite_population=self.inputs.finite_population, credited=False
        )
        whole = parts.of_population(self.problem.terms.coefficients)
        return np.where(self.asked, whole.total / np.where(self.asked, self.targets, 1.0), 0.0)

    def _require_reachable(self) -> None:
        """Refuse targets that the best number of people misses, and say what it reaches."""
        missed = self.variances(self.most)
        j = int(np.argmax(missed))
        if missed[j] <= 1.0:
            return
        assert self.inputs.questionnaire is not None
        question = self.inputs.questionnaire[j]
        reached = question.range * float(np.sqrt(missed[j] * self.targets[j]))
        wanted = question.range * float(np.sqrt(self.targets[j]))
        raise InfeasibleError(
            f"question {question.name!r} cannot reach a standard error of {figure(wanted)}: the best that "
            f"these budgets and limits allow is {figure(reached)}, with {int(self.most.sum()):,} people. "
            f"Loosen its target, or raise {option('epsilon')} or {option('device_epsilon')}."
        )

    def run(self) -> _Found:
        """Change prices until the fewest people found are close to the bound."""
        weights, bound = self.weights, 0
        sizes: IntArray | None = None
        prices, relaxed = weights, self.most.astype(float)
        for _ in range(_UPDATES):
            priced = self._priced(weights)
            few = self._fewest(self.least, self._reaches_sum(priced, weights), priced)
            if int(few.sum()) > bound:
                bound, prices = int(few.sum()), self._per_person(priced, few, weights)
            enough = self._fewest(int(few.sum()), lambda n: bool(self.variances(n).max() <= 1.0), priced)
            if sizes is None or enough.sum() < sizes.sum():
                sizes = enough
                solution = solve_exactly(replace(priced, total=int(sizes.sum())))
                assert solution.relaxed_sizes is not None
                relaxed = solution.relaxed_sizes
            if sizes.sum() - bound <= max(1.0, _CLOSE * bound):
                break
            weights = weights * np.where(self.asked, self.variances(few), 0.0)
        assert sizes is not None
        return _Found(sizes, relaxed, prices)

    def _reaches_sum(self, priced: Problem, weights: FloatArray) -> Callable[[IntArray], bool]:
        """Whether sizes reach the sum of the targets at these weights."""
        needed = float((weights[self.asked] * self.targets[self.asked]).sum() / weights.sum())
        correct = self.inputs.finite_population
        return lambda n: planned_sum(priced, n, finite_population=correct) <= needed

    def _per_person(self, priced: Problem, sizes: IntArray, weights: FloatArray) -> FloatArray:
        """Turn weights into prices: people for a unit of variance, by what the last person gained."""
        gains = priced.terms.gain(np.minimum(sizes, priced.upper - 1).astype(float)) - priced.terms.origin
        between = (sizes > priced.lower) & (sizes < priced.upper)
        gain = float(np.median(gains[between])) if between.any() else float(gains.max())
        return np.asarray(weights / weights.sum() * (1.0 / gain if gain > 0 else 0.0))

    def _fewest(self, start: int, enough: Callable[[IntArray], bool], priced: Problem) -> IntArray:
        """Find the fewest people, from ``start`` on, whose best sizes at these prices are enough."""

        def sizes(total: int) -> IntArray:
            return np.asarray(solve_exactly(replace(priced, total=total)).sizes, dtype=np.int64)

        most = int(self.most.sum())
        low, high, step = start - 1, start, 1
        while high < most and not enough(sizes(high)):
            low, high, step = high, min(high + step, most), 2 * step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(sizes(middle)) else (middle, high)
        return sizes(high)
