"""Covariances of estimates: what repeated surveys show, standard errors on the diagonal, nothing made up."""

import csv
import math

import numpy as np
import pytest

import dpstrata as dps
from commands import run
from dpstrata.fielding.covariances import MOST, Covariance
from dpstrata.fielding.estimate import reader_of
from dpstrata.fielding.intervals.of_design import PartLimits
from dpstrata.fielding.intervals.tilt import Limits
from dpstrata.fielding.randomizers.form import office_budgets
from dpstrata.fielding.randomizers.tables import tables_of
from dpstrata.fielding.results.mean import estimate_from_figures
from dpstrata.fielding.results.microdata import estimate_means, estimate_shares
from dpstrata.fielding.results.sums import estimate_from_means
from extent import few

pytestmark = pytest.mark.slow

NAMES = ("a", "b", "c", "d")
DOMAINS = {"side": ["east", "east", "west", "west"], "coast": ["yes", "no", "yes", "no"]}
STRATA = dps.Strata([90, 120, 150, 60], [0.2, 0.3, 0.25, 0.1], names=NAMES, extra=DOMAINS)
TENURES = ["rent", "own", "other"]
REPEATS = few(400, of=4000)
EVERY = 5  # surveys are asked for their covariances
TOLERANCE = 6.5  # standard errors of the simulation; seeds are fixed


def survey_of_numbers(plan, generator, *, without=()):
    names = np.repeat(NAMES, plan.sample_sizes)
    names = names[~np.isin(names, list(without))]
    return estimate_means(plan, names.tolist(), generator.normal(0.5, 2.0, len(names)))


def check_matrix(result):
    """Require the squares of the standard errors, symmetry, and no combination of a negative variance."""
    matrix = result.covariance.matrix
    assert np.diag(matrix) == pytest.approx(result.columns.standard_error**2, rel=1e-12, abs=1e-18)
    np.testing.assert_array_equal(matrix, matrix.T)
    known = np.nan_to_num(matrix)
    assert np.linalg.eigvalsh(known).min() > -1e-12 * known.max()
    assert not matrix.flags.writeable
    return matrix


def test_means_that_share_strata_covary():
    plan = dps.design(STRATA, epsilon=1, total=100, domains=["side", "coast"])
    result = survey_of_numbers(plan, np.random.default_rng(1))
    matrix = check_matrix(result)
    labels = result.covariance.labels
    assert labels[:3] == ("all", "total", "side=east")
    assert labels[-1] == "stratum=d"
    at = {label: i for i, label in enumerate(labels)}
    V = {row.group: row.standard_error**2 for row in result.by("stratum")}
    assert matrix[at["stratum=a"], at["stratum=b"]] == 0
    assert matrix[at["side=east"], at["side=west"]] == 0
    assert matrix[at["side=east"], at["stratum=a"]] == pytest.approx(90 / 210 * V["a"])
    assert matrix[at["side=east"], at["coast=yes"]] == pytest.approx(90 / 210 * 90 / 240 * V["a"])
    assert matrix[at["total"], at["coast=no"]] == pytest.approx(
        120 * 120 / 180 * V["b"] + 60 * 60 / 180 * V["d"]
    )
    assert matrix[at["total"], at["all"]] == pytest.approx(420 * result.whole[0].standard_error ** 2)


def test_a_stratum_without_an_answer_errs_as_its_neighbour():
    plan = dps.design(STRATA, epsilon=1, total=100, domains=["side"])
    result = survey_of_numbers(plan, np.random.default_rng(2), without="a")
    matrix = check_matrix(result)
    a, b = (result.covariance.labels.index(f"stratum={name}") for name in "ab")
    assert result.by("stratum")[0].taken_from == "b"
    assert matrix[a] == pytest.approx(matrix[b], rel=1e-12)


