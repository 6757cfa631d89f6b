"""Groups of strata whose means are wanted: domains with their targets, and the figures published of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpstrata.allocation.terms import Terms
from dpstrata.errors import InputError, option
from dpstrata.files.cells import text_of
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.survey.goals import each_target
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.strata import EXPECTED, Strata
from dpstrata.survey.targets import CV, PrecisionTarget

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
    asked : tuple of PrecisionTarget or None
        The target of each domain as it was asked for.
    expected_means : tuple of float or None
        The mean expected in each domain, as far as it is known.
    """

    column: str | None
    groups: tuple[str, ...]
    codes: IntArray
    weights: FloatArray
    populations: IntArray
    limits: FloatArray
    asked: tuple[PrecisionTarget | None, ...]
    expected_means: tuple[float | None, ...]

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
    asked : str or None
        The target as it was asked for: ``0.15cv``, ``0.02se`` or ``0.03margin``.
    expected_mean : float or None
        The mean that is expected, if some target is a coefficient of variation.
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
    asked: str | None
    expected_mean: float | None
    shadow_price: float | None

    @property
    def cv(self) -> float | None:
        """The coefficient of variation, if some target is one."""
        return self.standard_error / abs(self.expected_mean) if self.expected_mean else None

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
    asked, means = inputs.targets, _known_means(strata, inputs)
    whole = {} if asked.whole is None else {WHOLE: asked.whole}
    found = [_partition(strata, inputs, None, [WHOLE] * len(strata), whole, means)]
    for column, given in asked.domains.items():
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
        found.append(_partition(strata, inputs, column, cells, wanted, means))
    number = sum(int(np.isfinite(part.limits).sum()) for part in found)
    if number > _MOST_TARGETS:
        raise InputError(
            f"a design can meet at most {_MOST_TARGETS:,} targets, got {number:,}.", argument="domains"
        )
    return tuple(found)


def _known_means(strata: Strata, inputs: Inputs) -> FloatArray | None:
    """Return the mean expected in every stratum, which coefficients of variation of domains need."""
    if not inputs.targets:
        return None
    required = any(isinstance(target, CV) for _, _, target in each_target(inputs.domains))
    try:
        means = strata.expected_means(inputs.question)
    except InputError:
        if required:
            raise
        return None  # a column of that name that holds something else
    if means is None and required:
        raise InputError(
            "a coefficient of variation of a group is relative to its mean, so the strata must have a column "
            f"{EXPECTED!r} or 'proportion', got neither.",
            argument="domains",
        )
    return means


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
    relative = any(isinstance(target, CV) for part in partitions for target in part.asked)
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
                    asked=None if part.asked[i] is None else str(part.asked[i]),
                    expected_mean=part.expected_means[i] if relative else None,
                    shadow_price=price,
                )
            )
    return tuple(described)


