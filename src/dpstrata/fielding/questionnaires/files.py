"""Rows of answers in files: raw ones with a column for each question, or cells as devices sent them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.questionnaires.rows import form_of, share_in
from dpstrata.files.tables import Table, read_table, require_columns, text_of
from dpstrata.survey.questionnaires.question import Question

CELL = "cell"


class Row(NamedTuple):
    """One person's row as a device sent it."""

    form: int
    cell: int


class RawRow(NamedTuple):
    """One person's row as it was answered: where each answer lies between its first level and its last."""

    form: int
    shares: tuple[Fraction, ...]


def read_forms(sample: Path, plan: Design) -> list[int]:
    """Read which form everyone in a sample was dealt."""
    table = read_table(sample)
    require_columns(table.source, table.columns, FORM)
    return _numbers(table, FORM, len(plan.forms), "the number of a form")


def read_rows(
    path: Path, plan: Design, forms: Sequence[int | None], *, sheet: str | None
) -> Sequence[Row | RawRow | None]:
    """Read the rows of a file, whose people were dealt these forms; ``None`` for someone who was not drawn.

    Nor does a row count in which a question was left blank. A file with a column ``cell`` has what devices
    sent; any other has a column for each question.
    """
    table = read_table(path, sheet=sheet)
    if CELL in table.columns:
        return _cells(table, plan, forms)
    assert plan.inputs.questionnaire is not None
    names = [question.name for question in plan.inputs.questionnaire]
    require_columns(table.source, table.columns, *names, sheets=table.sheets)
    asked = [form_of(plan, number) for number in range(1, len(plan.forms) + 1)]
    return [
        None if form is None else _raw_row(table, row, form, asked[form - 1][0])
        for row, form in enumerate(forms)
    ]


def _cells(table: Table, plan: Design, forms: Sequence[int | None]) -> Sequence[Row | None]:
    """Read cells, each of the form that the person was dealt."""
    designed = plan.forms
    rows: list[Row | None] = []
    wrong: list[int] = []
    for row, form in enumerate(forms):
        text = text_of(table.columns[CELL][row])
        if form is None or text == "":
            rows.append(None)
            continue
        known = text.isdecimal() and int(text) < designed[form - 1].cells
        if not known:
            wrong.append(row)
            continue
        rows.append(Row(form, int(text)))
    if wrong:
        raise InputError(
            f"{table.source}: column {CELL!r}, {table.places(wrong)}: not a cell of the form that this "
            "person was given."
        )
    return rows


def _raw_row(table: Table, row: int, form: int, questions: Sequence[Question]) -> RawRow | None:
    """Read the answers of one person to the questions of their form."""
    shares = []
    for question in questions:
        cell = table.columns[question.name][row]
        if text_of(cell) == "":
            return None
        where = f"{table.source}: column {question.name!r}, {table.place(row)}"
        shares.append(share_in(question, cell, where))
    return RawRow(form, tuple(shares))


def _numbers(table: Table, column: str, most: int, what: str) -> list[int]:
    """Read whole numbers from 1 to ``most``."""
    texts = [text_of(cell) for cell in table.columns[column]]
    wrong = [row for row, text in enumerate(texts) if not (text.isdecimal() and 1 <= int(text) <= most)]
    if wrong:
        raise InputError(f"{table.source}: column {column!r}, {table.places(wrong)}: not {what}.")
    return [int(text) for text in texts]


def require_every_form(plan: Design, by_stratum: Mapping[str, Sequence[Row | RawRow]]) -> None:
    """Require an answer on every form in every stratum, without which a question could not be estimated."""
    forms = range(1, len(plan.forms) + 1)
    empty = [
        (name, form)
        for name in plan.strata.names
        for form in forms
        if not any(row.form == form for row in by_stratum.get(name, ()))
    ]
    if empty:
        listed = ", ".join(f"form {form} in {name!r}" for name, form in empty[:5])
        more = f" and {len(empty) - 5:,} more" if len(empty) > 5 else ""
        raise InputError(
            f"every form must have an answer in every stratum, got none on {listed}{more}, so nothing could "
            "be estimated. Wait for answers from there, or merge strata in a new design with a new sample."
        )
