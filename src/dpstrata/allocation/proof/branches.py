r"""The search that leaves no better design, where figures of several families share the room of strata.

Boxes of levels are bounded by prices (:mod:`dpstrata.allocation.proof.cells`), and those with the lowest
bounds are divided first. A box whose bound is close to the value of the best design known holds nothing much
better. Any other is first narrowed to the levels and strengths that its prices leave, and then divided in two
at one cell, between the two levels that its best strengths are between. The lowest bound of all boxes is what
no design can beat.

How long this takes depends on the cells. About as many of them as there are figures can be on any levels at
once, so that dividing at one of these raises no bound. While boxes are few, many cells are tried, and the one
whose two halves rise most is kept; later it is the one of which that is expected, from how much it has raised
bounds before (:class:`_Raises`; integer programming calls it strong branching and pseudocosts).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.noised_once import NoisedOnce
from dpstrata.allocation.proof.cell_prices import Prices, climb
from dpstrata.allocation.proof.cells import Bounds, Boxes, Cells, strengths_within
from dpstrata.allocation.proof.priced import below
from dpstrata.numerics.arrays import FloatArray, IntArray

_CLOSE = 8.5e-5  # relative gap at which the search ends
_AT_ONCE = 64  # boxes that are bounded together
_LEVELS_AT_ONCE = 250_000  # of all of them, where there are many
_SUGGESTED = 8
_WORK = 6_000_000  # levels of all boxes that are bounded: ten seconds or a little more
_FEW = 200  # cells; with more of them a quarter of that, since the search hardly comes nearer
_PER_CELL = 10  # levels that take as long as the rest of what a cell takes
_LEAST_RAISE = 1e-6  # relative to the value: what is less is as good as nothing
# How much the softening of bounds may lose, relative: first, in boxes that follow, and where none can follow
_FIRST = (3e-2, 1e-2, 3e-3, 1e-3, 2e-4, 4e-5, 1e-5)
_NEXT = (4e-5, 1e-5)
_LAST = (1e-5, 1e-6, 1e-7)

Improve = Callable[[FloatArray, float], float]
_Box = tuple[float, int, IntArray, IntArray, float, FloatArray]  # bound, number, low, high, λ, μ


def close_to(problem: NoisedOnce, value: float) -> float:
    """Return a bound close enough to a value."""
    return below(problem, value, _CLOSE)


class _Cuts(NamedTuple):
    """Between which levels every cell of a box can be divided, a row for each box.

    The place of the level above, and how far what the box needs is from the level below and from that above,
    as shares of the way between them.
    """

    place: IntArray
    distances: FloatArray


class _Raises:
    """How much dividing at a cell has raised bounds so far, of the halves below and of those above.

    A half that is twice as far from what its box needs is taken to rise twice as much.
    """

    def __init__(self, cells: int, least: float) -> None:
        self._sums, self._times = np.zeros((2, cells)), np.zeros((2, cells))
        self._least = least

    def learn(self, cell: IntArray, distances: FloatArray, raises: FloatArray) -> None:
        """Take in the raises of both halves of boxes that were divided at cells."""
        for side in (0, 1):
            far = distances[side] > 0
            np.add.at(self._sums[side], cell[far], raises[side, far] / distances[side, far])
            np.add.at(self._times[side], cell[far], 1.0)

    def expected(self, distances: FloatArray) -> FloatArray:
        """Return the raises to be expected; a cell that was never divided is taken to be like the others."""
        usual = self._sums.sum() / max(self._times.sum(), 1.0) or 1.0
        return np.asarray(((self._sums + usual) / (self._times + 1.0))[:, None, :] * distances)

    def worth(self, raises: FloatArray) -> FloatArray:
        """Return what raises of both halves are worth: their product, since both have to be searched."""
        return np.asarray(np.maximum(raises, self._least).prod(axis=0))


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
        self._work, self._most = 0, _WORK if len(cells) <= _FEW else _WORK // 4
        self._at_once = max(2, min(_AT_ONCE, _LEVELS_AT_ONCE // len(cells.level)))
        self._raises = _Raises(len(cells), _LEAST_RAISE * cells.value)

    def run(self) -> float:
        """Search while there is work to do and time for it; return what no design can beat."""
        cells = self.cells
        start = Prices(np.array([cells.first_price]), cells.first_prices[None], np.zeros(1))
        self._push(cells.everything, self._bounded(cells.everything, start, _FIRST))
        while self._open and self._work <= self._most:
            boxes, prices = self._take(self._at_once // 2)
            if not len(prices.bound):
                break
            self.value = min(self.value, self._suggest(prices))
            self._search(boxes, prices)
        return float(min(self._closed, min((each[0] for each in self._open), default=np.inf), self.value))

    @property
    def _enough(self) -> float:
        return close_to(self.cells.problem, self.value)

    def _bounded(self, boxes: Boxes, prices: Prices, temperatures: tuple[float, ...]) -> Prices:
        """Find better prices of boxes."""
        levels = boxes.high.max(axis=0) - boxes.low.min(axis=0) + 1
        self._work += len(prices.bound) * int((levels + _PER_CELL).sum())
        return climb(self.cells, boxes, prices, self._enough, temperatures)

    def _push(self, boxes: Boxes, prices: Prices) -> None:
        for low, high, people, rooms, bound in zip(*boxes, *prices, strict=True):
            heapq.heappush(self._open, (float(bound), next(self._number), low, high, float(people), rooms))

    def _take(self, most: int) -> tuple[Boxes, Prices]:
        """Take the boxes with the lowest bounds, if they are not high enough."""
        taken: list[_Box] = []
        while self._open and len(taken) < most and self._open[0][0] < self._enough:
            taken.append(heapq.heappop(self._open))
        bound, _, low, high, people, rooms = zip(*taken, strict=True) if taken else ((),) * 6
        return Boxes(np.array(low), np.array(high)), Prices(
            np.array(people), np.array(rooms), np.array(bound)
        )

    def _search(self, boxes: Boxes, prices: Prices) -> None:
        """Narrow boxes and divide them."""
        found = self.cells.bounds(prices.people, prices.cells, boxes)
        self._close(np.array([self._enough]))  # for what narrowing leaves out
        narrow = self._narrowed(boxes, found)
        some = np.all(narrow.low <= narrow.high, axis=1)
        whole = some & np.all(narrow.low == narrow.high, axis=1)
        if whole.any():
            self._end(narrow.rows(whole), prices.rows(whole))
        some &= ~whole
        if some.any():
            self._divide(narrow.rows(some), prices.rows(some), found.rows(some))

    def _end(self, boxes: Boxes, prices: Prices) -> None:
        """Bound boxes of one level in every cell as well as can be, and have their designs tried."""
        prices = self._bounded(boxes, prices, _LAST)
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

    def _cuts(self, boxes: Boxes, found: Bounds) -> _Cuts:
        """Find between which levels of every cell the best strengths of a box are."""
        cells = self.cells
        needed = self._best_strengths(found.per_strength) @ cells.shares.T
        place = np.clip(cells.places(needed), boxes.low + 1, np.maximum(boxes.high, boxes.low + 1))
        above = np.minimum(cells.start + place, len(cells.level) - 1)
        low, high = cells.level[above - 1], cells.level[above]
        share = np.divide(needed - low, high - low, out=np.zeros_like(needed), where=high > low)
        share = np.clip(share, 0.0, 1.0)
        return _Cuts(place, np.stack([share, 1.0 - share]))

    def _divide(self, boxes: Boxes, prices: Prices, found: Bounds) -> None:
        """Divide every box at the best of some cells, the more of them the fewer boxes there are."""
        cuts = self._cuts(boxes, found)
        worth = self._raises.worth(self._raises.expected(cuts.distances))
        worth = np.where(boxes.low < boxes.high, worth, -np.inf)
        tried = max(1, self._at_once // (2 * len(worth)))
        cell = np.argsort(-worth, axis=1, kind="stable")[:, :tried]
        row = np.repeat(np.arange(len(cell)), cell.shape[1])
        cell = cell.ravel()
        possible = worth[row, cell] > -np.inf
        row, cell = row[possible], cell[possible]
        halves = self._halves(boxes.rows(row), cell, cuts.place[row, cell])
        both = [self._bounded(half, prices.rows(row), _NEXT) for half in halves]
        raises = np.stack([half.bound - prices.bound[row] for half in both])
        self._raises.learn(cell, cuts.distances[:, row, cell], raises)
        order = np.lexsort((-self._raises.worth(raises), row))
        best = order[np.unique(row[order], return_index=True)[1]]
        for half, bounded in zip(halves, both, strict=True):
            self._push(half.rows(best), bounded.rows(best))

    def _halves(self, boxes: Boxes, cell: IntArray, place: IntArray) -> tuple[Boxes, Boxes]:
        """Divide boxes at one cell each, before a place."""
        rows = np.arange(len(cell))
        low, high = boxes.low.copy(), boxes.high.copy()
        high[rows, cell] = place - 1
        low[rows, cell] = place
        return Boxes(boxes.low, high), Boxes(low, boxes.high)
