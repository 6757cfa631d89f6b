r"""Ratios of two figures of a questionnaire, with standard errors by linearisation.

A figure gives every answer a score: a share 1 or 0, a mean the answer itself. With scores y and x and the
ratio R = Y/X, the variance of R is that of the mean of y − R·x, over X². On a table of K cells a mean of
scores a, stretched around their plain average, is unbiased, and has the variance

.. math:: (1 + r)^2 \left(\frac{\mathrm{var}_\lambda(a)}{m - 1} + \frac{v \sum (a - \bar a)^2}{m^2}\right)
    - \frac{S_a^2}{N} .

Tables of one form are about the same people, and what they have in common is not known: their standard errors
are added up, which is the most that it can be. Forms are about different people of one sample; without the
last term, which needs both figures in one table, their variances add up to no less than the true one.

Intervals are made of those of both figures. The ratio cannot be ruled out if Y − R·X may be 0. The distances
of both limits from their estimates take the place of standard errors, each on the side that counts (Donner
and Zou 2012): with the correlation :math:`\varrho` of the estimates, the ends are the roots of

.. math:: (y - R x)^2 = \delta_y^2 + R^2 \delta_x^2 - 2 R \varrho\, \delta_y \delta_x .

So the interval inherits from the other two that it holds for few answers, where a standard error does not. It
never leaves what ratios can be: 0 to 1 for a part of the denominator. More than half of it is one less the
rest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.intervals.tilt import Groups, Limits
from dpstrata.fielding.neighbours import find_stand_ins
from dpstrata.fielding.results.form_figures import OnForm, TableCounts, joined, mean_on, stretches
from dpstrata.fielding.results.table import Cells, Columns, borrowed_in, columns_of, groupings_of, reported
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray
from dpstrata.survey.questionnaires.question import Question
from dpstrata.words.results import ratio_left_out, ratio_name

MOST_CV = 0.1
"""Of the denominator; a ratio whose denominator is known less well is not given."""

FigureNamed: TypeAlias = tuple[str, str | Sequence[str]]
"""A question and an answer as estimates list them, or several answers."""


class _Figure(NamedTuple):
    """What a ratio is made of: the answers to some questions, with the score of each."""

    questions: tuple[Question, ...]
    answers: tuple[str, ...]

    @property
    def name(self) -> str:
        return " by ".join(question.name for question in self.questions)

    @property
    def averaged(self) -> bool:
        """Whether it is the mean of a question, and not a share."""
        return len(self.questions) == 1 and self.questions[0].of_kind.averaged

    def scores(self, levels: Sequence[int]) -> FloatArray:
        """Return the score of every combination of answers to its questions."""
        question = self.questions[0]
        if self.averaged:
            return np.array(
                [float(question.of_kind.answer_at(question, place, levels[0])) for place in range(levels[0])]
            )
        listed = combinations(self.questions, levels)
        return np.isin(np.arange(len(listed)), [listed.index(answer) for answer in self.answers]).astype(
            float
        )

    def on(self, table: TableCounts) -> FloatArray | None:
        """Return the score of every cell of a table; ``None`` if it is not about these questions."""
        names = [question.name for question in self.questions]
        if not set(names) <= set(table.questions):
            return None
        at = [table.questions.index(name) for name in names]
        levels = [table.levels[place] for place in at]
        cells = np.unravel_index(np.arange(math.prod(table.levels)), table.levels)
        return self.scores(levels)[np.ravel_multi_index([cells[place] for place in at], levels)]


def combinations(questions: Sequence[Question], levels: Sequence[int]) -> list[str]:
    """Name all combinations of answers to questions with these levels."""
    each = [
        [str(question.of_kind.answer_at(question, place, number)) for place in range(number)]
        for question, number in zip(questions, levels, strict=True)
    ]
    return [" and ".join(answers) for answers in itertools.product(*each)]


def estimate_ratio(
    plan: Design, tables: Sequence[TableCounts], numerator: FigureNamed, denominator: FigureNamed
) -> tuple[Columns, list[str]]:
    """Estimate a ratio wherever its denominator is known well enough, and say where it is not."""
    over, under = (_named(plan, tables, each) for each in (numerator, denominator))
    ratio = _Ratio(_Scored(plan, tables, over), _Scored(plan, tables, under))
    question, level = ratio_name(over.name, over.answers, under.name, under.answers)
    answered = np.minimum(ratio.top.people, ratio.bottom.people)
    stand_ins = find_stand_ins(plan, answered)
    places, each_groups = zip(*reported(plan, stand_ins), strict=True)
    groups = groupings_of(
        places, stand_ins, answered=answered, invited=np.minimum(ratio.top.invited, ratio.bottom.invited)
    )
    known, ratios, errors, lower, upper = ratio.of(Groups.joined(each_groups, len(answered)))
    borrowed = borrowed_in(plan, places, answered)
    columns = columns_of(
        question,
        [level],
        groups,
        Cells(
            estimates=ratios[None],
            errors=errors[None],
            limits=Limits(lower[None], upper[None]),
            largest_biases=np.where(borrowed > 0, np.nan, 0.0)[None],  # how much is not known
        ),
    )
    left_out = [(groups.column[i], groups.group[i]) for i in np.flatnonzero(~known).tolist()]
    return columns.at(known), ratio_left_out(question, level, left_out, MOST_CV)


class _Ratio:
    """Two figures, and what their ratio can be."""

    def __init__(self, top: _Scored, bottom: _Scored) -> None:
        self.top, self.bottom = top, bottom
        tables = {id(piece.table): piece.scores for piece in bottom.pieces}
        both = [(piece.scores, tables[id(piece.table)]) for piece in top.pieces if id(piece.table) in tables]
        if both:
            over, under = both[0]
        else:  # any answers can go together
            over, under = np.meshgrid(top.pieces[0].scores, bottom.pieces[0].scores)
        self.range = _range(over.ravel(), under.ravel())
        self.rest: _Scored | None = None
        shares = top.averaged is None and bottom.averaged is None
        alike = len(both) == len(top.pieces) == len(bottom.pieces)
        if shares and alike and all((y <= x).all() for y, x in both):
            self.rest = bottom.without(top)

    def of(self, groups: Groups) -> tuple[BoolArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return for groups of strata where it is known well enough, the ratio, its error and its limits."""
        one, under = np.ones(groups.number), self.bottom.bounded(groups)
        y, x = self.top.of(groups), under.estimates
        spread = np.sqrt(self._variance(groups, [(self.bottom, one)]))
        given = spread < MOST_CV * np.abs(x)
        ratios = np.divide(y, x, out=np.zeros_like(y), where=given)
        apart = np.sqrt(self._variance(groups, [(self.top, one), (self.bottom, -ratios)]))
        errors = np.divide(apart, np.abs(x), out=np.zeros_like(x), where=given)
        lower, upper = self._limits(groups, self.top, under, ratios)
        if self.rest is not None:
            less, more = self._limits(groups, self.rest, under, 1.0 - ratios)
            lower = np.where(ratios > 0.5, 1.0 - more, lower)
            upper = np.where(ratios > 0.5, 1.0 - less, upper)
        return given, ratios, errors, np.clip(lower, *self.range), np.clip(upper, *self.range)

    def _limits(self, groups: Groups, top: _Scored, under: Bounded, ratios: FloatArray) -> Limits:
        """Find intervals of the ratio of a figure to the denominator, as if it could be any number."""
        one, side = np.ones(groups.number), np.where(ratios < 0, -1.0, 1.0)
        sds = [np.sqrt(self._variance(groups, [(each, one)])) for each in (top, self.bottom)]
        factor = np.divide(sds[0], sds[1], out=np.zeros_like(one), where=sds[1] > 0)
        apart = self._variance(groups, [(top, one), (self.bottom, -side * factor)])
        # of y and x with the same variance v, y − x has 2v(1 − correlation)
        twice = 2.0 * sds[0] ** 2
        found = np.divide(twice - apart, twice, out=np.zeros_like(one), where=twice > 0)
        upside = np.where(under.estimates < 0, -1.0, 1.0)
        over = top.bounded(groups).times(upside)
        return ratio_limits(over, under.times(upside), side * np.clip(found, -1.0, 1.0))

    def _variance(self, groups: Groups, figures: Sequence[tuple[_Scored, FloatArray]]) -> FloatArray:
        """Return the variance of a sum of figures, each times a factor by group."""
        at = np.arange(len(self.top.people))[groups.at]
        each = _variances([(figure, factor[groups.codes]) for figure, factor in figures], at)
        return groups.add(groups.weights**2 * each)


