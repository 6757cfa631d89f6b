r"""Forms: which questions one person is asked together, and what that costs in precision.

A form with :math:`K` cells (the product of the levels of its questions) is answered by a row. The device
sends it as it is, or with a known probability a random row, so that all forms have the same budget :math:`E`.
The variance of an answer then depends on the form through :math:`r = K/y`, :math:`y = e^E - 1`, alone. For
every kind of question, times its importance, it is

.. math:: \varphi(r) = A + B r + C r^2 , \qquad A, B, C \ge 0 .

With a share :math:`x_g` of the people on form g the sum of variances, for one person asked, is

.. math:: \sum_g \left(\frac{a_g}{x_g} + b_g x_g\right), \qquad a_g = \sum_{j \in g} \varphi_j(r_g) ,\quad
    b_g = \sum_e \varphi_e(r_g) ,

where e runs over the questions that are on every form: their estimate is the plain mean of all answers. It is
convex in x. With a price :math:`\lambda` for :math:`\sum_g x_g = 1` the best shares and the value are

.. math:: x_g = \sqrt{a_g / (b_g + \lambda)}, \qquad
    \max_\lambda\; 2 \sum_g \sqrt{a_g (b_g + \lambda)} - \lambda ,

which is :math:`(\sum_g \sqrt{a_g})^2` where no question is for everyone. If :math:`\lambda` would fall below
:math:`-b_0`, of a form with nothing but the questions for everyone, that form gets the people that are left.

The only question of a form need not be sent as a row: :math:`a_g` is then the variance that a mechanism of
its own gives it, where that is less.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dpstrata.errors import InputError
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray, read_only
from dpstrata.privacy.rows import Quadratic
from dpstrata.survey.forms import ROWS

_STEPS = 60  # of Newton's method; it needs about five
_SMALL = 1e-12  # a share of people that is none


@dataclass(frozen=True, slots=True)
class LevelChoice:
    """One way to ask an item.

    Parameters
    ----------
    cells : int
        What it multiplies the cells of its form by, at least 2.
    levels : tuple of int
        The levels of each question of the item.
    constant, linear, square : float
        The weighted variance of an answer is ``constant + linear*r + square*r**2`` at r = K/expm1(E). All at
        least 0, not all 0.
    parts : tuple of (constant, linear, square), optional
        The same of each question by itself: needed for precision targets where several questions are kept
        together.
    """

    cells: int
    levels: tuple[int, ...]
    constant: float
    linear: float
    square: float
    parts: tuple[tuple[float, float, float], ...] = ()

    def __post_init__(self) -> None:
        if self.cells < 2:
            raise InputError.must("cells", "be at least 2", self.cells)
        for curve in ((self.constant, self.linear, self.square), *self.parts):
            if not (min(curve) >= 0 and 0 < max(curve) < math.inf):
                raise InputError.must("variance", "be positive, with no negative coefficient", curve)


@dataclass(frozen=True, slots=True)
class FormItem:
    """A question, or several that are kept together.

    Parameters
    ----------
    questions : tuple of int
        Positions of the questions.
    choices : tuple of LevelChoice
        The ways to ask it: for a number, one for each count of levels.
    alone : mapping of str to float
        By mechanism that can noise it by itself, on a form with nothing else: its weighted variance.
    """

    questions: tuple[int, ...]
    choices: tuple[LevelChoice, ...]
    alone: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.choices:
            raise InputError.must("choices", "have at least one way to ask an item", 0)


@dataclass(frozen=True, slots=True)
class Form:
    """The questions that one person is asked.

    Attributes
    ----------
    items : tuple of int
        Positions of its items in the problem, ascending.
    choices : tuple of int
        How each of them is asked: the position among its choices.
    everyone : tuple of int
        The same for each item that is on every form.
    cells : int
        K, everything counted.
    share : float
        The part of the people who get this form.
    mechanism : str
        What noises its only item by itself; otherwise a row is sent.
    """

    items: tuple[int, ...]
    choices: tuple[int, ...]
    everyone: tuple[int, ...]
    cells: int
    share: float
    mechanism: str = ROWS


@dataclass(frozen=True, slots=True)
class Forms:
    """Forms, and what they reach.

    Attributes
    ----------
    forms : tuple of Form
        In the order of their first items.
    value : float
        The weighted sum of the variances for one person asked; with precision targets the people needed.
    """

    forms: tuple[Form, ...]
    value: float


class Options(NamedTuple):
    """All ways to ask all items, as arrays; the last one is to ask nothing (1 cell, no variance).

    Attributes
    ----------
    item, choice : array of int
        What each option stands for.
    starts : array of int
        The first option of each item.
    cells : array
        Factors of K.
    curves : array
        Constant, linear and square coefficients: 3 by parts by options.
    present : array of bool
        Which parts there are, by options.
    alone : array
        Variance of the item on a form with nothing else, by a mechanism of its own.
    """

    item: IntArray
    choice: IntArray
    starts: IntArray
    cells: FloatArray
    curves: FloatArray
    present: BoolArray
    alone: FloatArray

    @classmethod
    def of(cls, items: Sequence[FormItem], *, apart: bool) -> Options:
        """List the choices of all items; ``apart`` keeps the questions of an item apart."""
        choices = [(i, c, each) for i, item in enumerate(items) for c, each in enumerate(item.choices)]
        parts = [_curves(each, apart=apart) for _, _, each in choices]
        curves = np.zeros((3, max((len(part) for part in parts), default=1), len(choices) + 1))
        for o, part in enumerate(parts):
            curves[:, : len(part), o] = np.transpose(part)
        counts = [len(item.choices) for item in items]
        return cls(
            np.array([i for i, _, _ in choices], dtype=np.int64),
            np.array([c for _, c, _ in choices], dtype=np.int64),
            np.concatenate([[0], np.cumsum(counts, dtype=np.int64)[:-1]]).astype(np.int64),
            read_only(np.array([each.cells for _, _, each in choices] + [1.0])),
            read_only(curves),
            read_only(np.any(curves > 0, axis=0)),
            read_only(
                np.array([min(items[i].alone.values(), default=math.inf) for i, _, _ in choices] + [math.inf])
            ),
        )


def _curves(choice: LevelChoice, *, apart: bool) -> tuple[tuple[float, float, float], ...]:
    whole = ((choice.constant, choice.linear, choice.square),)
    return (choice.parts or whole) if apart else whole


class Together(NamedTuple):
    """Ways to ask the items for everyone on a form: factors of K, curves (3 by ways by items), choices.

    The items are added up where only their sum counts. Ways that are nowhere better than another are not
    listed.
    """

    cells: FloatArray
    curves: FloatArray
    choices: tuple[tuple[int, ...], ...]

    @classmethod
    def of(
        cls, everyone: Sequence[FormItem], *, apart: bool, kept: Sequence[tuple[int, ...]] = ()
    ) -> Together:
        """Combine the choices of all items for everyone; some are ``kept`` however good others are."""
        ways = list(itertools.product(*(enumerate(item.choices) for item in everyone)))
        curves = np.array([[[c.constant, c.linear, c.square] for _, c in way] for way in ways])
        curves = curves.reshape(len(ways), len(everyone), 3)
        curves = curves if apart else curves.sum(axis=1, keepdims=True)
        cells = np.array([math.prod(c.cells for _, c in way) for way in ways], dtype=float)
        listed = _not_dominated(np.column_stack([cells, curves.reshape(len(ways), -1)]))
        named = [tuple(i for i, _ in way) for way in ways]
        listed += [way for way in map(named.index, dict.fromkeys(kept)) if way not in listed]
        choices = tuple(named[way] for way in listed)
        return cls(read_only(cells[listed]), read_only(curves[listed].transpose(2, 0, 1)), choices)


def _not_dominated(rows: FloatArray) -> list[int]:
    """Return the rows that no other one is at most equal to everywhere; of equal ones the first."""
    kept: list[int] = []
    for row in np.lexsort(rows.T[::-1]).tolist():  # whatever is at most equal comes before
        if not np.any(np.all(rows[kept] <= rows[row], axis=1)):
            kept.append(row)
    return kept


class Costs(NamedTuple):
    """What forms cost: ``own`` (a) by forms and ways, ``everyone`` (b) by forms, ways and items."""

    own: FloatArray
    everyone: FloatArray


class Division(NamedTuple):
    """People divided over forms: the value, a number of people for each form, and for one more without items.

    At ``prices`` the costs of single forms (:meth:`FormsProblem.priced`) rank changes of a few of them.
    """

    value: float
    people: FloatArray
    spare: float
    prices: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class FormsProblem:
    """Divide questions over forms so that the weighted sum of their variances is smallest.

    Parameters
    ----------
    items : tuple of FormItem
        What is on one form each.
    everyone : tuple of FormItem
        What is on every form.
    y : float
        expm1(E), > 0.
    kept : tuple of tuples of int
        Ways to ask the items for everyone that some forms have, however good others are.
    allows_spare : bool
        Whether people may be left for a form with nothing but the items for everyone.
    """

    items: tuple[FormItem, ...]
    everyone: tuple[FormItem, ...]
    y: float
    kept: tuple[tuple[int, ...], ...] = ()
    allows_spare: bool = True
    own: Options = field(init=False, repr=False)
    together: Together = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.y < math.inf:
            raise InputError.must("y", "be positive and finite", self.y)
        if not self.items and not self.everyone:
            raise InputError.must("items", "have at least one question", 0)
        object.__setattr__(self, "own", Options.of(self.items, apart=self.apart))
        object.__setattr__(self, "together", Together.of(self.everyone, apart=self.apart, kept=self.kept))

    @property
    def apart(self) -> bool:
        """Whether the questions of one item count one by one."""
        return False

    def costs(self, rows: IntArray) -> Costs:
        """Compute a and b of forms.

        Parameters
        ----------
        rows : array of int
            A form in each row, as options; what is left of a row is filled with the option to ask nothing.
        """
        own, everyone = self.costs_with(rows, np.array([len(self.own.item)]))
        return Costs(own[:, 0], everyone[:, 0])

    def costs_with(self, rows: IntArray, more: IntArray) -> Costs:
        """Compute a and b of forms with each of some options in addition: by forms, options and ways."""
        cells = self.own.cells[rows].prod(axis=1)[:, None] * self.own.cells[more]
        r = cells[:, :, None] * self.together.cells / self.y
        own = self.own_costs(rows, more, r)
        if self.has_alone:
            own = np.minimum(own, self._alone_costs(rows, more)[..., None])
        return Costs(own, Quadratic(*self.together.curves).at(r[..., None]))

    @property
    def has_alone(self) -> bool:
        """Whether some item may be noised by itself; not where every form has questions for everyone."""
        return not self.everyone and bool(np.isfinite(self.own.alone).any())

    def _alone_costs(self, rows: IntArray, more: IntArray) -> FloatArray:
        """Return what forms of one item cost if it is noised by itself, by forms and options in addition."""
        nothing = len(self.own.item)
        asked = (rows < nothing).sum(axis=1)[:, None] + (more < nothing)
        only = np.minimum(rows.min(axis=1)[:, None], more)
        return np.where(asked == 1, self.own.alone[only], math.inf)

    def own_costs(self, rows: IntArray, more: IntArray, r: FloatArray) -> FloatArray:
        """Compute a at r, by forms, options in addition and ways."""
        curves = self.own.curves[:, 0]
        sums = curves[:, rows].sum(axis=2)[:, :, None] + curves[:, more][:, None, :]
        return Quadratic(*sums[..., None]).at(r)

    def priced(self, costs: Costs, prices: FloatArray) -> FloatArray:
        """√(a(b + λ)): what forms cost at a price, up to a factor."""
        # where nobody may be left for a form of their own, forms with less variance than the price are free
        return np.asarray(np.sqrt(costs.own * np.maximum(costs.everyone.sum(axis=-1) + prices[0], 0.0)))

    def divided(self, costs: Costs) -> Division:
        """Find the best shares of people for forms with ``own`` (a) and ``everyone`` (b by items)."""
        a, b = costs.own, costs.everyone.sum(axis=-1)
        least = float(self.alone.sum(axis=-1).min())
        roots = float(np.sqrt(a).sum())
        # with a form for those who are left no price is below its own; without, every form has people
        lowest = -least if self.allows_spare else float((a - b).max(initial=-math.inf))
        price = max(roots**2 - float(b.max(initial=0.0)), lowest)
        for _ in range(
            _STEPS if self.everyone else 0
        ):  # from below the root of a convex function: no step too far
            room = np.maximum(b + price, 1e-300)
            people = np.sqrt(a / room)
            excess = float(people.sum()) - 1.0
            if excess <= 1e-15:
                break
            price += 2.0 * excess / float((people / room).sum())
        people = np.sqrt(a / np.maximum(b + price, 1e-300))
        spare = max(1.0 - float(people.sum()), 0.0) if self.everyone and self.allows_spare else 0.0
        spare = spare if spare > _SMALL else 0.0
        people = people * ((1.0 - spare) / people.sum()) if len(a) else people
        each = np.divide(a, people, out=np.zeros(len(a)), where=people > 0)
        value = float((each + b * people).sum()) + spare * least
        return Division(value, people, spare, np.array([price]))

    @property
    def alone(self) -> FloatArray:
        """Variances of the items for everyone on a form of their own, by ways and items."""
        return Quadratic(*self.together.curves).at((self.together.cells / self.y)[:, None])

    def settled(self, rows: IntArray, prices: FloatArray | None = None) -> tuple[Division, IntArray]:
        """Divide people over forms, and choose how the items for everyone are asked on each."""
        costs = self.costs(rows)
        lines = np.arange(len(rows))
        ways = np.zeros(len(rows), dtype=np.int64)
        if prices is not None:
            ways = self.priced(costs, prices).argmin(axis=1)
        best: tuple[Division, IntArray] | None = None
        while True:
            division = self.divided(Costs(costs.own[lines, ways], costs.everyone[lines, ways]))
            if best is not None and not division.value < best[0].value:
                return best
            best = division, ways
            ways = self.priced(costs, division.prices).argmin(axis=1)
            if np.array_equal(ways, best[1]):
                return best

    def told(
        self, rows: IntArray, ways: IntArray, alone: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Compute 1/φ of the items of forms, by forms, items and parts, and φ of those for everyone.

        ``alone`` has the variance of the only item of each form where it is noised by itself, and otherwise
        is infinite; by default it is noised by itself where that is better.
        """
        r = self.own.cells[rows].prod(axis=1) * self.together.cells[ways] / self.y
        told = np.zeros((len(rows), len(self.items), len(self.own.present)))
        lines, places = np.nonzero(rows < len(self.own.item))
        options = rows[lines, places]
        values = Quadratic(*self.own.curves[:, :, options]).at(r[lines])
        if self.has_alone:
            if alone is None:
                values[0] = np.minimum(
                    values[0], self._alone_costs(rows, np.array([len(self.own.item)]))[lines, 0]
                )
            else:
                values[0] = np.where(np.isfinite(alone[lines]), alone[lines], values[0])
        told[lines, self.own.item[options]] = inverse(values, self.own.present[:, options]).T
        return told, Quadratic(*self.together.curves[:, ways]).at(r[:, None])

    def rows(self, forms: Forms) -> tuple[IntArray, IntArray]:
        """Return forms as rows of options, and the ways to ask the items for everyone."""
        places = {choices: way for way, choices in enumerate(self.together.choices)}
        options = [
            self.own.starts[list(form.items)] + np.array(form.choices, dtype=np.int64) for form in forms.forms
        ]
        ways = [places[form.everyone] for form in forms.forms]
        return self.padded(options), np.array(ways, dtype=np.int64)

    def padded(self, rows: Sequence[Sequence[int] | IntArray]) -> IntArray:
        """Return forms of different lengths as one array, filled up with the option to ask nothing."""
        filled = np.full((len(rows), max(map(len, rows), default=0) or 1), len(self.own.item), dtype=np.int64)
        for line, row in zip(filled, rows, strict=True):
            line[: len(row)] = row
        return filled

    def forms(self, rows: IntArray) -> Forms:
        """Make the record of forms, with the best shares of people."""
        division, ways = self.settled(rows)
        return self.recorded(list(rows), ways, division)

    def recorded(self, rows: Sequence[IntArray], ways: IntArray, division: Division) -> Forms:
        """Make the record of forms with given people, and ways to ask the items for everyone."""
        total = float(division.people.sum()) + division.spare
        forms = [
            self.form(row[row < len(self.own.item)], int(way), float(people) / total)
            for row, way, people in zip(rows, ways, division.people, strict=True)
        ]
        if division.spare:
            way = int(self.priced_alone(division.prices).argmin())
            forms.append(self.form(np.empty(0, dtype=np.int64), way, division.spare / total))
        return Forms(tuple(sorted(forms, key=lambda form: form.items or (len(self.items),))), division.value)

    def priced_alone(self, prices: FloatArray) -> FloatArray:
        """Return what a form with the items for everyone alone costs, by ways, up to a rising function."""
        return np.asarray(self.alone.sum(axis=-1))

    def form(self, options: IntArray, way: int, share: float) -> Form:
        """Make the record of one form; its only item is noised by itself where that is better."""
        options = np.sort(options)
        mechanism = ROWS
        if self.has_alone and len(options) == 1:
            r = self.own.cells[options] * self.together.cells[way] / self.y
            rows = Quadratic(*self.own.curves[:, 0, options]).at(r)
            if self.own.alone[options[0]] < rows[0]:
                alone = self.items[int(self.own.item[options[0]])].alone
                mechanism = min(alone, key=lambda name: alone[name])
        items = tuple(self.own.item[options].tolist())
        choices = tuple(self.own.choice[options].tolist())
        together = self.together.choices[way]
        cells = math.prod(self.items[i].choices[c].cells for i, c in zip(items, choices, strict=True))
        cells *= math.prod(item.choices[c].cells for item, c in zip(self.everyone, together, strict=True))
        return Form(items, choices, together, cells, share, mechanism)

    def alone_in(self, forms: Forms) -> FloatArray:
        """Return the variance of the only item of each form that is noised by itself; infinite elsewhere."""
        return np.array(
            [
                math.inf if form.mechanism == ROWS else self.items[form.items[0]].alone[form.mechanism]
                for form in forms.forms
            ]
        )

    def levels(self, form: Form) -> dict[int, int]:
        """Return how many levels each question of a form has, those for everyone included."""
        asked = [(self.items[i], c) for i, c in zip(form.items, form.choices, strict=True)]
        asked += zip(self.everyone, form.everyone, strict=True)
        return {
            question: levels
            for item, c in asked
            for question, levels in zip(item.questions, item.choices[c].levels, strict=True)
        }


