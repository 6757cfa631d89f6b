"""What the types and constraints of rows in an XLSForm mean.

Each type becomes a kind of question, or cannot be part of a protected survey, for a reason. A simple
constraint has the bounds of a number.
"""

from __future__ import annotations

import math
import re
from typing import Literal, NamedTuple

Role = Literal[
    "select_one",
    "select_multiple",
    "range",
    "integer",
    "decimal",
    "metadata",
    "nothing",
    "begin group",
    "end group",
    "begin repeat",
    "end repeat",
    "refused",
    "unknown",
]

_TEXT = "free text has no fixed set of answers"
_LOCATION = "a location can identify the person"
_MEDIA = "recordings, pictures and files cannot be randomised"
_IDENTITY = "it identifies the person or the device"
# why rows that people answer are refused, what to ask instead, and their types
_REFUSED = (
    (_TEXT, "use select_one", ("text", "string")),
    (
        "dates and times have too many possible answers",
        "ask for an age or a year as an integer with bounds",
        ("date", "time", "datetime", "date time"),
    ),
    (
        _LOCATION,
        "ask for a region with select_one",
        ("geopoint", "geotrace", "geoshape", "location", "gps", "osm"),
    ),
    (_MEDIA, "remove the row", ("image", "photo", "audio", "video", "file", "barcode")),
    (_IDENTITY, "remove the row", ("phone number",)),
    (
        "an order of preference is not a single answer",
        "ask about each item with select_one",
        ("rank",),
    ),
    (
        "it has only one possible answer",
        "use note, or select_one with yes and no",
        ("acknowledge", "trigger"),
    ),
    (
        "its choices are not in this workbook",
        "use select_one with a list from sheet 'choices'",
        (
            *("select_one_from_file", "select one from file", "select_one_external", "select one external"),
            *("select_multiple_from_file", "select multiple from file"),
        ),
    ),
)
_INSTEAD = {name: (reason, advice) for reason, advice, names in _REFUSED for name in names}
# what devices record by themselves, and why it is never kept
_RECORDED = {
    "the time of an answer can identify the person": (
        *("start", "end", "today", "start time", "end time", "audit"),
        *("get start time", "get end time", "get today"),
    ),
    _IDENTITY: (
        *("deviceid", "device id", "imei", "username", "email", "phonenumber", "simserial", "sim id"),
        *("subscriberid", "subscriber id", "get device id", "get phone number", "get sim id"),
        "get subscriber id",
    ),
    _LOCATION: ("start-geopoint", "background-geopoint"),
    _MEDIA: ("background-audio",),
}
_METADATA = {name: reason for reason, names in _RECORDED.items() for name in names}
_NOTHING = {
    "note": "respondents are shown questions only",
    "calculate": "it is calculated, not answered",
    **dict.fromkeys(("hidden", "xml-external", "csv-external"), "nobody answers it"),
}
_NUMBERS: dict[str, Role] = {"integer": "integer", "int": "integer", "decimal": "decimal", "range": "range"}
_CONTROL = re.compile(r"(begin|end)[\s_](group|repeat|lgroup|looped group|loop)(?:\s.*)?", re.IGNORECASE)
_ONE = ("select_one", "select one from", "select one", "select1", "add select one prompt using")
_MULTIPLE = (
    *("select_multiple", "select multiple from", "select multiple", "select all that apply from"),
    *("select all that apply", "add select multiple prompt using"),
)
_SELECT = re.compile(
    rf"(?:({'|'.join(_ONE)})|{'|'.join(_MULTIPLE)})(?: (\S+))?(?: (or_other|or other|or specify other))?",
    re.IGNORECASE,
)


class RowType(NamedTuple):
    """What a row is for.

    Attributes
    ----------
    role : str
        What it becomes.
    choices : str
        Name of its list of choices.
    reason : str
        Why it becomes no question; empty where it becomes one, and for groups.
    advice : str
        What to do about a row that is refused.
    """

    role: Role
    choices: str = ""
    reason: str = ""
    advice: str = ""


def read_type(text: str) -> RowType:
    """Read the type of a row as people write it, in any of the spellings that other tools know.

    Examples
    --------
    >>> read_type("select_one yes_no")
    RowType(role='select_one', choices='yes_no', reason='', advice='')
    >>> read_type("Begin_Group").role, read_type("note").role, read_type("essay").role
    ('begin group', 'nothing', 'unknown')
    """
    words = " ".join(text.split())
    plain = words.casefold().removeprefix("uri:")
    if match := _CONTROL.fullmatch(words):
        return _control(match[1].casefold(), match[2].casefold())
    if plain in _METADATA:
        return RowType("metadata", reason=_METADATA[plain])
    for name, (reason, advice) in _INSTEAD.items():
        if plain == name or plain.startswith(f"{name} "):
            return RowType("refused", reason=reason, advice=advice)
    if plain in _NOTHING:
        return RowType("nothing", reason=_NOTHING[plain])
    if plain in _NUMBERS:
        return RowType(_NUMBERS[plain])
    if match := _SELECT.fullmatch(words):
        if match[3]:
            return RowType("refused", reason=_TEXT, advice="add 'other' to the choices")
        return RowType("select_one" if match[1] else "select_multiple", match[2] or "")
    return RowType("unknown")


def _control(side: str, what: str) -> RowType:
    """Read where a group begins or ends; everything else that can be begun is repeated."""
    if what == "group":
        return RowType("begin group" if side == "begin" else "end group")
    if side == "end":
        return RowType("end repeat")
    reason, advice = "the number of repetitions would reveal an answer", "ask a fixed number of questions"
    return RowType("begin repeat", reason=reason, advice=advice)


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
