r"""The proof of how close a design with one draw of noise for each figure comes to the best possible.

With one family, figures meet only in the total, and each is minimised exactly at any price of a person
(``walk``), or all of them together, with people that add up to the total.

With several families figures meet in every stratum. Then each stratum's room has a price :math:`\mu_i` too:

.. math:: \sum_i \min_n \left(f_i(n) + \lambda n - \mu_i\,\mathrm{room}_i(n)\right)
    + \sum_g \min_s \left(W_g/s^2 + p_g s\right) - \lambda \eta, \qquad p_g = \sum_i \mu_i a_{ig} R .

Whole people make designs dearer than that; each design states the gap.

This module imports no solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import Bound
from dpstrata.allocation.proof.walk import ROUNDING, Walk, priced_costs
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.numerics.arrays import FloatArray, IntArray

_CLOSED = 1e-11


def certify_single_mean(
    problem: SingleMean,
    sizes: IntArray,
    strengths: Sequence[FloatArray],
    prices: Sequence[float],
    room_prices: FloatArray | None = None,
) -> Bound:
    """Bound the variance of every design by that of the prices.

    Parameters
    ----------
    problem : SingleMean
        Terms, bounds, total and figures.
    sizes : array of int
        Sample sizes within the bounds that add up to the total.
    strengths : sequence of array
        1/b of the figures, by family; they keep the promise.
    prices : sequence of float
        λ >= 0: prices of a person, at least one. Any are valid, and several prove more than each alone.
    room_prices : array, optional
        μ >= 0 of every stratum, needed for several families.
    """
    if room_prices is None:
        lower_bound = Walk(problem, sizes, strengths[0], prices).bound(prices)
    else:
        lower_bound = max(shared_bound(problem, sizes, price, room_prices) for price in prices)
    return stated_bound(problem, sizes, strengths, lower_bound, prices)


def certify_figures(
    problem: Problem, sizes: IntArray, prices: Sequence[float], *, finite_population: bool
) -> Bound:
    """Bound the variance of every design of a problem with figures, as it is reported.

    Parameters
    ----------
    problem : Problem
        With families.
    sizes : array of int
        Sample sizes within the bounds that add up to the total.
    prices : sequence of float
        Of a person; with several families one such price, and then that of every stratum's room.
    finite_population : bool
        Whether variances have the correction, which is the same for all designs.
    """
    one = SingleMean(problem)
    shared = len(one.families) > 1
    strengths = one.strengths_at(sizes)
    if shared:
        price, *rooms = prices
        bound = certify_single_mean(one, sizes, strengths, [price], np.asarray(rooms, dtype=float))
    else:
        bound = certify_single_mean(one, sizes, strengths, prices)
    off = problem.correction if finite_population else 0.0
    return replace(
        bound,
        value=max(bound.value - off, 0.0),
        lower_bound=max(bound.lower_bound - off, 0.0),
        prices=tuple(float(price) for price in prices),
    )


def stated_bound(
    problem: SingleMean,
    sizes: IntArray,
    strengths: Sequence[FloatArray],
    lower_bound: float,
    prices: Sequence[float],
) -> Bound:
    """State what a lower bound says of a design."""
    value, inner = problem.value(sizes, strengths), problem.problem
    if len(problem.families) == 1 and inner.total in (int(inner.lower.sum()), int(inner.upper.sum())):
        lower_bound = max(lower_bound, problem.value(sizes, problem.strengths_at(sizes)))  # no other sizes
    lower_bound = min(max(lower_bound, 0.0), value)
    measure: Literal["variance", "planned_variance"] = (
        "planned_variance" if problem.problem.terms.random_answers else "variance"
    )
    optimal = value <= lower_bound * (1.0 + _CLOSED)
    return Bound(optimal, measure, value, lower_bound, False, tuple(float(each) for each in prices))


def shared_bound(problem: SingleMean, sizes: IntArray, price: float, room_prices: FloatArray) -> float:
    """Evaluate the bound of several families at prices of people and of room."""
    bound = float(priced_costs(problem, price, room_prices, sizes, sizes).sum())
    for family, W in zip(problem.families, problem.noise_weights, strict=True):
        per_strength = family.sums(room_prices * family.coefficients) * problem.answer_range
        bound += 3.0 * float(np.cbrt(W * (0.5 * per_strength) ** 2).sum()) * (1.0 - ROUNDING)
    return bound