def _range(over: FloatArray, under: FloatArray) -> tuple[float, float]:
    """Return the least and the largest ratio of the means of two scores, given both of every answer."""
    if under.max() <= 0:
        over, under = -over, -under
    if under.min() < 0:
        return -math.inf, math.inf
    some = under > 0
    ratios = over[some] / under[some]
    lower = -math.inf if (over[~some] < 0).any() else float(ratios.min())
    return lower, math.inf if (over[~some] > 0).any() else float(ratios.max())


def _named(plan: Design, tables: Sequence[TableCounts], named: FigureNamed) -> _Figure:
    """Find a figure, or say which there are."""
    name, answers = _pair(named)
    questionnaire = plan.inputs.questions
    known: dict[str, tuple[Question, ...]] = {question.name: (question,) for question in questionnaire}
    for places in questionnaire.groups.values():
        group = tuple(questionnaire[place] for place in places)
        known[" by ".join(question.name for question in group)] = group
    if name not in known:
        raise InputError(f"a ratio must be of questions that are estimated, got {name!r}.")
    figure = _Figure(known[name], answers)
    listed = ["mean"]
    if not figure.averaged:
        listed = next(
            combinations(
                figure.questions, [table.levels[table.questions.index(q.name)] for q in figure.questions]
            )
            for table in tables
            if {q.name for q in figure.questions} <= set(table.questions)
        )
    wrong = [answer for answer in answers if answer not in listed]
    if wrong or not answers or len(set(answers)) < len(answers):
        got = repr(wrong[0]) if wrong else "an answer twice" if answers else "none"
        raise InputError(f"the answers of {name!r} in a ratio must be among {', '.join(listed)}, got {got}.")
    unclear = [answer for answer in answers if listed.count(answer) > 1]
    if unclear:
        raise InputError(
            f"the answers of {name!r} in a ratio must name one combination each, got {unclear[0]!r}, which "
            "names several; use categories without ' and '."
        )
    return figure


