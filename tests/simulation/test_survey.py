"""The prediction of a design holds in simulated surveys."""

import dataclasses

import numpy as np
import pytest

import dpstrata as dps
import problems
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.simulation.stratum import draw_without_replacement
from extent import crossed, few
from problems import OBJECTIVES, answers_of, is_additive

pytestmark = pytest.mark.slow

MECHANISMS = (
    ("laplace", (0, 1)),
    ("tulap", (0, 1)),
    ("discrete_laplace", "yes_no"),
    ("discrete_laplace", (0, 1, 0.1)),
)
RELEASES = {
    "microdata": {"release": "microdata", "mechanism": "laplace"},
    "sums": {"release": "sums", "mechanism": "laplace"},
    "two layers": {"release": "sums", "mechanism": "laplace", "device_epsilon": 3},
    "mean": {"release": "mean"},
}


def make_population(answers, rng, sizes=(500, 800, 300)):
    """Skewed real answers, or answers on the grid."""
    population = []
    for i, size in enumerate(sizes):
        values = rng.beta(0.5 + i, 2, size)
        if answers == "yes_no":
            values = np.rint(values)
        elif len(answers) == 3:
            values = np.rint(values / answers[2]) * answers[2]
        population.append(values)
    return population


@pytest.mark.parametrize(
    ("noise", "objective", "finite_population"), crossed(MECHANISMS, OBJECTIVES, [True, False], times=2)
)
def test_the_prediction_holds(noise, objective, finite_population):
    mechanism, answers = noise
    population = make_population(answers, np.random.default_rng(4))
    strata = dps.Strata(
        [len(values) for values in population],
        [values.std(ddof=1) for values in population],
        coefficients=[0.2, -1, 0.6],
    )
    plan = dps.design(
        strata,
        epsilon=2,
        total=400,
        mechanism=mechanism,
        questions=answers,
        objective=objective,
        finite_population=finite_population,
    )
    result = dps.simulate(plan, population, replications=4000, seed=11)
    assert result.agrees(4), result


def test_it_would_notice_a_wrong_variance():
    """The same comparison rejects a prediction that is 10% off."""
    population = make_population((0, 1), np.random.default_rng(4))
    strata = dps.Strata([len(v) for v in population], [v.std(ddof=1) for v in population])
    plan = dps.design(strata, epsilon=2, total=400, mechanism="laplace")
    result = dps.simulate(plan, population, replications=20_000, seed=11)
    assert abs(result.variance - 1.1 * result.predicted_variance) > 4 * result.variance_error
    assert result.agrees()


@pytest.mark.parametrize(("rate", "release"), crossed([0.1, 0.33, 0.6, 0.97, 1.0], [*RELEASES], times=2))
def test_response_rates_cost_what_was_planned(rate, release):
    """The standard error within 3%, in `make slow` the variance; 6 to 12 answers are expected in each stratum."""
    invited = np.array([6, 8, 12])
    sizes = np.array([800, 1201, 3000])
    mins = np.ceil(invited / rate).astype(int)
    strata = dps.Strata(
        sizes, [0.3, 0.4, 0.2], response_rates=[rate] * 3, mins=np.minimum(mins, sizes * rate)
    )
    plan = dps.design(strata, epsilon=1, total=int(mins.sum()), **RELEASES[release])
    repeats = few(10_000, of=40_000)
    result = dps.simulate(plan, dps.synthetic_population(plan), replications=repeats, seed=4)
    assert abs(result.bias) <= 4 * result.bias_error
    assert result.variance == pytest.approx(plan.variance, rel=few(0.06, of=0.03))
    assert abs(result.variance_z) <= 4


