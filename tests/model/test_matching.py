from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpstrata as dps
from dpstrata.model.baselines import baseline_sizes
from dpstrata.model.matching import match_neyman


def by_trying(plan):
    """Try every total from the smallest."""
    goal = plan.problem.objective(plan.sample_sizes) * (1 + 1e-12)
    for total in range(int(plan.problem.lower.sum()), int(plan.problem.upper.sum()) + 1):
        problem = replace(plan.problem, total=total)
        if problem.objective(baseline_sizes(problem, "neyman")) <= goal:
            return total
    return None


@pytest.mark.filterwarnings("ignore::dpstrata.DpstrataWarning")
@settings(max_examples=40, deadline=None)
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
