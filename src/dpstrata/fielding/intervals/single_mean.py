r"""The interval of a mean that is published as one number, so that it shows no spread of its own.

All that is known of the strata is what the design was told: their standard deviations :math:`S_h`. With
:math:`b_h = (1/m - 1/N)\,N/(N - 1)`, device noise :math:`d_h` and office noise v, a mean that is made of
shares :math:`p_h` of yes has the variance

.. math:: V = \sum_h W_h^2 \left[p_h (1 - p_h)\, b_h + d_h\right] + v .

A value P of the mean is ruled out where :math:`|\hat P - P| > z \sqrt{V(P)}`. There are two ways to go from P
to the shares:

- **As stated.** Shares start at the means that the design was told, and all move by one step on the logistic
  scale until :math:`\sum_h W_h p_h = P`. This trusts which strata have the trait and which do not, not how
  many people have it. Where only spreads were told, a share :math:`(1 - \sqrt{1 - 4 S_h^2})/2` and its
  complement have the same one. The interval then holds both where all strata are on one side of ½ and where
  complements bring the mean nearest to the estimate. For
  numbers, the stated variance of the whole is scaled by P(1 − P), relative to its value at the estimate.
- **Safe.** The shares with mean P that have the largest variance:
  :math:`p_h = \tfrac12 (1 - \mu/(W_h b_h))`, between 0 and 1, with :math:`\mu` set by P. No answers between 0
  and 1 with that mean vary more, whatever was stated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.intervals.tilt import (
    Groups,
    Limits,
    both_limits,
    first_guess,
    normal_tail,
    tilted_limits,
)
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.numerics.tails import find_roots

_LEAST_SHARE = 1e-9  # of a stratum that is stated to have no spread, so that it can move at all
_LEAST_PRICE = 1e-4  # of a stratum that is asked in full, relative to the largest


class StatedStrata(NamedTuple):
    """What is known of strata whose answers are published in one number, with answers scaled to 0 to 1.

    Attributes
    ----------
    answers : array
        m, at least 1.
    factors : array
        b: by what p(1 − p) is multiplied to be the sampling variance of a stratum's share.
    spreads : array
        The stated variance of the answers, as p(1 − p) would be: S²(N − 1)/N.
    means : array
        The mean that the design was told; NaN where it was not.
    device : array
        Variance that devices' noise adds to a stratum's mean.
    """

    answers: FloatArray
    factors: FloatArray
    spreads: FloatArray
    means: FloatArray
    device: FloatArray

    @classmethod
    def of(
        cls, plan: Design, counts: IntArray, *, spreads: FloatArray, means: FloatArray, device: FloatArray
    ) -> StatedStrata:
        """Collect what is stated of a figure, and how many answered.

        Parameters
        ----------
        plan : Design
            The design.
        counts : array of int
            How many answered in each stratum.
        spreads, means, device : array
            S² of the answers, their mean or NaN, and the variance that a device adds to one; all scaled to 0
            to 1.
        """
        N, m = plan.strata.sizes, np.maximum(counts, 1).astype(float)
        if plan.inputs.finite_population:  # S² = p(1 − p)·N/(N − 1)
            correction = N / np.maximum(N - 1.0, 1.0)
            factors, spreads = (1.0 / m - 1.0 / N) * correction, spreads / correction
        else:
            factors = 1.0 / m
        return cls(answers=m, factors=factors, spreads=spreads, means=means, device=device / m)


def single_mean_limits(
    strata: StatedStrata,
    groups: Groups,
    estimates: FloatArray,
    noise: FloatArray,
    *,
    alpha: float,
    shares: bool,
) -> tuple[Limits, Limits]:
    """Find the intervals of means that are published as one number each.

    Parameters
    ----------
    strata : StatedStrata
        What is known of every stratum.
    groups : Groups
        What the means are made of.
    estimates, noise : array
        The means, scaled to 0 to 1, and the variance of the office's noise in each.
    alpha : float
        One less the confidence.
    shares : bool
        Whether answers are yes or no, and not numbers.

    Returns
    -------
    (Limits, Limits)
        As stated, and safe.

    Examples
    --------
    Two strata of 1,000 with 100 answers each, one stated to have the trait in half of its people:

    >>> b = np.full(2, (1 / 100 - 1 / 1000) * 1000 / 999)
    >>> strata = StatedStrata(np.full(2, 100.0), b, np.array([0.25, 0.0]), np.array([0.5, 0.0]), np.zeros(2))
    >>> both = Groups(np.zeros(2, dtype=int), 1, np.full(2, 0.5))
    >>> given = np.array([0.26]), np.array([1e-4])
    >>> for limits in single_mean_limits(strata, both, *given, alpha=0.05, shares=True):
    ...     print([round(float(end[0]), 3) for end in limits])
    [0.21, 0.309]
    [0.204, 0.325]
    """
    strata = StatedStrata(*(values[groups.at] for values in strata))
    groups = groups._replace(at=slice(None))
    v = noise + groups.add(groups.weights**2 * strata.device)
    safe = _safe_limits(strata, groups, estimates, v, alpha)
    stated = (_tilted_shares if shares else _scaled_numbers)(strata, groups, estimates, v, alpha)
    return Limits(np.maximum(stated.lower, safe.lower), np.minimum(stated.upper, safe.upper)), safe


def _tilted_shares(
    strata: StatedStrata, groups: Groups, estimates: FloatArray, noise: FloatArray, alpha: float
) -> Limits:
    """Move the shares of all strata together, from those that were stated."""
    both, targets, side = both_limits(groups, estimates)
    squares, twice = np.tile(groups.weights**2 * strata.factors, 2), np.tile(noise, 2)

    def chance(p: FloatArray) -> FloatArray:
        variance = both.add(squares * p * (1.0 - p)) + twice
        return normal_tail(side * (targets - both.add(both.weights * p)), variance)

    found = [
        tilted_limits(np.tile(start, 2), both, chance, alpha / 2.0)
        for start in _starts(strata, groups, estimates)
    ]
    return Limits(
        np.min([limits.lower for limits in found], axis=0), np.max([limits.upper for limits in found], axis=0)
    )


def _starts(strata: StatedStrata, groups: Groups, estimates: FloatArray) -> list[FloatArray]:
    """Return the stated means or, where only spreads were stated, two sets of shares that have those."""
    low = 0.5 * (1.0 - np.sqrt(np.maximum(1.0 - 4.0 * strata.spreads, 0.0)))
    complement = (1.0 - 2.0 * low) * ~np.isfinite(strata.means)  # what it adds
    start = np.where(np.isfinite(strata.means), strata.means, low)
    one_side = start + complement * (estimates > 0.5)[groups.codes]
    # Complements come in from the one that matters most on, to where the mean is nearest to the estimate.
    rise = groups.weights * complement
    order = np.lexsort((-rise, groups.codes))
    codes, sums = groups.codes[order], np.concatenate([[0.0], np.cumsum(rise[order])])
    above = sums[1:] - sums[np.searchsorted(codes, np.arange(groups.number))][codes] - 0.5 * rise[order]
    nearest = start.copy()
    nearest[order] += complement[order] * (above <= (estimates - groups.add(groups.weights * start))[codes])
    starts = [one_side] if np.array_equal(one_side, nearest) else [one_side, nearest]
    return [np.clip(each, _LEAST_SHARE, 1.0 - _LEAST_SHARE) for each in starts]


def _scaled_numbers(
    strata: StatedStrata, groups: Groups, estimates: FloatArray, noise: FloatArray, alpha: float
) -> Limits:
    """Scale the stated variance of each mean by P(1 − P)."""
    stated = groups.add(groups.weights**2 * strata.spreads * strata.factors)
    guess = first_guess(estimates[groups.codes], strata.answers, groups)
    whole = Groups(np.arange(groups.number), groups.number, np.ones(groups.number))
    both, targets, side = both_limits(whole, estimates)
    factors, twice = np.tile(stated / (guess * (1.0 - guess)), 2), np.tile(noise, 2)

    def chance(p: FloatArray) -> FloatArray:
        return normal_tail(side * (targets - p), factors * p * (1.0 - p) + twice)

    return tilted_limits(np.tile(guess, 2), both, chance, alpha / 2.0)


def _safe_limits(
    strata: StatedStrata, groups: Groups, estimates: FloatArray, noise: FloatArray, alpha: float
) -> Limits:
    """Find where the largest variance that a mean allows no longer rules it out.

    That variance is concave in the mean, so on each side there is one place where the distance from the
    estimate exceeds z times its root. Means are searched by −μ, which rises with them.
    """
    from scipy.special import ndtri

    z = float(ndtri(1.0 - alpha / 2.0))
    both, targets, side = both_limits(groups, estimates)
    price = np.tile(groups.weights * strata.factors, 2)
    largest = np.zeros(both.number)
    np.maximum.at(largest, both.codes, price)
    largest = np.where(largest > 0, largest, 1.0)
    price = np.maximum(price, _LEAST_PRICE * largest[both.codes])
    twice = np.tile(noise, 2)

    def shares(x: FloatArray) -> FloatArray:
        return np.clip(0.5 * (1.0 + (x * largest)[both.codes] / price), 0.0, 1.0)

    def beyond(x: FloatArray) -> FloatArray:
        p = shares(x)
        variance = both.add(both.weights * price * p * (1.0 - p)) + twice
        return side * (both.add(both.weights * p) - targets) - z * np.sqrt(variance)

    found = find_roots(beyond, both.number, 1.0)
    ends = np.where(beyond(side) <= 0, side, found)  # an end that is not ruled out is the limit
    means = np.clip(both.add(both.weights * shares(ends)), 0.0, 1.0)
    return Limits(means[groups.number :], means[: groups.number])
