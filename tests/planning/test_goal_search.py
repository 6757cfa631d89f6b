"""At most, and precision targets: against trying every total."""

import json
import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.posing import pose
from dpstrata.allocation.solvers.sizes_at_price import best_sizes
from dpstrata.planning import goal_search as questions
from dpstrata.survey.inputs import Inputs
from extent import few
from problems import MECHANISMS, asked_of

PAPER = dps.Strata([7000, 8000, 9000, 10000], [math.sqrt(0.08**i) for i in (1, 2, 3, 4)])
quietly = pytest.mark.filterwarnings(
    "ignore:total=.* exceeds the best total", "ignore:Counts are invitations"
)


def random_survey(rng):
    k = int(rng.integers(1, 5))
    sizes = rng.integers(1, 30, k)
    sds = np.where(sizes > 1, rng.choice([0.0, 0.1, 0.3, 0.45], k), 0.0)
    mechanism, steps = MECHANISMS[rng.integers(len(MECHANISMS))]
    objective = str(rng.choice(["mean", "trace", "custom"]))
    options = {
        "epsilon": float(10 ** rng.uniform(-2, 1.5)),
        "mechanism": mechanism,
        "questions": asked_of(steps),
        "objective": objective,
        "local_epsilon_cap": float(rng.uniform(0.2, 6)) if rng.random() < 0.3 else None,
    }
    rates = rng.choice([1.0, 0.5, 0.8], k) if rng.random() < 0.3 else None
    if rates is not None:
        sizes = np.maximum(sizes, 2)
        sds = np.where(sds > 0.45, 0.45, sds)
    strata = dps.Strata(sizes, sds, coefficients=rng.choice([0.5, 1.0, 2.0], k), response_rates=rates)
    return strata, {**options, "min_per_stratum": 1}  # the default would depend on the total


def most_people(strata):
    return int(dps.design(strata, epsilon=1, total=len(strata)).problem.upper.sum())


@quietly
@pytest.mark.parametrize("seed", range(few(8, of=60)))
def test_at_most_equals_trying_every_total(seed):
    rng = np.random.default_rng([1, seed])
    strata, options = random_survey(rng)
    limit = int(rng.integers(len(strata), strata.population + 5))
    plan = dps.design(strata, at_most=limit, **options)
    most = min(limit, most_people(strata))
    totals = range(len(strata), most + 1)
    every = {total: dps.design(strata, total=total, **options) for total in totals}
    assert plan.total <= limit
    planned = [other.problem.objective(other.sample_sizes) for other in every.values()]
    assert plan.problem.objective(plan.sample_sizes) == pytest.approx(min(planned), rel=1e-12)
    if strata.response_rates is None:  # otherwise what is planned with is a bound on the variance
        assert plan.variance == pytest.approx(min(other.variance for other in every.values()), rel=1e-12)
    assert plan.outcome.variance_at_limit == pytest.approx(every[most].variance, rel=1e-12)
    # no allocation at all is better, since no single person is worth adding or leaving out
    free = best_sizes(pose(Inputs(total=plan.total, **options), strata))
    assert plan.outcome.best_total == free.sum()


@quietly
@pytest.mark.parametrize("seed", range(few(40, of=300)))
def test_the_fewest_interviews_reach_the_target_and_one_fewer_does_not(seed):
    rng = np.random.default_rng([2, seed])
    k = int(rng.integers(1, 20))
    sizes = np.floor(10 ** rng.uniform(1, 5, k)).astype(int)
    strata = dps.Strata(sizes, rng.uniform(0.01, 0.45, k))
    epsilon = float(10 ** rng.uniform(-1.5, 1))
    if seed % 3 == 0:  # with one invitation each, that anyone answers is the exception
        strata = dps.Strata(
            sizes * 100, strata.sds, response_rates=rng.uniform(0.3, 1, k), mins=np.full(k, 10)
        )
    best = dps.design(strata, epsilon=epsilon, at_most=strata.population, mechanism="laplace")
    least = int(best.problem.lower.sum())
    worst = dps.design(strata, epsilon=epsilon, total=least, mechanism="laplace").standard_error
    target = best.standard_error + (worst - best.standard_error) * rng.uniform(0.001, 1.1)
    plan = dps.design(strata, epsilon=epsilon, target_se=target, mechanism="laplace")
    assert plan.standard_error <= target
    if plan.total > least:
        fewer = dps.design(strata, epsilon=epsilon, total=plan.total - 1, mechanism="laplace")
        assert fewer.standard_error > target
        assert plan.outcome.variance_with_one_fewer == fewer.variance
    else:
        assert plan.outcome.variance_with_one_fewer is None


