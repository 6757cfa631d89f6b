"""Tails of skewed distributions, and the search for where a tail has a given size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpstrata.numerics.arrays import BoolArray, FloatArray

_STRAIGHT = 0.002  # skewness below which the normal distribution is as good
_STEPS = 46  # halvings of an interval of 120, down to 2e-12


def pearson_below(x: FloatArray, skewness: FloatArray) -> FloatArray:
    """P(X <= x) of a Pearson III variable with mean 0, variance 1 and the given skewness.

    It is a shifted gamma variable of shape g = 4/skewness², mirrored for a negative skewness, and normal for
    almost none. P(X >= x) is ``pearson_below(-x, -skewness)``.

    Examples
    --------
    >>> pearson_below(np.array([0.0, 1.0, -0.9]), np.array([0.0, 2.0, 2.0])).round(6).tolist()
    [0.5, 0.864665, 0.095163]
    """
    from scipy.special import gammainc, gammaincc, ndtr

    below = ndtr(x)
    skewed = np.flatnonzero(np.abs(skewness) >= _STRAIGHT)
    shape = 4.0 / skewness[skewed] ** 2
    at = np.maximum(shape + np.sqrt(shape) * np.sign(skewness[skewed]) * x[skewed], 0.0)
    below[skewed] = np.where(skewness[skewed] > 0, gammainc(shape, at), gammaincc(shape, at))
    return np.asarray(below)


def last_true(holds: Callable[[FloatArray], BoolArray], number: int, reach: float = 60.0) -> FloatArray:
    """Find where each of several conditions, true at −reach and false at +reach, stops being true.

    Parameters
    ----------
    holds : function
        Says for one place of each condition whether it is true there; each changes once.
    number : int
        How many conditions there are.
    reach : float
        Half the interval that is searched.

    Examples
    --------
    >>> last_true(lambda x: x**3 <= np.array([8.0, -27.0]), 2).round(9).tolist()
    [2.0, -3.0]
    """
    low, high = np.full(number, -reach), np.full(number, reach)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        true = holds(middle)
        low, high = np.where(true, middle, low), np.where(true, high, middle)
    return np.asarray(0.5 * (low + high))
