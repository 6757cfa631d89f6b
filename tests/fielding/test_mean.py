"""Publishing figures with one draw of noise: from reports or raw answers to a file, and estimates from it."""

import csv
import json
import math
import os

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.fielding.estimate import reader_of
from dpstrata.fielding.figure_grid import figure_grids
from dpstrata.fielding.frames import open_frame
from dpstrata.fielding.publish import publish
from dpstrata.fielding.randomizers import randomizer_of
from dpstrata.fielding.releases import MeanFielding
from extent import crossed, may_cover
from surveys import collected_of, field_reports, loss_inside, read_rows, release, reports_of, write_reports

SURVEYS = int(os.environ.get("DPSTRATA_REPEATS", "300"))  # ten thousand in `make slow`
REGIONS = ("north", "south", "east")
LAYERS = {
    "raw": {"questions": (0, 100_000)},
    "staircase": {"device_epsilon": 3, "questions": (0, 100_000), "mechanism": "staircase"},
    "grid": {"device_epsilon": 2, "questions": (0, 100_000, 1), "mechanism": "discrete_laplace"},
    "yes/no": {"device_epsilon": 5, "questions": "yes_no", "mechanism": "randomized_response"},
}
DOMAINS = {
    "one": (),
    "by stratum": ("stratum",),
    "groups": ("coast",),
    "overlapping": ("coast", "old"),
}


def strata_of(sizes, **more):
    extra = {"coast": ["yes", "no", "yes"], "old": ["yes", "yes", "no"]}
    return dps.Strata(sizes, [0.3 * more.pop("range", 1)] * 3, names=REGIONS, extra=extra, **more)


def survey(folder, *, total=60, response_rates=None, **options):
    """Draw a sample of three regions, let everyone answer, and their devices noise if they do."""
    people = [(f"canary-{i:04}", REGIONS[min(i % 6, 2)]) for i in range(900)]
    (folder / "people.csv").write_text("person,region\n" + "".join(f"{p},{r}\n" for p, r in people))
    sizes = [sum(region == each for _, region in people) for each in REGIONS]
    spread = 1 if options["questions"] == "yes_no" else 100_000
    plan = dps.design(
        strata_of(sizes, range=spread, response_rates=response_rates),
        epsilon=1,
        total=total,
        release="mean",
        **options,
    )
    field_reports(folder, open_frame(folder / "people.csv", id="person", stratum="region"), plan)
    return plan


def released(folder, *, out="mean.csv", **more):
    return release(folder, answers="reports.csv", out=out, step=publish, **more)


@pytest.mark.slow
@pytest.mark.parametrize(("layers", "domains"), crossed([*LAYERS], [*DOMAINS], times=2))
def test_from_reports_to_estimates(tmp_path, layers, domains):
    plan = survey(tmp_path, domains=DOMAINS[domains] or None, **LAYERS[layers])
    said = released(tmp_path)
    assert said.answers == 60
    assert said.spent.epsilon == pytest.approx(loss_inside(plan), rel=1e-9)
    rows = read_rows(tmp_path / "mean.csv")
    figures = [row for row in rows if row[2]]
    assert [tuple(row[:2]) for row in figures] == [(each.column, each.group) for each in plan.figures]
    counts = {row[1]: int(row[3]) for row in rows if row[0] == "stratum"}
    assert counts == dict(zip(REGIONS, plan.sample_sizes.tolist(), strict=True))
    assert not (tmp_path / "office.noise").exists()
    found = dps.estimate(tmp_path / "design.json", tmp_path / "mean.csv")
    assert {row.column for row in found} == {"all", "total", *(plan.inputs.domains or ())}
    assert found.whole[0].standard_error == pytest.approx(plan.standard_error, rel=1e-9)
    assert [each.standard_error for each in found[2:]] == pytest.approx(
        [each.standard_error for each in plan.domains[1:]], rel=1e-9
    )
    by_name = {(each.column, each.group): each.estimate for each in found[2:]} or {
        ("all", "all"): found.whole[0].estimate
    }
    assert by_name == {(row[0], row[1]): float(row[2]) for row in figures}
    assert "all" in repr(found)


