"""The table that all results are, one estimate a row, and the groups that estimates are for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dpstrata.allocation.domains import WHOLE
from dpstrata.designs.record import Design
from dpstrata.fielding.answer_files import STRATUM
from dpstrata.fielding.intervals.tilt import Groups, Limits
from dpstrata.fielding.neighbours import borrowed_shares, taken_from
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray

Texts: TypeAlias = npt.NDArray[np.object_]

TOTAL = "total"
"""Group column of the population total."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its precision: a row of :class:`dpstrata.Results`.

    Attributes
    ----------
    question : str
        The question; of a cross-table all of them.
    level : str
        Of a share: yes, a category, or a combination of answers; empty for a mean.
    column, group : str
        What it is estimated for: ``all``, ``total`` (the population total), a stratum, or a domain.
    estimate, standard_error : float
        The estimate and its standard error, from sampling and privacy together. Shares are not clipped to 0
        and 1, so that they add up.
    lower, upper : float
        Interval at the design's confidence, which holds for all levels of a question together; never outside
        what is possible.
    invited, answered : int
        How many people were to be asked, and how many answered.
    taken_from : str
        Of a group in which nobody answered: the one whose result it takes.
    largest_bias : float or None
        The largest error that strata without an answer can make in it: the share of its people who are in
        such strata, times the range of the figure. The interval does not contain it. ``None`` for ratios
        with such strata.
    safe_lower, safe_upper : float or None
        Of a mean that is published as one number: the interval that holds whatever the spreads of the strata
        are. The other one trusts which strata the design takes to vary.
    notes : str
        What to be careful with.
    """

    question: str
    level: str
    column: str
    group: str
    estimate: float
    standard_error: float
    lower: float
    upper: float
    invited: int
    answered: int
    taken_from: str = ""
    largest_bias: float | None = 0.0
    safe_lower: float | None = None
    safe_upper: float | None = None
    notes: str = ""


class Columns(NamedTuple):
    """The same as columns, because there may be many strata; NaN where a row has no such figure."""

    question: Texts
    level: Texts
    column: Texts
    group: Texts
    estimate: FloatArray
    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    invited: IntArray
    answered: IntArray
    taken_from: Texts
    largest_bias: FloatArray
    safe_lower: FloatArray
    safe_upper: FloatArray
    notes: Texts

    @classmethod
    def joined(cls, each: Sequence[Columns]) -> Columns:
        """Put tables below each other."""
        return cls(*map(np.concatenate, zip(*each, strict=True)))

    def at(self, rows: Any) -> Columns:
        """Choose rows, by their places or a mask."""
        return Columns(*(values[rows] for values in self))

    def lists(self) -> dict[str, list[Any]]:
        """Return them as lists, ``None`` where a row has no such figure."""
        found = {name: values.tolist() for name, values in self._asdict().items()}
        for name in ("largest_bias", "safe_lower", "safe_upper"):
            found[name] = [None if math.isnan(value) else value for value in found[name]]
        return found


IN_UNITS = (
    "estimate",
    "standard_error",
    "lower",
    "upper",
    "largest_bias",
    "safe_lower",
    "safe_upper",
)
"""Columns in the units of the figure."""


class Cells(NamedTuple):
    """Figures of a question: levels in rows, groups in columns."""

    estimates: FloatArray
    errors: FloatArray
    limits: Limits
    largest_biases: FloatArray
    safe: Limits | None = None


def columns_of(question: str, levels: Sequence[str], groupings: Groupings, cells: Cells) -> Columns:
    """Put the figures of a question together, group by group with all levels of each."""
    number, groups = len(levels), len(groupings.group)
    nothing = np.full((number, groups), np.nan)
    safe = cells.safe or Limits(nothing, nothing)

    def flat(values: FloatArray) -> FloatArray:
        return np.asarray(values, dtype=float).T.ravel()

    def of_groups(values: Iterable[Any]) -> Any:
        return np.repeat(texts(values), number)

    return Columns(
        question=texts([question] * (number * groups)),
        level=texts(list(levels) * groups),
        column=of_groups(groupings.column),
        group=of_groups(groupings.group),
        estimate=flat(cells.estimates),
        standard_error=flat(cells.errors),
        lower=flat(cells.limits.lower),
        upper=flat(cells.limits.upper),
        invited=np.repeat(groupings.invited, number),
        answered=np.repeat(groupings.answered, number),
        taken_from=of_groups(groupings.taken_from),
        largest_bias=flat(cells.largest_biases),
        safe_lower=flat(safe.lower),
        safe_upper=flat(safe.upper),
        notes=of_groups(groupings.notes),
    )


def texts(values: Iterable[str]) -> Texts:
    """Take texts as an array of any lengths."""
    found = list(values)
    array = np.empty(len(found), dtype=object)
    array[:] = found
    return array


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
