r"""Prices of people and of what cells need that bound the designs of many boxes at once.

The bound of :mod:`dpstrata.allocation.proof.cells` is concave in its prices and has corners. With minima
softened, :math:`-T \ln \sum_j \exp(-(H_{cj} - \mu_c q_{cj})/T)`, and :math:`T \sum_c \ln \mu_c` added, it is
smooth, and Newton's method climbs it for a falling T. While T stays, H is taken as straight in λ, and the
number of people who are worth their price as falling by a constant. Whatever comes out is only a set of
prices: bounds are computed from it by the exact formula.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpstrata.allocation.proof.cells import Boxes, Cells
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray

_STEPS = 8
_HALVINGS = 8
_ENOUGH = 0.05  # squared Newton decrement, in units of T, at which a centre is close enough


class Prices(NamedTuple):
    """λ and μ for each box, with the bounds that they give."""

    people: FloatArray
    cells: FloatArray
    bound: FloatArray

    def rows(self, which: IntArray | BoolArray) -> Prices:
        """Return those of some boxes."""
        return Prices(self.people[which], self.cells[which], self.bound[which])


def climb(
    cells: Cells, boxes: Boxes, start: Prices, enough: float, temperatures: tuple[float, ...]
) -> Prices:
    """Raise the bounds of boxes by better prices.

    Parameters
    ----------
    cells : Cells
        The levels.
    boxes : Boxes
        Which of them belong to each box.
    start : Prices
        Prices that are close.
    enough : float
        A box whose bound is at least this needs no better prices.
    temperatures : tuple of float
        T, for all cells together, relative to the value of the design; it is the order of what is lost.
    """
    best = Prices(*(each.copy() for each in start))
    people, rooms = start.people.copy(), start.cells.copy()
    rooms = np.maximum(rooms, 1e-6 * rooms.mean(axis=1, keepdims=True))
    live = np.arange(len(people))
    for temperature in temperatures:
        inside = boxes.rows(live)
        climber = _Climber(cells, inside, people[live], rooms[live], temperature * cells.value / len(cells))
        people[live], rooms[live] = climber.run()
        reached = cells.bounds(people[live], rooms[live], inside).bound
        better = reached > best.bound[live]
        rows = live[better]
        best.bound[rows], best.people[rows], best.cells[rows] = reached[better], people[rows], rooms[rows]
        live = live[best.bound[live] < enough]
        if not live.size:
            break
    return best


class _Point(NamedTuple):
    """The softened bound at some prices, with the shares of the levels of each cell."""

    value: FloatArray
    shares: FloatArray
    per_strength: FloatArray


class _Climber:
    """Newton's method at one temperature; only the levels that belong to some box are looked at."""

    def __init__(
        self, cells: Cells, boxes: Boxes, people: FloatArray, rooms: FloatArray, temperature: float
    ) -> None:
        self.cells, self.T = cells, temperature
        outside = cells.outside(boxes)
        kept = np.flatnonzero(~outside.all(axis=0))
        self.of, self.level = cells.of[kept], cells.level[kept]
        self.start = np.searchsorted(self.of, np.arange(len(cells)))
        cost, number = cells.rises(people)
        self.cost = np.where(outside[:, kept], np.inf, cost[:, kept])
        self.number = number[:, kept]
        self.free = cells.free(people)[1]
        self.people, self.rooms = people, rooms.copy()
        self.shift = np.zeros(len(people))  # of λ

    def run(self) -> tuple[FloatArray, FloatArray]:
        """Return λ and μ at which the softened bound is nearly highest."""
        rows = np.arange(len(self.people))
        for _ in range(_STEPS):
            if not rows.size:
                break
            rows = self._step(rows)
        return np.maximum(self.people + self.shift, 1e-3 * self.people), self.rooms

    def _sums(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values, self.start, axis=1))

    def _at(self, rows: IntArray, shift: FloatArray, rooms: FloatArray) -> _Point:
        cost = self.cost[rows] + shift[:, None] * self.number[rows] - rooms[:, self.of] * self.level
        least = np.minimum.reduceat(cost, self.start, axis=1)
        weight = np.exp((least[:, self.of] - cost) / self.T)
        total = self._sums(weight)
        per_strength = rooms @ self.cells.shares
        noise = 3.0 * np.cbrt(self.cells.noise_weights * (0.5 * per_strength) ** 2)
        value = (least - self.T * np.log(total)).sum(axis=1) + noise.sum(axis=1)
        value += shift * (self.free[rows] - 0.5 * self.cells.price_bend * shift)
        value += self.T * np.log(rooms).sum(axis=1)
        return _Point(value, weight / total[:, self.of], per_strength)

    def _step(self, rows: IntArray) -> IntArray:
        """Move by Newton's step, shortened until it helps; return the rows that are worth another."""
        shift, rooms = self.shift[rows], self.rooms[rows]
        here = self._at(rows, shift, rooms)
        by_shift, by_room, decrement = self._direction(rows, here)
        with np.errstate(divide="ignore", invalid="ignore"):
            length = np.where(by_room < 0, -rooms / by_room, np.inf).min(axis=1)
        length = np.minimum(1.0, 0.95 * length)
        moving = going = np.flatnonzero(decrement > _ENOUGH * self.T)
        for _ in range(_HALVINGS):
            if not going.size:
                break
            far = length[going]
            at = shift[going] + far * by_shift[going], rooms[going] + far[:, None] * by_room[going]
            reached = self._at(rows[going], *at).value
            good = reached >= here.value[going] + 1e-3 * far * decrement[going]
            self.shift[rows[going[good]]], self.rooms[rows[going[good]]] = at[0][good], at[1][good]
            going = going[~good]
            length[going] *= 0.4
        return np.setdiff1d(rows[moving], rows[going], assume_unique=True)

    def _direction(self, rows: IntArray, here: _Point) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Newton's direction in λ and μ, and its decrement.

        The matrix of μ is diagonal but for what the strengths add, of as many dimensions as there are.
        """
        T, cells, share, number = self.T, self.cells, here.shares, self.number[rows]
        q, people = self._sums(share * self.level), self._sums(share * number)
        off_q, off_people = self.level - q[:, self.of], number - people[:, self.of]
        own = self._sums(share * off_q**2) / T + T / self.rooms[rows] ** 2
        mixed = self._sums(share * off_q * off_people) / T
        bend = self._sums(share * off_people**2).sum(axis=1) / T + cells.price_bend
        strength = np.cbrt(2.0 * cells.noise_weights / here.per_strength)
        slope = strength @ cells.shares.T - q + T / self.rooms[rows]
        slope_people = people.sum(axis=1) + self.free[rows] - cells.price_bend * self.shift[rows]
        figures = np.arange(strength.shape[1])
        system = ((1.0 / own) @ cells.pairs).reshape(-1, len(figures), len(figures))
        system[:, figures, figures] += 3.0 * here.per_strength / strength
        sides = np.stack([slope, mixed], axis=2) / own[:, :, None]
        solved = np.linalg.solve(system, cells.shares.T @ sides)
        first, second = np.moveaxis(sides - (cells.shares @ solved) / own[:, :, None], 2, 0)
        by_shift = (slope_people + (mixed * first).sum(axis=1)) / (bend - (mixed * second).sum(axis=1))
        by_room = first + second * by_shift[:, None]
        return by_shift, by_room, (slope * by_room).sum(axis=1) + slope_people * by_shift
