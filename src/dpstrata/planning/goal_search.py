"""The goals of someone who plans a survey, each a search over the same solvers."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpstrata.allocation.domains import Partition, find_partitions
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import Bound
from dpstrata.allocation.proof.certificate import Certificate
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.allocation.solvers.budget import solve_budget, solve_spending
from dpstrata.allocation.solvers.exact import solve_exactly
from dpstrata.allocation.solvers.single_mean import solve_single_mean
from dpstrata.allocation.solvers.sizes_at_price import best_sizes
from dpstrata.allocation.solvers.solution import Bounded, SingleMeanSolution, Solution
from dpstrata.allocation.solvers.targets import solve_targets
from dpstrata.allocation.variances import stratum_variances, variance_parts
from dpstrata.designs.record import Design
from dpstrata.errors import DpstrataWarning, InfeasibleError, InputError, NotAvailableError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.planning.forms.question_targets import design_for_targets
from dpstrata.survey.costs import fits_budget, total_cost
from dpstrata.survey.goals import TARGETS, AtMost, Budget, Outcome, Precision, QuestionTargets, Total
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.strata import Strata
from dpstrata.survey.targets import CV
from dpstrata.words.numbers import counted, figure, money, money_above, three_digits_up, told_apart

_NEWTON_STEPS = 3


def design_for(strata: Strata, inputs: Inputs, problem: Problem) -> Design:
    """Reach the goal of ``inputs`` with ``strata``; ``problem`` is what they pose, but for its total."""
    if inputs.domains is not None:
        find_partitions(strata, inputs)  # says what is wrong with them before any work
    if isinstance(inputs.goal, QuestionTargets):
        return design_for_targets(strata, inputs, problem)
    search = (_FigureSearch if problem.families else _Totals)(strata, inputs, problem)
    match inputs.goal:
        case Total(total):
            return search.with_total(total)
        case AtMost(limit):
            return search.with_at_most(limit)
        case Budget(budget, targets) if targets:
            return search.with_budget_and_targets(budget, find_partitions(strata, inputs))
        case Budget(budget):
            return search.with_budget(budget)
        case Precision() as goal:
            return search.with_precision(goal)
    raise AssertionError("unreachable")


def warn_beyond_the_best(plan: Design, *, stacklevel: int, name: str = "total") -> None:
    """Warn if a design was asked for more people than help, by the argument ``name``."""
    if not plan.inputs.goal.fixes_total or plan.outcome is None:
        return
    # Made here, so that filters see its plain text.
    warning = DpstrataWarning(
        f"{option(name, plan.total, ',')} exceeds the best total; the "
        f"{'objective' if plan.standard_error is None else 'standard error'} rises to "
        f"{figure(plan.precision)}. {plan.outcome_in_words}"
    )
    warnings.warn(warning, stacklevel=stacklevel + 1)


def warn_of_empty_strata(plan: Design, *, stacklevel: int) -> None:
    """Warn if some stratum is likely to be left without an answer."""
    if plan.risks_empty_stratum:
        warnings.warn(DpstrataWarning(plan.response_in_words or ""), stacklevel=stacklevel + 1)


def warn_of_loose_targets(plan: Design, *, stacklevel: int) -> None:
    """Warn of targets above the mean that is expected: perhaps a coefficient of variation was meant."""
    if not plan.inputs.targets or plan.inputs.space.lower < 0:  # means around 0 are no measure
        return
    loose = [
        (f"{part.column}={group}" if part.column else "the whole", target, mean)
        for part in plan.partitions
        for group, target, mean in zip(part.groups, part.asked, part.expected_means, strict=True)
        if target is not None
        and mean is not None
        and target.value > (1.0 if isinstance(target, CV) else mean)
    ]
    if not loose:
        return
    where, target, mean = loose[0]
    others = f" ({counted(len(loose) - 1, 'other target')} too)" if len(loose) > 1 else ""
    warning = DpstrataWarning(
        f"the target of {where}, {target.in_words}, exceeds the mean expected there, "
        f"{figure(mean)}{others}. A coefficient of variation is written 15%cv."
    )
    warnings.warn(warning, stacklevel=stacklevel + 1)


def require_costs(strata: Strata) -> FloatArray:
    """Return what one invitation costs in every stratum, which a budget needs."""
    if strata.costs is None:
        raise InputError(
            f"{option('budget')} requires the cost of one invitation in every stratum (in a file, the column "
            "cost), got none."
        )
    return strata.costs


def _check_budget(strata: Strata, budget: float, sizes: IntArray, proof: Bound | Certificate) -> None:
    """Require that the cheapest sizes for a precision are within the budget."""
    costs = require_costs(strata)
    if fits_budget(costs, sizes, budget):
        return
    cost = total_cost(costs, sizes)
    least = proof.lower_bound if isinstance(proof, Bound) else cost
    found = "" if least == cost else f" (the cheapest design found costs {money(cost)})"
    at_least = "at least " if found else ""
    raise InfeasibleError(
        f"the precision asked for costs {at_least}{money_above(least, budget)}{found}, more than "
        f"{option('budget', budget, ',.10g')}. "
        "Ask for less precision, or give the budget alone to see what it buys.",
        misses=(False, least / budget),
    )


class _Totals:
    """Designs of one survey for any total, solved at most once each."""

    def __init__(self, strata: Strata, inputs: Inputs, problem: Problem) -> None:
        self.strata = strata
        self.inputs = inputs
        self._problem = problem
        self._best: IntArray | None = None
        self.solutions: dict[int, Solution] = {}
        self.variances: dict[int, float] = {}

    def problem(self, total: int) -> Problem:
        """Pose the problem for ``total``; terms and limits are shared."""
        return self._problem if total == self._problem.total else replace(self._problem, total=total)

    def solve(self, total: int) -> Solution:
        """Solve for ``total``."""
        if total not in self.solutions:
            self.solutions[total] = solve_exactly(self.problem(total))
        return self.solutions[total]

    def variance(self, total: int) -> float:
        """Variance of the best design with ``total`` interviews."""
        if total not in self.variances:
            sizes = np.asarray(self.solve(total).sizes, dtype=np.int64)
            self.variances[total] = self.variance_of(sizes)
        return self.variances[total]

    def variance_of(self, sizes: IntArray) -> float:
        """Variance at some sizes; where it must reach a target, as it is minimised."""
        return variance_parts(
            self.problem(int(sizes.sum())),
            sizes,
            finite_population=self.inputs.finite_population,
            credited=not self.inputs.asks_for_least,
        ).total

    def best(self) -> tuple[int, float]:
        """Return the number of interviews beyond which more hurt, and the variance there."""
        total = int(self.best_sizes().sum())
        if total not in self.variances:  # the best sizes at all are the best with their own total
            self.variances[total] = self.variance_of(self.best_sizes())
        return total, self.variances[total]

    def best_sizes(self) -> IntArray:
        """Return the sizes with the least variance at all."""
        if self._best is None:
            self._best = best_sizes(self._problem)
        return self._best

    def design(self, total: int, outcome: Outcome | None) -> Design:
        """Wrap up the design with ``total`` interviews."""
        solution = self.solve(total)
        assert solution.relaxed_sizes is not None
        return Design.certified(
            self.strata, self.inputs, self.problem(total), solution.sizes, solution.relaxed_sizes, outcome
        )

    def bounded(self, found: Bounded, outcome: Outcome) -> Design:
        """Wrap up a design whose proof is a bound."""
        return Design.certified(
            self.strata,
            self.inputs,
            self.problem(int(found.sizes.sum())),
            found.sizes,
            found.relaxed_sizes,
            outcome,
            prices=found.bound.prices,
            searched=found.bound.searched,
        )

    # --- a number of people -------------------------------------------------------------------

    def with_total(self, total: int) -> Design:
        """Design for a given total, and note if it is beyond the best one."""
        price = self.solve(total).price
        best = self.best() if price is not None and price < 0 else (total, 0.0)
        return self.design(total, None if best[0] >= total else Outcome(*best))

    def with_at_most(self, limit: int) -> Design:
        """Design for the best number of interviews that is not above ``limit``."""
        least = int(self._problem.lower.sum())
        if limit < least:
            raise InfeasibleError(
                f"{option('at_most')} must be at least the sum of the minimums ({least:,}), got "
                f"{option('at_most', limit, ',')}.",
                nearest=least,
            )
        limit = min(limit, int(self._problem.upper.sum()))
        best, best_variance = self.best()
        return self.design(min(limit, best), Outcome(best, best_variance, limit, self.variance(limit)))

    # --- a budget -----------------------------------------------------------------------------

    def with_budget(self, budget: float) -> Design:
        """Design for the least variance that the budget buys."""
        costs = require_costs(self.strata)
        least = total_cost(costs, self._problem.lower)
        if not fits_budget(costs, self._problem.lower, budget):
            raise InfeasibleError(
                f"{option('budget')} must cover the minimums, which cost {money_above(least, budget)}, got "
                f"{option('budget', budget, ',.10g')}.",
                nearest=least,
            )
        if not self.strata.costs_differ:
            affordable = math.floor(Fraction(repr(budget)) / Fraction(repr(float(costs[0]))))
            best, best_variance = self.best()
            total = min(affordable, best)
            return self.design(total, Outcome(best, best_variance, budget=budget, cost=self._cost(total)))
        found = solve_budget(self._problem, costs, budget, finite_population=self.inputs.finite_population)
        cost = total_cost(costs, found.sizes)
        return self.bounded(found, Outcome(*self.best(), budget=budget, cost=cost))

    def with_budget_and_targets(self, budget: float, partitions: Sequence[Partition]) -> Design:
        """Design for the least variance that the budget buys once every target is met."""
        costs = require_costs(self.strata)
        cheapest = self.cheapest(partitions)
        _check_budget(self.strata, budget, cheapest.sizes, cheapest.bound)
        found = solve_spending(
            self._problem,
            costs,
            budget,
            partitions,
            cheapest.sizes,
            finite_population=self.inputs.finite_population,
        )
        cost = total_cost(costs, found.sizes)
        return self.bounded(found, Outcome(*self.best(), budget=budget, cost=cost))

    def _cost(self, total: int) -> float | None:
        """Cost of so many people, where all cost the same."""
        costs = self.strata.costs
        return None if costs is None else total_cost(costs[:1], np.array([total]))

    # --- a precision --------------------------------------------------------------------------

    def with_precision(self, goal: Precision) -> Design:
        """Design for the fewest people, or the least cost, that reach the targets, within a budget if any."""
        target = goal.targets.variance
        if target is None or goal.targets.of_domains or self.strata.costs_differ:
            plan = self.with_targets(find_partitions(self.strata, self.inputs))
        else:
            plan = self.with_target(target)
        if goal.budget is not None:
            _check_budget(self.strata, goal.budget, plan.sample_sizes, plan.certificate)
        return plan

    def with_target(self, target: float) -> Design:
        """Design for the fewest interviews whose variance is at most ``target``."""
        least = int(self._problem.lower.sum())
        best, best_variance = self.best()
        if best_variance > target:
            raise self._out_of_reach("", target, best_variance, best)
        total = self._fewest(least, best, target)
        fewer = None if total == least else self.variance(total - 1)
        outcome = Outcome(
            best,
            best_variance,
            target_variance=target,
            variance_with_one_fewer=fewer,
            budget=self.inputs.budget,
            cost=self._cost(total),
        )
        return self.design(total, outcome)

    def _out_of_reach(self, where: str, target: float, best: float, total: int) -> InfeasibleError:
        name = next((name for name in TARGETS if getattr(self.inputs, name) is not None), None)
        is_direct = name == "target_se" and not where
        given = name and option(name, getattr(self.inputs, name))
        asked = f"the target of {where}" if where else given or "target"
        planned = "that can be planned" if self._problem.terms.random_answers else "possible"
        needed, reached = told_apart(math.sqrt(target), math.sqrt(best))
        missed = "is out of reach:" if is_direct else f"requires a standard error of {needed}, but"
        return InfeasibleError(
            f"{asked} {missed} the best {planned} under this privacy is {reached}, "
            f"with {self.strata.counted(total)}.",
            misses=(True, best / target),
            nearest=None
            if where or name is None
            else three_digits_up(getattr(self.inputs, name) * math.sqrt(best / target)),
        )

    def _fewest(self, low: int, high: int, target: float) -> int:
        """Search between a total that may miss the target and one that reaches it, the best there is.

        With V the variance and V* that of the best total, u = √(V − V*) is nearly a straight line in
        total^-1/2, far from the best as well as near it. The price is minus the slope of V, so Newton's
        method on that line comes close in a few designs; then straight lines between a total that misses and
        one that reaches close the bracket, an end that stays being drawn closer (the Illinois rule).
        """
        best = self.variances[high]
        goal = math.sqrt(max(target - best, 0.0))
        reaches, misses = high, low - 1  # the fewest known to reach it, the most known to miss it
        above, below = math.nan, -goal  # u − goal at those two
        guess, stayed = math.isqrt(low * high), 0
        for step in itertools.count():
            if reaches - misses <= 1:
                return reaches
            guess = min(max(guess, misses + 1), reaches - 1)
            variance = self.variance(guess)
            miss = math.sqrt(max(variance - best, 0.0)) - goal
            if variance <= target:
                stayed = max(stayed, 0) + 1
                reaches, below = guess, min(miss, 0.0)
                above *= 0.5 if stayed > 1 else 1.0
            else:
                stayed = min(stayed, 0) - 1
                misses, above = guess, max(miss, 0.0)
                below *= 0.5 if stayed < -1 else 1.0
            root = self._newton(guess, miss, goal) if step < _NEWTON_STEPS else math.nan
            if not misses < root < reaches + 1 and above > below:
                ends = misses**-0.5 if misses else math.inf, reaches**-0.5
                share = above / (above - below)
                root = (ends[0] + share * (ends[1] - ends[0])) ** -2
            inside = misses < root < reaches + 1
            # The first total beyond the root; where that is known to reach it, the one before.
            guess = math.ceil(root - 1e-6) if inside else math.isqrt(max(misses, 1) * reaches)
        raise AssertionError("unreachable")

    def _newton(self, total: int, miss: float, goal: float) -> float:
        """Newton's step for u from ``total``, or NaN where there is none."""
        price, u = self.solve(total).price, miss + goal
        if price is None or price <= 0 or u <= 0:
            return math.nan
        root = total**-0.5 - miss * u / (price * total**1.5)
        return float(root**-2) if root > 0 else math.nan

    def with_targets(self, partitions: Sequence[Partition]) -> Design:
        """Design for the least cost that meets every target."""
        found, inputs = self.cheapest(partitions), self.inputs
        outcome = Outcome(*self.best(), target_variance=inputs.targets.variance, budget=inputs.budget)
        if self.strata.costs is not None:
            cost = total_cost(self.strata.costs, found.sizes)
            outcome = replace(outcome, cost=cost, least_cost=True)
        return self.bounded(found, outcome)

    def cheapest(self, partitions: Sequence[Partition]) -> Bounded:
        """Find the least cost that meets every target, or say which one is out of reach."""
        inputs, problem, most = self.inputs, self._problem, self.best_sizes()
        parts = stratum_variances(problem, most, finite_population=inputs.finite_population, planned=True)
        missed = []
        for part in partitions:
            reached = part.variances(*parts)
            for i in np.flatnonzero(reached > part.limits).tolist():
                where = "" if part.column is None else f"{part.column}={part.groups[i]}"
                people = int(most[part.codes == i].sum())
                missed.append((where, float(part.limits[i]), float(reached[i]), people))
        if missed:  # the one that is missed by most
            raise self._out_of_reach(*max(missed, key=lambda target: target[2] / target[1]))
        return solve_targets(
            problem, self.strata.costs, partitions, most, finite_population=inputs.finite_population
        )


