"""The exact solver: the best whole numbers, in time that grows with the number of strata alone.

1. Solve the relaxation; its price λ is nearly the right one.
2. At that price each stratum's best whole number is next to its real one (see ``sizes_at_price``).
3. Their sum misses the total by a few people. The price that would mend it bounds a window of gains;
   list the people in that window and take as many as are needed, best first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.certificate import rank_exactly
from dpstrata.allocation.solvers.continuous import relax
from dpstrata.allocation.solvers.sizes_at_price import integer_sizes, round_at_price
from dpstrata.allocation.solvers.solution import Solution
from dpstrata.allocation.terms import EXACT_DIGITS, Terms
from dpstrata.errors import PrecisionError, option
from dpstrata.numerics.arrays import FloatArray, IntArray

_SPARSE = 64
_MOST_EXACT_STRATA = 10_000


def solve_exactly(problem: Problem) -> Solution:
    """Find the best whole numbers within the bounds that add up to the total.

    Ties go to the earlier stratum.
    """
    relaxed, price, terms = relax(problem)
    for bound in (problem.lower, problem.upper):
        if problem.total == int(bound.sum()):  # nothing is left to choose
            return Solution(bound, relaxed, price - terms.origin)
    n, following, last = round_at_price(problem, terms, relaxed, price)
    n = _settle(problem, terms, n, following, last, price)
    return Solution(n, relaxed, price - terms.origin)


def _settle(
    problem: Problem, terms: Terms, n: IntArray, following: FloatArray, last: FloatArray, price: float
) -> IntArray:
    """Move from the best sizes at ``price`` to the best sizes with the right sum."""
    missing = problem.total - int(n.sum())
    low, high = _window(missing, following, last, price)
    reach = 0.0
    while True:
        # Wide enough for the rounding of each stratum's own gains; one number where all tilts are equal.
        rows = np.flatnonzero(
            (following >= low - 2.0 * terms.gain_error(low)) | (last <= high + 2.0 * terms.gain_error(high))
        )
        if not rows.size:
            return n
        crowd = MarginalCandidates(problem, terms, rows, n[rows])
        needed = missing + int(n[rows].sum())
        surely, possibly = crowd.surely(high), crowd.possibly(low)
        if int(surely.sum()) <= needed <= int(possibly.sum()):
            n[rows] = crowd.take(surely, possibly, needed, low, high)
            return n
        # More people are missing than there are strata, so the price is far off: reach out further.
        reach = max(4.0 * reach, high - low, 1e-9 * abs(price), np.finfo(float).tiny)
        low, high = (low - reach, high) if missing > 0 else (low, high + reach)


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


class MarginalCandidates:
    """The people of some strata, of whom a given number belongs to the optimum."""

    def __init__(self, problem: Problem, terms: Terms, rows: IntArray, start: IntArray) -> None:
        self.terms = terms
        self.rows = rows
        self.start = start
        self.lower, self.upper = problem.lower[rows], problem.upper[rows]
        self.straight = terms.is_straight(rows)
        self._most_listed = 1000 + 4 * len(rows)

    def sizes(self, price: float | FloatArray, *, inclusive: bool) -> IntArray:
        """How many people of each stratum gain more than ``price``, or as much."""
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
        return self.sizes(price + 2.0 * self.terms.gain_error(price, self.rows), inclusive=False)

    def possibly(self, price: float) -> IntArray:
        """How many people may gain as much as ``price``."""
        return self.sizes(price - 2.0 * self.terms.gain_error(price, self.rows), inclusive=True)

    def take(self, surely: IntArray, possibly: IntArray, needed: int, low: float, high: float) -> IntArray:
        """Choose ``needed`` people in all, the largest gains first; the last one's gain is in [low, high]."""
        surely, possibly = self._narrow(surely, possibly, needed, low, high)
        places = needed - int(surely.sum())
        if int(self._entries(surely, possibly).sum()) > self._most_listed:
            return self._choose_exactly(surely, possibly, places)
        return surely + self._choose(self._list(surely, possibly), places)

    def _entries(self, surely: IntArray, possibly: IntArray) -> IntArray:
        """How many entries a list of the people between needs: one for a stratum whose gain is constant."""
        width = possibly - surely
        return np.where(self.straight, np.minimum(width, 1), width)

    def _narrow(
        self, surely: IntArray, possibly: IntArray, needed: int, low: float, high: float
    ) -> tuple[IntArray, IntArray]:
        """Move both prices towards each other until few enough people are left to be listed one by one.

        Counts are nearly straight in the price, so a straight line between the two aims at a price that
        leaves just enough people on either side in turn; every third aim is the middle, in case they are not.
        """
        aims = 0
        while int(self._entries(surely, possibly).sum()) > self._most_listed:
            least, most = int(surely.sum()), int(possibly.sum())
            side = 0.4 * self._most_listed * (1 if aims % 3 == 0 else -1)
            share = (needed + side - least) / max(most - least, 1)
            middle = high - share * (high - low)
            if aims % 3 == 2 or not 0.0 < share < 1.0:
                middle = float(np.sqrt(low) * np.sqrt(high)) if low > 0 else (low + high) / 2
            aims += 1
            if not low < middle < high:
                if aims % 3 == 0:
                    break
                continue
            enough = self.surely(middle)
            if int(enough.sum()) <= needed:
                high, surely = middle, enough
            else:
                low, possibly = middle, self.possibly(middle)
        return surely, possibly

    def _list(self, surely: IntArray, possibly: IntArray) -> _People:
        entries = self._entries(surely, possibly)
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

    def _choose_exactly(self, surely: IntArray, possibly: IntArray, places: int) -> IntArray:
        """Choose among people whom double precision cannot tell apart and who are too many to list.

        Within a stratum gains fall, so exact bisection counts those above any one of them. The gain of the
        person in the middle of the widest stratum halves what is open there, until the places are filled.
        """
        if len(self.rows) > _MOST_EXACT_STRATA:
            raise PrecisionError(
                f"double precision cannot tell the gains of {len(self.rows):,} strata apart: their sizes are "
                "too large for so small an epsilon under this objective. Use a larger "
                f"{option('epsilon')}, or {option('objective', 'mean')}."
            )
        low, high = surely.tolist(), possibly.tolist()
        everyone = range(len(low))
        gain = cache(lambda i, n: self.terms.exact_gain(int(self.rows[i]), n))

        def count(pivot: Any, *, equal: bool) -> list[int]:
            return [_how_many_gain(partial(gain, i), low[i], high[i], pivot, equal=equal) for i in everyone]

        while places > 0:
            widest = max(everyone, key=lambda i: high[i] - low[i])
            pivot = gain(widest, (low[widest] + high[widest]) // 2)
            more = count(pivot, equal=False)
            if sum(more) >= places:
                high = [low[i] + more[i] for i in everyone]
                continue
            as_much = count(pivot, equal=True)
            low = [low[i] + more[i] for i in everyone]
            places -= sum(more)
            for i in everyone:  # among equals the earlier stratum comes first
                taken = min(as_much[i] - more[i], places)
                low[i] += taken
                places -= taken
        return np.array(low, dtype=np.int64)


def _how_many_gain(gain: Callable[[int], Any], start: int, end: int, pivot: Any, *, equal: bool) -> int:
    """Count those of a stratum, from ``start`` to ``end``, who gain more than ``pivot``, or as much."""
    from mpmath import mpf

    tolerance = abs(pivot) * mpf(10) ** -EXACT_DIGITS
    first = start
    while first < end:
        middle = (first + end) // 2
        above = gain(middle) - pivot
        if above > tolerance or (equal and above >= -tolerance):
            first = middle + 1
        else:
            end = middle
    return first - start


class _People(NamedTuple):
    """People who compete for the last places, largest gain first; one entry may be many of one stratum."""

    which: IntArray  # position of the stratum among the rows
    n: IntArray  # how many of the stratum come before
    count: IntArray  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    gain: FloatArray
