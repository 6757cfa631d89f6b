"""One contract for every mechanism: variance, privacy loss, numerics, convexity."""

import itertools
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize

from dpstrata.errors import InputError
from dpstrata.privacy.mechanisms import MECHANISMS as REGISTRY
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.kernels import Point, Step, point
from problems import MECHANISMS, answers_of, is_additive, plain_variance

EPS = np.finfo(float).eps
BUDGETS = np.concatenate(
    [10 ** np.linspace(-6, 0.3, 60), np.linspace(1.9, 2.1, 9), 10 ** np.linspace(0.31, 2.1, 60)]
)

every_mechanism = pytest.mark.parametrize(("name", "steps"), MECHANISMS)
additive_mechanisms = pytest.mark.parametrize(
    ("name", "steps"), [pair for pair in MECHANISMS if is_additive(*pair)]
)


def test_the_contract_covers_the_registry():
    # Gaussian noise depends on the whole promise, and has its own tests in test_gaussian.py
    assert {*(name for name, _ in MECHANISMS), "gaussian"} == set(REGISTRY)


def densities(name, e, R, K):
    """Density or mass of the noise, written from its definition, and where it lives."""
    if name == "laplace":
        return lambda w: e / (2 * R) * math.exp(-e * abs(w) / R)
    if name == "tulap":
        b = math.exp(-e)
        return lambda w: (1 - b) / (1 + b) * b ** abs(math.floor(w / R + 0.5)) / R
    if name == "staircase":
        b = math.exp(-e)
        # the best width minimises the variance of the density below; found numerically, not by its formula
        width = optimize.minimize_scalar(
            lambda g: staircase_variance(b, g), bounds=(0, 1), method="bounded", options={"xatol": 1e-12}
        ).x
        height = (1 - b) / (2 * R * (width + b * (1 - width)))
        return lambda w: height * b ** (math.floor(abs(w) / R) + (abs(w) / R % 1 >= width))
    p = math.exp(-e / K)
    return lambda j: (1 - p) / (1 + p) * p ** abs(j)


def staircase_variance(b, width):
    """Second moment of the staircase density with stairs 1 wide, summed stair by stair."""
    height = (1 - b) / (2 * (width + b * (1 - width)))
    return sum(
        2 * height * b**k * (((k + width) ** 3 - k**3) + b * ((k + 1) ** 3 - (k + width) ** 3)) / 3
        for k in range(int(40 / -math.log(b)) + 5)
    )


@additive_mechanisms
@pytest.mark.parametrize("e", [0.3, 1.0, 5.15])
@pytest.mark.parametrize("R", [1.0, 2.5])
def test_variance_is_that_of_the_noise(name, steps, e, R):
    """Against quadrature or summation of the noise's own distribution."""
    density = densities(name, e, R, steps)
    if name == "staircase":
        width = optimize.minimize_scalar(
            lambda g: staircase_variance(math.exp(-e), g),
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-12},
        ).x
        variance = R**2 * staircase_variance(math.exp(-e), width)
    elif steps is None:
        edges = R * (np.arange(-400, 401) + 0.5)
        variance = sum(
            integrate.quad(lambda w: w * w * density(w), a, b)[0] for a, b in itertools.pairwise(edges)
        )
    else:
        reach = int(60 * steps / min(e, 1))
        variance = sum(j * j * density(j) for j in range(-reach, reach + 1)) * (R / steps) ** 2
    computed = float(get_mechanism(name, answers_of(steps, R)).variance(e))
    assert computed == pytest.approx(variance, rel=1e-7)


@additive_mechanisms
@pytest.mark.parametrize("e", [0.1, 1.0, 5.15])
@pytest.mark.parametrize("R", [1.0, 2.5, 0.4])
def test_the_loss_between_any_two_answers_is_at_most_the_budget(name, steps, e, R):
    """Shift the noise by every possible difference of two answers and compare densities."""
    density = densities(name, e, R, steps)
    worst = 0.0
    if steps is None:
        for shift in np.linspace(0, R, 41):
            for w in np.linspace(-6.123 * R, 6.123 * R, 301):
                worst = max(worst, abs(math.log(density(w) / density(w - shift))))
    else:
        for shift in range(steps + 1):
            for j in range(-3 * steps, 3 * steps + 1):
                worst = max(worst, abs(math.log(density(j) / density(j - shift))))
    assert worst <= e * (1 + 1e-9)
    assert worst >= 0.999 * e


