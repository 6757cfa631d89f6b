"""The one primitive of every integer solver: the best whole numbers at given prices."""

from collections.abc import Callable

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.terms import Terms
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray, blocks


def integer_sizes(
    terms: Terms,
    price: FloatArray,
    *,
    rows: IntArray,
    start: IntArray,
    lower: IntArray,
    upper: IntArray,
    inclusive: bool,
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

    def wanted(position: IntArray, n: IntArray) -> BoolArray:
        """Whether the person after ``n`` is worth the price."""
        gain = terms.gain(n.astype(float), rows[position])
        return gain >= price[position] if inclusive else gain > price[position]

    everyone = np.arange(len(rows))
    # Invariant: the answer lies in (low, high]; everyone up to low is wanted, the next after high is not.
    low, high = lower - 1, upper.copy()
    inside = start < upper
    want = np.zeros(len(rows), dtype=bool)
    want[inside] = wanted(everyone[inside], start[inside])
    low = np.where(inside & want, start, low)
    high = np.where(inside & ~want, start, high)
    _gallop(wanted, low, high, start, lower, upper)
    while (open_ := np.flatnonzero(high - low > 1)).size:
        middle = low[open_] + (high[open_] - low[open_]) // 2
        want = wanted(open_, middle)
        low[open_] = np.where(want, middle, low[open_])
        high[open_] = np.where(want, high[open_], middle)
    return high


def _gallop(
    wanted: Callable[[IntArray, IntArray], BoolArray],
    low: IntArray,
    high: IntArray,
    start: IntArray,
    lower: IntArray,
    upper: IntArray,
) -> None:
    """Tighten the bracket from the guess outwards, in steps that double."""
    step = 1
    upwards = np.flatnonzero((low >= start) & (high == upper))
    downwards = np.flatnonzero((high <= start) & (low == lower - 1))
    while upwards.size or downwards.size:
        probe = low[upwards] + step
        upwards, probe = upwards[probe < high[upwards]], probe[probe < high[upwards]]
        want = wanted(upwards, probe)
        low[upwards[want]] = probe[want]
        high[upwards[~want]] = probe[~want]
        upwards = upwards[want]

        probe = high[downwards] - step
        downwards, probe = downwards[probe > low[downwards]], probe[probe > low[downwards]]
        want = wanted(downwards, probe)
        high[downwards[~want]] = probe[~want]
        low[downwards[want]] = probe[want]
        downwards = downwards[~want]
        step *= 2


def sizes_at_prices(
    terms: Terms, weights: FloatArray, price: FloatArray, lower: IntArray, upper: IntArray, start: IntArray
) -> IntArray:
    """Minimise weight·f_i(n) + price·n for every stratum; nobody is worth a price where the weight is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        worth = np.where(weights > 0, price / weights, np.inf) + terms.origin
    start = np.clip(start, lower, upper)
    rows = np.arange(len(lower))
    return integer_sizes(terms, worth, rows=rows, start=start, lower=lower, upper=upper, inclusive=False)


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
        n[off] = integer_sizes(terms, prices, rows=off, start=n[off], lower=low, upper=high, inclusive=False)
        following[off] = np.where(n[off] < high, terms.gain(n[off].astype(float), off), -np.inf)
        last[off] = np.where(n[off] > low, terms.gain(np.maximum(n[off] - 1.0, 1.0), off), np.inf)
    return n, following, last
