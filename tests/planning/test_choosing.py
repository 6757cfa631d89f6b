"""The best mechanism, and what it costs to trust nobody."""

import json
import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.model.choice import better_mechanism, valid_mechanisms

PAPER = dps.Strata([7000, 8000, 9000, 10000], [math.sqrt(0.08**i) for i in (1, 2, 3, 4)])


def one_stratum_at(e):
    """A stratum and a total at which the local budget is e, nearly, for a central budget of 1."""
    n = 1000
    return dps.Strata([round(n * math.expm1(e) / math.expm1(1.0))], [0.2]), n


@pytest.mark.parametrize(
    ("e", "answers", "chosen"),
    [
        (3.0, "binary", "randomized_response"),
        (5.15, "binary", "randomized_response"),
        (3.0, (0, 1), "piecewise"),
        (5.15, (0, 1), "staircase"),
    ],
)
@pytest.mark.filterwarnings("ignore:total=.* exceeds the best total")
def test_best_picks_what_it_should(e, answers, chosen):
    strata, n = one_stratum_at(e)
    plan = dps.design(strata, epsilon=1, total=n, answers=answers, mechanism="best")
    assert plan.local_epsilons[0] == pytest.approx(e, abs=1e-3)
    assert plan.mechanism.name == chosen
    given = {row.mechanism: row.variance for row in plan.choice}
    assert plan.variance == min(given.values())
    for name, variance in given.items():
        other = dps.design(strata, epsilon=1, total=n, answers=answers, mechanism=name)
        assert other.variance == variance
    if answers == (0, 1) and e == 3.0:
        assert (plan.noise_sds[0] ** 2) == pytest.approx(0.123, abs=5e-4)
    assert f"{plan.mechanism.title} was chosen" in repr(plan)


def test_valid_mechanisms_by_answers_and_trust():
    def names(answers, **more):
        return valid_mechanisms(dps.design(PAPER, epsilon=1, total=9, answers=answers, **more).inputs)

    assert names((0, 1)) == ["laplace", "tulap", "staircase", "piecewise"]
    assert names((0, 1, 0.25)) == ["laplace", "discrete_laplace", "tulap", "staircase", "piecewise"]
    assert "randomized_response" in names("binary")
    assert names((0, 1), trust="curator") == ["laplace", "tulap", "staircase"]


def test_a_beaten_mechanism_says_so_in_one_line():
    plan = dps.design(PAPER, epsilon=1, total=200)
    title, variance = better_mechanism(plan)
    assert title == "Staircase"
    with_it = dps.evaluate(PAPER, plan.sample_sizes, epsilon=1, mechanism="staircase")
    assert variance == pytest.approx(with_it.variance)
    assert f"would give a standard error of {math.sqrt(variance):.4g}." in repr(plan)
    best = dps.design(PAPER, epsilon=1, total=200, mechanism="best")
    assert better_mechanism(best) is None


@pytest.mark.parametrize(
    "question", [{"total": 200}, {"at_most": 900}, {"target_se": 0.02}, {"budget": 3000}]
)
def test_best_answers_every_question_and_survives_a_document(tmp_path, question):
    strata = dps.Strata(PAPER.sizes, PAPER.sds, costs=[12, 10, 11, 25])
    plan = dps.design(strata, epsilon=0.5, mechanism="best", **question)
    for row in plan.choice:
        other = dps.design(strata, epsilon=0.5, mechanism=row.mechanism, **question)
        if "target_se" in question:
            assert plan.cost <= other.cost
        else:
            assert plan.variance <= other.variance
    plan.save(tmp_path / "d.json")
    assert dps.load_design(tmp_path / "d.json") == plan
    document = json.loads((tmp_path / "d.json").read_text())
    document["choice"][0]["variance"] = 1e-9
    (tmp_path / "d.json").write_text(json.dumps(document))
    with pytest.raises(dps.InputError, match="contradicts itself at choice"):
        dps.load_design(tmp_path / "d.json")


