"""Surveys in which nobody answered in some strata: they go on, and their intervals hold."""

import warnings

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.estimate import reader_of
from dpstrata.fielding.figure_grid import figure_grids
from dpstrata.fielding.randomizers import randomizer_of
from dpstrata.fielding.releases import MeanFielding, SumsFielding
from dpstrata.fielding.results.form_figures import count_rows
from dpstrata.fielding.results.forms import estimate_questions
from dpstrata.fielding.results.microdata import Moments, estimate_from_moments, estimate_shares
from extent import few
from surveys import collected_of

SIZES = [980, 710, 660, 350, 330, 320, 270, 200, 140, 110, 110, 50]


def test_staff_of_departments_in_which_nobody_answers():
    """Twelve departments, 200 invitations, 60% answer, one invitation at least: 95% intervals hold."""
    strata = dps.Strata(SIZES, response_rates=[0.6] * 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dps.DpstrataWarning)
        plan = dps.design(strata, epsilon=1, total=200, questions="yes_no", min_per_stratum=1)
    rng, repeats = np.random.default_rng(6), few(250, of=4000)
    sizes, n = np.array(SIZES), plan.sample_sizes
    yes = np.rint(sizes * rng.uniform(0.04, 0.14, 12)).astype(int)
    truth, flip = yes.sum() / sizes.sum(), 1 / (1 + np.exp(plan.local_epsilons))
    covered = empty = 0
    for _ in range(repeats):
        m = rng.hypergeometric(np.rint(0.6 * sizes).astype(int), np.rint(0.4 * sizes).astype(int), n)
        m[rng.integers(12)] *= rng.integers(2)  # some department may stay away as a whole
        said = rng.hypergeometric(yes, sizes - yes, m)
        reports = rng.binomial(said, 1 - flip) + rng.binomial(m - said, flip)
        share = np.divide(reports, m, out=np.zeros(12), where=m > 0)
        means = np.where(m > 0, (share - flip) / (1 - 2 * flip), 0.0)
        squares = m * share * (1 - share) / (1 - 2 * flip) ** 2
        whole = estimate_from_moments(plan, Moments(m, means, squares)).whole[0]
        covered += whole.lower <= truth <= whole.upper
        empty += not m.all()
    assert empty > repeats / 4
    assert covered / repeats >= 0.93 - 4 * np.sqrt(0.93 * 0.07 / repeats)


def test_sums_of_a_stratum_without_an_answer_are_noise_alone():
    plan = dps.design(dps.Strata([400, 600, 500]), epsilon=1, total=90, questions="yes_no", release="sums")
    fielding, noise = SumsFielding(), {"0/0/0/0": 3, "1/0/0/0": -2, "2/0/0/0": 1}
    reports = {"1": [1.0, 0.0, 1.0], "2": [], "3": [0.0, 0.0]}
    columns = fielding.published(plan, collected_of(plan, reports), noise, lambda number: None)
    assert columns == {"stratum": ["1", "2", "3"], "sum": [5.0, -2.0, 1.0], "answers": [3, 0, 2]}
    result = reader_of(plan).estimate(columns["stratum"], [5 / 3, 0.0, 0.5], columns["answers"])
    assert [row.taken_from for row in result.by("stratum")] == ["", "1", ""]
    assert result.whole[0].estimate == pytest.approx((1000 * 5 / 3 + 500 * 0.5) / 1500)
    assert result.whole[0].standard_error == pytest.approx(
        np.hypot(
            2 / 3 * result.by("stratum")[0].standard_error, 1 / 3 * result.by("stratum")[2].standard_error
        )
    )
    assert result[0].largest_bias == pytest.approx(0.4)


def test_every_row_says_how_far_a_neighbour_can_shift_it():
    """A domain is wrong by at most the share of its own people who are in empty strata, times the range."""
    strata = dps.Strata([400, 600, 500, 300], names=list("abcd"), extra={"half": ["x", "x", "y", "y"]})
    plan = dps.design(strata, epsilon=1, total=90, questions=(0, 10), release="sums", domains=["half"])
    m = np.array([5, 0, 6, 7])
    result = reader_of(plan).estimate(strata.names, [2.0, 0.0, 3.0, 4.0], m)
    assert [row.largest_bias for row in result.shown] == pytest.approx([10 / 3, 6, 0, 0, 10, 0, 0])
    assert result.by("total")[0].largest_bias == pytest.approx(6000)
    assert result.by("stratum")[1].largest_bias == 10.0
    last = tuple(line[-1] for line in result.table.rows)
    assert (result.table.header[-1], last) == ("bias at most", ("3.333", "6", "", "", "10", "", ""))
    full = reader_of(plan).estimate(strata.names, [2.0, 1.0, 3.0, 4.0], [5, 5, 6, 7])
    assert {row.largest_bias for row in full} == {0.0}
    assert full.table.header[-1] == "invited"


