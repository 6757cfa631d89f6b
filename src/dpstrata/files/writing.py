"""Writing files: each appears whole or not at all, and never over something of another kind."""

from __future__ import annotations

import csv
import glob
import hashlib
import io
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpstrata.errors import DpstrataError, InputError, MissingExtraError, option
from dpstrata.files.cells import marked, text_of
from dpstrata.files.tables import read_table
from dpstrata.words.numbers import counted

_UNFINISHED = ".part"
_LONGEST = 10**15  # Excel keeps 15 digits
_OURS = "dpstrata."  # how the format of every document begins
_TABLE = "a table of"


def write_table(columns: dict[str, list[Any]], path: Path, *, private: bool = False) -> None:
    """Write a table, by the ending of ``path``; JSON has one object a row."""
    if path.suffix.lower() == ".json":
        rows = [
            dict(zip(columns, map(plain_cell, row), strict=True))
            for row in zip(*columns.values(), strict=True)
        ]
        content = (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode()
    else:
        content = table_content(columns, path)
    write_atomically(path, content, private=private)


def as_path(given: str | Path, argument: str) -> Path:
    """Take the path of a file; a design or a table in its place is refused."""
    if isinstance(given, str | os.PathLike):
        return Path(given)
    raise InputError(
        f"{option(argument)} must be the path of a file, got {type(given).__name__}.", argument=argument
    )


def require_apart(*paths: Path | None) -> None:
    """Require that no file would be written over another; ``None`` stands for a file that is not given."""
    given = [path for path in paths if path is not None]
    resolved = [os.path.realpath(path) for path in given]
    for i, path in enumerate(resolved):
        if path in resolved[:i]:
            raise InputError(f"{given[i]} is given for two different files.")


def require_table_path(path: Path) -> None:
    """Refuse at once an ending that no table could be written to, and read from, later."""
    if path.suffix.lower() not in (".csv", ".parquet", ".xlsx"):
        raise InputError(f"the file for this table must end in .csv, .parquet or .xlsx, got {path.name!r}.")


def table_content(columns: dict[str, list[Any]], path: Path) -> bytes:
    """Return a table as the bytes of a file, by the ending of ``path``."""
    match path.suffix.lower():
        case ".csv":
            return _csv(columns)
        case ".parquet":
            return _parquet(columns)
        case ".xlsx":
            return _excel(columns)
    raise InputError(f"a result file must end in .json, .csv, .parquet or .xlsx, got {path.name!r}.")


def write_atomically(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write ``content`` beside ``path`` and move it there, so that no half-written file is ever seen.

    Parameters
    ----------
    path : path
        Where to; a file that is there is replaced.
    content : bytes
        What.
    private : bool
        Whether only its owner may read it.
    """
    try:
        with _beside(path, content, 0o600 if private else 0o666 & ~_umask()) as temporary:
            os.replace(temporary, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.", where=str(path)) from None


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its owner may look into, unless it is there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror or error}.", where=str(folder)) from None


def write_new(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read and that must not exist yet, whole or not at all."""
    try:
        with _beside(path, content, 0o600) as temporary:
            os.link(temporary, path)
    except FileExistsError:
        raise InputError(f"{path} exists already and is never overwritten.", where=str(path)) from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.", where=str(path)) from None


def require_room(path: Path, size: int) -> None:
    """Refuse now if a file of this size could not be written, by writing as much beside it for a moment."""
    try:
        with _beside(path, bytes(size), 0o600):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.", where=str(path)) from None


def recover_unfinished(path: Path, digest: str) -> None:
    """Put a file in place that a writer who was killed has left beside it, if it is whole: by its SHA-256."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*{_UNFINISHED}"):
        if hashlib.sha256(part.read_bytes()).hexdigest() == digest:
            os.replace(part, path)
            return


def remove_unfinished(*paths: Path) -> None:
    """Remove what writers of these files that were killed have left beside them."""
    for path in paths:
        try:
            for name in os.listdir(path.parent):
                if name.startswith(f".{path.name}.") and name.endswith(_UNFINISHED):
                    path.with_name(name).unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{path.parent} cannot be used: {error.strerror or error}.", where=str(path.parent)
            ) from None


@contextmanager
def _beside(path: Path, content: bytes, mode: int) -> Iterator[str]:
    """Write a temporary file beside ``path``, let it be put in place, and see it to the disk."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        yield temporary
    finally:
        Path(temporary).unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """See to the disk what was made, replaced or removed in a folder."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _csv(columns: dict[str, list[Any]]) -> bytes:
    lines: list[str] = []
    # Cells with either line end are quoted: a bare "\r" would begin a row for a spreadsheet.
    writer = csv.writer(_Collector(lines), lineterminator="\r\n")
    writer.writerow(map(marked, columns))
    writer.writerows(map(marked, row) for row in zip(*columns.values(), strict=True))
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines).encode()


class _Collector:
    """Takes a row at a time."""

    def __init__(self, lines: list[str]) -> None:
        self.write = lines.append


def _parquet(columns: dict[str, list[Any]]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError("Parquet files need", "files") from None
    arrays = {}
    for name, cells in columns.items():
        try:
            arrays[name] = pyarrow.array(cells)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):  # cells of several kinds: write them as text
            arrays[name] = pyarrow.array([None if cell is None else str(cell) for cell in cells])
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(arrays), sink)
    return bytes(sink.getvalue())


def _excel(columns: dict[str, list[Any]]) -> bytes:
    try:
        import openpyxl
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as FORBIDDEN
    except ImportError:
        raise MissingExtraError("Excel files need", "files") from None
    rows: list[list[Any]] = [list(columns)]
    rows += [[_excel_value(cell) for cell in row] for row in zip(*columns.values(), strict=True)]
    if any(isinstance(cell, str) and FORBIDDEN.search(cell) for row in rows for cell in row):
        raise InputError("Excel files cannot hold control characters, got one in a name; write .csv instead.")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("design")
    for row in rows:
        cells = [WriteOnlyCell(sheet, cell) for cell in row]
        for cell in cells:
            if isinstance(cell.value, str):
                cell.data_type = "s"  # what looks like a formula or an error stays text
        sheet.append(cells)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _excel_value(cell: Any) -> str | int | float | bool | None:
    """Keep what Excel can hold; a number too long for it becomes text."""
    value = plain_cell(cell)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole and abs(int(value or 0)) > _LONGEST else value


def plain_cell(cell: Any) -> str | int | float | bool | None:
    """Keep what any file can hold; write the rest (dates, infinities) as text, NaN as nothing."""
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None if math.isnan(cell) else str(cell)
    return cell if cell is None or isinstance(cell, str | int | bool) else str(cell)


# --- over what is there already ----------------------------------------------------------------------


def require_same_kind(path: Path, columns: Iterable[str] = ()) -> None:
    """Refuse to write a result (a table or a chart) over a file of another kind.

    Parameters
    ----------
    path : path
        Where to. A table that is there must have the same columns, and JSON must be no document of
        dpstrata; a file that cannot be read is of another kind. Pictures are always replaced.
    columns : iterable of str
        Columns of the new table.
    """
    ending = path.suffix.lower()
    if ending not in (".json", ".csv", ".parquet", ".xlsx") or not is_filled(path):
        return
    if ending == ".json":
        found = format_of(path)
        if found.startswith(_OURS):
            raise something_else(path, found)
        return
    try:
        there = list(read_table(path).columns)
    except MissingExtraError:
        raise
    except DpstrataError:
        raise something_else(path) from None
    if there != list(columns):
        # how they are called is not said: without a header that would be what is known of somebody
        raise something_else(path, f"{_TABLE} {counted(len(there), 'column')}")


def write_result(columns: dict[str, list[Any]], path: Path) -> None:
    """Write a table of results; a file that is there already must be of the same kind."""
    require_same_kind(path, columns)
    write_table(columns, path)


def write_unless_edited(columns: dict[str, list[Any]], path: Path) -> None:
    """Write a table; a file that is there already must hold the same cells, and stays."""
    if not path.exists():
        write_table(columns, path)
    elif not _holds(path, columns):
        raise InputError(
            f"{path} exists and holds something else, so it is not replaced; choose another name or remove "
            "it.",
            where=str(path),
        )


def is_filled(path: Path) -> bool:
    """Whether there is a file with something in it to lose."""
    return path.is_file() and path.stat().st_size > 0


def format_of(path: Path) -> str:
    """Return the format that a JSON file says it has; empty if it says none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise something_else(path) from None
    return str(data.get("format", "")) if isinstance(data, dict) else ""


def something_else(path: Path, what: str = "") -> InputError:
    """Return the refusal to write over something else."""
    shown = f" ({what})" if what.startswith((_OURS, _TABLE)) else ""
    return InputError(f"{path} exists and holds something else{shown}. Choose another name.", where=str(path))


def _holds(path: Path, columns: dict[str, list[Any]]) -> bool:
    try:
        there = read_table(path).columns
    except DpstrataError:
        return False
    return list(there) == list(columns) and all(
        len(there[name]) == len(cells) and all(map(_same, there[name], cells))
        for name, cells in columns.items()
    )


def _same(there: Any, cell: Any) -> bool:
    """Whether a cell of a file is what would be written there; text files hold numbers as text."""
    if isinstance(cell, str):
        return text_of(there) == text_of(cell)
    try:
        return float(there) == float(cell)
    except (TypeError, ValueError):
        return False