def test_a_target_costs_few_designs(monkeypatch):
    """At most 15 designs, also for targets just short of the best possible and for tiny totals."""
    solved = []
    solve = questions.solve_exactly
    monkeypatch.setattr(questions, "solve_exactly", lambda problem: solved.append(1) or solve(problem))
    for seed in range(60):
        rng = np.random.default_rng([3, seed])
        k = int(rng.integers(1, 20))
        strata = dps.Strata(
            np.floor(10 ** rng.uniform(1, rng.choice([3, 5, 8]), k)), rng.uniform(0.01, 0.45, k)
        )
        options = {
            "epsilon": float(10 ** rng.uniform(-2.5, 1.3)),
            "min_per_stratum": int(rng.choice([1, 10])),
        }
        best = dps.design(strata, at_most=strata.population, **options)
        worst = dps.design(strata, total=int(best.problem.lower.sum()), **options).standard_error
        target = best.standard_error + (worst - best.standard_error) * 10 ** rng.uniform(-7, 0.03)
        solved.clear()
        assert dps.design(strata, target_se=target, **options).standard_error <= target
        assert len(solved) <= 15


def test_a_designs_own_standard_error_can_be_asked_for():
    for total in range(50, 300, 7):
        plan = dps.design(PAPER, epsilon=1, total=total)
        assert dps.design(PAPER, epsilon=1, target_se=plan.standard_error).total == total


def test_the_papers_four_strata():
    plan = dps.design(PAPER, epsilon=0.1, at_most=2000, mechanism="laplace")
    assert plan.total == 972
    assert plan.outcome_in_words == (
        "972 interviews are best, 1,028 fewer than the 2,000 allowed; with all of them the standard error would be "
        "0.03097."
    )
    small = dps.design(PAPER, epsilon=0.1, at_most=200, mechanism="laplace")
    assert (small.total, small.outcome.best_total) == (200, 972)
    with pytest.warns(
        dps.DpstrataWarning,
        match=r"total=34,000 exceeds the best total; the standard error rises to 0.0767. 972 interviews",
    ):
        assert dps.design(PAPER, epsilon=0.1, total=34_000, mechanism="laplace").outcome.best_total == 972


def test_a_margin_is_a_standard_error():
    plan = dps.design(PAPER, epsilon=1, target_margin=0.04, confidence=0.9)
    assert plan.total == dps.design(PAPER, epsilon=1, target_se=0.04 / 1.6448536269514722).total
    assert 1.6448536 * plan.standard_error <= 0.04


def test_a_target_below_the_noise_floor_names_both_sides():
    with pytest.raises(
        dps.InfeasibleError, match=r"target_se=0.02 is out of reach: the best possible .* 0.02968, with 972"
    ):
        dps.design(PAPER, epsilon=0.1, target_se=0.02, mechanism="laplace")


@pytest.mark.parametrize("question", [{"at_most": 2000}, {"target_se": 0.03}])
def test_documents_keep_the_outcome(tmp_path, question):
    plan = dps.design(PAPER, epsilon=0.1, **question)
    plan.save(tmp_path / "d.json")
    again = dps.load_design(tmp_path / "d.json")
    assert again == plan
    assert again.outcome == plan.outcome


def test_a_relative_target_is_a_standard_error():
    plan = dps.design(PAPER, epsilon=1, target_cv=0.1, expected_mean=0.2)
    assert plan.total == dps.design(PAPER, epsilon=1, target_se=0.02).total
    shifted = dps.design(PAPER, epsilon=1, questions=(-1, 0), target_cv=0.1, expected_mean=-0.2)
    assert shifted.total == plan.total


# --- costs -----------------------------------------------------------------------------------


def costly(costs, **more):
    return dps.Strata(PAPER.sizes, PAPER.sds, costs=costs, **more)


