"""Designs that publish one number, or one for each domain: against exhaustive search, and what works with them."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import dpstrata as dps

PAPER = dps.Strata(
    sizes=[7000, 8000, 9000, 10000],
    sds=[0.283, 0.08, 0.0226, 0.0064],
    extra={"coast": ["yes", "no", "yes", "no"], "old": ["yes", "yes", "no", "no"]},
)
DOMAINS = {"one": None, "groups": ["coast"], "overlapping": ["coast", "old"]}


def plain_variance(strata, n, epsilon, *, codes=None, device=0.0, stretch=1.0):
    """Sampling, devices, and one draw of noise for each group, from the definition."""
    N, S = strata.sizes, strata.sds
    a = N / N.sum()
    codes = np.zeros(len(N), dtype=int) if codes is None else np.array(codes)
    value = (a**2 * (S**2 / n * (1 - n / N) + device / n)).sum()
    for g in np.unique(codes):
        rows = codes == g
        share = N[rows] / N[rows].sum() * stretch
        b = (share / (n[rows] * np.log1p(math.expm1(epsilon) * N[rows] / n[rows]))).max()
        value += 2 * b**2 * (N[rows].sum() / N.sum()) ** 2
    return value


@pytest.mark.parametrize("seed", range(12))
def test_designs_are_within_their_gap_of_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 12, 3)
    groups = [None, [0, 1, 1], [0, 1, 0]][seed % 3]
    strata = dps.Strata(sizes, rng.uniform(0.02, 0.5, 3), extra={"g": groups or ["all"] * 3})
    total, epsilon = int(rng.integers(4, sizes.sum())), float(10 ** rng.uniform(-1.5, 1))
    options = (
        {"questions": "yes_no", "mechanism": "randomized_response", "device_epsilon": 3} if seed % 2 else {}
    )
    plan = dps.design(
        strata, epsilon=epsilon, total=total, release="mean", domains=["g"] if groups else None, **options
    )
    p = 1 / (1 + math.exp(3))
    layers = {"device": p * (1 - p) / (1 - 2 * p) ** 2, "stretch": 1 / (1 - 2 * p)} if seed % 2 else {}
    every = [np.array(n) for n in itertools.product(*(range(1, N + 1) for N in sizes)) if sum(n) == total]
    best = min(plain_variance(strata, n, epsilon, codes=groups, **layers) for n in every)
    own = plain_variance(strata, plan.sample_sizes, epsilon, codes=groups, **layers)
    assert plan.variance == pytest.approx(own, rel=1e-9)
    assert best <= own * (1 + 1e-12)
    assert own <= best + plan.certificate.gap * (1 + 1e-9) + 1e-12 * own
    assert plan.certificate.value == pytest.approx(plan.variance, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("device", [None, 5.0])
@pytest.mark.parametrize("domains", DOMAINS)
def test_the_gap_is_small_from_a_thousand_interviews_on(domains, device, epsilon):
    for total in (1000, 5000, 20_000):
        plan = dps.design(
            PAPER,
            epsilon=epsilon,
            total=total,
            release="mean",
            device_epsilon=device,
            domains=DOMAINS[domains],
        )
        assert plan.certificate.relative_gap < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strata", "groups", "asked"), [(100_000, 1, 0.0015), (3000, 1500, 0.02), (80, 30, 0.999)]
)
def test_the_stated_gap_is_small_for_many_strata_many_groups_and_nearly_everyone(strata, groups, asked):
    rng = np.random.default_rng(strata)
    sizes = np.floor(10 ** rng.uniform(1.7, 4, strata)).astype(int)
    people = dps.Strata(
        sizes, rng.uniform(0.01, 0.5, strata), extra={"g": [str(i % groups) for i in range(strata)]}
    )
    plan = dps.design(
        people,
        epsilon=0.3,
        total=int(asked * sizes.sum()),
        release="mean",
        domains=["g"] if groups > 1 else None,
    )
    assert plan.certificate.relative_gap < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("rates", [None, 0.6])
@pytest.mark.parametrize("device", [None, 3.0])
@pytest.mark.parametrize("domains", DOMAINS)
def test_documents_are_read_as_they_were_written(tmp_path, domains, device, rates):
    plan = dps.design(
        PAPER,
        epsilon=1,
        total=300,
        release="mean",
        device_epsilon=device,
        domains=DOMAINS[domains],
        response_rate=rates,
    )
    path = tmp_path / "design.json"
    plan.save(path)
    again = dps.load_design(path)
    assert again == plan
    assert again.digest == plan.digest
    document = json.loads(path.read_text())
    assert [(each["column"], each["group"]) for each in document["figures"]] == [
        (each.column, each.group) for each in plan.figures
    ]
    for place, factor in (("scale", 0.99), ("scale", 1.01), ("bound", 1.001), ("price", -1.0)):
        changed = json.loads(path.read_text())
        if place == "scale":
            changed["figures"][0]["scale"] *= factor
        elif place == "bound":
            changed["certificate"]["lower_bound"] *= factor
        else:
            changed["certificate"]["prices"][0] *= factor
        path.with_name("changed.json").write_text(json.dumps(changed))
        if changed != document:
            with pytest.raises(dps.InputError, match="the file was changed"):
                dps.load_design(path.with_name("changed.json"))


def test_other_documents_have_no_figures(tmp_path):
    plan = dps.design(PAPER, epsilon=1, total=300, release="sums")
    assert plan.figures == ()
    assert "figures" not in plan.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("domains", DOMAINS)
def test_goals(domains):
    options = {"epsilon": 0.5, "release": "mean", "domains": DOMAINS[domains]}
    everyone = dps.design(PAPER, at_most=10**6, **options)
    assert everyone.total == PAPER.population
    errors = [dps.design(PAPER, at_most=limit, **options).standard_error for limit in (100, 1000, 10_000)]
    assert errors == sorted(errors, reverse=True)
    plan = dps.design(PAPER, target_se=0.004, **options)
    assert plan.standard_error <= 0.004
    fewer = dps.design(PAPER, total=plan.total - 1, **options)
    assert fewer.standard_error > 0.004
    priced = dps.Strata(PAPER.sizes, PAPER.sds, costs=[2.0] * 4, extra=PAPER.extra)
    assert dps.design(priced, budget=401, **options).total == 200
    with pytest.raises(dps.InfeasibleError, match=r"target_se=.* is out of reach"):
        dps.design(PAPER, target_se=1e-9, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delta": 1e-6, "mechanism": "gaussian"}, "release='mean' supports pure epsilon only"),
        ({"epsilon": None, "zcdp": 0.5, "mechanism": "gaussian"}, "supports pure epsilon only"),
        (
            {"epsilon": None, "gdp": 0.5, "mechanism": "gaussian", "device_epsilon": 3},
            "device_epsilon supports pure epsilon",
        ),
        ({"objective": "trace"}, "minimises the variance of the population mean, got objective='trace'"),
        ({"local_epsilon_cap": 3}, "no answer is published"),
        ({"total": None, "domains": {"coast": 0.01}}, "supports no targets for domains"),
        ({"mechanism": "staircase"}, "needs mechanism='laplace', got mechanism='staircase'"),
    ],
)
def test_what_is_not_supported_is_refused(options, message):
    with pytest.raises(dps.DpstrataError, match=message):
        dps.design(PAPER, **{"epsilon": 1, "total": 200, "release": "mean", **options})


@pytest.mark.parametrize("goal", [{"budget": 500}, {"target_se": 0.01}])
def test_costs_that_differ_are_refused(goal):
    strata = dps.Strata(PAPER.sizes, PAPER.sds, costs=[1.0, 2.0, 1.0, 1.0])
    with pytest.raises(
        dps.NotAvailableError, match="requires the same cost of an invitation in every stratum"
    ):
        dps.design(strata, epsilon=1, release="mean", **goal)


@pytest.mark.parametrize("domains", DOMAINS)
def test_domains_have_the_errors_of_their_own_figures(domains):
    plan = dps.design(
        PAPER, epsilon=0.3, total=400, release="mean", device_epsilon=4, domains=DOMAINS[domains]
    )
    scales = {(each.column, each.group): each.scale for each in plan.figures}
    device = plan.mechanism.variance(4.0)
    n, N, noise = plan.sample_sizes, PAPER.sizes, []
    within = (PAPER.sds**2 * (1 - n / N) + device) / n
    for column in DOMAINS[domains] or []:
        noise.append(0.0)
        for group in ("yes", "no"):
            rows = np.array(PAPER.extra[column]) == group
            b, people = scales[column, group], N[rows].sum()
            variance = ((N[rows] / people) ** 2 * within[rows]).sum() + 2 * b**2
            noise[-1] += 2 * b**2 * (people / N.sum()) ** 2
            (found,) = [each for each in plan.domains if (each.column, each.group) == (column, group)]
            assert found.standard_error == pytest.approx(math.sqrt(variance), rel=1e-9)
    least = min(noise, default=2 * scales.get(("all", "all"), 0.0) ** 2)
    whole = ((N / N.sum()) ** 2 * within).sum() + least
    assert plan.variance == pytest.approx(whole, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("domains", DOMAINS)
def test_what_if_questions_and_the_report(domains):
    options = {"epsilon": 1, "release": "mean", "device_epsilon": 4, "domains": DOMAINS[domains]}
    plan = dps.design(PAPER, total=300, **options)
    scored = dps.evaluate(PAPER, [75] * 4, **options)
    assert scored.ratio > 1
    assert scored.certificate.lower_bound <= plan.certificate.value
    own = dps.evaluate(PAPER, plan.sample_sizes, **options)
    assert own.ratio == pytest.approx(1, rel=1e-9)
    assert own.variance == pytest.approx(plan.variance, rel=1e-9)
    rows = dps.sweep(PAPER, **{**options, "epsilon": [0.1, 1.0], "total": 300})
    assert [row["problem"] for row in rows] == [None, None]
    assert rows[1]["standard_error"] == pytest.approx(plan.standard_error, rel=1e-9)
    doubt = dps.sensitivity(plan, factor=2, strata=1)
    assert all(row.ratio >= 1 for row in doubt.scenarios)
    assert "Published figures" in dps.report_html(plan)
    result = dps.simulate(plan, dps.synthetic_population(plan), replications=3000, seed=3)
    assert result.agrees()


def test_tables_say_that_there_is_one_number():
    raw = dps.design(PAPER, epsilon=1, total=300, release="mean")
    assert "one number" in repr(raw)
    assert "Published figures, each with one draw of discrete Laplace noise" in repr(raw)
    noised = dps.design(PAPER, epsilon=1, total=300, release="mean", device_epsilon=3)
    assert "the office's (discrete Laplace) on each published figure" in repr(noised)
    late = dps.design(PAPER, epsilon=1, total=300, release="mean", response_rate=0.5)
    assert "The scales are set after the field" in repr(late)


def test_schools():
    """57 counties at epsilon 0.1, everyone asked: 0.0032 at E = 5, 0.0023 if the office sees raw answers."""
    import csv
    from collections import defaultdict

    answers = defaultdict(list)
    with open(Path(dps.__file__).parent / "examples" / "california_schools.csv", newline="") as file:
        for row in csv.DictReader(file):
            answers[row["county"]].append(float(row["api00"]) / 800)
    strata = dps.Strata(
        [len(each) for each in answers.values()], [np.std(each, ddof=1) for each in answers.values()]
    )
    for more, error in (({"device_epsilon": 5, "mechanism": "staircase"}, "0.0032"), ({}, "0.0023")):
        plan = dps.design(strata, epsilon=0.1, at_most=10**6, release="mean", **more)
        assert f"{plan.standard_error:.4f}" == error


@pytest.mark.parametrize(
    "goal", [{"total": 200}, {"at_most": 300}, {"budget": 500}, {"target_se": 0.03}], ids=str
)
def test_designs_with_costs_and_response_rates_are_loaded_again(goal, tmp_path):
    strata = dps.Strata([7000, 8000], [0.3, 0.2], costs=[2.0, 2.0], response_rates=[0.5, 0.6])
    plan = dps.design(strata, epsilon=1, release="mean", **goal)
    path = tmp_path / "design.json"
    plan.save(path)
    assert dps.load_design(path) == plan
    if plan.outcome is not None and plan.outcome.cost is not None:
        document = json.loads(path.read_text())
        document["outcome"]["cost"] += 1
        path.write_text(json.dumps(document))
        with pytest.raises(dps.InputError, match="contradicts itself at outcome"):
            dps.load_design(path)
