r"""Figures of one family at a price of a person, exactly: a walk through levels at which they may be best.

With one family, the strengths of different figures meet only in the total. At a price λ of a person, a figure
costs at strength s at least

.. math:: F(s) = \sum_i \min_{n \ge l_i(s)} \left(f_i(n) + \lambda n\right) + W/s^2 ,

where :math:`l_i(s)` is the fewest people whose room is enough. The sum of their minima, less λ times the
total, is what no design can beat. F is a step function beside W/s²: it rises only at the *levels*
:math:`\mathrm{room}_i(m)/(a_i R)`, m whole, by :math:`(\lambda - f_i(m) + f_i(m+1))_+`. So it is minimised
exactly by walking the sorted levels of a window. Outside the window a tangent is enough: for any prices
:math:`\mu_i \ge 0` of room

.. math:: F(s) \;\ge\; \sum_i \min_n \left(f_i(n) + \lambda n - \mu_i\,\mathrm{room}_i(n)\right)
    + \sum_i \mu_i a_i R s + W/s^2 ,

and it nearly touches with :math:`\mu_i = (\lambda + f_i'(x))_+ / \mathrm{room}_i'(x)` at the real sizes x
that s needs.

If there is a single figure, every level may be bounded at a price of its own, and the gap can close.

Several figures are bounded at all prices together. At one price the figures are minimised one by one, and
their people need not add up to the total. At other prices :math:`\lambda_p` a figure at level j, with d
people more than in a given design, costs at least

.. math:: \max_p \left(F_{j}(\lambda_p) - \lambda_p d\right) ,

where :math:`F_j(\lambda)` pays for the people beyond the design's (weak duality). The least over the levels
is a function of d, and in every design the d of all figures add up to zero. So these functions are added up,
one figure after another, for every sum of their d: no design beats the least that comes out for a sum of 0.
What costs so much more at the best price that no design with it is better than the given one is left out.
This module imports no solver.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.proof.bound import best_at_prices, first_not_worth
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray, blocks

ROUNDING = 1e-12  # of a sum of so many terms, relative to what is added up
_NEWTON = 8

ENOUGH = 1e-5  # relative gap below which a price alone will do, where several figures share the people

_SPACING = float(np.finfo(float).eps)
_LEAST_LEVELS = 20_000
# Windows: how often they widen, up to how many levels, for which prices, and what is too little for it
_WIDENINGS = 24
_MOST_LEVELS = 300_000
_PER_STRATUM = 4
_NEARBY = 0.05
_FEW_PEOPLE = 50  # in a figure, up to which prices may be so far away
_NEGLIGIBLE = 1e-7  # of the value, for all figures together
_LITTLE_WORSE = 1e-3  # of the value, by which a figure may be worse in a better design

_MOST_PAIRS = 2_000_000  # levels with a number of people that are looked at
_MOST_NUMBERS = 20_000  # numbers of people of all figures; adding up takes the square of it


def below(problem: SingleMean, value: float, share: float) -> float:
    """Return what is a share below a value, also once the finite population correction is taken off."""
    return value - share * max(value - problem.problem.correction, 0.0)


def best_from(problem: SingleMean, price: float, lower: IntArray, guess: IntArray) -> IntArray:
    """Minimise f(n) + λn from ``lower`` on."""
    inner = problem.problem
    every = np.ones(len(lower))
    return best_at_prices(inner.terms, every, price * every, lower, inner.upper, np.maximum(guess, lower))


def priced_costs(
    problem: SingleMean, price: float, room_prices: FloatArray, guess: IntArray, sizes: IntArray
) -> FloatArray:
    """Minimise f(n) + λ·(n − sizes) − μ·room(n) in every stratum, less what rounding may have added."""
    inner = problem.problem

    def gain(n: FloatArray, rows: IntArray) -> FloatArray:
        more = problem.room(n + 1.0, rows) - problem.room(n, rows)
        return inner.terms.gain(n, rows) + room_prices[rows] * more

    worth = np.full(len(guess), price + inner.terms.origin)
    n = first_not_worth(gain, worth, inner.lower, inner.upper, guess)
    x = n.astype(float)
    parts = np.stack([inner.terms.values(x), price * (n - sizes), -room_prices * problem.room(x)])
    return np.asarray(parts.sum(axis=0) - ROUNDING * np.abs(parts).sum(axis=0))


def roots(excess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both t with t^-2 + 2t = 3 + excess, or a little outside of them: Newton's method from outside."""
    right = 3.0 + excess
    low, high = 1.0 / np.sqrt(right), right / 2.0
    for _ in range(_NEWTON):
        for t in (low, high):
            slope = 2.0 - 2.0 / t**3
            step = np.divide(1.0 / t**2 + 2.0 * t - right, slope, out=np.zeros_like(t), where=slope != 0)
            t -= np.where(np.isfinite(step), step, 0.0)
    return low, high


