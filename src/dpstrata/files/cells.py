"""Cells of a table as text, and text that a spreadsheet would calculate.

A stratum or a person may be called ``=HYPERLINK(...)``; whoever opens the file would run it. So CSV files
have such text behind an apostrophe, which reading takes off. Parquet and Excel files say that it is text, and
need no mark.
"""

from __future__ import annotations

import re
from typing import Any

# Of Excel and LibreOffice, also in other languages: #REF!, #BEZUG!, #¡REF!, #N/A, #N/D, #NV, Err:502.
_ERROR = re.compile(r"#[¡¿]?[^\W\d_]+(/0)?[!?]|#[^\W\d_]/[^\W\d_]|#NV|Err:\d{3}", re.IGNORECASE)
_WORDS = {"yes": 1, "y": 1, "true": 1, "1": 1, "1.0": 1, "no": 0, "n": 0, "false": 0, "0": 0, "0.0": 0}


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


def read_yes_no(cell: object) -> int | None:
    """Read 1 for yes and 0 for no in any case, as words or numbers; ``None`` for what is neither."""
    return _WORDS.get(text_of(cell).casefold())


def is_error_value(cell: Any) -> bool:
    """Whether a cell holds what a spreadsheet shows where a formula failed.

    Examples
    --------
    >>> [is_error_value(cell) for cell in ("#REF!", "#¡DIV/0!", "#N/D", "# 3", 3)]
    [True, True, True, False, False]
    """
    return isinstance(cell, str) and _ERROR.fullmatch(cell.strip()) is not None


_MARK = "'"
# Text that already begins with apostrophes gets one more, so that taking one off gives back what was there.
_FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠].")
_NUMBER = re.compile(r"'*[+-][0-9., ]*[0-9](e[+-]?[0-9]+)?%?", re.IGNORECASE)


def marked(cell: Any) -> Any:
    """Mark text that begins like a formula and is no number; leave everything else.

    Examples
    --------
    >>> marked("=1+1"), marked("-5"), marked("-"), marked(-5)
    ("'=1+1", '-5', '-', -5)
    """
    return _MARK + cell if isinstance(cell, str) and _is_formula(cell) else cell


def unmarked(text: str) -> str:
    """Undo :func:`marked`.

    Examples
    --------
    >>> unmarked("'=1+1"), unmarked("'s-Hertogenbosch")
    ('=1+1', "'s-Hertogenbosch")
    """
    return text[1:] if text.startswith(_MARK) and _is_formula(text) else text


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None
