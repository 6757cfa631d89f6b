r"""The proof how close forms come to the best there could be, overlapping ones included.

Let a share :math:`x_T \ge 0` of the people get form T, :math:`\sum_T x_T = 1`, for any set of forms: a
question may be on several, with other levels on each. Its estimates from all of them, combined with the best
weights, have the variance :math:`1/I_j`, :math:`I_j = \sum_{T \ni j} x_T / \varphi_{jT}`. For any prices
:math:`v_j \ge 0`, :math:`1/I + vI \ge 2\sqrt{v}` gives

.. math:: \sum_j \frac{1}{I_j} + \sum_T x_T b_T \;\ge\; 2 \sum_j \sqrt{v_j} - \sum_T x_T (s_T - b_T)
    \;\ge\; 2 \sum_j \sqrt{v_j} - \max_T\, (s_T - b_T) , \qquad s_T = \sum_{j \in T} v_j / \varphi_{jT} ,

with :math:`b_T` of the questions for everyone. Without those, prices may be scaled, and the best scale
gives :math:`(\sum_j \sqrt{v_j})^2 / \max_T s_T`, which is the inequality of Cauchy and Schwarz. (Questions
that are kept together are one item, whose estimates from several forms are combined with one set of weights.)

With precision targets, :math:`\varphi` in their units, n people meet them if :math:`n I_j \ge 1` for every
question and :math:`\sum_T x_T \varphi_{eT} \le n` for those for everyone. With prices :math:`v_j, u_e \ge 0`

.. math:: \frac{\sum_j v_j}{n} - n \sum_e u_e \;\le\; \sum_T x_T (s_T - b_T)
    \;\le\; M = \max_T\, (s_T - b_T) , \qquad b_T = \sum_e u_e \varphi_{eT} ,

so n is at least the positive root of :math:`n^2 \sum u + nM = \sum v`; without questions for everyone,
:math:`\sum v / M`.

Either way the proof is one maximum over all forms, with all choices of levels. :class:`Pricing` finds it
without leaving any out; how the prices were found does not matter. This module imports no solver.

Where the office gets raw answers, nothing is lost by asking more on a form but budget for the tables. No
forms have less variance than if everyone were asked everything, and every question had all of the budget
(:func:`certify_raw_forms`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.forms import Forms, FormsProblem, TargetsProblem, inverse
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray
from dpstrata.privacy.rows import Quadratic

# Rounding of sums and products of some hundred terms, relative to their sizes, with a margin of a thousand.
_ROUNDING = 1e-11
_HALVINGS = 14  # of the price of cells, where none is known
_REFINEMENTS = 6  # where one is
_SEGMENTS = 8  # beyond the products that are listed, each twice as far
_PAGES_AT_ONCE = 64
_FORMS_KEPT = 24


@dataclass(frozen=True, slots=True)
class FormsBound:
    """A bound that no forms can beat, and how close these come.

    Attributes
    ----------
    value : float
        The weighted sum of the variances for one person asked; with precision targets the people needed.
    lower_bound : float
        What no forms can go below.
    prices : tuple of float
        The prices that prove it: of each item (of each question, with precision targets), then with precision
        targets those of the items for everyone.
    """

    value: float
    lower_bound: float
    prices: tuple[float, ...]

    @property
    def gap(self) -> float:
        """How much better other forms could be at most."""
        return max(self.value - self.lower_bound, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the bound."""
        return self.gap / self.lower_bound if self.lower_bound > 0 else math.inf


def certify_forms(problem: FormsProblem, forms: Forms, prices: Sequence[float]) -> FormsBound:
    """Bound what any forms can reach by prices.

    Parameters
    ----------
    problem : FormsProblem or TargetsProblem
        The items.
    forms : Forms
        Those to compare with the bound.
    prices : sequence of float
        One for each item, >= 0 (with targets, for each question of each item in turn, then for each item for
        everyone). Any prices prove a bound; :mod:`dpstrata.planning.forms.prices` finds good ones.
    """
    pricing = Pricing(problem)
    given = np.asarray(prices, dtype=float)
    if not problem.items and not len(given):  # everyone gets the same form, and all ways to ask it are known
        by_way = (
            problem.alone.max(axis=-1) if isinstance(problem, TargetsProblem) else problem.alone.sum(axis=-1)
        )
        value = pricing.reached(forms)
        return FormsBound(value, min(float(by_way.min()), value), ())
    if len(given) != pricing.prices_needed:
        raise InputError.must("prices", f"have {pricing.prices_needed} numbers", len(given))
    if not (np.all(given >= 0) and np.all(np.isfinite(given)) and np.any(given > 0)):
        raise InputError.must("prices", "be finite, at least 0 and not all 0", tuple(given.tolist()))
    bound, _ = bound_by_prices(pricing, given)
    value = pricing.reached(forms)
    return FormsBound(value, min(bound, value), tuple(given.tolist()))


