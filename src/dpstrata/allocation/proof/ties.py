"""Comparing gains that double precision cannot tell apart."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.terms import EXACT_DIGITS, Terms
from dpstrata.numerics.arrays import IntArray


class Ranking(NamedTuple):
    """Exact order of some gains."""

    ranks: IntArray
    """0 for the largest gain; equal ranks are ties."""
    open: bool
    """Whether gains of different strata agree to 100 digits, so that their order stays unknown."""


def rank_exactly(terms: Terms, rows: IntArray, n: IntArray) -> Ranking:
    """Rank the gains f(n) - f(n + 1) of the strata ``rows``, largest first.

    Equal inputs tie by equality and are evaluated once, so that a million identical strata cost one
    evaluation; different inputs are compared to 100 digits.
    """
    straight = terms.is_straight(rows)
    # What a gain does not depend on is left out: the size for the mean where the gain is constant, and
    # everything where the coefficient is zero.
    worthless = terms.coefficients[rows] == 0
    constant = straight if terms.objective == "mean" else worthless
    rates = 1.0 if terms.response_rates is None else terms.response_rates[rows]
    keys = np.column_stack(
        [
            np.where(constant, 0, terms.sizes[rows]),
            np.where(straight, 0.0, terms.variances[rows]),
            np.where(constant, 0.0, terms.coefficients[rows]),
            np.where(straight, 0, n),
            np.where(worthless, 0.0, rates),
        ]
    )
    if np.all(keys == keys[0]):
        return Ranking(np.zeros(len(rows), dtype=np.int64), False)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    exact = [terms.exact_gain(int(rows[i]), int(n[i])) for i in first]
    order = sorted(range(len(exact)), key=exact.__getitem__, reverse=True)
    tolerance = max(abs(value) for value in exact) * type(exact[0])(10) ** -EXACT_DIGITS
    ranks, rank, open_ = np.zeros(len(exact), dtype=np.int64), 0, False
    for previous, current in pairwise(order):
        if exact[previous] - exact[current] > tolerance:
            rank += 1
        else:
            open_ = True
        ranks[current] = rank
    return Ranking(ranks[inverse.ravel()], open_)