class Shared(NamedTuple):
    """What no design can beat, and the levels that reach it, if they were looked for and may be better."""

    bound: float
    levels: IntArray | None


def share_people(
    costs: FloatArray,
    figure: IntArray,
    fewest: FloatArray,
    most: FloatArray,
    prices: FloatArray,
    value: float,
    enough: float,
) -> Shared:
    """Bound what figures cost that share the people of a design.

    Parameters
    ----------
    costs : array
        F at every price, a row for each, and every level.
    figure : array of int
        The figure that each level belongs to.
    fewest, most : array
        How many people more than in the design a level can have.
    prices : array
        λ.
    value : float
        What the design costs: only what is less matters.
    enough : float
        A bound that is close enough to it.
    """
    by_price = np.full((len(prices), int(figure.max()) + 1), np.inf)
    for row, each in zip(by_price, costs, strict=True):
        np.minimum.at(row, figure, each)
    best = int(np.argmax(by_price.sum(axis=1)))
    first, least, change = costs[best], by_price[best], prices - prices[best]
    bound = float(least.sum())
    slack = value - bound
    if bound >= enough or len(prices) == 1:  # one price says nothing of numbers
        return Shared(bound, None)
    level = np.flatnonzero(first - least[figure] <= slack)
    regret = costs[:, level] - least[figure[level]]
    low, high = fewest[level], most[level]
    with np.errstate(over="ignore"):  # infinite where it is so far away
        for each, by in zip(regret, change, strict=True):  # beyond these numbers it costs more than the slack
            if by > 0:
                low = np.maximum(low, np.ceil((each - slack) / by))
            elif by < 0:
                high = np.minimum(high, np.floor((each - slack) / by))
    width = np.maximum(high - low + 1.0, 0.0)
    if width.sum() > _MOST_PAIRS:
        return Shared(bound, None)
    rows = np.repeat(np.arange(len(level)), width.astype(np.int64))
    d = low[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(width) - width, width.astype(np.int64))
    more = regret[best, rows]
    for each, by in zip(regret, change, strict=True):
        np.maximum(more, each[rows] - by * d, out=more)
    own = figure[level[rows]]
    start, end = np.zeros((2, len(least)))
    np.minimum.at(start, own, d)
    np.maximum.at(end, own, d)
    if (end - start).sum() > _MOST_NUMBERS:
        return Shared(bound, None)
    extra, chosen = _added_up(_tables(own, d.astype(np.int64), more, level[rows], len(least)), slack)
    sums = value + np.abs(least).sum() + len(least) * float(np.abs(change).max() * np.abs(d).max(initial=0.0))
    return Shared(max(bound, bound + min(extra, slack) - ROUNDING * sums), chosen)


class _Table(NamedTuple):
    """What a figure costs more with each number of people from ``start`` on, and at which level."""

    start: int
    more: FloatArray
    level: IntArray


