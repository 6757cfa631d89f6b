"""The exact solver: the best whole numbers, in time that grows with the number of strata alone.

1. Solve the relaxation; its price λ is nearly the right one.
2. At that price each stratum's best whole number is next to its real one (see ``primitive``).
3. Their sum misses the total by a few people. The price that would mend it bounds a window of gains;
   list the people in that window and take as many as are needed, best first.
"""

from __future__ import annotations

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.solvers.continuous import relax
from dpstrata.allocation.solvers.crowd import Crowd
from dpstrata.allocation.solvers.primitive import round_at_price
from dpstrata.allocation.solvers.solution import Solution
from dpstrata.allocation.terms import Terms
from dpstrata.numerics.arrays import FloatArray, IntArray

_SPARSE = 64


def solve_exactly(problem: Problem) -> Solution:
    """Find the best whole numbers within the bounds that add up to the total.

    Ties go to the earlier stratum.
    """
    relaxed, price, terms = relax(problem)
    for bound in (problem.lower, problem.upper):
        if problem.total == int(bound.sum()):  # nothing is left to choose
            return Solution(bound, relaxed, price - terms.origin)
    n, following, last = round_at_price(problem, terms, relaxed, price)
    n = _settle(problem, terms, n, following, last, price)
    return Solution(n, relaxed, price - terms.origin)


def _settle(
    problem: Problem, terms: Terms, n: IntArray, following: FloatArray, last: FloatArray, price: float
) -> IntArray:
    """Move from the best sizes at ``price`` to the best sizes with the right sum."""
    missing = problem.total - int(n.sum())
    low, high = _window(missing, following, last, price)
    reach = 0.0
    while True:
        # Wide enough for the rounding of each stratum's own gains; one number where all tilts are equal.
        rows = np.flatnonzero(
            (following >= low - 2.0 * terms.gain_error(low)) | (last <= high + 2.0 * terms.gain_error(high))
        )
        if not rows.size:
            return n
        crowd = Crowd(problem, terms, rows, n[rows])
        needed = missing + int(n[rows].sum())
        surely, possibly = crowd.surely(high), crowd.possibly(low)
        if int(surely.sum()) <= needed <= int(possibly.sum()):
            n[rows] = crowd.take(surely, possibly, needed, low, high)
            return n
        # More people are missing than there are strata, so the price is far off: reach out further.
        reach = max(4.0 * reach, high - low, 1e-9 * abs(price), np.finfo(float).tiny)
        low, high = (low - reach, high) if missing > 0 else (low, high + reach)


def _window(missing: int, following: FloatArray, last: FloatArray, price: float) -> tuple[float, float]:
    """Bounds on the gain of the last person who belongs to the optimum, but for rounding."""
    if missing > 0:
        # ``missing`` more gains among the next people alone reach down to here; no optimum needs less.
        low, high = _kth_largest(following, missing), price
        if low == -np.inf:
            low = float(np.min(following[following > -np.inf]))
    elif missing < 0:
        low, high = price, -_kth_largest(-last, -missing)
        if high == np.inf:
            high = float(np.max(last[last < np.inf]))
    else:
        low, high = float(following.max()), float(last.min())
        if not (np.isfinite(low) and np.isfinite(high)):
            return np.finfo(float).max, np.finfo(float).min
    return low, high


def _kth_largest(values: FloatArray, k: int) -> float:
    """Value at place ``k`` from the top, or the smallest if there are fewer."""
    if len(values) > _SPARSE**2 and k < len(values) // _SPARSE:
        # Guess a bar from every 64th value that lets about twice as many pass as are needed.
        bar = _kth_largest(values[::_SPARSE], 2 * k // _SPARSE + 10)
        above = values[values >= bar]
        if len(above) >= k:
            values = above
    at = max(len(values) - k, 0)
    return float(np.partition(values, at)[at])