def test_equal_costs_are_a_number_of_people_with_the_exchange_certificate():
    strata = costly([0.1] * 4)
    plan = dps.design(strata, epsilon=1, budget=20, mechanism="laplace")
    assert plan.total == 200  # 20 / 0.1 in decimals, not in binary
    assert isinstance(plan.certificate, dps.Certificate)
    assert (
        plan.sample_sizes.tolist()
        == dps.design(PAPER, epsilon=1, total=200, mechanism="laplace").sample_sizes.tolist()
    )
    assert "The budget of 20 buys 200 interviews at a cost of 20" in repr(plan)
    rich = dps.design(strata, epsilon=0.1, budget=10_000, mechanism="laplace")
    assert rich.total == 972
    assert "which no larger budget would improve" in repr(rich)
    least = dps.design(strata, epsilon=1, target_se=0.02, mechanism="laplace")
    assert least.cost == pytest.approx(
        0.1 * dps.design(PAPER, epsilon=1, target_se=0.02, mechanism="laplace").total
    )
    assert isinstance(least.certificate, dps.Certificate)


def test_a_budget_with_unequal_costs():
    strata = costly([12, 10, 11, 25])
    plan = dps.design(strata, epsilon=1, budget=3000, mechanism="laplace")
    assert plan.cost <= 3000
    assert isinstance(plan.certificate, dps.Bound)
    assert plan.certificate.measure == "variance"
    assert plan.certificate.optimal
    assert plan.certificate.relative_gap == 0
    assert "Proven optimal" in repr(plan)
    least = dps.design(strata, epsilon=1, target_se=plan.standard_error, mechanism="laplace")
    assert least.cost <= plan.cost
    assert least.certificate.measure == "cost"
    assert least.standard_error <= plan.standard_error
    everything = dps.design(strata, epsilon=0.1, budget=10**6, mechanism="laplace")
    assert everything.total == 972
    assert everything.certificate.optimal


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 50}, "budget must cover the minimums, which cost 58, got budget=50"),
        ({"budget": 500, "target_se": 0.02}, "precision asked for costs [0-9,.]+, more than budget=500"),
        (
            {"target_se": 1e-4},
            "target_se=0.0001 is out of reach: the best possible under this privacy is 0.00[0-9]+, with",
        ),
        (
            {"target_margin": 1e-4},
            "^target_margin=0.0001 requires a standard error of 5.102e-05, but the best",
        ),
        (
            {"target_cv": 1e-4, "expected_mean": 0.5},
            "^target_cv=0.0001 requires a standard error of 5e-05, but the best possible",
        ),
        (
            {"domains": {"stratum": {"B": dps.SE(1e-4)}}},
            "target of stratum=B requires a standard error of 0.0001, but the best possible",
        ),
    ],
)
def test_costs_that_contradict_name_both_sides(options, words):
    with pytest.raises(dps.InfeasibleError, match=words):
        dps.design(costly([12, 10, 11, 25], names="ABCD"), epsilon=1, mechanism="laplace", **options)


@pytest.mark.slow
@quietly
@pytest.mark.parametrize(
    "question",
    [
        {"budget": 3000},
        {"target_se": 0.02},
        {"target_se": 0.02, "domains": {"half": {"x": 0.03}, "stratum": 0.09}},
        {"target_margin": 0.05, "budget": 9000, "domains": {"half": 0.06}},
        {"total": 300, "domains": ["half"]},
        {"total": 300, "local_epsilon_cap": 4},
        {"target_cv": 0.1, "expected_mean": 0.2},
    ],
)
def test_documents_keep_bounds_domains_and_caps(tmp_path, question):
    strata = costly([12, 10, 11, 25], extra={"half": ["x", "x", "y", "y"]}, response_rates=[1, 0.5, 0.7, 1])
    plan = dps.design(strata, epsilon=1, **question)
    plan.save(tmp_path / "d.json")
    again = dps.load_design(tmp_path / "d.json")
    assert again == plan
    assert repr(again) == repr(plan)
    document = json.loads((tmp_path / "d.json").read_text())
    if "prices" in document["certificate"]:
        document["certificate"]["lower_bound"] = document["certificate"]["value"]
        (tmp_path / "e.json").write_text(json.dumps(document | {"cost": document["cost"] - 1}))
        with pytest.raises(dps.InputError, match=r"contradicts itself at"):
            dps.load_design(tmp_path / "e.json")
        document["certificate"]["prices"] = [-1.0] * len(document["certificate"]["prices"])
        (tmp_path / "e.json").write_text(json.dumps(document))
        with pytest.raises(dps.InputError, match="prices of the certificate do not fit"):
            dps.load_design(tmp_path / "e.json")


# --- caps ------------------------------------------------------------------------------------


