"""Frames in files, DuckDB databases and data frames, which DuckDB reads in batches, never as a whole."""

from __future__ import annotations

import csv
import hashlib
import tempfile
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpstrata.errors import InputError, MissingExtraError, option
from dpstrata.fielding.frames.base import (
    WHITESPACE,
    Frame,
    FrameSummary,
    Sift,
    find_repeats,
    plain_ids,
    require_numbers,
    summarize,
)
from dpstrata.files.cells import is_error_value, text_of
from dpstrata.files.headers import require_columns
from dpstrata.files.tables import (
    DATA_FRAME,
    EXCEL_ENDINGS,
    STATISTICS_ENDINGS,
    TEXT_ENDINGS,
    lines_above_header,
    read_table,
)
from dpstrata.survey.classes import BETWEEN

if TYPE_CHECKING:
    from narwhals import DataFrame

DATABASE_ENDINGS = (".duckdb", ".db", ".sqlite", ".sqlite3")  # which may be DuckDB's or SQLite's
_BATCH = 1 << 16
_FIRST_ROWS = 1000  # among which a header that is none is looked for
_SETTINGS = {
    "temp_file_encryption": True,  # what does not fit in memory is encrypted on disk, and its key is not kept
    "autoinstall_known_extensions": False,  # nothing is fetched from anywhere
    "autoload_known_extensions": False,
}
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")  # in 63 bits
_KINDS = r"varchar|enum\(.*\)|uuid|boolean|u?(tiny|small|big|huge)int|u?integer|decimal\(\d+,0\)"


@dataclass(frozen=True, slots=True)
class DuckFrame(Frame):
    """A frame that DuckDB reads, wherever it is."""

    def sift(self, sift: Sift) -> Iterator[Any]:
        """Run everyone through ``sift``, batch by batch."""
        people = "SELECT {id} AS id, {raw_stratum} AS stratum FROM frame"
        with _database() as database, self._query(database, people) as result:
            reader = result.to_arrow_reader(_BATCH)
            try:
                yield from sift(reader)
            finally:
                reader.close()  # or what it reads from could not be let go

    def summary(self) -> FrameSummary:
        """Count people by stratum, and what is wrong: missing strata, missing ids, people listed twice."""
        mark = BETWEEN.strip()
        parted = " OR ".join(f"contains({_text(column)}, '{mark}')" for column in self.stratum)
        by_stratum = (
            "SELECT {stratum} AS stratum, count(*), count(*) FILTER (WHERE {no_id}), "
            f"count(*) FILTER (WHERE {parted}) FROM frame GROUP BY 1"
        )
        with _database() as database:  # starting one takes longer than most questions
            rows = self._rows(database, by_stratum)
            counts = [(name, number) for name, number, _, _ in rows]
            nobody, ambiguous = (sum(row[place] for row in rows) for place in (2, 3))
            people = sum(number for _, number in counts) - nobody
            repeats = find_repeats(people, partial(self._distinct, database), partial(self._listed, database))
        if len(self.stratum) == 1:  # nothing is put between names
            ambiguous = 0
        return summarize(counts, without_id=nobody, repeats=repeats, ambiguous=ambiguous)

    def _distinct(self, database: Any, kinds: Sequence[str]) -> int:
        """Count ids, without some kinds of differences in spelling."""
        ((number,),) = self._rows(
            database, "SELECT count(DISTINCT {plain_id}) FROM frame WHERE NOT ({no_id})", spellings=kinds
        )
        return int(number)

    def _listed(self, database: Any) -> tuple[int, int]:
        """Count different ids, and those that are listed more than once."""
        ((different, twice),) = self._rows(
            database,
            "SELECT count(*), count(*) FILTER (WHERE number > 1) FROM "
            "(SELECT count(*) AS number FROM frame WHERE NOT ({no_id}) GROUP BY {id})",
        )
        return int(different), int(twice)

    def spreads(self, column: str) -> dict[str, float]:
        """Return the standard deviation of a column in every stratum, 0 where it has one person."""
        number = (
            f"TRY_CAST({_text(column)} || '' AS DOUBLE)"  # as it is, readers of CSV would try it themselves
        )
        value = f"CASE WHEN isfinite({number}) THEN {number} END"
        sql = (
            f"SELECT {{stratum}} AS stratum, coalesce(stddev_samp({value}), 0), "
            f"count(*) - count({value}) FROM frame GROUP BY 1"
        )
        with _database() as database:
            rows = self._rows(database, sql, column)
        require_numbers(column, sum(number for _, _, number in rows))
        return {name: float(sd) for name, sd, _ in rows if name is not None}

    def _rows(
        self, database: Any, sql: str, *columns: str, spellings: Sequence[str] = ()
    ) -> list[tuple[Any, ...]]:
        with self._query(database, sql, *columns, spellings=spellings) as result:
            return list(result.fetchall())

    @contextmanager
    def _query(self, database: Any, sql: str, *columns: str, spellings: Sequence[str] = ()) -> Iterator[Any]:
        """Ask about ``frame``; ``{id}``, ``{no_id}`` and ``{stratum}`` stand for its columns.

        ``{raw_stratum}`` may have blanks around it. ``{plain_id}`` stands for the id without some differences
        in spelling; a whole number has none.
        """
        needed = (self.id, *self.stratum, *columns)
        with ExitStack() as opened:
            try:
                self._attach(database, needed, opened)
                kinds = {row[0]: row[1] for row in database.execute("DESCRIBE frame").fetchall()}
                if not kinds.keys() >= set(needed):
                    first = database.sql(f"SELECT * FROM frame LIMIT {_FIRST_ROWS}").fetchall()
                    there = dict(zip(kinds, zip(*first, strict=True), strict=False))
                    require_columns(self.source, there or kinds.keys(), *needed)
                self.require_kinds(kinds, _KINDS)
                whole = kinds[self.id] in _WHOLE
                person = quoted(self.id) if whole else _text(self.id)
                names = {
                    "id": person,
                    "no_id": _is_empty(self.id),
                    "stratum": self._stratum(),
                    "raw_stratum": self._raw_stratum(),
                    "plain_id": person if whole else f"plain({person})",
                }
                if spellings:
                    database.create_function(
                        "plain", lambda ids: plain_ids(ids, spellings), ["VARCHAR"], "VARCHAR", type="arrow"
                    )
                    opened.callback(database.remove_function, "plain")
                for name, expression in names.items():
                    sql = sql.replace(f"{{{name}}}", expression)
                yield database.sql(sql)
            except _duckdb().Error as error:
                raise InputError(
                    f"{self.source} cannot be read as a frame: {_reason(error)}.", where=self.source
                ) from None

    def _stratum(self) -> str:
        texts = [_text(column) for column in self.stratum]
        if len(texts) == 1:
            return f"nullif({texts[0]}, '')"
        missing = " OR ".join(map(_is_empty, self.stratum))
        joined = f" || '{BETWEEN}' || ".join(texts)
        return f"CASE WHEN {missing} THEN NULL ELSE {joined} END"

    def _raw_stratum(self) -> str:
        """Name strata for a sieve, which trims each different name once; DuckDB would trim every row."""
        return _as_text(self.stratum[0]) if len(self.stratum) == 1 else self._stratum()

    @abstractmethod
    def _attach(self, connection: Any, columns: Sequence[str], opened: ExitStack) -> None:
        """Make everyone known as ``frame``, with these columns at least; close in ``opened`` what is open.

        It is done again for every question: what a database sends can be read once.
        """


