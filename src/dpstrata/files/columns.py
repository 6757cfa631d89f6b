"""The known columns of a table: cells become text and numbers, and every mistake has its row and column."""

from __future__ import annotations

import datetime
import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpstrata.errors import CellMistake, MistakesError
from dpstrata.files.cells import is_error_value, read_yes_no, text_of
from dpstrata.files.headers import columns_in_words
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import FloatArray
from dpstrata.words.numbers import has_two_readings

_THOUSANDS = re.compile(r"[+-]?\d{1,3}([.,' \u00a0\u202f]\d{3})+")


class Finding(NamedTuple):
    """One breach of a rule, in one row or (row ``None``) in all together; ``got`` may be empty."""

    row: int | None
    column: str
    rule: str
    got: str

    @property
    def words(self) -> str:
        """What must hold and what was got."""
        return f"{self.rule}, got {self.got}" if self.got else self.rule

    def at_stratum(self, name: Callable[[int], str]) -> str:
        """Say it with the stratum's name."""
        place = "" if self.row is None else f" in stratum {name(self.row)!r}"
        return f"{self.words}{place}."

    def at_cell(self, place: Callable[[int], str]) -> str:
        """Say it with the row and the column of a table."""
        where = "" if self.row is None else f"{place(self.row)}, "
        return f"{where}column {self.column!r}: {self.words}."


def require_none(found: Sequence[Finding], table: Table, error: type[MistakesError]) -> None:
    """Report everything that was found in a table, if anything was."""
    require_none_in([(found, table)], error)


def require_none_in(
    tables: Sequence[tuple[Sequence[Finding], Table]], error: type[MistakesError], *, advice: str = ""
) -> None:
    """Report everything that was found in the tables of one file, if anything was, and what helps."""
    mistakes, cells, kinds = [], [], []
    for found, table in tables:
        alike: dict[tuple[str, str], list[Finding]] = {}
        for finding in found:
            mistakes.append(f"{table.before_place}{finding.at_cell(table.place)}")
            alike.setdefault((finding.column, finding.rule), []).append(finding)
            if finding.row is not None:
                cells.append(CellMistake(finding.row, finding.column, f"{finding.words}."))
        kinds += [(f"{table.before_place}{_at_cells(each, table)}", len(each)) for each in alike.values()]
    if mistakes:
        raise error(mistakes, source=tables[0][1].source, cells=cells, kinds=kinds, advice=advice)


def _at_cells(alike: Sequence[Finding], table: Table) -> str:
    """Say once what breaks one rule in several rows of a column."""
    first = alike[0]
    rows = [finding.row for finding in alike if finding.row is not None]
    if len(rows) < 2:
        return first.at_cell(table.place)
    others = " and others" if len({finding.got for finding in alike}) > 1 else ""
    return f"column {first.column!r}, {table.places(rows)}: {first.words}{others}."


