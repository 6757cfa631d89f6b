"""Tails of skewed distributions, and the search for where a tail has a given size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpstrata.numerics.arrays import FloatArray

_STRAIGHT = 0.002  # skewness below which the normal distribution is as good
_STEPS = 60  # more than halving alone needs
_CLOSE = 1e-11  # how far a root may be off


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


def find_roots(function: Callable[[FloatArray], FloatArray], number: int, reach: float) -> FloatArray:
    """Find where each of several functions changes its sign between −reach and +reach.

    Parameters
    ----------
    function : function
        The values of all of them, at one place each.
    number : int
        How many functions there are.
    reach : float
        Half the interval that is searched. Where a function has one sign throughout, its last place is
        returned.

    Notes
    -----
    Inverse quadratic interpolation where it can be trusted, otherwise halving (Chandrupatla, "A new hybrid
    quadratic/bisection algorithm for finding the zero of a nonlinear function", 1997).

    Examples
    --------
    >>> find_roots(lambda x: x**3 - np.array([8.0, -27.0]), 2, 60.0).round(9).tolist()
    [2.0, -3.0]
    """
    a, b = np.full(number, reach), np.full(number, -reach)
    at_a, at_b = function(a), function(b)
    t = np.full(number, 0.5)
    done = np.sign(at_a) == np.sign(at_b)
    for _ in range(_STEPS):
        x = np.where(done, a, a + t * (b - a))
        value = function(x)
        same = (np.sign(value) == np.sign(at_a)) | done
        c, at_c = np.where(same, a, b), np.where(same, at_a, at_b)
        b, at_b = np.where(same, b, a), np.where(same, at_b, at_a)
        a, at_a = x, value
        least = _CLOSE / np.maximum(np.abs(b - a), _CLOSE)
        done |= (least >= 0.5) | (value == 0)
        if done.all():
            break
        t = np.clip(_next_share(a, b, c, at_a, at_b, at_c), least, 1.0 - np.minimum(least, 0.5))
    return np.where(np.abs(at_a) <= np.abs(at_b), a, b)


def _next_share(
    a: FloatArray, b: FloatArray, c: FloatArray, at_a: FloatArray, at_b: FloatArray, at_c: FloatArray
) -> FloatArray:
    """Say how far from a towards b the next place is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        place, level = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        smooth = (level**2 < place) & ((1.0 - level) ** 2 < 1.0 - place)
        share = at_a / (at_b - at_a) * at_c / (at_b - at_c)
        share += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
    return np.where(smooth & np.isfinite(share), share, 0.5)
