"""How many people answer: expectations summed up in rational numbers, and the bound that designs are made with."""

from fractions import Fraction
from math import comb

import mpmath
import numpy as np
import pytest
from scipy import stats

import dpstrata as dps
from dpstrata.allocation import response
from dpstrata.allocation.response import (
    chance_of_empty_stratum,
    chance_of_no_answer,
    exact_planning_bound,
    expected_inverse,
    minimum_against_empty,
    planning_decay,
)
from problems import plain_inverses


def inverses(N, A, n):
    """P(m = 0), E[1/m | m >= 1] and E[1/m² | m >= 1] as fractions."""
    ways = {m: comb(A, m) * comb(N - A, n - m) for m in range(n + 1)}
    some = sum(count for m, count in ways.items() if m)
    once, twice = (sum(Fraction(c, m**p) for m, c in ways.items() if m) / some for p in (1, 2))
    return Fraction(ways[0], comb(N, n)), once, twice


def one(function, N, r, n, **options):
    return float(function(np.array([N]), np.array([r]), np.array([n]), **options)[0])


@pytest.mark.parametrize("seed", range(60))
def test_expectations_equal_the_sums(seed):
    rng = np.random.default_rng(seed)
    N = int(10 ** rng.uniform(0.2, 2.7))
    A, n = int(rng.integers(1, N + 1)), int(rng.integers(1, N + 1))
    none, once, twice = inverses(N, A, n)
    accuracy = 1e-12 if n * A / N < 64 else 2e-5
    assert one(expected_inverse, N, A / N, n, squared=False) == pytest.approx(float(once), rel=accuracy)
    assert one(expected_inverse, N, A / N, n, squared=True) == pytest.approx(float(twice), rel=10 * accuracy)
    assert one(chance_of_no_answer, N, A / N, n) == pytest.approx(float(none), rel=1e-12, abs=1e-25)


@pytest.mark.parametrize("seed", range(10))
def test_few_strata_have_the_same_digits_as_many(seed, monkeypatch):
    """There terms are added up 64 at a time."""
    rng = np.random.default_rng(seed)
    sizes = (10 ** rng.uniform(0.2, 9, 50)).astype(np.int64)
    rates = np.maximum(rng.random(50), 1 / sizes)
    invited = np.clip(rng.uniform(0, 64, 50) / rates, 1, sizes)
    few = [expected_inverse(sizes, rates, invited, squared=squared) for squared in (False, True)]
    monkeypatch.setattr(response, "_FEW_STRATA", 0)
    many = [expected_inverse(sizes, rates, invited, squared=squared) for squared in (False, True)]
    assert np.array_equal(few, many)


def test_a_share_that_is_not_whole_lies_between_its_neighbours():
    """Each weighs as much as it is likely, given that someone answers."""
    (none, once, _), (none_more, once_more, _) = (inverses(7, A, 5) for A in (1, 2))
    weights = [Fraction(1, 2) * (1 - none), Fraction(1, 2) * (1 - none_more)]
    expected = (weights[0] * once + weights[1] * once_more) / sum(weights)
    assert one(expected_inverse, 7, 1.5 / 7, 5, squared=False) == pytest.approx(float(expected))
    assert one(chance_of_no_answer, 7, 1.5 / 7, 5) == pytest.approx(float((none + none_more) / 2))


def test_no_digits_are_lost_in_huge_strata():
    """There answers come as if each were drawn by itself."""
    m = np.arange(1, 400)
    weights = stats.binom.pmf(m, 1000, 0.02)
    expected = float((weights / m).sum() / weights.sum())
    assert one(expected_inverse, 10**12, 0.02, 1000, squared=False) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("squared", [False, True])
