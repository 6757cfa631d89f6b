"""Strata of a design without an answer, and which one stands in for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.response import nearest_with_answers
from dpstrata.designs.record import Design
from dpstrata.fielding.intervals.tilt import Groups
from dpstrata.numerics.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class StandIn:
    """A stratum without an answer, and the one whose result it takes.

    Attributes
    ----------
    place : int
        The place of the stratum in the design.
    stratum, neighbour : str
        Their names.
    share : float
        The share of the population that the stratum has: times the range of the answers, it is the largest
        error that this can make in an estimate for the whole population.
    """

    place: int
    stratum: str
    neighbour: str
    share: float


def find_stand_ins(plan: Design, answers: IntArray) -> IntArray:
    """Return the place of the stratum whose answers count for each: its own where it has some.

    Raises
    ------
    InputError
        If there is no answer at all.
    """
    if np.all(answers > 0):
        return np.arange(len(answers))
    return nearest_with_answers(answers, [part.codes for part in plan.partitions[1:]])


class FigureStandIns(NamedTuple):
    """Who stands in for whom where figures of groups are published, of each column by itself.

    Attributes
    ----------
    strata : array of int
        Place of the stratum whose answers count for each: of the same group, if anyone answered there.
    groups : array of int
        Place of the group whose figure each takes: its own if it has answers.
    """

    strata: IntArray
    groups: IntArray

    @classmethod
    def of(cls, codes: IntArray, number: int, answers: IntArray) -> FigureStandIns:
        """Find them, given the group of every stratum.

        Examples
        --------
        >>> FigureStandIns.of(np.array([0, 0, 1, 1, 2]), 3, np.array([0, 4, 0, 0, 5]))
        FigureStandIns(strata=array([1, 1, 1, 1, 4]), groups=array([0, 0, 2]))
        """
        strata, groups = nearest_with_answers(answers, [codes]), np.arange(number)
        for empty in np.flatnonzero(np.bincount(codes, weights=answers, minlength=number) == 0).tolist():
            members = np.flatnonzero(codes == empty)
            strata[members] = strata[members[0]]
            groups[empty] = codes[strata[members[0]]]
        return cls(strata, groups)

    def people(self, codes: IntArray, sizes: IntArray) -> IntArray:
        """Return how many people every stratum counts for in the figure of its own group."""
        own = codes[self.strata] == codes
        counted = np.bincount(self.strata[own], weights=sizes[own], minlength=len(codes))
        return counted.astype(np.int64)

    def weights(self, codes: IntArray, sizes: IntArray) -> tuple[Groups, FloatArray]:
        """Return what strata count in every group, and what groups count in the whole."""
        number, counted = len(self.groups), self.people(codes, sizes)
        at = np.flatnonzero(counted)
        group = codes[at]
        for empty in np.flatnonzero(self.groups != np.arange(number)).tolist():
            others = np.flatnonzero((codes == self.groups[empty]) & (counted > 0))
            at, group = np.append(at, others), np.append(group, np.full(len(others), empty))
        people = np.bincount(codes, weights=sizes, minlength=number)
        groups = Groups(group, number, counted[at] / people[codes[at]], at)
        return groups, np.bincount(self.groups, weights=people, minlength=number) / people.sum()


def borrowed_shares(plan: Design, answers: IntArray, codes: IntArray, number: int) -> FloatArray:
    """Return the share of the people of each group whose stratum has no answer and takes a neighbour's."""
    sizes = plan.strata.sizes
    empty = np.bincount(codes, weights=np.where(answers > 0, 0, sizes), minlength=number)
    return np.asarray(empty / np.bincount(codes, weights=sizes, minlength=number))


def taken_from(
    stand_ins: IntArray, answers: IntArray, codes: IntArray, labels: Sequence[str]
) -> dict[int, str]:
    """Name, by the place of every group without an answer, the groups whose results its strata take.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 2])
    >>> taken_from(np.array([2, 2, 2, 3]), np.array([0, 0, 5, 4]), codes, ["north", "south", "west"])
    {0: 'south'}
    """
    answered = np.bincount(codes, weights=answers, minlength=len(labels))
    found: dict[int, dict[str, None]] = {}
    for i in np.flatnonzero(answered[codes] == 0).tolist():
        found.setdefault(int(codes[i]), {})[labels[codes[stand_ins[i]]]] = None
    return {group: " and ".join(others) for group, others in found.items()}


def named_stand_ins(plan: Design, stand_ins: IntArray) -> tuple[StandIn, ...]:
    """Name the strata without an answer, in the order of the design."""
    empty = np.flatnonzero(stand_ins != np.arange(len(stand_ins))).tolist()
    shares = plan.strata.sizes / plan.strata.population
    return tuple(
        StandIn(i, plan.strata.name(i), plan.strata.name(int(stand_ins[i])), float(shares[i])) for i in empty
    )
