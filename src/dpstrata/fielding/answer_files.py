"""Tables of answers, as people write them and as they are published, by stratum of a design.

No message shows an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.files.cells import text_of
from dpstrata.files.headers import require_columns
from dpstrata.files.tables import Table, read_table, table_from_frame
from dpstrata.numerics.arrays import IntArray
from dpstrata.survey.classes import BETWEEN
from dpstrata.survey.questionnaires.question import Question
from dpstrata.survey.strata import Strata
from dpstrata.words.numbers import has_two_readings, read_number
from dpstrata.words.survey import no_such_stratum

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

# columns of published tables, as releases write them and results read them
STRATUM, COUNT = "stratum", "answers"
SUM = "sum"
COLUMN, GROUP, MEAN = "column", "group", "mean"
TABLE, ENTRY, VALUE = "table", "entry", "count"
_DIGITS = 15


def open_answers(answers: str | Path | IntoFrame, *, sheet: str | None = None) -> Table:
    """Take a table about people from a file, or from a data frame of any library that narwhals knows."""
    if isinstance(answers, str | Path):
        return read_table(Path(answers), sheet=sheet, about_people=True)
    if sheet is not None:
        raise InputError(f"{option('sheet')} requires an Excel file, got a data frame.", value=sheet)
    return table_from_frame(answers)


@lru_cache(maxsize=8)
def _places_by_name(strata: Strata) -> Mapping[str, int]:
    """Look all strata up once: a survey is noised person by person."""
    return {name: place for place, name in enumerate(strata.names)}


def place_of(plan: Design, stratum: str) -> int:
    """Return the place of a stratum that a design must have."""
    try:
        return _places_by_name(plan.strata)[stratum]
    except (KeyError, TypeError):  # such as for a list
        raise InputError(no_such_stratum(plan.strata, stratum)) from None


def places(plan: Design, strata: Sequence[str]) -> IntArray:
    """Return the places of strata in a design, all of which it must have."""
    place = _places_by_name(plan.strata)
    codes = np.fromiter(map(place.get, strata, repeat(-1)), dtype=np.int64, count=len(strata))
    unknown = {str(strata[i]) for i in np.flatnonzero(codes < 0).tolist()}
    if unknown:
        raise InputError(no_such_stratum(plan.strata, min(unknown)))
    return codes


def read_noised(table: Table, stratum: str, answer: str) -> tuple[list[str], list[float]]:
    """Read noised answers and the stratum of each."""
    return read_people(table, stratum, (stratum,))[1], read_numbers(table, answer)


def read_noised_names(table: Table, stratum: str, answer: str) -> tuple[list[str], list[str]]:
    """Read noised answers that are names, and the stratum of each."""
    names, strata = read_people(table, answer, (stratum,))
    empty = [row for row, name in enumerate(names) if not name]
    if empty:  # a blank that someone gave has a name
        raise InputError(f"{table.source}: column {answer!r}, {table.places(empty)}: no noised answer.")
    return strata, names


def read_people(table: Table, id: str, stratum: Sequence[str]) -> tuple[list[str], list[str]]:
    """Read ids and strata as text; several stratum columns are crossed."""
    _require(table, id, *stratum)
    people, *parts = ([text_of(cell) for cell in table.columns[name]] for name in (id, *stratum))
    return people, [BETWEEN.join(cells) for cells in zip(*parts, strict=True)]


def read_numbers(table: Table, name: str) -> list[float]:
    """Read a column of numbers; a message says where there is none, and never what is there."""
    values = _read_cells(table, name, read_number, "not a number")
    return [value for value in values if value is not None]


def read_positions(table: Table, name: str, least: int, most: int, what: str) -> list[int]:
    """Read a column of whole numbers from ``least`` to ``most``."""
    _require(table, name)
    numbers = [read_position(text_of(cell)) for cell in table.columns[name]]
    wrong = [row for row, number in enumerate(numbers) if number is None or not least <= number <= most]
    if wrong:
        raise InputError(f"{table.source}: column {name!r}, {table.places(wrong)}: not {what}.")
    return [number for number in numbers if number is not None]


def read_position(text: str) -> int | None:
    """Read a whole number of moderate length, which a program may have written with '.0'."""
    digits = text.removesuffix(".0")
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) <= _DIGITS else None


def read_present_numbers(table: Table, name: str) -> list[float | None]:
    """Read a column of numbers, some of whose cells may be blank: ``None``; no message shows one."""
    return _read_cells(table, name, read_number, "not a number", blanks=True)


def read_answers(
    table: Table,
    question: Question,
    rows: Sequence[int],
    read: Callable[[Any], Any | None],
    check: Callable[..., None],
) -> list[Any]:
    """Read the answers of some rows to a question as people write them; a message says which are wrong.

    Parameters
    ----------
    table : Table
        With a column of the question's name.
    question : Question
        What was asked.
    rows : sequence of int
        Whose answers count.
    read : function
        Reads a cell, and returns ``None`` for what is no answer.
    check : function
        Refuses answers that can be read but are not allowed; ``where`` is said in its message.
    """
    leave = "" if question.blank else ", or leave the cell empty if the person did not answer"
    remedy = f"must be {question.of_kind.written(question)}; correct that{leave}"
    numbers = question.space.numbers
    values = _read_cells(table, question.name, read, remedy, rows=rows, numbers=numbers)
    refused = _refused(list(zip(rows, values, strict=True)), check)
    if refused:
        where = f"{table.source}, column {question.name!r}, {table.places(refused)}"
        check(values, where=where)
    return values


def _refused(given: Sequence[tuple[int, Any]], check: Callable[[list[Any]], Any]) -> list[int]:
    """Find the rows of answers that are not allowed, half by half: mostly there are few or none."""
    try:
        check([value for _, value in given])
    except InputError:
        if len(given) == 1:
            return [given[0][0]]
        half = len(given) // 2
        return [row for part in (given[:half], given[half:]) for row in _refused(part, check)]
    return []


def _read_cells(
    table: Table,
    name: str,
    read: Callable[[Any], Any],
    remedy: str,
    *,
    rows: Sequence[int] | None = None,
    blanks: bool = False,
    numbers: bool = True,
) -> list[Any]:
    """Read some rows of a column, by default all, cell by cell, or say in which rows that cannot be done."""
    _require(table, name)
    rows = range(len(table.columns[name])) if rows is None else rows
    cells = [table.columns[name][row] for row in rows]
    left = [blanks and text_of(cell) == "" for cell in cells]
    values = [None if blank else read(cell) for cell, blank in zip(cells, left, strict=True)]
    failed = [
        row for row, value, blank in zip(rows, values, left, strict=True) if value is None and not blank
    ]
    texts = {row: cell for row, cell in zip(rows, cells, strict=True) if numbers and isinstance(cell, str)}
    unclear = [row for row in failed if row in texts and has_two_readings(texts[row])]
    commas, points = ([row for row, text in texts.items() if sign in text] for sign in ",.")
    for wrong, words in (
        (
            unclear,
            "a comma before three digits can mean thousands or decimals; write no thousands separators, and "
            "decimals with a point",
        ),
        (failed, remedy),
        (
            commas if points else [],
            "decimal commas, and decimal points in other rows; write all numbers with the same sign",
        ),
    ):
        if wrong:
            raise InputError(f"{table.source}: column {name!r}, {table.places(wrong)}: {words}.")
    return values


def _require(table: Table, *names: str) -> None:
    """Require columns of a table; no message shows others, which may be answers."""
    require_columns(table.source, table.columns, *names, sheets=table.sheets, about_people=True)