def test_the_planning_bound_is_never_below_the_expectation(squared):
    """Nor far above it in large strata: 0.3% from 12 expected answers on, 2% for squares."""
    rng = np.random.default_rng(5)
    sizes = np.floor(10 ** rng.uniform(0.3, 12, 40_000)).astype(np.int64)
    sizes[::4] = rng.integers(2, 60, len(sizes[::4]))
    rates = rng.choice([0.02, 0.1, 0.5, 0.9, 0.97, 0.999], len(sizes)) * rng.uniform(0.5, 1, len(sizes))
    willing = np.maximum(np.rint(sizes * rates), 1)
    rates = willing / sizes
    u = np.minimum(10 ** rng.uniform(-1, 2.5, len(sizes)), willing)
    n = np.clip(np.rint(u / rates), 1, willing)
    exact = expected_inverse(sizes, rates, n, squared=squared)
    bound = planning_decay(rates, squared=squared).value(n) / rates
    assert np.all(exact <= bound * (1 + 1e-9))
    enough = (n * rates >= 12) & (n <= 0.003 * sizes)
    assert enough.sum() > 3000
    assert np.all(bound[enough] <= exact[enough] * (1.02 if squared else 1.003))


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("r", [0.03, 0.5, 0.9])
def test_the_decay_is_the_bound_with_its_differences_and_derivatives(r, squared):
    decay = planning_decay(np.array([r]), squared=squared)
    x = np.array([7.0])

    def plain(n):
        return plain_inverses(mpmath.mpf(r), n)[squared] * r

    with mpmath.workdps(40):
        at = mpmath.mpf(7)
        assert decay.value(x)[0] == pytest.approx(float(plain(at)), rel=1e-14)
        assert float(exact_planning_bound(mpmath.mpf(r), 7, squared=squared) * r) == pytest.approx(
            float(plain(at))
        )
        assert decay.drop(x)[0] == pytest.approx(float(plain(at) - plain(at + 1)), rel=1e-14)
        value, first, second = (float(each[0]) for each in decay.curve(x))
        assert value == pytest.approx(float(at * plain(at)), rel=1e-13)
        assert first == pytest.approx(float(-(at**2) * mpmath.diff(plain, at)), rel=1e-12)
        assert second == pytest.approx(float(at**3 * mpmath.diff(plain, at, 2)), rel=1e-12)


def test_the_chance_of_an_empty_stratum_and_the_minimum_that_avoids_it():
    sizes, rates = np.full(12, 200), np.full(12, 0.5)
    assert chance_of_empty_stratum(sizes, rates, np.full(12, 5)) == pytest.approx(
        1 - (1 - float(inverses(200, 100, 5)[0])) ** 12
    )
    least = minimum_against_empty(sizes, rates, sizes)
    assert chance_of_empty_stratum(sizes, rates, np.full(12, least)) <= 0.01
    assert chance_of_empty_stratum(sizes, rates, np.full(12, least - 1)) > 0.01
    assert minimum_against_empty(np.full(12, 30), np.full(12, 0.3), np.full(12, 9)) is None


def test_the_planned_variance_is_what_surveys_have():
    """Twelve departments, 60% answer: the first version planned 1/(rate·n) and was up to a tenth too small."""
    rng = np.random.default_rng(2)
    strata = dps.Strata(np.full(12, 60), np.full(12, 0.4), response_rates=np.full(12, 0.6))
    plan = dps.design(strata, epsilon=1, total=96, min_per_stratum=8)
    answers = rng.hypergeometric(36, 24, plan.sample_sizes, (200_000, 12))
    answers = answers[(answers > 0).all(axis=1)]
    noise = plan.noise_sds**2
    each = (0.16 * (1 / answers - 1 / 60) + noise / answers) / 144
    assert plan.variance == pytest.approx(each.sum(axis=1).mean(), rel=2e-3)
    expected = (0.16 * (1 / (0.6 * plan.sample_sizes) - 1 / 60) + noise / (0.6 * plan.sample_sizes)) / 144
    assert expected.sum() < 0.95 * plan.variance
