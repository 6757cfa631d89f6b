"""Bounds of a number, from a simple constraint of an XLSForm."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

_NUMBER = r"([-+]?\s*(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)"
_COMPARED = re.compile(rf"\.\s*(<=|>=|<|>)\s*{_NUMBER}", re.IGNORECASE)
_TURNED = re.compile(rf"{_NUMBER}\s*(<=|>=|<|>)\s*\.", re.IGNORECASE)
_MIRROR = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Bounds(NamedTuple):
    """Smallest and largest answer; ``None`` where there is none."""

    lower: float | None = None
    upper: float | None = None


def bounds_of(constraint: str, *, whole: bool) -> Bounds | None:
    """Read the bounds that a constraint sets; ``None`` if it is not made of comparisons joined by ``and``.

    Parameters
    ----------
    constraint : str
        Such as ``. >= 0 and . < 120``.
    whole : bool
        Whether answers are whole numbers: then an open bound is the next whole number.

    Examples
    --------
    >>> bounds_of(". >= 0 and . < 120", whole=True)
    Bounds(lower=0.0, upper=119.0)
    >>> bounds_of("(0.5 < .)", whole=False)
    Bounds(lower=0.5, upper=None)
    >>> bounds_of(". >= -5 and . <= 0", whole=True)
    Bounds(lower=-5.0, upper=0.0)
    >>> bounds_of(". = 1 or . = 2", whole=True)
    """
    if constraint.count("(") != constraint.count(")"):
        return None
    lowers, uppers = [], []
    # of comparisons that all hold, parentheses say nothing
    for part in re.split(r"\band\b", re.sub(r"[()]", " ", constraint), flags=re.IGNORECASE):
        sign, number = _comparison(part.strip())
        if not math.isfinite(number):
            return None
        if sign.startswith(">"):
            lowers.append(_least(number, sign) if whole else number)
        else:
            uppers.append(-_least(-number, _MIRROR[sign]) if whole else number)
    ends = max(lowers, default=None), min(uppers, default=None)
    return Bounds(*(None if end is None else end + 0.0 for end in ends))  # never -0.0, which is shown as such


def _comparison(part: str) -> tuple[str, float]:
    """Read a comparison of the answer, which is written as a dot, with a number; NaN for anything else."""
    if match := _COMPARED.fullmatch(part):
        return match[1], _number(match[2])
    if match := _TURNED.fullmatch(part):
        return _MIRROR[match[2]], _number(match[1])
    return "", math.nan


def _number(text: str) -> float:
    return float(re.sub(r"\s", "", text))


def _least(number: float, sign: str) -> float:
    """Return the least whole number that is at least, or above, a number."""
    return math.floor(number) + 1.0 if sign == ">" else float(math.ceil(number))