def bound_by_prices(pricing: Pricing, prices: FloatArray, known: float = -math.inf) -> tuple[float, Priced]:
    """Compute the bound that prices prove, and the forms that decide it.

    ``known`` is a value of s - b that some form reaches: it saves time, and must be true.
    """
    worth, tolls = pricing.split(prices)
    priced = pricing.best(worth, tolls, known)
    if isinstance(pricing.problem, TargetsProblem):
        total, everyone = float(worth.sum()) * (1 - _ROUNDING), float(tolls.sum()) * (1 + _ROUNDING)
        most = priced.most
        return 2.0 * total / (most + math.hypot(most, 2.0 * math.sqrt(everyone * total))) * (
            1 - _ROUNDING
        ), priced
    roots = float(np.sqrt(worth).sum())
    if pricing.problem.everyone:
        return 2.0 * roots - priced.most - _ROUNDING * (2.0 * roots + abs(priced.most)), priced
    return roots**2 / priced.most * (1.0 - _ROUNDING), priced


class Priced(NamedTuple):
    """What a pricing found: no form exceeds ``most``; the best forms, as rows of options and ways."""

    most: float
    rows: list[tuple[IntArray, int]]


class _Pages(NamedTuple):
    """Numbers of cells K to look at one by one, and where the rest is bounded.

    A form whose items have the product P of cells, with a way to ask those for everyone that has k, is
    looked at on the page (P, k): K = Pk. The last pages stand for all K from theirs up to the room that they
    give (``product`` is 0 there).
    """

    product: IntArray
    way: IntArray
    room: FloatArray  # log P, or the most it can be
    known: FloatArray  # 1/φ of every option at K, 0 if its cells do not divide P: parts, pages, options
    tolls: FloatArray  # φ of the items for everyone: pages, items


