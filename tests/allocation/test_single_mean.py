"""Strengths after the field, and the noise that is to be expected of them, against plain enumeration."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom

from dpstrata.allocation.domains import Family, families_of
from dpstrata.allocation.single_mean import SingleMean, figure_variances
from dpstrata.allocation.solvers.single_mean import solve_single_mean
from dpstrata.privacy.mechanisms.noise import NO_NOISE
from problems import make_problem


def expected_noise(problem, sizes, strengths):
    noise = figure_variances(problem, sizes, strengths)
    return float(sum(family.weights @ each for family, each in zip(problem.families, noise, strict=True)))


def single_mean(sizes: Any, rates: Any, *codes: Any, total: int, epsilon: float = 0.5) -> SingleMean:
    problem = make_problem(sizes, [0.3] * len(sizes), epsilon=epsilon, total=total, response_rates=rates)
    problem = replace(problem, terms=replace(problem.terms, noise=NO_NOISE, cap=None))
    N = problem.terms.sizes
    families = []
    for each in codes:
        group = np.array(each)
        people = np.bincount(group, weights=N)
        families.append(Family(group, N / people[group], (people / N.sum()) ** 2 / len(codes)))
    return SingleMean(replace(problem, families=tuple(families) or families_of(problem.terms, ())))


def test_the_scale_follows_from_the_answers() -> None:
    problem = single_mean([100, 200], [0.5, 0.8], total=60)
    solution = solve_single_mean(problem)
    m = np.array([7, 30])
    (strengths,) = problem.raised_to_answers(m, solution.strengths)
    c = math.expm1(0.5)
    needed = [
        a / (x * math.log1p(c * r * N / x))
        for a, x, r, N in zip([1 / 3, 2 / 3], [7, 30], [0.5, 0.8], [100, 200], strict=True)
    ]
    assert 1 / strengths[0] == pytest.approx(max(needed), rel=1e-13)
    assert 1 / strengths[0] >= max(needed)
    fewer = problem.raised_to_answers(m - 1, solution.strengths)
    assert fewer[0][0] < strengths[0]
    # without an answer in the second stratum, one in the first moves the figure by what both count
    (alone,) = problem.raised_to_answers(np.array([7, 0]), solution.strengths)
    assert 1 / alone[0] == pytest.approx(1 / (7 * math.log1p(c * 50 / 7)), rel=1e-13)
    assert problem.budgets_given(np.array([7, 0])) == pytest.approx([math.log1p(c * 50 / 7), 0.0], rel=1e-13)


@pytest.mark.parametrize("codes", [(), ([0, 0, 1],), ([0, 0, 1], [0, 1, 1])])
def test_expected_noise_is_that_of_enumeration(codes: Any) -> None:
    sizes, rates = np.array([20, 30, 24]), np.array([0.5, 0.6, 0.75])
    problem = single_mean(sizes, rates, *codes, total=30)
    solution = solve_single_mean(problem)
    n, A = solution.sizes, np.array([10, 18, 18])
    total = weight = 0.0
    for m in product(*(range(1, each + 1) for each in n)):
        chance = math.prod(hypergeom.pmf(x, N, a, k) for x, N, a, k in zip(m, sizes, A, n, strict=True))
        if chance > 0:
            after = problem.raised_to_answers(np.array(m), solution.strengths)
            total += chance * problem.noise(after)
            weight += chance
    assert expected_noise(problem, n, solution.strengths) == pytest.approx(total / weight, rel=1e-9)


def test_expected_noise_of_many_strata_is_that_of_a_simulation() -> None:
    rng = np.random.default_rng(4)
    sizes, rates = rng.integers(50, 5000, 40), rng.choice([0.4, 0.6, 1.0], 40)
    problem = single_mean(sizes, rates, total=900)
    solution = solve_single_mean(problem)
    A = np.floor(sizes * rates + 1e-9).astype(np.int64)
    m = rng.hypergeometric(A, sizes - A, solution.sizes, size=(6000, 40))
    m = m[np.all(m >= 1, axis=1)]
    noise = np.array([problem.noise(problem.raised_to_answers(row, solution.strengths)) for row in m])
    expected = expected_noise(problem, solution.sizes, solution.strengths)
    assert abs(noise.mean() - expected) < 5 * noise.std() / math.sqrt(len(noise))
    assert expected > problem.noise(solution.strengths)


def test_where_everyone_answers_nothing_is_left_to_chance() -> None:
    problem = single_mean([100, 200], None, total=60)
    solution = solve_single_mean(problem)
    assert expected_noise(problem, solution.sizes, solution.strengths) == problem.noise(solution.strengths)
    after = problem.raised_to_answers(solution.sizes, solution.strengths)
    assert after[0] == pytest.approx(solution.strengths[0], rel=1e-13)
