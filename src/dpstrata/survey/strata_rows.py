"""Rows of a strata table that are no strata: totals of the others, and people."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpstrata.files.columns import Finding
from dpstrata.numerics.arrays import FloatArray

# A row whose first word is one of these, or its last, as in Excel's subtotals; "all" must be the whole name,
# because "all others" is a stratum.
_TOTAL = re.compile(
    r"\W*(?:(?:(?:grand|sub|over|eind|hoved)[ -]?)?total(?:e|es|en|s|i|summe)?|eindtotaal|.*\Wtotal(?=\W*$)|"
    r"sum(?:me|ma)?|gesamt(?:summe|zahl|bevölkerung|ergebnis)?|.*\Wergebnis(?=\W*$)|общий итог|"
    r"celkový součet|végösszeg|genel toplam|総計|"
    r"(?:ins|zwischen)gesamt|zwischensumme|somme|ensemble|suma|soma|razem|ogółem|celkem|összesen|ukupno|yhteensä|"
    r"samtals|i alt|в?сего|всього|итого|σύνολο|toplam|合计|总计|合計|総数|(?:over)?all(?=\W*$))(?!\w)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def find_people(names: Sequence[str]) -> list[Finding]:
    """Find a list of people: most strata are named by an e-mail address, of which none is shown."""
    addresses = sum(_ADDRESS.fullmatch(name) is not None for name in names)
    if 2 * addresses <= len(names):
        return []
    rule = (
        "strata must be groups of people, but most of these are e-mail addresses, so each row seems to be "
        "one person; count the strata of the list first (dpstrata frame, or dps.frame_strata)"
    )
    return [Finding(None, "stratum", rule, "")]


def find_totals(names: Sequence[str], sizes: FloatArray) -> tuple[list[Finding], list[str]]:
    """Find rows that add up others.

    Returns
    -------
    tuple of list
        A finding for every row that is named a total and has as many people as all strata, or as the strata
        next to it, between this total and the one before or after; then the names of the other rows that
        may be a total, by their name, or because the first or the last row has as many people as all others.

    Examples
    --------
    >>> import numpy as np
    >>> find_totals(["A", "B", "Total"], np.array([10.0, 20, 30]))[0][0].got
    "'Total', which adds up other rows (30 people); remove it"
    """
    places = [row for row, name in enumerate(names) if _TOTAL.match(name)]
    everyone = sizes.sum() - sizes[places].sum()
    ends = [-1, *places, len(sizes)]
    found, others = [], []
    for before, row, after in zip(ends, ends[1:-1], ends[2:], strict=False):
        parts = sizes[before + 1 : row], sizes[row + 1 : after]
        sums = [everyone, *(part.sum() for part in parts if len(part) > 1)]  # one row is as large by chance
        # A size that could not be read is no number, which equals nothing.
        if len(sizes) - len(places) > 1 and sizes[row] > 0 and sizes[row] in sums:
            got = f"{names[row]!r}, which adds up other rows ({sizes[row]:,.0f} people); remove it"
            found.append(Finding(row, "stratum", "a row must be a stratum", got))
        else:
            others.append(names[row])
    if len(sizes) > 2:
        others += [names[row] for row in (0, -1) if not found and 2 * sizes[row] == sizes.sum() > 0]
    return found, list(dict.fromkeys(others))
