"""Estimates of a questionnaire: shares of categories, means of scales and numbers, cross-tables, ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.covariances.covariance import Covariance, covariance_of_questions
from dpstrata.fielding.intervals.parts import Causes
from dpstrata.fielding.neighbours import StandIn, find_stand_ins, named_stand_ins
from dpstrata.fielding.response import check_response
from dpstrata.fielding.results.counts import FormCounts, TableCounts
from dpstrata.fielding.results.figures import (
    Parts,
    QuestionEstimate,
    causes_of,
    combined,
    errors_of,
    joined,
    mean_on,
    share_on,
)
from dpstrata.fielding.results.ratios import FigureNamed, combinations, estimate_ratio
from dpstrata.survey.questionnaires.question import Question
from dpstrata.words.question_estimates import few_answers, questions_in_words, questions_table
from dpstrata.words.tables import shown_as_html, shown_as_text


@dataclass(frozen=True, slots=True, eq=False)
class QuestionnaireEstimation:
    """All estimates of a questionnaire.

    Attributes
    ----------
    rows : tuple of QuestionEstimate
        By question and answer: the whole, the domains, the strata.
    confidence : float
        Confidence level of the intervals.
    notes : tuple of str
        Sentences about the promise, where fewer people answered than it assumes.
    stand_ins : mapping of str to (tuple of StandIn, float)
        By question, if nobody answered it in some strata: these, and the range of the answers.
    answered : tuple of int
        How many people of each stratum sent a row; nothing for ratios.
    causes : mapping of str to Causes
        By question, the variance for the whole population by what makes it err; of several shares half the
        sum of their variances. Nothing for ratios, numbers, and sums of levels.
    planned : tuple of str
        Questions of which sums were published: their standard errors use the spreads of the design.
    ratio_of : tuple of (str, str or sequence of str)
        Of a ratio: its numerator and its denominator, as they were asked for.
    """

    rows: tuple[QuestionEstimate, ...]
    confidence: float
    notes: tuple[str, ...] = ()
    stand_ins: Mapping[str, tuple[tuple[StandIn, ...], float]] = field(default_factory=dict)
    answered: tuple[int, ...] = ()
    causes: Mapping[str, Causes] = field(default_factory=dict)
    planned: tuple[str, ...] = ()
    ratio_of: tuple[FigureNamed, ...] = ()
    _counted: tuple[Design, Sequence[FormCounts]] | None = field(default=None, repr=False)

    @property
    def whole(self) -> tuple[QuestionEstimate, ...]:
        """Those of the whole population."""
        return tuple(row for row in self.rows if row.column == "all")

    @property
    def covariance(self) -> Covariance:
        """The covariances of all estimates, in the order of ``rows``; of different questions they are NaN."""
        if self._counted is None:
            return covariance_of_questions(self.rows, [])
        plan, forms = self._counted
        errors = [errors_of(plan, [parts for _, parts in each.figures]) for each in _all_figures(plan, forms)]
        return covariance_of_questions(self.rows, errors)

    def ratio(self, numerator: FigureNamed, denominator: FigureNamed) -> QuestionnaireEstimation:
        """Estimate the ratio of two figures, for the whole, every domain and every stratum.

        Such as the share of those who smoke among those who rent, or one mean over another. A ratio is given
        where the standard error of its denominator is below a tenth of the denominator; a note says where it
        is left out.

        Parameters
        ----------
        numerator, denominator : pair of str and str, or of str and sequence of str
            The question and the answer of an estimate, as they are listed; several answers are added up.

        Returns
        -------
        QuestionnaireEstimation
            The ratios, with standard errors by linearisation, and intervals made of those of both figures,
            which never leave what the ratio can be.

        Raises
        ------
        InputError
            If there is no such estimate.

        Notes
        -----
        The variance is that of the numerator less R times the denominator, over the denominator squared,
        where R is the ratio. Their covariance is counted where one table holds both: the figures of one
        question, of questions that are kept together, and of all questions of a form where rows are
        published. Otherwise the standard error is an upper bound: two tables of one form add up their
        standard errors, and figures of different people are not credited with the share of the population
        that was asked.
        """
        if self._counted is None:
            raise InputError("ratios are estimated from a questionnaire, got ratios.")
        plan, forms = self._counted
        rows, notes = estimate_ratio(plan, forms, numerator, denominator)
        asked = (numerator, denominator)
        return QuestionnaireEstimation(tuple(rows), self.confidence, tuple(notes), ratio_of=asked)

    def __repr__(self) -> str:
        return shown_as_text([questions_table(self)], questions_in_words(self))

    def _repr_html_(self) -> str:
        return shown_as_html([questions_table(self)], questions_in_words(self))


def estimate_questions(plan: Design, forms: Sequence[FormCounts]) -> QuestionnaireEstimation:
    """Estimate all questions from counts."""
    questionnaire = plan.inputs.questions
    rows: list[QuestionEstimate] = []
    stand_ins, causes = {}, {}
    ranges = {question.name: question.range for question in questionnaire}
    split = {question.name for question in questionnaire if _shows_causes(question, forms)}
    for name, crossed, figures in _all_figures(plan, forms):
        for answer, parts in figures:
            rows += combined(plan, name, answer, parts, crossed=crossed)
        answers = figures[0][1].answers
        if name in split:
            causes[name] = _causes(plan, [parts for _, parts in figures])
        if not crossed and not answers.all():
            stand_ins[name] = named_stand_ins(plan, find_stand_ins(plan, answers)), ranges[name]
    answered = np.sum([form.answers for form in forms], axis=0)
    response = check_response(plan, answered)
    said = None if response is None else response.in_words
    notes = [
        *([] if said is None else [said]),
        *few_answers(
            plan.strata.names, [form.answers for form in forms], [form.questions for form in plan.forms]
        ),
    ]
    return QuestionnaireEstimation(
        tuple(rows),
        plan.inputs.confidence,
        tuple(notes),
        stand_ins,
        tuple(answered.tolist()),
        causes,
        tuple(each.name for each in questionnaire if each.of_kind.averaged and not _counts(each, forms)),
        _counted=(plan, forms),
    )


def _shows_causes(question: Question, forms: Sequence[FormCounts]) -> bool:
    """Whether counts show a spread: sums show none, and that of numbers is rounding as well."""
    return not question.of_kind.averaged or (question.levels is not None and _counts(question, forms))


def _counts(question: Question, forms: Sequence[FormCounts]) -> bool:
    """Whether the answers to a question were counted on every form that has it, and not added up."""
    tables = (table for form in forms for table in form.tables if question.name in table.questions)
    return all(table.counts is not None for table in tables)


def _causes(plan: Design, figures: Sequence[Parts]) -> Causes:
    """Split the variance of a question by cause: of several shares half the sum."""
    each = [causes_of(plan, parts) for parts in figures]
    factor = 0.5 if len(each) > 1 else 1.0
    return Causes(*(factor * sum(values) for values in zip(*each, strict=True)))


class _Figures(NamedTuple):
    """All figures of a question, or of a cross-table."""

    name: str
    crossed: bool
    figures: list[tuple[str, Parts]]


def _all_figures(plan: Design, forms: Sequence[FormCounts]) -> Iterator[_Figures]:
    """Estimate every question in every stratum, then every cross-table."""
    for question in plan.inputs.questions:
        yield _Figures(question.name, crossed=False, figures=list(_figures(plan, question, forms)))
    for names, figures in _cross_tables(plan, forms):
        yield _Figures(" by ".join(names), crossed=True, figures=figures)


def _figures(plan: Design, question: Question, forms: Sequence[FormCounts]) -> Iterator[tuple[str, Parts]]:
    """Estimate the figures of one question in every stratum, from all forms that it is on."""
    on = [
        (t, form.answers, table.about(question.name))
        for t, form in enumerate(forms)
        for table in form.tables
        if question.name in table.questions
    ]
    if question.of_kind.averaged:
        each = [mean_on(plan, question, t, answers, table) for t, answers, table in on]
        yield "mean", joined(plan, each, question=question)
        return
    cases = question.of_kind.cases(question)
    shown = list(enumerate(cases)) if cases else [(1, "yes")]
    for place, name in shown:
        shares = [share_on(plan, t, answers, table, place) for t, answers, table in on]
        yield name, joined(plan, shares, together=len(shown))


def _cross_tables(
    plan: Design, forms: Sequence[FormCounts]
) -> Iterator[tuple[list[str], list[tuple[str, Parts]]]]:
    """Estimate the shares of all combinations of questions that are kept together, from all their forms."""
    questionnaire = plan.inputs.questions
    for places in questionnaire.groups.values():
        questions = [questionnaire[place] for place in places]
        names = [question.name for question in questions]
        on = [
            (t, form.answers, _only(table, names))
            for t, form in enumerate(forms)
            for table in form.tables
            if set(names) <= set(table.questions) and table.counts is not None
        ]
        levels = {joint.levels for _, _, joint in on}
        if len(levels) != 1:  # numbers with other levels on other forms have no table in common
            continue
        (common,) = levels
        listed = combinations(questions, common)
        figures = []
        for place, answer in enumerate(listed):
            shares = [share_on(plan, t, given, joint, place) for t, given, joint in on]
            figures.append((answer, joined(plan, shares, together=len(listed))))
        yield names, figures


def _only(table: TableCounts, names: Sequence[str]) -> TableCounts:
    """Add a table of combinations up over all questions but these."""
    assert table.counts is not None
    kept = [i for i, name in enumerate(table.questions) if name in names]
    others = tuple(axis + 1 for axis in range(len(table.levels)) if axis not in kept)
    counts = table.counts.reshape(len(table.counts), *table.levels).sum(axis=others)
    levels = tuple(table.levels[i] for i in kept)
    number = int(np.prod(table.levels)) // int(np.prod(levels))
    questions = tuple(table.questions[i] for i in kept)
    return TableCounts(questions, levels, counts.reshape(len(counts), -1), None, table.noise * number)
