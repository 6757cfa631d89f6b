"""Gaussian noise: its equation, its numerics, and the promise it keeps."""

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

import dpstrata as dps
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.kernels import Step, point
from laws import probabilities
from problems import answers_of

EPS = np.finfo(float).eps
PROMISES = [(1.0, 1e-6), (0.1, 1e-6), (0.01, 1e-9), (3.0, 1e-5), (1.0, 1e-3), (10.0, 1e-12), (1.0, 0.009)]
PAPER = dps.Strata([7000, 8000, 9000, 10000], [math.sqrt(0.08**i) for i in (1, 2, 3, 4)])


def prepared(epsilon, delta):
    mechanism = get_mechanism("gaussian", answers_of())
    mechanism.prepare(epsilon, delta)
    most = math.log1p(0.01 * math.expm1(epsilon) / delta)
    return mechanism, np.exp(np.linspace(math.log(epsilon), math.log(most), 60))


def divergence(sigma, e, q):
    """δ at the budget e of a mixture: with probability q the answer that changes is in the sample.

    The integral of the positive part of one density less exp(e) times the other, both ways.
    """
    grid = np.linspace(-12 * sigma, 12 * sigma + 1, 400_001)
    p0, p1 = stats.norm.pdf(grid, 0, sigma), stats.norm.pdf(grid, 1, sigma)
    mixed = (1 - q) * p0 + q * p1
    return max(
        integrate.simpson(np.maximum(mixed - math.exp(e) * p0, 0), x=grid),
        integrate.simpson(np.maximum(p0 - math.exp(e) * mixed, 0), x=grid),
    )


def test_the_known_deviations():
    """For (1, 1e-6) at sampling rates 1, 0.1 and 0.01."""
    mechanism, _ = prepared(1.0, 1e-6)
    budgets = [math.log1p(math.expm1(1.0) / q) for q in (1.0, 0.1, 0.01)]
    assert np.sqrt(mechanism.variance(budgets)) == pytest.approx([4.225, 1.433, 0.776], abs=5e-4)


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_numerics(epsilon, delta):
    """Variance, derivatives and increase against the equation solved in mpmath; convexity and Newton's range."""
    mechanism, e = prepared(epsilon, delta)
    at = point(e)
    value, first, second = mechanism.remainder_slopes(at, whole=True)
    after = point(e * (1 - 1e-7))
    step = mechanism.remainder_step(Step(at, after, e - after.e), whole=True)
    error = 0.25 * mechanism.rounding * EPS
    with mpmath.workdps(50):
        for i in range(0, len(e), 7):
            x = mpmath.mpf(float(e[i]))
            exact = mechanism.exact_variance(x)
            assert abs(value[i] - exact) <= 4 * error * exact
            assert abs(first[i] - mpmath.diff(mechanism.exact_variance, x)) <= 1e-9 * abs(first[i])
            assert abs(second[i] - mpmath.diff(mechanism.exact_variance, x, 2)) <= 1e-7 * abs(second[i])
            increase = mechanism.exact_variance(mpmath.mpf(float(after.e[i]))) - exact
            assert abs(step[i] - increase) <= 4 * error * increase
    rho, first, second = mechanism.remainder_slopes(at)
    fall = rho + at.z * first
    bend = 2 * rho + (4 - at.z) * at.z * first + at.z**2 * second
    assert np.all(fall > 0)
    assert np.all((bend / fall > 0.9) & (bend / fall < 2.1))
    # the same for sums of raw answers
    fall, bend = 2 * rho + at.z * first, 6 * rho + (6 - at.z) * at.z * first + at.z**2 * second
    assert np.all(fall > -1e-9 * rho.max())
    assert np.all(bend > -1e-9 * rho.max())


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.5, 1e-4), (3.0, 1e-5)])
@pytest.mark.parametrize("q", [1.0, 0.3, 0.02])
def test_the_promise_holds_after_sampling_and_not_with_less_noise(epsilon, delta, q):
    """Integrate the densities of the subsampled mixture: δ is what was promised, and 2% less noise breaks it."""
    mechanism, _ = prepared(epsilon, delta)
    e = math.log1p(math.expm1(epsilon) / q)
    sigma = math.sqrt(float(mechanism.variance(e)))
    got = divergence(sigma, epsilon, q)
    assert got <= delta * (1 + 1e-6)
    assert got >= 0.9 * delta
    assert divergence(0.98 * sigma, epsilon, q) > 1.05 * delta


@pytest.mark.parametrize("release", ["microdata", "sums"])
def test_designs_are_certified_and_equal_trying_every_allocation(release):
    strata = dps.Strata([40, 60, 90], [0.3, 0.1, 0.45])
    options = {"epsilon": 1.0, "delta": 1e-4, "mechanism": "gaussian", "release": release}
    plan = dps.design(strata, total=30, **options)
    assert plan.certificate.optimal
    assert plan.sample_sizes.tolist() == dps.solve(plan.problem, "exhaustive").sizes.tolist()
    assert np.all(plan.sample_sizes >= 1e-4 / 0.01 * strata.sizes)


