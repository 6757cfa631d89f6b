"""The interval of a mean: it holds for noised answers, stays within the range, and knows what is certain."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpstrata.fielding.intervals.means import Means
from dpstrata.fielding.intervals.tilt import Groups
from extent import few

LEAST = 0.93


def covered(people, answers, noise, rng, repeats):
    """How often the interval of the mean of all strata holds, from so many answers of each."""
    strata, size = people.shape
    drawn = rng.random((repeats, strata, size)).argpartition(answers, axis=2)[:, :, :answers]
    noised = np.take_along_axis(people[None], drawn, axis=2)
    if noise:
        noised = noised + rng.laplace(0, np.sqrt(noise / 2), drawn.shape)
    parts = Means(
        noised.mean(axis=2).ravel(),
        np.full(repeats * strata, float(answers)),
        np.full(repeats * strata, 1 - answers / size),
        np.maximum(noised.var(axis=2, ddof=1) - noise, 0).ravel(),
        np.full(repeats * strata, noise / answers),
    )
    groups = Groups(np.repeat(np.arange(repeats), strata), repeats, np.full(repeats * strata, 1 / strata))
    lower, upper = parts.limits(groups, 0.05)
    return np.mean((lower <= people.mean()) & (people.mean() <= upper))


SHAPES = {"a few": (0.05, 2), "hardly any": (0.02, 1), "the middle": (4, 6), "both ends": (0.3, 0.3)}


@pytest.mark.parametrize("spread_over", SHAPES)
@pytest.mark.parametrize(("strata", "answers", "epsilon"), [(1, 80, 4.0), (3, 20, 2.0), (12, 6, 5.0)])
def test_coverage_of_noised_numbers(strata, answers, epsilon, spread_over):
    rng, repeats = np.random.default_rng([strata, answers]), few(500, of=2000)
    people = rng.beta(*SHAPES[spread_over], (strata, 20 * answers))
    found = covered(people, answers, 2 / epsilon**2, rng, repeats)
    assert found >= LEAST - 4 * np.sqrt(LEAST * (1 - LEAST) / repeats)


@pytest.mark.parametrize("spread_over", SHAPES)
@pytest.mark.parametrize(("strata", "answers"), [(1, 10), (1, 50), (3, 20), (12, 5)])
def test_coverage_of_numbers_without_noise(strata, answers, spread_over):
    """It was 78% for 12 strata of which hardly anyone has an amount: without these, spread is small too."""
    rng, repeats = np.random.default_rng([strata, answers]), few(500, of=2000)
    people = rng.beta(*SHAPES[spread_over], (strata, max(20 * answers, 400)))
    found = covered(people, answers, 0.0, rng, repeats)
    assert found >= LEAST - 4 * np.sqrt(LEAST * (1 - LEAST) / repeats)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-3, 4), st.integers(1, 300), st.floats(0, 0.3)), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.001, 2.0]),
)
@example([(5e-324, 1, 0.25)], 0.0)
def test_it_stays_within_the_range(strata, noise):
    means, answers, spreads = (np.array(column) for column in zip(*strata, strict=True))
    if not noise:
        means = np.clip(means, 0, 1)
    number = len(means)
    parts = Means(means, answers * 1.0, np.full(number, 0.5), spreads, np.full(number, noise))
    groups = Groups(np.zeros(number, dtype=np.int64), 1, np.full(number, 1 / number))
    lower, upper = parts.limits(groups, 0.05)
    assert 0 <= lower[0] <= upper[0] <= 1


def test_what_is_certain_has_no_width():
    parts = Means(*(np.array(each) for each in ([0.3, 0.0], [10.0, 5.0], [0.0, 0.0], [0.1, 0.0], [0.0, 0.0])))
    lower, upper = parts.limits(Groups(np.array([0, 0]), 1, np.array([0.5, 0.5])), 0.05)
    assert (lower[0], upper[0]) == pytest.approx((0.15, 0.15), abs=1e-9)


def test_more_answers_with_a_small_spread_are_worth_more():
    def width(answers, spread):
        parts = Means(*(np.array([each]) for each in (0.4, answers, 1.0, spread, 0.0)))
        lower, upper = parts.limits(Groups(np.array([0]), 1, np.ones(1)), 0.05)
        return upper[0] - lower[0]

    assert width(100.0, 0.01) < width(100.0, 0.2) < width(20.0, 0.2)
    assert width(10_000.0, 0.01) == pytest.approx(2 * 1.96 * 0.001, rel=0.05)
