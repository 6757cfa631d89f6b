r"""What figures of several families need of strata, cell by cell.

Strata that belong to the same figure in every family form a *cell*: they need room in fixed proportions, so
that one number q says what figures need of all of them, :math:`\sum_g \beta_{cg} s_g \le q_c`, and stratum i
must have :math:`\mathrm{room}_i(n_i) \ge b_i q_c`. At a price λ of a person the cell costs

.. math:: H_c(q) = \sum_{i \in c} \min_{n \ge l_i(q)} \left(f_i(n) + \lambda n\right) ,

a step function that rises at the *levels* :math:`\mathrm{room}_i(m)/b_i`, m whole, by
:math:`(\lambda - f_i(m) + f_i(m+1))_+`. With a price :math:`\mu_c \ge 0` of each q no design of which every
:math:`q_c` is between given levels can beat

.. math:: \sum_c \min_q \left(H_c(q) - \mu_c q\right) + \sum_g \min_s \left(W_g/s^2 + p_g s\right)
    - \lambda \eta, \qquad p_g = \sum_c \mu_c \beta_{cg} .

One step function for a cell takes the place of one for each of its strata, whose convex hulls are lower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.noised_once import NoisedOnce
from dpstrata.allocation.proof.priced import best_with_room, roots, shared_bound
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray

_SAME = 1e-12  # relative difference of proportions that are equal but for rounding
_ROUNDING = 1e-10  # of all that a bound adds up, relative to the value of a design


class Boxes(NamedTuple):
    """Places of the lowest and the highest level of every cell, a row for each box."""

    low: IntArray
    high: IntArray

    def rows(self, which: IntArray | BoolArray) -> Boxes:
        """Return some of them."""
        return Boxes(self.low[which], self.high[which])


class Bounds(NamedTuple):
    """What no design in a box can beat, how much more each level costs, and the price of every strength."""

    bound: FloatArray
    excess: FloatArray
    per_strength: FloatArray

    def rows(self, which: IntArray | BoolArray) -> Bounds:
        """Return those of some boxes."""
        return Bounds(self.bound[which], self.excess[which], self.per_strength[which])


class Cells:
    """The levels at which a design may be better than a given one.

    Parameters
    ----------
    problem : NoisedOnce
        With several families.
    sizes : array of int
        A design; people are paid for beyond its own.
    value : float
        Its value: only designs below it matter.
    price, room_prices : float, array
        λ and μ of every stratum's room, which leave out what cannot be better.
    """

    def __init__(
        self, problem: NoisedOnce, sizes: IntArray, value: float, price: float, room_prices: FloatArray
    ) -> None:
        self.problem, self.value = problem, value
        self.noise_weights = np.concatenate(problem.noise_weights)
        self._find_cells(needs_of(problem))
        lower, upper = self._windows(sizes, price, room_prices)
        self._list_levels(lower, upper)
        terms = problem.problem.terms
        self._base_cost = float(terms.values(lower.astype(float)).sum())
        self._base_people = float((lower - sizes).sum())
        self.first_price = price
        self.first_prices = np.zeros(len(self))
        np.add.at(self.first_prices, self.cell, room_prices * self.need)
        _, slope = problem.room_and_slope(sizes.astype(float))
        free = room_prices * slope < 0.01 * price  # n = √(A/λ), so that dn/dλ = −n/(2λ)
        self.price_bend = float(sizes[free].sum() + 1) / (2.0 * price)

    def __len__(self) -> int:
        return len(self.shares)

    @property
    def everything(self) -> Boxes:
        """The box of all levels."""
        return Boxes(np.zeros((1, len(self)), dtype=np.int64), (self.count - 1)[None, :])

    # --- cells and levels ---------------------------------------------------------------------

    def _find_cells(self, needs: FloatArray) -> None:
        """Group strata whose needs are in proportion: cell, β of each cell and b of each stratum."""
        codes = np.stack([family.codes for family in self.problem.families], axis=1)
        _, first, cell = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        cell = cell.ravel()
        self.need = needs.sum(axis=1)
        share = np.divide(needs, self.need[:, None], out=np.zeros_like(needs), where=self.need[:, None] > 0)
        if np.any(np.abs(share - share[first][cell]) > _SAME):
            first = cell = np.arange(len(needs))
        self.cell, self.shares = cell, share[first]
        self.pairs = (self.shares[:, :, None] * self.shares[:, None, :]).reshape(len(first), -1)

    def _windows(self, sizes: IntArray, price: float, room_prices: FloatArray) -> tuple[IntArray, IntArray]:
        """Find the sizes outside of which the prices say that a design is worse than the given one."""
        problem, inner = self.problem, self.problem.problem
        slack = self.value - shared_bound(problem, sizes, price, room_prices) + _ROUNDING * self.value
        best = best_with_room(problem, price, room_prices, sizes)

        def cost(n: IntArray) -> FloatArray:
            m = n.astype(float)
            return inner.terms.values(m) + price * (n - sizes) - room_prices * problem.room(m)

        most = cost(best) + slack
        lower = _last_within(lambda n: cost(n) <= most, best, inner.lower)
        upper = _last_within(lambda n: cost(n) <= most, best, inner.upper)
        per_strength = needs_of(problem).T @ room_prices
        low, _ = strengths_within(self.noise_weights, per_strength, np.array(slack))
        needed = problem.sizes_for(problem.split(low), np.maximum(best, 1.0))
        return np.minimum(np.maximum(lower, needed), upper), upper

    def _list_levels(self, lower: IntArray, upper: IntArray) -> None:
        """Sort the levels cell by cell; the last one of each is where a stratum has no more room."""
        problem, terms = self.problem, self.problem.problem.terms
        width = upper - lower
        rows = np.repeat(np.arange(len(width)), width)
        m = (lower[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(width) - width, width)).astype(float)
        gain = terms.gain(m, rows) - terms.origin
        self._free_gains = np.sort(gain)
        self._free_sums = np.concatenate([[0.0], np.cumsum(self._free_gains)])
        with np.errstate(divide="ignore"):
            level, ends = (
                problem.room(m, rows) / self.need[rows],
                problem.room(upper.astype(float)) / self.need,
            )
        top = np.full(len(self), np.inf)
        np.minimum.at(top, self.cell, ends)
        inside = level < top[self.cell[rows]]
        cell = np.concatenate([self.cell[rows][inside], np.arange(len(self))])
        level = np.concatenate([level[inside], np.where(np.isfinite(top), top, 0.0)])
        gain = np.concatenate([gain[inside], np.full(len(self), np.inf)])
        order = np.lexsort((gain == np.inf, level, cell))
        self.of, self.level, self.gain = cell[order], level[order], gain[order]
        self.count = np.bincount(self.of, minlength=len(self))
        self.start = np.cumsum(self.count) - self.count
        self.place = np.arange(len(self.of)) - self.start[self.of]

    # --- costs and bounds ---------------------------------------------------------------------

    def rises(self, prices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """H at every level beyond what people cost who are worth it anyway, and how many more it takes."""
        more = np.maximum(prices[:, None] - self.gain, 0.0)
        one = (more > 0).astype(float)
        out = []
        for each in (more, one):
            before = np.cumsum(each, axis=1) - each
            out.append(before - before[:, self.start][:, self.of])
        return out[0], out[1]

    def free(self, prices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Cost and number of the people who are worth their price, beyond those of the given design."""
        at = np.searchsorted(self._free_gains, prices, side="right")
        many = len(self._free_gains) - at
        people = np.asarray(self._base_people + many, dtype=float)
        gained = self._free_sums[-1] - self._free_sums[at]
        return np.asarray(self._base_cost + prices * people - gained), people

    def outside(self, boxes: Boxes) -> BoolArray:
        """Whether a level is not in a box."""
        return np.asarray((self.place < boxes.low[:, self.of]) | (self.place > boxes.high[:, self.of]))

    def bounds(self, prices: FloatArray, room_prices: FloatArray, boxes: Boxes) -> Bounds:
        """Bound all designs of each box by its prices, less what rounding may have added."""
        cost, _ = self.rises(prices)
        cost -= room_prices[:, self.of] * self.level
        cost[self.outside(boxes)] = np.inf
        least = np.minimum.reduceat(cost, self.start, axis=1)
        per_strength = room_prices @ self.shares
        noise = 3.0 * np.cbrt(self.noise_weights * (0.5 * per_strength) ** 2)
        bound = self.free(prices)[0] + least.sum(axis=1) + noise.sum(axis=1) - _ROUNDING * self.value
        return Bounds(bound, cost - least[:, self.of], per_strength)

    def places(self, q: FloatArray) -> IntArray:
        """Place of the first level of every cell that is at least q, or one beyond the last."""
        below = self.level < q[:, self.of] * (1.0 - _SAME)
        return np.asarray(np.add.reduceat(below.astype(np.int64), self.start, axis=1))


