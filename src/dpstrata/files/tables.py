"""Tables as they come: CSV, Parquet, Excel, Stata, SPSS or a data frame, read into plain columns of cells."""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dpstrata.errors import (
    SECRET_OPTION,
    InputError,
    MissingExtraError,
    MistakesError,
    StrataError,
    option,
)
from dpstrata.files.cells import text_of, unmarked
from dpstrata.files.headers import NO_HEADER, looks_like_data
from dpstrata.files.sent import File, SentFile, source_of
from dpstrata.files.workbooks import Workbook
from dpstrata.words.numbers import counted

if TYPE_CHECKING:
    from narwhals import DataFrame
    from narwhals.typing import IntoDataFrame, IntoFrame


TEXT_ENDINGS = (".csv", ".tsv", ".txt")
EXCEL_ENDINGS = (".xlsx", ".xls", ".xlsb", ".ods")
STATISTICS_ENDINGS = (".dta", ".sav", ".zsav", ".por")
FrameLibrary = Literal["pandas", "polars", "pyarrow"]
DATA_FRAME = "the data frame"  # what messages call one
_MOST_PLACES = 5  # rows in a message
_MOST_TITLES = 50  # lines at the beginning of a large file among which its header is looked for
# A scheme (one letter is a drive), someone at a place (unless the path starts at a folder), a password.
_SCHEME = r"(?!file:)[a-z][\w+.-]+:"
_ELSEWHERE = rf"(?![/.~]|[a-z]:[/\\]).*@|.*{SECRET_OPTION}"
_ADDRESS = re.compile(rf"{_SCHEME}|{_ELSEWHERE}", re.IGNORECASE)
_NOT_FOR_SPARK = re.compile(rf"{_SCHEME}(?!/)|(?!{_SCHEME}/)(?:{_ELSEWHERE})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of cells, and how to name a row when something is wrong with it.

    Cells that are text may hold numbers, with a decimal sign still to be found out.
    """

    source: str
    columns: dict[str, list[Any]]
    place: Callable[[int], str]
    sheets: tuple[str, ...] = ()
    """The other sheets of an Excel file."""
    sheet: str = ""
    """The sheet it is, where messages must say so."""

    @property
    def before_place(self) -> str:
        """What messages say before the place of a row."""
        return f"sheet {self.sheet!r}, " if self.sheet else ""

    def places(self, rows: Sequence[int]) -> str:
        """Name several rows at once, the first few of many."""
        return _places(self.place, rows)


def _places(place: Callable[[int], str], rows: Sequence[int]) -> str:
    """Name rows at once.

    Examples
    --------
    >>> _places(lambda row: f"line {row + 2}", [0, 1, 2, 3])
    'lines 2 to 5'
    >>> _places(lambda row: f"line {row + 2}", [0, 3])
    'lines 2 and 5'
    """
    unit = place(rows[0]).split()[0]
    numbers = [place(row).split()[-1] for row in rows]
    if len(numbers) == 1:
        return place(rows[0])
    if len(numbers) > 2 and int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1:
        return f"{unit}s {numbers[0]} to {numbers[-1]}"
    shown = numbers[:_MOST_PLACES] if len(numbers) > _MOST_PLACES else numbers[:-1]
    last = numbers[-1] if len(numbers) <= _MOST_PLACES else f"{len(numbers) - _MOST_PLACES:,} more"
    return f"{unit}s {', '.join(shown)} and {last}"


def require_file(path: str | File, *, spark: bool = False) -> None:
    """Refuse the address of a database, which may hold a password and is no file.

    Parameters
    ----------
    path : path or str
        What was given. A file of that name is a file, however it is called.
    spark : bool
        Whether Spark reads it, which has addresses of its own, such as ``s3a://bucket/people``.
    """
    known = _NOT_FOR_SPARK if spark else _ADDRESS
    if not isinstance(path, SentFile) and known.match(str(path)) and not os.path.exists(path):
        raise InputError(
            "a table must be a file, got an address. Export the table as CSV or Parquet, and give that file."
        )


def require_excel(path: str | File, sheet: str | None) -> None:
    """Refuse a sheet of a file that has none."""
    name = Path(str(path)).name
    if sheet is not None and Path(name).suffix.lower() not in EXCEL_ENDINGS:
        raise InputError(f"{option('sheet')} requires an Excel file, got {name!r}.", value=sheet)


def read_table(
    path: File,
    *,
    sheet: str | None = None,
    error: type[MistakesError] = StrataError,
    about_people: bool = False,
) -> Table:
    """Read a table file; its ending says its kind.

    Parameters
    ----------
    path : path or SentFile
        The file. Title rows above the header of text and of Excel files are left out.
    sheet : str, optional
        Sheet of an Excel file; by default the first.
    error : type
        What mistakes of its header and of the length of its rows are raised as.
    about_people : bool
        Whether rows are about people: then no message shows a cell of the header, which may be missing.

    Raises
    ------
    InputError
        If the file cannot be read or is of no known kind.
    MissingExtraError
        If its kind needs the extra ``files``.
    """
    require_file(path)
    name = str(path)
    ending = path.suffix.lower()
    require_excel(path, sheet)
    with _file_problems(name):
        if ending in TEXT_ENDINGS:
            return _read_text(path, name, error, about_people=about_people)
        if ending == ".parquet":
            return _read_parquet(path, name)
        if ending in EXCEL_ENDINGS:
            return _read_excel(path, name, sheet, error, about_people=about_people)
        if ending in STATISTICS_ENDINGS:
            return Table(name, read_labelled(path, name), lambda row: f"row {row + 1}")
    endings = (*TEXT_ENDINGS, ".parquet", *EXCEL_ENDINGS, *STATISTICS_ENDINGS)
    # a table that was given as text is no path, and is not repeated
    got = repr(path.name) if len(path.name) <= 255 and path.name.isprintable() else "something else"
    raise InputError(
        f"a table must end in {', '.join(endings)}, got {got}.", where=None if got[0] == "s" else name
    )


@contextmanager
def _file_problems(name: str) -> Iterator[None]:
    """Say which file cannot be read, and why."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{name} does not exist.", where=name) from None
    except IsADirectoryError:
        raise InputError(f"{name} is a folder, not a file.", where=name) from None
    except OSError as problem:
        raise InputError(f"{name} cannot be read: {problem.strerror or problem}.", where=name) from None


