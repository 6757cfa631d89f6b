"""Other allocations beside a design."""

from pathlib import Path

import pytest

import dpstrata as dps

REGIONS = dps.Strata.from_file(Path(dps.__file__).parent / "examples" / "regions.csv")


@pytest.mark.filterwarnings("ignore:Counts are invitations")
@pytest.mark.parametrize("epsilon", [1, 2, 5])
@pytest.mark.parametrize("budget", [2000, 5000, 20_000])
def test_nobody_beats_a_budget_by_spending_more(epsilon, budget):
    """Neyman's allocation was shown at 0.986 times the variance, for 3% more money than there is."""
    plan = dps.design(REGIONS, epsilon=epsilon, budget=budget, mechanism="best")
    rows = plan.compare()
    assert [row.design for row in rows] == ["this_design", "neyman", "proportional", "equal"]
    assert all(row.cost <= budget for row in rows)
    assert all(row.cost > budget - REGIONS.costs.sum() for row in rows)  # and they use it
    assert all(row.ratio >= 1 for row in rows)
