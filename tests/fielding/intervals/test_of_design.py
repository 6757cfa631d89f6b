"""Every release hands over what its counts are: chances of reports, office noise at the budget really used."""

import math

import numpy as np
import pytest

import dpstrata as dps
from dpstrata.fielding.intervals import tilt
from dpstrata.fielding.intervals.means import Means
from dpstrata.fielding.intervals.of_design import PartLimits
from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.intervals.tilt import Groups
from dpstrata.fielding.randomizers.tables import tables_of
from dpstrata.fielding.results.form_figures import TableCounts, published_counts
from dpstrata.fielding.results.forms import estimate_questions
from dpstrata.fielding.results.microdata import estimate_shares
from dpstrata.fielding.results.sums import estimate_from_means

N = np.array([2000, 1500, 2500])
STRATA = dps.Strata(N, names=["a", "b", "c"])


def limits(counts, answers, floor, slope, noise=0.0, alpha=0.05):
    """Of the whole, with everything written out."""
    m = np.array(answers, dtype=float)
    figures = np.broadcast_arrays(np.array(counts, dtype=float), m, m, N * 1.0, floor, slope, noise)
    groups = Groups(np.zeros(3, dtype=np.int64), 1, N / N.sum())
    return [float(each[0]) for each in Reports(*figures).limits(groups, alpha)]


def laplace(e):
    """Variance of discrete Laplace noise."""
    return 1 / (2 * np.sinh(np.asarray(e) / 2) ** 2)


def test_yes_and_no_by_randomized_response():
    plan = dps.design(STRATA, epsilon=1, total=150, questions="yes_no")
    flip = 1 / (1 + np.exp(plan.local_epsilons))
    m, yes = plan.sample_sizes, np.array([4, 2, 9])
    reports = [(np.arange(n) < some).astype(float) for n, some in zip(m.tolist(), yes.tolist(), strict=True)]
    values = np.concatenate([(each - f) / (1 - 2 * f) for each, f in zip(reports, flip, strict=True)])
    whole = dps.estimate_means(plan, np.repeat(STRATA.names, m).tolist(), values).whole[0]
    assert (whole.lower, whole.upper) == pytest.approx(limits(yes, m, flip, 1 - 2 * flip), abs=1e-8)


def test_yes_and_no_with_noise_added():
    plan = dps.design(STRATA, epsilon=1, total=150, questions="yes_no", mechanism="laplace")
    m = plan.sample_sizes
    values = np.random.default_rng(2).normal(0.1, 0.5, plan.total)
    whole = dps.estimate_means(plan, np.repeat(STRATA.names, m).tolist(), values).whole[0]
    sums = [part.sum() for part in np.split(values, np.cumsum(m)[:-1])]
    noise = m * 2 / plan.local_epsilons**2
    assert (whole.lower, whole.upper) == pytest.approx(limits(sums, m, 0.0, 1.0, noise), abs=1e-8)


@pytest.mark.parametrize("device", [None, 4.0])
def test_sums_of_yes_and_no(device):
    options = {} if device else {"mechanism": "discrete_laplace"}
    plan = dps.design(
        STRATA, epsilon=0.5, total=150, questions="yes_no", release="sums", device_epsilon=device, **options
    )
    m, counts, e = plan.sample_sizes - 3, np.array([5, -1, 8]), plan.local_epsilons
    flip, budget = 0.0, e
    if device:
        flip = 1 / (1 + math.exp(device))
        budget = 2 * np.arctanh(np.minimum(np.tanh(e / 2) / np.tanh(device / 2), 1 - 1e-16))
        assert np.all(e < device)
    means = (counts / m - flip) / (1 - 2 * flip)
    whole = estimate_from_means(plan, STRATA.names, means, m).whole[0]
    expected = limits(counts, m, flip, 1 - 2 * flip, laplace(budget))
    assert (whole.lower, whole.upper) == pytest.approx(expected, abs=1e-7)


def test_categories_share_the_chance_to_miss():
    plan = dps.design(STRATA, epsilon=1, total=150, questions=["x", "y", "z", "w"])
    m, x = plan.sample_sizes, np.exp(plan.local_epsilons)
    counts = np.stack([m - 12, np.full(3, 2), np.full(3, 4), np.full(3, 6)], axis=1)
    rows = estimate_shares(plan, counts).whole
    for place, row in enumerate(rows):
        expected = limits(counts[:, place], m, 1 / (x + 3), (x - 1) / (x + 3), alpha=0.05 / 4)
        assert (row.lower, row.upper) == pytest.approx(expected, abs=1e-8)