def plain_parts(mechanism):
    """q and l of v(e) = R²(q/y² + l/y + ψ), of which they are close doubles: sixths, but for sine and cells."""
    if mechanism.name == "cells":
        return [mpmath.mpf(mechanism.square), mpmath.mpf(mechanism.linear)]
    exact = [mpmath.mpf(round(6 * part)) / 6 for part in (mechanism.square, mechanism.linear)]
    if mechanism.name == "sine":
        step, one = mpmath.mpf(10) ** -25, mpmath.mpf(1)
        exact[1] = mpmath.diff(
            lambda y: y**2 * plain_variance("sine", mpmath.log1p(y), one, None), 0, h=step, method="step"
        )
    assert [float(each) for each in exact] == pytest.approx([mechanism.square, mechanism.linear], rel=4 * EPS)
    return exact


@pytest.mark.slow
@every_mechanism
def test_kernels_keep_their_digits(name, steps):
    """Remainder, derivatives and increase against mpmath over the whole range of budgets."""
    mechanism = get_mechanism(name, answers_of(steps))
    with mpmath.workdps(60):

        def rho(x):
            whole = plain_variance(name, x, mpmath.mpf(1), steps)
            square, linear = plain_parts(mechanism)
            rest = whole - (square / mpmath.expm1(x) + linear) / mpmath.expm1(x)
            return rest if abs(rest) > mpmath.mpf(10) ** -50 * whole else mpmath.mpf(0)  # of 60 digits

        at = point(BUDGETS)
        got = mechanism.remainder_slopes(at)
        alone = mechanism.remainder(at)
        d = BUDGETS * 1e-9
        after = BUDGETS - d
        step = mechanism.remainder_step(Step(at, point(after), BUDGETS - after))
        # of sine noise, what is taken off just above its joint is 25 times what is left
        spacings = 64 if name == "sine" else 32
        for i, e in enumerate(map(mpmath.mpf, BUDGETS.tolist())):
            scale = abs(rho(e)) or 1
            assert abs(got[0][i] - rho(e)) <= 24 * EPS * scale
            assert abs(alone[i] - rho(e)) <= 24 * EPS * scale
            # derivatives only steer Newton's method: relative to ρ over the budget, loosely
            assert abs(got[1][i] - mpmath.diff(rho, e)) <= 1e-12 * scale / min(e, 1)
            assert abs(got[2][i] - mpmath.diff(rho, e, 2)) <= 1e-10 * scale / min(e, 1) ** 2
            increase = rho(mpmath.mpf(float(after[i]))) - rho(e)
            assert (
                abs(step[i] - increase)
                <= spacings * EPS * scale * mpmath.mpf(float(BUDGETS[i] - after[i])) + 1e-300
            )


@every_mechanism
def test_whole_variance_agrees_with_its_parts(name, steps):
    mechanism = get_mechanism(name, answers_of(steps))
    if mechanism.constant_remainder is not None:
        return  # never asked for the whole
    e = np.linspace(2.0, 60, 200)
    at = point(e)

    def parts(e):
        return (mechanism.square / np.expm1(e) + mechanism.linear) / np.expm1(e)

    assert mechanism.remainder(at, whole=True) == pytest.approx(mechanism.remainder(at) + parts(e), rel=1e-13)
    for share in (1e-6, 0.02, 0.5):
        step = Step(at, point(e * (1 - share)), e * share)
        after = step.after.e
        increase = mechanism.remainder_step(step, whole=True)
        assert increase == pytest.approx(mechanism.remainder_step(step) + parts(after) - parts(e), rel=1e-7)
        if share > 0.01:
            variances = mechanism.variance(after) - mechanism.variance(e)
            assert increase == pytest.approx(variances / mechanism.answer_range**2, rel=1e-9)


@every_mechanism
def test_the_terms_are_convex_over_every_budget_the_library_accepts(name, steps):
    """f'' > 0 for local noise: with e = ln(1 + C/n), n³f''/a² = 2S² + 2v + (4z − z²)v' + z²v''.

    S = 0 is the hardest case. The noise part, less its straight line (which has no second derivative), must
    not be negative at any budget that epsilon in [1e-6, 100] and sizes up to 10^12 can lead to.
    """
    mechanism = get_mechanism(name, answers_of(steps))
    e = np.concatenate([10 ** np.linspace(-6, 1, 4000), np.linspace(10, 128, 4000)])
    at = point(e)
    rho, first, second = mechanism.remainder_slopes(at)
    curvature = 2 * rho + (4 - at.z) * at.z * first + at.z**2 * second
    if mechanism.constant_remainder == 0:
        assert np.all(curvature == 0)  # a straight line
    else:
        assert np.all(curvature > (0.0 if name == "cells" else 0.05) * rho)
    # the core falls at least like n^(-1/2) and hardly faster than 1/n, which Newton's method relies on
    fall = rho + at.z * first
    if mechanism.constant_remainder != 0:
        assert np.all(fall > 0)
        assert np.all(curvature / fall <= 2.3)
        # noise of cells falls almost like a straight line where each of them belongs to one point
        assert np.all(curvature / fall >= (0.24 if name == "cells" else 1))


