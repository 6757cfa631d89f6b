"""Reading a table or a questionnaire that was sent: within limits, in memory, by the sender's name for it."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

from dpstrata.errors import DpstrataWarning
from dpstrata.files.cells import text_of
from dpstrata.files.sent import SentFile, source_of
from dpstrata.files.tables import EXCEL_ENDINGS, read_table
from dpstrata.survey.questionnaires.questionnaire import is_xlsform, read_questionnaire
from dpstrata.web.replies import RefusedError
from dpstrata.web.requests import LIMITS


def read_upload(name: str, content: bytes) -> dict[str, Any]:
    r"""Read a table file into columns of cells as text; an XLSForm, which has no strata, is only recognised.

    Parameters
    ----------
    name : str
        What the sender calls the file; its ending says its kind. It is never used as a path.
    content : bytes
        The file.

    Raises
    ------
    InputError
        If it cannot be read.
    RefusedError
        If it is, or would unpack to, more than is accepted.

    Examples
    --------
    >>> read_upload("s.csv", b"stratum,size\nA,10\n")["strata"]
    {'stratum': ['A'], 'size': ['10']}
    """
    file = sent_file(name, content)
    if is_xlsform(file):
        return {"name": file.name, "is_form": True, "rows": 0, "columns": [], "strata": {}}
    columns = read_table(file).columns
    rows = max(map(len, columns.values()), default=0)
    if rows > LIMITS.rows or len(columns) > LIMITS.columns:
        raise _too_many(rows, len(columns))
    cells = {column: [text_of(cell) for cell in each] for column, each in columns.items()}
    if any(len(cell) > LIMITS.text for each in cells.values() for cell in each):
        raise RefusedError(413, f"a cell may have {LIMITS.text:,} characters, got one with more.")
    return {"name": file.name, "is_form": False, "rows": rows, "columns": list(cells), "strata": cells}


def read_questions(name: str, content: bytes, *, leave_out: bool = False) -> dict[str, Any]:
    r"""Read an XLSForm or a table of questions into columns of cells as text.

    Parameters
    ----------
    name : str
        What the sender calls the file.
    content : bytes
        The file.
    leave_out : bool
        Whether to leave out the rows of an XLSForm that cannot be protected.

    Raises
    ------
    QuestionnaireError
        With every question that cannot be protected, and every mistake.
    RefusedError
        If it is, or would unpack to, more than is accepted.

    Examples
    --------
    >>> read = read_questions("q.csv", b"name,kind\nsmokes,yes_no\n")["questionnaire"]
    >>> read["name"], read["kind"]
    (['smokes'], ['yes_no'])
    """
    file = sent_file(name, content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DpstrataWarning)
        found = read_questionnaire(file, leave_out=leave_out)
    if len(found) > LIMITS.questions:
        raise RefusedError(
            413, f"a questionnaire may have {LIMITS.questions} questions here, got {len(found):,}."
        )
    columns = {column: [text_of(cell) for cell in cells] for column, cells in found.table().items()}
    warned = [str(each.message) for each in caught]
    return {"name": file.name, "columns": list(columns), "questionnaire": columns, "warnings": warned}


def sent_file(name: str, content: bytes) -> SentFile:
    """Take a file as it was sent, unless it would unpack to a huge table."""
    file = SentFile(Path(name).name[-100:], content)
    _check_unpacked(file)
    return file


def _check_unpacked(file: SentFile) -> None:
    """Refuse a small file that would unpack to a huge table, before it is unpacked."""
    ending = file.suffix.lower()
    if ending in EXCEL_ENDINGS and zipfile.is_zipfile(source_of(file)):
        with zipfile.ZipFile(source_of(file)) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        if unpacked > LIMITS.unpacked_bytes:
            raise RefusedError(
                413, f"a spreadsheet may unpack to {LIMITS.unpacked_bytes / 2**20:g} MB, got one of more."
            )
    if ending == ".parquet":
        try:
            import pyarrow
            import pyarrow.parquet as parquet
        except ImportError:
            return  # reading it says what to install
        try:
            about = parquet.read_metadata(source_of(file))
        except pyarrow.ArrowInvalid:
            return  # reading it says that it is damaged
        if about.num_rows > LIMITS.rows or about.num_columns > LIMITS.columns:
            raise _too_many(about.num_rows, about.num_columns)


def _too_many(rows: int, columns: int) -> RefusedError:
    return RefusedError(
        413,
        f"a table may have {LIMITS.rows:,} rows and {LIMITS.columns} columns, got {rows:,} and {columns:,}. "
        "Use the library or the command line for more.",
    )
