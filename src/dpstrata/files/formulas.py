"""Text that a spreadsheet would calculate: CSV files have it behind an apostrophe, which reading takes off.

A stratum or a person may be called ``=HYPERLINK(...)``; whoever opens the file would run it. Parquet and
Excel files say that it is text, and need no mark.
"""

from __future__ import annotations

import re
from typing import Any

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
