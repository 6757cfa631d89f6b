"""Cells of a table as text."""

from typing import Any


def text_of(cell: Any) -> str:
    """Read a cell as text: nothing is empty, and a number made of a name loses its '.0'."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()
