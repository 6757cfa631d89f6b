"""The best real sample sizes when every person has a price; nothing ties the strata together."""

import math
from collections.abc import Callable

import numpy as np

from dpstrata.allocation.terms import Terms
from dpstrata.errors import PrecisionError
from dpstrata.numerics.arrays import FloatArray, blocks

_MOST_STEPS = 60
_FULL_STEPS = 8  # after which it goes half way, in case it runs to and fro
_LEAST = 1e-40
_ENOUGH = 1e-3  # people: Newton's method squares relative changes


def real_sizes(
    terms: Terms,
    price: FloatArray | float,
    *,
    scale: FloatArray | float = 1.0,
    lower: FloatArray,
    upper: FloatArray,
    start: FloatArray,
) -> FloatArray:
    r"""Minimise scale·f_i(x) + price·x over real numbers within the bounds, for every stratum.

    Newton's method on :math:`(-f')^{-1/2}`, which is nearly a straight line, as in the relaxation.

    Parameters
    ----------
    terms : Terms
        The functions.
    price, scale : array or float
        >= 0 for each stratum. Where the scale is zero nobody is worth any price.
    lower, upper, start : array
        Bounds, and sizes to begin from.
    """
    x = np.clip(start, lower, upper)
    prices, scales = np.broadcast_to(price, x.shape), np.broadcast_to(scale, x.shape)
    for part in blocks(len(x)):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            worth = np.where(scales[part] > 0, prices[part] / scales[part], np.inf)
        room = worth + (terms.origin if terms.tilts is None else terms.tilts[part])
        low, high, A = lower[part], upper[part], terms.scale[part]
        kinks = None if terms.kinks is None else np.clip(terms.kinks[part], low, high)
        sizes = x[part]
        for step in range(_MOST_STEPS):
            at = sizes if kinks is None else np.maximum(sizes, kinks)
            W, H = terms.curve(at, part)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                share = 2.0 * W / H
                following = at * (1.0 - share) + share * np.sqrt(A * W / room)
            # Nobody is worth a price where the scale is zero, and straight lines rise.
            following = np.where((A * W == 0) | ~np.isfinite(worth), low, following)
            following = np.clip(following, low if kinks is None else kinks, high)
            if kinks is not None:
                below = _below_kinks(terms, np.minimum(sizes, kinks), worth, part)
                following = np.where(below < kinks, np.maximum(below, low), following)
            change = float(((following - sizes) ** 2 / following).max())
            if change <= _ENOUGH:
                sizes = following
                break
            sizes = following if step < _FULL_STEPS else 0.5 * (sizes + following)
        else:
            raise PrecisionError(f"sizes at a given price did not settle within {_MOST_STEPS} steps.")
        x[part] = sizes
    return x


def _below_kinks(terms: Terms, at: FloatArray, worth: FloatArray, part: slice) -> FloatArray:
    """Newton's step below the kinks, where the tilt is in the curve."""
    W, H = terms.capped_curve(at, part)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.where(H > 0, 2.0 * W / H, 1.0)
        following = at * (1.0 - share) + share * np.sqrt(terms.scale[part] * W / worth)
    return np.asarray(np.nan_to_num(following, nan=0.0))


def find_price(spend: Callable[[float], float], target: float, start: float) -> float:
    """Find the price at which a falling function of it reaches ``target``, from a guess.

    The function goes roughly with the inverse root of the price, so steps are taken on logarithms: the rule
    for that, then straight lines between the ends of a bracket, with the middle in turn.
    """
    price, ends = start, {}
    for step in range(_MOST_STEPS * 2):
        got = spend(price)
        if abs(got - target) <= 1e-13 * target:
            break
        ends[got > target] = (math.log(price), math.log(max(got, 1e-300) / target))
        if len(ends) < 2:
            if (
                price < _LEAST * start
            ):  # no price is low enough: what is sought is not spent for nothing either
                break
            price *= (max(got, 1e-300) / target) ** 2 * (4.0 if got > target else 0.25)
            continue
        (low, above), (high, below) = ends[True], ends[False]
        if high - low <= 1e-14:
            break
        straight = low + (high - low) * above / (above - below)
        following = math.exp((low + high) / 2 if step % 3 == 2 else straight)
        if following == price:
            break
        price = following
    return price
