import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpstrata.allocation.balance import balance
from dpstrata.allocation.comparison import baseline_sizes, baseline_sizes_at_cost, largest_remainders
from dpstrata.survey.costs import total_cost
from extent import few
from problems import PAPER_SDS, PAPER_SIZES, make_problem


def test_neyman_of_the_paper():
    problem = make_problem(PAPER_SIZES, PAPER_SDS, total=200)
    assert baseline_sizes(problem, "neyman").tolist() == [137, 44, 14, 5]
    assert baseline_sizes(problem, "proportional").tolist() == [41, 47, 53, 59]
    assert baseline_sizes(problem, "equal").tolist() == [50, 50, 50, 50]


def test_without_any_spread_neyman_is_proportional():
    problem = make_problem([10, 20, 30], [0, 0, 0], total=12)
    assert baseline_sizes(problem, "neyman").tolist() == [2, 4, 6]


@settings(max_examples=few(100, of=300), deadline=None)
@given(st.data())
def test_largest_remainders(data):
    k = data.draw(st.integers(1, 8))
    lower = np.array(data.draw(st.lists(st.integers(1, 5), min_size=k, max_size=k)))
    upper = lower + np.array(data.draw(st.lists(st.integers(0, 30), min_size=k, max_size=k)))
    weights = np.array(data.draw(st.lists(st.floats(0, 100), min_size=k, max_size=k)))
    total = data.draw(st.integers(int(lower.sum()), int(upper.sum())))
    sizes = largest_remainders(weights, lower, upper, total)
    assert sizes.sum() == total
    assert np.all((sizes >= lower) & (sizes <= upper))


@pytest.mark.parametrize("total", [10, 11, 12, 13])
def test_hamilton_by_hand(total):
    shares = np.array([0.5, 0.3, 0.2]) * total
    floor = np.floor(shares + 1e-9)
    order = np.argsort(-(shares - floor), kind="stable")
    floor[order[: int(total - floor.sum())]] += 1
    sizes = largest_remainders(np.array([5.0, 3.0, 2.0]), np.ones(3, int), np.full(3, 100), total)
    assert sizes.tolist() == floor.tolist()


def test_spreads_too_small_to_be_squared():
    shares, _ = balance(
        None, np.array([0.0, 9.27e-161]), None, np.array([1.0, 1.0]), np.array([2.0, 1.5]), total=3.0
    )
    assert shares.sum() == pytest.approx(3.0)


@settings(max_examples=few(80, of=200), deadline=None)
@given(st.data())
def test_rivals_of_the_same_cost_never_cost_more(data):
    k = data.draw(st.integers(1, 6))
    sizes = np.array(data.draw(st.lists(st.integers(40, 4000), min_size=k, max_size=k)))
    sds = np.array(data.draw(st.lists(st.floats(0, 0.5), min_size=k, max_size=k)))
    costs = np.array(data.draw(st.lists(st.sampled_from([0.1, 0.3, 1.0, 7.0, 12.5]), min_size=k, max_size=k)))
    own = np.array([data.draw(st.integers(1, 40)) for _ in range(k)])
    problem = make_problem(sizes, sds, total=int(own.sum()))
    cost = total_cost(costs, own)
    for name in ("neyman", "proportional", "equal"):
        rival = baseline_sizes_at_cost(problem, name, costs, cost)
        assert np.all((rival >= 1) & (rival <= sizes))
        assert total_cost(costs, rival) <= cost
        assert cost - total_cost(costs, rival) < costs.sum()  # less than one more person everywhere


def test_neyman_for_a_cost_is_the_best_without_noise():
    """Against every allocation of the same cost: n ∝ N·S/√cost has the least variance without noise."""
    sizes, sds, costs = np.array([700, 900]), np.array([0.4, 0.1]), np.array([9.0, 1.0])
    problem = make_problem(sizes, sds, total=2)
    first = np.arange(1, 111)
    pairs = np.column_stack([first, 1000 - 9 * first])
    variances = ((sizes * sds) ** 2 / pairs).sum(axis=1)
    neyman = baseline_sizes_at_cost(problem, "neyman", costs, 1000.0)
    assert neyman.tolist() == [100, 97]  # 100.36 and 96.77 before rounding
    assert ((sizes * sds) ** 2 / neyman).sum() <= variances.min() * 1.01
    assert variances[50] > variances.min() * 1.2
    assert baseline_sizes_at_cost(problem, "equal", costs, 1000.0).tolist() == [100, 100]
