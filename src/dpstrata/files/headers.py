"""What messages say of the columns of a table, without showing a row about somebody."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dpstrata.errors import InputError
from dpstrata.files.cells import text_of
from dpstrata.words.numbers import counted, read_number

NO_HEADER = "its first row looks like data, so it may lack a header"
_MOST_LISTED = 20  # columns in a message
_YES_NO = re.compile("yes|no|true|false", re.IGNORECASE)
_OF_SOMEBODY = re.compile(r"^\d|\d{3}|@")  # ids, dates, addresses


def require_columns(
    source: str,
    known: Mapping[str, Sequence[Any]] | Collection[str],
    *names: str,
    sheets: Sequence[str] = (),
    about_people: bool = False,
) -> None:
    """Require columns of a table; a message lists those that it has, and its other sheets.

    ``known`` are its columns by name, or the names alone. Where rows are about people, a message shows no
    name that is not required: it may be an answer.
    """
    there = list(known)
    below = list(known.values()) if isinstance(known, Mapping) else ()
    for name in names:
        if name not in there:
            if about_people and not looks_like_data(there, below):
                listed = f"{_counted_columns(there, name, names)}{_elsewhere(sheets)}"
            else:
                listed = columns_in_words(there, sheets=sheets, below=below)
            raise InputError(f"{source} has no column {name!r}; {listed}.", where=source)


def _counted_columns(there: Sequence[str], missing: str, names: Sequence[str]) -> str:
    """Say what columns a table has without a name that was not asked for.

    Examples
    --------
    >>> _counted_columns(["person", "anna", "Q1 "], "q1", ["person", "q1"])
    'column 3 differs from it in case or space only'
    >>> _counted_columns(["person", "anna"], "q1", ["person", "q1"])
    "it has 'person' and 1 other column"
    """
    for place, name in enumerate(there, start=1):
        if name.strip().casefold() == missing.strip().casefold():
            return f"column {place} differs from it in case or space only"
    found = [name for name in dict.fromkeys(names) if name in there]
    if not found:
        return f"it has {counted(len(there), 'other column')}, and may lack a header"
    return f"it has {', '.join(map(repr, found))} and {counted(len(there) - len(found), 'other column')}"


def _elsewhere(sheets: Sequence[str]) -> str:
    return f"; other sheets: {', '.join(map(repr, sheets[:_MOST_LISTED]))}" if sheets else ""


def columns_in_words(
    names: Sequence[str],
    *,
    what: str = "it",
    sheets: Sequence[str] = (),
    below: Sequence[Sequence[Any]] = (),
) -> str:
    """List the columns of a table, unless they look like a row of answers under no header.

    Parameters
    ----------
    names : sequence of str
        The columns.
    what : str
        What has them.
    sheets : sequence of str
        Other sheets of the file, which may be meant.
    below : sequence of sequence, optional
        The cells under each name.

    Examples
    --------
    >>> columns_in_words(["person", "region"])
    "it has 'person', 'region'"
    >>> columns_in_words(["anna", "north", "1"])
    'its first row looks like data, so it may lack a header'
    """
    if looks_like_data(names, below):
        return f"{NO_HEADER}{_elsewhere(sheets)}"
    listed = ", ".join(map(repr, names[:_MOST_LISTED])) or "none"
    more = f" and {len(names) - _MOST_LISTED:,} more" if len(names) > _MOST_LISTED else ""
    return f"{what} has {listed}{more}{_elsewhere(sheets)}"


def looks_like_data(names: Sequence[str], below: Sequence[Sequence[Any]] = ()) -> bool:
    """Whether names of columns may be a row about somebody, so that no message may show them.

    Such are numbers, yes and no, what begins with a digit or has three in a row, like dates and ids, and what
    is in the same column again.

    Examples
    --------
    >>> looks_like_data(["person", "q1"]), looks_like_data(["a00017", "north"])
    (False, True)
    >>> looks_like_data(["anna", "north"], [["ben", "carla"], ["south", "north"]])
    True
    """
    return (
        any(read_number(name) is not None or _YES_NO.fullmatch(name) for name in names)
        or any(_OF_SOMEBODY.search(name) for name in names[:_MOST_LISTED])  # no others are shown
        or any(name and name in map(text_of, cells) for name, cells in zip(names, below, strict=False))
    )
