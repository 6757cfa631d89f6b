r"""The fewest people with whom every question of a questionnaire reaches its target, for given forms.

Any sizes that reach all targets :math:`T_j` have :math:`\sum_j p_j V_j(n) \le \sum_j p_j T_j`, whatever
prices :math:`p_j \ge 0` questions have. With these as importances, the exact solver finds the fewest people
who reach that sum, and from them the fewest who reach all targets. Prices fall where a question does better
than its target, until that number of people is close to what :mod:`~dpstrata.allocation.proof.bound`
proves to be needed, or nothing improves any more.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import fewest_people
from dpstrata.allocation.rows_on_forms import RowsOnForms
from dpstrata.allocation.solvers.exact import solve_exactly
from dpstrata.allocation.solvers.sizes_at_price import best_sizes
from dpstrata.allocation.variances import planned_variance, question_parts, variance_parts
from dpstrata.designs.questions import variance_targets
from dpstrata.designs.record import Design
from dpstrata.errors import CellMistake, InfeasibleError, NotAvailableError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.survey.goals import Outcome
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.strata import Strata
from dpstrata.words.numbers import figure, three_digits_up

_UPDATES = 45
_IDLE = 4  # updates in a row that improve nothing at which it ends too
_SHARP = 0.01  # relative precision of the size of the prices
_CLOSE = 1e-3  # relative distance of the people found from the bound at which the search ends


def design_for_targets(strata: Strata, inputs: Inputs, problem: Problem) -> Design:
    """Design for the fewest people with whom every question reaches its target."""
    if strata.costs_differ:
        raise NotAvailableError(
            f"targets of questions require the same cost of an invitation in every stratum in this version "
            f"of dpstrata; make the costs equal, or give {option('total')}."
        )
    search = _Prices(strata, inputs, problem)
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

    def __init__(self, strata: Strata, inputs: Inputs, problem: Problem) -> None:
        self.inputs, self.strata, self.problem = inputs, strata, problem
        self.targets = variance_targets(inputs)
        self.asked = np.isfinite(self.targets)
        self.least = int(self.problem.lower.sum())
        with np.errstate(divide="ignore"):
            self.weights = np.where(self.asked, 1.0 / self.targets, 0.0)
        # office noise and sampling fall with every person; only published rows have a best number
        self.most = best_sizes(self._priced(self.weights / self.weights.sum()))
        self._require_reachable()

    def _priced(self, weights: FloatArray) -> Problem:
        forms = cast(RowsOnForms, self.problem.forms)
        return self.problem.asked(replace(forms, importances=weights / weights.sum()))

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
        question = self.inputs.questions[j]
        column, goal, wanted = "target_se", "standard error", question.target_se
        reached = question.range * float(np.sqrt(missed[j] * self.targets[j]))
        if wanted is None:
            column, goal, wanted = "target_margin", "margin of error", question.target_margin
            reached *= self.inputs.z
        assert wanted is not None
        nearest = three_digits_up(reached)
        budgets = option("epsilon")
        if self.inputs.device_epsilon is not None:
            budgets = f"{budgets} or {option('device_epsilon')}"
        raise InfeasibleError(
            f"question {question.name!r} cannot reach a {goal} of {figure(wanted)}: the best that these "
            f"budgets and limits allow is {figure(nearest)}, with {int(self.most.sum()):,} people. "
            f"Loosen its target, or raise {budgets}.",
            argument=column,
            nearest=nearest,
            cell=CellMistake(
                j, column, f"{column} must be at least {figure(nearest)} here, got {figure(wanted)}."
            ),
        )

    def run(self) -> _Found:
        """Change prices until the fewest people found are close to the bound."""
        weights, bound = self.weights, -math.inf
        found: IntArray | None = None
        proven, idle = np.zeros(len(weights)), 0
        for _ in range(_UPDATES):
            priced = self._priced(weights)
            needed = float((weights[self.asked] * self.targets[self.asked]).sum() / weights.sum())
            few = self._fewest(
                self.least,
                lambda n, priced=priced, needed=needed: (  # type: ignore[misc]
                    planned_variance(priced, n, finite_population=self.inputs.finite_population) <= needed
                ),
                priced,
            )
            enough = self._fewest(int(few.sum()), lambda n: bool(self.variances(n).max() <= 1.0), priced)
            idle += 1
            if found is None or enough.sum() < found.sum():
                found, relaxed, idle = enough, self._relaxed(priced, enough), 0
            prices = self._sharpened(self._prices(priced, enough, weights), enough)
            least = self._proven(prices, enough)
            idle = 0 if least > bound + _CLOSE * abs(bound) else idle
            if least > bound:
                bound, proven = least, prices
            if found.sum() - bound <= max(1.0, _CLOSE * bound) or idle == _IDLE:
                break
            weights = weights * np.where(self.asked, self.variances(enough), 0.0)
        assert found is not None
        return _Found(found, relaxed, proven)

    def _relaxed(self, priced: Problem, sizes: IntArray) -> FloatArray:
        relaxed = solve_exactly(replace(priced, total=int(sizes.sum()))).relaxed_sizes
        assert relaxed is not None
        return relaxed

    def _prices(self, priced: Problem, sizes: IntArray, weights: FloatArray) -> FloatArray:
        """Return prices in people: what the last one gained at these weights is worth a person."""
        gains = priced.terms.gain(np.minimum(sizes, priced.upper - 1).astype(float)) - priced.terms.origin
        open_ = (sizes > priced.lower) & (sizes < priced.upper)
        gain = float(np.median(gains[open_])) if open_.any() else float(gains.max())
        return weights / weights.sum() / gain if gain > 0 else np.zeros(len(weights))

    def _proven(self, prices: FloatArray, sizes: IntArray) -> float:
        """Return how few people these prices prove to be needed."""
        correct = self.inputs.finite_population
        return fewest_people(self.problem, self.targets, sizes, prices, finite_population=correct)

    def _sharpened(self, prices: FloatArray, sizes: IntArray) -> FloatArray:
        """Multiply prices by what proves the most; the bound is concave in that."""
        low, high = -2.0, 2.0
        while high - low > _SHARP:
            third = (high - low) / 3
            one, other = (self._proven(prices * math.exp(at), sizes) for at in (low + third, high - third))
            low, high = (low + third, high) if one < other else (low, high - third)
        return np.asarray(prices * math.exp((low + high) / 2))

    def _fewest(self, start: int, enough: Callable[[IntArray], bool], priced: Problem) -> IntArray:
        """Find the fewest people whose best sizes at these prices are enough, from ``start`` outwards."""

        def sizes(total: int) -> IntArray:
            return np.asarray(solve_exactly(replace(priced, total=total)).sizes, dtype=np.int64)

        low, high, step = self.least - 1, int(self.most.sum()), 1
        if enough(sizes(start)):
            high = start
            while high - step > low and enough(sizes(high - step)):
                high, step = high - step, 2 * step
            low = max(low, high - step)
        else:
            low = start
            while low + step < high and not enough(sizes(low + step)):
                low, step = low + step, 2 * step
            high = min(high, low + step)
        between = range(low + 1, high)
        return sizes(low + 1 + bisect_left(between, True, key=lambda total: enough(sizes(total))))
