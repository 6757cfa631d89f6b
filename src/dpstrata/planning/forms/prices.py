r"""Prices that prove how close forms come to the best there could be.

The best bound that prices v can prove is the value of the best division of people over *all* forms,
overlapping ones included: the two are dual. There are too many forms to list, so they are generated: solve
the dual for some forms,

.. math:: \max_{v,\, t}\; 2 \sum_j \sqrt{v_j} - t \quad \text{with} \quad
    \sum_{j \in T} v_j / \varphi_{jT} - b_T \le t \quad \text{for each of them} ,

price all forms exactly at these v (:class:`~dpstrata.allocation.proof.forms.Pricing`), which proves a bound,
and add the forms that exceed t. A logarithmic barrier keeps prices away from the limits, so that they do not
jump from one corner to another; it gets weaker as the gap closes. With precision targets the function is
:math:`\ln \sum_j v_j - n^2 \sum_e u_e - n t` for a number of people n that is enough: its maximum is that of
:math:`\sum v / (n^2 \sum u + n t)`, which is 1 if no fewer are.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from dpstrata.allocation.forms import Forms, FormsProblem, TargetsProblem
from dpstrata.allocation.proof.forms import FormsBound, Priced, Pricing, bound_by_prices, certify_forms
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.rows import Quadratic

_ROUNDS = 80
_PATIENCE = 8  # rounds in which the gap may close by less than
_MOVES = 2e-4
_CLOSE = 5e-4  # relative gap to the best division over all forms at which the search ends
_CENTRED = 0.1
_NEWTON_STEPS = 40
_LARGEST = 24
_WEAKER = 0.3  # the barrier costs this part of the gap


class Dual(Protocol):
    """A concave function of prices, to be maximised; everything about 1 in size."""

    pricing: Pricing

    def start(self) -> FloatArray:
        """Return positive prices to start from."""
        ...

    def columns(self, rows: list[tuple[IntArray, int]]) -> tuple[FloatArray, FloatArray]:
        """Return for forms the coefficients of prices, and b."""
        ...

    def slopes(self, prices: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return the gradient and the matrix of second derivatives, and what a unit of t costs."""
        ...

    def reached(self, shares: FloatArray, columns: FloatArray, tolls: FloatArray) -> float:
        """Return the value of a division of people over forms."""
        ...

    def proved(self, prices: FloatArray, most: float) -> tuple[float, Priced]:
        """Return the bound that prices prove, where some form is worth ``most``."""
        ...

    def true_prices(self, prices: FloatArray) -> FloatArray:
        """Return prices in the units of the problem."""
        ...


def bound_forms(problem: FormsProblem, forms: Forms) -> FormsBound:
    """Find prices that prove how close forms come to the best there could be.

    Parameters
    ----------
    problem : FormsProblem or TargetsProblem
        The items; with targets, the prices bound the number of people.
    forms : Forms
        A partition of the items; the search starts from its prices.
    """
    if not problem.items:  # all questions are for everyone, so there is one form
        return certify_forms(problem, forms, ())
    return best_bound(problem, forms)[0]


