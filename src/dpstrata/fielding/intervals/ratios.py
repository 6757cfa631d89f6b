r"""The interval of a ratio, from those of its numerator and its denominator.

The ratio R = Y/X cannot be ruled out if Y − R·X may be 0. The distances of both limits from their estimates
take the place of standard errors, each on the side that counts (Donner and Zou 2012): with the correlation
:math:`\varrho` of the estimates, the ends are the roots of

.. math:: (y - R x)^2 = \delta_y^2 + R^2 \delta_x^2 - 2 R \varrho\, \delta_y \delta_x .

So the interval inherits from the other two that it holds for few answers, where a standard error does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpstrata.fielding.intervals.tilt import Limits
from dpstrata.numerics.arrays import FloatArray


class Bounded(NamedTuple):
    """Estimates with their limits."""

    estimates: FloatArray
    limits: Limits

    @property
    def possible(self) -> FloatArray:
        """The estimates, none outside of its limits."""
        return np.clip(self.estimates, *self.limits)

    def times(self, signs: FloatArray) -> Bounded:
        """Return the same times 1 or −1."""
        ends = [signs * end for end in self.limits]
        return Bounded(signs * self.estimates, Limits(np.minimum(*ends), np.maximum(*ends)))


def ratio_limits(over: Bounded, under: Bounded, correlations: FloatArray) -> Limits:
    """Find the intervals of ratios whose denominators are positive.

    Parameters
    ----------
    over, under : Bounded
        Numerators and denominators.
    correlations : array
        Those of their estimates, from −1 to 1.

    Examples
    --------
    Nothing was found among about half of the people:

    >>> zero, half = (np.array([value]) for value in (0.0, 0.5))
    >>> over = Bounded(zero, Limits(zero, np.array([0.04])))
    >>> under = Bounded(half, Limits(np.array([0.4]), np.array([0.6])))
    >>> [round(float(end[0]), 3) for end in ratio_limits(over, under, zero)]
    [0.0, 0.082]
    """
    return Limits(*(_end(over, under, correlations, side) for side in (-1.0, 1.0)))


def _end(over: Bounded, under: Bounded, correlations: FloatArray, side: float) -> FloatArray:
    """Return the lower ends (−1), or the upper ones (1); infinite where a denominator may be 0."""
    y, x = over.possible, under.possible
    up = np.abs(over.limits[int(side > 0)] - y)
    # a positive ratio is larger where the denominator is smaller, a negative one where it is larger
    ends = [_root(y, x, up, np.abs(limit - x), correlations, side) for limit in under.limits]
    same, other = ends if side > 0 else ends[::-1]
    return np.where(same >= 0, same, other)


def _root(
    y: FloatArray, x: FloatArray, up: FloatArray, across: FloatArray, correlations: FloatArray, side: float
) -> FloatArray:
    first = x**2 - across**2
    half = y * x - correlations * up * across
    inside = np.maximum(half**2 - first * (y**2 - up**2), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (half + side * np.sqrt(inside)) / first
    return np.where((first > 0) & (x > 0), found, side * np.inf)