@pytest.mark.slow
@pytest.mark.parametrize("domains", DOMAINS)
@pytest.mark.parametrize("layers", LAYERS)
def test_what_is_drawn_spends_what_the_sample_allows(tmp_path, layers, domains):
    """Whole weights times whole steps over the scale: in every stratum at most ln(1 + c·r·N/m), in one all of it."""
    options = {**LAYERS[layers], "domains": DOMAINS[domains] or None}
    strata = strata_of([300, 400, 500], response_rates=[0.5, 0.8, 1.0])
    if options["questions"] != "yes_no":
        options["questions"] = (0, 1, 0.1) if len(options["questions"]) == 3 else (0, 1)
    plan = dps.design(strata, epsilon=0.7, total=300, release="mean", **options)
    K = randomizer_of(plan, 1).figures[0].moved
    for share in (1.0, 0.7, 0.2):
        m = np.maximum(1, np.floor(plan.sample_sizes * share)).astype(np.int64)
        spent = np.zeros(3)
        for grid in figure_grids(plan, m):
            spent[grid.strata] += np.array(grid.weights, dtype=float) * K / grid.scale
            exact = plan.strata.sizes[grid.strata] / plan.strata.sizes[grid.strata].sum() / m[grid.strata]
            off = np.array([float(w * grid.unit) for w in grid.weights]) - exact
            assert np.abs(off).sum() * K * m.sum() <= 1e-5 * float(grid.scale * grid.unit)
        allowed = np.log1p(math.expm1(0.7) * np.array([0.5, 0.8, 1.0]) * plan.strata.sizes / m)
        assert np.all(spent <= allowed)
        assert (spent / allowed).max() == pytest.approx(1, rel=1e-5)
        assert plan.budgets_given(m) == pytest.approx(spent, rel=1e-4)


def test_noise_is_kept_and_drawn_once(tmp_path, monkeypatch):
    survey(tmp_path, **LAYERS["yes/no"])
    drawn = []
    draw_noise = MeanFielding.draw_office_noise
    monkeypatch.setattr(
        MeanFielding,
        "draw_office_noise",
        lambda self, plan, counts: drawn.append(draw_noise(self, plan, counts)) or drawn[-1],
    )

    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MeanFielding, "published", killed)
        with pytest.raises(KeyboardInterrupt):
            released(tmp_path)
    assert len(drawn) == 1
    kept = json.loads((tmp_path / "office.noise").read_text())["releases"]
    assert [each["noise"] for each in kept.values()] == drawn
    released(tmp_path)
    assert len(drawn) == 1
    assert not (tmp_path / "office.noise").exists()


def test_noise_for_other_numbers_of_answers_is_not_taken_up(tmp_path, monkeypatch):
    survey(tmp_path, response_rates=[0.5, 0.5, 0.5], **LAYERS["yes/no"])

    def killed(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MeanFielding, "published", killed)
        with pytest.raises(KeyboardInterrupt):
            released(tmp_path)
    write_reports(tmp_path, read_rows(tmp_path / "reports.csv")[:-1])
    released(tmp_path)
    assert not (tmp_path / "office.noise").exists()


def test_what_a_repeated_figure_loses(tmp_path):
    plan = survey(tmp_path, response_rates=[0.5, 0.6, 0.7], **LAYERS["yes/no"])
    rows = read_rows(tmp_path / "reports.csv")
    write_reports(tmp_path, [row for i, row in enumerate(rows) if i % 3])
    released(tmp_path)
    with pytest.raises(dps.InputError, match="was released before"):
        released(tmp_path, out="second.csv")
    said = released(tmp_path, out="second.csv", again=True)
    m = np.array([int(row[3]) for row in read_rows(tmp_path / "mean.csv") if row[0] == "stratum"])
    share = m / (np.array([0.5, 0.6, 0.7]) * plan.strata.sizes)
    twice = loss_inside(plan, 2, e=plan.budgets_given(m), shares=share)
    assert said.spent.epsilon == pytest.approx(twice, rel=1e-9)
    assert said.spent.epsilon > 1.5


