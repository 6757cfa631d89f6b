"""The best sizes when nothing fixes their sum: how many interviews are best at all."""

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.solvers.priced import real_sizes
from dpstrata.allocation.solvers.primitive import round_at_price
from dpstrata.numerics.arrays import IntArray


def best_sizes(problem: Problem) -> IntArray:
    """Minimise Σ f_i within the bounds, whatever the total: everyone whose gain is above zero.

    At a fixed central budget a further interview costs secrecy, so f_i falls and then rises; beyond these
    sizes more interviews hurt.
    """
    terms = problem.terms
    lower, upper = problem.lower.astype(float), problem.upper.astype(float)
    tilts = terms.origin if terms.tilts is None else terms.tilts
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        start = np.nan_to_num(terms.core_weights(problem.total) / np.sqrt(tilts), nan=1.0)
    guess = real_sizes(terms, 0.0, lower=lower, upper=upper, start=start)
    zero = terms.origin  # a gain of zero, measured from the origin
    sizes, following, last = round_at_price(problem, terms, guess, zero)
    # Where rounding leaves the sign of a gain open, exact arithmetic decides; that is a person or two.
    for step, gain in ((1, following), (-1, last)):
        with np.errstate(invalid="ignore"):
            unclear = np.abs(gain - zero) <= terms.gain_error(gain)
        for i in np.flatnonzero(unclear & np.isfinite(gain)).tolist():
            while problem.lower[i] <= sizes[i] + step <= problem.upper[i]:
                person = int(sizes[i]) if step > 0 else int(sizes[i]) - 1
                if (terms.exact_gain(i, person) > 0) != (step > 0):
                    break
                sizes[i] += step
    return sizes
