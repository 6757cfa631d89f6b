"""Which proof a design has: the exchanges, or a bound by prices."""

from __future__ import annotations

from dpstrata.allocation.domains import find_partitions
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import Bound, certify_budget, certify_targets
from dpstrata.allocation.proof.certificate import Certificate, certify
from dpstrata.allocation.proof.noised_once import certify_figures
from dpstrata.allocation.proof.questions import certify_questions
from dpstrata.designs.questions import variance_targets
from dpstrata.numerics.arrays import IntArray
from dpstrata.survey.goals import Budget
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.strata import Strata


def prove(
    strata: Strata,
    inputs: Inputs,
    problem: Problem,
    sizes: IntArray,
    *,
    prices: tuple[float, ...] | None = None,
    searched: bool = False,
) -> Certificate | Bound:
    """Check the proof of sample sizes: the exchanges, or the bound that ``prices`` give."""
    correct = inputs.finite_population
    if problem.forms is not None and inputs.asks_by_question:
        targets = variance_targets(inputs)
        return certify_questions(problem, targets, sizes, prices or (), finite_population=correct)
    if problem.families:
        return certify_figures(problem, sizes, prices or (0.0,), finite_population=correct)
    if prices is None:
        return certify(problem, sizes)
    if isinstance(goal := inputs.goal, Budget):
        assert strata.costs is not None
        return certify_budget(
            problem,
            strata.costs,
            goal.budget,
            sizes,
            prices[0],
            finite_population=correct,
            searched=searched,
            partitions=find_partitions(strata, inputs) if goal.targets else (),
            target_prices=prices[1:],
        )
    parts = find_partitions(strata, inputs)
    return certify_targets(
        problem, strata.costs, parts, sizes, prices, finite_population=correct, searched=searched
    )
