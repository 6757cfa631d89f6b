"""Estimates of many strata, written again one stratum at a time."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

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
    """The estimate of one group of strata: mean and standard error."""
    told = np.array(told)
    share = plan.strata.sizes / plan.strata.sizes[rows].sum()
    mean = variance = 0.0
    for i in rows:
        values = noised[told == plan.strata.name(i)]
        m, N, v = len(values), plan.strata.sizes[i], plan.noise_sds[i] ** 2
        spread = max(values.var(ddof=1) - v, 0.0) if m > 1 else plan.sds[i] ** 2
        mean += share[i] * values.mean()
        variance += share[i] ** 2 * (spread / m * (1 - m / N) + v / m)
    return mean, math.sqrt(variance)


def limits_by_hand(plan, told, noised, rows):
    """The two means that the estimate of a group leaves just possible, all strata moved together."""
    told = np.array(told)
    values = [noised[told == plan.strata.name(i)] for i in rows]
    means, m = np.array([each.mean() for each in values]), np.array([len(each) for each in values])
    N, v = plan.strata.sizes[rows], plan.noise_sds[rows] ** 2
    W = N / N.sum()
    estimate, inside = W @ means, np.clip(means, 0, 1)
    guess = (m.sum() * np.clip(estimate, 0, 1) + 1) / (m.sum() + 2)
    largest = guess * (1 - guess)
    seen, spreads = [], []
    for i, each, mean in zip(rows, values, inside, strict=True):
        spread = max(each.var(ddof=1) - plan.noise_sds[i] ** 2, 0.0) if len(each) > 1 else plan.sds[i] ** 2
        spreads.append(spread)
        seen.append(1.0 if mean in (0, 1) else min(spread / (mean * (1 - mean)), 1.0))
    centre = W @ inside
    spread = W @ spreads + W @ (inside - centre) ** 2  # of everyone, within strata and between them
    end = min(centre, 1 - centre)
    known = m * largest / (largest + v) * end**2 / (end**2 + spread)
    middle = (known @ seen + 10) / (known.sum() + 10)
    fraction = (known * seen + 5 * middle) / (known + 5)

    def variances(mu):
        return fraction * mu * (1 - mu) * (1 - m / N) / m + v / m

    worth = largest / variances(guess)
    others = 5 * np.maximum(W / worth * worth.sum(), 1) ** 3
    pilot = (worth * inside + others * guess) / (worth + others)

    def away(delta, from_, reach=0.0):
        mu = special.expit(special.logit(pilot) + delta)
        return (W @ mu - from_) / math.sqrt(W**2 @ variances(mu)) - reach

    ends, reach = [], stats.norm.ppf(0.975)
    for side, from_ in ((-1, min(estimate, 1.0)), (1, max(estimate, 0.0))):
        if side * away(side * 30, from_) < reach:
            ends.append(float(side > 0))
            continue
        delta = optimize.brentq(away, -30, 30, args=(from_, side * reach), xtol=1e-13)
        ends.append(W @ special.expit(special.logit(pilot) + delta))
    return ends


def test_every_group_is_what_it_is_by_hand(survey):
    plan, told, noised = survey
    found = dps.estimate_means(plan, told, noised)
    regions = np.array(plan.strata.extra["region"])
    asked = [
        (found.whole[0], "all", np.arange(K)),
        *((found.by("stratum")[i], plan.strata.name(i), np.array([i])) for i in range(0, K, 29)),
        *((row, row.group, np.flatnonzero(regions == row.group)) for row in found.by("region")),
    ]
    for row, group, rows in asked:
        mean, error = by_hand(plan, told, noised, rows)
        assert row.group == group
        assert (row.estimate, row.standard_error) == pytest.approx((mean, error), rel=1e-9)
        limits = limits_by_hand(plan, told, noised, rows)
        assert (row.lower, row.upper) == pytest.approx(limits, abs=1e-9)
        assert row.invited == row.answered == plan.sample_sizes[rows].sum()
    assert [row.group for row in found.by("region")] == [f"r{i}" for i in range(7)]


def test_records_are_made_where_they_are_looked_at(survey):
    found = dps.estimate_means(*survey)
    strata = found.by("stratum")
    assert len(strata) == K
    assert strata[-1] == list(strata)[-1] == strata[-1:][0]
    assert list(found) == [*found.whole, *found.by("total"), *found.by("region"), *strata]
    assert type(strata[0].answered) is int
    with pytest.raises(IndexError):
        strata[K]


def test_strata_are_not_gone_through_one_by_one(survey, monkeypatch):
    """A look at all strata for each of them would take a time that grows with the square of their number."""
    plan, told, noised = survey
    looked_at = []
    listed = dps.Strata.names.fget
    monkeypatch.setattr(dps.Strata, "names", property(lambda self: looked_at.append(1) or listed(self)))
    dps.estimate_means(plan, told, noised)
    assert len(looked_at) < 10


def test_means_of_rows_are_not_taken_for_means_of_answers():
    plan = dps.design(dps.Strata([500, 700]), epsilon=1, total=100, questions=(0, 8000), forms="one")
    with pytest.raises(dps.InputError, match="kept or replaced is not that of the answers"):
        dps.estimate_means(plan, ["1"] * 50 + ["2"] * 50, [0.0] * 100)
