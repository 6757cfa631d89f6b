"""Strata put together to what is estimated: the whole, the domains, and each by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.domains import find_partitions
from dpstrata.designs.record import Design
from dpstrata.fielding.intervals.tilt import FindLimits, Groups, Limits
from dpstrata.numerics.arrays import IntArray
from dpstrata.numerics.identity import Same


class Place(NamedTuple):
    """Groups of strata: the whole, those of a domain, or each by itself."""

    column: str
    labels: Sequence[str]
    codes: IntArray


def with_limits(
    plan: Design, every: Sequence[tuple[Place, Groups]], find_limits: FindLimits
) -> Iterator[tuple[Place, Groups, Limits]]:
    """Find the intervals of all groups at once."""
    places, groups = zip(*every, strict=True)
    joined = Groups.joined(groups, len(plan.strata))
    limits = find_limits(joined).split([each.number for each in groups])
    return zip(places, groups, limits, strict=True)


def grouped(plan: Design, stand_ins: IntArray) -> list[tuple[Place, Groups]]:
    """Group strata to the whole, the domains and themselves, those last.

    Once for the same strata with answers, because every figure asks for them.
    """
    return _grouped(Same(plan), stand_ins.tobytes())


@lru_cache(maxsize=8)
def _grouped(same: Same, stand_ins: bytes) -> list[tuple[Place, Groups]]:
    plan: Design
    (plan,) = same.things  # type: ignore[assignment]
    instead = np.frombuffer(stand_ins, dtype=np.int64)
    sizes, names = plan.strata.sizes, plan.strata.names
    found = find_partitions(plan.strata, plan.inputs)
    places = [Place(part.column or "all", part.groups, part.codes) for part in found]
    places[0] = places[0]._replace(labels=["all"])
    places.append(Place("stratum", names, np.arange(len(names))))
    return [(place, Groups.by_size(place.codes, len(place.labels), sizes, instead)) for place in places]


def reported(plan: Design, stand_ins: IntArray) -> list[tuple[Place, Groups]]:
    """Group strata to what is reported: no cells of weighting classes by themselves."""
    every = grouped(plan, stand_ins)
    return every[:-1] if plan.inputs.has_classes else every


def added(codes: IntArray, number: int, people: IntArray) -> IntArray:
    """Add numbers of people up within groups of strata."""
    return np.bincount(codes, weights=people, minlength=number).astype(np.int64)
