"""The best sizes when nothing fixes their sum: how many interviews are best at all."""

import numpy as np

from dpstrata.arrays import BoolArray, IntArray
from dpstrata.model.problem import Problem
from dpstrata.solvers.primitive import integer_sizes


def best_sizes(problem: Problem) -> IntArray:
    """Minimise Σ f_i within the bounds, whatever the total: everyone whose gain is above zero.

    At a fixed central budget a further interview costs secrecy, so f_i falls and then rises; beyond these
    sizes more interviews hurt.
    """
    terms = problem.terms
    rows = np.arange(len(terms))
    zero = np.full(len(rows), terms.origin)  # a gain of zero, measured from the origin
    tilts = zero if terms.tilts is None else terms.tilts
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        guess = terms.core_weights(problem.total) / np.sqrt(tilts)
    if terms.kinks is not None:
        guess = np.maximum(guess, terms.kinks)  # below the kink everyone helps
    guess = np.nan_to_num(np.clip(guess, problem.lower, problem.upper), nan=1.0)
    sizes = integer_sizes(
        terms,
        zero,
        rows=rows,
        start=np.clip(guess.astype(np.int64), problem.lower, problem.upper),
        lower=problem.lower,
        upper=problem.upper,
        inclusive=False,
    )
    # Where rounding leaves the sign of a gain open, exact arithmetic decides; that is a person or two.
    for step, movable in ((1, sizes < problem.upper), (-1, sizes > problem.lower)):
        for i in np.flatnonzero(movable & _unclear(problem, sizes if step > 0 else sizes - 1)).tolist():
            while problem.lower[i] <= sizes[i] + step <= problem.upper[i]:
                person = int(sizes[i]) if step > 0 else int(sizes[i]) - 1
                if (terms.exact_gain(i, person) > 0) != (step > 0):
                    break
                sizes[i] += step
    return sizes


def _unclear(problem: Problem, before: IntArray) -> BoolArray:
    terms = problem.terms
    gain = terms.gain(np.maximum(before, 1).astype(float))
    return np.abs(gain - terms.origin) <= terms.gain_error(gain)
