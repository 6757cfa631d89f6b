"""What a later step depends on is not written over: documents, records and tables of another kind."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dpstrata.errors import DpstrataError, InputError, MissingExtraError
from dpstrata.files.cells import text_of
from dpstrata.files.tables import read_table
from dpstrata.files.writing import write_table
from dpstrata.words.numbers import counted

_OURS = "dpstrata."  # how the format of every document begins
_TABLE = "a table of"


def require_same_kind(path: Path, columns: Iterable[str] = ()) -> None:
    """Refuse to write a result (a table or a chart) over a file of another kind.

    Parameters
    ----------
    path : path
        Where to. A table that is there must have the same columns, and JSON must be no document of
        dpstrata; a file that cannot be read is of another kind. Pictures are always replaced.
    columns : iterable of str
        Columns of the new table.
    """
    ending = path.suffix.lower()
    if ending not in (".json", ".csv", ".parquet", ".xlsx") or not is_filled(path):
        return
    if ending == ".json":
        found = format_of(path)
        if found.startswith(_OURS):
            raise something_else(path, found)
        return
    try:
        there = list(read_table(path).columns)
    except MissingExtraError:
        raise
    except DpstrataError:
        raise something_else(path) from None
    if there != list(columns):
        # how they are called is not said: without a header that would be what is known of somebody
        raise something_else(path, f"{_TABLE} {counted(len(there), 'column')}")


def write_result(columns: dict[str, list[Any]], path: Path) -> None:
    """Write a table of results; a file that is there already must be of the same kind."""
    require_same_kind(path, columns)
    write_table(columns, path)


def write_unless_edited(columns: dict[str, list[Any]], path: Path) -> None:
    """Write a table; a file that is there already must hold the same cells, and stays."""
    if not path.exists():
        write_table(columns, path)
    elif not _holds(path, columns):
        raise InputError(
            f"{path} exists and holds something else, so it is not replaced; choose another name or remove "
            "it.",
            where=str(path),
        )


def is_filled(path: Path) -> bool:
    """Whether there is a file with something in it to lose."""
    return path.is_file() and path.stat().st_size > 0


def format_of(path: Path) -> str:
    """Return the format that a JSON file says it has; empty if it says none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise something_else(path) from None
    return str(data.get("format", "")) if isinstance(data, dict) else ""


def something_else(path: Path, what: str = "") -> InputError:
    """Return the refusal to write over something else."""
    shown = f" ({what})" if what.startswith((_OURS, _TABLE)) else ""
    return InputError(f"{path} exists and holds something else{shown}. Choose another name.", where=str(path))


def _holds(path: Path, columns: dict[str, list[Any]]) -> bool:
    try:
        there = read_table(path).columns
    except DpstrataError:
        return False
    return list(there) == list(columns) and all(
        len(there[name]) == len(cells) and all(map(_same, there[name], cells))
        for name, cells in columns.items()
    )


def _same(there: Any, cell: Any) -> bool:
    """Whether a cell of a file is what would be written there; text files hold numbers as text."""
    if isinstance(cell, str):
        return text_of(there) == text_of(cell)
    try:
        return float(there) == float(cell)
    except (TypeError, ValueError):
        return False
