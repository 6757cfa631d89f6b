"""Cells for scales: privacy and bias by enumeration, the least variance there can be, real draws and designs."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog

import dpstrata as dps
from dpstrata.errors import InputError
from dpstrata.fielding.estimate import estimate_closely
from dpstrata.fielding.randomizers.noise import noise_at, steps_of_reports
from dpstrata.fielding.results.microdata import estimate_means
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.cells import FEWEST, MOST, CellsNoise
from problems import answers_of
from surveys import microdata, reports_of

pytestmark = pytest.mark.slow

POINTS = (3, 5, 7, 11, 21)
BUDGETS = (0.1, 0.3, 0.5, 1.0, 1.9, 2.0, 2.125, 3.0, 4.0, 5.15, 6.0, 8.0, 10.0, 12.0)
FALSE_ALARM = 1e-8


def law(noise):
    """Probabilities of all cells, a row for every point, from the whole numbers of each cell."""
    X = math.exp(noise.e)
    rows = []
    for start in noise.starts.tolist():
        weights = [
            sum(X if start <= number < start + noise.window else 1.0 for number in range(*ends))
            for ends in itertools.pairwise(noise.edges.tolist())
        ]
        rows.append(np.array(weights) / sum(weights))
    return np.array(rows)


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("e", BUDGETS)
def test_loss_bias_and_variance_by_enumeration(points, e):
    noise = CellsNoise(e, points - 1)
    probabilities = law(noise)
    assert noise._mass == pytest.approx(probabilities, rel=1e-12)
    loss = np.log(probabilities.max(axis=0) / probabilities.min(axis=0)).max()
    assert 0.999 * e <= loss <= e * (1 + 1e-12)
    readings = noise.shares(np.arange(probabilities.shape[1]))
    scale = np.arange(points) / (points - 1)
    # readings are whole numbers of units, which reach far where the budget is small
    assert probabilities @ readings == pytest.approx(scale, abs=1e-12 * max(np.ptp(readings), 1))
    variances = (probabilities * (readings - scale[:, None]) ** 2).sum(axis=1)
    assert noise._variances / 4 == pytest.approx(variances, rel=1e-9)
    mechanism = get_mechanism("cells", answers_of(points - 1))
    assert mechanism.reach(e) == pytest.approx(np.ptp(readings), rel=1e-9)
    common = probabilities.min(axis=0).sum()
    assert mechanism.informative(e) == pytest.approx(1 - common, rel=1e-9)


@pytest.mark.parametrize("points", range(FEWEST, MOST + 1))
def test_variances_are_never_above_the_plan_and_seldom_far_below(points):
    mechanism = get_mechanism("cells", answers_of(points - 1))
    budgets = np.concatenate([np.geomspace(1e-3, 0.4, 8), np.arange(0.4, 13.2, 0.0625), [15, 20, 30, 60]])
    planned = mechanism.variance(budgets)
    actual = np.array([CellsNoise(e, points - 1)._variances.max() / 4 for e in budgets.tolist()])
    assert np.all(actual <= planned)
    assert np.all(planned[budgets < 12] <= 1.08 * actual[budgets < 12])
    sine = get_mechanism("sine", answers_of()).variance(budgets)
    usual = (budgets >= 0.01) & (budgets <= 13)
    assert np.all(planned[usual] <= (1 if points <= 13 else 1.03) * sine[usual])


@pytest.mark.parametrize("points", range(FEWEST, MOST + 1))
def test_windows_are_distinct_and_mirror_each_other(points):
    for e in np.arange(0, 14, 0.25):
        noise = CellsNoise(max(e, 0.01), points - 1)
        assert np.all(np.diff(noise.starts) > 0)
        assert noise.starts[0] == 0
        assert np.array_equal(noise.starts + noise.starts[::-1], np.full(points, noise.line - noise.window))
        read = noise.in_units(np.arange(len(noise.edges) - 1))
        assert np.array_equal(read, -read[::-1])
        assert noise.nearest(noise.shares(np.arange(len(read)))).tolist() == [
            int(np.flatnonzero(read == each)[0]) for each in read
        ]


def least_by_intervals(points, e, rounds=40):
    """Least variance if every output is e times likelier for an interval of the points, and read as any number.

    Columns are an interval with a number; more numbers are added where they would lower the sum, until none
    does. What is then missing from the optimum is bounded by the reduced costs.
    """
    y, x = math.expm1(e), np.linspace(-1, 1, points)
    intervals = [(i, j) for i in range(points) for j in range(i, points)]
    inside = np.array([[i <= p <= j for p in range(points)] for i, j in intervals] + [[False] * points])
    odds = 1 + y * inside
    most = 1.2 / math.tanh(e / 2)
    column = np.repeat(np.arange(len(odds)), 9)
    number = np.tile(np.linspace(-most, most, 9), len(odds))
    for _ in range(rounds):
        F = odds[column].T
        ones, zeros = np.ones((points, 1)), np.zeros((points, 1))
        found = linprog(
            np.append(np.zeros(len(number)), 1),
            A_ub=np.hstack([F * number**2, -ones]),
            b_ub=x**2,
            A_eq=np.vstack([np.hstack([F, zeros]), np.hstack([F * number, zeros])]),
            b_eq=np.append(np.ones(points), x),
            method="highs",
        )
        spread = odds @ -found.ineqlin.marginals
        level, mean = odds @ found.eqlin.marginals[:points], odds @ found.eqlin.marginals[points:]
        best = mean / (2 * np.maximum(spread, 1e-300))
        cost = spread * best**2 - mean * best - level
        wanted = cost < -1e-7 * found.fun
        if not wanted.any():
            break
        column = np.append(column, np.flatnonzero(wanted))
        number = np.append(number, best[wanted])
    return found.fun / 4


def least_by_values(points, e, values=161):
    """The same with any probabilities, and outputs that are read as numbers on a grid: from above."""
    X, x = math.exp(e), np.linspace(-1, 1, points)
    read = np.linspace(-1.2, 1.2, values) / math.tanh(e / 2)
    k, n = points, values
    # probabilities of every point, the least of each output, and the largest variance
    same, none = np.kron(np.eye(k), np.ones(n)), np.zeros((k, n + 1))
    least = np.tile(np.eye(n), (k, 1))
    found = linprog(
        np.append(np.zeros(k * n + n), 1),
        A_ub=np.vstack(
            [
                np.hstack([np.eye(k * n), -X * least, np.zeros((k * n, 1))]),
                np.hstack([-np.eye(k * n), least, np.zeros((k * n, 1))]),
                np.hstack([np.kron(np.eye(k), read**2), np.zeros((k, n)), -np.ones((k, 1))]),
            ]
        ),
        b_ub=np.concatenate([np.zeros(2 * k * n), x**2]),
        A_eq=np.vstack([np.hstack([same, none]), np.hstack([np.kron(np.eye(k), read), none])]),
        b_eq=np.append(np.ones(k), x),
        method="highs",
    )
    return found.fun / 4


@pytest.mark.parametrize("e", [1.0, 4.0])
def test_two_linear_programs_agree(e):
    """Intervals lose nothing against any probabilities, and a grid of values very little."""
    intervals, values = least_by_intervals(3, e), least_by_values(3, e)
    assert intervals * (1 - 1e-6) <= values <= intervals * 1.01


@pytest.mark.parametrize("points", [3, 5, 7, 11])
@pytest.mark.parametrize("e", [1.0, 2.0, 4.0, 6.0])
def test_variances_are_close_to_the_least_there_can_be(points, e):
    least = least_by_intervals(points, e)
    actual = CellsNoise(e, points - 1)._variances.max() / 4
    planned = float(get_mechanism("cells", answers_of(points - 1)).variance(e))
    assert least * (1 - 1e-5) <= actual <= 1.01 * least
    assert planned <= 1.04 * least
    if e >= 4:  # the table in docs/explanation/least-noise.md
        page = (Path(__file__).parents[2] / "docs" / "explanation" / "least-noise.md").read_text()
        sine = float(get_mechanism("sine", answers_of()).variance(e))
        assert f"| {points} | {e:g} | {least:.5f} | {actual:.5f} | {planned:.5f} | {sine:.5f} |" in page


@pytest.mark.slow
@pytest.mark.parametrize("points", [3, 5, 11])
def test_real_draws_follow_the_law_and_a_law_1_percent_off_is_rejected(points):
    e, draws = 4.0, 1_500_000
    noise = CellsNoise(e, points - 1)
    for k in (0, points // 2):
        seen = np.bincount(noise.randomize(np.full(draws, k)), minlength=len(noise.edges) - 1)
        for budget, wrong in ((e, False), (1.01 * e, True)):
            judge = CellsNoise(budget, points - 1)
            assert np.array_equal(judge.edges, noise.edges)
            expected = draws * judge._mass[k]
            chance = stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), len(seen) - 1)
            assert bool(chance < FALSE_ALARM) is wrong


@pytest.mark.parametrize("steps", [None, 1, 21, 100])
def test_other_answers_are_refused(steps):
    with pytest.raises(InputError, match="Cells protect answers on a scale of 3 to 21 points, got"):
        get_mechanism("cells", answers_of(steps))


def test_simulated_release_has_the_law():
    mechanism, generator = get_mechanism("cells", answers_of(4)), np.random.default_rng(4)
    for k in range(5):
        draws = mechanism.simulated_release(np.full(400_000, k / 4), 3.0, generator)
        variance = CellsNoise(3.0, 4)._variances[k] / 4
        assert draws.mean() == pytest.approx(k / 4, abs=5 * math.sqrt(variance / 400_000))
        assert draws.var() == pytest.approx(variance, rel=0.02)


STRATA = dps.Strata([60_000, 9_000], [1.1, 0.8], names=["north", "south"])


@pytest.mark.parametrize(
    "more", [{}, {"release": "sums", "device_epsilon": 4.0}], ids=["microdata", "devices"]
)
def test_a_design_end_to_end_without_bias(more):
    """Answers at every point of a scale from 1 to 5, noised and estimated; 6 standard errors."""
    plan = dps.design(STRATA, epsilon=1, total=6000, questions=(1, 5, 1), mechanism="cells", **more)
    names = [name for name, n in zip(STRATA.names, plan.sample_sizes, strict=True) for _ in range(n)]
    answers = {
        name: np.resize([1, 2, 5, 5, 3], int(n))
        for name, n in zip(STRATA.names, plan.sample_sizes, strict=True)
    }
    noised = np.concatenate([reports_of(plan, name, answers[name]) for name in STRATA.names])
    truth = sum(
        size * answers[name].mean() for size, name in zip(STRATA.sizes, STRATA.names, strict=True)
    ) / sum(STRATA.sizes)
    if not more:
        estimate = estimate_means(plan, names, noised).whole[0]
        assert abs(estimate.estimate - truth) < 6 * estimate.standard_error
        assert estimate.standard_error <= 1.5 * plan.standard_error
    for name in STRATA.names:
        row = STRATA.names.index(name)
        e = 4.0 if more else float(plan.local_epsilons[row])
        limit = 6 * 4 * math.sqrt(float(plan.mechanism.variance(e)) / 16 / len(answers[name]))
        assert abs(noised[np.array(names) == name].mean() - answers[name].mean()) < limit


def test_the_best_for_a_scale_and_never_for_other_answers():
    for answers in ((1, 5, 1), (0, 10, 1)):
        plan = dps.design(STRATA, epsilon=1, total=900, questions=answers)
        assert plan.mechanism.name == "cells"
        assert len(plan.choice) <= 3
    shares = dps.Strata(STRATA.sizes, [0.4, 0.3], names=STRATA.names)
    for answers in ("yes_no", (0, 1), (0, 1, 0.01)):
        plan = dps.design(shares, epsilon=1, total=900, questions=answers)
        assert "cells" not in [row.mechanism for row in plan.choice]


@pytest.mark.parametrize(("mechanism", "answers"), [("cells", (1, 5, 1)), ("sine", (0, 8000))])
def test_readings_of_another_machine_are_recognised(mechanism, answers):
    """Devices may compute the last digits differently; nothing else is taken for a report."""
    plan = dps.design(
        dps.Strata([900], [0.4], names=["all"]),
        epsilon=1,
        total=40,
        release="sums",
        device_epsilon=3,
        questions=answers,
        mechanism=mechanism,
    )
    noise = noise_at(plan, 0)
    reports = reports_of(plan, "all", [answers[0]] * 20)
    known = steps_of_reports(plan, 0, reports)
    moved = reports + 0.9 * noise.slack * plan.inputs.space.range
    # of two cells that are read almost alike the other one may be found
    assert np.abs(steps_of_reports(plan, 0, moved) - known).max() <= noise.slack * noise.units
    with pytest.raises(dps.InputError, match="reports must be answers noised for this design"):
        steps_of_reports(plan, 0, [answers[0]])


@pytest.mark.parametrize("points", [3, 5, 11, 21])
@pytest.mark.parametrize("e", [0.5, 2.65, 6.0])
def test_reports_show_the_variance_of_their_noise_without_bias(points, e):
    """Whatever was answered, the mean over the cells is the variance of that answer, not the largest one."""
    noise, mechanism = CellsNoise(e, points - 1), get_mechanism("cells", answers_of(points - 1))
    read = noise.shares(np.arange(len(noise.edges) - 1))
    seen = mechanism.seen_variance(read, np.full(len(read), e))
    for k in range(points):
        mass = noise._mass[k]
        exact = mass @ (read - mass @ read) ** 2
        assert mass @ seen == pytest.approx(exact, rel=1e-8)


def test_pilots_learn_spreads_from_cells():
    """Answers in the middle of a scale, whose noise is far below the largest."""
    strata = dps.Strata([40_000], [1.0], names=["all"])
    first = dps.pilot(
        strata,
        epsilon=1,
        pilot_epsilon=0.5,
        total=3000,
        pilot_total=1500,
        questions=(1, 5, 1),
        mechanism="cells",
    )
    rng = np.random.default_rng(8)
    found = []
    for _ in range(40):
        answers = rng.choice([2.0, 3.0, 4.0], size=int(first.sample_sizes[0]), p=[0.1, 0.8, 0.1])
        reports = reports_of(first, "all", answers)
        published = microdata(["all"] * len(answers), reports)
        known = estimate_closely(first, published).questions["answer"].known.reports
        found.append(16 * float(known.variances[0] - known.constant[0]))
    error = np.std(found) / math.sqrt(len(found))
    assert np.mean(found) == pytest.approx(0.2, abs=5 * error)
    assert error < 0.04
