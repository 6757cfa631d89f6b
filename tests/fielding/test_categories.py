"""Categories in the field: names in, names out, nobody's answer in a message, and shares at the end."""

import csv
import json
import math
import secrets
from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy import stats

import dpstrata as dps
from commands import run
from dpstrata.fielding.answer_files import open_answers
from dpstrata.fielding.collected import read_collected
from dpstrata.fielding.draw import draw
from dpstrata.fielding.estimate import reader_of
from dpstrata.fielding.frames import open_frame
from dpstrata.fielding.results.microdata import estimate_means, estimate_shares
from dpstrata.fielding.sample import ReportKey, draw_sample
from dpstrata.words.results import FEW, FLOORED, ONLY_ONE
from extent import few, may_cover, mean_limit, variance_limits
from surveys import Listed, reports_of

FALSE_ALARM = 1e-8
TENURES = ["rent", "own", "other"]
STRATA = dps.Strata([400, 600], names=["north", "south"], extra={"half": ["a", "b"]})
PLAN = dps.design(STRATA, questions=TENURES, epsilon=1, total=200)


def test_names_are_kept_or_replaced_as_often_as_they_should_be():
    """Real draws against the chances of the textbook; a budget 10% too large is caught."""
    plan = dps.design(dps.Strata([10**7], names=["a"]), questions=TENURES, epsilon=0.02, total=30_000)
    drawn = Counter(reports_of(plan, "a", ["own"] * 30_000).tolist())
    assert set(drawn) == set(TENURES)

    def p_value(e):
        x = math.exp(e)
        expected = [30_000 * (x if name == "own" else 1) / (x + 2) for name in TENURES]
        return stats.chisquare([drawn[name] for name in TENURES], expected).pvalue

    assert p_value(plan.local_epsilon(0)) > FALSE_ALARM
    assert p_value(1.1 * plan.local_epsilon(0)) < FALSE_ALARM


def test_one_name_at_a_time():
    assert dps.randomize(PLAN, "north", "Rent ").value in TENURES
    for wrong in ("castle-4321", 4321, None):
        with pytest.raises(dps.InputError, match="must be one of rent, own, other") as caught:
            dps.randomize(PLAN, "north", wrong)
        assert "4321" not in str(caught.value)


@pytest.fixture
def survey(tmp_path):
    """A frame, a design, a sample, and an answers file with names in it."""
    with open(tmp_path / "people.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "region"])
        writer.writerows([f"p{i}", "north" if i < 400 else "south"] for i in range(1000))
    PLAN.save(tmp_path / "design.json")
    frame = open_frame(tmp_path / "people.csv", id="person", stratum="region")
    draw(tmp_path / "design.json", frame, out=tmp_path / "sample.csv", key_file=tmp_path / "draw.key")
    with open(tmp_path / "sample.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    answered = [[row["person"], row["region"], TENURES[i % 3]] for i, row in enumerate(rows)]
    write_answers(tmp_path, answered)
    return tmp_path, answered


def write_answers(folder, rows):
    with open(folder / "answers.csv", "w", newline="") as file:
        csv.writer(file).writerows([["person", "region", "answer"], *rows])


def privatize(folder):
    return dps.privatize(
        folder / "design.json",
        folder / "answers.csv",
        sample=folder / "sample.csv",
        id="person",
        stratum="region",
        out=folder / "noised.csv",
        key_file=folder / "draw.key",
    )


def test_a_batch_of_names_becomes_shares(survey):
    folder, _ = survey
    assert privatize(folder).answers == 200
    lines = (folder / "noised.csv").read_text().splitlines()
    assert lines[0] == "stratum,answer"
    assert {line.split(",")[1] for line in lines[1:]} == set(TENURES)
    result = dps.estimate(folder / "design.json", folder / "noised.csv")
    assert [(row.group, row.level) for row in result.shown] == [
        (place, name) for place in ("all", "north", "south") for name in TENURES
    ]
    for start in range(0, 9, 3):
        assert math.fsum(row.estimate for row in result.shown[start : start + 3]) == pytest.approx(
            1, abs=1e-12
        )
    assert math.fsum(row.estimate for row in result.by("total")) == pytest.approx(1000)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("castle-4321", "column 'answer', line 4: must be one of rent, own, other; correct that"),
        ("1,234", "column 'answer', line 4: must be one of rent, own, other; correct that"),
    ],
)
def test_an_unknown_category_is_placed_and_not_shown(survey, cell, words):
    folder, answered = survey
    answered[2][2] = cell
    write_answers(folder, answered)
    with pytest.raises(dps.InputError, match=words) as caught:
        privatize(folder)
    assert cell not in str(caught.value)
    assert not (folder / "noised.csv").exists()
    assert not (folder / "ledger.json").exists()