def test_reported_strata_of_classes_say_what_their_cells_borrow():
    names = [f"{region} | {sex}" for region in ("north", "south") for sex in "fm"]
    extra = {"region": ["north", "north", "south", "south"], "sex": list("fmfm")}
    strata = dps.Strata([300, 100, 200, 200], names=names, extra=extra)
    plan = dps.design(strata, epsilon=1, total=90, questions=["p", "q", "r"], classes="sex")
    counts = np.array([[4, 2, 3], [0, 0, 0], [3, 3, 3], [5, 2, 1]])
    result = estimate_shares(plan, counts)
    found = {(row.group, row.level): row.largest_bias for row in result.shown}
    assert found == pytest.approx(
        {("all", "p"): 0.125, ("all", "q"): 0.125, ("all", "r"): 0.125}
        | {("north", name): 0.25 for name in "pqr"}
        | {("south", name): 0.0 for name in "pqr"}
    )
    assert [line[-1] for line in result.table.rows] == ["0.125"] * 3 + ["0.25"] * 3 + [""] * 3


@pytest.mark.parametrize("domains", [(), ("half",)])
def test_a_mean_weights_neighbours_and_keeps_the_promise(domains):
    strata = dps.Strata([400, 600, 500, 300], extra={"half": ["a", "a", "b", "b"]})
    plan = dps.design(strata, epsilon=1, total=90, questions="yes_no", release="mean", domains=domains)
    m = np.array([5, 0, 4, 7])
    reports = {"1": [1.0] * 5, "2": [], "3": [0.0] * 4, "4": [1.0] * 7}
    grids, K = figure_grids(plan, m), randomizer_of(plan, 1).figures[0].moved
    spent = np.zeros(4)
    for grid in grids:
        spent[grid.strata] += np.array(grid.weights) * K / grid.scale
    promised = np.log1p(np.expm1(1) * strata.sizes / np.maximum(m, 1))
    assert spent[1] == 0
    assert np.all(spent <= promised * (1 + 1e-12))
    assert spent.max() >= 0.999 * promised[np.argmax(spent)]
    assert plan.budgets_given(m) == pytest.approx(spent, rel=1e-4)
    fielding = MeanFielding()
    noise = {f"0/0/{grid.column}={grid.group}": 0 for grid in grids}
    columns = fielding.published(plan, collected_of(plan, reports), noise, lambda number: None)
    means = dict(zip(columns["group"], columns["mean"], strict=True))
    expected = {"all": 1300 / 1800} if not domains else {"a": 1.0, "b": 3 / 8}
    for group, mean in expected.items():
        assert means[group] == pytest.approx(mean, abs=1e-4)
    result = reader_of(plan).estimate(*columns.values())
    assert [(each.stratum, each.neighbour) for each in result.questions["answer"].stand_ins] == [("2", "1")]
    assert result.whole[0].estimate == pytest.approx(1300 / 1800, abs=1e-4)


def figures_published(plan, m, seed):
    """Publish means without noise of made-up answers, so many in each stratum, and estimate from them."""
    rng = np.random.default_rng(seed)
    reports = {
        name: rng.integers(0, 2, count).astype(float).tolist()
        for name, count in zip(plan.strata.names, m, strict=True)
    }
    noise = {f"0/0/{grid.column}={grid.group}": 0 for grid in figure_grids(plan, m)}
    columns = MeanFielding().published(plan, collected_of(plan, reports), noise, lambda number: None)
    return columns, {name: np.mean(values or [0]) for name, values in reports.items()}


def test_a_group_in_which_nobody_answered_takes_the_figure_of_another():
    strata = dps.Strata([400, 600, 500, 300], extra={"part": ["a", "b", "b", "c"]})
    plan = dps.design(strata, epsilon=1, total=90, questions="yes_no", release="mean", domains=["part"])
    m = np.array([5, 8, 4, 0])
    columns, means = figures_published(plan, m, 3)
    by_group = dict(zip(columns["group"], zip(columns["mean"], columns["answers"], strict=True), strict=True))
    assert by_group["c"] == (None, 0)
    result = reader_of(plan).estimate(*columns.values())
    a, b, c = result.by("part")
    assert (c.taken_from, c.answered, a.taken_from) == ("b", 0, "")
    assert (c.estimate, c.standard_error, c.lower, c.upper) == (
        b.estimate,
        b.standard_error,
        b.lower,
        b.upper,
    )
    assert b.estimate == pytest.approx((600 * means["2"] + 500 * means["3"]) / 1100, abs=1e-4)
    assert result.whole[0].estimate == pytest.approx((400 * a.estimate + 1400 * b.estimate) / 1800)
    assert result.whole[0].standard_error == pytest.approx(
        np.hypot(400 * a.standard_error, 1400 * b.standard_error) / 1800
    )
    assert result.whole[0].largest_bias == pytest.approx(300 / 1800)
    assert [row.largest_bias for row in result.by("part")] == [0.0, 0.0, 1.0]
    assert "part: c (as b)" in repr(result)
    matrix = result.covariance.matrix
    assert np.diag(matrix) == pytest.approx([row.standard_error**2 for row in result])
    assert matrix[3, 4] == pytest.approx(matrix[3, 3])  # b and c are one figure


