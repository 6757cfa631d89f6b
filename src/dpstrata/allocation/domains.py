"""Domains: groups of strata whose own means are wanted, and the precision each must reach."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.files.cells import text_of
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.strata import EXPECTED, Strata

WHOLE = "all"
_MOST_TARGETS = 2000
_MOST_NAMES = 5


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The strata grouped by one column, or all of them together.

    Attributes
    ----------
    column : str or None
        The column; ``None`` for the whole population.
    groups : tuple of str
        Its domains, in the order in which they appear.
    codes : array of int
        Position of each stratum's domain among the groups.
    weights : array
        (N_i / N of its domain)²: what the variance of the stratum's mean counts in the domain's.
    populations : array of int
        People in each domain.
    limits : array
        Variance that each domain may have at most; infinite without a target.
    """

    column: str | None
    groups: tuple[str, ...]
    codes: IntArray
    weights: FloatArray
    populations: IntArray
    limits: FloatArray

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up a value of each stratum, weighted, within every domain."""
        if self.column is None:
            return np.array([(self.weights * values).sum()])
        sums = np.bincount(self.codes, weights=self.weights * values, minlength=len(self.groups))
        return sums.astype(float, copy=False)

    def variances(self, sampling: FloatArray, privacy: FloatArray) -> FloatArray:
        """Variance of every domain's mean from those of its strata, to the last digit as it is reported."""
        return self.sums(sampling) + self.sums(privacy)


@dataclass(frozen=True, slots=True)
class Domain:
    """One domain in a design.

    Attributes
    ----------
    column, group : str
        Where it comes from; ``all`` for the whole population.
    strata, population, sample_size : int
        How many strata, people, and people to invite.
    standard_error : float
        Of its mean.
    target : float or None
        The standard error to reach.
    shadow_price : float or None
        What a target looser by 1% in the standard error would save, in interviews or cost, or in variance of
        the whole where a budget is spent; 0 where the target does not bind.
    """

    column: str
    group: str
    strata: int
    population: int
    sample_size: int
    standard_error: float
    target: float | None
    shadow_price: float | None

    @property
    def binds(self) -> bool:
        """Whether its target costs anything."""
        return bool(self.shadow_price)


def find_partitions(strata: Strata, inputs: Inputs) -> tuple[Partition, ...]:
    """Group the strata by every column that the inputs name; the whole population comes first.

    Raises
    ------
    InputError
        If a column or a domain is not there, or a target is not a positive number.
    """
    asked = inputs.targets
    target = asked.variance
    found = [_partition(strata, None, [WHOLE] * len(strata), {} if target is None else {WHOLE: target})]
    for column, given in (inputs.domains or {}).items():
        cells = _cells(strata, column)
        goals = given if isinstance(given, Mapping) else dict.fromkeys(cells, given)
        wanted = {group: goal for group, goal in goals.items() if goal is not None}
        known = set(cells)
        unknown = [group for group in wanted if group not in known]
        if unknown:
            groups = list(dict.fromkeys(cells))
            listed = ", ".join(groups[:_MOST_NAMES]) + (", ..." if len(groups) > _MOST_NAMES else "")
            raise InputError(
                f"column {column!r} has no group {unknown[0]!r}; it has {listed}.",
                argument="domains",
                value=unknown[0],
                where=f"column {column!r}",
            )
        means = _group_means(strata, column, cells) if wanted and inputs.target_cv is not None else {}
        targets = {group: asked.variance_of(goal, means.get(group)) for group, goal in wanted.items()}
        found.append(_partition(strata, column, cells, targets))
    number = sum(int(np.isfinite(part.limits).sum()) for part in found)
    if number > _MOST_TARGETS:
        raise InputError(
            f"a design can meet at most {_MOST_TARGETS:,} targets, got {number:,}.", argument="domains"
        )
    return tuple(found)


def _group_means(strata: Strata, column: str, cells: Sequence[str]) -> dict[str, float]:
    """Return the mean that is expected in every domain of a column: that of its strata, by size."""
    means = strata.expected_means()
    if means is None:
        raise InputError(
            f"{option('target_cv')} with targets for domains requires a column {EXPECTED!r} of the strata, "
            "with the mean expected in each, got none."
        )
    part = _partition(strata, column, cells, {})
    sums = np.bincount(part.codes, weights=strata.sizes * means)
    by_group = dict(zip(part.groups, (sums / part.populations).tolist(), strict=True))
    for group, mean in by_group.items():
        if mean == 0:
            raise InputError(
                f"the mean expected in the group {group!r} of column {column!r} must not be 0, got 0.",
                where=f"column {column!r}",
            )
    return by_group


def describe_domains(
    partitions: Sequence[Partition],
    variances: tuple[FloatArray, FloatArray],
    sizes: IntArray,
    prices: Sequence[float] | None,
    once: Mapping[str | None, FloatArray] | None = None,
) -> tuple[Domain, ...]:
    """Say what every domain gets.

    Parameters
    ----------
    partitions : sequence of Partition
        As found.
    variances : pair of arrays
        Variance of each stratum's mean from sampling and from privacy.
    sizes : array of int
        People to invite.
    prices : sequence of float or None
        What a unit of each target's variance costs, for the targets in their order.
    once : mapping, optional
        By column, what the noise that every domain's figure has once adds to its variance.
    """
    described = []
    costs = iter(() if prices is None else prices)
    for part in partitions:
        invited = np.bincount(part.codes, weights=sizes, minlength=len(part.groups))
        members = np.bincount(part.codes, minlength=len(part.groups))
        found = part.variances(*variances) + (once[part.column] if once else 0.0)
        for i, variance in enumerate(found.tolist()):
            limit = float(part.limits[i])
            targeted = math.isfinite(limit)
            # V = se², so 1% of the standard error is 2% of the variance.
            price = 0.02 * limit * next(costs) if targeted and prices is not None else None
            described.append(
                Domain(
                    column=part.column or WHOLE,
                    group=part.groups[i],
                    strata=int(members[i]),
                    population=int(part.populations[i]),
                    sample_size=int(invited[i]),
                    standard_error=math.sqrt(variance),
                    target=math.sqrt(limit) if targeted else None,
                    shadow_price=price,
                )
            )
    return tuple(described)


def _cells(strata: Strata, column: str) -> list[str]:
    if column == "stratum":
        return list(strata.names)
    if column not in strata.extra:
        known = ", ".join(map(repr, ["stratum", *strata.extra]))
        raise InputError(
            f"{option('domains')} must name columns of the strata ({known}), got {column!r}.", value=column
        )
    cells = []
    for row, cell in enumerate(strata.extra[column]):
        text = text_of(cell)
        if not text:
            raise InputError(
                f"column {column!r} must name a domain for every stratum, "
                f"got nothing in stratum {strata.name(row)!r}.",
                argument="domains",
                value=column,
                where=f"stratum {strata.name(row)!r}",
            )
        cells.append(text)
    return cells


def _partition(
    strata: Strata, column: str | None, cells: Sequence[str], targets: Mapping[str, float]
) -> Partition:
    groups = tuple(dict.fromkeys(cells))
    place = {group: i for i, group in enumerate(groups)}
    codes = np.array([place[cell] for cell in cells], dtype=np.int64)
    populations = np.zeros(len(groups), dtype=np.int64)
    np.add.at(populations, codes, strata.sizes)
    share = strata.sizes / populations[codes]
    limits = np.array([targets.get(group, math.inf) for group in groups])
    return Partition(
        column, groups, read_only(codes), read_only(share * share), read_only(populations), read_only(limits)
    )
