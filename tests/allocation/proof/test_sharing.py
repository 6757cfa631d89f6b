"""How figures share the people, against trying every way to do it."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from dpstrata.allocation.proof.walk import share_people
from extent import few


def least_by_trying(costs, figure, fewest, most, prices):
    """The least over all levels and numbers of people that add up to zero, and the levels with it."""
    levels = [np.flatnonzero(figure == g) for g in range(figure.max() + 1)]
    least, best = np.inf, None
    for chosen in product(*levels):
        ranges = [range(int(fewest[j]), int(most[j]) + 1) for j in chosen]
        for d in product(*ranges):
            if sum(d) == 0:
                pairs = zip(chosen, d, strict=True)
                cost = sum(max(F - p * n for F, p in zip(costs[:, j], prices, strict=True)) for j, n in pairs)
                if cost < least:
                    least, best = cost, chosen
    return least, best


def random_figures(rng):
    """Two or three figures with a few levels each, at three or four prices."""
    figures, prices = int(rng.integers(2, 4)), np.append(1.0, rng.uniform(0.5, 1.6, int(rng.integers(2, 4))))
    figure = np.sort(np.append(np.arange(figures), rng.integers(0, figures, int(rng.integers(1, 5)))))
    people = rng.integers(-4, 5, len(figure))
    # F is the least of cost + price·people over some numbers of people, as it is of strata
    around = people[:, None] + np.arange(-1, 2)
    own = rng.uniform(2, 9, len(figure))[:, None] + rng.uniform(0, 2, around.shape)
    costs = np.min(own[None] + prices[:, None, None] * around[None], axis=2)
    fewest = people - rng.integers(0, 3, len(figure))
    return (
        costs,
        figure,
        fewest.astype(float),
        (people + rng.integers(0, 4, len(figure))).astype(float),
        prices,
    )


@pytest.mark.parametrize("seed", range(few(15, of=400)))
def test_the_bound_is_the_least_of_all_ways(seed: int) -> None:
    costs, figure, fewest, most, prices = random_figures(np.random.default_rng([1, seed]))
    least, best = least_by_trying(costs, figure, fewest, most, prices)
    above = min(least, 100.0) + 1.0
    found = share_people(costs, figure, fewest, most, prices, above, above)
    assert found.bound == pytest.approx(min(least, above), rel=1e-9)
    assert (found.levels is None) == (best is None)
    if best is not None:
        assert tuple(found.levels) == best
    alone = share_people(costs[:1], figure, fewest, most, prices[:1], above, above)
    assert alone.bound <= found.bound * (1 + 1e-12)
    assert alone.levels is None


def test_the_order_of_prices_changes_nothing() -> None:
    costs, figure, fewest, most, prices = random_figures(np.random.default_rng([1, 3]))
    least, _ = least_by_trying(costs, figure, fewest, most, prices)
    for order in permutations(range(len(prices))):
        place = list(order)
        found = share_people(costs[place], figure, fewest, most, prices[place], least + 1.0, least + 1.0)
        assert found.bound == pytest.approx(least, rel=1e-9)


def test_what_costs_more_than_the_value_is_left_out() -> None:
    costs, figure, fewest, most, prices = random_figures(np.random.default_rng([1, 3]))
    least, _ = least_by_trying(costs, figure, fewest, most, prices)
    value = least * 0.999
    assert share_people(costs, figure, fewest, most, prices, value, value).bound == pytest.approx(
        value, rel=1e-9
    )


def test_where_nothing_is_better_the_value_is_the_bound() -> None:
    # Both figures need at least one person more than there are.
    costs = np.array([[1.0, 1.0], [0.5, 0.5], [2.0, 2.0]])
    figure, fewest, most = np.arange(2), np.ones(2), np.full(2, 3.0)
    found = share_people(costs, figure, fewest, most, np.array([1.0, 0.5, 2.0]), 9.0, 9.0)
    assert found.bound == pytest.approx(9.0)
    assert found.levels is None
    none = share_people(costs, figure, most, fewest, np.array([1.0, 0.5, 2.0]), 9.0, 9.0)
    assert none.bound == pytest.approx(9.0)


def test_numbers_that_are_too_many_are_left_to_a_price() -> None:
    costs = np.array([[1.0, 1.0], [1.0, 1.0]])
    figure, far = np.arange(2), np.full(2, 1e9)
    found = share_people(costs, figure, -far, far, np.array([0.0, 1e-9]), 9.0, 9.0)
    assert found == (2.0, None)