@pytest.mark.slow
@pytest.mark.parametrize("m", [[5, 0, 4, 7, 0, 6], [5, 0, 0, 7, 3, 6], [0, 0, 4, 7, 3, 6]])
def test_groups_of_several_columns_each_look_for_their_own_neighbours(m):
    """A stratum without an answer may be alone in one column and have neighbours in the other."""
    strata = dps.Strata(
        [400, 600, 500, 300, 200, 350], extra={"half": list("aaabbb"), "third": list("xyzxyz")}
    )
    plan = dps.design(
        strata, epsilon=1, total=120, questions="yes_no", release="mean", domains=["half", "third"]
    )
    m = np.array(m)
    columns, means = figures_published(plan, m, 5)
    spent, K = np.zeros(6), randomizer_of(plan, 1).figures[0].moved
    for grid in figure_grids(plan, m):
        spent[grid.strata] += np.array(grid.weights) * K / grid.scale
    allowed = np.log1p(np.expm1(1) * strata.sizes / np.maximum(m, 1))
    assert np.all(spent <= allowed * (1 + 1e-12))
    assert spent.max() > 0
    assert plan.budgets_given(m) == pytest.approx(spent, rel=1e-4)
    result = reader_of(plan).estimate(*columns.values())
    sizes = strata.sizes
    for row in (*result.by("half"), *result.by("third")):
        members = [i for i, label in enumerate(strata.extra[row.column]) if label == row.group]
        full = [i for i in members if m[i]]
        if not full:
            assert row.taken_from
            continue
        nearest = [min(full, key=lambda j: (abs(j - i), j)) for i in members]
        expected = sum(sizes[i] * means[strata.name(j)] for i, j in zip(members, nearest, strict=True))
        assert row.estimate == pytest.approx(expected / sizes[members].sum(), abs=1e-3)
    assert np.diag(result.covariance.matrix) == pytest.approx([row.standard_error**2 for row in result])


def test_a_question_that_nobody_answered_in_a_stratum():
    questions = dps.Questionnaire(
        [
            dps.Question("a", "category", blank=False, categories=list("abcdef")),
            dps.Question("b", "scale", lower=1, upper=5),
            dps.Question("all", "yes_no", blank=False, everyone=True),
        ]
    )
    strata = dps.Strata([400, 500, 600], names=["x", "y", "z"])
    plan = dps.design(strata, questions=questions, epsilon=2, total=120, forms=[["a"], ["b"]])
    rows = [
        (name, str(t), str(j % form.cells))
        for i, name in enumerate(strata.names)
        for t, form in enumerate(plan.forms, start=1)
        for j in range(int(form.sample_sizes[i]))
        if (name, "a" in form.questions) != ("x", True)
    ]
    result = estimate_questions(plan, count_rows(plan, *zip(*rows, strict=True)))
    rows = [row for row in result if row.column != "total"]
    by_place = {(row.question, row.level, row.group): row for row in rows}
    taken, own = by_place["a", "c", "x"], by_place["a", "c", "y"]
    assert (taken.answered, taken.taken_from, own.taken_from) == (0, "y", "")
    assert (taken.estimate, taken.lower, taken.upper) == (own.estimate, own.lower, own.upper)
    assert by_place["b", "", "x"].taken_from == by_place["all", "yes", "x"].taken_from == ""
    assert [name for name, about in result.questions.items() if about.stand_ins] == ["a"]
    assert "Nobody answered 'a' in 1 stratum; it takes the result" in repr(result)
    assert "by at most 0.2667." in repr(result)
    assert by_place["a", "c", "all"].largest_bias == pytest.approx(400 / 1500)
    assert (taken.largest_bias, own.largest_bias, by_place["b", "", "x"].largest_bias) == (1, 0, 0)
    for row in rows:
        low, high = (1, 5) if row.question == "b" else (0, 1)
        assert low <= row.lower <= row.upper <= high


@pytest.mark.parametrize("release", ["microdata", "sums"])
def test_a_domain_without_an_answer_says_whose_result_it_has(release):
    strata = dps.Strata([400, 600, 500], names=list("abc"), extra={"half": ["x", "x", "y"]})
    plan = dps.design(strata, epsilon=1, total=90, questions=(0, 10), domains=["half"], release=release)
    if release == "sums":
        result = reader_of(plan).estimate(list("abc"), [3.0, 4.0, 0.0], [5, 6, 0])
    else:
        names = list("aaaabbbb")
        result = dps.estimate_means(plan, names, [dps.randomize(plan, name, 5).value for name in names])
    assert [(row.group, row.taken_from) for row in result.by("half")] == [("x", ""), ("y", "x")]
    assert [row.taken_from for row in result.by("stratum")] == ["", "", "b"]
    assert result.whole[0].taken_from == ""