def test_names_with_commas_and_points_are_no_numbers(tmp_path):
    (tmp_path / "answers.csv").write_text('answer\n"rent, private"\nSt. Moritz\n\n')
    names = ["rent, private", "St. Moritz"]
    plan = dps.design(dps.Strata([900]), questions=names, epsilon=1, total=40)
    table, key = open_answers(tmp_path / "answers.csv"), ReportKey(0, 0, 0)
    _, collected = read_collected(table, plan, [key] * len(table.columns["answer"]))
    assert collected.of(key) == names


@pytest.mark.slow
def test_the_commands_speak_of_shares(survey):
    folder, _ = survey
    privatize(folder)
    shown = run(folder, "estimate", "design.json", "noised.csv", "--out", "shares.csv").stdout
    assert "Estimates from noised answers" in shown
    assert "answer" in shown
    assert "so that they add up" in shown
    with open(folder / "shares.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["column"], row["level"]) for row in rows[:6]] == [
        (column, name) for column in ("all", "total") for name in TENURES
    ]
    assert len(rows) == 12
    found = json.loads(run(folder, "estimate", "design.json", "noised.csv", "--json").stdout)
    assert [row["level"] for row in found["estimates"][:3]] == TENURES
    assert found["estimates"][0]["estimate"] == pytest.approx(float(rows[0]["estimate"]))
    noised = run(
        folder, "privatize", "design.json", "--stratum-value", "north", input="own\nRENT\n"
    ).stdout.split()
    assert len(noised) == 2
    assert set(noised) <= set(TENURES)
    run(folder, "estimate", "design.json", "noised.csv", "--plot", "shares.svg")
    assert (folder / "shares.svg").exists()


def test_shares_by_hand():
    """Counts of reports, the inverse of the two chances, and the variance from its two parts."""
    counts = np.array([[50, 20, 10], [60, 30, 30]])
    plan = dps.design(STRATA, questions=TENURES, epsilon=1, total=200, domains=["half"])
    assert plan.sample_sizes.tolist() == [80, 120]
    result = estimate_shares(plan, counts)
    x = np.exp(plan.local_epsilons)
    q, keep = 1 / (x + 2), x / (x + 2)
    m, N = counts.sum(axis=1), np.array([400, 600])
    p = (counts / m[:, None] - q[:, None]) / (keep - q)[:, None]
    (own,) = [row for row in result if (row.group, row.level) == ("south", "own")]
    assert own.estimate == pytest.approx(p[1, 1])
    noise = (p[1, 1] * keep[1] * (1 - keep[1]) + (1 - p[1, 1]) * q[1] * (1 - q[1])) / (keep[1] - q[1]) ** 2
    reported = 30 / 120
    spread = reported * (1 - reported) / (keep[1] - q[1]) ** 2 * 120 / 119 - noise
    assert own.standard_error**2 == pytest.approx((spread * (1 - 120 / 600) + noise) / 120)
    whole = [row.estimate for row in result[:3]]
    assert whole == pytest.approx((p * N[:, None]).sum(axis=0) / 1000)
    assert [row.group for row in result[6:12:3]] == ["a", "b"]


