"""The minimum per stratum that holds by default where not everyone answers."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

import dpstrata as dps
from dpstrata.allocation.posing import size_limits
from dpstrata.allocation.response import fewest_for_two_answers
from dpstrata.survey.inputs import Inputs


def departments(size=100_000, rate=0.5, **more):
    return dps.Strata([size] * 12, [0.4] * 12, response_rates=[rate] * 12, **more)


def least(strata, **options):
    return size_limits(Inputs(**{"epsilon": 1.0, **options}), strata)[0].tolist()


def fewer_than_two(N, willing, n):
    """In whole numbers."""
    ways = [math.comb(willing, m) * math.comb(N - willing, n - m) for m in (0, 1) if n - m <= N - willing]
    return sum(ways) / math.comb(N, n)


def test_half_of_twelve_strata_answer():
    """Fifteen: (1 + 15)/2^15 in each of 12 strata is 0.6%; with fourteen it would be 1.1%."""
    assert least(departments(), total=1000) == [15] * 12
    assert min(dps.design(departments(), epsilon=1, total=200).sample_sizes) >= 15
    assert 12 * 16 / 2**15 <= 0.01 < 12 * 15 / 2**14


@pytest.mark.parametrize("seed", range(30))
def test_it_is_the_smallest_that_keeps_the_chance(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 400, 8)
    willing = np.array([rng.integers(1, N + 1) for N in sizes])
    found = fewest_for_two_answers(sizes, willing / sizes, places=8)
    for N, A, n in zip(sizes.tolist(), willing.tolist(), found.tolist(), strict=True):
        assert n == N or fewer_than_two(N, A, n) <= 0.01 / 8
        assert n == 1 or n - 1 < 2 or fewer_than_two(N, A, n - 1) > 0.01 / 8


def test_huge_strata_lose_no_digits():
    sizes, rates = np.full(3, 10**12), np.array([0.02, 0.3, 0.9])
    found = fewest_for_two_answers(sizes, rates, places=3)
    assert np.all(stats.binom.cdf(1, found, rates) <= 0.01 / 3)
    assert np.all(stats.binom.cdf(1, found - 1, rates) > 0.01 / 3)


@pytest.mark.parametrize("given", [1, 2, 40])
def test_what_is_given_is_kept(given):
    assert least(departments(), total=1000, min_per_stratum=given) == [given] * 12


def test_nothing_changes_where_everyone_answers():
    assert least(dps.Strata([100] * 3, [0.4] * 3), total=20) == [1] * 3
    assert least(departments(rate=1.0), total=20) == [1] * 12


@pytest.mark.parametrize("limit", ["total", "at_most"])
def test_where_it_does_not_fit_every_stratum_gets_the_same_share(limit):
    assert least(departments(), **{limit: 180}) == [15] * 12
    assert least(departments(), **{limit: 179}) == [14] * 12
    assert (
        least(departments(), **{limit: 12 + 12 * 7}) == [7] * 12
    )  # 1, and half of the other 14, rounded down
    assert least(departments(), **{limit: 12}) == [1] * 12
    with pytest.raises(dps.InfeasibleError, match=r"at least the sum of the minimums \(12\), got total=11"):
        dps.design(departments(), epsilon=1, total=11)


def test_a_budget_carries_what_it_can():
    costs = np.array([5.0, 20.0] * 6)
    strata = departments(costs=costs)
    for budget in (150, 151, 1000, 2249):
        lower = np.array(least(strata, budget=budget))
        assert costs @ lower <= budget
        assert lower.max() < 15
    assert least(strata, budget=2250) == [15] * 12
    assert costs @ dps.design(strata, epsilon=1, budget=1800).sample_sizes <= 1800


@pytest.mark.parametrize(("mins", "found"), [([0, 40, 0], [6, 40, 9]), ([1, 2, 0], [1, 2, 9])])
def test_small_strata_are_asked_up_to_their_maximum_and_own_minimums_are_kept(mins, found):
    strata = dps.Strata([20, 5000, 5000], [0.4] * 3, response_rates=[0.3] * 3, mins=mins, maxs=[6, 900, 9])
    assert least(strata, total=500) == found


def test_own_minimums_in_every_stratum_beyond_the_total_are_refused():
    strata = dps.Strata([20] * 3, [0.3] * 3, response_rates=[1, 1, 0.5], mins=[1, 1, 2])
    with pytest.raises(dps.InputError, match="minimum"):
        dps.design(strata, epsilon=1, total=3)


def test_a_design_says_that_it_has_only_part_of_it():
    with pytest.warns(dps.DpstrataWarning, match="takes 180 invitations; every stratum gets the same share"):
        plan = dps.design(departments(), epsilon=1, total=90)
    assert plan.default_minimum == (180, False, False)
    whole = dps.design(departments(), epsilon=1, total=180)
    assert whole.default_minimum == (180, True, False)
    assert "default minimum" not in whole.response_in_words


@pytest.mark.parametrize("most", [100, 170, 1000])
def test_a_design_says_that_fewer_people_may_be_more_precise(most):
    """Nearly everyone of a small stratum is known to be asked, so that more people mean more noise."""
    strata = dps.Strata([60] * 12, response_rates=[0.5] * 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dps.DpstrataWarning)
        plan = dps.design(strata, epsilon=0.1, at_most=most)
        free = dps.design(strata, epsilon=0.1, at_most=most, min_per_stratum=1)
    assert plan.default_minimum.binds
    assert plan.response_in_words.endswith("fewer may be more precise, with min_per_stratum=1.")
    assert free.standard_error < plan.standard_error
    assert free.total < plan.total
    assert free.default_minimum is None


def test_the_document_keeps_the_default(tmp_path):
    plan = dps.design(departments(), epsilon=1, total=600)
    plan.save(tmp_path / "design.json")
    assert dps.load_design(tmp_path / "design.json") == plan
    assert plan.to_dict()["inputs"]["min_per_stratum"] is None


def test_sizes_that_someone_states_may_be_below_it():
    strata = departments()
    few = dps.evaluate(strata, [40] * 11 + [5], epsilon=1)
    assert few.best.inputs.min_per_stratum == 1
    assert few.ratio >= 1 - 1e-12
    uneven = dps.evaluate(strata, [40] * 6 + [15] * 6, epsilon=1)
    assert uneven.best.inputs.min_per_stratum is None
    assert uneven.ratio >= 1 - 1e-12
