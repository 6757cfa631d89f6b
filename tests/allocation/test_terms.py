import mpmath
import numpy as np
import pytest

from extent import few
from problems import (
    MECHANISMS,
    OBJECTIVES,
    is_additive,
    make_problem,
    plain_objective,
    plain_term,
    random_problem,
)

EPS = np.finfo(float).eps


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("seed", range(few(100, of=300)))
def test_gains_keep_their_digits(seed, beyond):
    """Each gain is within a quarter of its stated error, at any size, budget, mechanism and objective."""
    problem = random_problem(np.random.default_rng(seed), beyond=beyond)
    terms = problem.terms
    rng = np.random.default_rng(seed + 10**6)
    k = len(terms)
    terms = terms.measured_from(int(rng.integers(k)))
    n = np.maximum(1, np.floor(terms.sizes ** rng.random(k)).astype(np.int64))
    if (
        beyond and terms.kinks is not None and rng.random() < 0.5
    ):  # the person whose gain spans the kink, or a neighbour
        n = np.clip(terms.kinks + rng.integers(-1, 2, k), 1, terms.sizes).astype(np.int64)
    gain = terms.gain(n.astype(float))
    error = terms.gain_error(gain)
    with mpmath.workdps(80):
        j = int(np.argmin(np.abs((terms.tilts if terms.tilts is not None else np.zeros(k)) - terms.origin)))
        origin = exact_tilt(problem, j)
        for i in range(k):
            exact = terms.exact_gain(i, int(n[i]))
            assert abs(gain[i] - (exact + origin)) <= 0.25 * error[i] + abs(exact) * 1e-60


def exact_tilt(problem, row):
    terms = problem.terms
    mp = mpmath.mp
    N = mp.mpf(int(terms.sizes[row]))
    a = {
        "mean": N / int(terms.sizes.sum()),
        "unit_free": 1 / mp.mpf(float(problem.forms.sds[row]) or 1.0),
    }.get(terms.objective, mp.mpf(float(terms.coefficients[row])))
    c = mp.expm1(mp.mpf(terms.promise.epsilon))
    r = mp.mpf(1 if terms.response_rates is None else float(terms.response_rates[row]))
    noise = problem.forms.fitted
    R = mp.mpf(noise.answer_range)
    if terms.noise_power == 2:
        return mp.mpf(0)
    square = mp.mpf(round(6 * noise.square)) / 6
    if noise.name == "cells":  # a double, as it is
        square = mp.mpf(noise.square)
    return square * (R * a / (c * N)) ** 2 / r**3


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_values_and_exact_gains_agree_with_the_plain_formula(seed, beyond):
    problem = random_problem(np.random.default_rng(seed), beyond=beyond)
    n = problem.lower.copy()
    with mpmath.workdps(150):
        plain = plain_objective(problem, n)
        assert problem.objective(n) == pytest.approx(float(plain), rel=1e-12)
        more = n + 1
        step = sum(problem.terms.exact_gain(i, int(n[i])) for i in range(len(n)))
        assert abs(step - (plain - plain_objective(problem, more))) <= abs(plain) * mpmath.mpf(10) ** -100


@pytest.mark.parametrize(("mechanism", "steps"), MECHANISMS)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("rates", [None, [0.05, 0.6, 1.0]])
def test_derivatives(mechanism, steps, objective, epsilon, rates):
    problem = make_problem(
        [7000, 800, 10**9],
        [0.283, 0.08, 0.3],
        epsilon=epsilon,
        total=100,
        mechanism=mechanism,
        steps=steps,
        objective=objective,
        coefficients=[1.0, -2.0, 0.5],
        response_rates=rates,
        release="sums"
        if rates is not None and objective == "trace" and is_additive(mechanism, steps)
        else "microdata",
    )
    terms = problem.terms
    x = np.array([61.5, 300.25, 12345678.5])
    W, H = terms.curve(x)
    tilts = np.full(3, terms.origin) if terms.tilts is None else terms.tilts
    for i in range(3):

        def f(size, i=i):
            return plain_term(problem, i, size)

        with mpmath.workdps(60):
            slope, curvature = mpmath.diff(f, mpmath.mpf(x[i])), mpmath.diff(f, mpmath.mpf(x[i]), 2)
        A = terms.scale[i]
        assert A * W[i] / x[i] ** 2 - tilts[i] == pytest.approx(float(-slope), rel=1e-9, abs=1e-13 * tilts[i])
        assert A * H[i] / x[i] ** 3 == pytest.approx(float(curvature), rel=1e-9)


def test_blocks_do_not_change_values(monkeypatch):
    rng = np.random.default_rng(1)
    problem = make_problem(rng.integers(10, 10**6, 1000), rng.uniform(0, 0.5, 1000), total=10**5)
    n = rng.integers(1, 10, 1000).astype(float)
    whole = problem.terms.gain(n), problem.terms.values(n)
    monkeypatch.setattr("dpstrata.numerics.arrays.BLOCK", 7)
    assert np.allclose(problem.terms.gain(n), whole[0], rtol=1e-14, atol=0)
    assert np.allclose(problem.terms.values(n), whole[1], rtol=1e-14, atol=0)
    rows = np.arange(1000)[::-1].copy()
    assert np.allclose(problem.terms.gain(n, rows)[::-1], problem.terms.gain(n[::-1].copy()), rtol=1e-14)


def test_budgets_between_bounds_are_those_at_the_bounds():
    for seed in range(40):
        terms = random_problem(np.random.default_rng([8, seed]), beyond=True).terms
        least = np.maximum(terms.sizes // 7, 1)
        low, high = terms.budgets_between(least, terms.sizes)
        assert low == pytest.approx(terms.budgets(terms.sizes.astype(float)).e.min(), rel=1e-12)
        assert high == pytest.approx(terms.budgets(least.astype(float)).e.max(), rel=1e-12)