def _pair(named: object) -> tuple[str, tuple[str, ...]]:
    """Read the question and the answers of a figure as they were given."""
    match named:
        case str(name), str(answer):
            return name, (answer,)
        case str(name), [*given]:
            answers = tuple(answer for answer in given if isinstance(answer, str))
            if len(answers) == len(given):
                return name, answers
    raise InputError(
        "a figure of a ratio must be a question and its answer, or several answers, such as "
        "('smokes', 'yes')."
    )


class _Scored:
    """A figure in every stratum, from all forms that it is on."""

    def __init__(self, plan: Design, tables: Sequence[TableCounts], figure: _Figure) -> None:
        self._put(
            plan,
            [
                _Piece(plan, table, scores, figure.questions[0])
                for table in tables
                if (scores := figure.on(table)) is not None
            ],
            figure.questions[0] if figure.averaged else None,
        )

    def _put(self, plan: Design, pieces: list[_Piece], averaged: Question | None) -> None:
        self.plan, self.pieces, self.averaged = plan, pieces, averaged
        self.people = np.sum([piece.table.answers for piece in self.pieces], axis=0)
        self.invited = np.sum([plan.forms[piece.table.form].sample_sizes for piece in self.pieces], axis=0)
        self.weights = [piece.table.answers / np.maximum(self.people, 1) for piece in self.pieces]
        self.estimates = np.sum(
            [w * piece.estimates for w, piece in zip(self.weights, self.pieces, strict=True)], axis=0
        )

    def without(self, part: _Scored) -> _Scored:
        """Return the share of those who are in this one and not in a part of it, from the same tables."""
        rest = object.__new__(_Scored)
        pairs = zip(self.pieces, part.pieces, strict=True)
        rest._put(self.plan, [piece.with_scores(piece.scores - other.scores) for piece, other in pairs], None)
        return rest

    def of(self, groups: Groups) -> FloatArray:
        """Return it for groups of strata."""
        return groups.add(groups.weights * self.estimates[groups.at])

    def bounded(self, groups: Groups) -> Bounded:
        """Return it for groups of strata, with its limits."""
        on_forms = [piece.on_form() for piece in self.pieces]
        figure = joined(self.plan, "", on_forms, question=self.averaged)
        return Bounded(self.of(groups), figure.limits(groups))

    def weighted(self) -> Iterator[tuple[_Piece, FloatArray]]:
        """Return its parts with their weights by stratum."""
        return zip(self.pieces, self.weights, strict=True)