def test_two_categories_are_estimated_as_yes_and_no_are():
    two = dps.design(STRATA, questions=["no", "yes"], epsilon=1, total=200)
    yes_no = dps.design(STRATA, questions="yes_no", epsilon=1, total=200)
    assert two.sample_sizes.tolist() == yes_no.sample_sizes.tolist()
    assert two.variance == pytest.approx(yes_no.variance, rel=1e-14)
    e = yes_no.local_epsilons
    flip = 1 / (1 + np.exp(e))
    reports = [[1] * 25 + [0] * 55, [1] * 70 + [0] * 50]
    debiased = np.concatenate(
        [(np.array(each) - f) / (1 - 2 * f) for each, f in zip(reports, flip, strict=True)]
    )
    numbers = estimate_means(yes_no, ["north"] * 80 + ["south"] * 120, debiased)
    shares = estimate_shares(two, np.array([[55, 25], [50, 70]]))
    for one, other in zip(numbers, shares[1::2], strict=True):
        assert (one.level, one.column, one.group) == (other.level, other.column, other.group)
        assert one.estimate == pytest.approx(other.estimate)
        assert one.standard_error == pytest.approx(other.standard_error)
        assert one.upper == pytest.approx(other.upper)


@pytest.mark.slow
def test_estimates_are_unbiased_intervals_cover_and_the_design_bounds_every_error():
    """A population of unequal shares, and real surveys."""
    rng = np.random.default_rng(4)
    tenure = {f"p{i}": str(rng.choice(TENURES, p=[0.5, 0.35, 0.15])) for i in range(1000)}
    strata = ["north" if i < 400 else "south" for i in range(1000)]
    truth = np.array([sum(each == name for each in tenure.values()) / 1000 for name in TENURES])
    frame, repeats = Listed(list(tenure), strata), few(120, of=400)
    errors, covered, variances = [], 0, []
    for _ in range(repeats):
        sample = draw_sample(PLAN, frame, secrets.token_bytes(32))
        by_stratum = defaultdict(list)
        for person, stratum in zip(sample.ids, sample.strata, strict=True):
            by_stratum[stratum].append(tenure[person])
        counts = []
        for name in ("north", "south"):
            reports = reports_of(PLAN, name, by_stratum[name]).tolist()
            counts.append([reports.count(each) for each in TENURES])
        whole = estimate_shares(PLAN, np.array(counts)).whole
        errors.append([row.estimate for row in whole] - truth)
        variances.append([row.standard_error**2 for row in whole])
        covered += all(row.lower <= share <= row.upper for row, share in zip(whole, truth, strict=True))
    assert np.all(np.abs(np.mean(errors, axis=0)) < mean_limit(errors))
    assert may_cover(covered, repeats, most=1.0)  # all three at once
    seen, (least, most) = np.var(errors, axis=0, ddof=1), variance_limits(repeats)
    assert np.all(seen > least * np.mean(variances, axis=0))
    assert np.all(seen < most * np.mean(variances, axis=0))
    assert np.all(seen < most * PLAN.variance)


def test_refused_reports_show_none():
    names = ["north", "south"]
    for strata, answers, words in (
        (["north", "z"], ["own", "own"], "has no stratum 'z'"),
        ([], [], "at least one answer, got none"),
        (["north"] * 200, ["own"] * 200, "more answers than invitations in 'north'"),
        (
            names,
            ["own", "castle-4321"],
            "must be one of rent, own, other, got something else in the noised answers",
        ),
    ):
        with pytest.raises(dps.InputError, match=words) as caught:
            reader_of(PLAN).estimate(strata, answers)
        assert "4321" not in str(caught.value)


def test_one_report_uses_the_stated_spread_and_few_are_named():
    result = estimate_shares(PLAN, np.array([[1, 0, 0], [3, 2, 1]]))
    doubts = result.questions["answer"].doubts
    assert doubts == {ONLY_ONE: ("north",), FEW: ("south",)}
    assert [row.notes for row in result.by("stratum")] == [ONLY_ONE] * 3 + [FEW] * 3
    rare = estimate_shares(PLAN, np.array([[40, 40, 0], [50, 40, 30]]))
    assert rare.questions["answer"].doubts == {FLOORED: ("north",)}
    assert rare.by("stratum")[2].estimate < 0
    assert "In 1 stratum, the reports vary less than the noise alone would" in repr(rare)
    assert all(math.isfinite(row.standard_error) and row.standard_error > 0 for row in result)
