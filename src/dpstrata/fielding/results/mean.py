r"""Estimates from one noised mean of the population, or of each domain, with the numbers of answers.

The scale of a figure's noise follows from the numbers of answers. The
variance of a figure of strata with m answers is

.. math:: \sum_i a_i^2 \left(\frac{S_i^2}{m_i} \left(1 - \frac{m_i}{N_i}\right) + \frac{d}{m_i}\right) + 2 b^2

with d the variance of devices' noise, b the scale of the figure's own, and S that of the design: a mean shows
no spread. Of several questions each has its part of the budget, and of categories every share is a figure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from dpstrata.allocation.domains import WHOLE, Partition, published
from dpstrata.allocation.rows_on_forms import RowsOnForms
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
from dpstrata.fielding.covariances import Errors, OnKnownTotal, Reported, Together
from dpstrata.fielding.intervals.single_mean import StatedStrata, single_mean_limits
from dpstrata.fielding.intervals.tilt import Groups, Limits
from dpstrata.fielding.neighbours import FigureStandIns, named_stand_ins
from dpstrata.fielding.randomizers import randomizer_of
from dpstrata.fielding.randomizers.form import TableFigures
from dpstrata.fielding.results.combining import gather, notes_on, with_total
from dpstrata.fielding.results.figures import QuestionFigures, levels_of
from dpstrata.fielding.results.form_figures import stretches
from dpstrata.fielding.results.reader import Reader, Surveys
from dpstrata.fielding.results.results import AboutQuestion, Results
from dpstrata.fielding.results.sums import answer_counts
from dpstrata.fielding.results.table import Cells, Columns, Place, borrowed_in, columns_of, groupings_of
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.survey.questionnaires.question import Question


class MeanReader(Reader):
    """Estimate from noised figures of the population or of domains."""

    def read(self, table: Table, stratum: str) -> tuple[Sequence[Any], ...]:
        """Read the figures and the numbers of answers; which question each is of, where there are several."""
        heads = randomizer_of(self.plan, 1).figure_columns
        texts = [read_people(table, name, (name,))[0] for name in (*heads, COLUMN, GROUP)]
        return *texts, read_present_numbers(table, MEAN), read_numbers(table, COUNT)

    def estimate(self, *columns: Any) -> Results:
        """Estimate from the figures; those of several questions come with what they are of."""
        *of, names, groups, means, answers = columns
        which = list(zip(*of, strict=True)) if of else None
        return estimate_from_figures(self.plan, names, groups, means, answers, which=which)

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
    *,
    which: Sequence[tuple[str, ...]] | None = None,
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
    which : sequence of tuples of str, optional
        Which figure each row is, where there are several: of which question, and which of its answers.
    """
    which = [()] * len(columns) if which is None else which
    rows = {key: i for i, key in enumerate(zip(which, columns, groups, strict=True))}
    asked = _all_asked(plan)
    places = [(figure.column, figure.group) for figure in plan.figures]
    wanted = [(key, *place) for each in asked for key in each.keys for place in places]
    strata = _rows_of_strata(plan, asked[0].keys[0])
    if len(rows) < len(columns) or set(rows) != {*wanted, *strata}:
        raise InputError("there must be one row for every figure and every stratum of the design.")
    counts = answer_counts(plan, [answers[rows[key]] for key in strata])
    found = []
    for each in asked:
        values = np.array([[_number(means[rows[key, *place]]) for place in places] for key in each.keys])
        found.append(_estimate_question(plan, each, counts, values))
    return gather(plan, found, answered=counts, notes=notes_on(plan, counts))


def _rows_of_strata(plan: Design, first: tuple[str, ...]) -> list[tuple[tuple[str, ...], str, str]]:
    """Name the rows that have the numbers of answers of the strata: figures, or rows of their own."""
    own = any(figure.column == STRATUM for figure in plan.figures)
    key = first if own else tuple("" for _ in first)
    return [(key, STRATUM, name) for name in plan.strata.names]


