"""What is really drawn: privacy and moments of the noise on its grid, and the samplers themselves.

Losses are computed from the output probabilities of neighbouring inputs, by summation and by two other
projects' accountants. Sampler tests cannot be seeded: each raises a false alarm less than once in 10^8 runs.
"""

import math
import os
import sys

import numpy as np
import pytest
from absl import logging
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import stats

from dpstrata.privacy import randomness
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.grid import fineness, to_grid
from laws import drawn_variance, probabilities
from problems import MECHANISMS, answers_of, is_additive

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-8
DRAWS = int(os.environ.get("DPSTRATA_DRAWS", "30000"))  # a million in `make slow`
PURE = tuple(dict.fromkeys(name for name, _ in MECHANISMS))
ADDED = {"gaussian", *(name for name, steps in MECHANISMS if is_additive(name, steps))}
ANY_NUMBER = [name for name, steps in MECHANISMS if steps is None]

# dp_accounting logs through absl, whose handler holds the file in which pytest captures stderr. It would close that
# file when uvicorn sets up logging in a later test of the same process.
logging.get_absl_handler().python_handler.stream = sys.__stderr__


def grid_noise(name, e, K):
    """The noise of a mechanism on a grid of K steps; randomized response has one step only.

    Categories have no steps, but so many numbers; a scale of cells has 2 to 20.
    """
    grids = {"discrete_laplace": K, "category_response": categories(K), "cells": min(max(K, 2), 20)}
    steps = {"randomized_response": 1, **grids}.get(name)
    return get_mechanism(name, answers_of(steps)).on_grid(e, 1 if steps == 1 else K)


def categories(K):
    return tuple(f"category {i}" for i in range(K + 1))


def variance_of(mass, values):
    """That of a share; of the shares of all categories half the sum."""
    each = mass @ (values - mass @ values) ** 2
    return float(each if np.ndim(each) == 0 else each.sum() / 2)


def rounding_of(noise):
    """The most that putting an answer on the grid adds to the variance: a quarter of the widest gap, squared."""
    k = np.unique(np.linspace(0, noise.steps - 1, min(noise.steps, 1000)).astype(np.int64))
    return float(0.25 * np.max(noise.levels(k + 1) - noise.levels(k)) ** 2)


def aligned(noise, answers):
    """Probabilities of the outputs for several answers, over the outputs that all of them list."""
    masses = [probabilities(noise, k) for k in answers]
    start = max(first for first, _ in masses)
    end = min(first + len(mass) for first, mass in masses)
    return [mass[start - first : end - first] for first, mass in masses]


