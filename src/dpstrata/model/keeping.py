"""What a later step depends on is not written over: designs that were drawn or released, records, tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpstrata.errors import DpstrataError, InputError, MissingExtraError
from dpstrata.model.output import write_table
from dpstrata.model.tables import read_table, text_of

if TYPE_CHECKING:
    from dpstrata.model.design_record import Design

_OURS = "dpstrata."  # how the format of every document begins
_MOST_NAMES = 5


def require_free(path: Path, plan: Design) -> None:
    """Refuse to write a design over a file of another kind, or over a design that was drawn or released.

    Parameters
    ----------
    path : path
        Where to. Records of draws are looked for beside it, in folders there and in folders beside its own,
        the ledger beside it; of a link, where it leads as well.
    plan : Design
        The new design; one that is there already may be written again.
    """
    if path.suffix.lower() != ".json":
        require_same_kind(path, plan.table())
        return
    if not _is_filled(path):
        return
    from dpstrata.model.document import FORMAT, read_design

    found = _format(path)
    if found != FORMAT:
        raise _something_else(path, found)
    depends: dict[str, Path] = {}
    for record in _records(path):
        for named in _designs(record):
            depends.setdefault(named, record)
    if not depends:
        return
    try:
        there = read_design(path).digest
    except DpstrataError:  # it may be the one that was drawn
        raise _something_else(path) from None
    if there != plan.digest and there in depends:
        raise InputError(
            f"{path} must stay as it is, because {depends[there]} is of this design; choose another name.",
            where=str(path),
        )


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
    if ending not in (".json", ".csv", ".parquet", ".xlsx") or not _is_filled(path):
        return
    if ending == ".json":
        found = _format(path)
        if found.startswith(_OURS):
            raise _something_else(path, found)
        return
    try:
        there = list(read_table(path).columns)
    except MissingExtraError:
        raise
    except DpstrataError:
        raise _something_else(path) from None
    if there != list(columns):
        raise _something_else(path, _listed(there))


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
            f"{path} exists, holds something else and is not replaced; choose another name or remove it.",
            where=str(path),
        )


def _is_filled(path: Path) -> bool:
    """Whether there is a file with something in it to lose."""
    return path.is_file() and path.stat().st_size > 0


def _format(path: Path) -> str:
    """Return the format that a JSON file says it has; empty if it says none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise _something_else(path) from None
    return str(data.get("format", "")) if isinstance(data, dict) else ""


def _something_else(path: Path, what: str = "") -> InputError:
    shown = f" ({what})" if what.startswith((_OURS, "columns ")) else ""
    return InputError(f"{path} exists and holds something else{shown}. Choose another name.", where=str(path))


def _listed(names: list[str]) -> str:
    """List columns, unless the first row looks like data: no message shows a cell."""
    if any(name[:1].isdigit() for name in names):
        return ""
    return f"columns {', '.join(names[:_MOST_NAMES])}{', ...' if len(names) > _MOST_NAMES else ''}"


def _records(path: Path) -> Iterator[Path]:
    """Where the ledger and the records of draws of a design may be, the nearest first."""
    for file in dict.fromkeys((path, path.resolve())):
        folder = file.parent
        yield from (folder / "ledger.json", folder / "draw.json", *sorted(folder.glob("*/draw.json")))
        yield from (folder / ".." / "draw.json", *sorted((folder / "..").glob("*/draw.json")))


def _designs(record: Path) -> set[str]:
    """Digests of designs that a record of a draw or a ledger names; none if it is something else."""
    try:
        data = json.loads(record.read_text(encoding="utf-8"))
        return {str(entry["design_digest"]) for entry in data.get("entries", [data])}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


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