def test_a_cap_is_kept_and_what_it_leaves_is_reported():
    plan = dps.design(PAPER, epsilon=1, total=200, local_epsilon_cap=5.5)
    free = dps.design(PAPER, epsilon=1, total=200)
    assert np.all(plan.local_epsilons <= 5.5)
    assert plan.capped.tolist() == [False, True, True, True]
    spent = [
        dps.central_epsilon(float(e), sample_size=int(n), stratum_size=int(N))
        for e, n, N in zip(plan.local_epsilons, plan.sample_sizes, PAPER.sizes, strict=True)
    ]
    assert plan.central_epsilons == pytest.approx(spent)
    assert np.all(plan.central_epsilons <= 1.0)
    assert plan.standard_error > free.standard_error
    rows = plan.table()
    assert rows["capped"] == plan.capped.tolist()
    assert "is binding in 3 of 4 strata" in plan.privacy["in_words"]
    loose = dps.design(PAPER, epsilon=1, total=200, local_epsilon_cap=50)
    assert loose.sample_sizes.tolist() == free.sample_sizes.tolist()
    assert not loose.capped.any()


# --- standard deviations from the answers themselves ------------------------------------------


def test_confidential_deviations_need_their_cost():
    with pytest.raises(dps.StrataError, match="must have its privacy cost in sd_epsilon"):
        dps.Strata([50, 60], [0.1, 0.2], sd_sources="confidential")
    strata = dps.Strata([50, 60], [0.1, 0.2], sd_sources=["confidential", "prior"], sd_epsilons=[0.25, 0])
    plan = dps.design(strata, epsilon=1, total=20)
    assert plan.privacy["spent_on_deviations"] == 0.25
    assert "at a cost of epsilon = 0.25, so the survey spends 1.25 in total" in plan.privacy["in_words"]
    assert plan.table()["sd_epsilon"] == [0.25, 0.0]


# --- sums ------------------------------------------------------------------------------------


def test_each_sum_of_raw_answers_is_noised_once():
    plan = dps.design(PAPER, epsilon=1, total=200, release="sums", mechanism="laplace")
    n, N, S = plan.sample_sizes, PAPER.sizes, PAPER.sds
    e = np.log1p(np.expm1(1.0) * N / n)
    weight = (N / N.sum()) ** 2
    expected = np.sum(weight * (S**2 * (1 / n - 1 / N) + 2 / e**2 / n**2))
    assert plan.variance == pytest.approx(expected)
    assert plan.noise_sds == pytest.approx(np.sqrt(2) / e / n)
    assert plan.variance < dps.design(PAPER, epsilon=1, total=200, mechanism="laplace").variance
    assert "The office sees every answer without noise" in plan.privacy["in_words"]
    assert dps.simulate(plan, dps.synthetic_population(plan), replications=4000, seed=2).agrees()


@pytest.mark.parametrize("device", [None, 3])
def test_more_interviews_never_hurt_sums(device):
    plan = dps.design(PAPER, epsilon=0.1, at_most=34_000, release="sums", device_epsilon=device)
    assert plan.total == 34_000


@pytest.mark.parametrize(
    ("question", "tamper"),
    [
        ({"total": 200}, lambda d: d["inputs"].update(total=150)),
        ({"at_most": 2000}, lambda d: d["inputs"].update(at_most=100)),
        ({"at_most": 2000}, lambda d: d["outcome"].update(limit=1000)),
        ({"at_most": 2000}, lambda d: d["outcome"].update(variance_at_limit=1.0)),
        ({"at_most": 2000}, lambda d: d["outcome"].update(best_total=973)),
        ({"target_se": 0.03}, lambda d: d["outcome"].update(variance_with_one_fewer=1.0)),
        ({"target_se": 0.03}, lambda d: d["inputs"].update(target_se=0.05)),
        ({"target_margin": 0.07}, lambda d: d["inputs"].update(confidence=0.5)),
        ({"budget": 4000}, lambda d: d["outcome"].update(budget=1.0)),
        ({"budget": 4000}, lambda d: d["outcome"].update(cost=1.0)),
        ({"budget": 4000}, lambda d: d["certificate"].update(searched=True, optimal=True, value=1.0)),
        ({"total": 1500}, lambda d: d.update(outcome=None)),
        ({"total": 200}, lambda d: d["inputs"].update(confidence=1e-300)),
    ],
)
@quietly
def test_changed_answers_are_refused(tmp_path, question, tamper):
    strata = costly([12, 10, 11, 25]) if "budget" in question else PAPER
    dps.design(strata, epsilon=0.1, **question).save(tmp_path / "d.json")
    document = json.loads((tmp_path / "d.json").read_text())
    tamper(document)
    (tmp_path / "d.json").write_text(json.dumps(document))
    with pytest.raises(dps.InputError):
        dps.load_design(tmp_path / "d.json")


