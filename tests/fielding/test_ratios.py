"""Ratios of figures of a questionnaire: the textbook where nothing is randomised, the rule, the command."""

import csv

import numpy as np
import pytest

import dpstrata as dps
from commands import run
from dpstrata.fielding.estimate import estimate, reader_of
from dpstrata.fielding.results.form_figures import TableCounts
from dpstrata.fielding.results.ratios import estimate_ratio
from dpstrata.fielding.results.table import Estimate
from extent import few
from surveys import command, estimate_once, survey

QUESTIONS = dps.Questionnaire(
    [
        dps.Question("home", "category", blank=False, categories=["rent", "own", "other"], together="living"),
        dps.Question("smokes", "yes_no", blank=False, together="living"),
        dps.Question("trust", "scale", lower=1, upper=5, together="living"),
    ]
)
SIZES = [4000, 3000, 500]


@pytest.fixture(scope="module")
def made():
    """Rows that are almost never replaced, one form, three strata: the design, answers and estimates."""
    strata = dps.Strata(SIZES, names=["a", "b", "c"])
    plan = dps.design(strata, questions=QUESTIONS, epsilon=40, total=1500, forms="one")
    generator = np.random.default_rng(8)
    answers, names, cells = [], [], []
    for name, n in zip(strata.names, plan.sample_sizes, strict=True):
        home, smokes = generator.choice(3, n, p=[0.5, 0.4, 0.1]), generator.random(n) < 0.3
        trust = np.minimum(generator.integers(0, 5, n) + smokes, 4)
        answers.append((home, smokes.astype(int), trust))
        cells += np.ravel_multi_index((home, smokes.astype(int), trust), (3, 2, 5)).tolist()
        names += [name] * int(n)
    result = reader_of(plan).estimate(names, ["1"] * len(cells), list(map(str, cells)))
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
    # those of the two figures are somewhat wider than standard errors say
    assert 1 <= (row.upper - row.lower) / (2 * plan.inputs.z * row.standard_error) < 1.1


def test_a_figure_over_itself_is_one_without_error(made):
    for row in made[2].ratio(("trust", "mean"), ("trust", "mean")):
        assert (row.estimate, row.standard_error) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-6))
        assert (row.lower, row.upper) == (pytest.approx(1.0), pytest.approx(1.0))


def test_a_ratio_is_left_out_where_its_denominator_is_not_known_well_enough(made):
    """The standard error of the denominator is compared with a tenth of it, in every group by itself."""
    result = made[2]
    ratios = result.ratio(("home by smokes by trust", "other and yes and 1.0"), ("home", "other"))
    shares = [
        row for row in result if (row.question, row.level) == ("home", "other") and row.column != "total"
    ]
    known = [(row.column, row.group) for row in shares if row.standard_error < 0.1 * row.estimate]
    assert 0 < len(known) < len(shares)
    assert [(row.column, row.group) for row in ratios] == known
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
        *(
            (figure, "a figure of a ratio must be a question and its answer")
            for figure in ("home", "ab", ("home",), ("home", 3), ("home", ["rent", 3]), None, 5)
        ),
    ],
)
def test_what_is_no_figure_is_refused(made, figure, words):
    result = made[2]
    with pytest.raises(dps.InputError, match=words):
        result.ratio(figure, ("trust", "mean"))
    with pytest.raises(dps.InputError, match="of two estimates, got ratios"):
        result.ratio(("smokes", "yes"), ("trust", "mean")).ratio(("smokes", "yes"), ("trust", "mean"))


def test_a_single_question_has_ratios_among_those_who_answered():
    """Noised by itself, it is a row with one answer: the same counts give the same ratios, by group too."""
    strata = dps.Strata([5000, 8000], names=["north", "south"])
    home = dps.Question("home", "category", categories=("rent", "own"))
    single, form = (
        dps.design(strata, questions=home, epsilon=1, total=600, **more) for more in ({}, {"forms": "one"})
    )
    assert single.sample_sizes.tolist() == form.sample_sizes.tolist()
    counts = [[int(n) - 100, 60, 40] for n in single.sample_sizes]
    names = np.repeat(strata.names, single.sample_sizes).tolist()
    cells = np.concatenate([np.repeat(["0", "1", "2"], each) for each in counts]).tolist()
    levels = np.array(["rent", "own", "no answer"])[np.array(cells, dtype=int)].tolist()
    among = ("home", "rent"), ("home", ["rent", "own"])
    estimates = reader_of(single).estimate(names, levels)
    ratios = estimates.ratio(*among)
    assert [row.group for row in ratios] == ["all", "north", "south"]
    expected = reader_of(form).estimate(names, ["1"] * len(cells), cells).ratio(*among)
    for row, other in zip(ratios, expected, strict=True):
        assert row.estimate == pytest.approx(other.estimate)
        assert (row.standard_error, row.lower) == pytest.approx((other.standard_error, other.lower))
    shares = {row.level: row.estimate for row in estimates.whole}
    assert ratios[0].estimate == pytest.approx(shares["rent"] / (shares["rent"] + shares["own"]))


def test_a_single_figure_leaves_nothing_to_divide_by():
    strata = dps.Strata([50, 80])
    for questions, answers, words in (
        ("yes_no", [1.0] * 4, "share of yes of 'answer'"),
        ((0, 10), [3.0] * 4, "mean of 'answer'"),
    ):
        plan = dps.design(strata, questions=questions, epsilon=1, total=30)
        result = dps.estimate_means(plan, ["1", "2"] * 2, answers)
        with pytest.raises(dps.InputError, match=f"a single one: the {words}"):
            result.ratio(("answer", "yes"), ("answer", "yes"))