def test_best_leaves_out_what_no_design_meets_and_says_why_if_none_does():
    plan = dps.design(PAPER, epsilon=0.1, target_se=0.0285, mechanism="best")
    assert {row.mechanism for row in plan.choice if row.total is None} == {"laplace"}
    with pytest.raises(dps.InfeasibleError, match="but the best possible under this privacy"):
        dps.design(PAPER, epsilon=0.1, target_se=0.001, mechanism="best")


def test_the_reason_is_that_of_the_mechanism_that_comes_closest():
    def reason(**question):
        with pytest.raises(dps.InfeasibleError) as caught:
            dps.design(strata, epsilon=0.1, answers="binary", **question)
        return str(caught.value)

    strata = dps.Strata(PAPER.sizes, PAPER.sds, costs=[12, 10, 11, 25], extra={"half": list("aabb")})
    for question in (
        {"target_se": 0.01},  # 0.0181 with 303 people by randomized response, 0.0237 with 842 by piecewise
        {"domains": {"half": {"a": 0.02, "b": 0.001}}},
        {"target_se": 0.03, "budget": 100},  # reached by all, at different costs
        {"target_se": 0.02, "budget": 100},  # reached by randomized response alone
    ):
        assert reason(mechanism="best", **question) == reason(mechanism="randomized_response", **question)
        assert reason(mechanism="best", **question) != reason(mechanism="piecewise", **question)
    plain = dps.Strata(PAPER.sizes, PAPER.sds)
    with pytest.raises(dps.InfeasibleError, match=r"best possible .* is 0\.0180728, with 303 interviews\."):
        dps.design(plain, epsilon=0.1, answers="binary", target_se=0.01, mechanism="best")


def test_what_local_protection_costs():
    plan = dps.design(PAPER, epsilon=1, total=200)
    trust = dps.compare_trust(plan)
    assert trust.local.sample_sizes.tolist() == plan.sample_sizes.tolist()
    assert trust.curator.inputs.trust == "curator"
    assert trust.ratio > 1
    assert "not having to trust anyone costs" in repr(trust)
    target = dps.compare_trust(dps.design(PAPER, epsilon=1, target_se=0.02))
    assert f"a trusted curator {target.curator.total:,} interviews." in target.in_words
    assert target.curator.total < target.local.total
    binary = dps.design(PAPER, epsilon=1, total=200, answers="binary", mechanism="randomized_response")
    assert dps.compare_trust(binary).curator.mechanism.additive
    with pytest.raises(dps.InputError, match="needs a Design"):
        dps.compare_trust(np.zeros(3))


def test_trust_is_compared_fairly():
    many = dps.compare_trust(dps.design(PAPER, epsilon=0.1, at_most=34_000))
    assert "needs" not in many.in_words
    assert "972 interviews give a standard error of" in many.in_words
    out_of_reach = dps.compare_trust(dps.design(PAPER, epsilon=0.1, target_se=0.008, trust="curator"))
    assert out_of_reach.local is None
    assert out_of_reach.ratio is None
    assert out_of_reach.in_words == (
        "With noise on every answer the question cannot be met, with a trusted curator it can."
    )
    options = {"epsilon": 1, "total": 400, "answers": "binary", "mechanism": "best"}
    from_local, from_curator = (
        dps.compare_trust(dps.design(PAPER, trust=trust, **options)).ratio for trust in ("local", "curator")
    )
    assert from_local == pytest.approx(from_curator)


def test_best_is_for_a_promise_of_epsilon_alone():
    for promise in ({"epsilon": 1, "delta": 1e-6}, {"zcdp": 1}):
        with pytest.raises(
            dps.InputError, match="mechanism='best' supports pure epsilon only; remove delta, zcdp or gdp"
        ):
            dps.design(PAPER, total=200, mechanism="best", **promise)


@pytest.mark.parametrize("mechanism", ["laplace", "best"])
def test_the_warning_beyond_the_best_points_at_the_caller(mechanism):
    with pytest.warns(dps.DpstrataWarning, match="exceeds the best total") as caught:
        dps.design(PAPER, epsilon=0.1, total=34_000, mechanism=mechanism)
    assert [warning.filename for warning in caught] == [__file__]
