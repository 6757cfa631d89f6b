"""The table that all results are: one estimate a row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dpstrata.fielding.intervals.tilt import Limits
from dpstrata.fielding.results.groupings import Groupings
from dpstrata.numerics.arrays import FloatArray, IntArray

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
