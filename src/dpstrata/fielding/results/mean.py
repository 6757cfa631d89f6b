r"""Estimates from one noised mean of the population, or of each domain, with the numbers of answers.

The scale of a figure's noise follows from the numbers of answers. The
variance of a figure of strata with m answers is

.. math:: \sum_i a_i^2 \left(\frac{S_i^2}{m_i} \left(1 - \frac{m_i}{N_i}\right) + \frac{d}{m_i}\right) + 2 b^2

with d the variance of devices' noise, b the scale of the figure's own, and S that of the design: a mean shows
no spread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dpstrata.allocation.domains import WHOLE, Partition, published
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import (
    COLUMN,
    COUNT,
    GROUP,
    MEAN,
    STRATUM,
    read_numbers,
    read_people,
    read_present_numbers,
)
from dpstrata.fielding.covariances import Errors
from dpstrata.fielding.intervals.single_mean import StatedStrata, single_mean_limits
from dpstrata.fielding.intervals.tilt import Groups, Limits
from dpstrata.fielding.neighbours import FigureStandIns, named_stand_ins
from dpstrata.fielding.results.combining import gather, notes_on, with_total
from dpstrata.fielding.results.figures import QuestionFigures, levels_of
from dpstrata.fielding.results.reader import Reader, Surveys
from dpstrata.fielding.results.results import AboutQuestion, Results
from dpstrata.fielding.results.sums import answer_counts
from dpstrata.fielding.results.table import Cells, Place, borrowed_in, columns_of, groupings_of
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import FloatArray, IntArray


class MeanReader(Reader):
    """Estimate from noised means of the population or of domains."""

    def read(self, table: Table, stratum: str) -> tuple[Sequence[Any], ...]:
        """Read the figures and the numbers of answers."""
        names, groups = (read_people(table, name, (name,))[0] for name in (COLUMN, GROUP))
        return names, groups, read_present_numbers(table, MEAN), read_numbers(table, COUNT)

    def estimate(self, *columns: Any) -> Results:
        """Estimate from the figures."""
        return estimate_from_figures(self.plan, *columns)

    def limits_in_surveys(self, surveys: Surveys) -> Limits:
        """Find them from the noised mean of each."""
        means = surveys.means @ (self.plan.strata.sizes / self.plan.strata.population) + surveys.noise
        return limits_of_means_in_surveys(self.plan, surveys.counts, means, np.asarray(surveys.variances))


def estimate_from_figures(
    plan: Design,
    columns: Sequence[str],
    groups: Sequence[str],
    means: Sequence[float | None],
    answers: Sequence[float],
) -> Results:
    """Estimate the population and the domains from published figures.

    Parameters
    ----------
    plan : Design
        A design that publishes them.
    columns, groups : sequence of str
        What each row is about: a figure, or a stratum.
    means : sequence of float or None
        The figures; ``None`` for strata that have none.
    answers : sequence of float
        How many answers each has.
    """
    rows = {key: i for i, key in enumerate(zip(columns, groups, strict=True))}
    wanted = [(figure.column, figure.group) for figure in plan.figures]
    strata = [(STRATUM, name) for name in plan.strata.names]
    if len(rows) < len(columns) or set(rows) != {*wanted, *strata}:
        raise InputError("there must be one row for every figure and every stratum of the design.")
    counts = answer_counts(plan, [answers[rows[key]] for key in strata])
    every = _read_figures(plan, counts, np.array([_number(means[rows[key]]) for key in wanted]))
    best = min(every, key=lambda each: float(each.shares**2 @ each.noise))
    own = [each for each in every if each.part.column is not None]
    question, parts = plan.inputs.question, [plan.partitions[0], *(each.part for each in own)]
    places = [Place(part.column or WHOLE, part.groups, part.codes) for part in parts]
    groupings = groupings_of(places, best.stand_ins.strata, invited=plan.sample_sizes, answered=counts)
    weights = (best.in_whole, *(each.groups for each in own))
    cells = _cells(
        plan,
        Groups.joined(weights, len(counts)),
        np.concatenate([[best.shares @ best.means], *(each.means for each in own)]),
        np.concatenate([[best.shares**2 @ best.noise], *(each.noise for each in own)]),
        counts=counts,
        borrowed=borrowed_in(plan, places, counts),
    )
    figures = columns_of(
        question.name,
        levels_of(question),
        groupings._replace(taken_from=["", *(name for each in own for name in each.taken_from)]),
        cells,
    )
    about = AboutQuestion(
        known=QuestionFigures(question.name, (), {}, planned=True, splits=False),
        causes=None,
        stand_ins=named_stand_ins(plan, best.stand_ins.strata),
        doubts={},
        errors=(
            Errors(weights, _variances(plan, counts)[None]),
            Errors((_noise_in(every, best),), np.concatenate([each.noise for each in every])[None]),
        ),
    )
    found = with_total(figures, plan.strata.population), about
    return gather(plan, [found], answered=counts, notes=notes_on(plan, counts))


class _Figures(NamedTuple):
    """The figures of one column; a group without an answer takes that of another."""

    part: Partition
    stand_ins: FigureStandIns
    groups: Groups
    """What strata count in each."""
    shares: FloatArray
    """What each counts in the whole."""
    means: FloatArray
    noise: FloatArray

    @property
    def in_whole(self) -> Groups:
        """What strata count in the whole, if it is made of these figures."""
        weights = self.groups.weights * self.shares[self.groups.codes]
        some = np.flatnonzero(weights)
        return Groups(np.zeros(len(some), dtype=np.int64), 1, weights[some], np.asarray(self.groups.at)[some])

    @property
    def taken_from(self) -> list[str]:
        """The group that each takes the figure of, if that is another one."""
        return [
            "" if other == place else self.part.groups[other]
            for place, other in enumerate(self.stand_ins.groups.tolist())
        ]


def _read_figures(plan: Design, counts: IntArray, values: FloatArray) -> list[_Figures]:
    """Put published figures together with the noise that they have."""
    one = SingleMean(plan.problem)
    strengths = one.raised_to_answers(counts, one.strengths_at(plan.sample_sizes))
    parts = published(plan.partitions)
    found = []
    for part, means, strength in zip(parts, one.split(values), strengths, strict=True):
        stand_ins = FigureStandIns.of(part.codes, len(part.groups), counts)
        if not np.all(np.isfinite(means[stand_ins.groups])):
            raise InputError("every published figure must be a number.")
        weights = stand_ins.weights(part.codes, plan.strata.sizes)
        taken = means[stand_ins.groups], 2.0 / strength[stand_ins.groups] ** 2
        found.append(_Figures(part, stand_ins, *weights, *taken))
    return found


def _noise_in(columns: Sequence[_Figures], best: _Figures) -> Groups:
    """Say which figures, each with noise of its own, the whole and every domain are made of."""
    starts = np.cumsum([0, *(len(each.means) for each in columns)])
    of_whole = starts[[each is best for each in columns].index(True)] + np.arange(len(best.means))
    own = [
        start + each.stand_ins.groups
        for start, each in zip(starts[:-1], columns, strict=True)
        if each.part.column is not None
    ]
    domains = np.concatenate([np.zeros(0, dtype=np.int64), *own])
    codes = np.concatenate([np.zeros(len(of_whole), dtype=np.int64), 1 + np.arange(len(domains))])
    weights = np.concatenate([best.shares, np.ones(len(domains))])
    return Groups(codes, 1 + len(domains), weights, np.concatenate([of_whole, domains]))


def _variances(plan: Design, counts: IntArray) -> FloatArray:
    """Return the variance of every stratum's mean, from sampling and from devices' noise."""
    m = np.maximum(counts, 1)
    fraction = m / plan.strata.sizes if plan.inputs.finite_population else np.zeros(len(m))
    return np.asarray(plan.sds**2 * (1.0 - fraction) / m + plan.inputs.release_form.device_variance / m)


def _cells(
    plan: Design,
    groups: Groups,
    means: FloatArray,
    noise: FloatArray,
    *,
    counts: IntArray,
    borrowed: FloatArray,
) -> Cells:
    """Put figures together with sampling, devices' noise and their own."""
    stated, safe = _limits(plan, StatedStrata.of(plan, counts), groups, means, noise)
    variances = groups.add(groups.weights**2 * _variances(plan, counts)[groups.at]) + noise
    return Cells(
        estimates=means[None],
        errors=np.sqrt(variances)[None],
        limits=stated,
        largest_biases=plan.inputs.space.range * borrowed[None],
        safe=safe,
    )


