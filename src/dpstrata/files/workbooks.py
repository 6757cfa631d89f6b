"""Excel files: their sheets, as rows of cells with the numbers that a spreadsheet shows."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from typing import IO, Any
from xml.etree import ElementTree

from dpstrata.errors import InputError, MissingExtraError
from dpstrata.files.sent import File, source_of

_MOST_CELLS = 2 * 10**7  # of a sheet that is mostly empty: each takes 32 bytes, filled or not
_FILLED = 10  # a sheet of more cells must have one filled in so many
_PIECE = 2**20
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_ODS_KIND = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}value-type"
_PLACE = re.compile(rb'[\s]r="([A-Z]{0,3})([0-9]{1,7})"')


class Workbook:
    """An Excel file.

    Parameters
    ----------
    path : path or SentFile
        The file.
    name : str
        What messages call it.

    Attributes
    ----------
    sheets : tuple of str
        Names of its sheets.
    """

    def __init__(self, path: File, name: str) -> None:
        try:
            import python_calamine
        except ImportError:
            raise MissingExtraError("Excel files need", "files") from None
        if not path.exists():
            raise FileNotFoundError
        self._name, self._path = name, path
        self._problems = (
            python_calamine.CalamineError,
            ValueError,
            zipfile.BadZipFile,
            ElementTree.ParseError,
        )
        try:
            found = list(extents(path))
            self._book = python_calamine.CalamineWorkbook.from_object(source_of(path))
        except self._problems:
            raise self._unreadable() from None
        for extent in found:
            self._require_compact(*extent)
        self.sheets: tuple[str, ...] = tuple(self._book.sheet_names)
        if not self.sheets:
            raise self._unreadable()

    def rows(self, sheet: str) -> tuple[list[list[Any]], list[int]]:
        """Read the rows of a sheet that are not empty, and their numbers; an empty cell is ``None``."""
        try:
            cells = self._book.get_sheet_by_name(sheet)
            failed = list(failed_formulas(self._path, sheet))
        except self._problems:
            raise self._unreadable() from None
        top, left = cells.start or (0, 0)
        grid = cells.to_python(skip_empty_area=True)
        for row, column, error in failed:  # python_calamine takes them for empty cells
            if 0 <= row - top < len(grid) and 0 <= column - left < len(grid[row - top]):
                grid[row - top][column - left] = error
        rows, numbers = [], []
        for number, row in enumerate(grid, start=top + 1):
            if any(cell != "" for cell in row):
                rows.append([None if cell == "" else cell for cell in row])
                numbers.append(number)
        return rows, numbers

    def _require_compact(self, rows: int, columns: int, filled: int) -> None:
        """Refuse a sheet with a cell so far out that the cells between would not fit into memory.

        They would all be made, and the attempt would end the process.
        """
        if rows * columns > max(_MOST_CELLS, _FILLED * filled):
            raise InputError(
                f"{self._name} must have its cells close together, got a sheet of {rows:,} rows and "
                f"{columns:,} columns with {filled:,} filled cells; delete the rows and columns outside the "
                "table, or copy the table into a new file.",
                where=self._name,
            )

    def _unreadable(self) -> InputError:
        return InputError(f"{self._name} is not a readable Excel file.", where=self._name)


def extents(path: File) -> Iterator[tuple[int, int, int]]:
    """Find the last row and column of every sheet, and how many cells are filled, without making any."""
    if not zipfile.is_zipfile(source_of(path)):
        return
    with zipfile.ZipFile(source_of(path)) as parts:
        for part in parts.namelist():
            extent = _EXTENTS.get(part.rpartition(".")[2]) if "worksheets/" in part else None
            if extent is not None:
                with parts.open(part) as file:
                    yield extent(file)


def failed_formulas(path: File, sheet: str) -> Iterator[tuple[int, int, str]]:
    """Find the cells of a sheet (.xlsx, .ods) that hold an error value, by row and column from 0."""
    if not zipfile.is_zipfile(source_of(path)):
        return
    with zipfile.ZipFile(source_of(path)) as parts:
        if "content.xml" in parts.namelist():
            yield from _failed_formulas_of_ods(parts, sheet)
            return
        part = _part_of(parts, sheet)
        if part is None or not _has(b't="e"', parts, part):
            return
        with parts.open(part) as file:
            for _, element in ElementTree.iterparse(file):
                tag = element.tag.rpartition("}")[2]
                place = re.fullmatch("([A-Z]+)([0-9]+)", element.get("r", ""))
                error = element.findtext("{*}v")
                if tag == "c" and element.get("t") == "e" and place is not None and error:
                    yield int(place[2]) - 1, _column_number(place[1].encode()) - 1, error
                if tag == "row":
                    element.clear()


def _failed_formulas_of_ods(parts: zipfile.ZipFile, sheet: str) -> Iterator[tuple[int, int, str]]:
    """Find them in an .ods file, where equal rows and cells that follow each other are written once."""
    if not _has(b':value-type="error"', parts, "content.xml"):
        return
    row, inside = 0, False
    with parts.open("content.xml") as file:
        for event, element in ElementTree.iterparse(file, ("start", "end")):
            if element.tag == f"{_TABLE}table":
                inside = event == "start" and element.get(f"{_TABLE}name") == sheet
            elif event == "end" and element.tag == f"{_TABLE}table-row":
                column = 0
                for cell in element if inside else ():
                    if cell.get(_ODS_KIND) == "error":
                        yield row, column, cell.findtext("{*}p", "")
                    column += int(cell.get(f"{_TABLE}number-columns-repeated", 1))
                row += int(element.get(f"{_TABLE}number-rows-repeated", 1)) if inside else 0
                element.clear()


def _part_of(parts: zipfile.ZipFile, sheet: str) -> str | None:
    """Find the part of an .xlsx file that holds a sheet."""
    names = set(parts.namelist())
    if not names >= {"xl/workbook.xml", "xl/_rels/workbook.xml.rels"}:
        return None
    book = ElementTree.fromstring(parts.read("xl/workbook.xml"))
    ids = {
        each.get("name"): next((value for key, value in each.items() if key.endswith("}id")), None)
        for each in book.iterfind(".//{*}sheet")
    }
    links = ElementTree.fromstring(parts.read("xl/_rels/workbook.xml.rels"))
    targets = {each.get("Id"): each.get("Target", "") for each in links}
    target = targets.get(ids.get(sheet), "")
    part = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
    return part if part in names else None


def _has(attribute: bytes, parts: zipfile.ZipFile, part: str) -> bool:
    """Look for a cell of the kind "error", much faster than by parsing the sheet."""
    with parts.open(part) as file:
        return any(attribute in piece for piece in _pieces(file))


def _extent_of_xml(file: IO[bytes]) -> tuple[int, int, int]:
    """Find them in XML, where rows and cells name their places."""
    rows = columns = filled = 0
    for piece in _pieces(file):
        places = _PLACE.findall(piece)
        filled += len(places)
        rows = max(rows, max((int(row) for _, row in places), default=0))
        letters = {column for column, _ in places}
        columns = max(columns, max(map(_column_number, letters), default=0))
    return rows, max(columns, 1), filled


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Read a file piece by piece; each ends before a tag begins."""
    rest = b""
    while piece := file.read(_PIECE):
        whole, sign, begun = (rest + piece).rpartition(b"<")
        yield whole
        rest = sign + begun
    yield rest


def _column_number(letters: bytes) -> int:
    """Count columns as spreadsheets name them.

    Examples
    --------
    >>> _column_number(b"A"), _column_number(b"XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _extent_of_records(file: IO[bytes]) -> tuple[int, int, int]:
    """Find the same of a binary sheet, whose records begin with their row or column."""
    content, at = file.read(), 0
    rows = columns = filled = 0
    while at < len(content):
        kind, at = _variable_length(content, at)
        length, at = _variable_length(content, at)
        if kind <= 11 and length >= 4 and at + 4 <= len(content):
            (number,) = struct.unpack_from("<I", content, at)
            if kind == 0:
                rows = max(rows, number + 1)
            else:
                columns, filled = max(columns, number + 1), filled + 1
        at += length
    return rows, max(columns, 1), filled


def _variable_length(content: bytes, at: int) -> tuple[int, int]:
    """Read a number in groups of seven bits, the last without the eighth; return where it ends too."""
    number = shift = 0
    while at < len(content) and shift < 28:
        byte, at = content[at], at + 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return number, at


_EXTENTS = {"xml": _extent_of_xml, "bin": _extent_of_records}
