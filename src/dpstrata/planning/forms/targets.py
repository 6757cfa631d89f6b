r"""Forms for precision targets: the fewest people who reach them all.

A partition needs :math:`\sum_g \max_{j \in g} \varphi_j/T_j` people, which the search minimises directly. One
question with a tight target can spoil that: its form needs many people whatever else is on it. Where the
partition needs over 10% more than the bound, such a question may be on two forms g and h. With
:math:`a_g, a_h` people for the other questions there, the fewest who give it
:math:`x_g/\varphi_g + x_h/\varphi_h \ge 1` all get the same one of the two, beyond what the others need.
"""

from __future__ import annotations

import numpy as np

from dpstrata.allocation.forms import Costs, Division, Forms, TargetsProblem, polynomial
from dpstrata.allocation.proof.forms import FormsBound, Priced, Pricing, bound_by_prices, padded
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.planning.forms.prices import best_bound
from dpstrata.planning.forms.search import best_partition

_FAR = 0.10  # from the bound: a question may be on two forms


def target_forms(problem: TargetsProblem) -> tuple[Forms, FormsBound]:
    """Search the forms on which the fewest people reach all targets, with their bound.

    Parameters
    ----------
    problem : TargetsProblem
        The items, with variances in units of their targets.
    """
    forms = best_partition(problem)
    bound = bound_people(problem, forms)
    if bound.relative_gap > _FAR:
        better = with_a_question_on_two_forms(problem, forms)
        if better.value < forms.value:
            bound = FormsBound(better.value, min(bound.lower_bound, better.value), bound.prices)
            forms = better
    return forms, bound


def bound_people(problem: TargetsProblem, forms: Forms) -> FormsBound:
    """Find prices that prove how many people any forms need at least.

    Parameters
    ----------
    problem : TargetsProblem
        The items.
    forms : Forms
        A partition that meets the targets; the search starts from it.
    """
    bound, prices = best_bound(_People(problem, forms), forms, problem)
    return FormsBound(forms.value, min(bound, forms.value), tuple(prices.tolist()))


