"""Readers of forms of several questions, published as rows or as noised tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.published_columns import COUNT, ENTRY, TABLE, VALUE
from dpstrata.fielding.questionnaires.files import CELL
from dpstrata.fielding.results.counts import count_rows, published_counts
from dpstrata.fielding.results.questions import QuestionnaireEstimation, estimate_questions
from dpstrata.fielding.results.reader import Reader
from dpstrata.files.cells import text_of
from dpstrata.files.headers import require_columns
from dpstrata.files.tables import Table
from dpstrata.words.numbers import read_number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class RowsReader(Reader):
    """Count the rows of every form."""

    def read(self, table: Table, stratum: str, answer: str) -> tuple[Sequence[Any], ...]:
        """Read published rows: strata, forms and cells."""
        require_columns(table.source, table.columns, stratum, FORM, CELL)
        return tuple([text_of(cell) for cell in table.columns[name]] for name in (stratum, FORM, CELL))

    def estimate(self, plan: Design, *columns: Any) -> QuestionnaireEstimation:
        """Count the rows, and estimate from the counts."""
        strata, forms, cells = columns
        return estimate_questions(plan, count_rows(plan, strata, forms, cells))

    def estimate_on_spark(self, plan: Design, data: DataFrame, stratum: str, answer: str) -> Any:
        """Refuse: tables of counts are small."""
        raise InputError("questionnaires are estimated from files, not on Spark.")


class TablesReader(RowsReader):
    """Read the noised tables of every form."""

    def read(self, table: Table, stratum: str, answer: str) -> tuple[Sequence[Any], ...]:
        """Read published tables."""
        names = (stratum, FORM, TABLE, ENTRY, VALUE, COUNT)
        require_columns(table.source, table.columns, *names)
        return tuple(table.columns[name] for name in names)

    def estimate(self, plan: Design, *columns: Any) -> QuestionnaireEstimation:
        """Estimate from noised tables."""
        values: dict[tuple[str, int, str, str], float] = {}
        answers: dict[tuple[str, int], int] = {}
        for stratum, form, table, entry, value, count in zip(*columns, strict=True):
            number, people, which = (read_number(cell) for cell in (value, count, form))
            if (
                number is None
                or people is None
                or which is None
                or (number % 1, people % 1, which % 1) != (0, 0, 0)
            ):
                raise InputError("published tables must have whole numbers, got others.")
            key = text_of(stratum), int(which), text_of(table), text_of(entry)
            if key in values or answers.setdefault(key[:2], int(people)) != people:
                raise InputError(
                    "published tables must have every entry once, and one number of answers for each stratum "
                    "and form, got others."
                )
            values[key] = number
        try:
            return estimate_questions(plan, published_counts(plan, values, answers))
        except KeyError:
            raise InputError("published tables must be those of this design, got others.") from None
