r"""The search that leaves no better design, where figures of several families share the room of strata.

Boxes of levels are bounded by prices (:mod:`dpstrata.allocation.proof.cells`), those with the lowest bounds
first. A box whose bound is close to the value of the best design known holds nothing much better. Any other
is first narrowed to the levels and strengths that its prices leave, and then divided in two at the cell where
its bound falls short by most: its best strengths need so much of a cell, which costs more there than the
prices say. The lowest bound of all boxes is what no design can beat.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

import numpy as np

from dpstrata.allocation.noised_once import NoisedOnce
from dpstrata.allocation.proof.cell_prices import Prices, climb
from dpstrata.allocation.proof.cells import Bounds, Boxes, Cells, strengths_within
from dpstrata.allocation.proof.noised_once import correction
from dpstrata.numerics.arrays import FloatArray, IntArray

_CLOSE = 8.5e-5  # relative gap at which the search ends
_BATCH = 64
_SUGGESTED = 8
_WORK = 1_000_000  # levels of all boxes that are bounded: a few seconds
# How much the softening of bounds may lose, relative: first, in boxes that follow, and where none can follow
_FIRST = (3e-2, 1e-2, 3e-3, 1e-3, 2e-4, 4e-5, 1e-5)
_NEXT = (2e-4, 4e-5, 1e-5)
_LAST = (1e-5, 1e-6, 1e-7)

Improve = Callable[[FloatArray, float], float]
_Box = tuple[float, int, IntArray, IntArray, float, FloatArray]  # bound, number, low, high, λ, μ


def close_to(problem: NoisedOnce, value: float) -> float:
    """Return a bound close enough to a value, also once the finite population correction is taken off."""
    return value - _CLOSE * (value - correction(problem.problem))


class Branches:
    """Boxes that may hold a better design.

    Parameters
    ----------
    cells : Cells
        The levels.
    improve : callable
        Takes strengths that are the best of some boxes, one row each, and a price of a person; returns the
        value of the best design known so far.
    """

    def __init__(self, cells: Cells, improve: Improve) -> None:
        self.cells, self._improve = cells, improve
        self.value = cells.value
        self._closed = np.inf  # the lowest bound of the boxes that are done with
        self._number = count()
        self._open: list[_Box] = []

    def run(self) -> float:
        """Search while there is work to do and time for it; return what no design can beat."""
        cells, work = self.cells, 0
        self._push(
            cells.everything, Prices(np.array([cells.first_price]), cells.first_prices[None], np.zeros(1))
        )
        temperatures: tuple[float, ...] = _FIRST
        while self._open and work <= _WORK:
            boxes, prices = self._take(1 + min(_BATCH - 1, _WORK // (4 * len(cells.level))))
            if not len(prices.bound):
                break
            work += len(prices.bound) * int((boxes.high.max(axis=0) - boxes.low.min(axis=0) + 1).sum())
            self._visit(boxes, climb(cells, boxes, prices, self._enough, temperatures))
            temperatures = _NEXT
        return float(min(self._closed, min((each[0] for each in self._open), default=np.inf), self.value))

    @property
    def _enough(self) -> float:
        return close_to(self.cells.problem, self.value)

    def _push(self, boxes: Boxes, prices: Prices) -> None:
        for low, high, people, rooms, bound in zip(*boxes, *prices, strict=True):
            heapq.heappush(self._open, (float(bound), next(self._number), low, high, float(people), rooms))

    def _take(self, most: int) -> tuple[Boxes, Prices]:
        """Take the boxes with the lowest bounds."""
        taken: list[_Box] = []
        while self._open and len(taken) < most and self._open[0][0] < self._enough:
            taken.append(heapq.heappop(self._open))
        bound, _, low, high, people, rooms = zip(*taken, strict=True) if taken else ((),) * 6
        return Boxes(np.array(low), np.array(high)), Prices(
            np.array(people), np.array(rooms), np.array(bound)
        )

    def _visit(self, boxes: Boxes, prices: Prices) -> None:
        """Close the boxes whose bounds are high enough, and divide the others."""
        self.value = min(self.value, self._suggest(prices))
        done = prices.bound >= self._enough
        self._close(prices.bound[done])
        if done.all():
            return
        boxes, prices = boxes.rows(~done), prices.rows(~done)
        found = self.cells.bounds(prices.people, prices.cells, boxes)
        self._close(np.array([self._enough]))  # for what narrowing leaves out
        narrow = self._narrowed(boxes, found)
        some = np.all(narrow.low <= narrow.high, axis=1)
        self._divide(narrow.rows(some), prices.rows(some), found.rows(some))

    def _end(self, boxes: Boxes, prices: Prices) -> None:
        """Bound boxes of one level in every cell as well as can be, and have their designs tried."""
        prices = climb(self.cells, boxes, prices, self._enough, _LAST)
        self._close(prices.bound)
        for row in np.flatnonzero(prices.bound < self._enough)[:, None]:
            self.value = min(self.value, self._suggest(prices.rows(row)))

    def _close(self, bounds: FloatArray) -> None:
        self._closed = min(self._closed, float(bounds.min(initial=np.inf)))

    def _suggest(self, prices: Prices) -> float:
        """Have the best strengths of the lowest boxes tried."""
        lowest = np.argsort(prices.bound, kind="stable")[:_SUGGESTED]
        strengths = self._best_strengths(prices.cells[lowest] @ self.cells.shares)
        return self._improve(strengths, float(prices.people[lowest[0]]))

    def _best_strengths(self, per_strength: FloatArray) -> FloatArray:
        return np.asarray(np.cbrt(2.0 * self.cells.noise_weights / per_strength))

    def _narrowed(self, boxes: Boxes, found: Bounds) -> Boxes:
        """Leave out levels and strengths that cost too much more than the best ones of their box."""
        cells, slack = self.cells, self._enough - found.bound
        possible = found.excess <= slack[:, None]
        place = np.where(possible, cells.place, len(cells.level))
        first = np.minimum.reduceat(place, cells.start, axis=1)
        last = np.maximum.reduceat(np.where(possible, cells.place, -1), cells.start, axis=1)
        low, high = strengths_within(cells.noise_weights, found.per_strength, slack)
        needed, most = cells.places(low @ cells.shares.T), cells.places(high @ cells.shares.T * (1.0 + 1e-9))
        return Boxes(
            np.maximum(np.maximum(boxes.low, first), needed),
            np.minimum(np.minimum(boxes.high, last), most),
        )

    def _divide(self, boxes: Boxes, prices: Prices, found: Bounds) -> None:
        cells = self.cells
        needed = self._best_strengths(found.per_strength) @ cells.shares.T
        at = np.clip(cells.places(needed), boxes.low, boxes.high)
        level = cells.start + at
        missing = np.take_along_axis(found.excess, level, axis=1) + prices.cells * (
            cells.level[level] - needed
        )
        missing = np.where(boxes.low < boxes.high, missing, -np.inf)
        rows, cell = np.arange(len(at)), missing.argmax(axis=1)
        whole = missing[rows, cell] == -np.inf  # nothing is left to divide
        if whole.any():
            self._end(boxes.rows(whole), prices.rows(whole))
        rows, cell = rows[~whole], cell[~whole]
        cut = np.maximum(at[rows, cell], boxes.low[rows, cell] + 1)
        low, high = boxes.low[rows].copy(), boxes.high[rows].copy()
        high[np.arange(len(rows)), cell] = cut - 1
        low[np.arange(len(rows)), cell] = cut
        kept = prices.rows(rows)
        self._push(Boxes(boxes.low[rows], high), kept)
        self._push(Boxes(low, boxes.high[rows]), kept)
