"""Cells of a table as text."""

import re
from typing import Any

# Of Excel and LibreOffice, also in other languages: #REF!, #BEZUG!, #N/A, #NV, #DIV/0!, #NAME?, Err:502.
_ERROR = re.compile(r"#[^\W\d_]+(/0)?[!?]|#N/A|#NV|Err:\d{3}", re.IGNORECASE)


def text_of(cell: Any) -> str:
    """Read a cell as text: nothing is empty, and a number made of a name loses its '.0'."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def is_error_value(cell: Any) -> bool:
    """Whether a cell holds what a spreadsheet shows where a formula failed.

    Examples
    --------
    >>> is_error_value("#REF!"), is_error_value("#N/A"), is_error_value("# 3"), is_error_value(3)
    (True, True, False, False)
    """
    return isinstance(cell, str) and _ERROR.fullmatch(cell.strip()) is not None