@pytest.mark.parametrize("domains", [None, ["side"], ["side", "coast"], ["stratum"]])
@pytest.mark.parametrize("device_epsilon", [None, 3])
def test_noise_of_a_published_mean_is_its_own(domains, device_epsilon):
    plan = dps.design(
        STRATA,
        epsilon=1,
        total=100,
        release="mean",
        domains=domains,
        device_epsilon=device_epsilon,
        questions=(0, 1, 0.1),
    )
    rows = [(each.column, each.group, 0.4) for each in plan.figures]
    if domains != ["stratum"]:
        rows += [("stratum", name, None) for name in NAMES]
    counts = dict(zip(NAMES, plan.sample_sizes.tolist(), strict=True))
    result = estimate_from_figures(plan, *zip(*rows, strict=True), [counts.get(row[1], 0) for row in rows])
    matrix = check_matrix(result)
    if domains == ["side"]:  # the whole is made of both sides, which err on their own
        assert matrix[2, 3] == 0
        assert matrix[0, 2] == pytest.approx(0.5 * matrix[2, 2])
    if domains == ["side", "coast"]:  # sampling and devices are common to both, the office's noise is not
        m, N, S = plan.sample_sizes[0], 90, 0.2
        device = plan.inputs.release_form.device_variance
        both = 90 / 210 * 90 / 240 * (S**2 * (1 - m / N) + device) / m
        east, yes = (result.covariance.labels.index(name) for name in ("side=east", "coast=yes"))
        assert matrix[east, yes] == pytest.approx(both)


def test_means_of_sums():
    plan = dps.design(STRATA, epsilon=1, total=100, release="sums", questions=(0, 1), domains=["side"])
    matrix = check_matrix(estimate_from_means(plan, NAMES, [0.2, 0.3, 0.4, 0.5], plan.sample_sizes))
    assert matrix[0, 4] == pytest.approx(90 / 420 * matrix[4, 4])


@pytest.fixture
def no_intervals(monkeypatch):
    """Leave out the intervals, which take most of the time of an estimate and are tested elsewhere."""

    def without(limits, groups):
        return Limits(np.zeros(groups.number), np.zeros(groups.number))

    monkeypatch.setattr(PartLimits, "__call__", without)


def compared(found, predicted):
    """Compare what estimates did with what was said of them, in standard errors of the simulation."""
    found = np.array(found)
    seen = np.cov(found.T)
    expected = np.mean(predicted, axis=0)
    spread = np.sqrt(np.diag(seen))
    scale = np.sqrt(1.0 + (expected / np.outer(spread, spread)) ** 2) * np.outer(spread, spread)
    return (seen - expected) / scale * math.sqrt(len(found))


def reports(truth, n, keep, generator):
    """Draw n of a stratum's people, and replace an answer by any of all, itself among them."""
    drawn = generator.permutation(truth)[:n]
    replaced = generator.random(n) >= keep
    return np.where(replaced, generator.integers(0, 1 + truth.max(), n), drawn)


