"""Strata put together to what is estimated: the whole, the domains, and each by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.domains import find_partitions
from dpstrata.designs.record import Design
from dpstrata.fielding.intervals.tilt import FindLimits, Groups, Limits
from dpstrata.numerics.arrays import IntArray


class Place(NamedTuple):
    """Groups of strata: the whole, those of a domain, or each by itself."""

    column: str
    labels: Sequence[str]
    codes: IntArray


def with_limits(
    plan: Design, stand_ins: IntArray, find_limits: FindLimits
) -> Iterator[tuple[Place, Groups, Limits]]:
    """Group strata to the whole, the domains and themselves, and find the intervals of all at once."""
    places, groups = zip(*grouped(plan, stand_ins), strict=True)
    joined = Groups.joined(groups, len(plan.strata))
    limits = find_limits(joined).split([each.number for each in groups])
    return zip(places, groups, limits, strict=True)


def grouped(plan: Design, stand_ins: IntArray) -> list[tuple[Place, Groups]]:
    """Group strata to the whole, the domains and themselves."""
    sizes, names = plan.strata.sizes, plan.strata.names
    found = find_partitions(plan.strata, plan.inputs)
    places = [Place(part.column or "all", part.groups, part.codes) for part in found]
    places[0] = places[0]._replace(labels=["all"])
    places.append(Place("stratum", names, np.arange(len(names))))
    return [(place, Groups.by_size(place.codes, len(place.labels), sizes, stand_ins)) for place in places]


def added(codes: IntArray, number: int, people: IntArray) -> IntArray:
    """Add numbers of people up within groups of strata."""
    return np.bincount(codes, weights=people, minlength=number).astype(np.int64)
