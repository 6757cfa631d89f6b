"""Cells of a table as text."""

import re
from typing import Any

# Of Excel and LibreOffice, also in other languages: #REF!, #BEZUG!, #¡REF!, #N/A, #N/D, #NV, Err:502.
_ERROR = re.compile(r"#[¡¿]?[^\W\d_]+(/0)?[!?]|#[^\W\d_]/[^\W\d_]|#NV|Err:\d{3}", re.IGNORECASE)


def text_of(cell: Any) -> str:
    """Read a cell as text: nothing is empty, and a number made of a name loses its '.0'."""
    try:
        if cell is None or cell != cell:
            return ""
    except TypeError:  # the NA of pandas is neither equal to anything nor not
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def is_error_value(cell: Any) -> bool:
    """Whether a cell holds what a spreadsheet shows where a formula failed.

    Examples
    --------
    >>> [is_error_value(cell) for cell in ("#REF!", "#¡DIV/0!", "#N/D", "# 3", 3)]
    [True, True, True, False, False]
    """
    return isinstance(cell, str) and _ERROR.fullmatch(cell.strip()) is not None