@pytest.mark.parametrize("name", PURE)
@pytest.mark.parametrize("K", [1, 4, 5, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("q", [0.01, 0.3, 1.0])
def test_the_loss_after_sampling_is_at_most_the_promise(name, K, epsilon, q):
    """One person of the sample is replaced; the others' answers are anything. Tight at the ends of the range."""
    e = math.log1p(math.expm1(epsilon) / q)
    noise = grid_noise(name, e, K)
    assert noise.e == e
    answers = sorted({0, 1, noise.steps // 2, noise.steps})
    masses = dict(zip(answers, aligned(noise, answers), strict=True))
    worst = 0.0
    for other in answers:  # what is released where the person is not in the sample
        for one in answers:
            for two in answers:
                first, second = ((1 - q) * masses[other] + q * masses[k] for k in (one, two))
                worst = max(worst, float(np.abs(np.log(first / second)).max()))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.999 * epsilon


@pytest.mark.parametrize("name", PURE)
@pytest.mark.parametrize(("epsilon", "q"), [(1.0, 0.3), (0.5, 0.05)])
def test_an_independent_accountant_agrees(name, epsilon, q):
    """Google's privacy loss distributions, from the two subsampled mixtures."""
    noise = grid_noise(name, math.log1p(math.expm1(epsilon) / q), 5)
    zero, one = aligned(noise, [0, noise.steps])
    lower, upper = (
        {i: math.log(p) for i, p in enumerate(mass.tolist())} for mass in (zero, (1 - q) * zero + q * one)
    )
    for first, second in ((lower, upper), (upper, lower)):
        loss = pld.from_two_probability_mass_functions(
            first, second, pessimistic_estimate=True, value_discretization_interval=1e-5, symmetric=False
        )
        # what the two lists leave out is below 1e-12
        assert loss.get_epsilon_for_delta(1e-12) <= epsilon + 2e-5


@pytest.mark.parametrize(("epsilon", "population", "n"), [(1.0, 1000, 10), (0.2, 50, 20)])
def test_opendp_amplifies_alike(epsilon, population, n):
    import opendp.prelude as dp

    import dpstrata as dps

    dp.enable_features("contrib", "honest-but-curious")
    e = dps.local_epsilon(epsilon, sample_size=n, stratum_size=population)
    domain = dp.vector_domain(dp.atom_domain(bounds=(0, 1), T="i64"), size=n)
    counted = dp.t.make_metric_unbounded(domain, dp.change_one_distance()) >> dp.t.then_sum()
    noised = counted >> dp.m.then_laplace(scale=randomness.scale_for(1, e))
    amplified = dp.c.make_population_amplification(noised, population_size=population).map(1)
    assert epsilon * (1 - 1e-9) <= amplified <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("name", PURE)
@pytest.mark.parametrize("K", [1, 2, 5, 60])
@pytest.mark.parametrize("e", [0.2, 1.5, 6.0])
def test_closed_variances_are_those_of_the_probabilities(name, K, e):
    noise = grid_noise(name, e, K)
    for k in {0, noise.steps // 2, noise.steps}:
        first, mass = probabilities(noise, k)
        values = noise.shares(first + np.arange(len(mass)))
        assert drawn_variance(noise, k) == pytest.approx(variance_of(mass, values), rel=1e-8)


@pytest.mark.parametrize("name", ANY_NUMBER)
@pytest.mark.parametrize("e", [1e-4, 10.0, 20.0, 28.0, 30.0, 40.0, 60.0, 75.0])
def test_the_grid_is_fine_enough_at_any_budget(name, e):
    mechanism = get_mechanism(name, answers_of())
    noise = mechanism.on_grid(e, mechanism.grid_steps(e))
    assert drawn_variance(noise, noise.steps) == pytest.approx(float(mechanism.variance(e)), rel=3e-3)
    assert rounding_of(noise) < 1e-3 * drawn_variance(noise, noise.steps)
    shares = noise.shares(noise.randomize(noise.place(np.full(2000, 0.37))))
    assert np.all(np.isfinite(shares))
    assert shares.mean() == pytest.approx(
        0.37, abs=6.5 * math.sqrt(drawn_variance(noise, noise.steps) / 2000)
    )


@pytest.mark.parametrize("name", PURE)
@pytest.mark.parametrize("e", [0.3, 1.0, 3.0, 5.15])
def test_grid_variance_and_bias(name, e):
    """On the grid that is used, the variance is that of the theory but for one part in 1,000, without bias."""
    grids = {"randomized_response": 1, "discrete_laplace": 4, "category_response": categories(6)}
    grids["cells"] = 4
    mechanism = get_mechanism(name, answers_of(grids.get(name)))
    steps = mechanism.grid_steps(e)
    noise = mechanism.on_grid(e, steps)
    for k in {0, steps // 3, steps}:
        first, mass = probabilities(noise, k)
        assert mass.sum() == pytest.approx(1, abs=1e-12)
        truth = np.eye(steps + 1)[k] if name == "category_response" else noise.levels(k)
        assert mass @ noise.shares(first + np.arange(len(mass))) == pytest.approx(truth, abs=1e-9)
    if name == "cells":  # the largest variance is planned with a curve above it, see test_cells.py
        return
    assert drawn_variance(noise, steps) == pytest.approx(float(mechanism.variance(e)), rel=1e-3)
    if name in ANY_NUMBER:
        assert rounding_of(noise) < 1e-3 * drawn_variance(noise, steps)


def gaussian_noise(steps, epsilon=1.0, delta=1e-5, q=0.1):
    mechanism = get_mechanism("gaussian", answers_of())
    mechanism.prepare(epsilon, delta)
    e = math.log1p(math.expm1(epsilon) / q)
    return mechanism.on_grid(e, steps or mechanism.grid_steps(e)), mechanism, e


@pytest.mark.parametrize("K", [1, 4, 5, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("q", [0.01, 0.3, 1.0])
def test_gaussian_keeps_its_delta_on_coarse_grids_too(K, epsilon, q):
    delta = 1e-6
    noise, _, e = gaussian_noise(K, epsilon, delta, q)
    reach = 60 * math.ceil(noise.scale) + 3 * K
    mass = np.exp(-0.5 * (np.arange(-reach, reach + 1) / noise.scale) ** 2)
    mass /= mass.sum()
    zero, one = np.append(mass, np.zeros(K)), np.append(np.zeros(K), mass)
    assert np.maximum(one - math.exp(e) * zero, 0).sum() <= delta / q * (1 + 1e-9)
    mixed = (1 - q) * zero + q * one
    for first, second in ((mixed, zero), (zero, mixed)):
        assert np.maximum(first - math.exp(epsilon) * second, 0).sum() <= delta * (1 + 1e-9)


@pytest.mark.parametrize("q", [1.0, 0.1, 0.02])
def test_gaussian_on_the_grid_keeps_its_delta(q):
    """Sum of the positive part of one distribution less exp(e) times the other, local and after sampling."""
    epsilon, delta = 1.0, 1e-5
    noise, mechanism, e = gaussian_noise(None, epsilon, delta, q)
    zero, one = aligned(noise, [0, noise.steps])
    assert np.maximum(one - math.exp(e) * zero, 0).sum() <= delta / q
    mixed = (1 - q) * zero + q * one
    for first, second in ((mixed, zero), (zero, mixed)):
        assert np.maximum(first - math.exp(epsilon) * second, 0).sum() <= delta
    assert np.maximum(mixed - math.exp(epsilon) * zero, 0).sum() >= 0.9 * delta
    assert drawn_variance(noise, 0) == pytest.approx(float(mechanism.variance(e)), rel=1e-5)


def too_far(noise, judge, k, draws):
    """Whether draws from one distribution are rejected by another's probabilities (chi-square)."""
    first, mass = probabilities(judge, k)
    counts = np.bincount(
        np.clip(noise.randomize(np.full(draws, k)) - first, 0, len(mass) - 1), minlength=len(mass)
    )
    order = np.argsort(-mass)
    expected, seen = draws * mass[order], counts[order]
    keep = expected >= 20
    expected = np.append(expected[keep], max(draws - expected[keep].sum(), 1e-9))
    seen = np.append(seen[keep], draws - seen[keep].sum())
    statistic = float(((seen - expected) ** 2 / expected).sum())
    return stats.chi2.sf(statistic, len(expected) - 1) < FALSE_ALARM


@pytest.mark.parametrize("name", [*PURE, "gaussian"])
def test_the_real_sampler_is_accepted_and_a_wrong_scale_rejected(name):
    """Real draws; those of a scale 10% too small are caught."""
    if name == "gaussian":
        noise = gaussian_noise(8)[0]
        wrong = gaussian_noise(8)[0]
        wrong.scale *= 0.9
    else:
        noise, wrong = grid_noise(name, 1.5, 6), grid_noise(name, 1.5 / 0.9, 6)
    ends = (0, noise.steps)
    if DRAWS < 10**6 and name in ADDED:  # to every answer alike
        ends = ends[1:]
    for k in ends:
        assert not too_far(noise, noise, k, DRAWS)
        assert too_far(wrong, noise, k, DRAWS)


def test_uniform_numbers_are_uniform():
    for below in (2, 3, 7, 1000):
        counts = np.bincount(randomness.uniform(below, 200_000), minlength=below)
        assert len(counts) == below
        assert stats.chisquare(counts).pvalue > FALSE_ALARM
    assert np.all(randomness.uniform(1, 5) == 0)
    assert randomness.uniform(1 << 62, 1000).max() > 1 << 60


def test_chances_are_exact():
    for p in (0.0, 0.001, 0.3, 1.0):
        seen = int(randomness.Chance(lambda mp, p=p: mp.mpf(p)).happens(200_000).sum())
        assert stats.binomtest(seen, 200_000, p).pvalue > FALSE_ALARM
    assert randomness.Chance(lambda mp: mp.mpf(1) / 3)._digits[0] == (1 << 62) // 3


def test_equal_digits_are_decided_by_the_next(monkeypatch):
    """Two of four numbers tie on the first digit; the second digit then decides them."""
    chance = randomness.Chance(lambda mp: mp.mpf(1) / 3)
    first, second = chance._digits[:2]
    drawn = iter([[first, first - 1, first + 1, first], [second - 1, second + 1]])
    monkeypatch.setattr(randomness, "uniform", lambda below, size: np.array(next(drawn)))
    assert chance.happens(4).tolist() == [True, True, False, False]


def test_rounding_to_the_grid_is_unbiased_and_clamped():
    shares = np.full(200_000, 0.26)
    drawn = to_grid(shares, 10)
    assert set(drawn.tolist()) == {2, 3}
    assert stats.binomtest(int((drawn == 3).sum()), len(drawn), 0.6).pvalue > FALSE_ALARM
    assert to_grid(np.array([-5.0, 7.0, 1.0]), 10).tolist() == [0, 10, 10]
    assert fineness(0.0265) >= 1000 / math.sqrt(0.0265)
    assert fineness(0.0265, odd=True) % 2 == 1


def test_scales_are_rounded_upwards():
    for e in (0.1, 1 / 3, 5.15):
        assert 7 / randomness.scale_for(7, e) <= e