class Columns:
    """The known columns of a table, by their names without case and surrounding space.

    Parameters
    ----------
    table : Table
        Where they are.
    known : sequence of str
        The columns that mean something.
    required : sequence of str
        Those of them that must be there.
    numbers : sequence of str
        Those of them that hold numbers, which share a decimal sign.
    counts : sequence of str
        Those of the numbers that are whole, in which any thousands separator is refused.
    unclear_commas : bool
        Whether a comma before three digits, which can mean thousands or decimals, is refused in all numbers.
    row : str
        What a row is called.
    header : sequence of str, optional
        What the file has, for messages, where the table is only a part of it.

    Attributes
    ----------
    cells, others : dict
        The cells of known columns, by name, and of the others.
    mistakes : list of str
        What is wrong with the header.
    findings : list of Finding
        What is wrong with cells that were read.
    unreadable : list of (int, str)
        Row and column of cells of which nothing more can be told.
    """

    advice: ClassVar[Mapping[str, str]] = {}
    """What to do where a required column is missing, by its name."""

    def __init__(
        self,
        table: Table,
        *,
        known: Sequence[str],
        required: Sequence[str],
        numbers: Sequence[str],
        counts: Sequence[str] = (),
        unclear_commas: bool = False,
        row: str,
        header: Sequence[str] | None = None,
    ) -> None:
        self.table = table
        self.mistakes: list[str] = []
        self.findings: list[Finding] = []
        self.unreadable: list[tuple[int | None, str]] = []
        self.cells: dict[str, Sequence[Any]] = {}
        self.others: dict[str, Sequence[Any]] = {}
        self._known, self._counts, self._unclear_commas = known, counts, unclear_commas
        for name, cells in table.columns.items():
            plain = name.strip().casefold()
            if plain in known and plain in self.cells:
                self.mistakes.append(f"column {plain!r} appears twice in the header.")
            elif plain in known:
                self.cells[plain] = cells
            else:
                self.others[name] = cells
        self.slips = self._slips()
        self._require(required, list(table.columns if header is None else header))
        self.length = len(next(iter(table.columns.values()), []))
        if not self.length and not self.mistakes:
            self.mistakes.append(f"there must be at least one {row}, got only a header.")
        self._decimal = self._decimal_sign(numbers)

    def _slips(self) -> dict[str, str]:
        """Find unknown columns that look like a slip of the pen, by the known one that is missing."""
        close = {}
        for name in self.others:
            plain = name.strip().casefold().replace(" ", "_")
            match = difflib.get_close_matches(plain, self._known, 1, 0.75)
            if match and match[0] not in self.cells:
                close[match[0]] = name
        return close

    def _require(self, required: Sequence[str], header: Sequence[str]) -> None:
        """Report missing columns."""
        what = "the sheet" if self.table.sheet else "the file"
        there = columns_in_words(header, what=what, sheets=self.table.sheets)
        for name in required:
            if name not in self.cells:
                hint = f" {self.advice[name]}" if name in self.advice else ""
                hint = f" Did you mean {self.slips.pop(name)!r}?" if name in self.slips else hint
                self.mistakes.append(f"column {name!r} is missing; {there}.{hint}")

    def texts(self, column: str) -> list[str]:
        """Read a column as text; a number that a spreadsheet made of a name is written without its '.0'."""
        texts = []
        for row, cell in enumerate(self.cells[column]):
            text = "" if is_missing(cell) else text_of(cell)
            if not text:
                self.report(row, column, f"{column} must not be empty", "")
            elif is_error_value(text):
                self.report(row, column, f"{column} must be a name", f"the error value {text}")
            texts.append(text)
        # Empty names are reported once, not again as doubles of each other.
        return [text or f"\0{row}" for row, text in enumerate(texts)]

    def numbers(self, column: str, *, blank: FloatArray | None = None) -> FloatArray:
        """Read a column as numbers; what is not one is reported and becomes NaN.

        Empty cells take their number from ``blank`` where that is given.
        """
        cells = self.cells[column]
        if self._decimal == "." and not (column in self._counts and _any_text(cells)):
            try:
                values = np.array(cells, dtype=float)
            except (TypeError, ValueError, OverflowError):
                values = np.full(1, np.nan)  # read cell by cell, to say where
            if not np.isnan(values).any():
                return values
        values = np.full(len(cells), np.nan)
        for row, cell in enumerate(cells):
            if blank is not None and is_missing(cell):
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
        if is_missing(cell):
            self.report(row, column, f"{column} must be a number", "nothing")
            return None
        if isinstance(cell, str):
            text = cell.strip()
            if self._has_thousands(column, text):
                self.report(row, column, f"{column} must be written without thousands separators", repr(text))
                return None
            if self._decimal == "both" and "," in text:
                self.report(row, column, "all numbers must use the same decimal sign", repr(text))
                return None
            cell = text.replace(",", ".") if self._decimal == "," else text
        try:
            number = float(cell)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isnan(number):
            self.report(row, column, f"{column} must be a number", _shown(cell))
            return None
        return number

    def all_findings(self, found: Iterable[Finding]) -> list[Finding]:
        """Add what was found in the values to what reading them has found, by rows.

        Of a cell that cannot be read nothing more is told.
        """
        unreadable = set(self.unreadable)
        told = self.findings + [f for f in found if (f.row, f.column) not in unreadable]
        return sorted(told, key=lambda finding: -1 if finding.row is None else finding.row)

    def report(self, row: int, column: str, rule: str, got: str) -> None:
        """Keep what is wrong with a cell."""
        self.findings.append(Finding(row, column, rule, got))

    def _decimal_sign(self, numbers: Sequence[str]) -> str:
        """Find the decimal sign that the text cells use: '.', ',' or, which is an error, both."""
        signs = {
            sign
            for column in numbers
            for cell in self.cells.get(column, ())
            for sign in ",."
            if isinstance(cell, str) and sign in cell and not self._has_thousands(column, cell.strip())
        }
        return "both" if len(signs) == 2 else signs.pop() if signs else "."

    def _has_thousands(self, column: str, text: str) -> bool:
        """Whether a cell may have thousands separators, and must not."""
        if column in self._counts:
            return _THOUSANDS.fullmatch(text) is not None
        return self._unclear_commas and has_two_readings(text)