def _tables(figure: IntArray, d: IntArray, more: FloatArray, level: IntArray, figures: int) -> list[_Table]:
    """Take the best level of every figure and number of people."""
    order = np.lexsort((more, d, figure))
    figure, d, more, level = figure[order], d[order], more[order], level[order]
    best = np.ones(len(order), dtype=bool)
    best[1:] = (figure[1:] != figure[:-1]) | (d[1:] != d[:-1])
    figure, d, more, level = figure[best], d[best], more[best], level[best]
    tables = []
    for a, b in zip(
        *(np.searchsorted(figure, np.arange(figures), side) for side in ("left", "right")), strict=True
    ):
        start = int(d[a]) if b > a else 0
        size = int(d[b - 1]) - start + 1 if b > a else 0
        costs, levels = np.full(size, np.inf), np.full(size, -1)
        costs[d[a:b] - start], levels[d[a:b] - start] = more[a:b], level[a:b]
        tables.append(_Table(start, costs, levels))
    return tables


def _added_up(tables: list[_Table], slack: float) -> tuple[float, IntArray | None]:
    """Find the least sum of all tables whose numbers of people add up to zero, and its levels."""
    start, sums = 0, np.zeros(1)
    # For every sum, from a start on, the number that the last figure has.
    taken: list[tuple[int, IntArray]] = []
    for table in tables:
        following = np.full(len(sums) + max(len(table.more), 1) - 1, np.inf)
        own = np.zeros(len(following), dtype=np.int64)
        for j in np.flatnonzero(table.more <= slack).tolist():
            reached = sums + table.more[j]
            better = np.flatnonzero(reached < following[j : j + len(sums)])
            following[j + better], own[j + better] = reached[better], j
        inside = np.flatnonzero(following <= slack)
        if not inside.size:
            return np.inf, None
        a, b = int(inside[0]), int(inside[-1]) + 1
        start, sums = start + table.start + a, following[a:b]
        taken.append((start, own[a:b]))
    if not 0 <= -start < len(sums) or not np.isfinite(sums[-start]):
        return np.inf, None
    people, chosen = 0, np.empty(len(tables), dtype=np.int64)
    for i in range(len(tables) - 1, -1, -1):
        begin, own = taken[i]
        j = int(own[people - begin])
        chosen[i] = tables[i].level[j]
        people -= tables[i].start + j
    return float(sums[-start]), chosen


