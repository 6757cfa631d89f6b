"""Estimates of many strata, written again one stratum at a time."""

import math

import numpy as np
import pytest
from scipy import stats

import dpstrata as dps

K = 300


@pytest.fixture(scope="module")
def survey():
    draw = np.random.default_rng(3)
    names = [f"s{i}" for i in range(K)]
    region = [f"r{i % 7}" for i in range(K)]
    strata = dps.Strata(
        draw.integers(40, 900, K), draw.uniform(0.05, 0.45, K), names, extra={"region": region}
    )
    plan = dps.design(strata, epsilon=1, total=6 * K, domains={"region": None})
    told = [name for name, n in zip(names, plan.sample_sizes, strict=True) for _ in range(n)]
    return plan, told, draw.normal(0.5, 1.0, len(told))


def by_hand(plan, told, noised, rows):
    """The estimate of one group of strata: mean, standard error, degrees of freedom."""
    told = np.array(told)
    share = plan.strata.sizes / plan.strata.sizes[rows].sum()
    mean = variance = doubt = 0.0
    for i in rows:
        values = noised[told == plan.strata.name(i)]
        m, N, v = len(values), plan.strata.sizes[i], plan.noise_sds[i] ** 2
        spread = max(values.var(ddof=1) - v, 0.0) if m > 1 else plan.sds[i] ** 2
        mean += share[i] * values.mean()
        variance += share[i] ** 2 * (spread / m * (1 - m / N) + v / m)
        if m > 1:
            doubt += (share[i] ** 2 * (spread + v) / m * (1 - m / N)) ** 2 / (m - 1)
    return mean, math.sqrt(variance), variance**2 / doubt if doubt else math.inf


def test_every_group_is_what_it_is_by_hand(survey):
    plan, told, noised = survey
    found = dps.estimate_means(plan, told, noised)
    regions = np.array(plan.strata.extra["region"])
    asked = [
        (found.whole, "all", np.arange(K)),
        *((found.strata[i], plan.strata.name(i), np.array([i])) for i in range(0, K, 29)),
        *((row, row.group, np.flatnonzero(regions == row.group)) for row in found.domains),
    ]
    for row, group, rows in asked:
        mean, error, degrees = by_hand(plan, told, noised, rows)
        assert row.group == group
        assert (row.estimate, row.standard_error) == pytest.approx((mean, error), rel=1e-9)
        assert row.degrees_of_freedom == pytest.approx(degrees, rel=1e-9)
        reach = stats.t.ppf(0.975, degrees) * error
        assert (row.lower, row.upper) == pytest.approx((mean - reach, mean + reach), rel=1e-9)
        assert row.invited == row.answers == plan.sample_sizes[rows].sum()
    assert [row.group for row in found.domains] == [f"r{i}" for i in range(7)]


def test_records_are_made_where_they_are_looked_at(survey):
    found = dps.estimate_means(*survey)
    assert len(found.strata) == K
    assert found.strata[-1] == list(found.strata)[-1] == found.strata[-1:][0]
    assert found.rows == (found.whole, *found.domains, *found.strata)
    assert type(found.strata[0].answers) is int
    with pytest.raises(IndexError):
        found.strata[K]


def test_strata_are_not_gone_through_one_by_one(survey, monkeypatch):
    """A look at all strata for each of them would take a time that grows with the square of their number."""
    plan, told, noised = survey
    looked_at = []
    listed = dps.Strata.names.fget
    monkeypatch.setattr(dps.Strata, "names", property(lambda self: looked_at.append(1) or listed(self)))
    dps.estimate_means(plan, told, noised)
    assert len(looked_at) < 10
