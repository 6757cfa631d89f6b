import math
import warnings
from statistics import NormalDist

import pytest

import dpstrata as dps
from dpstrata.present.report.tables import beliefs_table
from dpstrata.present.report.words import (
    cautions,
    goal_in_words,
    headline,
    neighbours_in_words,
    odds_in_words,
)
from dpstrata.privacy.promises.epsilon import beliefs
from dpstrata.survey.inputs import Inputs

FOUR = dps.Strata([7000, 8000, 9000, 10000], [0.283, 0.08, 0.0226, 0.0064], names=["A", "B", "C", "D"])
COSTLY = dps.Strata(
    [7000, 8000, 9000, 10000],
    [0.283, 0.28, 0.2, 0.1],
    costs=[90, 1, 1, 1],
    extra={"region": ["n", "n", "s", "s"]},
)


def quiet(strata, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dps.design(strata, **options)


def test_figures_of_the_headline_are_those_of_the_library():
    plan = dps.design(FOUR, epsilon=1, total=200)
    neyman = plan.compare()[1]
    words = headline(plan)
    assert f"= {plan.total} interviews" in words
    assert f"{plan.standard_error:#.3g}" in words
    assert f"{neyman.standard_error:#.3g}" in words
    assert f"without privacy, they would give {plan.standard_error_without_privacy:#.3g}" in words


def test_headlines_of_other_designs():
    alone = dps.design(dps.Strata([500], [0.3]), epsilon=1, total=10)
    assert headline(alone).startswith("10 interviews in 1 stratum give a standard error of ")
    assert "Neyman's allocation is the same." in headline(alone)
    trace = dps.design(FOUR, epsilon=1, total=200, objective="trace")
    assert f"give an objective (trace) of {trace.variance:#.3g}" in headline(trace)
    many = dps.design(dps.Strata([500] * 7, [0.1 * i for i in range(1, 5)] + [0.2] * 3), epsilon=1, total=70)
    assert headline(many).startswith("70 interviews in 7 strata")
    gap = dps.design(COSTLY, epsilon=1, budget=3000)
    proof = gap.certificate
    ending = "Proven optimal." if proof.optimal else "of the best."
    assert headline(gap).endswith(ending)
    assert f"at a cost of {gap.cost:,.10g}" in headline(gap)


def test_a_rival_that_is_more_precise_is_told_with_what_it_fails_at():
    plan = dps.design(COSTLY, epsilon=1, target_se=0.03)
    neyman = plan.compare()[1]
    assert neyman.ratio > 1
    assert neyman.cost <= plan.cost
    assert f"Neyman's allocation of the same cost would give {neyman.standard_error:#.3g} under" in headline(
        plan
    )
    strict = dps.design(COSTLY, epsilon=1, domains={"region": {"s": dps.SE(0.02)}})
    rival = strict.compare()[1]
    assert rival.ratio < 1
    assert "miss 1 target" in headline(strict)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"total": 1}, "exactly 1 interview makes"),
        ({"at_most": 2000}, "at most 2,000 interviews makes"),
        ({"budget": 5000.5}, "costs at most 5,000.50 makes"),
        ({"target_se": 0.02}, "a standard error of 0.02 for the population mean?"),
        ({"target_se": 0.02, "budget": 70}, "within a budget of 70?"),
        (
            {"target_margin": 0.04, "confidence": 0.9},
            "a margin of error of 0.04 for the population mean (90% confidence",
        ),
        (
            {"target_cv": 0.05, "expected_mean": 0.3},
            "variation of 0.05 for the population mean, expected to be 0.3",
        ),
        ({"target_se": 0.1, "domains": {"region": 0.05}}, "mean; and standard errors by region of 0.05?"),
        (
            {"target_margin": 0.1, "domains": {"r": {"x": 0.05}}},
            "margins of error by r of 0.05 for x (95% confidence)?",
        ),
        ({"total": 9, "objective": "trace"}, "the sum of the variances of the stratum means smallest"),
    ],
)
def test_every_question_has_its_words(question, words):
    assert words in goal_in_words(Inputs(epsilon=1.0, **question))


