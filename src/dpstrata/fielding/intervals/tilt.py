r"""The values that cannot be ruled out: strata are moved together until the estimate would be too unlikely.

The unknown means :math:`p_h` of the strata start at a pilot value each, and all move by one step on the
logistic scale: :math:`\mathrm{logit}\,p_h + \delta`. So they never leave 0 to 1, and the mean of a group,
:math:`P(\delta) = \sum_h W_h p_h`, takes every value in between once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpstrata.numerics.arrays import ALL, FloatArray, IntArray, Rows
from dpstrata.numerics.tails import find_roots

_REACH = 45.0  # from any share to any other, on the logistic scale
_ENTRIES = 1 << 13  # in one block of groups, so that what is computed of them stays in cache
_NONE = 1e-300  # a chance that is none
_FROM_OTHERS = 5.0  # answers of the whole group that count towards each stratum; with 2, intervals fell short


class Groups(NamedTuple):
    """What is estimated from which parts (strata, or strata and forms or waves).

    Attributes
    ----------
    codes : array of int
        The group of every entry.
    number : int
        How many groups there are.
    weights : array
        What the entry counts in its group; those of a group add up to one.
    at : array of int or slice
        The part of every entry; a part may be in several groups, and in none.
    """

    codes: IntArray
    number: int
    weights: FloatArray
    at: Rows = ALL

    @classmethod
    def by_size(
        cls, codes: IntArray, number: int, sizes: IntArray, stand_ins: IntArray | None = None
    ) -> Groups:
        """Weight strata by their people.

        Parameters
        ----------
        codes, number : array of int, int
            The group of every stratum, and how many there are.
        sizes : array of int
            People of every stratum.
        stand_ins : array of int, optional
            The stratum whose answers count for each; its own by default.
        """
        weights = sizes / np.bincount(codes, weights=sizes, minlength=number)[codes]
        if stand_ins is None or np.array_equal(stand_ins, np.arange(len(codes))):
            return cls(codes, number, weights)
        # a stratum that counts for several in one group is one entry: its errors are theirs
        keys, entry = np.unique(codes * len(codes) + stand_ins, return_inverse=True)
        both = np.bincount(entry.ravel(), weights=weights).astype(float)
        return cls(keys // len(codes), number, both, keys % len(codes))

    def divided(self, shares: Sequence[FloatArray]) -> Groups:
        """Divide every stratum into forms, or waves, each with what it counts in the stratum.

        Parts are then the strata of the first one, those of the second, and so on.
        """
        places = np.arange(len(shares[0]))[self.at]
        weights = np.concatenate([self.weights * share[places] for share in shares])
        parts = np.concatenate([places + t * len(share) for t, share in enumerate(shares)])
        some = weights > 0
        return Groups(np.tile(self.codes, len(shares))[some], self.number, weights[some], parts[some])

    @classmethod
    def joined(cls, each: Sequence[Groups], parts: int) -> Groups:
        """Put several groupings of the same parts together."""
        offsets = np.cumsum([0, *(groups.number for groups in each)])
        return cls(
            np.concatenate([groups.codes + start for groups, start in zip(each, offsets[:-1], strict=True)]),
            int(offsets[-1]),
            np.concatenate([groups.weights for groups in each]),
            np.concatenate([np.arange(parts)[groups.at] for groups in each]),
        )

    def in_blocks(self) -> Iterator[Groups]:
        """Yield runs of groups whose entries stay in cache, as groups of their own."""
        if len(self.codes) <= _ENTRIES:
            yield self
            return
        order = np.argsort(self.codes, kind="stable")
        first = np.searchsorted(self.codes[order], np.arange(self.number + 1))  # entry of each group
        cuts = np.flatnonzero(np.diff(first[:-1] // _ENTRIES, prepend=-1))
        parts = np.arange(len(order)) if isinstance(self.at, slice) else self.at
        for start, stop in pairwise([*cuts.tolist(), self.number]):
            some = order[first[start] : first[stop]]
            yield Groups(self.codes[some] - start, stop - start, self.weights[some], parts[some])

    def add(self, values: FloatArray | IntArray) -> FloatArray:
        """Add up within each group, a value for every entry."""
        return np.bincount(self.codes, weights=values, minlength=self.number).astype(float, copy=False)


Chance = Callable[[FloatArray], FloatArray]
"""From the mean of each entry to the chance of each group's estimate."""