def test_few_answers_are_refused(tmp_path):
    survey(tmp_path, total=300, **LAYERS["yes/no"])
    rows = read_rows(tmp_path / "reports.csv")
    kept = {region: [row for row in rows if row[1] == region][:3] for region in REGIONS}
    write_reports(tmp_path, [row for each in kept.values() for row in each])
    with pytest.raises(dps.InputError, match="Fewer people answered than the design assumes"):
        released(tmp_path)
    assert not (tmp_path / "ledger.json").exists()
    assert released(tmp_path, accept_response=True).spent.epsilon > 1


def test_tables_that_are_not_of_the_design_are_refused(tmp_path):
    survey(tmp_path, **LAYERS["raw"])
    released(tmp_path)
    rows, other = (
        read_rows(tmp_path / "mean.csv"),
        tmp_path / "elsewhere" / "other.csv",
    )  # no ledger beside it
    other.parent.mkdir()
    for changed, message in (
        (rows[1:], "one row for every figure"),
        ([["all", "all", "", "60"], *rows[1:]], "must be a number"),
        ([rows[0], ["stratum", "north", "", "900"], *rows[2:]], "at most one answer"),
    ):
        with open(other, "w", newline="") as file:
            csv.writer(file).writerows([["column", "group", "mean", "answers"], *changed])
        with pytest.raises(dps.InputError, match=message):
            dps.estimate(dps.load_design(tmp_path / "design.json"), other)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"questions": (0, 1)},
        {
            "questions": "yes_no",
            "mechanism": "randomized_response",
            "device_epsilon": 3,
            "domains": ["coast", "old"],
        },
    ],
    ids=["raw, one figure", "randomized response, overlapping"],
)
def test_real_draws_are_unbiased_and_intervals_cover(options):
    """Real reports and real noise, many times; everyone of a known population may be asked."""
    rng = np.random.default_rng(5)
    sizes = [80, 120, 100]
    population = [
        (rng.random(size) < share).astype(float) for size, share in zip(sizes, (0.3, 0.5, 0.6), strict=True)
    ]
    sds = [float(each.std(ddof=1)) for each in population]
    extra = {"coast": ["yes", "no", "yes"], "old": ["yes", "yes", "no"]}
    plan = dps.design(
        dps.Strata(sizes, sds, names=REGIONS, extra=extra), epsilon=1, total=90, release="mean", **options
    )
    truth = float(np.concatenate(population).mean())
    fielding, errors, covered = MeanFielding(), [], 0
    for _ in range(SURVEYS):
        reports = {}
        for name, people, n in zip(REGIONS, population, plan.sample_sizes.tolist(), strict=True):
            asked = rng.choice(people, n, replace=False)
            reports[name] = asked.tolist()
            if plan.inputs.device_epsilon is not None:
                reports[name] = reports_of(plan, name, asked).tolist()
        noise = fielding.draw_office_noise(plan, plan.sample_sizes)
        collected = collected_of(plan, reports, from_devices=plan.inputs.device_epsilon is not None)
        table = fielding.published(plan, collected, noise, lambda number: None)
        whole = reader_of(plan).estimate(*table.values()).whole[0]
        errors.append(whole.estimate - truth)
        covered += whole.lower <= truth <= whole.upper
    assert abs(np.mean(errors)) <= 5.5 * plan.standard_error / math.sqrt(SURVEYS)
    # noise has heavier tails than the normal distribution: the fourth moment is at most 6 times the variance squared
    assert abs(np.var(errors) / plan.variance - 1) <= 5.5 * math.sqrt(5 / SURVEYS)
    assert may_cover(covered, SURVEYS, most=1.0)


def test_budgets_are_those_of_the_design_where_everyone_answers():
    plan = dps.design(strata_of([300, 400, 500]), epsilon=1, total=100, release="mean")
    assert plan.budgets_given(plan.sample_sizes) == pytest.approx(plan.local_epsilons, rel=1e-12)
    room = SingleMean(plan.problem).room(plan.sample_sizes.astype(float)) / plan.sample_sizes
    assert np.all(plan.local_epsilons <= room)
