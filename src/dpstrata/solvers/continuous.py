r"""The relaxation: the best real sample sizes, where :math:`-f_i'(x_i) = \lambda` off the bounds.

With the tilt put aside, :math:`-f_i' = A_i W_i(x_i)/x_i^2` where W varies slowly, so :math:`(-f_i')^{-1/2}`
is nearly a straight line. Newton's method on that line for all strata at once, with one price that keeps
the sum, converges from a plain start in about four steps.
"""

from typing import NamedTuple

import numpy as np

from dpstrata.arrays import FloatArray, blocks
from dpstrata.errors import PrecisionError
from dpstrata.model.balance import balance
from dpstrata.model.problem import Problem
from dpstrata.privacy.mechanisms.kernels import point
from dpstrata.solvers.solution import Solution

_MOST_STEPS = 60
_ENOUGH = 2e-4  # relative change of a step; what is left is about a tenth of its square


class Relaxation(NamedTuple):
    """Real sizes with the price measured from the terms' origin."""

    sizes: FloatArray
    price: float


def solve_relaxation(problem: Problem) -> Solution:
    """Find the best real sample sizes within the bounds."""
    relaxation = relax(problem)
    return Solution(relaxation.sizes, relaxation.sizes, relaxation.price - problem.terms.origin)


def relax(problem: Problem) -> Relaxation:
    r"""Solve the relaxation.

    Closed forms come first: where the remainder of the mechanism does not depend on the budget (Discrete
    Laplace on two answers, TuLap), :math:`x_i \propto a_i \sqrt{S_i^2 + R^2\rho}` is the solution up to
    bounds and tilts, and where no stratum has any spread, the population mean has :math:`x_i \propto N_i`.
    """
    terms = problem.terms
    lower, upper = problem.lower.astype(float), problem.upper.astype(float)
    total = float(problem.total)
    x, price = _start(problem, lower, upper)
    if terms.mechanism.constant_remainder is not None or (
        terms.objective == "mean" and not terms.relative_variance.any()
    ):
        return Relaxation(x, price)
    base, weight = np.empty(len(x)), np.empty(len(x))
    root = np.sqrt(terms.scale)
    worthless = np.flatnonzero(root == 0)
    for _ in range(_MOST_STEPS):
        for part in blocks(len(x)):
            W, H = terms.curve(x[part], part)
            share = W / H
            share *= 2.0
            np.multiply(x[part], 1.0 - share, out=base[part])
            share *= root[part]
            np.multiply(share, np.sqrt(W), out=weight[part])
        base[worthless] = 0.0
        previous = x
        x, price = balance(base, weight, terms.slope, lower, upper, total, start=price)
        if _largest_change(previous, x) <= _ENOUGH:
            return Relaxation(x, price)
    raise PrecisionError(f"the relaxation did not settle within {_MOST_STEPS} steps.")


def _largest_change(previous: FloatArray, x: FloatArray) -> float:
    """Relative to each size."""
    return max(float(np.max(np.abs(1.0 - previous[part] / x[part]))) for part in blocks(len(x)))


def _start(problem: Problem, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, float]:
    """Solve with the remainder held at the budget that everyone would have under equal rates."""
    terms = problem.terms
    rate = problem.total / float(terms.sizes.sum())
    e = np.log1p(np.array([terms.promise.odds_minus_one / rate]))
    remainder = terms.mechanism.remainder(point(e))
    weight = np.sqrt(terms.scale * (terms.relative_variance + remainder))
    return balance(None, weight, terms.slope, lower, upper, float(problem.total))
