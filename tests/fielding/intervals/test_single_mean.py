"""Intervals of a mean that is published as one number: coverage, width, and what the safe one guards against."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

import dpstrata as dps
from dpstrata.fielding.intervals.single_mean import StatedStrata, single_mean_limits
from dpstrata.fielding.intervals.tilt import Groups
from dpstrata.fielding.results.mean import estimate_from_figures, limits_of_means_in_surveys

SETTINGS = {
    "one of ten": ([2000] * 10, [0.5] + [0.0] * 9, 400, {"epsilon": 3}),
    "two of twenty": ([10_000] * 20, [0.5] * 2 + [0.005] * 18, 250, {"epsilon": 3}),
    "with devices": ([5000] * 8, [0.35, 0.3] + [0.01] * 6, 400, {"epsilon": 3, "device_epsilon": 5}),
    "one large stratum": ([3000, 3000, 14_000], [0.6, 0.4, 0.001], 1200, {"epsilon": 2}),
}


def planned(sizes, shares, options, *, stated=1.0, **more):
    """A design that was told the shares, or a part of the spread that they have."""
    N, p = np.array(sizes), np.array(shares)
    sds = stated * np.sqrt(p * (1 - p) * N / (N - 1))
    limits = {name: more.pop(name) for name in ("mins", "maxs") if name in more}
    told = {"proportions": p, "sds_are_shares": True} if more.pop("means", False) else {}
    strata = dps.Strata(N, sds, **limits, **told)
    return dps.design(strata, questions="yes_no", release="mean", **options, **more)


def people(sizes, shares):
    return [
        np.repeat([1.0, 0.0], [round(N * p), N - round(N * p)]) for N, p in zip(sizes, shares, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("stated", [1.0, 0.5])
@pytest.mark.parametrize("name", SETTINGS)
def test_coverage_where_a_trait_sits_in_few_strata(name, stated):
    """Variances used to be clipped stratum by stratum to the mean of the whole: 60% in the first of these."""
    sizes, shares, each, options = SETTINGS[name]
    n = [each] * len(sizes)
    plan = planned(sizes, shares, options, stated=stated, mins=n, maxs=n, total=sum(n))
    result = dps.simulate(plan, people(sizes, shares), replications=2000, seed=38)
    assert result.coverage >= 0.93, result
    assert plan.sample_sizes.tolist() == n


@pytest.mark.slow
@pytest.mark.parametrize("means", [True, False])
@pytest.mark.parametrize(
    ("sizes", "shares", "n"),
    [
        ([1000, 1000], [0.5, 0.5], [1000, 50]),
        ([1000, 1000], [0.6, 0.3], [1000, 100]),
        ([7000, 3000], [0.5, 1.0], [350, 150]),
        ([7000, 3000], [0.5, 0.99], [350, 150]),
        ([7000, 3000], [0.7, 0.99], [350, 150]),
        ([7000, 3000, 5000, 5000], [0.5, 0.99, 0.02, 0.8], [200, 150, 250, 200]),
    ],
)
def test_coverage_where_strata_are_asked_in_full_or_lie_beyond_a_half(sizes, shares, n, means):
    """A share and its complement have the same spread, and a stratum that is asked in full has no variance."""
    plan = planned(sizes, shares, {"epsilon": 8}, means=means, mins=n, maxs=n, total=sum(n))
    result = dps.simulate(plan, people(sizes, shares), replications=2000, seed=39)
    assert result.coverage >= 0.93, result


def test_it_is_not_much_wider_than_it_must_be():
    """Used to be twice as wide as a normal interval with the true variance."""
    sizes, shares = np.array([1000, 9000]), np.array([0.5, 0.001])
    plan = planned(sizes, shares, {"epsilon": 3}, total=300)
    m, W = plan.sample_sizes, sizes / sizes.sum()
    noise = plan.variance - W**2 @ (plan.sds**2 * (1 / m - 1 / sizes))
    normal = 2 * norm.ppf(0.975) * np.sqrt(plan.variance)
    rng = np.random.default_rng(1)
    means = rng.normal(W @ shares, np.sqrt(plan.variance), 2000)
    limits = limits_of_means_in_surveys(plan, np.tile(m, (2000, 1)), means, np.full(2000, noise))
    assert (limits.upper - limits.lower).mean() <= 1.3 * normal
    result = dps.simulate(plan, people(sizes, shares), replications=2000, seed=38)
    assert result.coverage >= 0.93


@pytest.mark.slow
def test_the_safe_interval_holds_where_the_stated_pattern_is_wrong():
    """Stated: half of one stratum has the trait. True: a tenth of every one."""
    sizes, n = [2000] * 5, [300] * 5
    plan = planned(sizes, [0.5, 0, 0, 0, 0], {"epsilon": 8}, mins=n, maxs=n, total=1500)
    rng = np.random.default_rng(2)
    noise = plan.variance - (plan.sds**2 * (1 / 300 - 1 / 2000)).sum() / 25
    found = rng.hypergeometric(200, 1800, 300, (1000, 5)).mean(axis=1) / 300
    found += rng.laplace(0, np.sqrt(noise / 2), 1000)
    columns, groups = ["all", *["stratum"] * 5], ["all", *plan.strata.names]
    rows = [
        estimate_from_figures(plan, columns, groups, [mean, *[None] * 5], [1500, *n])[0] for mean in found
    ]
    trusting = np.mean([row.lower <= 0.1 <= row.upper for row in rows])
    safe = np.mean([row.safe_lower <= 0.1 <= row.safe_upper for row in rows])
    assert safe >= 0.93
    assert trusting < 0.9
    assert all(row.safe_lower <= row.lower <= row.upper <= row.safe_upper for row in rows)


def largest_variance(P, weights, factors):
    """By a general optimiser: the most that shares with a given mean can vary."""
    found = minimize(
        lambda p: -(weights**2 * factors) @ (p * (1 - p)),
        np.full(len(weights), P),
        bounds=[(0, 1)] * len(weights),
        constraints={"type": "eq", "fun": lambda p: weights @ p - P},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return -found.fun


@pytest.mark.parametrize("estimate", [-0.1, 0.02, 0.3, 0.9, 1.2])
def test_safe_limits_are_where_the_largest_variance_ends(estimate):
    weights, factors = np.array([0.1, 0.3, 0.6]), np.array([0.05, 0.002, 0.01])
    strata = StatedStrata(np.full(3, 50.0), factors, np.full(3, 0.1), np.full(3, np.nan), np.zeros(3))
    groups, noise = Groups(np.zeros(3, dtype=int), 1, weights), 1e-4
    _, safe = single_mean_limits(
        strata, groups, np.array([estimate]), np.array([noise]), alpha=0.05, shares=True
    )
    z = norm.ppf(0.975)
    for limit, side in ((safe.lower[0], -1), (safe.upper[0], 1)):
        away = side * (limit - np.clip(estimate, 0, 1))
        reach = z * np.sqrt(largest_variance(limit, weights, factors) + noise)
        if limit in (0.0, 1.0):
            assert away <= reach * (1 + 1e-6)
        else:
            assert away == pytest.approx(reach, rel=1e-5)


def test_many_groups_at_once_are_each_by_itself():
    rng = np.random.default_rng(3)
    m = rng.integers(5, 50, 12).astype(float)
    b = 1 / m - 1 / 100
    means = np.where(rng.random(12) < 0.3, rng.random(12), np.nan)
    strata = StatedStrata(m, b * 100 / 99, rng.uniform(0, 0.25, 12), means, rng.uniform(0, 0.001, 12))
    codes, weights = np.repeat(np.arange(4), 3), rng.random(12)
    weights /= np.bincount(codes, weights)[codes]
    estimates, noise = rng.uniform(-0.1, 1.1, 4), rng.uniform(1e-5, 1e-3, 4)
    for shares in (True, False):
        together = single_mean_limits(
            strata, Groups(codes, 4, weights), estimates, noise, alpha=0.1, shares=shares
        )
        for g, kind in itertools.product(range(4), range(2)):
            alone = single_mean_limits(
                strata,
                Groups(np.zeros(3, dtype=int), 1, weights[codes == g], np.flatnonzero(codes == g)),
                estimates[[g]],
                noise[[g]],
                alpha=0.1,
                shares=shares,
            )
            for one, other in zip(alone[kind], together[kind], strict=True):
                assert one[0] == pytest.approx(other[g], abs=1e-9)


@pytest.mark.parametrize("stated", [0.7, 1.0])
def test_coverage_of_numbers(stated):
    """Skewed incomes; with spreads that are stated too small the safe interval is what is left."""
    rng = np.random.default_rng(4)
    population = [np.minimum(rng.lognormal(mu, 0.8, 3000), 100.0) for mu in (1.0, 2.0, 3.0)]
    sds = [stated * values.std(ddof=1) for values in population]
    plan = dps.design(dps.Strata([3000] * 3, sds), questions=(0, 100), release="mean", epsilon=2, total=900)
    result = dps.simulate(plan, population, replications=2000, seed=5)
    assert result.coverage >= (0.93 if stated == 1.0 else 0.8)


def test_a_stratum_that_was_said_not_to_vary_can_still_move():
    """All strata at zero: as good as one stratum, and wider than the noise alone."""
    plan = planned([500, 500], [0, 0], {"epsilon": 2}, total=200)
    noise = plan.variance
    limits = limits_of_means_in_surveys(plan, plan.sample_sizes[None], np.array([0.3]), np.array([noise]))
    width = float((limits.upper - limits.lower)[0])
    sampling = 0.21 * (1 / 200 - 1 / 1000)
    assert width == pytest.approx(2 * norm.ppf(0.975) * np.sqrt(sampling + noise), rel=0.05)