class _Piece:
    """A figure on one table of one form."""

    def __init__(self, plan: Design, table: TableCounts, scores: FloatArray, first: Question) -> None:
        self.plan, self.table, self.scores, self.first = plan, table, scores, first
        self.r, self.m = stretches(plan, table.form), np.maximum(table.answers, 1.0)
        if table.counts is None:  # a sum of levels says no more than its mean
            self.mean = mean_on(plan, first, table)
            self.estimates = self.mean.estimates
        else:
            middle = scores.mean()
            self.estimates = (table.counts @ scores / self.m - middle) * (1.0 + self.r) + middle

    def with_scores(self, scores: FloatArray) -> _Piece:
        """Return another figure on the same table."""
        return _Piece(self.plan, self.table, scores, self.first)

    def on_form(self) -> OnForm:
        """Return it with what its interval needs."""
        if self.first.of_kind.averaged and not np.isin(self.scores, (0.0, 1.0)).all():
            return mean_on(self.plan, self.first, self.table.about(self.first.name))
        assert self.table.counts is not None
        kept = 1.0 / (1.0 + self.r)
        office = self.table.noise * ((self.scores - self.scores.mean()) ** 2).sum()
        known = Reports(
            counts=self.table.counts @ self.scores,
            answers=self.m,
            sampled=self.m,
            population=np.full(len(self.m), np.inf),
            floor=(1.0 - kept) * self.scores.mean(),
            slope=kept,
            noise=office,
        )
        none = np.zeros(len(self.m))
        return OnForm(self.table.form, self.estimates, none, self.table.answers, known, none, none)

    def variances(self, scores: FloatArray, at: IntArray) -> FloatArray:
        """Return the variance of the mean of other scores in some strata, as if these were endless."""
        if self.table.counts is None:
            ends = scores[:, -1] - scores[:, 0]
            return np.asarray(self.mean.variances[at] * (ends / (self.scores[-1] - self.scores[0])) ** 2)
        r, m = self.r[at], self.m[at]
        centred = scores - scores.mean(axis=1, keepdims=True)
        reported = self.table.counts[at] / m[:, None]
        seen = (reported * centred**2).sum(axis=1) - (reported * centred).sum(axis=1) ** 2
        least = r / (1.0 + r) * (centred**2).mean(axis=1)  # replaced rows alone
        office = self.table.noise[at] * (centred**2).sum(axis=1) / m**2
        return np.asarray((1.0 + r) ** 2 * (np.maximum(seen, least) / np.maximum(m - 1.0, 1.0) + office))

    def spread(self, scores: FloatArray, at: IntArray) -> FloatArray:
        """Return S² of other scores in some strata, as this form shows it."""
        if self.table.counts is None:
            return np.zeros(len(at))
        r, m = self.r[at, None], self.m[at, None]
        shares = (self.table.counts[at] / m - r / (1.0 + r) / scores.shape[1]) * (1.0 + r)
        mean = (shares * scores).sum(axis=1)
        largest = (scores.max(axis=1) - scores.min(axis=1)) ** 2 / 4
        return np.asarray(np.clip((shares * scores**2).sum(axis=1) - mean**2, 0.0, largest))


