r"""The proof of how few people can reach the targets of all questions, for given forms.

Whatever prices :math:`p_j \ge 0` the questions have, sizes that reach all targets :math:`T_j` have

.. math:: \sum_i n_i \;\ge\; \min_n \sum_i n_i + \sum_j p_j \left(V_j(n) - T_j\right) ,

and the minimum is found stratum by stratum. This module imports no solver.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import Bound, best_at_prices, unit_terms
from dpstrata.allocation.questions import with_form_terms
from dpstrata.numerics.arrays import FloatArray, IntArray

_ROUNDING = 1e-12


def with_importances(problem: Problem, importances: FloatArray) -> Problem:
    """Return the problem of the same forms where questions have other importances."""
    assert problem.forms is not None
    return with_form_terms(problem, replace(problem.forms, importances=importances))


def planned_sum(problem: Problem, sizes: IntArray, *, finite_population: bool) -> float:
    """Return Σ w_j·V_j with the importances of the problem, as it is minimised."""
    assert problem.forms is not None
    terms, forms = problem.terms, problem.forms
    value = problem.objective(sizes)
    if finite_population:
        value -= float((terms.coefficients**2 * (forms.spreads @ forms.importances) / terms.sizes).sum())
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
    total = float(given.sum())
    value = float(sizes.sum())
    bound = float(problem.lower.sum())
    if total > 0:
        priced = with_importances(problem, given / total)
        weights, ones = total * problem.terms.coefficients**2, np.ones(len(sizes))
        best = best_at_prices(unit_terms(priced.terms), weights, ones, problem.lower, problem.upper, sizes)
        reached = total * planned_sum(priced, best, finite_population=finite_population)
        allowed = float((given[given > 0] * targets[given > 0]).sum())
        people = float(best.sum())
        least = people + reached - allowed - _ROUNDING * (people + abs(reached) + allowed)
        bound = max(bound, float(math.ceil(least - 1e-9)))
    bound = min(bound, value)
    return Bound(value <= bound, "total", value, bound, False, tuple(given.tolist()))