class Pricing:
    r"""Find the most that a form is worth at given prices, over all forms and levels.

    With K given, an option o of item j is worth :math:`u_o = v_j/\varphi_o(K/y)`, and the best form is a
    knapsack: options with the largest sum, one of an item at most, whose cells multiply to :math:`P`.
    For every price :math:`\lambda \ge 0` of the logarithm of a cell

    .. math:: \sum_{o \in T} u_o \;=\; \lambda \ln P + \sum_{o \in T} (u_o - \lambda \ln k_o) \;\le\;
        \lambda \ln P + \sum_j \max_o\, (u_o - \lambda \ln k_o)_+ .

    Where that is no more than a form already found, no form of K cells is better. What a form loses on this
    bound is the sum of its *regrets*, over items, between the best option and the one that it has. So on the
    remaining pages a dynamic program over items collects all products of cells that divide P with the least
    regret, and drops those whose regret exceeds the difference: every form that could be better is found.
    :math:`\varphi` rises with K, so the bound at the first K of a range, with the logarithm of its last one,
    holds for the whole range; that is how all larger K are excluded.

    Parameters
    ----------
    problem : FormsProblem
        The items. What depends on them alone is computed once for many prices.
    """

    def __init__(self, problem: FormsProblem) -> None:
        self.problem, self.own = problem, problem.own
        self.count = len(self.own.item)
        self.cells = self.own.cells[:-1].astype(np.int64)
        self.logs = np.log(self.own.cells[:-1])
        self.present = self.own.present[:, :-1]  # parts by options
        fewest = [min(choice.cells for choice in item.choices) for item in problem.items]
        self._list(max(16.0, 2.0 * problem.y, 2.0 * max(fewest, default=1) * problem.together.cells.min()))

    # --- prices --------------------------------------------------------------------------------

    def split(self, prices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Separate the prices of items (by items and parts) from those of the items for everyone."""
        worth = np.zeros(self.parts.shape)
        size = int(self.parts.sum())
        worth[self.parts] = prices[:size]
        targets = isinstance(self.problem, TargetsProblem)
        return worth, prices[size:] if targets else np.ones(1)

    @property
    def parts(self) -> BoolArray:
        """Which parts the items have, by items and parts: each has a price."""
        return self.present[:, self.own.starts].T if self.count else np.zeros((0, 1), dtype=bool)

    @property
    def prices_needed(self) -> int:
        """How many prices a proof needs."""
        targets = isinstance(self.problem, TargetsProblem)
        return int(self.parts.sum()) + (len(self.problem.everyone) if targets else 0)

    def reached(self, forms: Forms) -> float:
        """Compute the value of forms with their shares, from the definition; items may be on several."""
        own, everyone = self.problem.told(*self.problem.rows(forms), self.problem.alone_in(forms))
        shares = np.array([form.share for form in forms.forms])
        told = np.tensordot(shares, own, axes=1)[self.parts]
        if isinstance(self.problem, TargetsProblem):
            return float(max((1.0 / told).max(initial=0.0), (shares @ everyone).max(initial=0.0)))
        return float((1.0 / told).sum() + (shares @ everyone).sum())

    # --- pages ---------------------------------------------------------------------------------

    def _list(self, limit: float) -> None:
        """List all K up to a limit, and the ranges beyond."""
        together = self.problem.together.cells
        products = self._products(limit / float(together.min()))
        pairs = [
            (p, w) for w, cells in enumerate(together) for p in products[products * cells <= limit].tolist()
        ]
        product = np.array([p for p, _ in pairs], dtype=np.int64)
        way = np.array([w for _, w in pairs], dtype=np.int64)
        widest = float(np.maximum.reduceat(self.logs, self.own.starts).sum()) if self.count else 0.0
        ends = np.repeat(limit * 2.0 ** np.arange(_SEGMENTS + 1), len(together))
        beyond = np.tile(np.arange(len(together)), _SEGMENTS + 1)
        room = np.minimum(np.log(2.0 * ends / together[beyond]), widest)
        room[-len(together) :] = widest
        r = np.concatenate([product * together[way], ends]) / self.problem.y
        way = np.concatenate([way, beyond])
        known = Quadratic(*self.own.curves[:, :, None, :-1]).at(r[None, :, None])
        fits = np.ones((len(r), self.count), dtype=bool)
        fits[: len(product)] = product[:, None] % self.cells == 0
        self.limit = limit
        self.pages = _Pages(
            np.concatenate([product, np.zeros(len(ends), dtype=np.int64)]),
            way,
            np.concatenate([np.log(product), np.maximum(room, 0.0)]),
            inverse(known, self.present[:, None, :] & fits),
            Quadratic(*self.problem.together.curves[:, way]).at(r[:, None]),
        )
        self.cell_price: FloatArray | None = None

    def _products(self, limit: float) -> IntArray:
        """Return all products of cells up to a limit, at most one option of each item."""
        products = np.ones(1, dtype=np.int64)
        for item in range(len(self.problem.items)):
            factors = np.unique(np.append(self.cells[self.own.item == item], 1))
            products = np.unique(np.multiply.outer(products, factors[factors <= limit]))
            products = products[products <= limit]
        return products

    # --- the maximum ---------------------------------------------------------------------------

    def best(self, worth: FloatArray, tolls: FloatArray, known: float = -math.inf) -> Priced:
        """Find the most that a form is worth.

        Parameters
        ----------
        worth : array
            Prices v by items and parts, >= 0.
        tolls : array
            Prices u of the items for everyone, >= 0.
        known : float
            What some form is worth; the search is faster if it is close.
        """
        if not self.count:
            return Priced(-float((self.problem.alone @ tolls).min()) * (1 - _ROUNDING), [])
        if self.problem.has_alone:  # forms of one item that is noised by itself are on no page
            known = max(known, self._best_alone(worth, tolls))
        while True:
            found = self._try(worth, tolls, known)
            if found is not None:
                return found
            known = max(known, self._best_alone(worth, tolls))  # or many alike items could need no end of K
            self._list(4.0 * self.limit)

    def _best_alone(self, worth: FloatArray, tolls: FloatArray) -> float:
        """Return the most that a form with a single item is worth."""
        rows = np.full((self.count, len(self.problem.items)), self.count)
        rows[np.arange(self.count), self.own.item] = np.arange(self.count)
        own, everyone = self.problem.told(rows, np.zeros(self.count, dtype=np.int64))
        return float((np.einsum("fjp,jp->f", own, worth) - everyone @ tolls).max())

    def _try(self, worth: FloatArray, tolls: FloatArray, known: float) -> Priced | None:
        """Find the maximum, unless more products must be listed for it."""
        search = _Knapsacks(self, worth, tolls, self.cell_price)
        known = max(known, search.rounded())
        left = np.flatnonzero(search.bounds > known)
        search.refine(left)
        self.cell_price = search.cell_price
        left = left[search.bounds[left] > known]
        if np.any(self.pages.product[left] == 0):
            return None
        left = left[np.argsort(-search.bounds[left], kind="stable")]
        found: list[tuple[float, IntArray, int]] = []
        for start in range(0, len(left), _PAGES_AT_ONCE):
            part = left[start : start + _PAGES_AT_ONCE]
            part = part[search.bounds[part] > known]
            if len(part):
                found += search.complete(part, known)
                known = max([known, *(value for value, _, _ in found)])
        found += search.candidates
        found.sort(key=lambda each: -each[0])
        rounding = float(search.rounding[search.bounds >= known].max(initial=_ROUNDING * abs(known)))
        return Priced(known + rounding, [(row, way) for _, row, way in found[:_FORMS_KEPT]])


class _Knapsacks:
    """The knapsacks of all pages at given prices: bounds, and the forms that could exceed what is known."""

    def __init__(
        self, pricing: Pricing, worth: FloatArray, tolls: FloatArray, cell_price: FloatArray | None
    ) -> None:
        self.pricing, self.own, self.pages = pricing, pricing.own, pricing.pages
        prices = worth[self.own.item].T  # parts by options
        self.worth = np.einsum("pko,po->ko", self.pages.known, prices)
        self.tolls = self.pages.tolls @ tolls
        self.prices = (worth, tolls)
        self.candidates: list[tuple[float, IntArray, int]] = []
        everything = np.arange(len(self.pages.room))
        most = np.maximum.reduceat(self.worth, self.own.starts, axis=1).sum(axis=1)
        # each of the terms is rounded; none is larger than some times all items together, or than the toll
        self.rounding = _ROUNDING * (most + self.tolls)
        self.cell_price = np.zeros(len(everything))
        self.bounds = most - self.tolls + self.rounding
        if cell_price is None:
            high = (self.worth / self.pricing.logs).max(axis=1)
            self._bisect(everything, np.zeros(len(high)), high, _HALVINGS)
        else:
            self._bound(everything, cell_price)

    def _bound(self, pages: IntArray, price: FloatArray) -> BoolArray:
        """Lower the bounds of pages by prices of cells; return where the price is too low."""
        reduced = self.worth[pages] - price[:, None] * self.pricing.logs
        best = np.maximum.reduceat(reduced, self.own.starts, axis=1)
        bounds = price * self.pages.room[pages] + np.maximum(best, 0.0).sum(axis=1)
        bounds += self.rounding[pages] - self.tolls[pages]
        better = bounds < self.bounds[pages]
        self.bounds[pages] = np.where(better, bounds, self.bounds[pages])
        self.cell_price[pages] = np.where(better, price, self.cell_price[pages])
        used = (reduced >= np.repeat(np.maximum(best, 0.0), self._counts, axis=1)) @ self.pricing.logs
        return np.asarray(used > self.pages.room[pages])

    @property
    def _counts(self) -> IntArray:
        return np.diff(np.append(self.own.starts, self.pricing.count))

    def _bisect(self, pages: IntArray, low: FloatArray, high: FloatArray, steps: int) -> None:
        for _ in range(steps):
            middle = 0.5 * (low + high)
            too_low = self._bound(pages, middle)
            low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)

    def refine(self, pages: IntArray) -> None:
        """Find better prices of cells for some pages."""
        if len(pages):
            price = self.cell_price[pages]
            self._bisect(pages, 0.5 * price, 1.5 * price, _REFINEMENTS)

    def rounded(self) -> float:
        """Return what the best of the forms is worth that the bounds suggest; keep those forms."""
        pages = np.argsort(-self.bounds, kind="stable")[:_PAGES_AT_ONCE]
        reduced = self.worth[pages] - self.cell_price[pages, None] * self.pricing.logs
        rows = []
        for item, start in enumerate(self.own.starts.tolist()):
            block = reduced[:, start : start + int(self._counts[item])]
            option = block.argmax(axis=1)
            chosen = block[np.arange(len(pages)), option] > 0
            rows.append(np.where(chosen, start + option, self.pricing.count))
        kept = np.unique(np.column_stack([*rows, self.pages.way[pages]]), axis=0)
        values = self._values(kept[:, :-1], kept[:, -1])
        self.candidates = [
            (float(value), row[row < self.pricing.count], int(way))
            for value, row, way in zip(values, kept[:, :-1], kept[:, -1], strict=True)
        ]
        return float(values.max())

    def _values(self, rows: IntArray, ways: IntArray) -> FloatArray:
        worth, tolls = self.prices
        own, everyone = self.pricing.problem.told(rows, ways)
        return np.asarray(np.einsum("fjp,jp->f", own, worth) - everyone @ tolls)

    # --- the dynamic program -------------------------------------------------------------------

    def complete(self, pages: IntArray, known: float) -> list[tuple[float, IntArray, int]]:
        """Find the best form of each page, if it exceeds what is known."""
        reduced = self.worth[pages] - self.cell_price[pages, None] * self.pricing.logs
        best = np.maximum(np.maximum.reduceat(reduced, self.own.starts, axis=1), 0.0)
        regrets = np.repeat(best, self._counts, axis=1) - reduced
        spare = self.bounds[pages] - known
        page, left, regret = np.arange(len(pages)), self.pages.product[pages], np.zeros(len(pages))
        history: list[tuple[int, IntArray, IntArray]] = []
        for item in self._order(regrets, best):
            start = int(self.own.starts[item])
            options = np.arange(start - 1, start + int(self._counts[item]))  # the first stands for none
            factors = np.append(1, self.pricing.cells[options[1:]])
            costs = np.column_stack([best[:, item], regrets[:, options[1:]]])
            total = regret[:, None] + costs[page]
            fits = (total <= spare[page, None]) & (left[:, None] % factors == 0)
            parent, option = np.nonzero(fits)
            regret = total[parent, option]
            grown = len(parent) > len(page)
            page, left = page[parent], left[parent] // factors[option]
            if grown:
                kept = _least(page, left, regret)
                page, left, regret = page[kept], left[kept], regret[kept]
                parent, option = parent[kept], option[kept]
            history.append((start - 1, parent, option))
        return self._traced(pages, np.flatnonzero(left == 1), page, history)

    def _order(self, regrets: FloatArray, best: FloatArray) -> list[int]:
        """Return the items, those first whose best option is clear."""
        second = np.empty(len(self.own.starts))
        for item, start in enumerate(self.own.starts.tolist()):
            costs = np.column_stack([best[:, item], regrets[:, start : start + int(self._counts[item])]])
            second[item] = np.partition(costs, 1, axis=1)[:, 1].mean()
        return [int(item) for item in np.argsort(-second, kind="stable")]

    def _traced(
        self, pages: IntArray, ends: IntArray, page: IntArray, history: list[tuple[int, IntArray, IntArray]]
    ) -> list[tuple[float, IntArray, int]]:
        """Go back from the complete forms to their options, and compute what they are worth."""
        if not len(ends):
            return []
        ways = self.pages.way[pages[page[ends]]]
        rows = np.full((len(ends), len(history)), self.pricing.count, dtype=np.int64)
        at = ends
        for place, (base, parent, option) in reversed(list(enumerate(history))):
            rows[:, place] = np.where(option[at] > 0, base + option[at], self.pricing.count)
            at = parent[at]
        values = self._values(rows, ways)
        return [
            (float(value), row[row < self.pricing.count], int(way))
            for value, row, way in zip(values, rows, ways, strict=True)
        ]


def _least(page: IntArray, left: IntArray, regret: FloatArray) -> IntArray:
    """Return the places of the least regret for every page and product."""
    order = np.lexsort((regret, left, page))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (page[order][1:] != page[order][:-1]) | (left[order][1:] != left[order][:-1])
    return order[first]