@dataclass(frozen=True, slots=True)
class FileFrame(DuckFrame):
    """A frame in a file.

    Attributes
    ----------
    path : path
        CSV, Parquet, Excel, Stata, SPSS, or a DuckDB database.
    table : str, optional
        Table of a DuckDB database.
    sheet : str, optional
        Sheet of an Excel file.
    """

    path: Path
    table: str | None = None
    sheet: str | None = None

    @property
    def source(self) -> str:
        """What messages call it."""
        return str(self.path)

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that must not be written over."""
        return (self.path,)

    def _attach(self, connection: Any, columns: Sequence[str], opened: ExitStack) -> None:
        """Make the file known as ``frame``."""
        if not self.path.exists():
            raise InputError(f"{self.path} does not exist.", where=str(self.path))
        if set(str(self.path)) & set("*?["):
            raise InputError(
                f"the file name of a frame must not contain *, ? or [, which match other names, got "
                f"{self.path}."
            )
        ending = self.path.suffix.lower()
        path = str(self.path).replace("'", "''")
        if ending in TEXT_ENDINGS:
            titles = self._titles_above_single_columns()
            options = f"all_varchar = true, header = true, skip = {titles}, quote = '\"', escape = '\"'"
            connection.execute(f"CREATE OR REPLACE VIEW frame AS SELECT * FROM read_csv('{path}', {options})")
        elif ending == ".parquet":
            connection.execute(f"CREATE OR REPLACE VIEW frame AS SELECT * FROM read_parquet('{path}')")
        elif ending in (*EXCEL_ENDINGS, *STATISTICS_ENDINGS):
            import pyarrow

            table = read_table(self.path, sheet=self.sheet)
            cells = table.columns
            require_columns(self.source, cells, *columns, sheets=table.sheets)
            for name in (self.id, *self.stratum):
                if any(isinstance(cell, float) and cell % 1 for cell in cells.get(name, ())):
                    raise InputError(
                        f"ids and strata must not be fractions, got some in column {name!r} of {self.path}."
                    )
            texts = {
                name: pyarrow.array([_frame_text(cell, name == self.id) for cell in column], pyarrow.string())
                for name, column in cells.items()
            }
            connection.register("frame", pyarrow.table(texts))
        elif ending in DATABASE_ENDINGS:
            self._attach_database(connection, path)
        else:
            endings = (*TEXT_ENDINGS, ".parquet", *EXCEL_ENDINGS, *STATISTICS_ENDINGS, *DATABASE_ENDINGS)
            raise InputError(f"a frame must end in {', '.join(endings)}, got {self.path.name!r}.")

    def _attach_database(self, connection: Any, path: str) -> None:
        """Make a table of a database known as ``frame``, or say which tables there are."""
        connection.execute(f"ATTACH IF NOT EXISTS '{path}' AS source (READ_ONLY, TYPE duckdb)")
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT table_name FROM information_schema.tables "
                "WHERE table_catalog = 'source' AND table_schema = 'main' ORDER BY table_name"
            ).fetchall()
        ]
        there = f"it has {', '.join(map(repr, tables)) or 'none'}"
        if self.table is None:
            raise InputError(
                f"{self.path} is a database: name the table that lists the people ({option('table')}); "
                f"{there}.",
                where=str(self.path),
            )
        if self.table.casefold() not in map(str.casefold, tables):
            raise InputError(f"{self.path} has no table {self.table!r}; {there}.", where=str(self.path))
        connection.execute(f"CREATE OR REPLACE VIEW frame AS SELECT * FROM source.{quoted(self.table)}")

    def _titles_above_single_columns(self) -> int:
        """Count title lines; refuse a column that is needed and appears twice: DuckDB would rename one."""
        try:
            titles, header = lines_above_header(self.path)
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be read: {error.strerror or error}.", where=str(self.path)
            ) from None
        for delimiter in ",;\t|":
            names = next(csv.reader([header], delimiter=delimiter), [])
            for column in (self.id, *self.stratum):
                if names.count(column) > 1:
                    raise InputError(
                        f"{self.path} has several columns named {column!r}.", where=str(self.path)
                    )
        return titles


@dataclass(frozen=True, slots=True, eq=False)
class MemoryFrame(DuckFrame):
    """A frame in a data frame.

    Attributes
    ----------
    data : narwhals.DataFrame
        Everyone, each once.
    """

    data: DataFrame[Any] = field(repr=False)

    @property
    def source(self) -> str:
        """What messages call it."""
        return DATA_FRAME

    def _attach(self, connection: Any, columns: Sequence[str], opened: ExitStack) -> None:
        """Make the columns that are needed known as ``frame``."""
        import pyarrow

        for column in columns:
            self.require_column(column, self.data.columns)
        connection.register("frame", pyarrow.table({name: self._arrow(name) for name in columns}))

    def _arrow(self, name: str) -> Any:
        """Return a column as Arrow's; its own errors can show a cell."""
        try:
            return self.data[name].to_arrow()
        except ModuleNotFoundError:
            raise MissingExtraError("frames need", "survey") from None
        except Exception:  # every library has its own
            pass
        raise InputError(f"column {name!r} of {DATA_FRAME} must hold one kind of values, got several.")


