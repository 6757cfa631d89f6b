"""The exact solver: the best whole numbers, in time that grows with the number of strata alone.

1. Solve the relaxation; its price λ is nearly the right one.
2. At that price each stratum's best whole number is next to its real one (see ``primitive``).
3. Their sum misses the total by a few people. The price that would mend it bounds a window of gains;
   list the people in that window and take as many as are needed, best first.
"""

from __future__ import annotations

from typing import NamedTuple

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
    relaxed, price, terms = relax(problem)
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
        n[off] = _Crowd(problem, terms, off, n[off])._sizes(price, inclusive=False)
        following[off], last[off] = gains_around(terms, n[off], lower[off], upper[off], off)
    return n, following, last


def _settle(
    problem: Problem, terms: Terms, n: IntArray, following: FloatArray, last: FloatArray, price: float
) -> IntArray:
    """Move from the best sizes at ``price`` to the best sizes with the right sum."""
    while True:
        missing = problem.total - int(n.sum())
        low, high = _window(missing, following, last, price)
        # Wide enough for the rounding of each stratum's own gains; one number where all tilts are equal.
        rows = np.flatnonzero(
            (following >= low - 2.0 * terms.gain_error(low)) | (last <= high + 2.0 * terms.gain_error(high))
        )
        if not rows.size:
            return n
        people = _Crowd(problem, terms, rows, n[rows])
        needed = missing + int(n[rows].sum())
        surely, possibly = people.surely(high), people.possibly(low)
        if int(surely.sum()) <= needed <= int(possibly.sum()):
            n[rows] = people.take(surely, possibly, needed, low, high)
            return n
        # More people are missing than there are strata: move the price to the edge and look again.
        n[rows], price = (possibly, low) if needed > int(possibly.sum()) else (surely, high)
        here = problem.lower[rows], problem.upper[rows], rows
        following[rows], last[rows] = gains_around(terms, n[rows], *here)


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


class _Crowd:
    """The people of some strata, of whom a given number belongs to the optimum."""

    def __init__(self, problem: Problem, terms: Terms, rows: IntArray, start: IntArray) -> None:
        self.terms = terms
        self.rows = rows
        self.start = start
        self.lower, self.upper = problem.lower[rows], problem.upper[rows]
        self.straight = terms.is_straight(rows)

    def _sizes(self, price: float | FloatArray, *, inclusive: bool) -> IntArray:
        return integer_sizes(
            self.terms,
            np.broadcast_to(price, self.rows.shape),
            rows=self.rows,
            start=self.start,
            lower=self.lower,
            upper=self.upper,
            inclusive=inclusive,
        )

    def surely(self, price: float) -> IntArray:
        """How many people gain more than ``price`` beyond doubt."""
        return self._sizes(price + 2.0 * self.terms.gain_error(price, self.rows), inclusive=False)

    def possibly(self, price: float) -> IntArray:
        """How many people may gain as much as ``price``."""
        return self._sizes(price - 2.0 * self.terms.gain_error(price, self.rows), inclusive=True)

    def take(self, surely: IntArray, possibly: IntArray, needed: int, low: float, high: float) -> IntArray:
        """Choose ``needed`` people in all, the largest gains first; the last one's gain is in [low, high]."""
        surely, possibly = self._narrow(surely, possibly, needed, low, high)
        people = self._list(surely, possibly)
        return surely + self._choose(people, needed - int(surely.sum()))

    def _entries(self, surely: IntArray, possibly: IntArray) -> IntArray:
        """How many entries a list of the people between needs: one for a stratum whose gain is constant."""
        width = possibly - surely
        return np.where(self.straight, np.minimum(width, 1), width)

    def _narrow(
        self, surely: IntArray, possibly: IntArray, needed: int, low: float, high: float
    ) -> tuple[IntArray, IntArray]:
        """Bisect the price until few enough people are left to be listed one by one."""
        most = 1000 + 4 * len(self.rows)
        while int(self._entries(surely, possibly).sum()) > most:
            middle = float(np.sqrt(low) * np.sqrt(high)) if low > 0 else (low + high) / 2
            if not low < middle < high:
                break
            if int(self._sizes(middle, inclusive=True).sum()) >= needed:
                low, possibly = middle, self.possibly(middle)
            else:
                high, surely = middle, self.surely(middle)
        return surely, possibly

    def _list(self, surely: IntArray, possibly: IntArray) -> _People:
        entries = self._entries(surely, possibly)
        if int(entries.sum()) > _MOST_LISTED:
            raise PrecisionError(
                "double precision cannot tell the gains of these strata apart: their sizes are too large for "
                "so small an epsilon under this objective. Use a larger epsilon, or objective='mean'."
            )
        which = np.repeat(np.arange(len(self.rows)), entries)
        offset = np.arange(len(which)) - np.repeat(np.cumsum(entries) - entries, entries)
        n = surely[which] + offset
        count = np.where(self.straight[which], (possibly - surely)[which], 1)
        gain = self.terms.gain(n.astype(float), self.rows[which])
        order = np.lexsort((n, which, -gain))
        return _People(which[order], n[order], count[order], gain[order])

    def _choose(self, people: _People, places: int) -> IntArray:
        """Give the places to the largest gains; what double precision leaves open is settled exactly."""
        chosen = np.zeros(len(self.rows), dtype=np.int64)
        if places == 0:
            return chosen
        rows = self.rows[people.which]
        last = int(np.searchsorted(np.cumsum(people.count), places))
        above = people.gain - people.gain[last]
        error = self.terms.gain_error(people.gain, rows)
        band = error + error[last]
        taken = np.where(above > band, people.count, 0)
        unclear = np.flatnonzero(np.abs(above) <= band)
        ranks = rank_exactly(self.terms, rows[unclear], people.n[unclear]).ranks
        unclear = unclear[np.lexsort((people.n[unclear], rows[unclear], ranks))]
        count = people.count[unclear]
        taken[unclear] = np.clip(places - int(taken.sum()) - (np.cumsum(count) - count), 0, count)
        np.add.at(chosen, people.which, taken)
        return chosen


class _People(NamedTuple):
    """People who compete for the last places, largest gain first; one entry may be many of one stratum."""

    which: IntArray  # position of the stratum among the rows
    n: IntArray  # how many of the stratum come before
    count: IntArray  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    gain: FloatArray