class _Asked(NamedTuple):
    """One question, and what is published of it.

    Attributes
    ----------
    question : Question
        The question.
    keys : tuple of tuples of str
        Which published figures are its own.
    noise : float
        The variance of the noise of one, in squared ranges, where a figure of the scale 1 has 2.
    """

    question: Question
    keys: tuple[tuple[str, ...], ...]
    noise: float

    @property
    def within(self) -> tuple[float, float]:
        """The least that a figure can be, and its range."""
        return (self.question.lower or 0.0, self.question.range)

    @property
    def of_shares(self) -> bool:
        """Whether what is estimated are shares of people."""
        return bool(self.question.names) or self.question.space.values == 2


def figure_units(plan: Design) -> list[float]:
    """Return the scale of the noise of each question's figures, in ranges, where the design's scale is 1."""
    return [math.sqrt(0.5 * each.noise) for each in _all_asked(plan)]


def _all_asked(plan: Design) -> list[_Asked]:
    """List the questions of a design, with what is published of each."""
    if not plan.inputs.rows:
        question = plan.inputs.question
        return [_Asked(question, ((),), 2.0 / question.range**2)]
    found = []
    for question, figures in zip(plan.inputs.questions, randomizer_of(plan, 1).figures, strict=True):
        assert isinstance(figures, TableFigures)
        keys = tuple((figures.label, entry) for entry in figures.entries)
        found.append(_Asked(question, keys, 2.0 * figures.noise))
    return found


def _estimate_question(
    plan: Design, asked: _Asked, counts: IntArray, values: FloatArray
) -> tuple[Columns, AboutQuestion]:
    """Estimate one question from its figures: a row of values for each of its levels."""
    question, (lower, unit), several = asked.question, asked.within, len(values) > 1
    every = _read_figures(plan, counts, _on_known_total((values - lower) / unit), asked.noise)
    best = min(every, key=lambda each: float(each.shares**2 @ each.noise))
    own = [each for each in every if each.part.column is not None]
    parts = [plan.partitions[0], *(each.part for each in own)]
    places = [Place(part.column or WHOLE, part.groups, part.codes) for part in parts]
    groupings = groupings_of(places, best.stand_ins.strata, invited=plan.sample_sizes, answered=counts)
    weights = (best.in_whole, *(each.groups for each in own))
    groups = Groups.joined(weights, len(counts))
    means = np.concatenate([(best.means @ best.shares)[:, None], *(each.means for each in own)], axis=1)
    noise = np.concatenate([[best.shares**2 @ best.noise], *(each.noise for each in own)])
    stated = _stated(plan, asked, counts, means[:, 0])
    limits = [
        _limits(plan, asked, each, groups, row, noise, counts)
        for each, row in zip(stated, means, strict=True)
    ]
    variances = np.stack([each.variances for each in stated])
    errors = np.stack([groups.add(groups.weights**2 * each[groups.at]) for each in variances]) + noise
    borrowed = np.tile(borrowed_in(plan, places, counts), (len(means), 1))
    figures = columns_of(
        question.name,
        levels_of(question),
        groupings._replace(taken_from=["", *(name for each in own for name in each.taken_from)]),
        Cells(
            estimates=lower + unit * means,
            errors=unit * np.sqrt(errors),
            limits=_stacked([each for each, _ in limits]).scaled(lower, unit),
            largest_biases=unit * borrowed,
            safe=_stacked([safe for _, safe in limits]).scaled(lower, unit),
        ),
    )
    drawn = np.concatenate([each.noise for each in every])
    about = AboutQuestion(
        known=QuestionFigures(question.name, (), {}, planned=True, splits=False),
        causes=None,
        stand_ins=named_stand_ins(plan, best.stand_ins.strata),
        doubts={},
        errors=(
            Errors(weights, unit**2 * variances, _together(plan, counts, stated) if several else None),
            Errors(
                (_noise_in(every, best),),
                unit**2 * np.tile(drawn, (len(means), 1)),
                OnKnownTotal(len(means), len(drawn)) if several else None,
            ),
        ),
    )
    return with_total(figures, plan.strata.population), about


