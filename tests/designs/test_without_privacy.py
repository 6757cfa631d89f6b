"""What the same sample would give without privacy: everyone asked every question, and no noise added."""

import math

import numpy as np
import pytest

import dpstrata as dps

SIZES, SHARES = np.array([40_000, 25_000, 9_000, 3_000]), np.array([0.02, 0.05, 0.3, 0.5])
SDS = np.sqrt(SHARES * (1 - SHARES))
COSTLY = dps.Strata(SIZES, SDS, costs=[1, 2, 10, 30], extra={"region": ["n", "n", "s", "s"]})


def by_hand(n):
    """W²S²(1/n − 1/N), added up."""
    return math.sqrt(float(np.sum((SIZES / SIZES.sum()) ** 2 * SDS**2 * (1 / n - 1 / SIZES))))


@pytest.mark.parametrize(
    "goal",
    [
        {"total": 2000},
        {"budget": 9000},
        {"target_se": 0.01, "domains": {"region": 0.03}},
    ],
)
def test_without_noise_the_two_standard_errors_agree(goal):
    plan = dps.design(COSTLY, epsilon=100, **goal)
    assert plan.standard_error_without_privacy == pytest.approx(plan.standard_error, rel=1e-6)
    assert plan.variance_parts.privacy_share < 1e-6


@pytest.mark.parametrize("release", ["microdata", "sums"])
def test_it_is_that_of_the_sample_whatever_the_goal(release):
    for goal in ({"budget": 9000}, {"target_se": 0.02, "domains": {"region": 0.05}}):
        plan = dps.design(COSTLY, epsilon=2, release=release, **goal)
        assert plan.standard_error_without_privacy == pytest.approx(by_hand(plan.sample_sizes))
        share = 1 - (plan.standard_error_without_privacy / plan.standard_error) ** 2
        assert plan.variance_parts.privacy_share == pytest.approx(share)
        assert f"; privacy accounts for {share:.1%} of the variance" in repr(plan)


@pytest.mark.parametrize(
    "goal",
    [{"total": 500}, {"at_most": 500}, {"budget": 9000}, {"target_se": 0.02}, {"domains": {"region": 0.05}}],
)
def test_rivals_have_the_same_cost_whatever_the_goal(goal):
    if "domains" in goal:
        goal = {**goal, "target_se": 0.05}
    plan = dps.design(COSTLY, epsilon=2, **goal)
    for row in plan.compare()[1:]:
        assert plan.cost - COSTLY.costs.max() < row.cost <= plan.cost
        assert row.standard_error_without_privacy == pytest.approx(by_hand(row.sample_sizes))


def test_with_equal_costs_rivals_have_as_many_people():
    equal = dps.Strata(SIZES, SDS, costs=[3, 3, 3, 3])
    plan = dps.design(equal, epsilon=2, budget=1500)
    assert {row.total for row in plan.compare()} == {500}


def test_dividing_people_over_forms_is_a_cost_of_privacy():
    """With hardly any noise, half the people for each question double the variance, and no more."""
    questions = dps.Questionnaire([dps.Question("a", "yes_no"), dps.Question("b", "yes_no")])
    asked = {"questions": questions, "epsilon": 60, "device_epsilon": 60, "release": "sums", "total": 400}
    strata = dps.Strata([20_000, 30_000])
    n, W = np.array([160, 240]), np.array([0.4, 0.6])
    spread = strata.sizes / (strata.sizes - 1) / 3  # half the sum over yes, no and blank, at a third each
    for forms, people in (("one", n), ([["a"], ["b"]], n / 2)):
        plan = dps.design(strata, forms=forms, **asked)
        assert plan.sample_sizes.tolist() == n.tolist()
        plain, planned = (
            math.sqrt(float(np.sum(W**2 * spread * (1 / each - 1 / strata.sizes)))) for each in (n, people)
        )
        assert plan.standard_error == pytest.approx(planned, rel=1e-4)
        assert plan.standard_error_without_privacy == pytest.approx(plain)
        assert [each.standard_error_without_privacy for each in plan.questions] == pytest.approx([plain] * 2)
        assert plan.variance_parts.privacy_share == pytest.approx(1 - (plain / planned) ** 2, abs=1e-4)
        assert plan.compare()[0].standard_error_without_privacy == pytest.approx(plain)


def test_questions_together_weigh_as_in_the_design():
    questions = dps.Questionnaire(
        [dps.Question("a", "yes_no", importance=3), dps.Question("b", "number", lower=0, upper=10)]
    )
    asked = {"questions": questions, "epsilon": 1, "device_epsilon": 3, "release": "sums", "total": 400}
    plan = dps.design(dps.Strata([20_000, 30_000]), **asked)
    a, b = (each.standard_error_without_privacy for each in plan.questions)
    assert plan.standard_error_without_privacy == pytest.approx(math.sqrt((3 * a**2 + (b / 10) ** 2) / 4))
    assert plan.standard_error_without_privacy < plan.standard_error


def test_the_document_has_it():
    plan = dps.design(COSTLY, epsilon=2, budget=9000)
    document = plan.to_dict()
    assert document["standard_error_without_privacy"] == plan.standard_error_without_privacy
    assert not any("effective_sample_size" in row for row in document["comparison"])