def tables(categories):
    questions = dps.Questionnaire(
        [
            dps.Question("q", "category", blank=False, categories=list(categories)),
            dps.Question("yes", "yes_no", blank=False),
            dps.Question("also", "yes_no", blank=False),
        ]
    )
    return dps.design(
        STRATA,
        questions=questions,
        epsilon=0.4,
        device_epsilon=6,
        release="sums",
        total=300,
        forms=[["q", "yes", "also"]],
    )


@pytest.mark.parametrize(("categories", "number"), [("abcdef", 3), ("abc", 1)])
def test_tables_of_a_questionnaire(categories, number):
    """The count of yes and a category's, from tables of their own or from one of all combinations."""
    plan = tables(categories)
    (form,) = plan.forms
    assert len(form.tables) == number
    k, m, y = len(categories), form.sample_sizes, math.expm1(6)
    K = 4 * k
    replaced, r, u = K / (y + K), K / y, np.expm1(plan.local_epsilons)
    credited = np.log1p(u * (1 + r) / (1 - u / y))
    values = {
        (name, 1, table.label, entry): 7.0 + place
        for name in STRATA.names
        for table in tables_of(plan, 0)
        for place, entry in enumerate(table.entries)
    }
    answers = {(name, 1): int(n) for name, n in zip(STRATA.names, m, strict=True)}
    result = estimate_questions(plan, published_counts(plan, values, answers))
    whole = {(row.question, row.level): row for row in result.whole}
    share = {table.questions: table.budget for table in form.tables}
    cells = 7.0 + np.arange(K if number == 1 else k)  # all are put on their known total
    second = cells.reshape(k, -1)[1].sum() + (m - cells.sum()) / k
    if number == 3:
        yes, of_yes = 7.0, laplace(credited * share["yes",])
        of_second = (k - 1) / k * laplace(credited * share["q",] / 2)
    else:
        yes = cells.reshape(k, 2, 2)[:, 1].sum() + (m - cells.sum()) / 2
        of_yes, of_second = (K / j * (1 - 1 / j) * laplace(credited / 2) for j in (2, k))
    for row, count, noise, levels, alpha in (
        (whole["yes", "yes"], yes, of_yes, 2, 0.05),
        (whole["q", "b"], second, of_second, k, 0.05 / k),
    ):
        expected = limits(count, m, replaced / levels, 1 - replaced, noise, alpha)
        assert (row.lower, row.upper) == pytest.approx(expected, abs=1e-8)


def test_a_question_on_two_forms_is_one_sample():
    """Rows of two forms with the same odds tell as much as the same rows of one."""
    questions = dps.Questionnaire(
        [
            dps.Question("a", "yes_no", blank=False),
            dps.Question("b", "yes_no", blank=False),
            dps.Question("all", "yes_no", blank=False, everyone=True),
        ]
    )
    plan = dps.design(STRATA, questions=questions, epsilon=1, total=300, forms=[["a"], ["b"]])
    tables = []
    for t, form in enumerate(plan.forms):
        counts = np.zeros((3, form.cells))
        counts[:, 0] = form.sample_sizes - 3
        counts[:, -1] = 3
        tables.append(
            TableCounts(t, form.sample_sizes, form.questions, form.levels, counts, None, np.zeros(3))
        )
    (row,) = [row for row in estimate_questions(plan, tables).whole if row.question == "all"]
    y = np.expm1(plan.local_epsilons)
    replaced = 4 / (y + 4)
    expected = limits(6.0, plan.sample_sizes, replaced / 2, 1 - replaced)
    assert (row.lower, row.upper) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("entries", [1, 3, 7, 1000])
def test_intervals_do_not_depend_on_how_many_are_found_together(entries, monkeypatch):
    rng = np.random.default_rng(12)
    answers, spreads = rng.integers(2, 30, 20).astype(float), rng.uniform(0, 0.2, 20)
    parts = Means(rng.random(20), answers, np.ones(20), spreads, np.full(20, 0.01))
    codes = np.concatenate([np.zeros(20, int), rng.permutation(20) + 1, rng.permutation(20) % 5 + 21])
    weights = rng.random(60)
    weights /= np.bincount(codes, weights=weights)[codes]
    groups = Groups(codes, 26, weights, np.tile(np.arange(20), 3))
    find = PartLimits(parts, 0.05, (-1.0, 2.0))
    whole = find(groups)
    monkeypatch.setattr(tilt, "_ENTRIES", entries)
    runs = list(groups.in_blocks())
    assert sum(run.number for run in runs) == 26
    assert len(runs) > 1 or entries == 1000
    for one, other in zip(find(groups), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