def sheet_names(path: File) -> tuple[str, ...]:
    """Return the names of the sheets of an Excel file, without case; none of another file."""
    if path.suffix.lower() not in EXCEL_ENDINGS:
        return ()
    require_file(path)
    with _file_problems(str(path)):
        return tuple(map(_plain_sheet, Workbook(path, str(path)).sheets))


def read_sheets(path: File, names: Sequence[str], *, error: type[MistakesError]) -> dict[str, Table]:
    """Read sheets of an Excel file, by their names without case; those that it does not have are left out.

    The first row of a sheet that is not empty is its header; cells under no header are left out.

    Parameters
    ----------
    path : path or SentFile
        The file.
    names : sequence of str
        The sheets, in small letters.
    error : type
        What mistakes of a header are raised as.
    """
    require_file(path)
    if path.suffix.lower() not in EXCEL_ENDINGS:
        raise InputError(
            f"an Excel file must end in {', '.join(EXCEL_ENDINGS)}, got {path.name!r}.", where=str(path)
        )
    with _file_problems(str(path)):
        book = Workbook(path, str(path))
        found = {plain: sheet for sheet in book.sheets if (plain := _plain_sheet(sheet)) in names}
        return {plain: _sheet_table(str(path), book, sheet, error) for plain, sheet in found.items()}


def _plain_sheet(name: str) -> str:
    return name.strip().casefold()


def _sheet_table(name: str, book: Workbook, sheet: str, error: type[MistakesError]) -> Table:
    rows, numbers = book.rows(sheet)
    header = [text_of(cell) for cell in rows[0]] if rows else []
    doubles = sorted({each for each in header if each and header.count(each) > 1})
    if doubles:
        raise error(
            [f"sheet {sheet!r}: column {each!r} appears twice in the header." for each in doubles],
            source=name,
        )
    columns = {each: [row[i] for row in rows[1:]] for i, each in enumerate(header) if each}
    others = tuple(each for each in book.sheets if each != sheet)
    return Table(name, columns, lambda row: f"row {numbers[row + 1]}", others, sheet)


def table_from_frame(frame: IntoFrame) -> Table:
    """Take a table from any data frame that narwhals knows."""
    eager = eager_frame(frame)
    columns = {str(name): _known_missing(eager[name].to_list()) for name in eager.columns}
    return Table(DATA_FRAME, columns, lambda row: f"row {row + 1}")


def eager_frame(frame: IntoFrame) -> DataFrame[Any]:
    """Take a data frame of any library that narwhals knows, computed if it was not yet."""
    import narwhals as nw

    try:
        native = nw.from_native(frame)
        names = native.collect_schema().names()
    except TypeError:
        raise InputError(
            f"a data frame must be of pandas, Polars, Arrow or another library that narwhals knows, "
            f"got {type(frame).__name__}."
        ) from None
    except nw.exceptions.DuplicateError:
        raise InputError(f"{DATA_FRAME} must have one column of each name.") from None
    except Exception:  # of a lazy frame: whatever its engine says, which may show a cell
        raise InputError(f"{DATA_FRAME} could not be computed.") from None
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"the columns of {DATA_FRAME} must have names that are text.")
    if len(set(names)) < len(names):
        raise InputError(f"{DATA_FRAME} must have one column of each name.")
    if not isinstance(native, nw.LazyFrame):
        return native
    try:
        return native.collect()
    except Exception:
        raise InputError(f"{DATA_FRAME} could not be computed.") from None