class Limits(NamedTuple):
    """The ends of an interval for each group."""

    lower: FloatArray
    upper: FloatArray

    def scaled(self, lower: float, reach: float) -> Limits:
        """Put ends that lie between 0 and 1 on a range of so much."""
        return Limits(lower + reach * self.lower, lower + reach * self.upper)


def both_limits(groups: Groups, total: FloatArray) -> tuple[Groups, FloatArray, FloatArray]:
    """Take every group twice, for its upper and its lower limit.

    Returns
    -------
    (Groups, array, array)
        The groups, the estimate that each is compared with, which lies at least at the end that it starts
        from, and the side of the estimate that counts: 1 below it, −1 above.
    """
    entries = groups._replace(at=ALL)  # whose parts have been looked up
    twice = Groups.joined([entries, entries], len(groups.codes))
    estimates = np.concatenate([np.maximum(total, 0.0), np.minimum(total, 1.0)])
    return twice, estimates, np.repeat([1.0, -1.0], groups.number)


def first_guess(found: FloatArray, answers: FloatArray, groups: Groups) -> FloatArray:
    """Return a value strictly between 0 and 1 for each group, near its estimate."""
    number = groups.add(answers)
    inside = np.clip(groups.add(groups.weights * found), 0.0, 1.0)
    return np.asarray((number * inside + 1.0) / (number + 2.0))


def pilot_values(found: FloatArray, variances: FloatArray, guess: FloatArray, groups: Groups) -> FloatArray:
    """Pull the estimates of parts towards their group, as far as they are uncertain.

    The more an answer counts, the farther: a part with few answers and many people that happens to report
    nothing would otherwise hide most of the variance.

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
    known = np.zeros(len(found))  # as many answers without noise are as precise
    np.divide(middle * (1.0 - middle), variances, out=known, where=variances > 0)
    unsure = known > 0
    # how much more an answer counts here than in the group
    load = groups.weights * groups.add(known)[groups.codes] / np.where(unsure, known, 1.0)
    others = _FROM_OTHERS * np.maximum(load, 1.0) ** 3
    share = np.where(unsure, others / (known + others), 0.0)
    return np.asarray((1.0 - share) * np.clip(found, 0.0, 1.0) + share * middle)


def tilted_limits(pilot: FloatArray, groups: Groups, chance: Chance, tail: float) -> Limits:
    """Find the least and the largest mean of each group that its estimate does not rule out.

    Parameters
    ----------
    pilot : array
        Where the mean of each entry starts.
    groups : Groups
        What they belong to: every group twice, first for its upper limit, then for its lower one.
    chance : function
        The chance of an estimate as low as the one found for the first, and as high for the others.
    tail : float
        The chance below which a value is ruled out.
    """
    from scipy.special import expit, logit

    half = groups.number // 2
    side = np.repeat([1.0, -1.0], half)
    of_entry = side[groups.codes]
    with np.errstate(divide="ignore"):
        start = logit(pilot)

    def moved(delta: FloatArray) -> FloatArray:
        return np.asarray(expit(start + (side * delta)[groups.codes]))

    def left(p: FloatArray) -> FloatArray:
        return np.log(np.maximum(chance(p), _NONE) / tail)

    # What is known for sure does not move, and an end that is not ruled out is the limit.
    end = np.where(np.isinf(start), start > 0, of_entry > 0).astype(float)
    free = left(end) >= 0
    last = moved(find_roots(lambda delta: left(moved(delta)), groups.number, _REACH))
    ends = np.clip(groups.add(groups.weights * np.where(free[groups.codes], end, last)), 0.0, 1.0)
    return Limits(ends[half:], ends[:half])


def normal_tail(away: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the chance of an estimate as low, given how far it is above what is expected."""
    from scipy.special import ndtr

    below = ndtr(away / np.sqrt(np.where(variance > 0, variance, 1.0)))
    return np.where(variance > 0, below, (away >= 0).astype(float))
