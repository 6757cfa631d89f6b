"""Ratios of figures of a questionnaire: the textbook where nothing is randomised, the rule, the command."""

import csv

import numpy as np
import pytest

import dpstrata as dps
from commands import run
from dpstrata.fielding.estimate import estimate
from dpstrata.fielding.releases.rows import RowsFielding
from row_surveys import command, survey

QUESTIONS = dps.Questionnaire(
    [
        dps.Question("home", "category", categories=["rent", "own", "other"], together="living"),
        dps.Question("smokes", "yes_no", together="living"),
        dps.Question("trust", "scale", lower=1, upper=5, together="living"),
    ]
)
SIZES = [4000, 3000, 500]


@pytest.fixture(scope="module")
def made():
    """Rows that are almost never replaced, one form, three strata: the design, answers and estimates."""
    strata = dps.Strata(SIZES, names=["a", "b", "c"])
    plan = dps.design(strata, questionnaire=QUESTIONS, epsilon=40, total=1500, forms="one")
    generator = np.random.default_rng(8)
    answers, names, cells = [], [], []
    for name, n in zip(strata.names, plan.sample_sizes, strict=True):
        home, smokes = generator.choice(3, n, p=[0.5, 0.4, 0.1]), generator.random(n) < 0.3
        trust = np.minimum(generator.integers(0, 5, n) + smokes, 4)
        answers.append((home, smokes.astype(int), trust))
        cells += np.ravel_multi_index((home, smokes.astype(int), trust), (3, 2, 5)).tolist()
        names += [name] * int(n)
    result = RowsFielding().estimate(plan, names, ["1"] * len(cells), list(map(str, cells)))
    return plan, answers, result


def linearised(plan, answers, over, under):
    """The ratio of two means in stratified samples, and its standard error, from every textbook."""
    weights, n = np.array(SIZES) / sum(SIZES), plan.sample_sizes
    y, x = ([each(*given).astype(float) for given in answers] for each in (over, under))
    means = [sum(w * v.mean() for w, v in zip(weights, values, strict=True)) for values in (y, x)]
    ratio = means[0] / means[1]
    variance = sum(
        w**2 * np.var(a - ratio * b, ddof=1) * (1 / m - 1 / N)
        for w, a, b, m, N in zip(weights, y, x, n, SIZES, strict=True)
    )
    return ratio, np.sqrt(variance) / means[1]


FIGURES = {
    "a share among some": (
        ("home by smokes by trust", [f"rent and yes and {i}.0" for i in range(1, 6)]),
        ("home", "rent"),
        lambda home, smokes, trust: (home == 0) & (smokes == 1),
        lambda home, smokes, trust: home == 0,
    ),
    "several answers": (
        ("home", "own"),
        ("home", ["rent", "own"]),
        lambda home, smokes, trust: home == 1,
        lambda home, smokes, trust: home < 2,
    ),
    "a share over a mean": (
        ("smokes", "yes"),
        ("trust", "mean"),
        lambda home, smokes, trust: smokes,
        lambda home, smokes, trust: trust + 1,
    ),
}


@pytest.mark.parametrize("kind", FIGURES)
def test_ratios_are_those_of_the_textbook_where_nothing_is_replaced(made, kind):
    plan, answers, result = made
    over, under, *scores = FIGURES[kind]
    (row,) = result.ratio(over, under).whole
    ratio, error = linearised(plan, answers, *scores)
    assert row.estimate == pytest.approx(ratio, rel=1e-9)
    assert row.standard_error == pytest.approx(error, rel=5e-3)  # S² in the population is estimated too
    assert row.upper - row.estimate == pytest.approx(plan.inputs.z * row.standard_error)


def test_a_figure_over_itself_is_one_without_error(made):
    for row in made[2].ratio(("trust", "mean"), ("trust", "mean")).rows:
        assert (row.estimate, row.standard_error) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-6))


def test_a_ratio_is_left_out_where_its_denominator_is_not_known_well_enough(made):
    """The standard error of the denominator is compared with a tenth of it, in every group by itself."""
    result = made[2]
    ratios = result.ratio(("home by smokes by trust", "other and yes and 1.0"), ("home", "other"))
    shares = [row for row in result.rows if (row.question, row.answer) == ("home", "other")]
    known = [(row.column, row.group) for row in shares if row.standard_error < 0.1 * row.estimate]
    assert 0 < len(known) < len(shares)
    assert [(row.column, row.group) for row in ratios.rows] == known
    (note,) = ratios.notes
    assert note.startswith(
        "The ratio home by smokes by trust / home (other and yes and 1.0 / other) is left out"
    )
    assert "stratum 'c'" in note
    assert note.endswith("the standard error of its denominator is 10% of it or more.")


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (("weight", "mean"), "questions that are estimated, got 'weight'"),
        (("smokes", "mean"), "'smokes' in a ratio must be among no, yes, got 'mean'"),
        (("trust", "yes"), "'trust' in a ratio must be among mean, got 'yes'"),
        (("home", []), "among rent, own, other, got none"),
        (("home", ["rent", "rent"]), "got an answer twice"),
    ],
)
def test_what_is_no_figure_is_refused(made, figure, words):
    result = made[2]
    with pytest.raises(dps.InputError, match=words):
        result.ratio(figure, ("trust", "mean"))
    with pytest.raises(dps.InputError, match="got ratios"):
        result.ratio(("smokes", "yes"), ("trust", "mean")).ratio(("smokes", "yes"), ("trust", "mean"))


def test_the_command_writes_ratios_behind_the_estimates(tmp_path):
    survey(tmp_path, "publish", devices=True)
    assert run(tmp_path, *command("publish", "sums.csv")).returncode == 0
    ratio = ["--ratio", "home by smokes=rent and yes|own and yes", "--over", "trust=mean"]
    done = run(tmp_path, "estimate", "design.json", "sums.csv", *ratio, "--out", "estimates.csv")
    assert done.returncode == 0, done.stderr
    result = estimate(tmp_path / "design.json", tmp_path / "sums.csv").ratio(
        ("home by smokes", ["rent and yes", "own and yes"]), ("trust", "mean")
    )
    with open(tmp_path / "estimates.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["question"] == "home by smokes / trust"]
    assert [float(row["estimate"]) for row in rows] == [row.estimate for row in result.rows]
    assert all(note.partition(":")[0][:40] in " ".join(done.stdout.split()) for note in result.notes)
    for wrong, words in (
        (ratio[:2], "--ratio and --over must be given equally often, got 1 and 0"),
        (["--ratio", "none=yes", "--over", "trust=mean"], "questions that are estimated, got 'none'"),
    ):
        done = run(tmp_path, "estimate", "design.json", "sums.csv", *wrong)
        assert done.returncode == 2
        assert words in " ".join(done.stderr.split())
