"""Strata of a design without an answer, and which one stands in for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpstrata.allocation.domains import find_partitions
from dpstrata.allocation.neighbours import nearest_with_answers
from dpstrata.designs.record import Design
from dpstrata.numerics.arrays import IntArray


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
    return nearest_with_answers(
        answers, [part.codes for part in find_partitions(plan.strata, plan.inputs)[1:]]
    )


def named_stand_ins(plan: Design, stand_ins: IntArray) -> tuple[StandIn, ...]:
    """Name the strata without an answer, in the order of the design."""
    empty = np.flatnonzero(stand_ins != np.arange(len(stand_ins))).tolist()
    shares = plan.strata.sizes / plan.strata.population
    return tuple(
        StandIn(i, plan.strata.name(i), plan.strata.name(int(stand_ins[i])), float(shares[i])) for i in empty
    )
