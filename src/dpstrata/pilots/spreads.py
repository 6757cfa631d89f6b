r"""Standard deviations to plan with, from the noised answers of a pilot.

The variance of the final estimate is linear in every :math:`S_i^2`, so what to plan with is the mean
of :math:`S_i^2` given the pilot, not its most likely value: a stratum is never starved because its few noised
answers happen to vary less than the noise. In units of the answer range, with m noised answers of mean
:math:`\bar z` and variance :math:`s^2`, and noise of variance v:

- The stratum's mean μ is uniform before, and :math:`\bar z` normal around it with variance
  :math:`(\mu(1-\mu)+v)/m`. The mean of μ(1−μ) given :math:`\bar z` is S² itself for answers of two
  values, and bounds it for all others (Bhatia and Davis 2000).
- For all others S² is uniform below that bound before, and
  :math:`s^2 \sim (S^2+v)\,\chi^2_d/d` with :math:`d = 2(m-1)/(\kappa-1)`, κ the kurtosis of all noised
  answers pooled, at least 3. One imaginary answer with the variance expected before is added.
- A bound that was told is kept to. Any other standard deviation that was told counts as right to within a
  factor of two: log-normal around it, one standard deviation of which is that factor. Either counts as at
  least a thousandth of the range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only

DOUBT = 2.0
"""Factor within which a standard deviation that was told counts as right."""
_REACH = 8.0  # standard errors on either side that are looked at
_NODES = 257
_ROWS = 4096  # strata at once
_LEAST_KURTOSIS = 3.0
_LEAST_TOLD = 1e-3  # share of the range below which nothing that is told is believed
_SMALLEST = 1e-200  # where one person leaves no room, so that logarithms exist


class PilotMoments(NamedTuple):
    """What the noised answers of each stratum show, as shares of the answer range.

    The last axis is that of the strata; before it there may be repeats.
    """

    counts: FloatArray
    means: FloatArray
    variances: FloatArray
    noise: FloatArray
    fourths: FloatArray
    """Sum of the fourth powers of the deviations from the mean."""


def noised_moments(plan: Design, codes: IntArray, values: FloatArray) -> PilotMoments:
    """Summarise noised answers, stratum by stratum.

    Parameters
    ----------
    plan : Design
        The design of the pilot.
    codes : array of int
        Position of each answer's stratum.
    values : array
        The noised answers; at least one of every stratum.
    """
    space, strata = plan.inputs.space, len(plan.strata)
    shares = space.shares(values)
    counts = np.bincount(codes, minlength=strata).astype(float)
    means = np.bincount(codes, weights=shares, minlength=strata) / counts
    off = shares - means[codes]
    variances = np.bincount(codes, weights=off**2, minlength=strata) / np.maximum(counts - 1, 1)
    fourths = np.bincount(codes, weights=off**4, minlength=strata).astype(float)
    noise = (plan.noise_sds / space.range) ** 2
    if plan.mechanism.worst_case:
        seen = plan.mechanism.seen_variance(shares, plan.local_epsilons[codes])
        noise = np.maximum(np.bincount(codes, weights=seen, minlength=strata) / counts, 0.0)
    return PilotMoments(counts, means, variances, noise, fourths)


def pilot_spreads(plan: Design, moments: PilotMoments) -> FloatArray:
    """Return the standard deviations to plan the main wave with.

    Parameters
    ----------
    plan : Design
        The design of the pilot, with what was known of the spreads before.
    moments : PilotMoments
        What its noised answers show.

    Returns
    -------
    array
        In the units of the answers: above 0 in every stratum of two people or more, and at most what the
        answer range and the bounds that were told allow. Its square is the mean of S² given the pilot.
    """
    question, space, strata = plan.inputs.question, plan.inputs.space, plan.strata
    shape = moments.means.shape
    sizes = strata.sizes.astype(float)
    given = np.maximum(plan.sds / space.range, _LEAST_TOLD)
    bound = np.array([strata.sd_source(i) == "bound" for i in range(len(strata))])
    most = np.minimum(
        question.of_kind.largest_sd(question, strata.sizes) / space.range, np.where(bound, given, np.inf)
    )
    told = np.where(bound, 0.0, given)
    kurtosis = np.broadcast_to(_kurtosis(moments)[..., None], shape)
    flat = [
        np.broadcast_to(each, shape).reshape(-1) for each in (*moments[:4], kurtosis, sizes, most**2, told**2)
    ]
    found = np.empty(flat[0].size)
    for start in range(0, found.size, _ROWS):
        rows = slice(start, start + _ROWS)
        found[rows] = _mean_variances(*(each[rows] for each in flat), two_values=space.values == 2)
    spreads: FloatArray = space.range * np.sqrt(found.reshape(shape))
    return read_only(spreads)


def _kurtosis(moments: PilotMoments) -> FloatArray:
    """Kurtosis of the noised answers of all strata together, each in units of its own variance."""
    central = moments.variances * (moments.counts - 1) / moments.counts
    scale = (moments.counts * central**2).sum(axis=-1)
    pooled = moments.fourths.sum(axis=-1) / np.where(scale > 0, scale, np.inf)
    return np.asarray(np.maximum(pooled, _LEAST_KURTOSIS))


def _mean_variances(
    counts: FloatArray,
    means: FloatArray,
    variances: FloatArray,
    noise: FloatArray,
    kurtosis: FloatArray,
    sizes: FloatArray,
    most: FloatArray,
    told: FloatArray,
    *,
    two_values: bool,
) -> FloatArray:
    """Return the mean of S² given the pilot, of one stratum in each row."""
    correction = sizes / np.maximum(sizes - 1, 1)
    bounds = _mean_products(counts, means, noise, told if two_values else np.zeros_like(told))
    bounds = np.minimum(bounds * correction, most)
    if two_values:
        return bounds
    # One imaginary answer keeps strata alive whose people all happened to answer alike.
    seen = 2.0 * (counts - 1) / (kurtosis - 1)
    freedom = seen + 1
    total = (seen * variances + noise + np.where(told > 0, np.minimum(told, bounds), bounds / 2)) / freedom
    error = (total + noise) * np.sqrt(2.0 / freedom)
    x, weight = _nodes(total - noise, error, bounds)
    spread = x + noise[:, None]
    likelihood = -freedom[:, None] / 2 * (np.log(spread) + total[:, None] / spread)
    return np.minimum(_mean(x, weight, likelihood + _log_prior(x, told)), most)


def _mean_products(counts: FloatArray, means: FloatArray, noise: FloatArray, told: FloatArray) -> FloatArray:
    """Return the mean of μ(1 − μ) given the mean of the noised answers."""
    means = np.minimum(means, 1 - means)  # nodes are densest near 0
    x, weight = _nodes(means, np.sqrt((0.25 + noise) / counts), np.ones_like(means))
    product = x * (1 - x)
    variance = (product + noise[:, None]) / counts[:, None]
    likelihood = -0.5 * (np.log(variance) + (means[:, None] - x) ** 2 / variance)
    return _mean(product, weight, likelihood + _log_prior(product, told))


def _nodes(centre: FloatArray, error: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes in [0, upper] around an estimate, dense at their lower end, with their log weights."""
    upper = np.maximum(upper, _SMALLEST)
    reach = np.minimum(_REACH * error, upper)
    low = np.clip(centre - reach, 0.0, upper - reach)
    high = np.clip(centre + reach, reach, upper)
    t = (np.arange(_NODES) + 0.5) / _NODES
    return low[:, None] + (high - low)[:, None] * t**4, 3.0 * np.log(t)


def _log_prior(variance: FloatArray, told: FloatArray) -> FloatArray:
    """Log density of a variance before the pilot, flat where nothing was told."""
    known = told > 0
    distance = np.log(variance / np.where(known, told, 1.0)[:, None]) / (2.0 * np.log(DOUBT))
    return np.where(known[:, None], -np.log(variance) - 0.5 * distance**2, 0.0)


def _mean(values: FloatArray, weight: FloatArray, log_density: FloatArray) -> FloatArray:
    """Mean of values under a density known up to a factor."""
    log_density = log_density + weight
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    return np.asarray((density * values).sum(axis=1) / density.sum(axis=1))