def _cells(strata: Strata, column: str) -> list[str]:
    if column == "stratum":
        return list(strata.names)
    if column not in strata.extra:
        known = ", ".join(map(repr, ["stratum", *(name for name in strata.extra if name != EXPECTED)]))
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
    strata: Strata,
    inputs: Inputs,
    column: str | None,
    cells: Sequence[str],
    targets: Mapping[str, PrecisionTarget],
    means: FloatArray | None,
) -> Partition:
    """Group strata; ``means`` are those expected in each, if they are known."""
    groups = tuple(dict.fromkeys(cells))
    place = {group: i for i, group in enumerate(groups)}
    codes = np.array([place[cell] for cell in cells], dtype=np.int64)
    populations = np.zeros(len(groups), dtype=np.int64)
    np.add.at(populations, codes, strata.sizes)
    share = strata.sizes / populations[codes]
    expected: list[float | None] = [None] * len(groups)
    if means is not None:
        expected = np.bincount(codes, weights=share * means).tolist()
    if column is None and inputs.expected_mean is not None:
        expected = [inputs.expected_mean]
    asked = tuple(targets.get(group) for group in groups)
    for group, mean, target in zip(groups, expected, asked, strict=True):
        if isinstance(target, CV) and mean == 0:
            raise InputError(
                f"the mean expected in the group {group!r} of column {column!r} must not be 0, got 0.",
                where=f"column {column!r}",
            )
    pairs = zip(asked, expected, strict=True)
    limits = [math.inf if each is None else inputs.targets.variance_of(each, mean) for each, mean in pairs]
    return Partition(
        column=column,
        groups=groups,
        codes=read_only(codes),
        weights=read_only(share * share),
        populations=read_only(populations),
        limits=read_only(np.array(limits)),
        asked=asked,
        expected_means=tuple(expected),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Figures that do not overlap and together cover every stratum.

    Parameters
    ----------
    codes : array of int
        The figure that each stratum belongs to, from 0 on.
    coefficients : array
        a >= 0: what the mean of a stratum counts in its figure, times the stretch that takes the bias of
        devices out.
    weights : array
        ω >= 0 of each figure: what the variance of its noise counts in the objective.
    """

    codes: IntArray
    coefficients: FloatArray
    weights: FloatArray

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.coefficients) or not np.all(self.coefficients >= 0):
            raise InputError("a figure needs one coefficient for every stratum, none of them negative.")
        if not np.all(self.sums(self.coefficients) > 0):
            raise InputError("some coefficient of every figure must be positive, got a figure without one.")

    def __len__(self) -> int:
        return len(self.weights)

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up a value of each stratum within every figure."""
        if len(self) == 1:
            return np.array([values.sum()])
        return np.bincount(self.codes, weights=values, minlength=len(self)).astype(float, copy=False)

    def moved(self, stand_ins: IntArray) -> Family:
        """Let the strata that stand in for others without an answer count for these too.

        Those of a figure without any answer, which is not published, stay as they are.
        """
        inside = self.codes[stand_ins] == self.codes
        counted = np.where(inside, stand_ins, np.arange(len(stand_ins)))
        coefficients = np.bincount(counted, weights=self.coefficients, minlength=len(stand_ins))
        return Family(self.codes, coefficients.astype(float), self.weights)

    def smallest(self, values: FloatArray) -> FloatArray:
        """Smallest value of the strata of every figure."""
        if len(self) == 1:
            return np.array([values.min()])
        out = np.full(len(self), np.inf)
        np.minimum.at(out, self.codes, values)
        return out


@dataclass(frozen=True, slots=True)
class Figure:
    """A published mean with one draw of noise.

    Attributes
    ----------
    column, group : str
        The domain; ``all`` for the whole population.
    scale : float
        b of its Laplace noise, whose variance is 2b².
    """

    column: str
    group: str
    scale: float


def published(partitions: Sequence[Partition]) -> Sequence[Partition]:
    """Return the columns of domains whose groups are figures; without any, the population is the only one."""
    return [part for part in partitions if part.column is not None] or partitions


def figures_of(partitions: Sequence[Partition], scales: Sequence[FloatArray]) -> tuple[Figure, ...]:
    """Name the figures that :func:`families_of` states, with their scales."""
    return tuple(
        Figure(part.column or WHOLE, group, scale)
        for part, each in zip(published(partitions), scales, strict=True)
        for group, scale in zip(part.groups, each.tolist(), strict=True)
    )


def families_of(
    terms: Terms, partitions: Sequence[Partition], *, stretch: float = 1.0, weight: float = 1.0
) -> tuple[Family, ...]:
    """State the figures that are published: one of the population, or one for each domain.

    Every column of domains is a family. Its figures give the population mean too, each weighted by its share
    of the people; what is minimised is the average of its noise over the families.

    Parameters
    ----------
    terms : Terms
        Sizes and coefficients.
    partitions : sequence of Partition
        As they are found: the whole population first.
    stretch : float
        By how many ranges what devices send can move.
    weight : float
        How often the noise of a figure counts: the figures of several questions share a budget.
    """
    columns = published(partitions)
    if not columns or columns[0].column is None:
        whole = np.zeros(len(terms), dtype=np.int64)
        return (Family(whole, np.abs(terms.coefficients) * stretch, np.full(1, weight)),)
    people = int(terms.sizes.sum())
    return tuple(
        Family(
            part.codes,
            terms.sizes / part.populations[part.codes] * stretch,
            weight * (part.populations / people) ** 2 / len(columns),
        )
        for part in columns
    )