@pytest.mark.usefixtures("no_intervals")
def test_shares_of_categories_covary_as_repeated_surveys_show():
    plan = dps.design(STRATA, epsilon=2, total=260, questions=TENURES, domains=["side"])
    generator = np.random.default_rng(4)
    truths = [
        generator.permutation(np.repeat([0, 1, 2], [N // 2, N // 3, N - N // 2 - N // 3]))
        for N in STRATA.sizes
    ]
    _, keep = plan.mechanism.chances(plan.local_epsilons)
    found, predicted = [], []
    for repeat in range(REPEATS):
        counts = [
            np.bincount(reports(truth, n, d, generator), minlength=3)
            for truth, n, d in zip(truths, plan.sample_sizes.tolist(), keep.tolist(), strict=True)
        ]
        result = estimate_shares(plan, np.array(counts))
        found.append([row.estimate for row in result])
        if repeat % EVERY == 0:
            predicted.append(result.covariance.matrix)
    off = compared(found, predicted)
    assert np.abs(off).max() < TOLERANCE
    # the covariance matters: without that of categories the same check fails
    category = np.arange(len(found[0])) % 3
    alone = [np.where(category[:, None] == category, matrix, 0.0) for matrix in predicted]
    assert np.abs(compared(found, alone)).max() > 2 * TOLERANCE


@pytest.mark.parametrize("counts", [[0, 0, 1], [0, 0, 40], [3, 0, 0], [0, 0, 0], [13, 14, 13], [1, 1, 0]])
def test_shares_outside_0_to_1_keep_their_standard_errors(counts):
    """However shares and spreads had to be cut, and where one answer or none is there."""
    plan = dps.design(STRATA, epsilon=2, total=240, questions=TENURES, domains=["side"])
    given = np.array([counts, [5, 4, 3], [20, 0, 0], [5, 5, 5]])
    assert (given.sum(axis=1) <= plan.sample_sizes).all()
    result = estimate_shares(plan, given)
    matrix = check_matrix(result)
    assert matrix.shape == (24, 24)


def test_two_categories_are_one_share():
    plan = dps.design(STRATA, epsilon=1, total=100, questions=["no", "yes"])
    result = estimate_shares(plan, np.array([[3, 9], [8, 2], [0, 10], [1, 2]]))
    matrix = check_matrix(result)
    assert matrix[0, 1] == pytest.approx(-matrix[0, 0], rel=1e-12)
    assert result.covariance.labels[:4] == ("no, all", "yes, all", "no, total", "yes, total")


QUESTIONS = dps.Questionnaire(
    [
        dps.Question("home", "category", blank=False, categories=TENURES, everyone=True),
        dps.Question("smokes", "yes_no", blank=False),
        dps.Question("trust", "scale", lower=1, upper=4),
        dps.Question("ill", "yes_no", blank=False, together="t"),
        dps.Question("old", "category", blank=False, categories=["0", "1", "2"], together="t"),
    ]
)
FORMS = [["smokes", "trust"], ["ill", "old"]]


def published_rows(plan, truths, generator):
    """Draw people, deal forms, replace rows and add the office's noise, all with seeded random numbers."""
    values, answers = {}, {}
    for i, (name, truth) in enumerate(zip(NAMES, truths, strict=True)):
        people = generator.permutation(len(truth))
        for t, form in enumerate(plan.forms):
            here, people = np.split(people, [int(form.sample_sizes[i])])
            places = [[each.name for each in QUESTIONS].index(name) for name in form.questions]
            rows = truth[here][:, places]
            cells = math.prod(form.levels)
            replaced = generator.random(len(here)) < cells / (math.expm1(plan.inputs.device_epsilon) + cells)
            rows[replaced] = generator.integers(0, form.levels, rows.shape)[replaced]
            answers[name, t + 1] = len(here)
            for table in tables_of(plan, t):
                noised = counts_of(plan, i, t, table, rows, generator)
                keys = [(name, t + 1, table.label, entry) for entry in table.entries]
                values |= dict(zip(keys, noised.tolist(), strict=True))
    return [(*key, value, answers[key[:2]]) for key, value in values.items()]


def row_survey(plan, truths, generator):
    return reader_of(plan).estimate(*zip(*published_rows(plan, truths, generator), strict=True))


def counts_of(plan, i, t, table, rows, generator):
    form = plan.forms[t]
    at = [form.questions.index(name) for name in table.table.questions]
    levels = [form.levels[place] for place in at]
    flat = np.ravel_multi_index(rows[:, at].T, levels)
    counts = np.bincount(flat, minlength=math.prod(levels))
    if len(table.entries) == 1:
        counts = np.array([counts @ np.arange(len(counts))])
    budget = office_budgets(plan)[i, t] * table.table.budget / table.moved
    if math.isinf(budget):
        return counts
    one, other = (generator.geometric(-math.expm1(-budget), len(counts)) for _ in range(2))
    return counts + one - other


@pytest.fixture(scope="module")
def row_plan():
    return dps.design(
        STRATA,
        questions=QUESTIONS,
        epsilon=1,
        device_epsilon=4,
        release="sums",
        total=240,
        forms=FORMS,
        domains=["side"],
    )


def truths_of(generator):
    levels = [3, 2, 4, 2, 3]
    return [
        np.stack([np.minimum(generator.geometric(0.45, N) - 1, k - 1) for k in levels], axis=1)
        for N in STRATA.sizes
    ]


@pytest.mark.usefixtures("no_intervals")
def test_figures_of_a_question_covary_as_repeated_surveys_show(row_plan):
    """On two forms, on its own table, or kept together with another question."""
    generator = np.random.default_rng(5)
    truths = truths_of(generator)
    found, predicted = {}, {}
    for repeat in range(REPEATS // 2):
        result = row_survey(row_plan, truths, generator)
        for name in ("home", "old", "ill by old"):
            chosen = result.question(name)
            found.setdefault(name, []).append(chosen.columns.estimate)
            if repeat % EVERY == 0:
                predicted.setdefault(name, []).append(chosen.covariance.matrix)
    for name, estimates in found.items():
        assert np.abs(compared(estimates, predicted[name])).max() < TOLERANCE, name


def test_what_a_questionnaire_covers(row_plan):
    generator = np.random.default_rng(6)
    result = row_survey(row_plan, truths_of(generator), generator)
    matrix = check_matrix(result)
    names = np.array([row.question for row in result])
    np.testing.assert_array_equal(np.isnan(matrix), names[:, None] != names)
    home = result.question("home").whole.covariance
    assert home.labels == ("rent, all", "own, all", "other, all")
    assert result.covariance.labels[:3] == ("home=rent, all", "home=own, all", "home=other, all")
    assert home.matrix.sum() == pytest.approx(0, abs=1e-4 * home.matrix.max())
    ratios = result.ratio(("home", "rent"), ("home", ["rent", "own"]))
    known = ratios.covariance.matrix
    assert np.diag(known) == pytest.approx([row.standard_error**2 for row in ratios])
    assert np.isnan(known).sum() == len(known) ** 2 - len(known)


def test_many_strata_have_no_matrix_but_parts_of_one():
    sizes = np.full(MOST, 50)
    plan = dps.design(
        dps.Strata(sizes, extra={"half": ["a", "b"] * (MOST // 2)}),
        epsilon=1,
        total=2 * MOST,
        domains=["half"],
    )
    names = [name for name in plan.strata.names for _ in range(2)]
    result = estimate_means(plan, names, np.random.default_rng(7).normal(0.5, 1, len(names)))
    with pytest.raises(dps.InputError, match=r"at most 2,000 estimates, got 2,004\. Choose some in Python"):
        _ = result.covariance.matrix
    halves = result.by("half")
    assert halves.covariance.labels == ("half=a", "half=b")
    assert np.diag(halves.covariance.matrix) == pytest.approx([row.standard_error**2 for row in halves])
    with pytest.raises(
        dps.InputError, match="column must be one of 'all', 'total', 'half', 'stratum', got 'third'"
    ):
        result.by("third")


def test_labels_are_unique():
    plan = dps.design(STRATA, epsilon=1, total=100, domains=["stratum"])
    covariance = survey_of_numbers(plan, np.random.default_rng(8)).covariance
    assert isinstance(covariance, Covariance)
    assert repr(covariance) == "Covariances of 10 estimates"
    assert covariance.labels[2] == "stratum=a"
    assert covariance.labels[6] == "stratum=a (2)"
    assert len(set(covariance.labels)) == len(covariance) == 10


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_the_command_writes_them_in_the_order_of_the_estimates(tmp_path):
    plan = dps.design(STRATA, epsilon=2, total=100, questions=TENURES, domains=["side"])
    plan.save(tmp_path / "design.json")
    names = np.repeat(NAMES, plan.sample_sizes)
    rows = zip(names, [TENURES[i % 3] for i in range(len(names))], strict=True)
    with open(tmp_path / "noised.csv", "w", newline="") as file:
        csv.writer(file).writerows([("stratum", "answer"), *rows])
    command = ("estimate", "design.json", "noised.csv", "--out", "e.csv", "--covariance", "c.csv")
    done = run(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    estimates, covariance = read(tmp_path / "e.csv"), read(tmp_path / "c.csv")
    assert [row["label"] for row in covariance] == list(covariance[0])[1:]
    assert len(estimates) == len(covariance) == 24
    for estimate, row in zip(estimates, covariance, strict=True):
        assert row["label"].startswith(f"{estimate['level']}, ")
        assert float(row[row["label"]]) == pytest.approx(float(estimate["standard_error"]) ** 2, rel=1e-12)
    done = run(tmp_path, *command[:-1], "noised.csv")
    assert done.returncode != 0
    assert "given for two different files" in done.stderr


def test_the_command_leaves_unknown_covariances_blank(tmp_path, row_plan):
    generator = np.random.default_rng(9)
    row_plan.save(tmp_path / "design.json")
    header = ("stratum", "form", "table", "entry", "count", "answers")
    published = [header, *published_rows(row_plan, truths_of(generator), generator)]
    with open(tmp_path / "published.csv", "w", newline="") as file:
        csv.writer(file).writerows(published)
    done = run(
        tmp_path,
        *("estimate", "design.json", "published.csv", "--out", "e.csv", "--covariance", "c.csv"),
        *("--ratio", "home=rent", "--over", "home=rent|own|other"),
    )
    assert done.returncode == 0, done.stderr
    estimates, covariance = read(tmp_path / "e.csv"), read(tmp_path / "c.csv")
    assert len(estimates) == len(covariance)
    by_label = {row["label"]: row for row in covariance}
    assert by_label["home=rent, all"]["smokes=yes, all"] == ""
    assert float(by_label["home=rent, all"]["home=own, all"]) < 0
    for estimate, row in zip(estimates, covariance, strict=True):
        assert float(row[row["label"]]) == pytest.approx(float(estimate["standard_error"]) ** 2, rel=1e-12)