class _FigureSearch(_Totals):
    """Designs of a survey whose figures have one draw of noise each: more interviews never hurt."""

    def __init__(self, strata: Strata, inputs: Inputs, problem: Problem) -> None:
        super().__init__(strata, inputs, problem)
        self.found: dict[int, SingleMeanSolution] = {}

    def solve(self, total: int) -> Solution:
        """Find sizes and scales for ``total``."""
        if total not in self.found:
            self.found[total] = solve_single_mean(SingleMean(super().problem(total)))
        return Solution(self.found[total].sizes, self.found[total].relaxed_sizes, price=None)

    def problem(self, total: int) -> Problem:
        """Pose the problem for ``total``, with the scales that were found for it."""
        posed = super().problem(total)
        if len(posed.families) == 1:
            return posed
        self.solve(total)
        return replace(posed, scales=self.found[total].scales)

    def best_sizes(self) -> IntArray:
        """Return everyone whom the limits allow."""
        return self._problem.upper

    def design(self, total: int, outcome: Outcome | None) -> Design:
        """Wrap up the design with ``total`` interviews."""
        self.solve(total)
        found = self.found[total]
        return Design.certified(
            self.strata,
            self.inputs,
            self.problem(total),
            found.sizes,
            found.relaxed_sizes,
            outcome,
            prices=found.prices,
        )

    def with_budget(self, budget: float) -> Design:
        """Design for the least variance that the budget buys, where all people cost the same."""
        self._require_equal_costs()
        return super().with_budget(budget)

    def with_precision(self, goal: Precision) -> Design:
        """Design for the fewest people that reach the target."""
        self._require_equal_costs()
        return super().with_precision(goal)

    def _require_equal_costs(self) -> None:
        if self.strata.costs_differ:
            raise NotAvailableError(
                f"{option('release', self.inputs.release)} requires the same cost of an invitation in every "
                "stratum in this version of dpstrata; make the costs equal, or give the total."
            )