class Variances:
    """The dual of the weighted sum of variances, in units of the value of a partition."""

    def __init__(self, problem: FormsProblem, forms: Forms) -> None:
        self.problem, self.forms, self.unit = problem, forms, forms.value
        self.pricing = Pricing(problem)

    def start(self) -> FloatArray:
        """(φ/x)²: the prices at which all forms of the partition are worth the same."""
        prices, own = np.zeros(len(self.problem.items)), self.problem.alone_in(self.forms)
        for form, alone in zip(self.forms.forms, own.tolist(), strict=True):
            for i, c in zip(form.items, form.choices, strict=True):
                choice, r = self.problem.items[i].choices[c], form.cells / self.problem.y
                value = choice.constant + r * (choice.linear + r * choice.square)
                prices[i] = (value if math.isinf(alone) else alone) / form.share
        return np.asarray((prices / self.unit) ** 2)

    def columns(self, rows: list[tuple[IntArray, int]]) -> tuple[FloatArray, FloatArray]:
        """Return 1/φ and b in units of the value."""
        own, everyone = told(self.problem, rows)
        return own[:, :, 0] * self.unit, everyone.sum(axis=1) / self.unit

    def slopes(self, prices: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Differentiate 2 Σ √v - t."""
        roots = np.sqrt(prices)
        return 1.0 / roots, np.diag(-0.5 / (prices * roots)), 1.0

    def reached(self, shares: FloatArray, columns: FloatArray, tolls: FloatArray) -> float:
        """Σ 1/I + Σ x b."""
        return float((1.0 / (shares @ columns)).sum() + shares @ tolls)

    def proved(self, prices: FloatArray, most: float) -> tuple[float, Priced]:
        """Let the proof price all forms."""
        bound, priced = bound_by_prices(self.pricing, self.true_prices(prices), most * self.unit)
        return bound / self.unit, priced

    def true_prices(self, prices: FloatArray) -> FloatArray:
        """V in the units of the problem."""
        return prices * self.unit**2


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
        rows, own = self.problem.rows(self.forms)[0], self.problem.alone_in(self.forms)
        for form, row, alone in zip(self.forms.forms, rows, own.tolist(), strict=True):
            curves = self.problem.own.curves[:, :, row[: len(form.items)]]
            parts = self.present[list(form.items)].sum()
            phi = Quadratic(*curves).at(np.array(form.cells / self.problem.y)).T
            if not math.isinf(alone):
                phi[0] = alone
            values[list(form.items)] = phi / parts
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


def told(problem: FormsProblem, rows: list[tuple[IntArray, int]]) -> tuple[FloatArray, FloatArray]:
    """Compute 1/φ and φ of the items for everyone, of forms that the proof returned."""
    return problem.told(problem.padded([row for row, _ in rows]), np.array([way for _, way in rows]))


def best_bound(problem: FormsProblem, forms: Forms) -> tuple[FormsBound, list[tuple[IntArray, int]]]:
    """Generate forms until the bound no longer moves; return it, and the forms that would get most people."""
    dual: Dual = People(problem, forms) if isinstance(problem, TargetsProblem) else Variances(problem, forms)
    search = _Generation(dual, forms, problem)
    search.run()
    prices = dual.true_prices(search.proof)
    bound = FormsBound(forms.value, min(search.bound * forms.value, forms.value), tuple(prices.tolist()))
    return bound, search.largest_shares()


class _Generation:
    """Prices, the forms generated so far, and the best bound."""

    def __init__(self, dual: Dual, forms: Forms, problem: FormsProblem) -> None:
        self.dual = dual
        self.seen: set[tuple[int, ...]] = set()
        self.rows: list[tuple[IntArray, int]] = []
        self.columns, self.tolls = np.empty((0, 0)), np.empty(0)
        self.prices = dual.start()
        self.proof, self.bound, self.value = self.prices, 0.0, np.inf
        self._add(
            [
                (row[row < len(problem.own.item)], int(way))
                for row, way in zip(*problem.rows(forms), strict=True)
            ]
        )
        self._add([(np.array([option]), 0) for option in problem.own.starts.tolist()])
        self.most = self._largest() * (1.0 + 1e-2) + 1e-2
        self.barrier = 1e-1 / len(self.tolls)

    def largest_shares(self) -> list[tuple[IntArray, int]]:
        """Return the forms with the largest shares in the best division over all of them."""
        return [self.rows[at] for at in np.argsort(self._slack(), kind="stable")[:_LARGEST].tolist()]

    def _largest(self) -> float:
        return float((self.columns @ self.prices - self.tolls).max())

    def _add(self, rows: list[tuple[IntArray, int]]) -> bool:
        """Take in forms that are new; return whether there are any."""
        new = []
        for row, way in rows:
            key = (way, *np.sort(row).tolist())
            if key not in self.seen:
                self.seen.add(key)
                new.append((row, way))
        self.rows += new
        if new:
            columns, tolls = self.dual.columns(new)
            first = not self.columns.size
            self.columns = columns if first else np.vstack([self.columns, columns])
            self.tolls = tolls if first else np.append(self.tolls, tolls)
        return bool(new)

    def run(self) -> None:
        """Alternate between prices and forms."""
        waited, before = 0, np.inf
        for _ in range(_ROUNDS):
            self._centre()
            bound, priced = self.dual.proved(self.prices, self._largest())
            if bound > self.bound:
                self.bound, self.proof = bound, self.prices.copy()
            gap = self.value - self.bound
            waited, before = (0, gap) if gap < before - _MOVES * self.value else (waited + 1, before)
            if waited >= _PATIENCE or gap <= _CLOSE * self.value:
                return
            self._add(priced.rows)
            self.most = max(self.most, self._largest() + self.barrier)
            self.barrier = min(self.barrier, _WEAKER * gap / len(self.tolls))

    def _centre(self) -> None:
        """Maximise with the barrier, by Newton's method."""
        for _ in range(_NEWTON_STEPS):
            slack = self._slack()
            try:
                step, fall = self._newton(slack, self.barrier / slack)
            except np.linalg.LinAlgError:  # a slack too small for double precision
                break  # whatever the prices are, they prove a bound
            length = self._reach(step, slack)
            self.prices = self.prices + length * step[:-1]
            self.most += length * step[-1]
            if fall < _CENTRED * self.barrier:
                break
        shares = 1.0 / self._slack()
        self.value = min(self.value, self.dual.reached(shares / shares.sum(), self.columns, self.tolls))

    def _slack(self) -> FloatArray:
        return np.asarray(self.most + self.tolls - self.columns @ self.prices)

    def _newton(self, slack: FloatArray, shares: FloatArray) -> tuple[FloatArray, float]:
        gradient, matrix, cost = self.dual.slopes(self.prices)
        size = len(gradient)
        weights = shares / slack
        whole = np.empty((size + 1, size + 1))
        whole[:size, :size] = matrix - (self.columns.T * weights) @ self.columns
        whole[:size, size] = whole[size, :size] = self.columns.T @ weights
        whole[size, size] = -weights.sum()
        slope = np.append(gradient - self.columns.T @ shares, shares.sum() - cost)
        # positive prices: a barrier for them too, weak enough not to matter
        slope[:size] += self.barrier / self.prices
        whole[np.arange(size), np.arange(size)] -= self.barrier / self.prices**2
        step = np.linalg.solve(-whole, slope)
        return step, float(slope @ step)

    def _reach(self, step: FloatArray, slack: FloatArray) -> float:
        """Return how far to go: the whole step, or most of the way to where a slack or a price would be 0."""
        closing = self.columns @ step[:-1] - step[-1]
        left = np.concatenate([slack, self.prices])
        ratio = float((np.concatenate([closing, -step[:-1]]) / left).max())
        return 0.8 / ratio if ratio > 0.8 else 1.0
