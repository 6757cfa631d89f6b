"""What a later step depends on is not written over: a design that was drawn or released, an edited table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dpstrata.errors import DpstrataError, InputError
from dpstrata.model.output import write_table
from dpstrata.model.tables import read_table, text_of


def require_free(path: Path, digest: str) -> None:
    """Refuse to write a design over another one that was drawn or released.

    Parameters
    ----------
    path : path
        Where to. Records of draws lie beside it or in folders there, and the ledger beside it.
    digest : str
        Digest of the new design; one that is there already may be written again.
    """
    if not path.is_file():
        return
    records = (path.with_name("ledger.json"), path.with_name("draw.json"), *path.parent.glob("*/draw.json"))
    depends = {named: record for record in records for named in _designs(record)}
    there = _digest(path) if depends else None
    if there != digest and there in depends:
        raise InputError(
            f"{path} must stay as it is, because {depends[there]} is of this design; choose another name."
        )


def write_unless_edited(columns: dict[str, list[Any]], path: Path) -> None:
    """Write a table; a file that is there already must hold the same cells, and stays."""
    if not path.exists():
        write_table(columns, path)
    elif not _holds(path, columns):
        raise InputError(
            f"{path} exists, holds something else and is not replaced; choose another name or remove it."
        )


def _designs(record: Path) -> set[str]:
    """Digests of designs that a record of a draw or a ledger names; none if it is something else."""
    try:
        data = json.loads(record.read_text(encoding="utf-8"))
        return {str(entry["design_digest"]) for entry in data.get("entries", [data])}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def _digest(path: Path) -> str | None:
    from dpstrata.model.document import read_design

    try:
        return read_design(path).digest
    except DpstrataError:  # it is no design, so no step can depend on it
        return None


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
