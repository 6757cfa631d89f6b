r"""Figures of many strata in whole numbers, and the noise that they get.

A figure is :math:`\sum_i a_i T_i / m_i` in steps of the reports' grid: T the sum of a stratum's m reports, a
its share of the people. The weights a/m are rounded to whole multiples w of a tiny unit, so that the figure
is a whole number :math:`\sum_i w_i T_i` of them. One answer moves T by at most K steps, so discrete Laplace
noise of scale β, in units, spends exactly :math:`w_i K / \beta` of it: what is rounded is counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpstrata.allocation.domains import WHOLE, published
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.designs.record import Design
from dpstrata.fielding.neighbours import FigureStandIns
from dpstrata.fielding.randomizers.noise import noise_at
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.randomness import discrete_laplace

# Budgets are rounded down, and scales up, by more than any logarithm can be off.
_DOWN = 1.0 - 2.0**-48
_UP = 1.0 + 2.0**-48
_FINE = 2**20  # steps of raw answers that have no grid of their own
_CLOSE = 2.0**19  # a figure is off by rounding less than the scale of its noise over this
_LARGEST = 2.0**57  # of a scale in units, so that noise is a whole number of 64 bits


@dataclass(frozen=True, slots=True, eq=False)
class FigureGrid:
    """One published figure in whole numbers.

    Attributes
    ----------
    column, group : str
        The domain; ``all`` for the whole population.
    strata : array of int
        Places of its strata.
    weights : tuple of int
        w of each of them.
    unit : Fraction
        What one counts, in steps of a mean.
    scale : float
        β, in units.
    """

    column: str
    group: str
    strata: IntArray
    weights: tuple[int, ...]
    unit: Fraction
    scale: float

    def draw_noise(self) -> int:
        """Draw its noise, in units."""
        return int(discrete_laplace(self.scale, 1)[0])

    def noised_steps(self, sums: list[int], noise: int) -> float:
        """Return the noised mean of its reports in steps, given the sums of all strata."""
        rows = self.strata.tolist()
        units = sum(w * sums[i] for w, i in zip(self.weights, rows, strict=True)) + noise
        return float(units * self.unit)


def report_steps(plan: Design) -> int:
    """Return K: by how many units two reports of one person can differ."""
    if plan.inputs.release_form.device is not None:
        return noise_at(plan, 0).width
    return plan.inputs.space.steps or _FINE


def figure_grids(plan: Design, answers: IntArray) -> list[FigureGrid]:
    """State the figures of a survey in whole numbers, with the scale of their noise.

    Parameters
    ----------
    plan : Design
        A design that publishes figures with one draw of noise each.
    answers : array of int
        How many people answered in each stratum; these numbers are public. A stratum without an answer is
        stood in for by its neighbour in the same group, which then counts for the people of both. A group
        without an answer has no figure.
    """
    one, K = SingleMean(plan.problem), report_steps(plan)
    planned = one.raised_to_answers(answers, one.strengths_at(plan.sample_sizes))
    m = np.maximum(answers, 1)
    allowed = one.room_of_answers(m.astype(float)) / m * _DOWN
    # from a scale of a mean to one in steps of reports
    per_step = plan.inputs.space.range * plan.inputs.release_form.stretch / K
    grids: list[FigureGrid] = []
    spent = np.zeros(len(answers))
    parts = published(plan.partitions)
    for part, strengths in zip(parts, planned, strict=True):
        stand_ins = FigureStandIns.of(part.codes, len(part.groups), answers)
        people = stand_ins.people(part.codes, plan.strata.sizes)
        for g, group in enumerate(part.groups):
            if stand_ins.groups[g] != g:
                continue
            rows = np.flatnonzero((part.codes == g) & (answers > 0))
            steps = 1.0 / (float(strengths[g]) * per_step)
            name = part.column or WHOLE, group
            grid = _grid(name, rows, people[rows], answers[rows], steps, K, float(allowed[rows].min()))
            spent[rows] += np.array([float(w) for w in grid.weights]) * K / grid.scale
            grids.append(grid)
    return _within(grids, spent / allowed, together=len(planned) > 1)


def _grid(
    name: tuple[str, str],
    rows: IntArray,
    sizes: IntArray,
    answers: IntArray,
    steps: float,
    K: int,
    least: float,
) -> FigureGrid:
    """Round the weights of one figure whose noise is to have a scale of so many steps, nearly."""
    m, N = answers.tolist(), sizes.tolist()
    units = min(max(_CLOSE * sum(m) * K, 2.0 * _CLOSE * K / min(least, 1.0)), _LARGEST)  # of the scale
    shift = max(math.ceil(math.log2(units / steps)), 0)
    people = sum(N)
    weights = tuple(
        (2 * (size << shift) + people * count) // (2 * people * count)
        for size, count in zip(N, m, strict=True)
    )
    return FigureGrid(*name, rows, weights, Fraction(1, 1 << shift), steps * 2.0**shift)


def _within(grids: list[FigureGrid], used: FloatArray, *, together: bool) -> list[FigureGrid]:
    """Set the scales so that no stratum spends more than it may: figure by figure, or all together."""
    most = float(used.max())
    return [
        replace(each, scale=each.scale * (most if together else float(used[each.strata].max())) * _UP)
        for each in grids
    ]
