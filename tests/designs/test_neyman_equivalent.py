from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpstrata as dps
from dpstrata.allocation.baselines import baseline_sizes
from dpstrata.allocation.terms import Terms
from dpstrata.designs.neyman_equivalent import _NeymanVariance, match_neyman
from extent import few


def by_trying(plan):
    """Try every total from the smallest."""
    goal = plan.problem.objective(plan.sample_sizes) * (1 + 1e-12)
    for total in range(int(plan.problem.lower.sum()), int(plan.problem.upper.sum()) + 1):
        problem = replace(plan.problem, total=total)
        if problem.objective(baseline_sizes(problem, "neyman")) <= goal:
            return total
    return None


@pytest.mark.filterwarnings("ignore::dpstrata.DpstrataWarning")
@settings(max_examples=few(20, of=40), deadline=None)
@given(
    strata=st.lists(st.tuples(st.integers(2, 90), st.floats(0.0, 0.45)), min_size=1, max_size=4),
    share=st.floats(0, 1),
    epsilon=st.sampled_from([0.05, 0.5, 1.0, 4.0]),
    mechanism=st.sampled_from(["laplace", "staircase"]),
)
def test_it_is_what_trying_every_number_gives(strata, share, epsilon, mechanism):
    sizes, sds = zip(*strata, strict=True)
    k, population = len(sizes), sum(sizes)
    total = min(max(k, round(share * population)), population)
    plan = dps.design(dps.Strata(sizes, sds), epsilon=epsilon, total=total, mechanism=mechanism)
    match = match_neyman(plan)
    assert match.proven
    assert match.total == by_trying(plan)


def test_there_may_be_no_such_number():
    # all spread in a small stratum: Neyman leaves the large ones one interview each
    strata = dps.Strata([30, 3000, 3000], [0.5, 0.001, 0.001])
    plan = dps.design(strata, epsilon=0.5, at_most=6000)
    match = match_neyman(plan)
    assert match.total is None
    assert match.proven
    assert by_trying(plan) is None


def test_with_bounds_rates_and_cap():
    strata = dps.Strata([300, 400, 500], [0.4, 0.2, 0.1], mins=[3, 4, 5], response_rates=[0.5, 0.8, 1.0])
    plan = dps.design(strata, epsilon=1, total=90, local_epsilon_cap=3)
    assert match_neyman(plan).total == by_trying(plan)


@pytest.mark.filterwarnings("ignore::dpstrata.DpstrataWarning")
@pytest.mark.parametrize("total", [6, 55])
@pytest.mark.parametrize("small", [5e-324, 2e-311, 1e-300, 7e-76, 1e-20, 1e-13, 1e-11, 1e-8, 1e-4])
@pytest.mark.parametrize("others", [(0.25, 0.0), (0.0, 0.0), (3e-320, 0.0)])
def test_spreads_may_be_as_small_as_numbers_get(small, others, total):
    plan = dps.design(dps.Strata([2, 51, 2], [*others, small]), epsilon=0.5, total=total, mechanism="laplace")
    assert match_neyman(plan).total == by_trying(plan)


def test_many_strata_stop_early_and_say_so():
    draw = np.random.default_rng(2)
    strata = dps.Strata(draw.integers(100, 9000, 8000), draw.uniform(0.05, 0.45, 8000))
    plan = dps.design(strata, epsilon=1, total=100_000)
    match = match_neyman(plan)
    problem = replace(plan.problem, total=match.total)
    goal = plan.problem.objective(plan.sample_sizes)
    assert problem.objective(baseline_sizes(problem, "neyman")) <= goal * (1 + 1e-12)
    fewer = replace(plan.problem, total=match.total - 1)
    assert fewer.objective(baseline_sizes(fewer, "neyman")) > goal


@pytest.mark.filterwarnings("ignore::dpstrata.DpstrataWarning")
@settings(max_examples=few(30, of=60), deadline=None)
@given(
    strata=st.lists(
        # few different values, so that shares are whole or tie, and some strata have no weight
        st.tuples(st.sampled_from([2, 10, 20, 30, 47, 90]), st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.431])),
        min_size=1,
        max_size=6,
    ),
    share=st.floats(0, 1),
    ends=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    least=st.integers(1, 2),
    release=st.sampled_from(["microdata", "sums"]),
)
def test_many_totals_at_once_are_rounded_alike_and_bounded_rightly(strata, share, ends, least, release):
    sizes, sds = zip(*strata, strict=True)
    total = round(least * len(sizes) + share * (sum(sizes) - least * len(sizes)))
    plan = dps.design(dps.Strata(sizes, sds), epsilon=1, total=total, min_per_stratum=least, release=release)
    search = _NeymanVariance(plan)
    totals = np.arange(search.least, search.most + 1)
    alone = [baseline_sizes(replace(plan.problem, total=int(each)), "neyman") for each in totals]
    assert search.sizes(totals).tolist() == [each.tolist() for each in alone]
    first, last = sorted(round(end * (len(totals) - 1)) for end in ends)
    values = [plan.problem.objective(each) for each in alone[first : last + 1]]
    assert search._least_between(int(totals[first]), int(totals[last])) <= min(values)


def test_a_thousand_strata_take_few_looks_and_the_proof_holds(monkeypatch):
    draw = np.random.default_rng(2)
    strata = dps.Strata(draw.integers(100, 9000, 1000), draw.uniform(0.05, 0.45, 1000))
    plan = dps.design(strata, epsilon=1, total=12_000)
    looked_at, values = [], Terms.values
    monkeypatch.setattr(Terms, "values", lambda *args: looked_at.append(len(args[1])) or values(*args))
    match = match_neyman(plan)
    assert match.proven
    assert sum(looked_at) < 200 * 1000
    monkeypatch.undo()
    goal = plan.problem.objective(plan.sample_sizes) * (1 + 1e-12)
    for total, does in (
        (match.total, True),
        *((match.total - i, False) for i in (*range(1, 40), 99, 300, 700)),
    ):
        problem = replace(plan.problem, total=total)
        assert (problem.objective(baseline_sizes(problem, "neyman")) <= goal) is does
