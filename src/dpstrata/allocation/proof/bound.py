r"""The proof that a design is within a gap of the best possible, where exchanges prove nothing.

With unequal costs or several targets no single exchange decides. But prices do bound: for any prices the
strata can be minimised one by one, and what they reach together no design can beat (weak duality). With
g the variance of a stratum's mean, w its weights, c its costs and λ, μ >= 0:

.. math::
    \text{within a budget:}\quad & \min_n \sum_i \left(w_i g_i(n) + \lambda c_i n\right) - \lambda B \\
    \text{and with targets:}\quad & \min_n \sum_i \left((w_i + \textstyle\sum_d \mu_d w_{di})\, g_i(n)
    + \lambda c_i n\right) - \lambda B - \sum_d \mu_d T_d \\
    \text{for targets:}\quad & \min_n \sum_i \left(c_i n + \textstyle\sum_d \mu_d w_{di}\, g_i(n)\right)
    - \sum_d \mu_d T_d .

For targets of all questions of given forms, with prices :math:`p_j` of the questions, the bound is
:math:`\min_n \sum_i n_i + \sum_j p_j (V_j(n) - T_j)`. How n people are dealt the forms is left open: whoever
gets which, forms with the variances :math:`A_T/m_T + B_T/m_T^2` together have at least

.. math:: \frac{\left(\sum_T \sqrt{A_T}\right)^2}{n} + \frac{\left(\sum_T \sqrt[3]{B_T}\right)^3}{n^2} ,

each part being the least that it can be by itself. A question on several forms has at least what the best
of them would give if everyone got it, and random numbers of answers have a mean inverse above that of their
mean. All of this is convex in n, like the office's noise of one table.

This module imports no solver; it finds the minimum of each stratum by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, cast

import numpy as np

from dpstrata.allocation.domains import Partition
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.rows_on_forms import RowsOnForms, sums_to
from dpstrata.allocation.terms import Terms
from dpstrata.allocation.variances import mean_variances
from dpstrata.numerics.arrays import ALL, FloatArray, IntArray, Rows, blocks
from dpstrata.survey.costs import total_cost
from dpstrata.words.proofs import bound_in_words

# Rounding of a sum of so many terms, relative to what is added up; of questions on forms there are more.
_ROUNDING, _ROUNDING_OF_FORMS = 1e-12, 1e-11


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound that no design for the same goal can beat, and how close this design comes.

    Attributes
    ----------
    optimal : bool
        Whether no design is better at all.
    measure : {"variance", "planned_variance", "cost", "total"}
        What is minimised. The planned variance is an upper bound on the variance that is convex where the
        number of answers is random.
    value : float
        Its value for this design.
    lower_bound : float
        A value that no design can go below.
    searched : bool
        Whether every candidate that the bound leaves was tried and none was better.
    prices : tuple of float
        The prices that prove the bound: of the budget, in variance for a unit of cost, then of each target
        beside it, in variance of the whole for a unit of its own; or of each target alone, in cost for a unit
        of variance; or, where figures have one draw of noise each, of a person, in variance (several of them
        prove more than each alone), with several columns of domains one of a person and then one of each
        stratum's room.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([700, 900], [0.3, 0.1], costs=[10, 14])
    >>> proof = dps.design(strata, epsilon=1, budget=500).certificate
    >>> proof.measure, proof.value < 1.01 * proof.lower_bound
    ('variance', True)
    """

    optimal: bool
    measure: Literal["variance", "planned_variance", "cost", "total"]
    value: float
    lower_bound: float
    searched: bool
    prices: tuple[float, ...]

    @property
    def gap(self) -> float:
        """How much better another design could be at most."""
        return 0.0 if self.optimal else max(self.value - self.lower_bound, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the value."""
        return self.gap / self.value if self.value > 0 else 0.0

    @property
    def in_words(self) -> str:
        """The proof in one sentence."""
        return bound_in_words(self)

    @property
    def in_short(self) -> str:
        """The same: there is nothing to leave out."""
        return self.in_words


def certify_budget(
    problem: Problem,
    costs: FloatArray,
    budget: float,
    sizes: IntArray,
    price: float,
    *,
    finite_population: bool,
    searched: bool = False,
    partitions: Sequence[Partition] = (),
    target_prices: Sequence[float] = (),
) -> Bound:
    """Bound the variance of every design within a budget, with or without targets, by that of the prices."""
    weights, lower, upper = problem.terms.coefficients**2, problem.lower, problem.upper
    unit, priced, allowed = unit_terms(problem.terms), weights, 0.0

    def variances(n: IntArray) -> FloatArray:
        return mean_variances(problem, n, finite_population=finite_population)

    if partitions:
        priced = weights + combined_weights(partitions, target_prices)
        allowed = float(np.dot(target_prices, _limits(partitions)))
        free = _free_sizes(problem, unit, sizes)
        lower = needed_sizes(problem, partitions, free, finite_population=finite_population)
        upper = np.maximum(free, lower)
    best = best_at_prices(unit, priced, price * costs, lower, upper, sizes)
    value, spread = float((weights * variances(sizes)).sum()), float((priced * variances(best)).sum())
    spent = float((costs * best).sum())
    bound = spread + price * (spent - budget) - allowed
    bound -= _ROUNDING * (float((priced * unit.values(best.astype(float))).sum()) + price * (spent + budget))
    bound = min(max(bound - _ROUNDING * allowed, 0.0), value)
    prices = tuple(float(each) for each in (price, *target_prices))
    measure: Literal["variance", "planned_variance"] = (
        "planned_variance" if problem.terms.random_answers else "variance"
    )
    return Bound(searched or value <= bound * (1 + 1e-11), measure, value, bound, searched, prices)


def certify_targets(
    problem: Problem,
    costs: FloatArray | None,
    partitions: Sequence[Partition],
    sizes: IntArray,
    prices: Sequence[float],
    *,
    finite_population: bool,
    searched: bool = False,
) -> Bound:
    """Bound the cost of every design that meets all targets by that of ``prices``, one for each target."""
    every = np.ones(len(sizes)) if costs is None else costs
    weights = combined_weights(partitions, prices)
    unit = unit_terms(problem.terms)
    free = _free_sizes(problem, unit, sizes)
    lower = needed_sizes(problem, partitions, free, finite_population=finite_population)
    best = best_at_prices(unit, weights, every, lower, np.maximum(free, lower), sizes)
    variances = mean_variances(problem, best, finite_population=finite_population)
    spent, allowed = float((every * best).sum()), float(np.dot(prices, _limits(partitions)))
    reached = float((weights * variances).sum())
    bound = spent + reached - allowed - _ROUNDING * (spent + reached + allowed)
    value = total_cost(every, sizes)
    step = _smallest_step(every)
    if step:  # what every design costs is a multiple of it
        bound = math.ceil(bound / step - 1e-9) * step
    bound = min(max(bound, float((every * lower).sum())), value)
    optimal = searched or value <= bound * (1 + 1e-12)
    measure: Literal["cost", "total"] = "total" if costs is None else "cost"
    return Bound(optimal, measure, value, bound, searched, tuple(float(price) for price in prices))


def _limits(partitions: Sequence[Partition]) -> FloatArray:
    """Variances that the domains with a target may have, in the order of their prices."""
    return np.concatenate([part.limits[np.isfinite(part.limits)] for part in partitions])


def _free_sizes(problem: Problem, unit: Terms, guess: IntArray) -> IntArray:
    """Sizes with the least variance of every stratum's mean."""
    ones = np.ones(len(guess))
    return best_at_prices(unit, ones, 0.0 * ones, problem.lower, problem.upper, guess)


def needed_sizes(
    problem: Problem, partitions: Sequence[Partition], most: IntArray, *, finite_population: bool
) -> IntArray:
    """Return how many people each stratum needs at least, even if all others were at their best.

    Parameters
    ----------
    problem : Problem
        Terms and bounds.
    partitions : sequence of Partition
        The domains with their targets.
    most : array of int
        Sizes with the least variance of every stratum's mean.
    finite_population : bool
        Whether variances count the finite population correction.
    """

    def variances(n: IntArray) -> FloatArray:
        return mean_variances(problem, n, finite_population=finite_population)

    least = variances(most)
    allowed = np.full(len(most), np.inf)
    for part in partitions:
        room = part.limits * (1.0 + 1e-11) - part.sums(least)
        allowed = np.minimum(allowed, np.maximum(room, 0.0)[part.codes] / part.weights + least)
    low, high = problem.lower.copy(), np.maximum(most, problem.lower)
    low = np.where(variances(low) <= allowed, low, low + 1)
    high = np.where(low == problem.lower, low, high)
    while np.any(low < high):
        middle = (low + high) // 2
        enough = variances(middle) <= allowed
        low, high = np.where(enough, low, np.minimum(middle + 1, high)), np.where(enough, middle, high)
    return low


def unit_terms(terms: Terms) -> Terms:
    """Return the terms with every coefficient 1: the variances of the stratum means."""
    return replace(terms, coefficients=np.ones(len(terms)), objective="trace")


def combined_weights(partitions: Sequence[Partition], prices: Sequence[float] | FloatArray) -> FloatArray:
    """Σ_d μ_d w_di: what the variance of each stratum's mean costs in all targets together."""
    weights = np.zeros(len(partitions[0].codes))
    start = 0
    for part in partitions:
        bound = np.isfinite(part.limits)
        by_group = np.zeros(len(part.groups))
        by_group[bound] = prices[start : start + int(bound.sum())]
        weights += by_group[part.codes] * part.weights
        start += int(bound.sum())
    return weights


def best_at_prices(
    terms: Terms, weights: FloatArray, price: FloatArray, lower: IntArray, upper: IntArray, guess: IntArray
) -> IntArray:
    """Minimise weight·f(n) + price·n in every stratum: the first size not worth exceeding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        worth = np.where(weights > 0, price / weights, np.inf) + terms.origin
    return first_not_worth(terms.gain, worth, lower, upper, guess)


def first_not_worth(
    gain: Callable[[FloatArray, IntArray], FloatArray],
    worth: FloatArray,
    lower: IntArray,
    upper: IntArray,
    guess: IntArray,
) -> IntArray:
    """Find in every stratum the first size whose next person gains no more than ``worth``.

    Parameters
    ----------
    gain : callable
        Gains of the next person at some sizes of some strata; they fall with the size.
    worth : array
        What a person must gain.
    lower, upper, guess : array of int
        The bounds, and where to look first.
    """
    found = np.empty_like(lower)
    for part in blocks(len(lower)):
        found[part] = _first_not_worth(gain, worth, lower, upper, guess, np.arange(part.start, part.stop))
    return found


def _first_not_worth(
    gain: Callable[[FloatArray, IntArray], FloatArray],
    worth: FloatArray,
    lower: IntArray,
    upper: IntArray,
    guess: IntArray,
    strata: IntArray,
) -> IntArray:
    """Find it in some strata: from the guess, which is nearly right, in steps that double, then by halves."""
    least, most, worth = lower[strata], upper[strata], worth[strata]
    low, high = least.copy(), most.copy()
    rows = np.arange(len(strata))
    probe, step = np.clip(guess[strata], least, most), 1
    while rows.size:
        wanted = (gain(probe.astype(float), strata[rows]) > worth[rows]) & (probe < most[rows])
        low[rows] = np.where(wanted, probe + 1, low[rows])
        high[rows] = np.where(wanted, high[rows], probe)
        rows = rows[low[rows] < high[rows]]
        a, b = low[rows], high[rows]
        probe = np.where(a == least[rows], np.maximum(b - step, a), (a + b) // 2)
        probe = np.where(b == most[rows], np.minimum(a + (step - 1), b - 1), probe)
        step = min(2 * step, 1 << 60)
    return low


def _smallest_step(costs: FloatArray) -> float:
    """Greatest common divisor of the costs, if they are whole numbers; otherwise 0."""
    if np.all(costs == costs[0]):
        return float(costs[0])
    if not np.all((costs == np.floor(costs)) & (costs < 2**53)):
        return 0.0
    return float(reduce(math.gcd, (int(cost) for cost in np.unique(costs))))


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
    return people + reached - allowed - _ROUNDING_OF_FORMS * (people + abs(reached) + allowed)


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
        if not forms.published:
            fixed = forms.fixed_variances
            return fixed, np.zeros_like(fixed), np.zeros_like(fixed)
        odds = self.problem.terms.promise.odds_minus_one * self.rates * self.problem.terms.sizes
        r = cells / odds[:, None]  # of one person
        return forms.curve.constant, r * forms.curve.linear, r**2 * forms.curve.square

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
        if self.forms.noise_power == 2:
            e = self.problem.terms.budgets(n, rows).e
            value += self._dealt(self.forms.reach**2 * self.forms.table_noise(e[:, None]), root=3) / u**2
        return np.asarray(self.weights[rows] * value)

    def sizes(self, lower: IntArray, upper: IntArray, *, guess: IntArray) -> IntArray:
        """Return the sizes at which a person fewer would cost more than a person."""

        def gain(n: FloatArray, rows: IntArray) -> FloatArray:
            return self.values(n, rows) - self.values(n + 1.0, rows)

        return first_not_worth(gain, np.ones(len(lower)), lower, upper, guess)
