"""What is asked for: options become one goal, which words itself and recognises designs that fail it."""

from dataclasses import replace

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.survey.goals import GOAL_OPTIONS, TARGETS, AtMost, Budget, Precision, Total
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.options import OPTIONS

REGION = {"region": {"n": dps.SE(0.05)}}
CASES = {
    "total": ({"total": 200}, Total),
    "at_most": ({"at_most": 300}, AtMost),
    "budget": ({"budget": 600.0}, Budget),
    "target_se": ({"target_se": 0.02}, Precision),
    "target_margin": ({"target_margin": 0.04}, Precision),
    "target_cv": ({"target_cv": 0.1, "expected_mean": 0.3}, Precision),
    "target and budget": ({"target_se": 0.02, "budget": 5000.0}, Precision),
    "domains": ({"domains": REGION}, Precision),
    "domains and budget": ({"domains": REGION, "budget": 3000.0}, Budget),
    "domains and target": ({"domains": REGION, "target_se": 0.05}, Precision),
}


def inputs(**asked):
    return Inputs(epsilon=1.0, **asked)


def strata():
    return dps.Strata(
        [7000, 8000, 9000, 10000],
        [0.283, 0.08, 0.0226, 0.0064],
        costs=[1, 2, 3, 4],
        extra={"region": ["n", "n", "s", "s"]},
    )


def test_there_is_a_case_for_every_question():
    assert set(GOAL_OPTIONS) <= set(CASES)
    goals = {name for name, each in OPTIONS.items() if each.group == "goal"}
    assert goals == {*GOAL_OPTIONS, "expected_mean", "domains"}


@pytest.mark.parametrize("case", CASES)
def test_options_become_a_goal(case):
    asked, kind = CASES[case]
    goal = inputs(**asked).goal
    assert type(goal) is kind
    assert (goal.asks_for_least, goal.spends_budget) == (kind is Precision, kind is Budget)
    assert goal.fixes_total is (kind is Total)
    words = goal.in_words("interview", "is best")
    assert words.endswith("?")
    for value in asked.values():
        if isinstance(value, int | float):
            assert f"{value:,.10g}" in words


@pytest.mark.parametrize("case", CASES)
def test_a_design_keeps_its_goal_and_others_do_not(case):
    asked, _ = CASES[case]
    plan = dps.design(strata(), epsilon=1.0, **asked)
    assert plan.inputs.goal.broken_by(plan) is None
    more = replace(plan, sample_sizes=plan.sample_sizes + 800)
    fewer = replace(plan, sample_sizes=np.maximum(plan.sample_sizes // 8, 1))
    broken = [each for each in (plan.inputs.goal.broken_by(other) for other in (more, fewer)) if each]
    assert broken
    if plan.outcome is not None:
        assert plan.outcome_in_words.endswith(".")


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_is_the_largest_variance_whose_root_is_no_more(name):
    asked, _ = CASES[name]
    targets = inputs(**asked).targets
    error = {"target_se": 0.02, "target_margin": 0.04 / 1.959963984540054, "target_cv": 0.1 * 0.3}[name]
    assert targets.variance == pytest.approx(error**2, rel=1e-15)
    assert np.sqrt(targets.variance) <= error * (1 + 1e-15)
    assert targets.variance_of(type(targets.whole)(0.5), mean=-2.0) == pytest.approx(
        {"target_se": 0.5, "target_margin": 0.5 / 1.959963984540054, "target_cv": 1.0}[name] ** 2
    )


@pytest.mark.parametrize(
    ("asked", "words", "argument"),
    [
        ({}, "a design needs one of total, at_most, budget, .* got none of them", "total"),
        ({"total": 9, "at_most": 9}, "got total and at_most", "total"),
        ({"target_se": 0.1, "target_cv": 0.1}, "got target_se and target_cv", "target_se"),
        ({"at_most": 9, "domains": REGION}, "targets for domains determine how many .* at_most", "at_most"),
        ({"target_se": 0.1, "objective": "trace"}, "target_se requires objective='mean', got", "target_se"),
        ({"total": 9, "domains": "a", "objective": "trace"}, "domains requires objective='mean'", "domains"),
        (
            {"target_cv": 0.1},
            "target_cv and expected_mean, .* must be given together .* got target_cv alone",
            "target_cv",
        ),
        ({"total": 9, "expected_mean": 0.1}, "got expected_mean alone", "expected_mean"),
        (
            {"target_cv": 0.1, "expected_mean": 2},
            "expected_mean must lie in the range of the answers",
            "expected_mean",
        ),
    ],
)
def test_what_does_not_go_together(asked, words, argument):
    with pytest.raises(dps.InputError, match=words) as caught:
        inputs(**asked)
    assert caught.value.argument == argument
