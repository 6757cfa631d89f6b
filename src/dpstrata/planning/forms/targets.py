"""The fewest people who reach all precision targets: the prices that bound them."""

from __future__ import annotations

import numpy as np

from dpstrata.allocation.forms import Forms, TargetsProblem, polynomial
from dpstrata.allocation.proof.forms import FormsBound, Priced, Pricing, bound_by_prices
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.planning.forms.prices import best_bound, told


def bound_people(problem: TargetsProblem, forms: Forms) -> FormsBound:
    """Find prices that prove how many people any forms need at least.

    Parameters
    ----------
    problem : TargetsProblem
        The items.
    forms : Forms
        A partition that meets the targets; the search starts from it.
    """
    return best_bound(People(problem, forms), forms, problem)[0]


class People:
    """The dual of the number of people, in units of what a partition needs."""

    def __init__(self, problem: TargetsProblem, forms: Forms) -> None:
        self.problem, self.forms, self.unit = problem, forms, forms.value
        self.pricing = Pricing(problem)
        self.present = self.pricing.parts
        self.size = int(self.present.sum())
        self.people = 1.0  # enough, as far as is known: with fewer than are needed prices would rise for ever

    def start(self) -> FloatArray:
        """Share the people of every form among its questions."""
        values = np.zeros(self.present.shape)
        for form, row in zip(self.forms.forms, self.problem.rows(self.forms)[0], strict=True):
            curves = self.problem.own.curves[:, :, row[: len(form.items)]]
            parts = self.present[list(form.items)].sum()
            values[list(form.items)] = polynomial(curves, np.array(form.cells / self.problem.y)).T / parts
        return np.append(values[self.present] / self.unit, np.full(len(self.problem.everyone), 0.01))

    def columns(self, rows: list[tuple[IntArray, int]]) -> tuple[FloatArray, FloatArray]:
        """Return what all people would learn from a form, less what it costs the items for everyone."""
        own, everyone = told(self.problem, rows)
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
