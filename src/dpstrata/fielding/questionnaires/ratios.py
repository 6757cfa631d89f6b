r"""Ratios of two figures of a questionnaire, with standard errors by linearisation.

A figure gives every answer a score: a share 1 or 0, a mean the answer itself. With scores y and x and the
ratio R = Y/X, the variance of R is that of the mean of y − R·x, over X². On a table of K cells a mean of
scores a, stretched around their plain average, is unbiased, and has the variance

.. math:: (1 + r)^2 \left(\frac{\mathrm{var}_\lambda(a)}{m - 1} + \frac{v \sum (a - \bar a)^2}{m^2}\right)
    - \frac{S_a^2}{N} .

Tables of one form are about the same people, and what they have in common is not known: their standard errors
are added up, which is the most that it can be. Forms are about different people of one sample; without the
last term, which needs both figures in one table, their variances add up to no less than the true one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.intervals.grouping import added, grouped
from dpstrata.fielding.neighbours import find_stand_ins
from dpstrata.fielding.questionnaires.counts import FormCounts, TableCounts
from dpstrata.fielding.questionnaires.figures import (
    QuestionEstimate,
    mean_on,
    stretches,
)
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.survey.questionnaires.question import Question
from dpstrata.words.question_estimates import ratio_left_out, ratio_name

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

    def scores(self, levels: Sequence[int]) -> FloatArray:
        """Return the score of every combination of answers to its questions."""
        (question, *others) = self.questions
        if question.of_kind.averaged and not others:
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
    plan: Design, forms: Sequence[FormCounts], numerator: FigureNamed, denominator: FigureNamed
) -> tuple[list[QuestionEstimate], list[str]]:
    """Estimate a ratio wherever its denominator is known well enough, and say where it is not."""
    over, under = (_named(plan, forms, each) for each in (numerator, denominator))
    top, bottom = _Scored(plan, forms, over), _Scored(plan, forms, under)
    question, answer = ratio_name(over.name, over.answers, under.name, under.answers)
    people = np.minimum(top.people, bottom.people)
    rows, left_out = [], []
    for place, groups in grouped(plan, find_stand_ins(plan, people)):
        at = np.arange(len(people))[groups.at]
        one = np.ones(len(at))
        y, x = (groups.add(groups.weights * each.estimates[at]) for each in (top, bottom))
        spread = groups.add(groups.weights**2 * _variances([(bottom, one)], at))
        given = np.sqrt(spread) < MOST_CV * np.abs(x)
        ratios = np.divide(y, x, out=np.zeros_like(y), where=given)
        together = _variances([(top, one), (bottom, -ratios[groups.codes])], at)
        errors = np.sqrt(groups.add(groups.weights**2 * together))
        answers = added(place.codes, groups.number, people).tolist()
        for i, label in enumerate(place.labels):
            if not given[i]:
                left_out.append((place.column, label))
                continue
            ratio, error = float(ratios[i]), float(errors[i] / abs(x[i]))
            reach = plan.inputs.z * error
            figures = ratio, error, ratio - reach, ratio + reach, answers[i]
            rows.append(QuestionEstimate(question, answer, place.column, label, *figures))
    return rows, ratio_left_out(question, answer, left_out, MOST_CV)


def _named(plan: Design, forms: Sequence[FormCounts], named: FigureNamed) -> _Figure:
    """Find a figure, or say which there are."""
    name, answers = named
    answers = (answers,) if isinstance(answers, str) else tuple(answers)
    questionnaire = plan.inputs.questionnaire
    assert questionnaire is not None
    known: dict[str, tuple[Question, ...]] = {question.name: (question,) for question in questionnaire}
    for places in questionnaire.groups.values():
        group = tuple(questionnaire[place] for place in places)
        known[" by ".join(question.name for question in group)] = group
    if name not in known:
        raise InputError(f"a ratio must be of questions that are estimated, got {name!r}.")
    figure = _Figure(known[name], answers)
    listed = ["mean"]
    if len(figure.questions) > 1 or not figure.questions[0].of_kind.averaged:
        tables = [table for form in forms for table in form.tables]
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
    return figure


class _Scored:
    """A figure in every stratum, from all forms that it is on."""

    def __init__(self, plan: Design, forms: Sequence[FormCounts], figure: _Figure) -> None:
        self.plan, self.figure = plan, figure
        self.pieces = [
            _Piece(plan, t, form, table, scores, figure)
            for t, form in enumerate(forms)
            for table in form.tables
            if (scores := figure.on(table)) is not None
        ]
        self.people = np.sum([piece.answers for piece in self.pieces], axis=0)
        self.weights = [piece.answers / np.maximum(self.people, 1) for piece in self.pieces]
        self.estimates = np.sum(
            [w * piece.estimates for w, piece in zip(self.weights, self.pieces, strict=True)], axis=0
        )

    def weighted(self) -> Iterator[tuple[_Piece, FloatArray]]:
        """Return its parts with their weights by stratum."""
        return zip(self.pieces, self.weights, strict=True)


class _Piece:
    """A figure on one table of one form."""

    def __init__(
        self, plan: Design, t: int, form: FormCounts, table: TableCounts, scores: FloatArray, figure: _Figure
    ) -> None:
        self.plan, self.t, self.answers, self.table, self.scores = plan, t, form.answers, table, scores
        self.r, self.m = stretches(plan, t), np.maximum(form.answers, 1.0)
        if table.counts is None:  # a sum of levels says no more than its mean
            self.mean = mean_on(plan, figure.questions[0], t, form.answers, table)
            self.estimates = self.mean.estimates
        else:
            middle = scores.mean()
            self.estimates = (table.counts @ scores / self.m - middle) * (1.0 + self.r) + middle

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
            key = piece.t, id(piece.table)
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
