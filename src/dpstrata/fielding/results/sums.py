r"""Estimates from one noised sum a stratum, with the number of its answers.

In a stratum with m reports, device noise of variance d and office noise of variance v, the variance of the
mean is

.. math:: \frac{S^2}{m} \left(1 - \frac{m}{N}\right) + \frac{d}{m} + \frac{v}{m^2} .

A sum shows no spread, so S is that of the design; but the share of yes shows that of yes and no.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import COUNT, SUM, read_noised, read_numbers
from dpstrata.fielding.intervals.of_design import (
    limits_over_surveys,
)
from dpstrata.fielding.intervals.tilt import Limits
from dpstrata.fielding.results.combining import combine
from dpstrata.fielding.results.figures import Figure, QuestionFigures, StratumParts, doubts_about, levels_of
from dpstrata.fielding.results.reader import Reader, Surveys
from dpstrata.fielding.results.results import Results
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import FloatArray, IntArray


class SumsReader(Reader):
    """Estimate from noised sums."""

    def read(self, table: Table, stratum: str) -> tuple[Sequence[Any], ...]:
        """Read noised sums, and how many answers each has."""
        names, sums = read_noised(table, stratum, SUM)
        counts = read_numbers(table, COUNT)
        return names, _means(sums, counts), counts

    def estimate(self, *columns: Any) -> Results:
        """Estimate from noised means."""
        return estimate_from_means(self.plan, *columns)

    def limits_in_surveys(self, surveys: Surveys) -> Limits:
        """Find them from the noised means of each."""
        slope, pairs = _slope_of(self.plan), zip(surveys.means, surveys.counts, strict=True)
        parts = [_parts_of(self.plan, means, counts) for means, counts in pairs]
        return limits_over_surveys(self.plan, [each.limits(self.plan, slope) for each in parts])


def answer_counts(plan: Design, given: npt.ArrayLike) -> IntArray:
    """Check how many answers each stratum has."""
    numbers = np.asarray(given, dtype=float)
    whole = np.isfinite(numbers) & (numbers == np.floor(numbers)) & (numbers >= 0)
    if not np.all(whole & (numbers <= plan.sample_sizes)):
        raise InputError("every stratum must have at most one answer for each invitation.")
    return numbers.astype(np.int64)


def _means(sums: Sequence[float], counts: Sequence[float]) -> list[float]:
    """Divide sums by their numbers of answers; without any, what is published is noise alone."""
    return [0.0 if count == 0 else value / count for value, count in zip(sums, counts, strict=True)]


def estimate_from_means(
    plan: Design, strata: Sequence[str], means: npt.ArrayLike, answers: npt.ArrayLike
) -> Results:
    """Estimate from noised means.

    Parameters
    ----------
    plan : Design
        A design that publishes sums.
    strata : sequence of str
        Every stratum of the design once.
    means : array
        The noised sum of each over its number of answers.
    answers : array of int
        How many answers each is of.
    """
    if sorted(strata) != sorted(plan.strata.names):
        raise InputError("there must be one noised sum for every stratum of the design.")
    place = {name: i for i, name in enumerate(strata)}
    order = np.array([place[name] for name in plan.strata.names])
    values = np.asarray(means, dtype=float)[order]
    counts = answer_counts(plan, np.asarray(answers, dtype=float)[order])
    if not np.all(np.isfinite(values)):
        raise InputError("every noised sum must be a number.")
    return combine(plan, [figures_from_means(plan, values, counts)], answered=counts)


def figures_from_means(plan: Design, means: FloatArray, counts: IntArray) -> QuestionFigures:
    """Take noised means, in the order of the strata, for the figures of the only question."""
    shown = plan.inputs.space.values == 2  # the share of yes shows the spread, and other sums show none
    parts, question = _parts_of(plan, means, counts), plan.inputs.question
    return QuestionFigures(
        question.name,
        [Figure.of(plan, parts, parts.limits(plan, _slope_of(plan)), *levels_of(question))],
        doubts_about(counts) if shown else {},
        planned=not shown,
        splits=shown,
    )


def _parts_of(plan: Design, means: FloatArray, counts: IntArray) -> StratumParts:
    """Return what noised means show of the strata."""
    problem, answers = plan.problem, np.maximum(counts, 1).astype(float)
    parts = problem.forms.parts_given_answers(
        problem.terms, plan.sample_sizes, answers, finite_population=False
    )
    device, office = parts.device[:, 0], parts.office[:, 0]
    return StratumParts(
        means=means,
        counts=counts,
        sampling=_spreads(plan, means, counts, device + office),
        device=device,
        office=office,
    )


def _slope_of(plan: Design) -> float:
    """Return by how much more often an answer that devices flip is reported where it is true."""
    device, E = plan.inputs.release_form.device, plan.inputs.device_epsilon
    return 1.0 if device is None or E is None else 1.0 / device.debiasing(E)


def _spreads(plan: Design, means: FloatArray, counts: IntArray, noise: FloatArray) -> FloatArray:
    """Return the variance of the answers: of yes and no from the share of yes, otherwise that of the design.

    An estimated share p̂ has the mean square p² + Var(p̂), so p̂(1 − p̂) is too small by Var(p̂); the noise in it
    is known, and added back.
    """
    question, space, sizes = plan.inputs.question, plan.inputs.space, plan.strata.sizes
    if space.values != 2:
        return plan.sds**2
    share = space.shares(means)
    spread = share * (1.0 - share) + noise / space.range**2
    several = counts > 1
    spread = np.where(several, spread * counts / np.maximum(counts - 1, 1), plan.sds**2 / space.range**2)
    most = question.of_kind.largest_sd(question, sizes) ** 2
    return np.clip(spread * space.range**2, 0.0, most)