def _stacked(each: Sequence[Limits]) -> Limits:
    return Limits(*map(np.stack, zip(*each, strict=True)))


def _on_known_total(values: FloatArray) -> FloatArray:
    """Put the shares of all answers on their known total, which takes a part of the noise off."""
    return values if len(values) == 1 else values - (values.sum(axis=0) - 1.0) / len(values)


class _Stated(NamedTuple):
    """What is stated of a figure in every stratum, scaled to 0 to 1.

    Attributes
    ----------
    spreads, means : array
        S² of the answers, and their mean or NaN.
    device : array
        Variance that a device adds to one answer.
    variances : array
        Of the mean of those who answered.
    """

    spreads: FloatArray
    means: FloatArray
    device: FloatArray
    variances: FloatArray


def _stated(plan: Design, asked: _Asked, counts: IntArray, estimates: FloatArray) -> list[_Stated]:
    """Collect what the design states of every level of a question.

    Of a category whose share was not told, the share in the population takes its place.
    """
    question, N = asked.question, plan.strata.sizes
    place = plan.inputs.questions.names.index(question.name)
    each: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    if not plan.inputs.rows:
        expected, unit = plan.strata.expected_means(question), question.range
        means = np.full(len(N), np.nan) if expected is None else question.space.shares(expected)
        device = np.full(len(N), plan.inputs.release_form.device_variance / unit**2)
        each = [(plan.sds**2 / unit**2, means, device)]
    elif not question.names:
        forms, told = cast(RowsOnForms, plan.problem.forms), plan.spreads.values[question.name]
        spreads = forms.spreads[:, place]
        known = told.get("mean", told.get("proportion"))
        means = np.full(len(N), np.nan) if known is None else question.space.shares(known)
        each = [(spreads, means, forms.fixed_variances[:, place] - spreads)]
    else:
        told, k = plan.spreads.values[question.name], len(question.names)
        r = stretches(plan, 0)
        for level, estimate in enumerate(np.clip(estimates, 0.0, 1.0).tolist()):
            means = told["proportion"][:, level]
            shares = np.where(np.isnan(means), estimate, means)
            device = r * (shares * (1.0 - 2.0 / k) + 1.0 / k) + r**2 * (k - 1.0) / k**2
            each.append((shares * (1.0 - shares) * N / np.maximum(N - 1.0, 1.0), means, device))
    m = np.maximum(counts, 1)
    fraction = m / N if plan.inputs.finite_population else np.zeros(len(m))
    return [
        _Stated(spreads, means, device, spreads * (1.0 - fraction) / m + device / m)
        for spreads, means, device in each
    ]


def _together(plan: Design, counts: IntArray, stated: Sequence[_Stated]) -> Together:
    """Say how the shares of a question err together in a stratum."""
    r, k = stretches(plan, 0), len(stated)
    shares = 0.5 * (1.0 - np.sqrt(np.maximum(1.0 - 4.0 * np.stack([each.spreads for each in stated]), 0.0)))
    told = np.stack([each.means for each in stated])
    m = np.maximum(counts, 1).astype(float)
    reports = Reported.of(
        np.where(np.isnan(told), shares, told),
        answers=m,
        weights=np.ones(len(m)),
        floor=r / (1.0 + r) / k,
        slope=1.0 / (1.0 + r),
        noise=np.zeros(len(m)),
    )
    return Together.of(plan, [reports])


