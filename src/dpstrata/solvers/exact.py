"""The exact solver: the best whole numbers, in time that grows with the number of strata alone.

1. Solve the relaxation; its price λ is nearly the right one.
2. At that price each stratum's best whole number is next to its real one (see ``primitive``).
3. Their sum misses the total by a few people. The price that would mend it bounds a window of gains;
   list the people in that window and take as many as are needed, best first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpstrata.arrays import FloatArray, IntArray, blocks
from dpstrata.errors import PrecisionError
from dpstrata.model.problem import Problem
from dpstrata.model.terms import Terms
from dpstrata.model.ties import rank_exactly
from dpstrata.solvers.continuous import relax
from dpstrata.solvers.primitive import gains_around, integer_sizes
from dpstrata.solvers.solution import Solution

_MOST_LISTED = 20_000_000
_SPARSE = 64


def solve_exactly(problem: Problem) -> Solution:
    """Find the best whole numbers within the bounds that add up to the total.

    Ties go to the earlier stratum.
    """
    relaxed, price = relax(problem)
    interior = (relaxed > problem.lower) & (relaxed < problem.upper)
    terms = problem.terms.measured_from(int(np.argmax(interior)))
    price += terms.origin - problem.terms.origin
    n, following, last = _round(problem, terms, relaxed, price)
    n = _settle(problem, terms, n, following, last, price)
    return Solution(n, relaxed, price - terms.origin)


def _round(
    problem: Problem, terms: Terms, relaxed: FloatArray, price: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Best whole numbers at ``price``, with the gains of the next and of the last person."""
    lower, upper = problem.lower, problem.upper
    n = np.empty(len(relaxed), dtype=np.int64)
    following, last = np.empty(len(relaxed)), np.empty(len(relaxed))
    misplaced = []
    for part in blocks(len(relaxed)):
        low, high = lower[part], upper[part]
        guess = np.minimum(np.maximum(np.floor(relaxed[part]), low), high)
        gain = terms.gain(guess, part)
        up = (gain > price) & (guess < high)
        other = terms.gain(np.maximum(np.where(up, guess + 1.0, guess - 1.0), 1.0), part)
        guess += up
        n[part] = guess
        following[part] = np.where(up, other, gain)
        last[part] = np.where(up, gain, other)
        following[part][guess >= high] = -np.inf
        last[part][guess <= low] = np.inf
        misplaced.append(part.start + np.flatnonzero((following[part] > price) | (last[part] <= price)))
    # Where rounding of the relaxation put the guess a few people off, the primitive finds them.
    off = np.concatenate(misplaced)
    if off.size:
        n[off] = integer_sizes(
            terms, price, rows=off, start=n[off], lower=lower[off], upper=upper[off], inclusive=False
        )
        following[off], last[off] = gains_around(terms, n[off], lower[off], upper[off], off)
    return n, following, last


def _settle(
    problem: Problem, terms: Terms, n: IntArray, following: FloatArray, last: FloatArray, price: float
) -> IntArray:
    """Move from the best sizes at ``price`` to the best sizes with the right sum."""
    lower, upper = problem.lower, problem.upper
    while True:
        missing = problem.total - int(n.sum())
        low, high = _window(missing, following, last, price)
        # Wide enough for the rounding of each stratum's own gains; one number where all tilts are equal.
        lows, highs = low - 2.0 * terms.gain_error(low), high + 2.0 * terms.gain_error(high)
        rows = np.flatnonzero((following >= lows) | (last <= highs))
        if not rows.size:
            return n
        lows, highs = np.broadcast_to(lows, len(n))[rows], np.broadcast_to(highs, len(n))[rows]
        here = {"rows": rows, "start": n[rows], "lower": lower[rows], "upper": upper[rows]}
        surely = integer_sizes(terms, highs, inclusive=False, **here)
        possibly = integer_sizes(terms, lows, inclusive=True, **here)
        needed = missing + int((n[rows] - surely).sum())
        if 0 <= needed <= int((possibly - surely).sum()):
            n[rows] = surely + _take(terms, rows, surely, possibly, needed)
            return n
        # More people are missing than there are strata: move the price to the edge and look again.
        n[rows], price = (possibly, low) if needed > 0 else (surely, high)
        following[rows], last[rows] = gains_around(terms, n[rows], lower[rows], upper[rows], rows)


