"""The best sizes at given prices, whole or real, where nothing else ties the strata together."""

import math
from collections.abc import Callable

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import first_not_worth
from dpstrata.allocation.terms import Terms
from dpstrata.errors import PrecisionError
from dpstrata.numerics.arrays import FloatArray, IntArray, blocks

_MOST_STEPS = 60
_FULL_STEPS = 8  # after which it goes half way, in case it runs to and fro
_LEAST = 1e-40
_ENOUGH = 1e-3  # people: Newton's method squares relative changes


def integer_sizes(
    terms: Terms,
    price: FloatArray,
    *,
    rows: IntArray,
    start: IntArray,
    lower: IntArray,
    upper: IntArray,
    inclusive: bool = False,
) -> IntArray:
    """Minimise f_i(n) + price_i·n over whole numbers within the bounds, for the strata ``rows``.

    Since f is convex, that is the number of people whose gain exceeds the price.

    Parameters
    ----------
    terms : Terms
        The functions; prices are measured from their origin.
    price : array
        λ times the cost of one person, for each of ``rows``.
    rows : array of int
        Which strata.
    start, lower, upper : array of int
        A guess and the bounds, for each of ``rows``. The closer the guess, the fewer evaluations: their
        number grows with the logarithm of the distance.
    inclusive : bool
        Whether a person whose gain equals the price is taken too: the largest minimiser, not the smallest.

    Returns
    -------
    array of int
        The sizes, for each of ``rows``.
    """
    worth = np.nextafter(price, -np.inf) if inclusive else price
    return first_not_worth(lambda n, part: terms.gain(n, rows[part]), worth, lower, upper, start)


def round_at_price(
    problem: Problem, terms: Terms, guess: FloatArray, price: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Best whole numbers at one price for all strata, from real sizes that are nearly best.

    Returns
    -------
    sizes : array of int
        The smallest minimisers of f_i(n) + price·n.
    following, last : array
        Gains of the next and of the last person, -inf and +inf at the bounds.
    """
    lower, upper = problem.lower, problem.upper
    n = np.empty(len(guess), dtype=np.int64)
    following, last = np.empty(len(guess)), np.empty(len(guess))
    misplaced = []
    for part in blocks(len(guess)):
        low, high = lower[part], upper[part]
        size = np.minimum(np.maximum(np.floor(guess[part]), low), high)
        gain = terms.gain(size, part)
        up = (gain > price) & (size < high)
        other = terms.gain(np.maximum(np.where(up, size + 1.0, size - 1.0), 1.0), part)
        size += up
        n[part] = size
        following[part] = np.where(up, other, gain)
        last[part] = np.where(up, gain, other)
        following[part][size >= high] = -np.inf
        last[part][size <= low] = np.inf
        misplaced.append(part.start + np.flatnonzero((following[part] > price) | (last[part] <= price)))
    # Where the guess was a few people off, the search finds them.
    off = np.concatenate(misplaced)
    if off.size:
        low, high = lower[off], upper[off]
        prices = np.full(len(off), price)
        n[off] = integer_sizes(terms, prices, rows=off, start=n[off], lower=low, upper=high)
        following[off] = np.where(n[off] < high, terms.gain(n[off].astype(float), off), -np.inf)
        last[off] = np.where(n[off] > low, terms.gain(np.maximum(n[off] - 1.0, 1.0), off), np.inf)
    return n, following, last


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


def find_price(
    spend: Callable[[float], float], target: float, start: float, *, tolerance: float = 1e-13
) -> float:
    """Find the price at which a falling function of it reaches ``target``, from a guess.

    The function goes roughly with the inverse root of the price, so steps are taken on logarithms: the rule
    for that, then straight lines between the ends of a bracket, with the middle in turn.
    """
    price, ends = start, {}
    for step in range(_MOST_STEPS * 2):
        got = spend(price)
        if abs(got - target) <= tolerance * target:
            break
        ends[got > target] = (math.log(price), math.log(max(got, 1e-300) / target))
        if len(ends) < 2:
            if price < _LEAST * start:  # no price is low enough: as much is not spent for nothing either
                break
            beyond = 0 if step == 0 else 1 if got > target else -1  # where the rule falls short, go further
            price *= (max(got, 1e-300) / target) ** 2 * 4.0**beyond
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


def best_sizes(problem: Problem) -> IntArray:
    """Minimise Σ f_i within the bounds, whatever the total: everyone whose gain is above zero.

    At a fixed central budget a further interview costs secrecy, so f_i falls and then rises; beyond these
    sizes more interviews hurt.
    """
    terms = problem.terms
    lower, upper = problem.lower.astype(float), problem.upper.astype(float)
    tilts = terms.origin if terms.tilts is None else terms.tilts
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        start = np.nan_to_num(terms.core_weights(problem.total) / np.sqrt(tilts), nan=1.0)
    guess = real_sizes(terms, 0.0, lower=lower, upper=upper, start=start)
    zero = terms.origin  # a gain of zero, measured from the origin
    sizes, following, last = round_at_price(problem, terms, guess, zero)
    # Where rounding leaves the sign of a gain open, exact arithmetic decides; that is a person or two.
    for step, gain in ((1, following), (-1, last)):
        with np.errstate(invalid="ignore"):
            unclear = np.abs(gain - zero) <= terms.gain_error(gain)
        for i in np.flatnonzero(unclear & np.isfinite(gain)).tolist():
            while problem.lower[i] <= sizes[i] + step <= problem.upper[i]:
                person = int(sizes[i]) if step > 0 else int(sizes[i]) - 1
                if (terms.exact_gain(i, person) > 0) != (step > 0):
                    break
                sizes[i] += step
    return sizes
