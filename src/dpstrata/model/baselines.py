"""Allocations that ignore privacy, for comparison: Neyman, proportional, equal."""

import numpy as np

from dpstrata.arrays import FloatArray, IntArray
from dpstrata.model.balance import balance
from dpstrata.model.problem import Problem
from dpstrata.model.terms import Terms

BASELINES = ("neyman", "proportional", "equal")


def baseline_sizes(problem: Problem, name: str) -> IntArray:
    """Sample sizes of a classical allocation for the problem's total and bounds.

    ``neyman`` is what is optimal without noise for the same objective, n ∝ a·S/√r (for the population mean
    N·S where everyone answers; if no stratum has any spread, n ∝ N); ``proportional`` is n ∝ N; ``equal`` the
    same everywhere.
    """
    weights = baseline_weights(problem, name)
    return largest_remainders(weights, problem.lower, problem.upper, problem.total)


def baseline_weights(problem: Problem, name: str) -> FloatArray:
    """Return what the sizes of a classical allocation are proportional to, within their bounds."""
    terms = problem.terms
    match name:
        case "neyman":
            weights = neyman_weights(terms)
            return weights if weights.any() else terms.sizes.astype(float)
        case "proportional":
            return terms.sizes.astype(float)
        case _:
            return np.ones(len(terms))


def neyman_weights(terms: Terms) -> FloatArray:
    """|a|·S/√r: what sample sizes are proportional to when nothing is noised."""
    weights = np.abs(terms.coefficients) * terms.sds
    return weights if terms.response_rates is None else weights / np.sqrt(terms.response_rates)


def largest_remainders(weights: FloatArray, lower: IntArray, upper: IntArray, total: int) -> IntArray:
    """Round shares proportional to ``weights`` to whole numbers that add up to ``total``.

    Shares are clipped to the bounds and rescaled until they add up; then each is rounded down, and the
    people left over go to the largest fractions, the earlier stratum first.

    Examples
    --------
    >>> largest_remainders(np.array([3.0, 2.0, 1.0]), np.ones(3, int), np.full(3, 9), 10).tolist()
    [5, 3, 2]
    """
    shares, _ = balance(None, weights, None, lower.astype(float), upper.astype(float), float(total))
    # A share that is whole but for rounding must not be rounded down by one.
    near = np.rint(shares)
    shares = np.where(np.abs(shares - near) <= 1e-12 * near, near, shares)
    sizes = np.clip(np.floor(shares), lower, upper).astype(np.int64)
    left = total - int(sizes.sum())
    fractions = shares - sizes
    while left != 0:
        direction = 1 if left > 0 else -1
        room = sizes < upper if direction > 0 else sizes > lower
        order = np.argsort(np.where(room, -direction * fractions, np.inf), kind="stable")
        chosen = order[: min(abs(left), int(room.sum()))]
        sizes[chosen] += direction
        fractions[chosen] -= direction
        left -= direction * len(chosen)
    return sizes