def _frame_text(cell: Any, is_id: bool) -> str | None:
    """Read a cell; nothing is ``None``, and so is an id whose formula failed."""
    return None if is_id and is_error_value(cell) else text_of(cell) or None


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.", where=str(path)) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", where=str(path)) from None


def _reason(error: Exception) -> str:
    """Say why DuckDB cannot read the file; most of its messages can hold values of rows."""
    duckdb, words = _duckdb(), str(error).lower()
    if "not a valid duckdb database" in words:
        return "it is neither a DuckDB nor a SQLite database"
    if isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException):
        return str(error).splitlines()[0][:120]
    if "utf-8" in words or "utf8" in words or "encod" in words:
        return "it is not UTF-8 text; save it as UTF-8"
    return "it is not readable, or its rows differ in length"


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _as_text(column: str) -> str:
    return f"CAST({quoted(column)} AS VARCHAR)"


def _text(column: str) -> str:
    return f"trim({_as_text(column)}, '{WHITESPACE}')"


def _is_empty(column: str) -> str:
    return f"coalesce({_text(column)}, '') = ''"


@contextmanager
def _database() -> Iterator[Any]:
    """Open a DuckDB in memory; what does not fit there goes to a folder that is removed."""
    with tempfile.TemporaryDirectory(prefix="dpstrata-") as folder:
        database = _duckdb().connect(":memory:", config=_SETTINGS | {"temp_directory": folder})
        try:
            yield database
        finally:
            database.close()


def _duckdb() -> Any:
    try:
        import duckdb
        import pyarrow  # noqa: F401 - batches are Arrow's
    except ImportError:
        raise MissingExtraError("frames need", "survey") from None
    return duckdb