def test_beliefs_are_rounded_outwards():
    for epsilon in (0.01, 0.5, 1.0, 3.0, 20.0, 100.0):
        for before, low, high in beliefs(epsilon):
            p = float(before[:-1]) / 100
            factor = math.exp(epsilon)
            most, least = p * factor / (1 - p + p * factor), p / (p + (1 - p) * factor)
            assert float(high[:-1]) >= 100 * most - 1e-9
            assert float(low[:-1]) <= 100 * least + 1e-9
            assert float(high[:-1]) - 100 * most < 0.1001
            assert 100 * least - float(low[:-1]) < 0.1001


def test_what_the_promise_means():
    strata = dps.Strata([9000, 9000], [0.3, 0.2])

    def words(**options):
        return odds_in_words(dps.design(strata, total=200, **options))

    assert "a factor of at most 2.72" in words(epsilon=1)
    assert "between 26.8% and 73.2%" in words(epsilon=1)
    # Φ(Φ⁻¹(0.05) + 1) = 0.2595
    assert "at most 26.0% of the cases" in words(gdp=1.0, mechanism="gaussian")
    assert "at most 26.0% of the cases" in words(zcdp=0.5, mechanism="gaussian")


def test_a_delta_is_not_a_probability_of_failing():
    """The best test under (ε, δ), beside the power of the analytic Gaussian mechanism itself."""
    plan = dps.design(dps.Strata([9000], [0.3]), epsilon=1, delta=1e-5, mechanism="gaussian", total=200)
    said = odds_in_words(plan)
    assert ", plus 1e-05." in said
    assert "fail" not in said + plan.privacy["in_words"]
    bound = math.e * 0.05 + 1e-5
    assert f"at most {math.ceil(1000 * bound) / 10:.1f}% of the cases" in said
    mu = 0.2667  # Gaussian noise with (1, 1e-5): its own test is never more powerful
    assert NormalDist().cdf(NormalDist().inv_cdf(0.05) + mu) < bound
    assert beliefs_table(plan) is None


def test_the_promise_of_two_waves_is_of_both():
    strata = dps.Strata([9000, 9000])
    first = dps.pilot(strata, epsilon=1, pilot_epsilon=0.3, total=300, pilot_total=60, questions="yes_no")
    assert "both waves together change the odds by a factor of at most 2.72" in odds_in_words(first)
    spent = dps.Strata([9000], [0.3], sd_sources="confidential", sd_epsilons=[0.5])
    told = odds_in_words(dps.design(spent, epsilon=0.5, total=100))
    assert (
        "with what was spent on the standard deviations, changes the odds by a factor of at most 2.72" in told
    )


def test_cautions():
    assert (
        cautions(dps.design(dps.Strata([900, 900], [0.3, 0.2], sd_sources="public"), epsilon=1, total=90))
        == []
    )
    beyond = quiet(FOUR, epsilon=0.1, total=20_000)
    assert any("20,000 interviews exceed the best number" in words for words in cautions(beyond))
    pilot = dps.Strata([900, 900], [0.3, 0.2], sd_sources="confidential", sd_epsilons=[0.25, 0.2])
    assert "cost epsilon = 0.250" in cautions(dps.design(pilot, epsilon=1, total=90))[0]
    few = cautions(quiet(FOUR, epsilon=1, total=4))
    assert any(words.startswith("4 strata have a single interview") for words in few)
    assert any("local epsilon above 8" in words for words in few)
    assert any("weak promise" in words for words in cautions(quiet(FOUR, epsilon=5, total=200)))
    sums = {"epsilon": 1, "total": 200, "release": "sums"}
    assert any("office sees every answer without noise" in words for words in cautions(quiet(FOUR, **sums)))
    assert not any("office" in words for words in cautions(quiet(FOUR, **sums, device_epsilon=3)))
    weak = cautions(quiet(FOUR, **sums, device_epsilon=9))
    assert any("A device epsilon of 9 hardly protects anyone from the office" in words for words in weak)


def test_the_order_of_neighbours_is_declared():
    strata = dps.Strata([400, 300, 200, 100], extra={"half": list("aabb"), "reported_stratum": list("xyxy")})
    plan = dps.design(strata, epsilon=1, total=50, domains=["half", "stratum"])
    said = neighbours_in_words(plan)
    assert said.endswith(
        "in the order of this table, if possible within the same coarser stratum and half."
    ), said
    assert said in dps.report_html(plan)