class KnownColumns(Columns):
    """The columns of a table, none of which may be unknown, and some of which may be left out."""

    def __init__(
        self,
        table: Table,
        known: Sequence[str],
        *,
        required: Sequence[str],
        numbers: Sequence[str],
        row: str,
        error: type[MistakesError],
        header: Sequence[str] | None = None,
    ) -> None:
        self._error = error
        super().__init__(
            table,
            known=known,
            required=required,
            numbers=numbers,
            unclear_commas=True,
            row=row,
            header=header,
        )
        if self.mistakes:  # an unknown column may be one that is missing
            return
        meant = {other: name for name, other in self.slips.items()}
        for name in self.others:
            hint = f"did you mean {meant[name]!r}?" if name in meant else f"known are {', '.join(known)}."
            self.mistakes.append(f"column {name!r} is unknown; {hint}")

    def require_header(self) -> None:
        """Report what is wrong with the header."""
        if self.mistakes:
            raise self._error(self.mistakes, source=self.table.source)

    def optional_numbers(self, column: str) -> list[float]:
        """Read a column as numbers, NaN for an empty cell, for no column and for what cannot be read."""
        nothing = np.full(self.length, math.nan)
        return (self.numbers(column, blank=nothing) if column in self.cells else nothing).tolist()

    def optional_texts(self, column: str) -> list[str]:
        """Read a column as text, empty where there is nothing."""
        return [text_of(cell) for cell in self.cells.get(column, [None] * self.length)]

    def optional_switches(self, column: str) -> list[bool]:
        """Read yes and no as people write them; an empty cell is no."""
        switches = []
        for row, cell in enumerate(self.cells.get(column, [None] * self.length)):
            read = 0 if is_missing(cell) else read_yes_no(cell)
            if read is None:
                self.report(row, column, f"{column} must be yes or no", repr(text_of(cell)))
            switches.append(read == 1)
        return switches


def _shown(cell: Any) -> str:
    """Write a cell that is no number as people know it from their spreadsheet."""
    if is_error_value(cell):
        return f"the error value {cell.strip()}"
    if isinstance(cell, str):
        return repr(cell)
    if isinstance(cell, datetime.date):
        return f"the date {cell:%Y-%m-%d}"
    return text_of(cell) if cell == cell else "NaN"


def _any_text(cells: Sequence[Any]) -> bool:
    return any(isinstance(cell, str) for cell in cells)


def is_missing(cell: Any) -> bool:
    """Whether a cell is empty."""
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or bool(cell != cell)