def _limits(
    plan: Design, strata: StatedStrata, groups: Groups, means: FloatArray, noise: FloatArray
) -> tuple[Limits, Limits]:
    """Find intervals in the units of the answers: those that trust the stated spreads, and safe ones."""
    space = plan.inputs.space
    stated, safe = single_mean_limits(
        strata,
        groups,
        space.shares(means),
        noise / space.range**2,
        alpha=1.0 - plan.inputs.confidence,
        shares=space.values == 2,
    )
    within = space.lower, space.range
    return stated.scaled(*within), safe.scaled(*within)


def limits_of_means_in_surveys(
    plan: Design, counts: IntArray, means: FloatArray, noise: FloatArray
) -> Limits:
    """Find the interval of the mean of the population that would be printed in each of many surveys.

    Parameters
    ----------
    plan : Design
        A design that publishes one number.
    counts : array of int
        How many people answered: a row for each survey, a column for each stratum.
    means, noise : array
        The published mean of each survey, and the variance of its noise.
    """
    each = [StatedStrata.of(plan, numbers) for numbers in counts]
    strata = StatedStrata(*map(np.concatenate, zip(*each, strict=True)))
    surveys, weights = len(counts), plan.strata.sizes / plan.strata.population
    groups = Groups(np.repeat(np.arange(surveys), len(weights)), surveys, np.tile(weights, surveys))
    stated, _ = _limits(plan, strata, groups, means, noise)
    return stated


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