def needs_of(problem: NoisedOnce) -> FloatArray:
    """Room that a unit of every strength needs in every stratum, one row for each."""
    rows = np.arange(len(problem.problem.lower))
    needs = []
    for family in problem.families:
        each = np.zeros((len(rows), len(family)))
        each[rows, family.codes] = family.coefficients * problem.answer_range
        needs.append(each)
    return np.concatenate(needs, axis=1)


def strengths_within(
    noise_weights: FloatArray, per_strength: FloatArray, slack: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Least and largest strength at which W/s² + ps exceeds its minimum by no more than a slack."""
    centre = np.cbrt(2.0 * noise_weights / per_strength)
    unit = noise_weights / centre**2
    left, right = roots(np.maximum(slack, 0.0)[..., None] / unit)
    return centre * left * (1.0 - 1e-9), centre * right * (1.0 + 1e-9)


def _last_within(within: Callable[[IntArray], BoolArray], start: IntArray, end: IntArray) -> IntArray:
    """Go from ``start`` towards ``end`` as far as a condition holds, by halves."""
    way = np.sign(end - start)
    low, high = np.zeros_like(start), np.abs(end - start)
    while np.any(low < high):
        middle = (low + high + 1) // 2
        good = within(start + way * middle)
        low, high = np.where(good, middle, low), np.where(good, high, middle - 1)
    return np.asarray(start + way * low)
