"""From the columns of a table to strata, with every mistake reported at its row and column."""

from __future__ import annotations

import difflib
import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dpstrata.errors import CellProblem, DpstrataWarning, StrataError
from dpstrata.files.tables import Table, columns_in_words, text_of
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.answers.base import Answers
from dpstrata.survey.strata_checks import COLUMN_OF, Finding, find_large_spreads, find_problems

SPREADS = ("sd", "variance", "proportion", "sd_low", "sd_high")
NUMBERS = ("size", *SPREADS, "coefficient", "cost", "min", "max", "response_rate", "sd_epsilon")
KNOWN = ("stratum", "sd_source", *NUMBERS)
OF_CATEGORY = "proportion:"  # and the name of a category: its expected share
_COUNTS = ("size", "min", "max")
_ROUNDED = 0.02  # by which the sum of shares that were rounded may miss 1
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([.,' \u00a0\u202f]\d{3})+")


def strata_arguments(
    table: Table, *, answers: Answers | None = None, spread_follows: bool = False
) -> dict[str, Any]:
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
    found = find_problems(columns, names=names, sources=sources)
    if answers is not None and "sds" in columns:
        found += _large_spreads(columns, answers, shares=spread == "proportion")
    _require_none(known.all_findings(found, spread or "sd"), table)
    if spread is None and not spread_follows:
        warnings.warn(
            DpstrataWarning(
                f"{table.source}: there is no spread column ({_spread_columns(answers)}), so the worst case "
                f"of {'the answer range' if answers is None or answers.numbers else 'equal shares'} is used."
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


def _large_spreads(columns: Mapping[str, FloatArray], answers: Answers, *, shares: bool) -> list[Finding]:
    """Find spreads that such answers cannot have; a size that is none bounds nothing."""
    sizes = columns["sizes"]
    whole = np.where(np.isfinite(sizes) & (sizes >= 1), sizes, 1e12).astype(np.int64)
    return find_large_spreads(columns["sds"] * (answers.range if shares else 1.0), whole, answers)


def _require_none(found: Sequence[Finding], table: Table) -> None:
    """Report everything that was found in a table, if anything was."""
    if not found:
        return
    cells = [
        CellProblem(finding.row, finding.column, f"{finding.words}.")
        for finding in found
        if finding.row is not None
    ]
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in found:
        alike.setdefault((finding.column, finding.rule), []).append(finding)
    raise StrataError(
        [finding.at_cell(table.place) for finding in found],
        source=table.source,
        cells=cells,
        kinds=[(_at_cells(each, table), len(each)) for each in alike.values()],
    )


def _at_cells(alike: Sequence[Finding], table: Table) -> str:
    """Say once what breaks one rule in several rows of a column."""
    first = alike[0]
    rows = [finding.row for finding in alike if finding.row is not None]
    if len(rows) < 2:
        return first.at_cell(table.place)
    others = " and others" if len({finding.got for finding in alike}) > 1 else ""
    return f"column {first.column!r}, {table.places(rows)}: {first.words}{others}."


class _Columns:
    """The known columns of a table, by their names without case and surrounding space."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.mistakes: list[str] = []
        self.findings: list[Finding] = []
        self.unreadable: list[tuple[int | None, str]] = []
        self.cells: dict[str, Sequence[Any]] = {}
        self.others: dict[str, Sequence[Any]] = {}
        self.of_categories: dict[str, Sequence[Any]] = {}
        for name, cells in table.columns.items():
            plain = name.strip().casefold()
            if plain.startswith(OF_CATEGORY):
                self.of_categories[OF_CATEGORY + name.strip()[len(OF_CATEGORY) :].strip()] = cells
            elif plain in KNOWN and plain in self.cells:
                self.mistakes.append(f"column {plain!r} appears twice in the header.")
            elif plain in KNOWN:
                self.cells[plain] = cells
            else:
                self.others[name] = cells
        self._compare_names()
        self.length = len(next(iter(table.columns.values()), []))
        if not self.length and not self.mistakes:
            self.mistakes.append("there must be at least one stratum, got only a header.")
        self._decimal = self._decimal_sign()

    def _compare_names(self) -> None:
        """Report missing columns, and warn of unknown ones that look like a slip of the pen."""
        close = {}
        for name in self.others:
            match = difflib.get_close_matches(name.strip().casefold().replace(" ", "_"), KNOWN, 1, 0.75)
            if match and match[0] not in self.cells:
                close[match[0]] = name
        there = columns_in_words(list(self.table.columns), what="the file", sheets=self.table.sheets)
        for name in ("stratum", "size"):
            if name not in self.cells:
                hint = f" Did you mean {close.pop(name)!r}?" if name in close else ""
                self.mistakes.append(f"column {name!r} is missing; {there}.{hint}")
        for name, other in close.items():
            warnings.warn(
                DpstrataWarning(
                    f"{self.table.source}: column {other!r} is unknown and ignored; did you mean {name!r}?"
                ),
                stacklevel=6,
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

    def texts(self, column: str) -> list[str]:
        """Read a column as text; a number that a spreadsheet made of a name is written without its '.0'."""
        texts = []
        for row, cell in enumerate(self.cells[column]):
            text = "" if _is_missing(cell) else text_of(cell)
            if not text:
                self._report(row, column, f"{column} must not be empty", "")
            texts.append(text)
        # Empty names are reported once, not again as doubles of each other.
        return [text or f"\0{row}" for row, text in enumerate(texts)]

    def sources(self, spread: str | None) -> str | list[str]:
        """Where the spreads come from."""
        if spread is None:
            return "bound"
        default = "bound" if spread == "sd_high" else "prior"
        if "sd_source" not in self.cells:
            return default
        return [default if _is_missing(cell) else text_of(cell) for cell in self.cells["sd_source"]]

    def numbers(self, column: str, *, blank: FloatArray | None = None) -> FloatArray:
        """Read a column as numbers; what is not one is reported and becomes NaN.

        Empty cells take their number from ``blank`` where that is given.
        """
        cells = self.of_categories[column] if column in self.of_categories else self.cells[column]
        if self._decimal == "." and not (column in _COUNTS and _any_text(cells)):
            try:
                values = np.array(cells, dtype=float)
            except (TypeError, ValueError, OverflowError):
                values = np.full(1, np.nan)  # read cell by cell, to say where
            if not np.isnan(values).any():
                return values
        values = np.full(len(cells), np.nan)
        for row, cell in enumerate(cells):
            if blank is not None and _is_missing(cell):
                values[row] = blank[row]
                continue
            number = self._number(row, column, cell)
            if number is None:
                self.unreadable.append((row, column))
            else:
                values[row] = number
        return values

    def _number(self, row: int, column: str, cell: Any) -> float | None:
        """Read one cell."""
        if _is_missing(cell):
            self._report(row, column, f"{column} must be a number", "nothing")
            return None
        if isinstance(cell, str):
            text = cell.strip()
            if column in _COUNTS and _THOUSANDS.fullmatch(text):
                self._report(
                    row, column, f"{column} must be written without thousands separators", repr(text)
                )
                return None
            if self._decimal == "both" and "," in text:
                self._report(row, column, "all numbers must use the same decimal sign", repr(text))
                return None
            cell = text.replace(",", ".") if self._decimal == "," else text
        try:
            number = float(cell)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isnan(number):
            self._report(row, column, f"{column} must be a number", repr(cell) if cell == cell else "NaN")
            return None
        return number

    def all_findings(self, found: Iterable[Finding], spread: str) -> list[Finding]:
        """Add what was found in the numbers to what reading them has found, by rows.

        What is wrong with standard deviations is told of the column ``spread``, which they come from; of a
        cell that cannot be read nothing more is told.
        """
        unreadable = set(self.unreadable)
        named = (f._replace(column=spread) if f.column == "sd" else f for f in found)
        told = self.findings + [f for f in named if (f.row, f.column) not in unreadable]
        return sorted(told, key=lambda finding: -1 if finding.row is None else finding.row)

    def _report(self, row: int, column: str, rule: str, got: str) -> None:
        self.findings.append(Finding(row, column, rule, got))

    def _decimal_sign(self) -> str:
        """Find the decimal sign that the text cells use: '.', ',' or, which is an error, both."""
        signs = {
            sign
            for column, cells in (self.cells | self.of_categories).items()
            if column in NUMBERS or column in self.of_categories
            for cell in cells
            for sign in ",."
            if isinstance(cell, str)
            and sign in cell
            and not (column in _COUNTS and _THOUSANDS.fullmatch(cell.strip()))
        }
        return "both" if len(signs) == 2 else signs.pop() if signs else "."


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


def _spread_columns(answers: Answers | None) -> str:
    """Name the columns that can say the spread."""
    if answers is None or answers.numbers:
        return "sd, variance, proportion, or sd_low and sd_high"
    return f"{OF_CATEGORY}{answers.names[0]} and so on, or sd"


def _any_text(cells: Sequence[Any]) -> bool:
    return any(isinstance(cell, str) for cell in cells)


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or bool(cell != cell)


def spread_of_proportions(proportions: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the standard deviations (divisor N - 1), in answer ranges, of answers at two ends.

    Examples
    --------
    >>> spread_of_proportions(np.array([0.5, 0.5]), np.array([1.0, 2.0])).round(4).tolist()
    [0.0, 0.7071]
    """
    correction = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 0.0)
    return np.sqrt(proportions * (1 - proportions) * correction)
