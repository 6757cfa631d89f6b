r"""Figures of many strata in whole numbers, and the noise that they get.

A figure is :math:`\sum_i a_i T_i / m_i` in steps of the reports' grid: T the sum of a stratum's m reports, a
its share of the people. The weights a/m are rounded to whole multiples w of a tiny unit, so that the figure
is a whole number :math:`\sum_i w_i T_i` of them. One answer moves T by at most K steps, so discrete Laplace
noise of scale β, in units, spends exactly :math:`w_i K / \beta` of it: what is rounded is counted. Of a
question that is no number there is a figure for each answer, with the same weights and a draw of noise each;
one answer moves two of them by one step each, so that K is 2. Several questions share the budget.
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
from dpstrata.fielding.randomizers import randomizer_of
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.randomness import discrete_laplace

# Budgets are rounded down, and scales up, by more than any logarithm can be off.
_DOWN = 1.0 - 2.0**-48
_UP = 1.0 + 2.0**-48
_CLOSE = 2.0**19  # a figure is off by rounding less than the scale of its noise over this
_LARGEST = 2.0**57  # of a scale in units, so that noise is a whole number of 64 bits


@dataclass(frozen=True, slots=True, eq=False)
class FigureGrid:
    """One published figure in whole numbers, or the figures of all answers to a question.

    Attributes
    ----------
    question : int
        Position among the figures of the form.
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

    question: int
    column: str
    group: str
    strata: IntArray
    weights: tuple[int, ...]
    unit: Fraction
    scale: float

    def draw_noise(self, figures: int) -> list[int]:
        """Draw the noise of so many figures, in units."""
        return [int(each) for each in discrete_laplace(self.scale, figures)]

    def noised_steps(self, sums: list[int], noise: int) -> float:
        """Return the noised mean of its reports in steps, given the sums of all strata."""
        rows = self.strata.tolist()
        units = sum(w * sums[i] for w, i in zip(self.weights, rows, strict=True)) + noise
        return float(units * self.unit)


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
    one, figures = SingleMean(plan.problem), randomizer_of(plan, 1).figures
    planned = one.raised_to_answers(answers, one.strengths_at(plan.sample_sizes))
    m = np.maximum(answers, 1)
    allowed = one.room_of_answers(m.astype(float)) / m * _DOWN
    grids: list[list[FigureGrid]] = []  # those that are scaled together
    parts = published(plan.partitions)
    for part, strengths in zip(parts, planned, strict=True):
        stand_ins = FigureStandIns.of(part.codes, len(part.groups), answers)
        people = stand_ins.people(part.codes, plan.strata.sizes)
        for g, group in enumerate(part.groups):
            if stand_ins.groups[g] != g:
                continue
            rows = np.flatnonzero((part.codes == g) & (answers > 0))
            name, least = (part.column or WHOLE, group), float(allowed[rows].min())
            grids.append(
                [
                    _grid(
                        (j, *name),
                        rows,
                        people[rows],
                        answers[rows],
                        each.scale / float(strengths[g]),
                        each.moved,
                        least,
                    )
                    for j, each in enumerate(figures)
                ]
            )
    if len(planned) > 1:
        grids = [[grid for group in grids for grid in group]]
    moved = [each.moved for each in figures]
    return [grid for group in grids for grid in _within(group, moved, allowed)]


def _grid(
    name: tuple[int, str, str],
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


def _within(grids: list[FigureGrid], moved: list[int], allowed: FloatArray) -> list[FigureGrid]:
    """Set the scales of figures so that no stratum spends more on all of them together than it may."""
    spent = np.zeros(len(allowed))
    for each in grids:
        weights = np.array([float(w) for w in each.weights])
        spent[each.strata] += weights * moved[each.question] / each.scale
    most = float((spent / allowed).max())
    return [replace(each, scale=each.scale * most * _UP) for each in grids]
