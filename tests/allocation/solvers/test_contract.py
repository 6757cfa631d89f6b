"""One contract for every solver."""

import heapq
import math

import mpmath
import numpy as np
import pytest

from dpstrata.allocation.proof.certificate import certify
from dpstrata.allocation.solvers.solve import solve
from dpstrata.errors import InfeasibleError, InputError
from extent import few
from problems import MECHANISMS, OBJECTIVES, make_problem, plain_objective, random_problem

INTEGER_METHODS = ("exact", "algorithm1", "exhaustive")


def check_feasible(problem, sizes):
    assert np.all(sizes >= problem.lower)
    assert np.all(sizes <= problem.upper)
    assert sizes.sum() == pytest.approx(problem.total, rel=1e-12)


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("batch", range(few(5, of=40)))
def test_exact_equals_exhaustive(batch, beyond):
    """Random problems over all mechanisms, objectives, bounds, K and epsilon; then with caps too."""
    for seed in range(50):
        problem = random_problem(np.random.default_rng([batch, seed]), beyond=beyond)
        exact, judge = solve(problem), solve(problem, "exhaustive")
        check_feasible(problem, exact.sizes)
        assert exact.sizes.tolist() == judge.sizes.tolist(), (batch, seed)
        assert certify(problem, exact.sizes).optimal, (batch, seed)
        relaxed = solve(problem, "continuous")
        check_feasible(problem, relaxed.sizes)
        with mpmath.workdps(60):
            best = plain_objective(problem, exact.sizes)
            # shares add up to the total within 1e-14 of it, so the value can be off by that many people
            rounding = abs(relaxed.price) * problem.total * 1e-14
            assert plain_objective(problem, relaxed.sizes) <= best * (1 + mpmath.mpf(10) ** -13) + rounding


def test_sine_around_its_joint_equals_exhaustive():
    """Few people of small strata, so that one more person takes a budget from one branch to the other."""
    rng = np.random.default_rng(5)
    for i in range(300):
        k = int(rng.integers(2, 5))
        sizes = np.floor(10 ** rng.uniform(0.7, 4, k)).astype(int)
        lower = np.minimum(rng.integers(1, 3, k), sizes)
        upper = np.minimum(sizes, lower + rng.integers(1, 10, k))
        problem = make_problem(
            sizes,
            10 ** rng.uniform(-3, -0.31, k),
            epsilon=float(10 ** rng.uniform(-1.5, 1)),
            total=int(rng.integers(lower.sum(), upper.sum() + 1)),
            mechanism="sine",
            objective=("mean", "trace")[i % 2],
            lower=lower,
            upper=upper,
        )
        exact, judge = (problem.objective(solve(problem, how).sizes) for how in ("exact", "exhaustive"))
        assert exact == pytest.approx(judge, rel=1e-13)


@pytest.mark.parametrize("seed", range(few(30, of=200)))
def test_algorithm1_finds_the_same_value(seed):
    """Its ball is not proven to contain the optimum, but on these problems it does."""
    problem = random_problem(np.random.default_rng([7, seed]), most_strata=4, room=8)
    result = solve(problem, "algorithm1")
    check_feasible(problem, result.sizes)
    assert problem.objective(result.sizes) == pytest.approx(
        problem.objective(solve(problem).sizes), rel=1e-12
    )


def plain_greedy(problem):
    """Add one person at a time where the objective falls most; plain floats, plain formula."""
    terms = problem.terms
    c, K = math.expm1(terms.promise.epsilon), problem.forms.fitted.space.steps
    kind, R = problem.forms.fitted.name, problem.forms.fitted.answer_range

    def f(i, n):
        e = math.log1p(c * N[i] / n)
        if kind == "laplace":
            v = 2 * R * R / (e * e)
        elif kind == "tulap":
            v = R * R * (1 / 12 + 2 * math.exp(-e) / math.expm1(-e) ** 2)
        else:
            v = (R / K) ** 2 * 2 * math.exp(-e / K) / math.expm1(-e / K) ** 2
        return a2[i] * (S2[i] + v) / n

    N, S2 = terms.sizes.tolist(), terms.variances.tolist()
    a2, upper = (terms.coefficients**2).tolist(), problem.upper.tolist()
    n = problem.lower.tolist()
    heap = [(f(i, n[i] + 1) - f(i, n[i]), i) for i in range(len(n)) if n[i] < upper[i]]
    heapq.heapify(heap)
    for _ in range(problem.total - sum(n)):
        _, i = heapq.heappop(heap)
        n[i] += 1
        if n[i] < upper[i]:
            heapq.heappush(heap, (f(i, n[i] + 1) - f(i, n[i]), i))
    return n


