"""Several precision targets as one problem: what sizes give, and what each target allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpstrata.allocation.domains import Partition
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import combined_weights, needed_sizes, unit_terms
from dpstrata.allocation.solvers.primitive import sizes_at_prices
from dpstrata.allocation.variances import mean_variances, stratum_variances
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray


class TargetProblem:
    """Least cost within targets; vectors of targets have one entry for each.

    Parameters
    ----------
    problem : Problem
        Terms and bounds; its total is not used.
    costs : array or None
        Cost of one person; ``None`` counts people.
    partitions : sequence of Partition
        The domains with their targets.
    most : array of int
        Sizes beyond which more people hurt; they must meet every target.
    finite_population : bool
        Whether variances count the finite population correction.
    """

    def __init__(
        self,
        problem: Problem,
        costs: FloatArray | None,
        partitions: Sequence[Partition],
        most: IntArray,
        *,
        finite_population: bool,
    ) -> None:
        self.problem = problem
        self.counts_people = costs is None
        self.costs = np.ones(len(most)) if costs is None else costs
        self.partitions = [part for part in partitions if np.isfinite(part.limits).any()]
        self.bound = [np.isfinite(part.limits) for part in self.partitions]
        self.limits = np.concatenate(
            [part.limits[bound] for part, bound in zip(self.partitions, self.bound, strict=True)]
        )
        self.most = most
        self.lower = needed_sizes(problem, partitions, most, finite_population=finite_population)
        self.finite_population = finite_population
        self.correction: FloatArray = np.zeros(len(most))
        if finite_population:
            self.correction = problem.forms.correction(problem.terms.sizes)
        self.unit = unit_terms(problem.terms)
        self.base: FloatArray = np.zeros(len(most))
        """What a unit of variance of each stratum's mean costs beside the targets."""

    def weights(self, prices: FloatArray) -> FloatArray:
        """Return what a unit of variance of each stratum's mean costs at prices of the targets."""
        return self.base + combined_weights(self.partitions, prices)

    def sums(self, values: FloatArray) -> FloatArray:
        """Add up a value of each stratum in every target."""
        return np.concatenate(
            [part.sums(values)[bound] for part, bound in zip(self.partitions, self.bound, strict=True)]
        )

    def variances(self, sizes: IntArray | FloatArray) -> FloatArray:
        """Variance of each stratum's mean."""
        return mean_variances(self.problem, sizes, finite_population=self.finite_population)

    def missed(self, sizes: IntArray) -> BoolArray:
        """Which targets are missed."""
        parts = stratum_variances(self.problem, sizes, finite_population=self.finite_population, planned=True)
        reached = [
            part.variances(*parts)[bound] for part, bound in zip(self.partitions, self.bound, strict=True)
        ]
        return np.concatenate(reached) > self.limits

    def cost(self, sizes: IntArray | FloatArray) -> float:
        """Cost of an allocation."""
        return float((self.costs * sizes).sum())

    def at(self, prices: FloatArray, guess: IntArray) -> IntArray:
        """Best whole sizes at prices of the targets."""
        return sizes_at_prices(self.unit, self.weights(prices), self.costs, self.lower, self.most, guess)

    def uses(self, row: int, variances: FloatArray) -> FloatArray:
        """Return what variances of one stratum's mean, without the correction, use of every target."""
        return np.outer(variances - self.correction[row], self.shares(np.array([row])))

    def shares(self, rows: IntArray) -> FloatArray:
        """Weight of some strata in every target."""
        columns = [
            np.where(part.codes[rows] == group, part.weights[rows], 0.0)
            for part, bound in zip(self.partitions, self.bound, strict=True)
            for group in np.flatnonzero(bound)
        ]
        return np.column_stack(columns)
