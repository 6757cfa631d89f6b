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

This module imports no solver; it finds the minimum of each stratum by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

import numpy as np

from dpstrata.allocation.domains import Partition
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.terms import Terms
from dpstrata.allocation.variances import mean_variances
from dpstrata.numerics.arrays import FloatArray, IntArray, blocks
from dpstrata.survey.costs import total_cost
from dpstrata.words.proofs import bound_in_words

# Rounding of a sum of so many terms, relative to what is added up.
_ROUNDING = 1e-12


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