def frame_of(columns: Mapping[str, list[Any]], library: FrameLibrary | None) -> IntoDataFrame:
    """Return columns as a data frame of some library, by default the first that is installed."""
    import importlib.util

    import narwhals as nw

    libraries: tuple[FrameLibrary, ...] = ("pandas", "polars", "pyarrow")
    chosen = library or next((name for name in libraries if importlib.util.find_spec(name)), None)
    if chosen is None or chosen not in libraries:
        got = "none of them installed" if chosen is None else repr(chosen)
        raise InputError(
            f"to_frame needs one of {', '.join(libraries)}, got {got}.", argument="library", value=library
        )
    try:
        frame: IntoDataFrame = nw.from_dict(columns, backend=chosen).to_native()
    except ModuleNotFoundError:
        raise InputError(
            f"to_frame({chosen!r}) needs {chosen}: pip install {chosen}.",
            argument="library",
            value=library,
        ) from None
    return frame


def _known_missing(cells: list[Any]) -> list[Any]:
    """Replace pandas' own marks for a missing value, which cannot even be compared, by ``None``."""
    return [None if type(cell).__name__ in ("NAType", "NaTType") else cell for cell in cells]


def _read_text(path: File, name: str, error: type[MistakesError], *, about_people: bool) -> Table:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{name} must be UTF-8 text; in Excel save it as 'CSV UTF-8'.", where=name) from None
    if "\0" in text:
        raise InputError(f"{name} must be UTF-8 text, got a binary file.", where=name)
    reader = csv.reader(io.StringIO(text), delimiter=_delimiter(text), strict=True)
    try:
        rows, lines = [], []
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(list(map(unmarked, row)))
                lines.append(reader.line_num)
    except csv.Error as problem:
        is_long = "field limit" in str(problem)
        told = f"a cell has more than {csv.field_size_limit():,} characters" if is_long else problem
        raise InputError(
            f"{name} is not a readable CSV file: line {reader.line_num}: {told}.", where=name
        ) from None
    return _table_of_rows(name, rows, lambda row: f"line {lines[row]}", error, about_people=about_people)


def _delimiter(text: str) -> str:
    """Find the sign between cells in the first line that has several: titles above the header have one."""
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines:
        cells = {each: _cells(line, each) for each in ",;\t"}
        delimiter = max(cells, key=lambda each: len(cells[each]))
        if sum(bool(cell.strip()) for cell in cells[delimiter]) > 1:
            return delimiter
    return max(",;\t", key=lines[0].count) if lines else ","


def _cells(line: str, delimiter: str) -> list[str]:
    """Split a line; one that cannot be read, such as a cell of more than 131,072 characters, has no cells.

    Examples
    --------
    >>> _cells("a;b", ";"), _cells("x" * 200_000, ",")
    (['a', 'b'], [])
    """
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def lines_above_header(path: Path) -> tuple[int, str]:
    """Count the title lines of a text file, looking at its beginning only, and return its header line."""
    with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
        lines = list(itertools.islice(file, _MOST_TITLES))
    filled = [number for number, line in enumerate(lines) if line.strip()]
    delimiter = _delimiter("".join(lines))
    rows = [_cells(lines[number], delimiter) for number in filled]
    above = filled[_header_row(rows)] if rows else 0
    return above, lines[above] if lines else ""


def _read_parquet(path: File, name: str) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError("Parquet files need", "files") from None
    try:
        arrow = parquet.ParquetFile(source_of(path)).read()
    except pyarrow.ArrowInvalid:
        raise InputError(f"{name} is not a readable Parquet file.", where=name) from None
    doubles = sorted({each for each in arrow.column_names if arrow.column_names.count(each) > 1})
    if doubles:
        raise InputError(f"{name}: column {doubles[0]!r} appears twice.", where=name)
    columns = {str(each): arrow.column(each).to_pylist() for each in arrow.column_names}
    return Table(name, columns, lambda row: f"row {row + 1}")


def _read_excel(
    path: File, name: str, sheet: str | None, error: type[MistakesError], *, about_people: bool
) -> Table:
    book = Workbook(path, name)
    if sheet is not None and sheet not in book.sheets:
        listed = ", ".join(map(repr, book.sheets))
        raise InputError(f"{name} has no sheet {sheet!r}; it has {listed}.", value=sheet, where=name)
    chosen = book.sheets[0] if sheet is None else sheet
    rows, numbers = book.rows(chosen)
    others = tuple(each for each in book.sheets if each != chosen)
    read = _table_of_rows(name, rows, lambda row: f"row {numbers[row]}", error, about_people=about_people)
    return replace(read, sheets=others)


