r"""Forms of several questions, published as rows or as noised tables: all questions estimated from counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import COUNT, ENTRY, TABLE, VALUE
from dpstrata.fielding.covariances import Reported, Together
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.randomizers.form import CELL
from dpstrata.fielding.results.combining import combine
from dpstrata.fielding.results.figures import FEWEST, NumberReports, QuestionFigures
from dpstrata.fielding.results.form_figures import (
    OnForm,
    TableCounts,
    count_rows,
    joined,
    mean_on,
    published_counts,
    share_on,
    weights_of,
)
from dpstrata.fielding.results.ratios import combinations
from dpstrata.fielding.results.reader import Reader, count_on_spark
from dpstrata.fielding.results.results import Results
from dpstrata.files.cells import text_of
from dpstrata.files.headers import require_columns
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import BoolArray
from dpstrata.survey.questionnaires.question import Question
from dpstrata.words.numbers import read_number
from dpstrata.words.results import FEW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class RowsReader(Reader):
    """Count the rows of every form."""

    def read(self, table: Table, stratum: str) -> tuple[Sequence[Any], ...]:
        """Read published rows: strata, forms and cells."""
        require_columns(table.source, table.columns, stratum, FORM, CELL)
        return tuple([text_of(cell) for cell in table.columns[name]] for name in (stratum, FORM, CELL))

    def estimate(self, *columns: Any) -> Results:
        """Count the rows, and estimate from the counts."""
        return estimate_questions(self.plan, count_rows(self.plan, *columns))

    def estimate_on_spark(self, data: DataFrame, stratum: str) -> Results:
        """Let Spark count the rows of each stratum and form, and estimate from that."""
        return self.estimate(*count_on_spark(data, stratum, FORM, CELL))


class TablesReader(Reader):
    """Read the noised tables of every form."""

    def read(self, table: Table, stratum: str) -> tuple[Sequence[Any], ...]:
        """Read published tables."""
        names = (stratum, FORM, TABLE, ENTRY, VALUE, COUNT)
        require_columns(table.source, table.columns, *names)
        return tuple(table.columns[name] for name in names)

    def estimate(self, *columns: Any) -> Results:
        """Estimate from noised tables."""
        values: dict[tuple[str, int, str, str], float] = {}
        answers: dict[tuple[str, int], int] = {}
        for stratum, form, table, entry, value, count in zip(*columns, strict=True):
            number, people, which = (read_number(cell) for cell in (value, count, form))
            if number is None or people is None or which is None or (people % 1, which % 1) != (0, 0):
                raise InputError("published tables must have numbers, and whole ones of answers, got others.")
            key = text_of(stratum), int(which), text_of(table), text_of(entry)
            if key in values or answers.setdefault(key[:2], int(people)) != people:
                raise InputError(
                    "published tables must have every entry once, and one number of answers for each stratum "
                    "and form, got others."
                )
            values[key] = number
        try:
            return estimate_questions(self.plan, published_counts(self.plan, values, answers))
        except KeyError:
            raise InputError("published tables must be those of this design, got others.") from None


def estimate_questions(plan: Design, tables: Sequence[TableCounts]) -> Results:
    """Estimate all questions from counts."""
    figures = [question_figures(plan, question, tables) for question in plan.inputs.questions]
    by_form = {table.form: table.answers for table in tables}
    answered = np.sum([*by_form.values()], axis=0)
    more = [*_points(plan, tables), *_cross_tables(plan, tables)]
    return combine(plan, [*figures, *more], answered=answered, counts=tables)


def question_figures(plan: Design, question: Question, tables: Sequence[TableCounts]) -> QuestionFigures:
    """Estimate the figures of one question in every stratum, from all forms that it is on."""
    on = [table.about(question.name) for table in tables if question.name in table.questions]
    if not question.of_kind.averaged:
        cases = question.of_kind.cases(question)
        return _shares(plan, question.name, on, list(enumerate(cases)) if cases else [(1, "yes")])
    parts = [mean_on(plan, question, table) for table in on]
    reports = [part.reports for part in parts if part.reports is not None]
    shown = len(reports) == len(parts)
    counted = all(table.counts is not None for table in on)
    return QuestionFigures(
        question.name,
        [joined(plan, "", parts, question=question)],
        _few(on),
        planned=not shown,
        # the spread of what is put on levels is rounding as well
        splits=counted and not any(question.is_rounded(table.levels[0]) for table in on),
        reports=NumberReports.pooled(reports, [table.answers for table in on]) if shown else None,
    )


def _points(plan: Design, tables: Sequence[TableCounts]) -> Iterator[QuestionFigures]:
    """Estimate the share of every point of the scales that keep all of them."""
    for question in plan.inputs.questions:
        if question.levels != "all":
            continue
        on = [table.about(question.name) for table in tables if question.name in table.questions]
        if all(table.counts is not None for table in on):
            listed = list(enumerate(combinations([question], on[0].levels)))
            shares = _shares(plan, f"{question.name} by point", on, listed)
            yield shares._replace(crossed=True, splits=False)


def _cross_tables(plan: Design, tables: Sequence[TableCounts]) -> Iterator[QuestionFigures]:
    """Estimate the shares of all combinations of questions that are kept together, from all their forms."""
    for places in plan.inputs.questions.groups.values():
        questions = [plan.inputs.questions[place] for place in places]
        names = [question.name for question in questions]
        on = [
            table.about(*names)
            for table in tables
            if set(names) <= set(table.questions) and table.counts is not None
        ]
        levels = {joint.levels for joint in on}
        if len(levels) != 1:  # numbers with other levels on other forms have no table in common
            continue
        listed = list(enumerate(combinations(questions, *levels)))
        yield _shares(plan, " by ".join(names), on, listed)._replace(crossed=True, splits=False)


def _shares(
    plan: Design,
    name: str,
    on: Sequence[TableCounts],
    levels: Sequence[tuple[int, str]],
) -> QuestionFigures:
    """Estimate the shares of levels, each given with its place in the tables."""
    by_level = [[share_on(plan, table, place) for table in on] for place, _ in levels]
    names = [level for _, level in levels]
    figures = [
        joined(plan, level, parts, together=len(levels)) for level, parts in zip(names, by_level, strict=True)
    ]
    together = Together.of(plan, _reported(by_level)) if len(levels) > 1 else None
    return QuestionFigures(name, figures, _few(on), together)


def _reported(by_level: Sequence[Sequence[OnForm]]) -> list[Reported]:
    """Collect the shares of a question form by form."""
    found = []
    for weights, *each in zip(weights_of(by_level[0]), *by_level, strict=True):
        shares, known = np.stack([part.estimates for part in each]), each[0].known
        assert isinstance(known, Reports)
        found.append(
            Reported.of(shares, known.answers, weights, known.floor, known.slope, known.noise, each[0].levels)
        )
    return found


def _few(on: Sequence[TableCounts]) -> dict[str, BoolArray]:
    """Say in which strata a form has few answers."""
    return {FEW: np.min([table.answers for table in on], axis=0) < FEWEST}