class _Figures(NamedTuple):
    """The figures of one column; a group without an answer takes that of another."""

    part: Partition
    stand_ins: FigureStandIns
    groups: Groups
    """What strata count in each."""
    shares: FloatArray
    """What each counts in the whole."""
    means: FloatArray
    """Of every level (rows) and group, in shares of the range."""
    noise: FloatArray
    """Its variance, of every group."""

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


def _read_figures(plan: Design, counts: IntArray, values: FloatArray, noise: float) -> list[_Figures]:
    """Put published figures together with the noise that they have."""
    one, levels = SingleMean(plan.problem), len(values)
    strengths = one.raised_to_answers(counts, one.strengths_at(plan.sample_sizes))
    parts = published(plan.partitions)
    # all shares of a question together have less noise once they are on their known total
    left = 1.0 if levels == 1 else 1.0 - 1.0 / levels
    split = zip(*(one.split(row) for row in values), strict=True)
    found = []
    for part, means, strength in zip(parts, split, strengths, strict=True):
        stand_ins = FigureStandIns.of(part.codes, len(part.groups), counts)
        taken = np.stack(means)[:, stand_ins.groups]
        if not np.all(np.isfinite(taken)):
            raise InputError("every published figure must be a number.")
        weights = stand_ins.weights(part.codes, plan.strata.sizes)
        found.append(
            _Figures(part, stand_ins, *weights, taken, left * noise / strength[stand_ins.groups] ** 2)
        )
    return found


def _noise_in(columns: Sequence[_Figures], best: _Figures) -> Groups:
    """Say which figures, each with noise of its own, the whole and every domain are made of."""
    starts = np.cumsum([0, *(len(each.noise) for each in columns)])
    of_whole = starts[[each is best for each in columns].index(True)] + np.arange(len(best.noise))
    own = [
        start + each.stand_ins.groups
        for start, each in zip(starts[:-1], columns, strict=True)
        if each.part.column is not None
    ]
    domains = np.concatenate([np.zeros(0, dtype=np.int64), *own])
    codes = np.concatenate([np.zeros(len(of_whole), dtype=np.int64), 1 + np.arange(len(domains))])
    weights = np.concatenate([best.shares, np.ones(len(domains))])
    return Groups(codes, 1 + len(domains), weights, np.concatenate([of_whole, domains]))


def _limits(
    plan: Design,
    asked: _Asked,
    stated: _Stated,
    groups: Groups,
    means: FloatArray,
    noise: FloatArray,
    counts: IntArray,
) -> tuple[Limits, Limits]:
    """Find intervals: those that trust the stated spreads, and safe ones."""
    strata = StatedStrata.of(plan, counts, spreads=stated.spreads, means=stated.means, device=stated.device)
    return _both(plan, asked, strata, groups, means, noise)


def _both(
    plan: Design,
    asked: _Asked,
    strata: StatedStrata,
    groups: Groups,
    means: FloatArray,
    noise: FloatArray,
) -> tuple[Limits, Limits]:
    """Find them, divided among shares that are to lie in their intervals at once."""
    together = len(asked.keys) if len(asked.keys) > 2 else 1
    return single_mean_limits(
        strata,
        groups,
        means,
        noise,
        alpha=(1.0 - plan.inputs.confidence) / together,
        shares=asked.of_shares,
    )


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
    (asked,) = _all_asked(plan)
    lower, unit = asked.within
    (stated,) = _stated(plan, asked, counts[0], np.zeros(1))
    each = [
        StatedStrata.of(plan, numbers, spreads=stated.spreads, means=stated.means, device=stated.device)
        for numbers in counts
    ]
    strata = StatedStrata(*map(np.concatenate, zip(*each, strict=True)))
    surveys, weights = len(counts), plan.strata.sizes / plan.strata.population
    groups = Groups(np.repeat(np.arange(surveys), len(weights)), surveys, np.tile(weights, surveys))
    found, _ = _both(plan, asked, strata, groups, (means - lower) / unit, noise / unit**2)
    return found.scaled(lower, unit)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