@pytest.mark.parametrize(
    ("k", "total", "mechanism", "steps", "objective"),
    [
        (10, 2_000, "laplace", None, "mean"),
        (100, 20_000, "tulap", None, "trace"),
        (100, 20_000, "discrete_laplace", 5, "unit_free"),
        (100, 20_000, "laplace", None, "custom"),
        (300, 100_000, "discrete_laplace", 100, "mean"),
        (1000, 1_000_000, "laplace", None, "mean"),
    ],
)
def test_exact_equals_plain_greedy(k, total, mechanism, steps, objective):
    rng = np.random.default_rng(k)
    problem = make_problem(
        10 ** rng.uniform(3, 6, k),
        10 ** rng.uniform(-2, -0.31, k),
        total=total,
        mechanism=mechanism,
        steps=steps,
        objective=objective,
        coefficients=rng.uniform(0.5, 2, k),
    )
    assert solve(problem).sizes.tolist() == plain_greedy(problem)


@pytest.mark.parametrize("method", INTEGER_METHODS)
@pytest.mark.parametrize(("mechanism", "steps"), MECHANISMS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_integer_solver_is_certified_on_a_plain_problem(method, mechanism, steps, objective):
    problem = make_problem(
        [70, 80, 90],
        [0.28, 0.08, 0.02],
        total=25,
        mechanism=mechanism,
        steps=steps,
        objective=objective,
        coefficients=[1, 2, 3],
    )
    result = solve(problem, method)
    check_feasible(problem, result.sizes)
    assert certify(problem, result.sizes).optimal


@pytest.mark.parametrize("seed", range(40))
def test_permuting_strata_permutes_the_design(seed):
    rng = np.random.default_rng([3, seed])
    k = 30
    sizes, sds = rng.integers(100, 10**5, k), rng.uniform(0.01, 0.5, k)
    order = rng.permutation(k)
    straight = solve(make_problem(sizes, sds, total=3000)).sizes
    permuted = solve(make_problem(sizes[order], sds[order], total=3000)).sizes
    assert straight[order].tolist() == permuted.tolist()


@pytest.mark.parametrize("factor", [1e-3, 37.0, 1e6])
def test_scaling_units_leaves_the_design_and_scales_the_value(factor):
    sizes, sds = [700, 800, 900], np.array([0.28, 0.08, 0.02])
    plain = make_problem(sizes, sds, total=100)
    scaled = make_problem(sizes, sds * factor, total=100, answer_range=factor)
    n = solve(plain).sizes
    assert n.tolist() == solve(scaled).sizes.tolist()
    assert scaled.objective(n) == pytest.approx(plain.objective(n) * factor**2, rel=1e-12)


@pytest.mark.parametrize("method", ["exact", "continuous", "algorithm1", "exhaustive"])
def test_the_only_allocation(method):
    lowest = make_problem([50, 60], [0.1, 0.2], total=7, lower=[3, 4])
    highest = make_problem([50, 60], [0.1, 0.2], total=110)
    assert solve(lowest, method).sizes.tolist() == [3, 4]
    assert solve(highest, method).sizes.tolist() == [50, 60]
    assert solve(make_problem([50], [0.1], total=20), method).sizes.tolist() == [20]


def test_too_many_candidates_are_refused():
    problem = make_problem([10**6] * 8, [0.3] * 8, total=1000)
    with pytest.raises(InputError, match=r"exhaustive search tries at most 50,000,000 allocations, got"):
        solve(problem, "exhaustive")
    many = make_problem(np.arange(1000, 1040), np.linspace(0.1, 0.5, 40), total=777)
    with pytest.raises(InputError, match="Algorithm 1 tries at most"):
        solve(many, "algorithm1")
    for huge, total in (([10**12] * 4, 10**9), ([10**6] * 300, 10**5)):
        with pytest.raises(InputError, match="exhaustive search tries at most"):
            solve(make_problem(huge, [0.3] * len(huge), total=total), "exhaustive")
    large = make_problem([10**12, 10**11, 10**10, 10**12], [0.3, 0.1, 0.2, 0.4], total=10**9)
    assert certify(large, solve(large, "algorithm1").sizes).optimal
    with pytest.raises(InputError, match="method must be one of exact, continuous"):
        solve(problem, "magic")


def test_infeasible_totals_name_both_sides():
    with pytest.raises(InfeasibleError, match=r"at least the sum of the minimums \(2\), got total=1"):
        make_problem([5, 5], [0.1, 0.1], total=1)
    with pytest.raises(InfeasibleError, match=r"at most the population \(10\), got total=11"):
        make_problem([5, 5], [0.1, 0.1], total=11)
