"""One draw of noise for a figure of many strata, against exhaustive search and another convex solver."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import dpstrata as dps
from dpstrata.allocation.domains import Family, families_of
from dpstrata.allocation.proof.single_mean import certify_single_mean
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.allocation.solvers.exhaustive import every_composition
from dpstrata.allocation.solvers.single_mean import solve_single_mean
from dpstrata.errors import InputError
from dpstrata.files.tables import read_table
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.noise import NO_NOISE
from extent import crossed, few
from problems import PAPER_SDS, PAPER_SIZES, answers_of, make_problem


def single_mean(sizes: Any, sds: Any, *codes: Any, **options: Any) -> SingleMean:
    """Figures of the groups that each of ``codes`` makes; of the population without any."""
    problem = make_problem(sizes, sds, **options)
    problem = replace(problem, terms=replace(problem.terms, noise=NO_NOISE, cap=None))
    N = problem.terms.sizes
    families = []
    for each in codes:
        group = np.asarray(each, dtype=np.int64)
        people = np.bincount(group, weights=N)
        families.append(Family(group, N / people[group], (people / N.sum()) ** 2 / len(codes)))
    return SingleMean(replace(problem, families=tuple(families) or families_of(problem.terms, ())))


def random_single_mean(rng: np.random.Generator, *, groups: bool) -> SingleMean:
    """A tiny problem with bounds, ties, zeros, response rates and unequal coefficients."""
    k = int(rng.integers(1, 6))
    sizes = np.floor(10 ** rng.uniform(0.5, rng.choice([1, 2, 4, 8]), k)).astype(np.int64) + 1
    sds = np.where(rng.random(k) < 0.2, 0.0, 10 ** rng.uniform(-3, -0.31, k))
    if rng.random() < 0.3:
        sizes[:] = sizes[0]
    if rng.random() < 0.3:
        sds[:] = sds[0]
    if rng.random() < 0.3:
        lower = np.maximum(1, np.floor(sizes * rng.random(k)).astype(np.int64))
        upper = np.minimum(sizes, lower + 9)
    else:
        lower = np.minimum(rng.integers(1, 4, k), sizes)
        upper = np.minimum(sizes, lower + rng.integers(0, 12, k))
    weights = np.where(rng.random(k) < 0.15, 0.0, rng.normal(size=k))
    weights[0] += not weights.any()
    rates = rng.choice([1.0, 0.5, 0.7], k) if rng.random() < 0.3 else np.ones(k)
    problem = make_problem(
        sizes,
        sds,
        epsilon=float(10 ** rng.uniform(-4, 1.3)),
        total=int(rng.integers(lower.sum(), upper.sum() + 1)),
        objective=rng.choice(["mean", "trace", "custom"]),
        coefficients=weights,
        lower=lower,
        upper=upper,
        answer_range=float(rng.choice([1.0, 0.3, 100.0])),
        response_rates=None if np.all(rates == 1.0) else rates,
    )
    problem = replace(problem, terms=replace(problem.terms, noise=NO_NOISE, cap=None))
    if not groups:
        return SingleMean(replace(problem, families=families_of(problem.terms, ())))
    codes = np.unique(rng.integers(0, 3, k), return_inverse=True)[1].astype(np.int64)
    family = Family(codes, rng.uniform(0.1, 1.0, k), rng.uniform(0.1, 1.0, int(codes.max()) + 1))
    return SingleMean(replace(problem, families=(family,)))


def plain_rooms(problem: SingleMean, n: Any) -> Any:
    """n·r·ln(1 + cN/n) for sizes in the last axis, from the definition."""
    terms = problem.problem.terms
    r = 1.0 if terms.response_rates is None else terms.response_rates
    return r * n * np.log1p(math.expm1(terms.promise.epsilon) * terms.sizes / n)


def plain_sampling(problem: SingleMean, n: Any) -> Any:
    terms = problem.problem.terms
    if terms.response_rates is None:
        return (terms.coefficients**2 * terms.variances / n).sum(axis=-1)
    return np.array([terms.values(row).sum() for row in n])


def best_by_exhaustion(problem: SingleMean) -> float:
    """Least value over all sizes, the scale of each figure being the smallest that keeps the promise."""
    inner, (family,) = problem.problem, problem.families
    n = np.vstack(list(every_composition(inner.lower, inner.upper, inner.total))).astype(float)
    value = plain_sampling(problem, n)
    rooms = plain_rooms(problem, n)
    for figure, weight in enumerate(family.weights):
        members = (family.codes == figure) & (family.coefficients > 0)
        scale = (family.coefficients[members] * problem.answer_range / rooms[:, members]).max(axis=1)
        value = value + weight * 2 * scale**2
    return float(value.min())


def check(problem: SingleMean, solution: Any) -> None:
    inner = problem.problem
    n = solution.sizes
    assert n.sum() == inner.total
    assert np.all((n >= inner.lower) & (n <= inner.upper))
    used = np.zeros(len(n))
    for family, scale in zip(problem.families, solution.scales, strict=True):
        used += family.coefficients * problem.answer_range / scale[family.codes]
    rooms = plain_rooms(problem, n.astype(float))
    assert np.all(used <= rooms)
    assert used.max(initial=0) > 0
    again = certify_single_mean(problem, n, solution.strengths, solution.bound.prices, solution.room_prices)
    assert again.value == solution.bound.value
    assert again.lower_bound >= solution.bound.lower_bound * (1 - 1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_one_figure_is_as_good_as_exhaustive_search(seed: int) -> None:
    rng = np.random.default_rng([16, seed])
    for _ in range(few(15, of=300)):
        problem = random_single_mean(rng, groups=False)
        solution, best = solve_single_mean(problem), best_by_exhaustion(problem)
        assert solution.bound.lower_bound <= best * (1 + 1e-10)
        assert best * (1 - 1e-10) <= solution.bound.value <= best * (1 + 1.1e-6)
        assert solution.bound.relative_gap <= 1.1e-6


@pytest.mark.parametrize("seed", range(4))
def test_figures_that_do_not_overlap_are_within_the_gap(seed: int) -> None:
    rng = np.random.default_rng([17, seed])
    missed = 0
    for _ in range(few(10, of=200)):
        problem = random_single_mean(rng, groups=True)
        solution, best = solve_single_mean(problem), best_by_exhaustion(problem)
        assert solution.bound.lower_bound <= best * (1 + 1e-10)
        assert best * (1 - 1e-10) <= solution.bound.value
        missed += solution.bound.value > best * (1 + 1e-6)
    assert missed <= few(1, of=10)


@pytest.mark.parametrize("groups", [False, True])
def test_the_gap_is_small_from_a_thousand_interviews_on(groups: bool) -> None:
    rng = np.random.default_rng(18)
    for _ in range(few(15, of=40)):
        k = int(rng.integers(2, 60))
        sizes = np.floor(10 ** rng.uniform(2.5, 5, k)).astype(np.int64)
        number = int(rng.integers(1, min(k, 12) + 1)) if groups else 1
        codes = np.concatenate([np.arange(number), rng.integers(0, number, k - number)])
        problem = single_mean(
            sizes,
            10 ** rng.uniform(-2.5, -0.31, k),
            codes,
            epsilon=float(10 ** rng.uniform(-2, 1)),
            total=int(rng.integers(1000, 3000)),
            lower=np.minimum(sizes, rng.integers(1, 8, k)),
        )
        solution = solve_single_mean(problem)
        check(problem, solution)
        assert solution.bound.relative_gap < (1e-4 if groups else 1.1e-6)


def grouped(seed: int) -> SingleMean:
    """A thousand interviews or more in up to two thousand strata, with two groups up to one for every stratum."""
    rng = np.random.default_rng([81, seed])
    k = int(10 ** rng.uniform(0.7, 3.3))
    groups = int(np.clip(k ** rng.uniform(0.2, 1), 2, k))
    smallest, largest = rng.uniform(0.7, 3), rng.uniform(3.1, 6)
    sizes = np.floor(10 ** rng.uniform(smallest, largest, k)).astype(np.int64) + 1 + 2000 // k
    if rng.random() < 0.3:
        sizes[:] = sizes.max()
    codes = rng.permutation(np.arange(k) % groups)
    if rng.random() < 0.3:  # one large group and many small ones
        codes = np.unique(np.minimum(rng.geometric(0.1, k), groups), return_inverse=True)[1]
    sds = np.where(rng.random(k) < rng.choice([0, 0.3]), 0.0, 10 ** rng.uniform(-2.5, -0.31, k))
    lower = np.minimum(sizes, rng.integers(1, 6, k)) if rng.random() < 0.3 else np.ones(k, dtype=np.int64)
    return single_mean(
        sizes,
        sds,
        codes,
        epsilon=float(10 ** rng.uniform(-2, 0.7)),
        total=min(int(max(1000, lower.sum()) * 10 ** rng.uniform(0, 1.5)), int(sizes.sum())),
        lower=lower,
        response_rates=rng.uniform(0.3, 1, k) if rng.random() < 0.3 else None,
    )


# These were left with gaps of 0.03% to 53% when what lies outside of the windows was bounded by tangents alone.
WORST = (69, 84, 88, 116, 142, 153, 155, 213)


@pytest.mark.parametrize("seed", sorted(range(300), key=lambda seed: seed not in WORST)[: few(8, of=300)])
def test_the_gap_is_small_however_many_groups_there_are(seed: int) -> None:
    problem = grouped(seed)
    solution = solve_single_mean(problem)
    check(problem, solution)
    assert solution.bound.relative_gap < 1e-4


def random_overlapping(rng: np.random.Generator) -> SingleMean:
    """A tiny problem with two or three families, in half of the cases with coefficients of no proportion."""
    k = int(rng.integers(2, 5))
    sizes = rng.integers(6, 300, k)
    rates = rng.choice([0.5, 0.8, 1.0], k) if rng.random() < 0.3 else None
    sds = rng.uniform(0.02, 0.5, k) * (rng.random(k) < 0.9)
    epsilon, total = float(10 ** rng.uniform(-2, 0.5)), int(rng.integers(k + 1, 12))
    columns = int(rng.integers(2, 4))
    codes = [np.unique(rng.integers(0, 3, k), return_inverse=True)[1] for _ in range(columns)]
    problem = single_mean(sizes, sds, *codes, epsilon=epsilon, total=total, response_rates=rates)
    if rng.random() < 0.5:
        return problem
    families = [replace(each, coefficients=rng.uniform(0.1, 1.0, k)) for each in problem.families]
    return SingleMean(replace(problem.problem, families=tuple(families)))


def best_of_several_families(problem: SingleMean) -> float:
    """Least value over all sizes, with the strengths of each by a solver that knows nothing of ours."""
    inner = problem.problem
    upper = np.minimum(inner.upper, inner.total)
    best = math.inf
    for n in np.vstack(list(every_composition(inner.lower, upper, inner.total))).astype(float):
        sampling = float(plain_sampling(problem, n[None])[0])
        if sampling < best:
            best = min(best, sampling + _least_noise(problem, plain_rooms(problem, n)))
    return best


def _needs(problem: SingleMean) -> Any:
    k = len(problem.problem.lower)
    starts = np.cumsum([0, *(len(family) for family in problem.families)])
    B = np.zeros((k, starts[-1]))
    for family, start in zip(problem.families, starts, strict=False):
        B[np.arange(k), start + family.codes] = family.coefficients * problem.answer_range
    return B


def _least_noise(problem: SingleMean, room: Any) -> float:
    """Best noise of all figures at fixed sizes."""
    W, B = np.concatenate([2 * family.weights for family in problem.families]), _needs(problem)
    s0 = 0.4 * (room[:, None] / np.where(B > 0, B, 1e-300)).min(axis=0)
    unit = (W / s0**2).sum()
    found = minimize(
        lambda x: (W / (x * s0) ** 2).sum() / unit,
        np.ones(len(W)),
        jac=lambda x: -2 * W / (x**3 * s0**2) / unit,
        method="SLSQP",
        bounds=[(0.01, 100.0)] * len(W),
        constraints=[
            {
                "type": "ineq",
                "fun": lambda x: 1 - B @ (x * s0) / room,
                "jac": lambda x: -B * s0 / room[:, None],
            }
        ],
        options={"ftol": 1e-13, "maxiter": 500},
    )
    strengths = found.x * s0 * min(1.0, (room / (B @ (found.x * s0))).min())
    return float((W / strengths**2).sum())


def relaxed_by_slsqp(problem: SingleMean) -> float:
    """Least value over real sizes, by a solver that knows nothing of ours."""
    inner = problem.problem
    k = len(inner.lower)
    weights, B = np.concatenate([2 * family.weights for family in problem.families]), _needs(problem)
    n0 = inner.lower + (inner.upper - inner.lower) * (
        (inner.total - inner.lower.sum()) / (inner.upper - inner.lower).sum()
    )
    s0 = (
        0.3
        / len(problem.families)
        * np.min(plain_rooms(problem, n0)[:, None] / np.where(B > 0, B, 1e-300), axis=0)
    )
    unit = plain_sampling(problem, n0) + (weights / s0**2).sum()
    found = minimize(
        lambda x: (plain_sampling(problem, x[:k] * n0) + (weights / (x[k:] * s0) ** 2).sum()) / unit,
        np.ones(k + len(weights)),
        method="SLSQP",
        bounds=[*zip(inner.lower / n0, inner.upper / n0, strict=True), *[(0.01, 1000.0)] * len(weights)],
        constraints=[
            {"type": "eq", "fun": lambda x: (x[:k] * n0).sum() / inner.total - 1},
            {"type": "ineq", "fun": lambda x: 1 - (B @ (x[k:] * s0)) / plain_rooms(problem, x[:k] * n0)},
        ],
        options={"maxiter": 2000, "ftol": 1e-13},
    )
    assert found.success
    return float(found.fun * unit)


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
@pytest.mark.parametrize("families", [1, 2, 3])
def test_an_independent_solver_agrees_on_the_relaxation(families: int) -> None:
    rng = np.random.default_rng(families)
    for _ in range(few(2, of=8)):
        k = int(rng.integers(4, 9))
        codes = [np.arange(k) % (1 + (f + int(rng.integers(2))) % 3) for f in range(families)]
        problem = single_mean(
            rng.integers(2000, 20000, k),
            10 ** rng.uniform(-1.5, -0.31, k),
            *codes,
            epsilon=float(10 ** rng.uniform(-1.5, 0.5)),
            total=3000,
        )
        solution = solve_single_mean(problem)
        check(problem, solution)
        relaxed = relaxed_by_slsqp(problem)
        # Whole people are dearer, and the bound knows a part of that.
        assert relaxed * (1 - 1e-5) <= solution.bound.lower_bound <= solution.bound.value
        assert solution.bound.value <= relaxed * 1.005


@pytest.mark.parametrize("seed", range(3))
def test_several_families_are_within_the_gap_of_exhaustive_search(seed: int) -> None:
    rng = np.random.default_rng([19, seed])
    for _ in range(few(2, of=8)):
        problem = random_overlapping(rng)
        best = best_of_several_families(problem)
        solution = solve_single_mean(problem)
        check(problem, solution)
        assert solution.bound.lower_bound <= best * (1 + 1e-6)
        assert best * (1 - 1e-6) <= solution.bound.value <= best * (1 + 1e-4)


LAYERS = [{}, {"device_epsilon": 3.0, "release": "sums"}, {"response": True}]


@pytest.mark.parametrize(("columns", "layers"), crossed([(2, 2), (3, 4), (2, 3, 2)], LAYERS))
def test_the_gap_of_overlapping_figures_is_small_from_a_thousand_interviews_on(
    columns: tuple[int, ...], layers: dict[str, Any]
) -> None:
    rng = np.random.default_rng([21, *columns])
    for epsilon in (0.05, 0.5):
        k = int(rng.integers(8, 31))
        sizes = np.floor(10 ** rng.uniform(2.5, 5, k)).astype(np.int64)
        codes = [rng.permutation(np.arange(k) % number) for number in columns]
        options = dict(layers)
        if options.pop("response", False):
            options["response_rates"] = rng.choice([0.4, 0.6, 0.9], k)
        sds, total = 10 ** rng.uniform(-2.5, -0.31, k), int(rng.integers(1000, 3000))
        problem = single_mean(sizes, sds, *codes, epsilon=epsilon, total=total, **options)
        solution = solve_single_mean(problem)
        check(problem, solution)
        assert solution.bound.relative_gap < 0.006


def crossed(seed: int) -> SingleMean:
    """Dozens of strata crossed by many groups, often where noise is much of the variance."""
    rng = np.random.default_rng([77, seed])
    k, families = int(rng.integers(8, 60)), int(rng.integers(2, 4))
    columns = [int(rng.integers(2, 9)) for _ in range(families)]
    sizes = np.floor(10 ** rng.uniform(2.5, 5, k)).astype(np.int64)
    codes = [rng.permutation(np.arange(k) % number) for number in columns]
    sds, epsilon = 10 ** rng.uniform(-2.5, -0.31, k), float(10 ** rng.uniform(-2, 0.5))
    return single_mean(sizes, sds, *codes, epsilon=epsilon, total=int(rng.integers(1000, 3000)))


@pytest.mark.parametrize("seed", range(few(4, of=24)))
def test_the_gap_is_small_where_many_groups_cross_dozens_of_strata(seed: int) -> None:
    problem = crossed(seed)
    solution = solve_single_mean(problem)
    check(problem, solution)
    assert solution.bound.relative_gap < 0.015


def test_overlapping_domains_where_minimums_leave_no_choice() -> None:
    """Used to divide by the price of a person, which is nothing where nobody can be moved."""
    strata = dps.Strata(
        [300, 400, 500, 600],
        [0.3, 0.4, 0.2, 0.5],
        mins=[5, 6, 7, 8],
        extra={"age": ["young", "young", "old", "old"], "sex": ["f", "m", "f", "m"]},
    )
    plan = dps.design(strata, epsilon=1, release="mean", total=26, domains=["age", "sex"])
    assert plan.sample_sizes.tolist() == [5, 6, 7, 8]
    assert plan.certificate.relative_gap < 0.01


def test_any_prices_give_a_valid_bound() -> None:
    rng = np.random.default_rng(20)
    for _ in range(few(12, of=100)):
        problem = random_single_mean(rng, groups=bool(rng.integers(2)))
        best = best_by_exhaustion(problem)
        solution = solve_single_mean(problem)
        prices = solution.bound.prices[0] * 10 ** rng.uniform(-2, 2, 2)
        wrong = certify_single_mean(problem, solution.sizes, solution.strengths, prices)
        assert wrong.lower_bound <= best * (1 + 1e-10)
        room_prices = rng.exponential(size=len(solution.sizes)) * best / problem.room(solution.sizes * 1.0)
        shared = certify_single_mean(problem, solution.sizes, solution.strengths, prices, room_prices)
        assert shared.lower_bound <= best * (1 + 1e-10)


@pytest.mark.parametrize(
    ("total", "sizes", "deviation"),
    [
        (200, [104, 33, 30, 33], 0.007594110713),
        (2000, [1152, 373, 225, 250], 0.002254759389),
        (34000, [7000, 8000, 9000, 10000], 0.000840280065),
    ],
)
def test_the_four_strata_of_the_paper(total: int, sizes: list[int], deviation: float) -> None:
    problem = single_mean(PAPER_SIZES, PAPER_SDS, epsilon=0.1, total=total)
    solution = solve_single_mean(problem)
    assert solution.sizes.tolist() == sizes
    assert math.sqrt(solution.bound.value) == pytest.approx(deviation, rel=1e-9)


def test_the_schools_of_california() -> None:
    from importlib import resources

    with resources.as_file(resources.files("dpstrata") / "examples" / "california_schools.csv") as path:
        counties = Counter(read_table(path).columns["county"])
    sizes = np.array(list(counties.values()))
    assert len(sizes) == 57
    problem = single_mean(sizes, np.full(57, 0.5), epsilon=0.1, total=int(sizes.sum()))
    solution = solve_single_mean(problem)
    # Everyone is asked, so that sampling adds nothing: one number against 57 sums, without and with devices.
    one = problem.noise(solution.strengths)
    sums = 57 * 2 / (0.1 * sizes.sum()) ** 2
    device = float(get_mechanism("staircase", answers_of()).variance(5.0)) / sizes.sum()
    figures = [math.sqrt(sums), math.sqrt(one), math.sqrt(sums + device), math.sqrt(one + device)]
    assert [round(figure, 4) for figure in figures] == [0.0172, 0.0023, 0.0174, 0.0032]


def test_figures_that_do_not_overlap_cost_nothing_more() -> None:
    sizes, sds = [5000] * 4, [0.3] * 4
    whole = solve_single_mean(single_mean(sizes, sds, epsilon=0.2, total=2000))
    halves = solve_single_mean(single_mean(sizes, sds, [0, 0, 1, 1], epsilon=0.2, total=2000))
    assert halves.scales[0] == pytest.approx(2 * whole.scales[0][0])


def test_a_figure_needs_a_stratum_that_counts() -> None:
    with pytest.raises(InputError, match="some coefficient of every figure must be positive"):
        Family(np.array([0, 1]), np.array([1.0, 0.0]), np.ones(2))
    with pytest.raises(InputError, match="none of them negative"):
        Family(np.array([0, 0]), np.array([1.0, -1.0]), np.ones(1))