def inverse(values: FloatArray, present: BoolArray) -> FloatArray:
    """Compute 1/φ, and 0 where there is no such part."""
    shape = np.broadcast_shapes(values.shape, present.shape)
    return np.asarray(np.divide(1.0, values, out=np.zeros(shape), where=present))


@dataclass(frozen=True, slots=True, eq=False)
class TargetsProblem(FormsProblem):
    r"""Divide questions over forms so that the fewest people reach a precision target for every question.

    The variances of the items are in units of their targets T. A form then needs
    :math:`a_g = \max_{j \in g} \varphi_j(r_g)/T_j` people, and the questions for everyone, whose estimate is
    the plain mean over all n people, need :math:`\sum_g x_g \varphi_e(r_g)/T_e \le n^2`. Where that takes
    more than :math:`\sum_g a_g`, the people that are added all get the form on which they help most.
    """

    @property
    def apart(self) -> bool:
        """Every question has a target of its own."""
        return True

    def own_costs(self, rows: IntArray, more: IntArray, r: FloatArray) -> FloatArray:
        """Compute how many people forms need, at r, by forms, options in addition and ways."""
        curves = self.own.curves
        asked = Quadratic(*curves[:, :, more][:, :, None, :, None]).at(r[None]).max(axis=0)
        for place in range(rows.shape[1]):
            others = Quadratic(*curves[:, :, rows[:, place]][..., None, None]).at(r[None]).max(axis=0)
            asked = np.maximum(asked, others)
        return np.asarray(asked)

    def priced(self, costs: Costs, prices: FloatArray) -> FloatArray:
        """a(p₀ + Σ_e p_e b_e): people, with what they add to the variance of the questions for everyone."""
        return np.asarray(costs.own * (prices[0] + costs.everyone @ prices[1:]))

    def priced_alone(self, prices: FloatArray) -> FloatArray:
        """Return the largest variance of the items for everyone, in units of their targets."""
        return np.asarray(self.alone.max(axis=-1, initial=0.0))

    def divided(self, costs: Costs) -> Division:
        """Find the fewest people for forms with ``own`` (a) and ``everyone`` (b by items)."""
        people, b = costs.own, costs.everyone
        prices = np.zeros(1 + len(self.everyone))
        prices[0] = 1.0
        fewest = float(people.sum())
        sums = people @ b
        if len(people) and not np.any(sums > fewest**2):
            return Division(fewest, people, 0.0, prices)
        # n² >= Σ a b + (n - Σ a) b_h for the form h that gets those who are added
        way = int(self.priced_alone(prices).argmin())
        others = np.vstack([b, self.alone[way][None, :]]) if self.allows_spare else b
        inside = others**2 + 4.0 * (sums - fewest * others)
        roots = np.where(inside > 0, 0.5 * (others + np.sqrt(np.maximum(inside, 0.0))), fewest)
        needed = np.maximum(roots, fewest)
        h = int(needed.max(axis=1).argmin())
        binding = int(needed[h].argmax())
        value = float(needed[h, binding])
        slope = max(2.0 * value - float(others[h, binding]), 1e-300)
        prices[0], prices[1 + binding] = -others[h, binding] / slope, 1.0 / slope
        people = people.copy()
        if h < len(people):
            people[h] += value - fewest
        return Division(value, people, value - fewest if h == len(people) else 0.0, prices)
