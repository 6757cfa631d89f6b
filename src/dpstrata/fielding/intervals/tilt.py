r"""The values that cannot be ruled out: strata are moved together until the estimate would be too unlikely.

The unknown means :math:`p_h` of the strata start at a pilot value each, and all move by one step on the
logistic scale: :math:`\mathrm{logit}\,p_h + \delta`. So they never leave 0 to 1, and the mean of a group,
:math:`P(\delta) = \sum_h W_h p_h`, takes every value in between once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.numerics.tails import last_true

_FROM_OTHERS = 5.0  # answers of the whole group that count towards each stratum; with 2, intervals fell short


class Groups(NamedTuple):
    """Which group each part (a stratum, or a stratum and form) belongs to, and its weight there."""

    codes: IntArray
    number: int
    weights: FloatArray
    """Those of a group add up to one."""

    def add(self, values: FloatArray) -> FloatArray:
        """Add up within each group."""
        return np.bincount(self.codes, weights=values, minlength=self.number).astype(float, copy=False)


Chance = Callable[[FloatArray], FloatArray]
"""From the mean of each part to the chance of each group's estimate."""


class Limits(NamedTuple):
    """The ends of an interval for each group."""

    lower: FloatArray
    upper: FloatArray


def first_guess(found: FloatArray, answers: FloatArray, groups: Groups) -> FloatArray:
    """Return a value strictly between 0 and 1 for each group, near its estimate."""
    number = groups.add(answers)
    inside = np.clip(groups.add(groups.weights * found), 0.0, 1.0)
    return np.asarray((number * inside + 1.0) / (number + 2.0))


def pilot_values(found: FloatArray, variances: FloatArray, guess: FloatArray, groups: Groups) -> FloatArray:
    """Pull the estimates of parts towards their group, as far as they are uncertain.

    Parameters
    ----------
    found : array
        The estimate of each part, which may lie outside 0 to 1.
    variances : array
        Its variance if the mean were the guess.
    guess : array
        A value for each group.
    """
    middle = guess[groups.codes]
    known = np.full(len(found), np.inf)  # as many answers without noise are as precise
    np.divide(middle * (1.0 - middle), variances, out=known, where=variances > 0)
    share = _FROM_OTHERS / (known + _FROM_OTHERS)
    return np.asarray((1.0 - share) * np.clip(found, 0.0, 1.0) + share * middle)


def tilted_limits(pilot: FloatArray, groups: Groups, below: Chance, above: Chance, tail: float) -> Limits:
    """Find the least and the largest mean of each group that its estimate does not rule out.

    Parameters
    ----------
    pilot : array
        Where the mean of each part starts.
    groups : Groups
        What they belong to.
    below, above : function
        The chance of an estimate as low as the one found, or as high.
    tail : float
        The chance below which a value is ruled out.
    """
    from scipy.special import expit, logit

    with np.errstate(divide="ignore"):
        start = logit(pilot)

    def limit(chance: Chance, side: float) -> FloatArray:
        def moved(delta: FloatArray) -> FloatArray:
            return np.asarray(expit(start + side * delta[groups.codes]))

        # What is known for sure does not move, and an end that is not ruled out is the limit.
        end = np.where(np.isinf(start), start > 0, side > 0).astype(float)
        free = chance(end) >= tail
        last = moved(last_true(lambda delta: chance(moved(delta)) >= tail, groups.number))
        return np.clip(groups.add(groups.weights * np.where(free[groups.codes], end, last)), 0.0, 1.0)

    return Limits(limit(above, -1.0), limit(below, 1.0))
