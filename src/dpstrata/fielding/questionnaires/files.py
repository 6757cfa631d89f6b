"""Rows of answers in files: raw ones with a column for each question, or cells as devices sent them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import read_position
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.questionnaires.rows import form_of
from dpstrata.files.cells import text_of
from dpstrata.files.headers import require_columns
from dpstrata.files.tables import Table
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


def read_rows(table: Table, plan: Design, forms: Sequence[int | None]) -> Sequence[Row | RawRow | None]:
    """Read the rows of a table, whose people were dealt these forms; ``None`` for someone who was not drawn.

    Nor does a row count in which a question was left blank, unless it may be. A table with a column ``cell``
    has what devices sent; any other has a column for each question.
    """
    _require_dealt(table, forms)
    names = [question.name for question in plan.inputs.questions]
    if CELL in table.columns:
        both = [name for name in names if name in table.columns]
        if both:
            raise InputError(
                f"{table.source} must have either a column {CELL!r}, as devices send it, or a column for "
                f"each question, got {CELL!r} and {both[0]!r}.",
                where=table.source,
            )
        return _cells(table, plan, forms)
    require_columns(table.source, table.columns, *names, sheets=table.sheets, about_people=True)
    asked = [form_of(plan, number) for number in range(1, len(plan.forms) + 1)]
    wrong: dict[str, list[int]] = {}
    rows = [
        None if form is None else _raw_row(table, row, form, asked[form - 1][0], wrong)
        for row, form in enumerate(forms)
    ]
    if wrong:
        named = {question.name: question for question in plan.inputs.questions}
        said = [
            f"column {name!r}, {table.places(places)}: the answer must be "
            f"{named[name].of_kind.written(named[name])}"
            for name, places in wrong.items()
        ]
        raise InputError(f"{table.source}: {'; '.join(said)}.", where=table.source)
    return rows


def _require_dealt(table: Table, forms: Sequence[int | None]) -> None:
    """Refuse a form other than the one that a person was dealt, where the file has a column for it."""
    wrong = [
        row
        for row, (cell, form) in enumerate(zip(table.columns.get(FORM, ()), forms, strict=False))
        if form is not None and text_of(cell) != "" and read_position(text_of(cell)) != form
    ]
    if wrong:
        raise InputError(
            f"{table.source}: column {FORM!r}, {table.places(wrong)}: the form must be the one that this "
            "person was dealt in the sample.",
            where=table.source,
        )


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
        cell = read_position(text)
        if cell is None or cell >= designed[form - 1].cells:
            wrong.append(row)
            continue
        rows.append(Row(form, cell))
    if wrong:
        raise InputError(
            f"{table.source}: column {CELL!r}, {table.places(wrong)}: not a cell of the form that this "
            "person was given."
        )
    return rows


def _raw_row(
    table: Table, row: int, form: int, questions: Sequence[Question], wrong: dict[str, list[int]]
) -> RawRow | None:
    """Read the answers of one person to the questions of their form, or note which are none."""
    shares = []
    cells = {question.name: table.columns[question.name][row] for question in questions}
    if any(text_of(cells[question.name]) == "" for question in questions if not question.blank):
        return None
    for question in questions:
        share = question.of_kind.share_of(question, cells[question.name])
        if share is None:
            wrong.setdefault(question.name, []).append(row)
        else:
            shares.append(share)
    return RawRow(form, tuple(shares))


def require_every_question(plan: Design, by_stratum: Mapping[str, Sequence[Row | RawRow]]) -> None:
    """Require an answer to every question in some stratum."""
    answered = {row.form for rows in by_stratum.values() for row in rows}
    asked = {name for t, form in enumerate(plan.forms, start=1) if t in answered for name in form.questions}
    missing = [question.name for question in plan.inputs.questions if question.name not in asked]
    if missing:
        listed = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise InputError(
            f"every question must have an answer, got none to {listed}, so it could not be estimated. Wait "
            "for answers from people with its forms."
        )
