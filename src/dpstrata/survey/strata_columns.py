"""From the columns of a table to strata, with every mistake reported at its row and column."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpstrata.errors import DpstrataWarning, StrataError
from dpstrata.files.cells import text_of
from dpstrata.files.columns import Columns, Finding, is_missing, require_none
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import FloatArray
from dpstrata.survey.strata_checks import COLUMN_OF, find_large_spreads, find_mistakes

if TYPE_CHECKING:
    from dpstrata.survey.questionnaires.question import Question


SPREADS = ("sd", "variance", "proportion", "sd_low", "sd_high")
NUMBERS = ("size", *SPREADS, "coefficient", "cost", "min", "max", "response_rate", "sd_epsilon")
KNOWN = ("stratum", "sd_source", *NUMBERS)
OF_CATEGORY = "proportion:"  # and the name of a category: its expected share
_COUNTS = ("size", "min", "max")
_ROUNDED = 0.02  # by which the sum of shares that were rounded may miss 1
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


def strata_arguments(table: Table, *, question: Question | None, spread_follows: bool) -> dict[str, Any]:
    """Read the arguments of ``Strata`` from a table, or report everything that is wrong with it.

    ``spread_follows`` says that a table without any spread is no reason to warn of the worst case.
    """
    known = _Columns(table)
    spread = known.spread()
    if known.mistakes:
        raise StrataError(known.mistakes, source=table.source)
    columns = _number_columns(known)
    names = known.texts("stratum")
    sources = known.sources(spread)
    if spread == OF_CATEGORY:
        columns["sds"] = _spread_of_categories(known, columns["sizes"])
    elif spread is not None:
        columns["sds"] = _standard_deviations(known, spread, columns["sizes"])
    totals, like_totals = find_totals(names, columns["sizes"])
    found = find_mistakes(columns, names=names, sources=sources) + find_people(names) + totals
    if question is not None and "sds" in columns:
        found += _large_spreads(columns, question, shares=spread == "proportion")
    # What is wrong with standard deviations is told of the column that they come from.
    named = [each._replace(column=spread or "sd") if each.column == "sd" else each for each in found]
    require_none(known.all_findings(named), table, StrataError)
    if like_totals:
        warnings.warn(
            DpstrataWarning(
                f"{table.source}: stratum {like_totals[0]!r} may be a total; if the row adds up others, "
                "remove it."
            ),
            stacklevel=4,
        )
    if spread is None and not spread_follows:
        numbers = question is None or question.space.numbers
        warnings.warn(
            DpstrataWarning(
                f"{table.source}: there is no spread column ({_spread_columns(question)}), so the worst case "
                f"of {'the answer range' if numbers else 'equal shares'} is used."
            ),
            stacklevel=4,
        )
    return {
        **columns,
        "names": names,
        "sd_sources": sources,
        "sds_are_shares": spread == "proportion",
        "proportions": known.numbers("proportion") if spread == "proportion" else None,
        "extra": {name: tuple(cells) for name, cells in (known.others | known.of_categories).items()},
    }


def _number_columns(known: _Columns) -> dict[str, FloatArray]:
    """Read the numbers but the spread, by the arguments of ``Strata`` that they are for."""
    sizes = known.numbers("size")
    # An empty cell of these columns means: no such limit, everyone answers, nothing was spent.
    zero = np.zeros_like(sizes)
    blanks = {"min": zero, "max": sizes, "response_rate": np.ones_like(sizes), "sd_epsilon": zero}
    return {
        argument: sizes if column == "size" else known.numbers(column, blank=blanks.get(column))
        for argument, column in COLUMN_OF.items()
        if column in known.cells and argument != "sds"
    }


def _large_spreads(columns: Mapping[str, FloatArray], question: Question, *, shares: bool) -> list[Finding]:
    """Find spreads that such answers cannot have; a size that is none bounds nothing."""
    sizes = columns["sizes"]
    whole = np.where(np.isfinite(sizes) & (sizes >= 1), sizes, 1e12).astype(np.int64)
    return find_large_spreads(columns["sds"] * (question.range if shares else 1.0), whole, question)


def is_known(column: str) -> bool:
    """Whether a column means something to the strata, so that it cannot be a further one."""
    plain = column.strip().casefold()
    return plain in KNOWN or plain.startswith(OF_CATEGORY)


class _Columns(Columns):
    """The columns of a table of strata; those that are not known are kept."""

    advice: ClassVar[Mapping[str, str]] = {
        "size": "If each row is a person, count the strata first (dpstrata frame, or dps.frame_strata)."
    }

    def __init__(self, table: Table) -> None:
        of_categories = {
            OF_CATEGORY + name.strip()[len(OF_CATEGORY) :].strip(): cells
            for name, cells in table.columns.items()
            if name.strip().casefold().startswith(OF_CATEGORY)
        }
        others = {
            name: cells
            for name, cells in table.columns.items()
            if not name.strip().casefold().startswith(OF_CATEGORY)
        }
        super().__init__(
            replace(table, columns=others),
            known=KNOWN,
            required=("stratum", "size"),
            numbers=NUMBERS,
            counts=_COUNTS,
            row="stratum",
        )
        self.of_categories = of_categories
        self.cells |= of_categories
        self._decimal = self._decimal_sign((*NUMBERS, *of_categories))
        for name, other in self.slips.items():
            warnings.warn(
                DpstrataWarning(
                    f"{self.table.source}: column {other!r} is unknown and ignored; did you mean {name!r}?"
                ),
                stacklevel=5,
            )

    def spread(self) -> str | None:
        """Return the column that says the spread; only one way may be used."""
        given = [name for name in SPREADS if name in self.cells]
        if given in (["sd_low", "sd_high"], []):
            return "sd_high" if given else OF_CATEGORY if self.of_categories else None
        if len(given) > 1 or given[0] in ("sd_low", "sd_high"):
            self.mistakes.append(
                "the spread must be given by one of sd, variance, proportion, or by sd_low and sd_high, "
                f"got {' and '.join(given)}."
            )
        return given[0]

    def sources(self, spread: str | None) -> str | list[str]:
        """Where the spreads come from."""
        if spread is None:
            return "bound"
        default = "bound" if spread == "sd_high" else "prior"
        if "sd_source" not in self.cells:
            return default
        return [default if is_missing(cell) else text_of(cell) for cell in self.cells["sd_source"]]


def _standard_deviations(known: _Columns, spread: str, sizes: FloatArray) -> FloatArray:
    """Turn whatever says the spread into standard deviations with divisor N - 1."""
    values = known.numbers(spread)
    if spread in ("sd", "sd_high"):
        if spread == "sd_high":
            low = known.numbers("sd_low")
            known.findings += [
                Finding(int(i), "sd_low", "sd_low must be at least 0 and at most sd_high", f"{low[i]:g}")
                for i in np.flatnonzero((low > values) | (low < 0))
            ]
        return values
    limit, rule = (
        (np.inf, "variance must be a number >= 0")
        if spread == "variance"
        else (1.0, "proportion must lie between 0 and 1")
    )
    wrong = ~((values >= 0) & (values <= limit))
    known.findings += [
        Finding(int(i), spread, rule, f"{values[i]:g}") for i in np.flatnonzero(wrong & np.isfinite(values))
    ]
    known.unreadable += [(int(i), spread) for i in np.flatnonzero(wrong)]
    values = np.where(wrong, 0.0, values)
    if spread == "variance":
        return np.sqrt(values)
    return spread_of_proportions(values, np.maximum(np.where(np.isfinite(sizes), sizes, 2.0), 1.0))


def _spread_of_categories(known: _Columns, sizes: FloatArray) -> FloatArray:
    """Turn expected shares of categories into S, S² being half the sum of p(1 − p)·N/(N − 1).

    Shares that add up to nearly 1, because they were rounded, are scaled to do so.
    """
    shares = {name: known.numbers(name) for name in known.of_categories}
    for name, values in shares.items():
        wrong = np.isfinite(values) & ~((values >= 0) & (values <= 1))
        known.findings += [
            Finding(int(i), name, f"{name} must lie between 0 and 1", f"{values[i]:g}")
            for i in np.flatnonzero(wrong)
        ]
    whole = np.sum(list(shares.values()), axis=0)
    known.findings += [
        Finding(
            int(i),
            next(iter(shares)),
            "the proportions of all categories must add up to 1",
            f"{whole[i]:.6g}",
        )
        for i in np.flatnonzero(np.abs(whole - 1.0) > _ROUNDED)
    ]
    people = np.maximum(np.where(np.isfinite(sizes), sizes, 2.0), 1.0)
    scaled = (values / np.where(whole > 0, whole, 1.0) for values in shares.values())
    each = [spread_of_proportions(np.clip(np.nan_to_num(values), 0.0, 1.0), people) ** 2 for values in scaled]
    return np.asarray(np.sqrt(0.5 * np.sum(each, axis=0)))


def _spread_columns(question: Question | None) -> str:
    """Name the columns that can say the spread."""
    if question is None or question.space.numbers:
        return "sd, variance, proportion, or sd_low and sd_high"
    return f"{OF_CATEGORY}{question.names[0]} and so on, or sd"


def spread_of_proportions(proportions: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the standard deviations (divisor N - 1), in answer ranges, of answers at two ends.

    Examples
    --------
    >>> spread_of_proportions(np.array([0.5, 0.5]), np.array([1.0, 2.0])).round(4).tolist()
    [0.0, 0.7071]
    """
    correction = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 0.0)
    return np.sqrt(proportions * (1 - proportions) * correction)


# --- rows that are no strata: totals of the others, and people ------------------------------------


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