# --- intervals -------------------------------------------------------------------------------------

PAIR = dps.Questionnaire(
    [
        dps.Question("home", "yes_no", blank=False, together="both"),
        dps.Question("ill", "yes_no", blank=False, together="both"),
    ]
)
AMONG = ("home by ill", "yes and yes"), ("home", "yes")


def tables(plan, people, generator):
    """Draw people and replace rows, straight from the textbook: the counts that are published."""
    counts = []
    for i, each in enumerate(people):
        odds = np.expm1(plan.local_epsilons[i])
        drawn = generator.multivariate_hypergeometric(each, plan.sample_sizes[i])
        kept = generator.binomial(drawn, odds / (odds + 4))
        counts.append(kept + generator.multinomial(drawn.sum() - kept.sum(), np.full(4, 1 / 4)))
    counts, nothing = np.array(counts, dtype=float), np.zeros(len(people))
    return [TableCounts(0, plan.sample_sizes, ("home", "ill"), (2, 2), counts, None, nothing)]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.005, 0.5, 0.99])
@pytest.mark.parametrize("epsilon", [1, 12])
def test_intervals_of_a_share_among_some_hold_and_stay_between_0_and_1(epsilon, share):
    """In the whole and in strata; 1.96 standard errors hold as rarely as 42% of the time without noise."""
    sizes = np.array([2000, 3000, 5000])
    plan = dps.design(dps.Strata(sizes), questions=PAIR, forms="one", epsilon=epsilon, total=1800)
    both = np.rint(0.5 * share * sizes).astype(int)
    people = np.stack([sizes // 4, sizes // 4, sizes // 2 - both, both], axis=1)
    true = [both.sum() / (sizes.sum() / 2), *(both / (sizes / 2))]
    generator, repeats = np.random.default_rng(5), few(40, of=2000)
    inside = np.zeros((repeats, 4), dtype=bool)
    for row in inside:
        found, left_out = estimate_ratio(plan, tables(plan, people, generator), *AMONG)
        assert not left_out
        assert found.lower.min() >= 0
        assert found.upper.max() <= 1
        assert (found.lower < found.upper).all()
        row[:] = (found.lower <= true) & (true <= found.upper)
    # four figures of each survey; a coverage of 93% falls as low less than once in a million
    assert inside.mean() > 0.93 - 4.9 * np.sqrt(0.93 * 0.07 / inside.size)


def test_a_stratum_without_answers_says_whose_ratio_it_has():
    plan = dps.design(
        dps.Strata([900, 1000, 1100], names=["a", "b", "c"]),
        questions=PAIR,
        forms="one",
        epsilon=20,
        total=600,
    )
    people = np.tile([200, 200, 200, 300], (3, 1)) + np.array([[0], [25], [50]])
    [table] = tables(plan, people, np.random.default_rng(1))
    table.counts[1] = 0
    table = table._replace(answers=table.counts.sum(axis=1).astype(int))
    rows = [
        Estimate(*cells)
        for cells in zip(*estimate_ratio(plan, [table], *AMONG)[0].lists().values(), strict=True)
    ]
    assert [row.taken_from for row in rows] == ["", "", "a", ""]
    assert [row.largest_bias for row in rows] == [None, 0.0, None, 0.0]  # a ratio's is not worked out
    first, second = (next(row for row in rows if row.group == name) for name in "ab")
    assert (second.estimate, second.lower, second.upper) == (first.estimate, first.lower, first.upper)


@pytest.mark.parametrize(
    ("over", "under", "least", "most"),
    [
        (("home", "other"), ("home", ["rent", "other"]), 0, 1),
        (
            ("trust", "mean"),
            ("home", "rent"),
            1,
            np.inf,
        ),  # of those who do not rent nothing is in the denominator
        (("smokes", "yes"), ("trust", "mean"), 0, 1),
        (("trust", "mean"), ("trust", "mean"), 1, 1),
    ],
)
def test_no_interval_leaves_what_a_ratio_can_be(made, over, under, least, most):
    rows = made[2].ratio(over, under)
    assert rows
    assert all(least - 1e-12 <= row.lower <= row.upper <= most + 1e-12 for row in rows)


@pytest.mark.slow
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
    assert [float(row["estimate"]) for row in rows] == [row.estimate for row in result]
    assert all(note.partition(":")[0][:40] in " ".join(done.stdout.split()) for note in result.notes)
    for wrong, words in (
        (ratio[:2], "--ratio and --over must be given equally often, got 1 and 0"),
        (["--ratio", "none=yes", "--over", "trust=mean"], "questions that are estimated, got 'none'"),
    ):
        done = run(tmp_path, "estimate", "design.json", "sums.csv", *wrong)
        assert done.returncode == 2
        assert words in " ".join(done.stderr.split())


def test_a_name_of_two_combinations_is_refused():
    """'p' with 'q and r', and 'p and q' with 'r', are both called 'p and q and r'."""
    questions = dps.Questionnaire(
        [
            dps.Question("a", "category", blank=False, categories=["p", "p and q"], together="ab"),
            dps.Question("b", "category", blank=False, categories=["q and r", "r"], together="ab"),
        ]
    )
    plan = dps.design(
        dps.Strata([5000], names=["all"]),
        questions=questions,
        epsilon=1,
        device_epsilon=20,
        release="sums",
        total=400,
    )
    result = estimate_once(plan, {"all": [(1, i % 4) for i in range(400)]}, from_devices=True)
    with pytest.raises(dps.InputError, match="must name one combination each, got 'p and q and r', which"):
        result.ratio(("a by b", "p and q and r"), ("a", "p"))
    assert result.ratio(("a by b", "p and r"), ("a", "p")).whole
