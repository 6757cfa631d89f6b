"""What is estimated for: the whole, the domains, and the strata themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.domains import WHOLE
from dpstrata.designs.record import Design
from dpstrata.fielding.intervals.tilt import Groups
from dpstrata.fielding.neighbours import borrowed_shares, taken_from
from dpstrata.fielding.published_columns import STRATUM
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray


class Place(NamedTuple):
    """Groups of strata: the whole, those of a domain, or each by itself."""

    column: str
    labels: Sequence[str]
    codes: IntArray


def reported(plan: Design, stand_ins: IntArray) -> list[tuple[Place, Groups]]:
    """Group strata to what is reported: the whole, the domains and themselves.

    Cells of weighting classes are not reported by themselves.
    """
    sizes, names = plan.strata.sizes, plan.strata.names
    places = [Place(part.column or WHOLE, part.groups, part.codes) for part in plan.partitions]
    if not plan.inputs.has_classes:
        places.append(Place(STRATUM, names, np.arange(len(names))))
    return [(place, Groups.by_size(place.codes, len(place.labels), sizes, stand_ins)) for place in places]


class Groupings(NamedTuple):
    """What is estimated for: group columns, groups, and what is known of each, whatever the figure.

    Attributes
    ----------
    column, group : sequence of str
        As in :class:`Estimate`.
    invited, answered : array of int
        As in :class:`Estimate`.
    taken_from, notes : sequence of str
        As in :class:`Estimate`.
    """

    column: Sequence[str]
    group: Sequence[str]
    invited: IntArray
    answered: IntArray
    taken_from: Sequence[str]
    notes: Sequence[str]


def groupings_of(
    places: Sequence[Place],
    stand_ins: IntArray,
    *,
    invited: IntArray,
    answered: IntArray,
    doubts: Mapping[str, BoolArray] | None = None,
) -> Groupings:
    """Put together what is known of every group, whatever is estimated.

    Parameters
    ----------
    places : sequence of Place
        The groups.
    stand_ins : array of int
        The stratum whose answers count for each.
    invited, answered : array of int
        People of every stratum.
    doubts : mapping of str to array of bool, optional
        What to be careful with, and in which strata.
    """
    notes = _notes_on_strata(doubts or {})
    return Groupings(
        column=[place.column for place in places for _ in place.labels],
        group=[label for place in places for label in place.labels],
        invited=_people(places, invited),
        answered=_people(places, answered),
        taken_from=[
            found.get(i, "")
            for place in places
            for found in [taken_from(stand_ins, answered, place.codes, place.labels)]
            for i in range(len(place.labels))
        ],
        notes=[
            notes.get(i, "") if place.column == STRATUM else ""
            for place in places
            for i in range(len(place.labels))
        ],
    )


def borrowed_in(plan: Design, places: Sequence[Place], answered: IntArray) -> FloatArray:
    """Return the share of the people of each group whose stratum takes a neighbour's result."""
    return np.concatenate(
        [borrowed_shares(plan, answered, place.codes, len(place.labels)) for place in places]
    )


def _people(places: Sequence[Place], numbers: IntArray) -> IntArray:
    return np.concatenate([added(place.codes, len(place.labels), numbers) for place in places])


def _notes_on_strata(doubts: Mapping[str, BoolArray]) -> dict[int, str]:
    notes: dict[int, str] = {}
    for words, strata in doubts.items():
        for i in np.flatnonzero(strata).tolist():
            notes[i] = f"{notes[i]}; {words}" if i in notes else words
    return notes


def added(codes: IntArray, number: int, people: IntArray) -> IntArray:
    """Add numbers of people up within groups of strata."""
    return np.bincount(codes, weights=people, minlength=number).astype(np.int64)