def test_a_gap_cannot_be_called_searched(tmp_path):
    rng = np.random.default_rng(1)
    strata = dps.Strata(
        rng.integers(1000, 10**5, 60), rng.uniform(0.1, 0.4, 60), costs=rng.uniform(5, 60, 60)
    )
    plan = dps.design(strata, epsilon=1, budget=20_000)
    assert not plan.certificate.optimal
    plan.save(tmp_path / "d.json")
    assert dps.load_design(tmp_path / "d.json") == plan
    document = json.loads((tmp_path / "d.json").read_text())
    document["certificate"].update(searched=True, optimal=True)
    (tmp_path / "d.json").write_text(json.dumps(document))
    with pytest.raises(dps.InputError, match="not the best possible one"):
        dps.load_design(tmp_path / "d.json")


def test_people_run_out_before_the_limit():
    plan = dps.design(dps.Strata([100, 100], [0.5, 0.5]), epsilon=5, at_most=10**6)
    assert "All 200 interviews that are possible improve the result." in repr(plan)
    plan = dps.design(dps.Strata([100, 100], [0.5, 0.5]), epsilon=5, at_most=200)
    assert "All 200 interviews improve the result; no other number would be better." in repr(plan)


def test_response_rates_limit_invitations_and_the_sentence_says_why():
    strata = dps.Strata([1000, 1040, 1000], [0.5] * 3)
    plan = dps.design(strata, epsilon=1, at_most=3040, response_rate=0.6, release="sums")
    assert plan.total == 1824
    assert plan.outcome_in_words == (
        "All 1,824 invitations that are possible improve the result; with response rates, no more people can be "
        "invited than would answer, because the promise relies on inviting a sample of those."
    )


def test_sweeps_take_any_sequence_and_report_what_is_out_of_reach():
    rows = dps.sweep(PAPER, epsilon=np.array([0.1, 1.0]), target_se=(0.02,), questions=[0, 1])
    assert [row["total"] is None for row in rows] == [True, False]
    assert "best possible" in rows[0]["problem"]
    assert len(dps.sweep(PAPER, epsilon=1, total=range(100, 400, 100))) == 3


# --- coefficients of variation ---------------------------------------------------------------


def test_domains_have_coefficients_of_variation_relative_to_their_own_means(tmp_path):
    means = [0.5, "0,2", 0.1, 0.05]
    strata = costly([12, 10, 11, 25], extra={"half": list("xxyy"), "expected_mean": means})
    plan = dps.design(strata, epsilon=1, target_cv=0.1, domains={"half": 0.2})
    assert plan.inputs.expected_mean == pytest.approx((3500 + 1600 + 900 + 500) / 34_000)
    by_group = {domain.group: domain for domain in plan.domains}
    assert by_group["all"].target == pytest.approx(0.1 * plan.inputs.expected_mean)
    assert by_group["x"].target == pytest.approx(0.2 * (3500 + 1600) / 15_000)
    assert by_group["y"].target == pytest.approx(0.2 * (900 + 500) / 19_000)
    assert all(domain.standard_error <= domain.target for domain in plan.domains)
    plan.save(tmp_path / "design.json")
    assert dps.load_design(tmp_path / "design.json") == plan
    plain = dps.design(strata, epsilon=1, target_cv=0.1)
    assert (
        plain.cost
        == dps.design(costly([12, 10, 11, 25]), epsilon=1, target_se=plain.inputs.expected_mean / 10).cost
    )


@pytest.mark.parametrize(
    ("means", "words"),
    [
        (None, "must have a column 'expected_mean' or 'proportion', got neither"),
        (["x", 1, 1, 1], "column 'expected_mean' must be a number, got 'x' in stratum '1'"),
        ([0, 0, 1, 1], "the mean expected in the group 'x' of column 'half' must not be 0"),
    ],
)
def test_coefficients_of_variation_of_domains_need_their_means(means, words):
    extra = {"half": list("xxyy")} | ({} if means is None else {"expected_mean": means})
    with pytest.raises(dps.InputError, match=words):
        dps.design(
            costly([1] * 4, extra=extra), epsilon=1, target_cv=0.1, expected_mean=0.2, domains={"half": 0.2}
        )