def _header_row(rows: Sequence[Sequence[Any]]) -> int:
    """Find the header under title rows, which fill one cell, or less than half as many as the fullest row."""
    filled = [sum(text_of(cell) != "" for cell in row) for row in rows]
    most = max(filled, default=0)
    titles = max(1, (most - 1) // 2) if most > 1 else 0
    return next((row for row, number in enumerate(filled) if number > titles), 0)


def _doubles_in_words(
    header: Sequence[str], rows: Sequence[Sequence[Any]], *, about_people: bool
) -> list[str]:
    """Say which columns have the same name, unless these may be a row about somebody."""
    doubles = sorted({name for name in header if header.count(name) > 1})
    if doubles and looks_like_data(header, list(itertools.zip_longest(*rows))):
        return [f"{NO_HEADER}."]
    if not about_people:
        return [f"column {name!r} appears twice in the header." for name in doubles]
    places = [[place for place, each in enumerate(header, start=1) if each == name] for name in doubles]
    return [f"columns {first} and {second} have the same name." for first, second, *_ in sorted(places)]


def _table_of_rows(
    source: str,
    rows: Sequence[Sequence[Any]],
    place_in_file: Callable[[int], str],
    error: type[MistakesError],
    *,
    about_people: bool,
) -> Table:
    """Turn a header row, below any titles, and data rows as long as it into columns."""
    if not rows:
        raise InputError(
            f"{source} must have a header row and at least one row, got an empty file.", where=source
        )
    titles = _header_row(rows)
    rows = rows[titles:]

    def place(row: int) -> str:
        return place_in_file(titles + 1 + row)

    header = [str(cell if cell is not None else "").strip() for cell in rows[0]]
    while header and not header[-1]:
        header.pop()
    mistakes = _doubles_in_words(header, rows[1:], about_people=about_people)
    kinds = [(mistake, 1) for mistake in mistakes]
    width = len(header)
    rule = f"a row must have {counted(width, 'cell')} like the header, got"
    wrong: dict[int, list[int]] = {}
    for index, row in enumerate(rows[1:]):
        if len(row) < width or any(cell not in (None, "") for cell in row[width:]):
            wrong.setdefault(len(row), []).append(index)
    for cells, where in wrong.items():
        mistakes += [f"{place(index)}: {rule} {cells}." for index in where]
        kinds.append((f"{_places(place, where)}: {rule} {cells}.", len(where)))
    if mistakes:
        raise error(mistakes, source=source, kinds=kinds)
    columns = {name: [row[i] for row in rows[1:]] for i, name in enumerate(header) if name}
    return Table(source, columns, place)


# --- Stata and SPSS, whose codes have labels --------------------------------------------------------------


def read_labelled(path: File, name: str) -> dict[str, list[Any]]:
    """Read the columns of a Stata or SPSS file.

    A column shows its labels if every value in it has one, and its codes otherwise: a scale whose ends alone
    are labelled stays a scale. Codes with the same label stay apart: their code follows it. Values that the
    file declares as missing are empty.

    Parameters
    ----------
    path : path or SentFile
        The file.
    name : str
        What messages call it.
    """
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("Stata and SPSS files need", "files") from None
    if not path.exists():
        raise FileNotFoundError
    ending = path.suffix.lower()
    read: Any = {".dta": pyreadstat.read_dta, ".por": pyreadstat.read_por}.get(ending, pyreadstat.read_sav)
    try:
        columns, about = read(source_of(path), output_format="dict")
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError):
        kind = "Stata" if ending == ".dta" else "SPSS"
        raise InputError(f"{name} is not a readable {kind} file.", where=name) from None
    labels = about.variable_value_labels
    return {str(each): _shown([*cells], _apart(labels.get(each, {}))) for each, cells in columns.items()}


def _apart(labels: dict[Any, str]) -> dict[Any, str]:
    """Add its code to every label that several codes have, so that none are taken for one.

    Examples
    --------
    >>> _apart({1.0: "north", 2.0: "other", 9.0: "other"})
    {1.0: 'north', 2.0: 'other (2)', 9.0: 'other (9)'}
    """
    number = Counter(labels.values())
    return {code: f"{name} ({_plain(code)})" if number[name] > 1 else name for code, name in labels.items()}


def _plain(code: Any) -> Any:
    """Write whole numbers without a fraction."""
    return int(code) if isinstance(code, float) and code.is_integer() else code


def _shown(cells: list[Any], labels: dict[Any, str]) -> list[Any]:
    """Write labels for codes, if all of them have one."""
    plain = [cell.item() if hasattr(cell, "item") else cell for cell in cells]
    known = [None if cell is None or cell != cell else cell for cell in plain]
    if labels and all(cell in labels for cell in known if cell is not None):
        return [cell if cell is None else labels[cell] for cell in known]
    return known
