"""From the columns of a table to questions and back, with every mistake reported at its row and column."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpstrata.errors import QuestionnaireError
from dpstrata.files.cells import text_of
from dpstrata.files.columns import Columns, Finding, is_missing, require_none
from dpstrata.files.tables import Table
from dpstrata.survey.questionnaires.kinds.base import OR_BLANK
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR
from dpstrata.survey.questionnaires.kinds.yes_no import read_yes_no
from dpstrata.survey.questionnaires.question_checks import NUMBERS, find_among, read_question
from dpstrata.survey.questionnaires.translation import Translation

COLUMNS = (
    *("name", "kind", "lower", "upper", "step", "categories", "importance"),
    *("target_se", "target_margin", "together", "everyone", "blank", "no_first", "text", "labels"),
)
_WORDING = ("text", "labels")  # what there can be in several languages
_IN_LANGUAGE = re.compile(r"(text|labels)\s*::\s*(.+)", re.IGNORECASE)


def questions_from_table(table: Table) -> tuple[str, list[dict[str, Any]]]:
    """Read the language and the arguments of each ``Question``, or report everything that is wrong."""
    plain, others = _apart(table)
    known = KnownColumns(plain, COLUMNS, required=("name", "kind"), numbers=NUMBERS, row="question")
    known.require_header()
    language = ""
    if others and not set(_WORDING) & set(known.cells):  # the first language is that of the questionnaire
        language = next(iter(others))
        known.cells |= others.pop(language)
    read, found = [], []
    for row, given in enumerate(_cells(known)):
        given["translations"], mistakes = _translations(others, row)
        found += mistakes
        fields, mistakes = read_question(given)
        for mistake in mistakes:
            own = f"::{language}" if language and mistake.column in _WORDING else ""
            found.append(mistake._replace(row=row, column=f"{mistake.column}{own}"))
        read.append(fields)
    require_none(known.all_findings(found + find_among(read)), table, QuestionnaireError)
    return language, read


def question_columns(questions: Sequence[Mapping[str, Any]], language: str) -> dict[str, list[Any]]:
    """Return the columns of a table of questions; some only if there is anything in them."""
    columns = {column: [_written(question[column]) for question in questions] for column in COLUMNS}
    columns["blank"] = [None if each["blank"] or each["kind"] not in OR_BLANK else "no" for each in questions]
    for column in ("blank", "no_first"):
        if not any(columns[column]):
            del columns[column]
    own = f"::{language}" if language else ""
    wording = {f"{part}{own}": columns.pop(part) for part in _WORDING}
    for row, question in enumerate(questions):
        for each in question["translations"]:
            for part in _WORDING:
                cells = wording.setdefault(f"{part}::{each.language}", [None] * len(questions))
                cells[row] = _written(getattr(each, part))
    unused = {name for name, cells in wording.items() if cells == [None] * len(questions)} - {f"text{own}"}
    return columns | {name: cells for name, cells in wording.items() if name not in unused}


def _apart(table: Table) -> tuple[Table, dict[str, dict[str, list[Any]]]]:
    """Take out texts and labels in named languages, in the order of their columns."""
    plain, others = {}, dict[str, dict[str, list[Any]]]()
    for name, cells in table.columns.items():
        match = _IN_LANGUAGE.fullmatch(name.strip())
        if match is None:
            plain[name] = cells
        else:
            others.setdefault(match[2], {})[match[1].casefold()] = cells
    return replace(table, columns=plain), others


def _translations(
    others: Mapping[str, Mapping[str, Sequence[Any]]], row: int
) -> tuple[list[Translation], list[Finding]]:
    """Read what a row says in other languages."""
    read, found = [], list[Finding]()
    for language, columns in others.items():
        text, labels = (text_of(columns[part][row]) if part in columns else "" for part in _WORDING)
        if text or labels:
            try:
                read.append(Translation(language, text, _listed(labels)))
            except QuestionnaireError as problem:
                column = f"{'labels' if labels else 'text'}::{language}"
                found += [Finding(row, column, mistake.rstrip("."), "") for mistake in problem.mistakes]
    return read, found


def _written(cell: Any) -> Any:
    """Write a field as a cell: lists with separators, switches as words, and whole numbers as such."""
    match cell:
        case tuple():
            return SEPARATOR.join(cell) or None
        case bool():
            return "yes" if cell else None
        case float():
            return int(cell) if cell.is_integer() else cell
    return cell or None


class KnownColumns(Columns):
    """The columns of a table about a questionnaire, none of which may be unknown."""

    def __init__(
        self,
        table: Table,
        known: Sequence[str],
        *,
        required: Sequence[str],
        numbers: Sequence[str],
        row: str,
        header: Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            table,
            known=known,
            required=required,
            numbers=numbers,
            unclear_commas=True,
            row=row,
            header=header,
        )
        if self.mistakes:  # an unknown column may be one that is missing
            return
        meant = {other: name for name, other in self.slips.items()}
        for name in self.others:
            hint = f"did you mean {meant[name]!r}?" if name in meant else f"known are {', '.join(known)}."
            self.mistakes.append(f"column {name!r} is unknown; {hint}")

    def require_header(self) -> None:
        """Report what is wrong with the header."""
        if self.mistakes:
            raise QuestionnaireError(self.mistakes, source=self.table.source)

    def optional_numbers(self, column: str) -> list[float]:
        """Read a column as numbers, NaN for an empty cell, for no column and for what cannot be read."""
        nothing = np.full(self.length, math.nan)
        return (self.numbers(column, blank=nothing) if column in self.cells else nothing).tolist()

    def optional_texts(self, column: str) -> list[str]:
        """Read a column as text, empty where there is nothing."""
        return [text_of(cell) for cell in self.cells.get(column, [None] * self.length)]


def _cells(known: KnownColumns) -> list[dict[str, Any]]:
    """Read cells as arguments of ``Question``, so far as they can be read."""
    columns: dict[str, list[Any]] = {
        name: [None if math.isnan(number) else number for number in known.optional_numbers(name)]
        for name in NUMBERS
    }
    columns["importance"] = [1.0 if number is None else number for number in columns["importance"]]
    for column in ("name", "kind", "together", "text"):
        columns[column] = known.optional_texts(column)
    for column in ("categories", "labels"):
        columns[column] = [_listed(text) for text in known.optional_texts(column)]
    for column in ("everyone", "no_first"):
        columns[column] = read_switches(known, column)
    given = known.cells.get("blank", [None] * known.length)
    columns["blank"] = [  # an empty cell leaves it to the kind
        None if is_missing(cell) else switch
        for cell, switch in zip(given, read_switches(known, "blank"), strict=True)
    ]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _listed(text: str) -> list[str]:
    return text.split(SEPARATOR) if text else []


def read_switches(known: KnownColumns, column: str) -> list[bool]:
    """Read yes and no as people write them; an empty cell is no."""
    switches = []
    for row, cell in enumerate(known.cells.get(column, [None] * known.length)):
        read = 0 if is_missing(cell) else read_yes_no(cell)
        if read is None:
            known.findings.append(Finding(row, column, f"{column} must be yes or no", repr(text_of(cell))))
        switches.append(read == 1)
    return switches
