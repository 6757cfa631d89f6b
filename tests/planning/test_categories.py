"""Designs whose answers are categories: their figure, their words, and what is refused."""

import itertools
import math
import re

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.present.report.code import command_line, python_code
from dpstrata.present.report.words import goal_in_words, headline

TENURES = ["rent", "own", "other"]
STRATA = dps.Strata(
    [7000, 8000, 500],
    [0.5, 0.4, 0.3],
    names=["a", "b", "c"],
    costs=[1, 2, 3],
    extra={"region": ["x", "x", "y"]},
)
ASKED = {"questions": TENURES, "epsilon": 1}


def half_trace(plan, sizes=None):
    """The variance of a design from the textbook, stratum by stratum."""
    N, S, k = plan.strata.sizes, plan.sds, len(plan.inputs.question.names)
    n = plan.sample_sizes if sizes is None else np.asarray(sizes)
    x = 1 + math.expm1(plan.inputs.epsilon) * N / n
    noise = (k - 1) * (2 * x + k - 2) / (x - 1) ** 2 / 2
    return float(((N / N.sum()) ** 2 * (S**2 * (1 / n - 1 / N) + noise / n)).sum())


@pytest.mark.parametrize("k", [2, 3, 12])
def test_the_variance_is_half_the_sum_over_the_shares(k):
    plan = dps.design(STRATA, questions=[f"c{i}" for i in range(k)], epsilon=1, total=300)
    assert plan.variance == pytest.approx(half_trace(plan), rel=1e-12)
    assert plan.certificate.optimal
    for i, j in itertools.permutations(range(3), 2):
        moved = plan.sample_sizes.copy()
        moved[i], moved[j] = moved[i] + 1, moved[j] - 1
        assert half_trace(plan, moved) > plan.variance


@pytest.mark.parametrize(
    "goal",
    [
        {"total": 300},
        {"at_most": 900},
        {"budget": 500},
        {"target_se": 0.03},
        {"target_margin": 0.06},
        {"domains": {"region": dps.SE(0.08)}},
    ],
)
@pytest.mark.parametrize("more", [{}, {"local_epsilon_cap": 3.5}, {"response_rate": 0.7}])
def test_two_categories_are_designed_as_a_yes_no_question(goal, more):
    two = dps.design(STRATA, epsilon=1, questions=["no", "yes"], **goal, **more)
    yes_no = dps.design(STRATA, epsilon=1, questions="yes_no", **goal, **more)
    assert two.sample_sizes.tolist() == yes_no.sample_sizes.tolist()
    assert two.variance == pytest.approx(yes_no.variance, rel=1e-13)
    assert two.local_epsilons.tolist() == yes_no.local_epsilons.tolist()


def test_goals_are_met_by_every_share():
    plan = dps.design(STRATA, **ASKED, target_margin=0.05)
    assert plan.inputs.z * plan.standard_error <= 0.05
    fewer = dps.design(STRATA, **ASKED, budget=plan.cost - 1)
    assert fewer.inputs.z * fewer.standard_error > 0.05


