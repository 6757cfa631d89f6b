r"""The proof of how few people can reach the targets of all questions, for given forms.

Whatever prices :math:`p_j \ge 0` the questions have, sizes that reach all targets :math:`T_j` have

.. math:: \sum_i n_i \;\ge\; \min_n \sum_i n_i + \sum_j p_j \left(V_j(n) - T_j\right) ,

and the minimum is found stratum by stratum. How n people are dealt the forms is left open: whoever gets
which, forms with the variances :math:`A_T/m_T + B_T/m_T^2` together have at least

.. math:: \frac{\left(\sum_T \sqrt{A_T}\right)^2}{n} + \frac{\left(\sum_T \sqrt[3]{B_T}\right)^3}{n^2} ,

each part being the least that it can be by itself. A question on several forms has at least what the best
of them would give if everyone got it, and random numbers of answers have a mean inverse above that of their
mean. All of this is convex in n, like the office's noise of one table. This module imports no solver.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import Bound, first_not_worth
from dpstrata.allocation.rows_on_forms import RowsOnForms, sums_to
from dpstrata.numerics.arrays import ALL, FloatArray, IntArray, Rows

_ROUNDING = 1e-11


def with_importances(problem: Problem, importances: FloatArray) -> Problem:
    """Return the problem of the same forms where questions have other importances."""
    return problem.asked(problem.forms.weighted(importances))


def planned_sum(problem: Problem, sizes: IntArray, *, finite_population: bool) -> float:
    """Return Σ w_j·V_j with the importances of the problem, as it is minimised."""
    value = problem.objective(sizes)
    if finite_population:
        correction = problem.forms.correction(problem.terms.sizes)
        value -= float((problem.terms.coefficients**2 * correction).sum())
    return value


def certify_questions(
    problem: Problem,
    targets: FloatArray,
    sizes: IntArray,
    prices: Sequence[float],
    *,
    finite_population: bool,
) -> Bound:
    """Bound the number of people of every design that reaches all targets.

    Parameters
    ----------
    problem : Problem
        With forms.
    targets : array
        Variances that questions may have, in squared ranges; infinite where there is no target.
    sizes : array of int
        The design's.
    prices : sequence of float
        One for each question, in people for a unit of variance; 0 where there is no target.
    finite_population : bool
        Whether a stratum sampled in full has no sampling error.
    """
    given = np.asarray(prices, dtype=float)
    value, bound = float(sizes.sum()), float(problem.lower.sum())
    if given.any():
        fewest = fewest_people(problem, targets, sizes, given, finite_population=finite_population)
        bound = max(bound, float(math.ceil(fewest)))
    bound = min(bound, value)
    return Bound(value <= bound, "total", value, bound, False, tuple(given.tolist()))


def fewest_people(
    problem: Problem, targets: FloatArray, guess: IntArray, prices: FloatArray, *, finite_population: bool
) -> float:
    """Return the bound that prices give, on the number of people of every design that reaches all targets."""
    least = _Least(problem, prices, finite_population=finite_population)
    best = least.sizes(problem.lower, problem.upper, guess=guess)
    reached = float(least.values(best.astype(float)).sum())
    allowed = float((prices[prices > 0] * targets[prices > 0]).sum())
    people = float(best.sum())
    return people + reached - allowed - _ROUNDING * (people + abs(reached) + allowed)


class _Least:
    """The least Σ p_j·V_j of each stratum, however its people are dealt the forms, as a function of n."""

    def __init__(self, problem: Problem, prices: FloatArray, *, finite_population: bool) -> None:
        self.problem = problem
        self.forms = cast(RowsOnForms, problem.forms)  # which alone have targets by question
        self.weights, N = problem.terms.coefficients**2, problem.terms.sizes
        rates = problem.terms.response_rates
        self.rates = np.ones(len(N)) if rates is None else rates
        self.prices = prices[self.forms.question]
        self.alone = np.bincount(self.forms.question)[self.forms.question] == 1
        self.answers = [self._dealt(part, root=2) for part in self._by_power()]
        self.off = self.forms.sampled @ prices / N if finite_population else np.zeros(len(N))

    def _by_power(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Variance of one answer, of each stratum and entry, as a polynomial in n: 1, n and n²."""
        forms, cells = self.forms, self.forms.cells[self.forms.form]
        if forms.odds is not None:
            r = cells / forms.odds
            fixed = forms.constant + r * (forms.linear + r * forms.square)
            return fixed, np.zeros_like(fixed), np.zeros_like(fixed)
        odds = self.problem.terms.promise.odds_minus_one * self.rates * self.problem.terms.sizes
        r = cells / odds[:, None]  # of one person
        return forms.constant, r * forms.linear, r**2 * forms.square

    def _dealt(self, entries: FloatArray, *, root: int) -> FloatArray:
        """Add up entries by form as the best dealing does; those of several forms as if all were the best.

        The office's noise, for which the root is 3, is drawn on every form: that of several adds up.
        """
        priced = self.prices * entries
        by_form = np.where(self.alone, priced, 0.0) @ sums_to(self.forms.form, len(self.forms.shares))
        total = (by_form ** (1 / root)).sum(axis=1) ** root
        for j in np.unique(self.forms.question[~self.alone]):
            several = priced[:, self.forms.question == j]
            total = total + (several.min(axis=1) if root == 2 else several.sum(axis=1))
        return np.asarray(total)

    def values(self, n: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Weighted, at n people of the strata in ``rows``."""
        u = n * self.rates[rows]
        fixed, line, square = (part[rows] for part in self.answers)
        value = (fixed + n * (line + n * square)) / u - self.off[rows]
        if not self.forms.publishes_rows:
            r = self.forms.cells[self.forms.form] / (self.forms.odds or 1.0)
            e = self.problem.terms.budgets(n, rows).e
            value += self._dealt((1.0 + r) ** 2 * self.forms.table_noise(e[:, None]), root=3) / u**2
        return np.asarray(self.weights[rows] * value)

    def sizes(self, lower: IntArray, upper: IntArray, *, guess: IntArray) -> IntArray:
        """Return the sizes at which a person fewer would cost more than a person."""

        def gain(n: FloatArray, rows: IntArray) -> FloatArray:
            return self.values(n, rows) - self.values(n + 1.0, rows)

        return first_not_worth(gain, np.ones(len(lower)), lower, upper, guess)