@additive_mechanisms
def test_the_terms_of_sums_are_convex_too(name, steps):
    """The noise part of f'' is n⁻⁴(6v + (6z − z²)v' + z²v''); the kernel's part, 4/(Cn³), is positive."""
    mechanism = get_mechanism(name, answers_of(steps))
    e = np.concatenate([10 ** np.linspace(-6, 1, 4000), np.linspace(10, 128, 4000)])
    at = point(e)
    rho, first, second = mechanism.remainder_slopes(at)
    curvature = 6 * rho + (6 - at.z) * at.z * first + at.z**2 * second
    fall = 2 * rho + at.z * first
    if mechanism.constant_remainder == 0:
        assert np.all(curvature == 0)
    else:
        assert np.all(fall > 0)
        assert np.all((curvature / fall >= 1.5) & (curvature / fall <= 3 + 1e-9))


def test_points_from_counts_and_from_budgets_agree():
    n, C = np.array([1.0, 50.0, 1e12]), np.array([1e-6, 300.0, 5e33])
    by_counts = Point(np.log1p(C / n), n, C)
    by_budget = point(by_counts.e)
    assert by_counts.b == pytest.approx(by_budget.b, rel=1e-12)
    assert by_counts.z == pytest.approx(by_budget.z, rel=1e-12)


def test_answers_off_the_grid_are_refused():
    with pytest.raises(InputError, match="protects answers on a grid, got any number in a range"):
        get_mechanism("discrete_laplace", answers_of())


def test_unknown_mechanism():
    with pytest.raises(
        InputError,
        match=r"mechanism must be one of sine, cells, laplace, discrete_laplace, .*, got mechanism='gauss'",
    ):
        get_mechanism("gauss", answers_of())


def test_variance_needs_a_budget():
    with pytest.raises(InputError, match="must be positive"):
        get_mechanism("laplace", answers_of()).variance([1.0, 0.0])


@pytest.mark.parametrize("e", [0.1, 1.0, 3.0, 5.15])
def test_randomized_response_by_its_two_outputs(e):
    """Flip probability, loss, bias and variance from the four numbers that define it."""
    flip = 1 / (1 + math.exp(e))
    assert math.log((1 - flip) / flip) == pytest.approx(e)
    outputs = [(-flip) / (1 - 2 * flip), (1 - flip) / (1 - 2 * flip)]
    mean = (1 - flip) * outputs[0] + flip * outputs[1]
    variance = (1 - flip) * outputs[0] ** 2 + flip * outputs[1] ** 2 - mean**2
    mechanism = get_mechanism("randomized_response", answers_of(1, 3.0))
    assert mean == pytest.approx(0, abs=1e-15)
    assert float(mechanism.variance(e)) == pytest.approx(9 * variance)


def test_randomized_response_is_for_two_values():
    for steps, words in ((None, "got any number in a range"), (4, "got 5 values")):
        with pytest.raises(InputError, match=f"protects answers of two values, {words}"):
            get_mechanism("randomized_response", answers_of(steps))


@pytest.mark.parametrize("k", [2, 3, 5, 20])
@pytest.mark.parametrize("e", [0.1, 1.0, 3.0, 5.15])
def test_category_response_by_its_table_of_probabilities(k, e):
    """Loss, bias, and half the sum of the variances, whatever was answered, from the k² numbers that define it."""
    x = math.exp(e)
    table = (np.ones((k, k)) + (x - 1) * np.eye(k)) / (x + k - 1)
    assert table.sum(axis=1) == pytest.approx(np.ones(k))
    assert math.log((table.max(axis=0) / table.min(axis=0)).max()) == pytest.approx(e)
    q, d = 1 / (x + k - 1), (x - 1) / (x + k - 1)
    outputs = (np.eye(k) - q) / d
    assert table @ outputs == pytest.approx(np.eye(k), abs=1e-12)
    mechanism = get_mechanism("category_response", answers_of(tuple(f"c{i}" for i in range(k))))
    variances = table @ outputs**2 - np.eye(k)
    assert variances.sum(axis=1) / 2 == pytest.approx(np.full(k, float(mechanism.variance(e))))
    assert variances.sum(axis=1) == pytest.approx(np.full(k, (k - 1) * (2 * x + k - 2) / (x - 1) ** 2))
    assert mechanism.noise_of_shares(np.array([0.0, 1.0]), np.full(2, e)) == pytest.approx(
        [variances[0, 1], variances[0, 0]]
    )


def test_two_categories_are_a_yes_no_question():
    yes_no, two = (
        get_mechanism("randomized_response", answers_of(1)),
        get_mechanism("category_response", answers_of(("yes", "no"))),
    )
    assert (two.square, two.linear, two.constant_remainder) == (yes_no.square, yes_no.linear, 0)
    np.testing.assert_allclose(two.variance(BUDGETS), yes_no.variance(BUDGETS), rtol=4 * EPS)