def _window(missing: int, following: FloatArray, last: FloatArray, price: float) -> tuple[float, float]:
    """Bounds on the gain of the last person who belongs to the optimum, but for rounding."""
    if missing > 0:
        # ``missing`` more gains among the next people alone reach down to here; no optimum needs less.
        low, high = _kth_largest(following, missing), price
        if low == -np.inf:
            low = float(np.min(following[following > -np.inf]))
    elif missing < 0:
        low, high = price, -_kth_largest(-last, -missing)
        if high == np.inf:
            high = float(np.max(last[last < np.inf]))
    else:
        low, high = float(following.max()), float(last.min())
        if not (np.isfinite(low) and np.isfinite(high)):
            return np.finfo(float).max, np.finfo(float).min
    return low, high


def _kth_largest(values: FloatArray, k: int) -> float:
    """Value at place ``k`` from the top, or the smallest if there are fewer."""
    if len(values) > _SPARSE**2 and k < len(values) // _SPARSE:
        # Guess a bar from every 64th value that lets about twice as many pass as are needed.
        bar = _kth_largest(values[::_SPARSE], 2 * k // _SPARSE + 10)
        above = values[values >= bar]
        if len(above) >= k:
            values = above
    at = max(len(values) - k, 0)
    return float(np.partition(values, at)[at])


@dataclass(frozen=True, slots=True)
class _People:
    """Candidates for the last places: people of one stratum with one gain."""

    row: IntArray
    n: IntArray
    count: IntArray
    gain: FloatArray

    def sorted(self) -> _People:
        """Largest gain first, then by stratum and place in it."""
        order = np.lexsort((self.n, self.row, -self.gain))
        return _People(self.row[order], self.n[order], self.count[order], self.gain[order])


def _take(terms: Terms, rows: IntArray, surely: IntArray, possibly: IntArray, needed: int) -> IntArray:
    """Choose ``needed`` of the people between ``surely`` and ``possibly``, the largest gains first."""
    people = _list_people(terms, rows, surely, possibly).sorted()
    taken = np.zeros(len(people.row), dtype=np.int64)
    if needed > 0:
        last = int(np.searchsorted(np.cumsum(people.count), needed))  # where the last place falls
        above = people.gain - people.gain[last]
        error = terms.gain_error(people.gain, people.row)
        band = error + error[last]
        clear = above > band
        taken[clear] = people.count[clear]
        unclear = np.flatnonzero(np.abs(above) <= band)
        ranks = rank_exactly(terms, people.row[unclear], people.n[unclear]).ranks
        resolved = unclear[np.lexsort((people.n[unclear], people.row[unclear], ranks))]
        count = people.count[resolved]
        before = np.cumsum(count) - count
        taken[resolved] = np.clip(needed - int(taken.sum()) - before, 0, count)
    position = np.searchsorted(rows, people.row)
    more = np.zeros(len(rows), dtype=np.int64)
    np.add.at(more, position, taken)
    return more


def _list_people(terms: Terms, rows: IntArray, surely: IntArray, possibly: IntArray) -> _People:
    """List the people of a window; a stratum whose gain is constant is one entry."""
    width = possibly - surely
    straight = terms.is_straight(rows)
    entries = np.where(straight, np.minimum(width, 1), width)
    if int(entries.sum()) > _MOST_LISTED:
        raise PrecisionError(
            "double precision cannot tell the gains of these strata apart: their sizes are too large for so "
            "small an epsilon under this objective. Use a larger epsilon, or objective='mean'."
        )
    which = np.repeat(np.arange(len(rows)), entries)
    offset = np.arange(len(which)) - np.repeat(np.cumsum(entries) - entries, entries)
    n = surely[which] + offset
    gain = terms.gain(n.astype(float), rows[which])
    count = np.where(straight[which], width[which], 1)
    return _People(rows[which], n, count, gain)
