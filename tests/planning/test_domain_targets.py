"""Targets of domains say what they are: a coefficient of variation, a standard error or a margin of error."""

import json
import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.present.report.code import command_line, python_code_with_strata

EPSILON, AGES = 2.0, 4
POPULATION = np.linspace(400_000, 2_400_000, 9).astype(int)  # of 9 regions
SIZES = np.repeat(POPULATION // AGES, AGES)
PREVALENCES = np.linspace(0.01, 0.08, 9 * AGES)
REGIONS = [f"R{1 + i // AGES}" for i in range(9 * AGES)]
COSTS = np.repeat(np.linspace(20, 60, 9), AGES)
SURVEY = {"epsilon": EPSILON, "questions": "yes_no", "mechanism": "laplace"}


def health(**columns):
    """Strata with prevalences of 1 to 8%: 9 regions and 4 age groups."""
    sds = np.sqrt(PREVALENCES * (1 - PREVALENCES) * SIZES / (SIZES - 1))
    return dps.Strata(SIZES, sds, proportions=PREVALENCES, extra={"region": REGIONS}, **columns)


def laplace_variance(N, p, n):
    """S²(1/n − 1/N) and Laplace noise of 2/e² on every answer, with e = ln(1 + (exp(ε) − 1)N/n)."""
    e = np.log1p(np.expm1(EPSILON) * N / n)
    return p * (1 - p) * N / (N - 1) * (1 / n - 1 / N) + 2 / e**2 / n


def errors_and_means(n):
    """Standard error and expected mean of every region, without any code of the library."""
    variances = laplace_variance(SIZES, PREVALENCES, n)
    weights = SIZES / np.repeat(np.add.reduceat(SIZES, range(0, len(SIZES), AGES)), AGES)
    by_region = range(0, len(SIZES), AGES)
    return (
        np.sqrt(np.add.reduceat(weights**2 * variances, by_region)),
        np.add.reduceat(weights * PREVALENCES, by_region),
    )


def test_a_bare_number_without_a_target_for_the_whole_is_refused():
    """It was read as a standard error of 0.15, which a handful of interviews meet."""
    words = r"without a target for the whole, a target of domains must say what it is: 0\.15cv, 0\.15se or 0\.15margin, got 0\.15 for region\."
    with pytest.raises(dps.InputError, match=words) as caught:
        dps.design(health(), **SURVEY, domains={"region": 0.15})
    assert caught.value.argument == "domains"


@pytest.mark.parametrize("given", [dps.CV(0.15), "15%cv", "0.15cv", " 15 % CV"])
def test_a_cv_of_every_region_is_relative_to_its_own_mean(given):
    plan = dps.design(health(), **SURVEY, domains={"region": given})
    errors, means = errors_and_means(plan.sample_sizes)
    assert (errors / means).max() <= 0.15
    assert (errors / means).min() > 0.1499  # and nobody is invited in vain
    reported = plan.domains[1:]
    assert [domain.standard_error for domain in reported] == pytest.approx(errors.tolist())
    assert [domain.cv for domain in reported] == pytest.approx((errors / means).tolist())
    assert [domain.target for domain in reported] == pytest.approx((0.15 * means).tolist())
    assert {domain.asked for domain in reported} == {"0.15cv"}
    with pytest.warns(
        dps.DpstrataWarning, match=r"exceeds the mean expected there, 0.013 .8 other targets too"
    ):
        as_errors = dps.design(health(), **SURVEY, domains={"region": dps.SE(0.15)})
    assert plan.total > 100 * as_errors.total


def test_the_least_cost_is_that_of_all_allocations():
    """By trying every pair of sizes in every region of two strata."""
    N, p = np.array([3000, 5000, 4000, 9000]), np.array([0.3, 0.5, 0.4, 0.2])
    costs, regions = np.array([1.0, 3.0, 2.0, 1.0]), ["n", "n", "s", "s"]
    strata = dps.Strata(
        N, np.sqrt(p * (1 - p) * N / (N - 1)), costs=costs, proportions=p, extra={"region": regions}
    )
    plan = dps.design(strata, **SURVEY, domains={"region": {"n": "20%cv", "s": dps.Margin(0.15)}})
    least = 0.0
    for pair, limit in (
        (slice(0, 2), 0.2 * (3000 * 0.3 + 5000 * 0.5) / 8000),
        (slice(2, 4), 0.15 / 1.959963984540054),
    ):
        W = N[pair] / N[pair].sum()
        first, second = np.meshgrid(*(np.arange(1, 400),) * 2, indexing="ij")
        parts = [laplace_variance(N[pair][i], p[pair][i], n) for i, n in enumerate((first, second))]
        meets = W[0] ** 2 * parts[0] + W[1] ** 2 * parts[1] <= limit**2
        least += float((costs[pair][0] * first + costs[pair][1] * second)[meets].min())
    assert plan.certificate.lower_bound <= least <= plan.cost
    assert plan.cost <= least + costs.max()


def test_a_budget_is_spent_once_the_cvs_are_met():
    cheapest = dps.design(health(costs=COSTS), **SURVEY, domains={"region": dps.CV(0.15)})
    budget = 1.2 * cheapest.cost
    plan = dps.design(health(costs=COSTS), **SURVEY, domains={"region": dps.CV(0.15)}, budget=budget)
    errors, means = errors_and_means(plan.sample_sizes)
    assert (errors / means).max() <= 0.15
    assert budget - COSTS.max() < plan.cost <= budget
    assert plan.standard_error < cheapest.standard_error
    assert plan.domains[0].cv == pytest.approx(plan.standard_error / (SIZES @ PREVALENCES / SIZES.sum()))
    with pytest.raises(dps.InfeasibleError, match="more than budget"):
        dps.design(health(costs=COSTS), **SURVEY, domains={"region": dps.CV(0.15)}, budget=cheapest.cost / 2)


def test_a_bare_number_is_of_the_kind_of_the_whole():
    expected = {"target_se": 0.02, "target_margin": 0.02 / 1.959963984540054, "target_cv": 0.02 * 0.4}
    strata = dps.Strata([9000, 9000], [0.4, 0.4], extra={"half": ["x", "y"], "expected_mean": [0.4, 0.4]})
    for name, error in expected.items():
        plan = dps.design(strata, epsilon=3, domains={"half": {"x": 0.02}}, **{name: 0.05})
        assert plan.domains[1].target == pytest.approx(error)
        kind = name.removeprefix("target_")
        assert plan.to_dict()["inputs"]["domains"] == {"half": {"x": f"0.02{kind}"}}


def test_kinds_may_be_mixed_and_survive_every_way_they_are_written(tmp_path):
    strata = health(costs=COSTS)
    domains = {"region": {"R1": dps.CV(0.3), "R2": dps.SE(0.01), "R3": dps.Margin(0.025)}, "stratum": None}
    plan = dps.design(strata, **SURVEY, domains=domains)
    assert [domain.asked for domain in plan.domains[1:5]] == ["0.3cv", "0.01se", "0.025margin", None]
    assert "coefficients of variation by region of 0.3 for R1" in plan.inputs.goal.in_words("interview", "")
    plan.save(tmp_path / "design.json")
    loaded = dps.load_design(tmp_path / "design.json")
    assert loaded == plan
    assert loaded.inputs.domains == domains
    assert json.loads((tmp_path / "design.json").read_text())["inputs"]["domains"]["region"]["R1"] == "0.3cv"
    names = {"dps": dps}
    exec(python_code_with_strata(plan, out=None).replace("import dpstrata as dps", ""), names)
    assert names["plan"].sample_sizes.tolist() == plan.sample_sizes.tolist()
    command = command_line(plan)
    for text in ("region:R1=0.3cv", "region:R2=0.01se", "region:R3=0.025margin", "--domains=stratum"):
        assert text in command


@pytest.mark.parametrize("given", ["x", "cv", "15%%cv", "1,234cv", "nan se", "15 pc", ""])
def test_what_is_no_target_is_refused_in_one_sentence(given):
    with pytest.raises(dps.InputError, match="must be a number with its kind, such as 15%cv"):
        dps.design(health(), **SURVEY, domains={"region": given})


@pytest.mark.parametrize("kind", [dps.CV, dps.SE, dps.Margin])
@pytest.mark.parametrize("value", [0, -1, "x", True])
def test_a_record_holds_a_positive_number(kind, value):
    with pytest.raises(dps.InputError, match=rf"the value of {kind.__name__} must be"):
        kind(value)


def test_a_cv_needs_a_mean():
    strata = dps.Strata([9000, 9000], [0.4, 0.4], extra={"half": ["x", "y"]})
    with pytest.raises(
        dps.InputError, match="must have a column 'expected_mean' or 'proportion', got neither"
    ):
        dps.design(strata, epsilon=1, domains={"half": dps.CV(0.1)})
    with pytest.raises(dps.InputError, match="a coefficient of variation needs answers with a mean"):
        dps.design(strata, epsilon=1, questions=["a", "b", "c"], domains={"half": dps.CV(0.1)})


def test_the_cv_of_the_whole_takes_its_mean_from_proportions():
    plan = dps.design(health(), **SURVEY, target_cv=0.05)
    mean = float(SIZES @ PREVALENCES / SIZES.sum())
    assert plan.inputs.expected_mean == pytest.approx(mean)
    assert plan.standard_error <= 0.05 * mean
    one = dps.design(dps.Strata([90_000, 90_000]), **SURVEY, target_cv=0.1, proportion=0.3)
    assert one.inputs.expected_mean == pytest.approx(0.3)


def test_a_target_above_the_mean_warns_and_one_around_0_does_not():
    strata = dps.Strata([9000, 9000], [0.1, 0.1], extra={"expected_mean": [0.01, 0.01]})
    with pytest.warns(
        dps.DpstrataWarning, match="the target of the whole, a .*, exceeds the mean expected there"
    ):
        dps.design(strata, epsilon=1, target_se=0.02)
    dps.design(strata, epsilon=1, target_se=0.02, questions=(-1, 1))
    dps.design(strata, epsilon=1, target_se=0.02, questions=(-1, 1), domains={"stratum": math.pi})


def test_an_expected_mean_out_of_range_is_refused():
    strata = dps.Strata([900, 900], [0.1, 0.1], extra={"expected_mean": [5, 5], "region": ["n", "s"]})
    with pytest.raises(dps.InputError, match=r"column 'expected_mean' must lie within .* got 5 in stratum"):
        dps.design(strata, epsilon=1, questions=(0, 1), domains={"region": "20%cv"})
