"""Better strengths of figures of several families, one figure at a time.

At a price of a person and with all other strengths held, what a figure costs is a sum of step functions of
its own strength and W/s², which is least at one of their steps (``proof.cells``). Moving one figure after
another to its best step soon ends; from strengths that are shifted a little at random it ends elsewhere, and
the best of many ends is close to the best of all.
"""

from __future__ import annotations

import numpy as np

from dpstrata.allocation.proof.branches import Branches, close_to
from dpstrata.allocation.proof.cells import Cells
from dpstrata.allocation.proof.priced import shared_bound
from dpstrata.allocation.solvers.noised_once.best_sizes import BestSizes
from dpstrata.numerics.arrays import FloatArray

_STARTS = 64
_ROUNDS = 4
_LEAST_STARTS = 4  # of one round, where there is no time for more
_SWEEPS = 4
_TRIED = 4
_SHIFT = 0.06
_WORK = 400_000  # steps that are looked at for all figures once, times the cells in which they count
_MOST_LEVELS = 250_000


def search_cells(best: BestSizes, strengths: FloatArray, price: float, room_prices: FloatArray) -> float:
    """Improve sizes and strengths, and return what no design can beat; 0 where there is nothing to search.

    Parameters
    ----------
    best : BestSizes
        The best sizes so far, which are replaced by better ones.
    strengths : array
        Those of the relaxation.
    price, room_prices : float, array
        Of a person and of every stratum's room.
    """
    problem = best.problem
    least = shared_bound(problem, best.sizes, price, room_prices)
    if least >= close_to(problem, best.value) or not np.all(np.concatenate(problem.noise_weights) > 0):
        return 0.0
    cells = Cells(problem, best.sizes, best.value, price, room_prices)
    if len(cells.level) > _MOST_LEVELS:
        return 0.0
    _CellMoves(cells, best).shake(strengths, price)
    cells = Cells(problem, best.sizes, best.value, price, room_prices)
    return Branches(cells, _CellMoves(cells, best).improve).run()


class _CellMoves:
    """Moves strengths to the steps of what the cells cost."""

    def __init__(self, cells: Cells, best: BestSizes) -> None:
        self.cells, self.best = cells, best
        ends = cells.start + cells.count
        self._levels = [cells.level[a:b] for a, b in zip(cells.start, ends, strict=True)]
        self._members = [np.flatnonzero(column > 0).tolist() for column in cells.shares.T]
        work = sum(int(cells.count[each].sum()) * len(each) for each in self._members)
        self._starts = int(np.clip(_WORK // max(work, 1), 0, _STARTS))

    def shake(self, strengths: FloatArray, price: float) -> None:
        """Try strengths near the given ones and near the best found."""
        rng = np.random.default_rng(0)  # always the same: a design must come out the same again
        rounds, starts = (_ROUNDS, self._starts) if self._starts else (1, _LEAST_STARTS)
        for _ in range(rounds):
            near = np.stack([strengths, self.best.strengths])
            shift = np.exp(_SHIFT * rng.standard_normal((starts, len(strengths))))
            moved = self._moved(np.concatenate([near, near[np.arange(starts) % 2] * shift]), price)
            self._try(moved[:_TRIED])

    def improve(self, strengths: FloatArray, price: float) -> float:
        """Try strengths of which each row is the best of a box; return the best value so far."""
        if len(strengths) == 1 or not self._starts:  # they may be the best as they are
            self._try(strengths[:1])
        if self._starts:
            self._try(self._moved(strengths[: 2 + self._starts], price)[:1])
        return self.best.value

    def _try(self, strengths: FloatArray) -> None:
        for each in strengths:
            self.best.try_strengths(each, self.best.sizes.astype(float), anew=True)

    def _moved(self, strengths: FloatArray, price: float) -> FloatArray:
        """Move each row to where no figure alone can be better at the price; the best rows come first."""
        costs = self._costs(price)
        s = strengths.copy()
        for _ in range(_SWEEPS):
            before = s.copy()
            for figure in range(s.shape[1]):
                s[:, figure] = self._best_step(s, figure, costs)
            if np.array_equal(s, before):
                break
        total = (self.cells.noise_weights / s**2).sum(axis=1)
        for cell, share in enumerate(self.cells.shares):
            total += self._cost(cell, s @ share, costs)
        return np.asarray(s[np.argsort(total, kind="stable")])

    def _costs(self, price: float) -> list[FloatArray]:
        """H of every cell at its levels, infinite beyond."""
        cells = self.cells
        cost = cells.rises(np.array([price]))[0][0]
        ends = cells.start + cells.count
        return [np.append(cost[a:b], np.inf) for a, b in zip(cells.start, ends, strict=True)]

    def _cost(self, cell: int, q: FloatArray, costs: list[FloatArray]) -> FloatArray:
        return np.asarray(costs[cell][np.searchsorted(self._levels[cell], q * (1.0 - 1e-12))])

    def _best_step(self, s: FloatArray, figure: int, costs: list[FloatArray]) -> FloatArray:
        """Find the best strength of one figure, in every row, among the steps nearby and its own."""
        shares, own = self.cells.shares, s[:, figure : figure + 1]
        members = self._members[figure]
        rest = s @ shares[members].T - own * shares[members, figure]
        steps = [
            (self._levels[cell] - rest[:, i : i + 1]) / shares[cell, figure] for i, cell in enumerate(members)
        ]
        tried = np.concatenate([own, *steps], axis=1)
        tried = np.where((tried > 0.7 * own) & (tried < 1.4 * own), tried, own)
        total = self.cells.noise_weights[figure] / tried**2
        for i, cell in enumerate(members):
            total += self._cost(cell, rest[:, i : i + 1] + shares[cell, figure] * tried, costs)
        return np.asarray(np.take_along_axis(tried, total.argmin(axis=1)[:, None], axis=1)[:, 0])