@pytest.mark.parametrize("seed", range(5))
def test_no_share_has_a_larger_variance_than_the_design_says(seed):
    """Sampling and noise of each share, from the textbook, for shares of every shape."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 8))
    p = rng.dirichlet(np.full(k, 0.3), 3)
    N = np.array([7000, 800, 50])
    S = np.sqrt(0.5 * (p * (1 - p)).sum(axis=1) * N / (N - 1))
    plan = dps.design(dps.Strata(N, S), questions=[f"c{i}" for i in range(k)], epsilon=2, total=200)
    n, W = plan.sample_sizes[:, None], (N / N.sum())[:, None]
    x = np.exp(plan.local_epsilons)[:, None]
    keep, other = x / (x + k - 1), 1 / (x + k - 1)
    noise = (p * keep * (1 - keep) + (1 - p) * other * (1 - other)) / (keep - other) ** 2
    sampling = p * (1 - p) * N[:, None] / (N[:, None] - 1) * (1 - n / N[:, None])
    each = (W**2 * (sampling + noise) / n).sum(axis=0)
    assert each.sum() / 2 == pytest.approx(plan.variance)
    assert each.max() <= plan.variance * (1 + 1e-12)


def test_the_words_speak_of_shares():
    plan = dps.design(STRATA, **ASKED, total=300)
    said = " ".join([repr(plan), headline(plan), goal_in_words(plan.inputs)])
    assert "give a standard error of at most 0.02673 for the share of any category" in said
    assert "give a standard error of at most 0.0267 for the share of any category" in said
    assert "half the sum of the variances of the estimated shares" in said
    assert not re.search(r"\bmeans?\b", said)
    target = dps.design(STRATA, **ASKED, target_se=0.03)
    assert "a standard error of 0.03 for the share of any category" in goal_in_words(target.inputs)
    useless = dps.design(dps.Strata([900]), questions=TENURES, epsilon=0.1, total=30)
    assert "shares closer than that could not be told apart" in repr(useless)
    html = dps.report_html(plan)
    assert "Each answer is kept, or replaced by another category, by k-ary randomized response" in html
    assert "half the sum of the variances of the estimated shares" in html
    assert 'questions=["rent", "own", "other"]' in python_code(plan)
    assert "'--questions=rent|own|other'" in command_line(plan)


def test_what_if_questions_work():
    plan = dps.design(STRATA, **ASKED, total=300)
    scored = dps.evaluate(STRATA, [100, 150, 50], **ASKED)
    assert scored.variance == pytest.approx(half_trace(plan, [100, 150, 50]))
    assert "Your allocation has a standard error of at most 0.0" in repr(scored)
    rows = dps.sweep(STRATA, **ASKED | {"epsilon": [0.5, 1]}, total=300)
    assert rows[1]["variance"] == pytest.approx(plan.variance)
    assert "c larger" in repr(dps.sensitivity(plan))
    assert plan.choice is not None
    assert [row.mechanism for row in plan.choice] == ["category_response"]
    assert plan.better_releases() == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delta": 1e-6}, "categories support pure epsilon only, got a promise of epsilon with delta"),
        ({"epsilon": None, "gdp": 1.0}, "categories support pure epsilon only, got a promise of GDP"),
        (
            {"total": None, "target_cv": 0.1},
            "a coefficient of variation needs answers with a mean, got 3 categories",
        ),
        ({"total": None, "target_cv": 0.1, "expected_mean": 0.2}, "expected_mean needs answers with a mean"),
        ({"expected_mean": 0.2}, "expected_mean needs answers with a mean, got 3 categories"),
        ({"clip": True}, "clip requires questions to be a range, such as 0:8000, got 3 categories"),
        ({"mechanism": "laplace"}, "Laplace noise protects numbers, got 3 categories"),
        ({"proportion": 0.3}, "proportion is the share of one of two answers, and there are 3 categories"),
    ],
)
def test_what_does_not_go_with_categories(options, words):
    strata = dps.Strata([700, 900])
    with pytest.raises(dps.DpstrataError, match=words):
        dps.design(strata, **{**ASKED, "total": 40, **options})


def test_other_functions_that_need_numbers():
    plan = dps.design(STRATA, **ASKED, total=300)
    published = [(each.release, each.raw_answers) for each in dps.compare_releases(plan).options]
    assert published == [
        ("microdata", False),
        ("sums", False),
        ("mean", False),
        ("sums", True),
        ("mean", True),
    ]
    with pytest.raises(
        dps.InputError, match=r"means are estimated from numbers, got 3 categories. Use estimate"
    ):
        dps.estimate_means(plan, ["a", "b", "c"], [0.1, 0.2, 0.3])
    loose = dps.Strata([900], extra={"proportion:rent": [0.5], "proportion:own": [0.5]})
    with pytest.raises(dps.InputError, match=r"proportion:rent and so on must be read by Strata.from_file"):
        dps.design(loose, questions=["rent", "own"], epsilon=1, total=9)
