"""What else is known of the people in a sample: columns of a table for letters and mail merge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpstrata.errors import InputError
from dpstrata.files.cells import text_of
from dpstrata.files.headers import require_columns
from dpstrata.files.tables import Table, read_table
from dpstrata.words.numbers import counted


def require_contacts(table: str | Path, *, id: str, columns: Sequence[str]) -> None:
    """Require that a table has these columns."""
    _with_columns(table, id, columns)


def _with_columns(table: str | Path, id: str, columns: Sequence[str]) -> tuple[Table, tuple[str, ...]]:
    read = read_table(Path(table), about_people=True)
    needed = tuple(dict.fromkeys((id, *columns)))
    require_columns(read.source, read.columns, *needed, sheets=read.sheets, about_people=True)
    return read, needed


def read_contacts(
    table: str | Path, *, id: str, people: Sequence[str], columns: Sequence[str]
) -> list[dict[str, str]]:
    """Return these columns of a table as text, for everyone in the order of the ids.

    Raises
    ------
    InputError
        If a column or someone is missing, or someone is there twice; nobody is named.
    """
    read, needed = _with_columns(table, id, columns)
    ids = [text_of(cell) for cell in read.columns[id]]
    place = {person: row for row, person in enumerate(ids)}
    missing = sum(person not in place for person in people)
    if missing:
        raise InputError(
            f"{read.source} must have everyone in the sample, got all but {counted(missing, 'person')}.",
            where=read.source,
        )
    if len(place) < len(ids):
        raise InputError(f"{read.source} must have everyone once, got an id twice.", where=read.source)
    return [{name: text_of(read.columns[name][place[person]]) for name in needed} for person in people]
