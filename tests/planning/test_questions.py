"""At most, and precision targets: against trying every total."""

import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.model.inputs import Inputs
from dpstrata.planning import questions
from dpstrata.solvers.free import best_sizes
from problems import MECHANISMS

PAPER = dps.Strata([7000, 8000, 9000, 10000], [math.sqrt(0.08**i) for i in (1, 2, 3, 4)])
quietly = pytest.mark.filterwarnings("ignore:total=.* is more than helps")


def random_survey(rng):
    k = int(rng.integers(1, 5))
    sizes = rng.integers(1, 30, k)
    sds = np.where(sizes > 1, rng.choice([0.0, 0.1, 0.3, 0.45], k), 0.0)
    mechanism, steps = MECHANISMS[rng.integers(len(MECHANISMS))]
    objective = str(rng.choice(["mean", "trace", "custom"]))
    options = {
        "epsilon": float(10 ** rng.uniform(-2, 1.5)),
        "mechanism": mechanism,
        "answers": (0, 1) if steps is None else (0, 1, 1 / steps),
        "objective": objective,
        "questions": int(rng.choice([1, 1, 3])),
    }
    return dps.Strata(sizes, sds, coefficients=rng.choice([0.5, 1.0, 2.0], k)), options


@quietly
@pytest.mark.parametrize("seed", range(60))
def test_at_most_equals_trying_every_total(seed):
    rng = np.random.default_rng([1, seed])
    strata, options = random_survey(rng)
    limit = int(rng.integers(len(strata), strata.population + 5))
    plan = dps.design(strata, at_most=limit, **options)
    most = min(limit, strata.population)
    every = {
        total: dps.design(strata, total=total, **options).variance for total in range(len(strata), most + 1)
    }
    assert plan.total <= limit
    assert plan.variance == pytest.approx(min(every.values()), rel=1e-12)
    assert plan.outcome.variance_at_limit == pytest.approx(every[most], rel=1e-12)
    # no allocation at all is better, since no single person is worth adding or leaving out
    free = best_sizes(Inputs(total=plan.total, **{**options, "answers": plan.inputs.answers}).problem(strata))
    assert plan.outcome.best_total == free.sum()


@quietly
@pytest.mark.parametrize("seed", range(100))
def test_the_fewest_interviews_reach_the_target_and_one_fewer_does_not(seed):
    rng = np.random.default_rng([2, seed])
    k = int(rng.integers(1, 20))
    sizes = np.floor(10 ** rng.uniform(1, 5, k)).astype(int)
    strata = dps.Strata(sizes, rng.uniform(0.01, 0.45, k))
    epsilon = float(10 ** rng.uniform(-1.5, 1))
    best = dps.design(strata, epsilon=epsilon, at_most=strata.population)
    worst = dps.design(strata, epsilon=epsilon, total=k).standard_error
    target = best.standard_error + (worst - best.standard_error) * rng.uniform(0.001, 1.1)
    plan = dps.design(strata, epsilon=epsilon, target_se=target)
    assert plan.standard_error <= target
    if plan.total > k:
        fewer = dps.design(strata, epsilon=epsilon, total=plan.total - 1)
        assert fewer.standard_error > target
        assert plan.outcome.variance_with_one_fewer == fewer.variance
    else:
        assert plan.outcome.variance_with_one_fewer is None


def test_a_target_costs_few_designs(monkeypatch):
    solved = []
    solve = questions.solve_exactly
    monkeypatch.setattr(questions, "solve_exactly", lambda problem: solved.append(1) or solve(problem))
    for target in (0.1, 0.05, 0.02, 0.01):
        solved.clear()
        dps.design(PAPER, epsilon=1, target_se=target)
        assert len(solved) <= 20


def test_the_papers_four_strata():
    plan = dps.design(PAPER, epsilon=0.1, at_most=2000)
    assert plan.total == 972
    assert plan.outcome.in_words(plan.total, mean=True) == (
        "972 interviews are best: 1,028 of the 2,000 are saved, and with all of them the standard error would be "
        "0.0309694."
    )
    small = dps.design(PAPER, epsilon=0.1, at_most=200)
    assert (small.total, small.outcome.best_total) == (200, 972)
    with pytest.warns(
        dps.DpstrataWarning, match=r"total=34,000 is more than helps: it gives 0.0767. 972 interviews"
    ):
        assert dps.design(PAPER, epsilon=0.1, total=34_000).outcome.best_total == 972


def test_a_margin_is_a_standard_error():
    plan = dps.design(PAPER, epsilon=1, target_margin=0.04, confidence=0.9)
    assert plan.total == dps.design(PAPER, epsilon=1, target_se=0.04 / 1.6448536269514722).total
    assert 1.6448536 * plan.standard_error <= 0.04


def test_a_target_below_the_noise_floor_names_both_sides():
    with pytest.raises(
        dps.InfeasibleError, match=r"standard error of 0.02, but the best possible .* 0.0296761, with 972"
    ):
        dps.design(PAPER, epsilon=0.1, target_se=0.02)


@pytest.mark.parametrize("question", [{"at_most": 2000}, {"target_se": 0.03}])
def test_documents_keep_the_outcome(tmp_path, question):
    plan = dps.design(PAPER, epsilon=0.1, **question)
    plan.save(tmp_path / "d.json")
    again = dps.load_design(tmp_path / "d.json")
    assert again == plan
    assert again.outcome == plan.outcome