def test_documents_and_statement(tmp_path):
    plan = dps.design(PAPER, epsilon=1, delta=1e-6, mechanism="gaussian", total=200)
    plan.save(tmp_path / "d.json")
    assert dps.load_design(tmp_path / "d.json") == plan
    assert "delta = 1e-06" in plan.privacy["in_words"]
    assert plan.standard_error > 2 * dps.design(PAPER, epsilon=1, total=200).standard_error


# --- promises that a secret sample does not strengthen -----------------------------------------


@pytest.mark.parametrize(("promise", "v"), [({"zcdp": 0.5}, 1.0), ({"gdp": 2.0}, 0.25)])
def test_constant_noise_gives_neyman_with_more_spread(tmp_path, promise, v):
    """The design is Neyman's with S² + v, v the variance without any sampling; nothing is amplified."""
    options = {"mechanism": "gaussian", "finite_population": False, **promise}
    plan = dps.design(PAPER, total=200, **options)
    weight = (PAPER.sizes / PAPER.sizes.sum()) ** 2
    assert plan.noise_sds == pytest.approx(np.full(4, math.sqrt(v)))
    assert plan.variance == pytest.approx(np.sum(weight * (PAPER.sds**2 + v) / plan.sample_sizes))
    share = PAPER.sizes * np.sqrt(PAPER.sds**2 + v)
    assert plan.relaxed_sizes == pytest.approx(200 * share / share.sum())
    assert plan.certificate.optimal
    assert np.all(np.isnan(plan.local_epsilons))
    assert plan.table()["local_epsilon"] == [None] * 4
    assert "a secret sample does not strengthen this promise" in plan.privacy["in_words"]
    plan.save(tmp_path / "d.json")
    assert dps.load_design(tmp_path / "d.json") == plan
    assert dps.design(PAPER, at_most=34_000, **options).total == 34_000


def test_constant_noise_keeps_zcdp():
    """Rényi divergence of the noise on the grid: at most ρ·α for every order."""
    rho = 0.5
    plan = dps.design(PAPER, zcdp=rho, mechanism="gaussian", total=200)
    noise = plan.mechanism.on_grid(math.nan, plan.mechanism.grid_steps(math.nan))
    _, mass = probabilities(noise, 0)
    shifted = np.append(np.zeros(noise.steps), mass)[: len(mass)]
    inside = (mass > 0) & (shifted > 0)
    for alpha in (1.5, 2.0, 5.0, 20.0):
        terms = alpha * np.log(shifted[inside]) + (1 - alpha) * np.log(mass[inside])
        divergence = float(np.logaddexp.reduce(terms)) / (alpha - 1)
        assert divergence <= rho * alpha
        assert divergence >= 0.99 * rho * alpha or alpha > 5
    assert isinstance(dps.randomize(plan, "1", 0.5).value, float)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs one of epsilon, zcdp and gdp, got none of them"),
        ({"epsilon": 1, "zcdp": 1}, "got epsilon and zcdp"),
        ({"zcdp": 0.5, "mechanism": "laplace"}, "zcdp requires mechanism='gaussian'"),
        ({"gdp": -1, "mechanism": "gaussian"}, "gdp must lie between 1e-6 and 1e6, got gdp=-1"),
        (
            {"gdp": 1, "mechanism": "gaussian", "local_epsilon_cap": 3},
            "gdp does not go with local_epsilon_cap=3",
        ),
    ],
)
def test_promises_that_contradict(options, words):
    with pytest.raises(dps.InputError, match=words):
        dps.design(PAPER, total=200, **options)


def test_statements_name_every_part_of_the_promise():
    plan = dps.design(PAPER, epsilon=1, delta=1.2345644e-6, mechanism="gaussian", total=200, release="sums")
    assert "delta = 1.2345644e-06; for a noised sum" in plan.privacy["in_words"]
    assert plan.privacy["local"]["largest_delta"] == pytest.approx(
        1.2345644e-6 * (PAPER.sizes / plan.sample_sizes).max()
    )
    pilot = dps.Strata([7000, 8000], [0.2, 0.1], sd_sources="private_pilot", sd_epsilons=[0.3, 0.3])
    spent = dps.design(pilot, total=300, zcdp=0.5, mechanism="gaussian").privacy
    assert spent["central_in_all"] == {"zcdp": pytest.approx(0.545)}
    assert dps.design(pilot, total=300, gdp=0.5, mechanism="gaussian").privacy["central_in_all"] is None
    pure = dps.design(pilot, total=300, epsilon=1).privacy
    assert pure["central_in_all"] == {"epsilon": 1.3, "delta": 0.0}
    assert "spends 1.3 in total" in pure["in_words"]


@pytest.mark.parametrize(("epsilon", "delta"), [(100.0, 1e-300), (1.0, 1e-300), (0.01, 1e-150)])
def test_a_tiny_delta_is_refused_in_one_sentence(epsilon, delta):
    with pytest.raises(dps.InputError, match="delta of at least 1e-50"):
        dps.design(PAPER, epsilon=epsilon, delta=delta, mechanism="gaussian", total=200)
