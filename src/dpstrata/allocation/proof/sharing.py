r"""How figures that do not overlap share the people, which a price of a person alone leaves open.

At a price the figures are minimised one by one, and their people need not add up to the total. At other
prices :math:`\lambda_p` a figure at level j, with d people more than in a given design, costs at least

.. math:: \max_p \left(F_{j}(\lambda_p) - \lambda_p d\right) ,

where :math:`F_j(\lambda)` pays for the people beyond the design's (weak duality). The least over the levels
is a function of d, and in every design the d of all figures add up to zero. So these functions are added up,
one figure after another, for every sum of their d: no design beats the least that comes out for a sum of 0.
What costs so much more at the best price that no design with it is better than the given one is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpstrata.allocation.proof.priced import ROUNDING
from dpstrata.numerics.arrays import FloatArray, IntArray

_MOST_PAIRS = 2_000_000  # levels with a number of people that are looked at
_MOST_NUMBERS = 20_000  # numbers of people of all figures; adding up takes the square of it


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
    for each, by in zip(regret, change, strict=True):  # beyond these numbers it costs more than the slack
        if by > 0:
            low = np.maximum(low, np.ceil(_divided(each - slack, by)))
        elif by < 0:
            high = np.minimum(high, np.floor(_divided(each - slack, by)))
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


def _divided(values: FloatArray, by: float) -> FloatArray:
    with np.errstate(over="ignore"):  # infinite where it is so far away
        return values / by


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