class _People:
    """The dual of the number of people, in units of what a partition needs."""

    def __init__(self, problem: TargetsProblem, forms: Forms) -> None:
        self.problem, self.forms, self.unit = problem, forms, forms.value
        self.pricing = Pricing(problem)
        self.present = self.pricing.present[:, problem.own.starts].T  # items by parts
        self.size = int(self.present.sum())
        self.people = 1.0  # enough, as far as is known: with fewer than are needed prices would rise for ever

    def start(self) -> FloatArray:
        """Share the people of every form among its questions."""
        values = np.zeros(self.present.shape)
        for form in self.forms.forms:
            row = self.problem.row(form)
            curves = self.problem.own.curves[:, :, row]
            parts = self.present[list(form.items)].sum()
            values[list(form.items)] = polynomial(curves, np.array(form.cells / self.problem.y)).T / parts
        return np.append(values[self.present] / self.unit, np.full(len(self.problem.everyone), 0.01))

    def columns(self, rows: list[tuple[IntArray, int]]) -> tuple[FloatArray, FloatArray]:
        """Return what all people would learn from a form, less what it costs the items for everyone."""
        own, everyone = self.pricing.values(*padded(rows, self.pricing.count))
        return np.hstack([own[:, self.present] * self.unit, -everyone / self.unit]), np.zeros(len(rows))

    def slopes(self, prices: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Differentiate ln Σv - n² Σu - n t."""
        total = prices[: self.size].sum()
        gradient = np.full(len(prices), -(self.people**2))
        gradient[: self.size] = 1.0 / total
        matrix = np.zeros((len(prices), len(prices)))
        matrix[: self.size, : self.size] = -1.0 / total**2
        return gradient, matrix, self.people

    def reached(self, shares: FloatArray, columns: FloatArray, tolls: FloatArray) -> float:
        """Return how many people a division over forms needs."""
        sums = shares @ columns
        people = float(max((1.0 / sums[: self.size]).max(), (-sums[self.size :]).max(initial=0.0)))
        self.people = min(self.people, people)
        return people

    def proved(self, prices: FloatArray, most: float) -> tuple[float, Priced]:
        """Let the proof price all forms."""
        bound, priced = bound_by_prices(self.pricing, self.true_prices(prices), most)
        return bound / self.unit, priced

    def true_prices(self, prices: FloatArray) -> FloatArray:
        """V and u in the units of the problem."""
        return np.append(prices[: self.size] * self.unit, prices[self.size :] / self.unit)


def with_a_question_on_two_forms(problem: TargetsProblem, forms: Forms) -> Forms:
    """Put the item on a second form that saves the most people; without any, return the same forms.

    Parameters
    ----------
    problem : TargetsProblem
        The items.
    forms : Forms
        A partition of the items.
    """
    doubling = _Doubling(problem, forms)
    best = min(
        (found for item in range(len(problem.items)) for found in doubling.tries(item)),
        key=lambda found: found[0].value,
        default=None,
    )
    if best is None or not best[0].value < forms.value:
        return forms
    return doubling.forms(*best)


class _Doubling:
    """What forms need if one of their items is on another one too."""

    def __init__(self, problem: TargetsProblem, forms: Forms) -> None:
        self.problem, self.partition = problem, [form for form in forms.forms if form.items]
        ways = {choices: way for way, choices in enumerate(problem.together.choices)}
        self.none = len(problem.own.item)
        self.rows, self.ways = padded(
            [(problem.row(form), ways[form.everyone]) for form in self.partition], self.none
        )
        self.cells = np.array([float(form.cells) for form in self.partition])
        self.people = self._people(self.rows, self.cells)

    def _people(self, rows: IntArray, cells: FloatArray) -> FloatArray:
        """Return how many people the items of forms need, at numbers of cells by forms (and options)."""
        r = np.atleast_2d(cells.T).T[:, :, None] / self.problem.y
        needed = self.problem.own_costs(rows, np.array([self.none]), r)[:, :, 0]
        return needed.reshape(cells.shape)

    def tries(self, item: int) -> list[tuple[Division, int, int]]:
        """Divide people with the item on the best second form, with its best levels there."""
        own = self.problem.own
        g = next(g for g, form in enumerate(self.partition) if item in form.items)
        if len(self.partition) < 2:
            return []
        at = int(np.flatnonzero(own.item[np.minimum(self.rows[g], self.none - 1)] == item)[0])
        others = self.rows[g : g + 1].copy()
        others[0, at] = self.none
        first = self._people(others, self.cells[g : g + 1])[0]  # what the other items need there
        options = np.arange(own.starts[item], own.starts[item] + len(self.problem.items[item].choices))
        cells = self.cells[:, None] * own.cells[options]
        second = self._people(self.rows, cells)
        # what a person tells of each question of the item, on the one form and on the other
        here = _told(own.curves[:, :, self.rows[g, at]], self.cells[g] / self.problem.y)
        there = _told(own.curves[:, :, None, options], cells / self.problem.y)
        missing_here = np.divide(1.0 - second * there, here[:, None, None]).max(axis=0)
        missing_there = np.divide(1.0 - first * here[:, None, None], there).max(axis=0)
        x_here, x_there = np.maximum(first, missing_here), np.maximum(second, missing_there)
        fill_here = x_here + second <= first + x_there
        pair = np.where(fill_here, x_here, first), np.where(fill_here, second, x_there)
        added = pair[0] + pair[1] - self.people[:, None]
        added[g] = np.inf
        h, o = np.unravel_index(int(added.argmin()), added.shape)
        people = self.people.copy()
        people[g], people[h] = pair[0][h, o], pair[1][h, o]
        if not people.sum() < self.people.sum():
            return []
        return [(self._divided(people, int(h), int(options[o])), int(h), int(options[o]))]

    def _divided(self, people: FloatArray, h: int, option: int) -> Division:
        cells = self.cells.copy()
        cells[h] *= self.problem.own.cells[option]
        everyone = polynomial(self.problem.together.curves[:, self.ways], (cells / self.problem.y)[:, None])
        return self.problem.divided(Costs(people, everyone))

    def forms(self, division: Division, h: int, option: int) -> Forms:
        """Make the record."""
        rows = [np.append(row, option) if g == h else row for g, row in enumerate(self.rows)]
        return self.problem.recorded(rows, self.ways, division)


def _told(curves: FloatArray, r: FloatArray | float) -> FloatArray:
    """1/φ by parts; a part that there is not tells enough."""
    values = polynomial(curves, np.asarray(r))
    return np.asarray(np.divide(1.0, values, out=np.full(values.shape, 1e300), where=values > 0))
