"""Published figures: the mean of the population, or those of groups of strata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpstrata.allocation.domains import WHOLE, Partition
from dpstrata.allocation.terms import Terms
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import FloatArray, IntArray


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


def families_of(terms: Terms, partitions: Sequence[Partition], *, stretch: float = 1.0) -> tuple[Family, ...]:
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
    """
    columns = published(partitions)
    if not columns or columns[0].column is None:
        whole = np.zeros(len(terms), dtype=np.int64)
        return (Family(whole, np.abs(terms.coefficients) * stretch, np.ones(1)),)
    people = int(terms.sizes.sum())
    return tuple(
        Family(
            part.codes,
            terms.sizes / part.populations[part.codes] * stretch,
            (part.populations / people) ** 2 / len(columns),
        )
        for part in columns
    )
