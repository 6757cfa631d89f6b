"""Saving a design, never over one that was drawn or released."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dpstrata.designs.document import FORMAT
from dpstrata.errors import DpstrataError, InputError
from dpstrata.files.overwriting import format_of, is_filled, require_same_kind, something_else
from dpstrata.files.writing import table_content, write_atomically

if TYPE_CHECKING:
    from dpstrata.designs.record import Design


def save_design(plan: Design, path: Path) -> None:
    """Write the document or the table of strata, by the ending of ``path``; see :func:`require_free`."""
    require_free(path, plan)
    write_atomically(path, design_content(plan, path))


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
    if not is_filled(path):
        return
    found = format_of(path)
    if found != FORMAT:
        raise something_else(path, found)
    depends: dict[str, Path] = {}
    for record in _records(path):
        for named in _designs(record):
            depends.setdefault(named, record)
    if not depends:
        return
    try:
        there = type(plan).read(path).digest
    except DpstrataError:  # it may be the one that was drawn
        raise something_else(path) from None
    if there != plan.digest and there in depends:
        raise InputError(
            f"{path} must stay as it is, because {depends[there]} refers to this design; choose another "
            "name.",
            where=str(path),
        )


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


def design_content(plan: Design, path: Path) -> bytes:
    """Return what :func:`save_design` would write."""
    if path.suffix.lower() == ".json":
        return (to_json(plan) + "\n").encode()
    return table_content(plan.table(), path)


def to_json(plan: Design) -> str:
    """Write the design document as JSON text."""
    return json.dumps(plan.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
