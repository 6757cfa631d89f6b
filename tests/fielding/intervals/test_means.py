"""The interval of a mean: it holds for noised answers, stays within the range, and knows what is certain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpstrata.fielding.intervals.means import Means, mean_limits
from dpstrata.fielding.intervals.tilt import Groups
from extent import few

LEAST = 0.93


@pytest.mark.parametrize("spread_over", ["a few", "the middle", "both ends"])
@pytest.mark.parametrize(("strata", "answers", "epsilon"), [(1, 80, 4.0), (3, 20, 2.0), (12, 6, 5.0)])
def test_coverage_of_noised_numbers(strata, answers, epsilon, spread_over):
    shapes = {"a few": (0.05, 2), "the middle": (4, 6), "both ends": (0.3, 0.3)}
    rng, repeats, size = np.random.default_rng([strata, answers]), few(500, of=2000), 20 * answers
    people = rng.beta(*shapes[spread_over], (strata, size))
    drawn = rng.random((repeats, strata, size)).argpartition(answers, axis=2)[:, :, :answers]
    noised = np.take_along_axis(people[None], drawn, axis=2) + rng.laplace(0, 1 / epsilon, drawn.shape)
    noise = 2 / epsilon**2
    parts = Means(
        noised.mean(axis=2).ravel(),
        np.full(repeats * strata, float(answers)),
        np.full(repeats * strata, 1 - answers / size),
        np.maximum(noised.var(axis=2, ddof=1) - noise, 0).ravel(),
        np.full(repeats * strata, noise / answers),
    )
    groups = Groups(np.repeat(np.arange(repeats), strata), repeats, np.full(repeats * strata, 1 / strata))
    lower, upper = mean_limits(parts, groups, 0.05)
    covered = np.mean((lower <= people.mean()) & (people.mean() <= upper))
    assert covered >= LEAST - 4 * np.sqrt(LEAST * (1 - LEAST) / repeats)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-3, 4), st.integers(1, 300), st.floats(0, 0.3)), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.001, 2.0]),
)
def test_it_stays_within_the_range(strata, noise):
    means, answers, spreads = (np.array(column) for column in zip(*strata, strict=True))
    if not noise:
        means = np.clip(means, 0, 1)
    number = len(means)
    parts = Means(means, answers * 1.0, np.full(number, 0.5), spreads, np.full(number, noise))
    groups = Groups(np.zeros(number, dtype=np.int64), 1, np.full(number, 1 / number))
    lower, upper = mean_limits(parts, groups, 0.05)
    assert 0 <= lower[0] <= upper[0] <= 1


def test_what_is_certain_has_no_width():
    parts = Means(*(np.array(each) for each in ([0.3, 0.0], [10.0, 5.0], [0.0, 0.0], [0.1, 0.0], [0.0, 0.0])))
    lower, upper = mean_limits(parts, Groups(np.array([0, 0]), 1, np.array([0.5, 0.5])), 0.05)
    assert (lower[0], upper[0]) == pytest.approx((0.15, 0.15), abs=1e-9)


def test_more_answers_with_a_small_spread_are_worth_more():
    def width(answers, spread):
        parts = Means(*(np.array([each]) for each in (0.4, answers, 1.0, spread, 0.0)))
        lower, upper = mean_limits(parts, Groups(np.array([0]), 1, np.ones(1)), 0.05)
        return upper[0] - lower[0]

    assert width(100.0, 0.01) < width(100.0, 0.2) < width(20.0, 0.2)
    assert width(10_000.0, 0.01) == pytest.approx(2 * 1.96 * 0.001, rel=0.05)
