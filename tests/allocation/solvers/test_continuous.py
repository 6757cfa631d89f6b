import mpmath
import numpy as np
import pytest
from scipy import optimize

from dpstrata.allocation.solvers.exhaustive import solve_by_first_stage
from dpstrata.allocation.solvers.solve import solve
from problems import PAPER_SDS, PAPER_SIZES, make_problem, plain_term


@pytest.mark.parametrize(
    ("mechanism", "steps", "tau"),
    [
        ("discrete_laplace", 1, lambda S: S),
        ("tulap", None, lambda S: np.sqrt(S**2 + 1 / 12)),
    ],
)
def test_closed_forms_of_the_paper(mechanism, steps, tau):
    sizes, sds = np.array(PAPER_SIZES), np.array(PAPER_SDS)
    problem = make_problem(sizes, sds, total=200, mechanism=mechanism, steps=steps)
    shares = sizes * tau(sds)
    assert solve(problem, "continuous").sizes == pytest.approx(200 * shares / shares.sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("mechanism", "steps"), [("laplace", None), ("tulap", None), ("discrete_laplace", 9)]
)
def test_pure_noise_is_proportional(mechanism, steps):
    problem = make_problem([1000, 2000, 3000], [0, 0, 0], total=300, mechanism=mechanism, steps=steps)
    assert solve(problem, "continuous").sizes == pytest.approx([50, 100, 150], rel=1e-12)


@pytest.mark.parametrize("sds", [[0, 0], [0.1, 0.3]])
@pytest.mark.parametrize("mechanism", ["laplace", "tulap", "discrete_laplace"])
def test_the_price_is_the_derivative(sds, mechanism):
    problem = make_problem([1000, 2000], sds, total=600, mechanism=mechanism, steps=3)
    result = solve(problem, "continuous")
    for i in range(2):
        slope = -mpmath.diff(lambda size, i=i: plain_term(problem, i, size), result.sizes[i])
        assert result.price == pytest.approx(float(slope), rel=1e-6)


@pytest.mark.parametrize("mechanism", ["discrete_laplace", "tulap"])
@pytest.mark.parametrize("objective", ["mean", "trace", "unit_free"])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_closed_forms_equal_the_iteration(monkeypatch, mechanism, objective, epsilon):
    """Hide that the remainder is constant, so that Newton's method has to find the same."""
    problem = make_problem(
        PAPER_SIZES,
        PAPER_SDS,
        epsilon=epsilon,
        total=700,
        mechanism=mechanism,
        steps=1,
        objective=objective,
        upper=[300, 300, 300, 300],
    )
    closed = solve(problem, "continuous")
    monkeypatch.setattr(type(problem.terms), "falls_like_inverse", False)
    monkeypatch.setattr(type(problem.terms), "_whole", lambda self, at: False)
    iterated = solve(problem, "continuous")
    assert iterated.sizes == pytest.approx(closed.sizes, rel=1e-9)
    assert iterated.price == pytest.approx(closed.price, rel=1e-6)


@pytest.mark.parametrize("objective", ["mean", "trace", "custom"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_agrees_with_a_general_optimiser(objective, epsilon):
    problem = make_problem(
        [1000, 2000, 3000, 700],
        [0.28, 0.15, 0.08, 0.5],
        epsilon=epsilon,
        total=900,
        objective=objective,
        coefficients=[0.2, 1.0, 0.7, 0.4],
        upper=[200, 2000, 3000, 350],
    )
    ours = solve(problem, "continuous")
    scale = problem.objective(ours.sizes)
    general = optimize.minimize(
        lambda x: problem.objective(x) / scale,
        np.full(4, 200.0),
        method="SLSQP",
        bounds=list(zip(problem.lower, problem.upper, strict=True)),
        constraints={"type": "eq", "fun": lambda x: x.sum() / 900 - 1},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert problem.objective(ours.sizes) <= problem.objective(general.x) * (1 + 1e-9)
    assert problem.objective(ours.sizes) >= problem.objective(general.x) * (1 - 1e-4)
    inside = (ours.sizes > problem.lower + 1e-6) & (ours.sizes < problem.upper - 1e-6)
    assert inside.sum() >= 2
    for i in np.flatnonzero(inside):  # Karush, Kuhn, Tucker: one price for all, by numerical derivatives
        with mpmath.workdps(40):
            slope = -mpmath.diff(lambda size, i=i: plain_term(problem, i, size), mpmath.mpf(ours.sizes[i]))
        assert float(slope) == pytest.approx(ours.price, rel=1e-6)


def test_the_price_is_the_marginal_gain_and_can_be_negative():
    for total, sign in ((200, 1), (30_000, -1)):
        problem = make_problem(PAPER_SIZES, PAPER_SDS, epsilon=0.1, total=total)
        price = solve(problem, "continuous").price
        more = make_problem(PAPER_SIZES, PAPER_SDS, epsilon=0.1, total=total + 1)
        change = problem.objective(solve(problem, "continuous").sizes) - more.objective(
            solve(more, "continuous").sizes
        )
        assert price == pytest.approx(change, rel=0.02)
        assert np.sign(price) == sign


def test_the_papers_radius_can_miss_the_optimum_by_its_own_lemma():
    """f_i = A_i/n: the optimum is farther from x* than r, which the paper's lemma excludes.

    Without noise (epsilon = 100 leaves 1e-4 of it) A_i = a_i²S_i².
    """
    A = np.array([285.003, 282.5865, 254.8189])
    problem = make_problem(
        [10**6] * 3,
        np.full(3, 0.5),
        epsilon=100.0,
        total=22,
        mechanism="discrete_laplace",
        steps=1,
        objective="custom",
        coefficients=np.sqrt(A) / 0.5,
    )
    stage = solve_by_first_stage(problem)
    best = solve(problem).sizes
    assert best.tolist() == [8, 7, 7]
    assert np.linalg.norm(best - stage.relaxed_sizes) == pytest.approx(0.690, abs=1e-3)
    assert stage.radius == pytest.approx(0.688, abs=1e-3)
    assert solve(problem, "algorithm1").sizes.tolist() == [8, 7, 7]
