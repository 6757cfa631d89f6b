r"""Algorithm 1 of Chen, Pasupathy and Awan: search a ball around the continuous optimum.

Kept as the paper states it, for comparison. It differs from the printed text where that cannot run:

* the second stage searches :math:`\max(l_i, x_i^* - r) \ldots \min(x_i^* + r, h_i)`; printed is
  :math:`x_i^* \ldots \max(x_i^* + r, \eta)`, which is neither centred nor bounded by the ball;
* bounds :math:`l_i \le n_i \le h_i` (by default 1 and N) hold in both stages and in the relaxation. Without
  the lower one the first stage has no candidate when some :math:`x_i^* < 1`; the upper one is not in the
  paper at all;
* the Hessian has the factor 2 on its noise part that the printed one misses.

The lemma behind the radius uses the curvature at the continuous optimum only and is not true in general,
so the result is not a proof; the exchange certificate is.
"""

from typing import NamedTuple

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.solvers.candidates import every_product, pick_best
from dpstrata.allocation.solvers.continuous import relax
from dpstrata.allocation.solvers.solution import Solution
from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray

MOST_CANDIDATES = 100_000_000


class FirstStage(NamedTuple):
    """The nearest integer design and the ball around the continuous one."""

    sizes: IntArray
    relaxed_sizes: FloatArray
    price: float
    radius: float


def first_stage(problem: Problem, *, most_candidates: int = MOST_CANDIDATES) -> FirstStage:
    """Round every size but the last up or down in the best way, and compute the radius."""
    relaxed, price, terms = relax(problem)
    floor = np.clip(np.floor(relaxed), problem.lower, problem.upper).astype(np.int64)
    ceiling = np.clip(np.ceil(relaxed), problem.lower, problem.upper).astype(np.int64)
    nearest = _search(problem, floor, ceiling, most_candidates)
    _, H = problem.terms.curve(relaxed)
    curvature = float((problem.terms.scale * H / relaxed**3).min())
    excess = max(problem.objective(nearest) - problem.objective(relaxed), 0.0)
    radius = float(np.sqrt(2.0 * excess / curvature)) if curvature > 0 else np.inf
    return FirstStage(nearest, relaxed, price - terms.origin, radius)


def solve_by_first_stage(problem: Problem) -> Solution:
    """Run the first stage alone: the best way to round all sizes but the last up or down."""
    stage = first_stage(problem)
    return Solution(stage.sizes, stage.relaxed_sizes, stage.price, stage.radius)


def solve_by_algorithm1(problem: Problem, *, most_candidates: int = MOST_CANDIDATES) -> Solution:
    """Run both stages of the paper's algorithm.

    Raises
    ------
    InputError
        If a stage has more than ``most_candidates`` candidates.
    """
    stage = first_stage(problem, most_candidates=most_candidates)
    reach = min(stage.radius, float(problem.total))
    low = np.maximum(np.ceil(stage.relaxed_sizes - reach), problem.lower).astype(np.int64)
    high = np.minimum(np.floor(stage.relaxed_sizes + reach), problem.upper).astype(np.int64)
    best = _search(problem, np.minimum(low, stage.sizes), np.maximum(high, stage.sizes), most_candidates)
    return Solution(best, stage.relaxed_sizes, stage.price, stage.radius)


def _search(problem: Problem, low: IntArray, high: IntArray, most_candidates: int) -> IntArray:
    """Search all sizes from ``low`` to ``high`` for strata but the last, which makes up the total."""
    number = float(np.prod((high - low + 1)[:-1].astype(float)))
    if number > most_candidates:
        raise InputError(
            f"Algorithm 1 tries at most {most_candidates:,} candidates, got a stage with {number:.3g}. "
            f"Use {option('method', 'exact')}."
        )
    ranges = [np.arange(start, stop + 1) for start, stop in zip(low[:-1], high[:-1], strict=True)]
    return pick_best(problem, every_product(ranges, problem.lower, problem.upper, problem.total))