def test_a_worst_case_agrees_with_whatever_is_better_and_with_nothing_worse():
    """Piecewise noise is planned for answers at the ends; those in the middle get less of it."""
    strata = dps.Strata([700, 900], [0.1, 0.1])
    plan = dps.design(strata, epsilon=1, total=60, mechanism="piecewise")
    better = dps.simulate(plan, dps.synthetic_population(plan), replications=5000, seed=1)
    assert better.variance_z < -4
    assert better.agrees()
    assert "predicted at most" in repr(better)
    ends = [np.repeat([0.0, 1.0], N // 2) for N in strata.sizes]  # spread more than was said
    assert not dps.simulate(plan, ends, replications=5000, seed=1).agrees()
    exact = dataclasses.replace(better, worst_case=False)
    assert not exact.agrees()


def test_a_seed_repeats_it_and_another_does_not():
    plan = dps.design(dps.Strata([700, 901], [0.3, 0.1]), epsilon=1, total=40)
    population = dps.synthetic_population(plan)
    first, again, other = (dps.simulate(plan, population, replications=100, seed=s) for s in (1, 1, 2))
    assert (first.variance, first.bias) == (again.variance, again.bias)
    assert first.variance != other.variance
    assert "protects nobody" in repr(first)


def test_synthetic_populations_have_the_designs_deviations():
    strata = dps.Strata([2, 3, 700, 901, 1], [0.7, 0.4, 0.3, 0.5, 0])
    plan = dps.design(strata, epsilon=1, total=40)
    for values, size, sd in zip(dps.synthetic_population(plan), strata.sizes, strata.sds, strict=True):
        assert len(values) == size
        assert np.all((values >= 0) & (values <= 1))
        assert (values.std(ddof=1) if size > 1 else 0.0) == pytest.approx(sd)


@pytest.mark.parametrize(("population", "n"), [(5, 2), (5, 4), (6, 6)])
def test_samples_are_uniform_over_subsets(population, n):
    rng = np.random.default_rng(0)
    draws = np.sort(draw_without_replacement(population, n, 30_000, rng), axis=1)
    subsets, counts = np.unique(draws, axis=0, return_counts=True)
    expected = 30_000 / len(subsets)
    assert len(subsets) == {(5, 2): 10, (5, 4): 5, (6, 6): 1}[population, n]
    assert np.all(np.abs(counts - expected) <= 5 * np.sqrt(expected) + 1e-9)


@pytest.mark.parametrize(("mechanism", "steps"), [pair for pair in problems.MECHANISMS if is_additive(*pair)])
def test_simulated_noise_has_the_right_moments(mechanism, steps):
    noise = get_mechanism(mechanism, answers_of(steps, 2.0))
    draws = noise.simulated_noise(0.8, (400_000,), np.random.default_rng(1))
    error = np.std(draws**2) / np.sqrt(len(draws))
    assert abs(draws.mean()) < 5 * draws.std() / np.sqrt(len(draws))
    assert abs(np.mean(draws**2) - float(noise.variance(0.8))) < 5 * error


@pytest.mark.parametrize(
    ("population", "words"),
    [
        ([[0.5] * 700], "must have 2 strata, got 1"),
        ([[0.5] * 700, [0.5] * 9], "stratum '2' must have 901 answers, got 9"),
        ([[0.5] * 700, [1.5] * 901], r"answers must lie in \[0, 1\], got 901 of 901 outside in stratum '2'"),
        ({"1": [0.5] * 700}, "must have every stratum, got none for '2'"),
    ],
)
def test_populations_that_do_not_fit(population, words):
    plan = dps.design(dps.Strata([700, 901], [0.3, 0.1]), epsilon=1, total=40)
    with pytest.raises(dps.InputError, match=words):
        dps.simulate(plan, population)


def test_no_answer_appears_in_an_error():
    plan = dps.design(dps.Strata([2, 3], [0.3, 0.1]), epsilon=1, total=2)
    with pytest.raises(dps.InputError) as caught:
        dps.simulate(plan, [["secret-diagnosis"] * 2, [0.1] * 3])
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("size", [4, 20])
def test_without_the_correction_small_strata_agree_too(size):
    strata = dps.Strata([size, size + 1], [0.4, 0.3])
    plan = dps.design(strata, epsilon=5, total=size, finite_population=False)
    result = dps.simulate(plan, dps.synthetic_population(plan), replications=100_000, seed=3)
    assert abs(result.variance_z) < 4


@pytest.mark.parametrize(("mechanism", "answers"), MECHANISMS)
def test_synthetic_populations_agree_for_every_mechanism(mechanism, answers):
    strata = dps.Strata([7000, 9001, 3000], [0.3, 0.45, 0.2])
    plan = dps.design(strata, epsilon=2, total=300, mechanism=mechanism, questions=answers)
    population = dps.synthetic_population(plan)
    for values, sd in zip(population, plan.sds, strict=True):
        assert values.std(ddof=1) == pytest.approx(sd, rel=0.01)
    assert dps.simulate(plan, population, replications=3000, seed=5).agrees()


def test_a_grid_too_coarse_for_the_spread_is_named():
    strata = dps.Strata([7000, 10000], [0.283, 0.0064], names=["A", "D"])
    plan = dps.design(strata, epsilon=1, total=100, mechanism="discrete_laplace", questions="yes_no")
    with pytest.raises(
        dps.InputError,
        match=r"stratum 'D' would need a standard deviation of 0.0064 with answers in \[0, 1\]",
    ):
        dps.synthetic_population(plan)


def test_other_wrong_arguments():
    grid = dps.design(dps.Strata([700, 901], [0.3, 0.1]), epsilon=1, total=40, questions=(0, 1, 0.1))
    with pytest.raises(dps.InputError, match="answers must lie on the grid"):
        dps.simulate(grid, [np.full(700, 0.55), np.full(901, 0.5)])
    good = [np.full(700, 0.5), np.full(901, 0.5)]
    for options in (
        {"replications": 1},
        {"replications": 10.0},
        {"seed": -1},
        {"seed": None},
        {"seed": True},
    ):
        with pytest.raises(dps.InputError, match="must be a whole number >="):
            dps.simulate(grid, good, **options)
    for wrong in (None, iter(good), "text"):
        with pytest.raises(dps.InputError, match="population must"):
            dps.simulate(grid, wrong)
    with pytest.raises(dps.InputError, match="got 2 dimensions"):
        dps.simulate(grid, [np.full((7, 100), 0.5), np.full(901, 0.5)])
    with pytest.raises(dps.InputError, match="must have 2 strata, got 3"):
        dps.simulate(grid, {"1": good[0], "2": good[1], "3": good[1]})


def test_incomes_are_shown_without_an_exponent():
    plan = dps.design(dps.Strata([300, 400], [9000, 8000]), epsilon=1, total=50, questions=(0, 50000))
    shown = repr(dps.simulate(plan, dps.synthetic_population(plan), replications=50))
    assert "e+" not in shown


# --- categories -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objective", "finite_population", "rate"), crossed(OBJECTIVES, [True, False], [None, 0.6], times=2)
)
def test_the_prediction_holds_for_shares(objective, finite_population, rate):
    names, rng = ["rent", "own", "other", "none"], np.random.default_rng(4)
    population = [rng.choice(names, size, p=[0.5, 0.3, 0.15, 0.05]) for size in (500, 800, 300)]
    indicators = [(values[:, None] == np.array(names)).astype(float) for values in population]
    sds = [np.sqrt(each.var(axis=0, ddof=1).sum() / 2) for each in indicators]
    strata = dps.Strata([500, 800, 300], sds, coefficients=[0.2, -1, 0.6])
    options = {"objective": objective, "finite_population": finite_population, "response_rate": rate}
    plan = dps.design(strata, epsilon=2, total=400, questions=names, **options)
    result = dps.simulate(plan, population, replications=3000, seed=11)
    assert result.agrees(4), result
    assert not dataclasses.replace(result, predicted_variance=1.1 * plan.variance).agrees(4)


def test_made_up_categories_have_the_spread_of_the_design():
    plan = dps.design(dps.Strata([500, 300], [0.4, 0.55]), epsilon=2, total=100, questions=["a", "b", "c"])
    population = dps.synthetic_population(plan)
    assert [len(values) for values in population] == [500, 300]
    assert dps.simulate(plan, population, replications=2000, seed=3).agrees()