class Walk:
    """The levels of the figures of one family, in a window around given strengths.

    Parameters
    ----------
    problem : SingleMean
        With one family.
    sizes : array of int
        A design; only strengths at which another one might be better need be walked.
    strengths : array
        Of its figures.
    prices : sequence of float
        λ, the first near the best one.
    """

    def __init__(
        self, problem: SingleMean, sizes: IntArray, strengths: FloatArray, prices: Sequence[float]
    ) -> None:
        self.problem, self.sizes = problem, sizes
        (self.family,) = problem.families
        (self.weights,) = problem.noise_weights
        self._lines = _Lines(problem, sizes, strengths)
        self._sharp = len(self.family) > 1  # a single figure seldom needs tangents at the ends of its window
        self._choose_window(strengths, prices[0])
        self._list_levels()
        self._widen(prices)

    # --- the window ---------------------------------------------------------------------------

    def _choose_window(self, strengths: FloatArray, price: float) -> None:
        """Find strengths outside of which the tangent says that a figure costs more than it does."""
        n = self.sizes.astype(float)
        terms = self.problem.problem.terms
        reached = self.family.sums(terms.values(n)) + self.weights / strengths**2
        self.value = float(reached.sum())
        alpha, beta = self._lines.at(price)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            centre = np.where(beta > 0, np.cbrt(2.0 * self.weights / beta), np.inf)
            unit = self.weights / centre**2
            excess = np.where(unit > 0, np.maximum((reached - alpha) / unit - 3.0, 0.0), np.inf)
            if len(self.family) > 1:  # several figures need room for other prices
                excess = 4.0 * excess + 0.01
            left, right = roots(excess)
            low = np.where(np.isfinite(excess), centre * left, np.sqrt(self.weights / reached))
            high = np.where(np.isfinite(excess), centre * right, np.inf)
        self._widest = self._allowed()
        self._high = np.minimum(np.maximum(high, strengths), self._widest)
        self._low = np.minimum(low, np.minimum(strengths, self._high))
        most = _LEAST_LEVELS + len(n) // 4
        for _ in range(4):
            self._find_ends()
            if (listed := int((self._top - self._base).sum())) <= most:
                break
            share = 0.5 * most / listed
            self._low = strengths - share * (strengths - self._low)
            self._high = strengths + share * (self._high - strengths)

    def _find_ends(self) -> None:
        """Find the people that both ends of the window need, and the tangents there, if they are wanted."""
        self._base = self._people(self._low)
        self._top = np.maximum(self._people(self._high), self._base)
        self._find_lines()

    def _find_lines(self) -> None:
        self._known: dict[float, tuple[FloatArray, FloatArray, FloatArray]] = {}
        ends = (self._low, self._high)
        self._end_lines = [_Lines(self.problem, self.sizes, s) if self._sharp else self._lines for s in ends]

    def _widen(self, prices: Sequence[float]) -> None:
        """Widen windows while something outside of them might be better."""
        most = _MOST_LEVELS + _PER_STRATUM * len(self.sizes)
        for _ in range(_WIDENINGS):
            short, narrow = self._better_outside(prices)
            if not np.any(short | narrow):
                break
            if len(self.level) > most:  # only those that have few
                few = self._listed <= most / len(self.family)
                short, narrow = short & few, narrow & few
            if np.any(short | narrow):
                self._move_ends(short, narrow)
                self._find_ends()
                self._list_levels()
            elif not self._sharp:
                self._sharp = True
                self._find_lines()
            else:
                break

    def _better_outside(self, prices: Sequence[float]) -> tuple[BoolArray, BoolArray]:
        """Tell which figures may be better below and above their windows.

        A single figure has to be worse there at one of its prices. Of several, what is a little worse may be
        part of a better design; and the fewer people a figure has, the further another way to share them
        leads away from a price, so that one that is dearer and one that is cheaper are looked at too.
        """
        figures, little = len(self.family), _NEGLIGIBLE * (self.value - below(self.problem, self.value, 1.0))
        if figures == 1:
            bounds = self.envelope(prices)
            ends = bounds[-2:] < min(self.value, float(bounds[:-2].min())) - little
            return ends[:1], ends[1:]
        near = 1.0 + _NEARBY * min(1.0, math.sqrt(_FEW_PEOPLE * figures / self.sizes.sum()))
        short = narrow = np.zeros(figures, dtype=bool)
        for price, side in ((prices[0], 0), (prices[0] * near, -1), (prices[0] / near, 1)):
            cost, left, right = self._costs(price)
            least = np.minimum.reduceat(cost, self._first)
            room = -little / figures
            if not side:
                room += min(max(self.value - float(least.sum()), 0.0), _LITTLE_WORSE * self.value)
            short = short | (left < least + room) & (side <= 0)
            narrow = narrow | (right < least + room) & (side >= 0)
        return short, narrow

    def _move_ends(self, short: BoolArray, narrow: BoolArray) -> None:
        """Let some windows begin at fewer people, or end at more, by half of those between their ends."""
        inner = self.problem.problem
        step = (self._top - self._base) // 2 + 2
        fewer, more = np.maximum(self._base - step, inner.lower), np.minimum(self._top + step, inner.upper)
        low, high = (
            self.family.smallest(self.problem.levels(n.astype(float), self.family)) for n in (fewer, more)
        )
        low = np.where(low < self._low, low, 0.8 * self._low)  # all may be at their minimums
        self._low = np.where(short, low, self._low)
        self._high = np.where(narrow, np.clip(high, self._high, self._widest), self._high)

    def _allowed(self) -> FloatArray:
        """Largest strengths that the maximums and the total allow each figure."""
        inner = self.problem.problem
        spare = inner.total - int(inner.lower.sum())
        most = np.minimum(inner.upper, inner.lower + spare).astype(float)
        return self.family.smallest(self.problem.levels(most, self.family))

    def _people(self, strengths: FloatArray) -> IntArray:
        return self.problem.sizes_for([strengths], self._lines.x)

    # --- the levels ---------------------------------------------------------------------------

    def _list_levels(self) -> None:
        """Sort the levels in the window, figure by figure; each window ends with its upper end."""
        entries = self._top - self._base
        rows = np.repeat(np.arange(len(entries)), entries)
        m = self._base[rows] + (np.arange(len(rows)) - np.repeat(np.cumsum(entries) - entries, entries))
        level = self.problem.levels(m.astype(float), self.family, rows)
        gain = self.problem.problem.terms.gain(m.astype(float), rows) - self.problem.problem.terms.origin
        figures = len(self.family)
        level = np.concatenate([np.minimum(level, self._high[self.family.codes[rows]]), self._high])
        gain = np.concatenate([gain, np.full(figures, np.inf)])
        figure = np.concatenate([self.family.codes[rows], np.arange(figures)])
        order = np.argsort(level, kind="stable") if figures == 1 else np.lexsort((level, figure))
        self.level, self._gain, self.figure = level[order], gain[order], figure[order]
        self._first = np.searchsorted(self.figure, np.arange(figures))
        self._noise = self.weights[self.figure] / self.level**2
        # Each level needs one person more than the one before; others leave only so many.
        inner = self.problem.problem
        left = inner.total - int(inner.lower.sum()) + self.family.sums(inner.lower.astype(float))
        needed = self.family.sums(self._base.astype(float)) - self._first
        too_many = np.arange(len(self.level)) + needed[self.figure] > left[self.figure]
        self._noise[too_many] = np.inf
        self._listed = np.bincount(self.figure)
        self._beyond = (self._high >= self._widest) | too_many[self._first + self._listed - 1]

    def costs(self, price: float) -> FloatArray:
        """F at every level, and then bounds of it for all strengths below each window and above it.

        People are paid for beyond those of the design, which add up to the total; what rounding may have
        added is taken off.
        """
        return np.concatenate(self._costs(price))

    def _costs(self, price: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the same in three parts."""
        if price not in self._known:
            self._known[price] = self._worked_out(price)
        return self._known[price]

    def _worked_out(self, price: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        n = best_from(self.problem, price, self._base, self.sizes)
        paid = price * (n - self.sizes)
        base = self.family.sums(self.problem.problem.terms.values(n.astype(float)) + paid)
        rise = np.maximum(price - self._gain, 0.0)
        before = np.cumsum(rise) - rise
        before -= before[self._first][self.figure]
        cost = base[self.figure] + before
        share = ROUNDING + _SPACING * len(rise)
        cost -= share * (np.abs(cost) + 2.0 * self.family.sums(np.abs(paid))[self.figure])
        last = cost[self._first + self._listed - 1]
        return cost + self._noise * (1.0 - share), *self._outside(price, last)

    def _outside(self, price: float, last: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound strengths below and above the windows by tangents, and above by what people cost there."""
        left, right = (
            self._on_line(line, price, end, side)
            for line, end, side in zip(self._end_lines, (self._low, self._high), (-1, 1), strict=True)
        )
        return left, np.where(self._beyond, np.inf, np.maximum(right, last))

    def _on_line(self, line: _Lines, price: float, end: FloatArray, side: int) -> FloatArray:
        """Minimise α + βs + W/s² over the strengths below or above an end."""
        alpha, beta = line.at(price)
        with np.errstate(divide="ignore"):
            centre = np.where(beta > 0, np.cbrt(2.0 * self.weights / beta), np.inf)
        s = np.minimum(centre, end) if side < 0 else np.maximum(centre, end)
        finite = np.where(np.isfinite(s), s, end)
        value = (beta * finite + self.weights / finite**2) * (1.0 - 2.0 * ROUNDING) + alpha
        return np.where(np.isfinite(s), value, alpha)

    def bound(self, prices: Sequence[float]) -> float:
        """Return what no design can beat."""
        if len(self.family) == 1:
            return float(self.envelope(prices).min())
        return self.shared(prices, self.value).bound

    def envelope(self, prices: Sequence[float]) -> FloatArray:
        """Bounds of a single figure for each level, and for strengths below and above the window."""
        return np.asarray(np.max([self.costs(price) for price in prices], axis=0))

    def shared(self, prices: Sequence[float], value: float) -> Shared:
        """Bound several figures that share the people, by all prices together.

        Only what is below ``value`` is bounded: that of the best design known.
        """
        inner, every = self.problem.problem, np.arange(len(self.family))
        figure = np.concatenate([self.figure, every, every])
        least, base, own, top, most = (
            self.family.sums(n.astype(float))
            for n in (inner.lower, self._base, self.sizes, self._top, inner.upper)
        )
        needed = base[self.figure] + np.arange(len(self.figure)) - self._first[self.figure]
        fewest, less, more = np.concatenate([needed, least, top]) - own[figure], own - least, most - own
        return share_people(
            np.stack([self.costs(price) for price in prices]),
            figure,
            np.maximum(fewest, (more - more.sum())[figure]),  # what others can take
            np.minimum(more, less.sum() - less)[figure],
            np.asarray(prices),
            value,
            below(self.problem, value, ENOUGH),
        )

    def minimisers(self, price: float) -> Minimisers:
        """Find the best strengths of all figures at a price."""
        cost, left, right = self._costs(price)
        least = np.minimum.reduceat(cost, self._first)
        at = np.flatnonzero(cost == least[self.figure])
        at = at[np.searchsorted(self.figure[at], np.arange(len(self.family)))]
        strengths = self.level[at]
        lower = np.maximum(self._people(strengths), self.problem.problem.lower)
        people = self.family.sums(best_from(self.problem, price, lower, self.sizes).astype(float))
        bound = float(np.minimum(least, np.minimum(left, right)).sum())
        return Minimisers(price, strengths, people, bound)


class _Lines:
    """Tangents of what the strata of one family cost, at given strengths: valid below all of its curve."""

    def __init__(self, problem: SingleMean, sizes: IntArray, strengths: FloatArray) -> None:
        self.problem, self.sizes = problem, sizes
        (self.family,) = problem.families
        self._known: dict[float, tuple[FloatArray, FloatArray]] = {}
        inner = problem.problem
        lower = inner.lower.astype(float)
        needed = problem.use([strengths])
        x = np.empty_like(needed)
        for rows in blocks(len(x)):
            least = np.minimum(needed[rows], problem.room(inner.upper[rows].astype(float), rows))
            x[rows] = problem.real_sizes(least, sizes[rows].astype(float), rows)
        self._binds = (x > lower) & (self.family.coefficients > 0)
        self.x = np.where(
            self._binds, np.minimum(x, inner.upper), lower
        )  # real sizes that the strengths need
        self._near = np.where(self._binds, np.ceil(self.x).astype(np.int64), sizes)
        _, self._slope = problem.room_and_slope(self.x)
        self._marginal = inner.terms.marginal(self.x) - inner.terms.origin

    def at(self, price: float) -> tuple[FloatArray, FloatArray]:
        """α and β of every figure, with α + βs below the cost of its strata at any strength s."""
        if price not in self._known:
            excess = np.where(self._binds, np.maximum(price - self._marginal, 0.0), 0.0)
            room_prices = excess / self._slope
            near = np.where(excess > 0, self._near, self.sizes)
            cost = priced_costs(self.problem, price, room_prices, near, self.sizes)
            slope = room_prices * self.family.coefficients * self.problem.answer_range
            self._known[price] = self.family.sums(cost), self.family.sums(slope)
        return self._known[price]


class Minimisers(NamedTuple):
    """What figures cost least with at a price: their strengths, the people that they take, and the bound."""

    price: float
    strengths: FloatArray
    people: FloatArray
    bound: float