def _variances(figures: Sequence[tuple[_Scored, FloatArray]], at: IntArray) -> FloatArray:
    """Return the variance in some strata of a sum of figures, each times a factor by stratum."""
    by_table: dict[tuple[int, int], tuple[_Piece, FloatArray, FloatArray]] = {}
    for figure, factor in figures:
        for piece, weight in figure.weighted():
            key = piece.table.form, id(piece.table)
            plain = factor[:, None] * piece.scores
            known = by_table.get(key)
            scores = weight[at, None] * plain + (0.0 if known is None else known[1])
            by_table[key] = piece, scores, plain + (0.0 if known is None else known[2])
    by_form: dict[int, FloatArray] = {}
    for (t, _), (piece, scores, _) in by_table.items():
        by_form[t] = by_form.get(t, np.zeros(len(scores))) + np.sqrt(piece.variances(scores, at))
    variances = np.sum([errors**2 for errors in by_form.values()], axis=0)
    plan = figures[0][0].plan
    if plan.inputs.finite_population and all(len(figure.pieces) == len(by_table) for figure, _ in figures):
        people = np.sum([piece.m[at] for piece, _, _ in by_table.values()], axis=0)
        spread = np.sum(
            [piece.m[at] / people * piece.spread(plain, at) for piece, _, plain in by_table.values()], axis=0
        )
        variances = variances - spread / plan.strata.sizes[at]
    return np.asarray(np.maximum(variances, 0.0))


class Bounded(NamedTuple):
    """Estimates with their limits."""

    estimates: FloatArray
    limits: Limits

    @property
    def possible(self) -> FloatArray:
        """The estimates, none outside of its limits."""
        return np.clip(self.estimates, *self.limits)

    def times(self, signs: FloatArray) -> Bounded:
        """Return the same times 1 or −1."""
        ends = [signs * end for end in self.limits]
        return Bounded(signs * self.estimates, Limits(np.minimum(*ends), np.maximum(*ends)))


def ratio_limits(over: Bounded, under: Bounded, correlations: FloatArray) -> Limits:
    """Find the intervals of ratios whose denominators are positive.

    Parameters
    ----------
    over, under : Bounded
        Numerators and denominators.
    correlations : array
        Those of their estimates, from −1 to 1.

    Examples
    --------
    Nothing was found among about half of the people:

    >>> zero, half = (np.array([value]) for value in (0.0, 0.5))
    >>> over = Bounded(zero, Limits(zero, np.array([0.04])))
    >>> under = Bounded(half, Limits(np.array([0.4]), np.array([0.6])))
    >>> [round(float(end[0]), 3) for end in ratio_limits(over, under, zero)]
    [0.0, 0.082]
    """
    return Limits(*(_end(over, under, correlations, side) for side in (-1.0, 1.0)))


def _end(over: Bounded, under: Bounded, correlations: FloatArray, side: float) -> FloatArray:
    """Return the lower ends (−1), or the upper ones (1); infinite where a denominator may be 0."""
    y, x = over.possible, under.possible
    up = np.abs(over.limits[int(side > 0)] - y)
    # a positive ratio is larger where the denominator is smaller, a negative one where it is larger
    ends = [_root(y, x, up, np.abs(limit - x), correlations, side) for limit in under.limits]
    same, other = ends if side > 0 else ends[::-1]
    return np.where(same >= 0, same, other)


def _root(
    y: FloatArray, x: FloatArray, up: FloatArray, across: FloatArray, correlations: FloatArray, side: float
) -> FloatArray:
    first = x**2 - across**2
    half = y * x - correlations * up * across
    inside = np.maximum(half**2 - first * (y**2 - up**2), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (half + side * np.sqrt(inside)) / first
    return np.where((first > 0) & (x > 0), found, side * np.inf)