@pytest.mark.parametrize("k", [3, 20, 1000])
def test_no_share_is_noisier_than_half_the_sum_says(k):
    """So that the standard error of a design is an upper limit for every share."""
    mechanism = get_mechanism("category_response", answers_of(tuple(f"c{i}" for i in range(k))))
    for e in (1e-6, 0.1, 1.0, 3.0, 10.0):
        for share in (0.0, 0.2, 1.0):
            assert mechanism.noise_of_shares(share, e) <= mechanism.variance(e) * (1 + 1e-12)


@pytest.mark.parametrize("steps", [None, 1, 7])
def test_category_response_is_for_categories(steps):
    with pytest.raises(
        InputError, match=r"protects categories, got .*Name them, as in questions='rent\|own\|other'"
    ):
        get_mechanism("category_response", answers_of(steps))


@every_mechanism
def test_the_increase_of_the_variance_keeps_its_digits(name, steps):
    """What the cap on the local budget relies on."""
    mechanism = get_mechanism(name, answers_of(steps))
    e = BUDGETS[BUDGETS < 60]
    after = e * (1 - 1e-9)
    step = mechanism.variance_step(Step(point(e), point(after), e - after))
    with mpmath.workdps(60):
        for i in range(len(e)):
            one, two = (
                plain_variance(name, mpmath.mpf(float(x[i])), mpmath.mpf(1), steps) for x in (e, after)
            )
            assert abs(step[i] - (two - one)) <= 64 * EPS * abs(two - one) * max(e[i], 1) + 1e-300


@pytest.mark.parametrize("e", [0.5, 1.0, 3.0, 5.15])
def test_piecewise_by_its_density(e):
    """Loss, bias, variance and the estimate of the variance, by integrating the density of the paper."""
    root = math.exp(e / 2)
    bound = (root + 1) / (root - 1)
    high = math.exp(e) * (root - 1) / (2 * (root + 1)) / root  # inside the window; p of the paper
    low = high / math.exp(e)
    mechanism = get_mechanism("piecewise", answers_of(None, 2.0))
    worst = 0.0
    for t in np.linspace(-1, 1, 9):
        left = (bound + 1) / 2 * t - (bound - 1) / 2
        edges = [-bound, left, left + bound - 1, bound]

        def integral(f, edges=edges):
            parts = zip(itertools.pairwise(edges), (low, high, low), strict=True)
            return sum(height * integrate.quad(f, a, b)[0] for (a, b), height in parts)

        assert integral(lambda x: 1.0) == pytest.approx(1)
        assert integral(lambda x: x) == pytest.approx(t, abs=1e-12)
        variance = integral(lambda x: x * x) - t * t
        worst = max(worst, variance)
        # shares are (x + 1)/2, so their variance is a quarter of it
        estimate = integral(lambda x: float(mechanism.estimated_variance(np.array(x * x), np.array(e))))
        assert estimate == pytest.approx(variance / 4)
    assert worst == pytest.approx(float(mechanism.variance(e)))
    draws = mechanism.simulated_release(np.full(400_000, 0.75), e, np.random.default_rng(3))
    assert draws.mean() == pytest.approx(0.75, abs=4 * draws.std() / 632)
    mean_square = np.mean((2 * draws - 1) ** 2)
    assert draws.var() == pytest.approx(
        float(mechanism.estimated_variance(mean_square, np.array(e))), rel=0.03
    )


def test_the_noise_of_the_issue():
    """One yes/no answer and one real answer at a local budget of 5.15, and a real one at 3."""
    variance = {
        (name, e): float(get_mechanism(name, answers_of(steps)).variance(e))
        for name, steps in MECHANISMS
        if steps in (None, 1)
        for e in (3.0, 5.15)
    }
    assert variance["laplace", 5.15] == pytest.approx(0.0754, abs=5e-5)
    assert variance["randomized_response", 5.15] == pytest.approx(0.0059, abs=5e-5)
    assert variance["staircase", 5.15] == pytest.approx(0.0265, abs=5e-5)
    assert variance["piecewise", 3.0] == pytest.approx(0.123, abs=5e-4)
    assert variance["staircase", 3.0] == pytest.approx(0.153, abs=5e-4)


def test_the_table_in_the_docs():
    """Every figure of the table in docs/explanation/mechanisms.md."""
    page = (Path(__file__).parent.parent.parent / "docs" / "explanation" / "mechanisms.md").read_text()
    budgets = (1.0, 3.0, 5.15, 7.0)
    for name, steps in (pair for pair in MECHANISMS if pair[1] in (None, 1, 4, ("a", "b", "c"))):
        variances = get_mechanism(name, answers_of(steps)).variance(budgets)
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        assert row.endswith(" | ".join(f"{value:.4f}" for value in variances) + " |")
