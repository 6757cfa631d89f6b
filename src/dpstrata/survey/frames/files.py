"""Frames in files and DuckDB databases, read by DuckDB in batches, never as a whole."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpstrata.errors import InputError, MissingExtraError
from dpstrata.model.tables import EXCEL_ENDINGS, TEXT_ENDINGS, read_table, text_of
from dpstrata.survey.frames.base import BETWEEN, Frame, FrameSummary, Sift, require_numbers, summarize

DATABASE_ENDINGS = (".duckdb", ".db")
_BATCH = 1 << 16
_INEXACT = ("float", "double", "timestamp", "time")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")


@dataclass(frozen=True, slots=True)
class FileFrame(Frame):
    """A frame in a file.

    Attributes
    ----------
    path : path
        CSV, Parquet, Excel, or a DuckDB database.
    table : str, optional
        Table of a DuckDB database.
    """

    path: Path
    table: str | None = None

    @property
    def source(self) -> str:
        """What messages call it."""
        return str(self.path)

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that must not be written over."""
        return (self.path,)

    def sift(self, sift: Sift) -> Iterator[Any]:
        """Run everyone through ``sift``, batch by batch."""
        with self._query("SELECT {id} AS id, {stratum} AS stratum FROM frame") as result:
            yield from sift(result.to_arrow_reader(_BATCH))

    def summary(self) -> FrameSummary:
        """Count people by stratum, and what is wrong: missing strata, missing ids, people listed twice."""
        ((nobody,),) = self._rows("SELECT count(*) FROM frame WHERE {no_id}")
        ((twice,),) = self._rows(
            "SELECT count(*) FROM (SELECT {id} FROM frame WHERE NOT ({no_id}) GROUP BY 1 HAVING count(*) > 1)"
        )
        ambiguous = 0
        if len(self.stratum) > 1:
            parted = " OR ".join(f"contains({_text(column)}, '{BETWEEN}')" for column in self.stratum)
            ((ambiguous,),) = self._rows(f"SELECT count(*) FROM frame WHERE {parted}")
        counts: list[Any] = self._rows("SELECT {stratum} AS stratum, count(*) FROM frame GROUP BY 1")
        return summarize(counts, without_id=nobody, listed_twice=twice, ambiguous=ambiguous)

    def spreads(self, column: str) -> dict[str, float]:
        """Return the standard deviation of a column in every stratum, 0 where it has one person."""
        value = f"TRY_CAST({_quote(column)} AS DOUBLE)"
        rows = self._rows(
            f"SELECT {{stratum}} AS stratum, coalesce(stddev_samp({value}), 0), "
            f"count(*) - count({value}) FROM frame GROUP BY 1",
            column,
        )
        require_numbers(column, sum(number for _, _, number in rows))
        return {name: float(sd) for name, sd, _ in rows if name is not None}

    def digest(self) -> tuple[str, str]:
        """Return the digest of the file."""
        return "file", file_digest(self.path)

    def _rows(self, sql: str, *columns: str) -> list[tuple[Any, ...]]:
        with self._query(sql, *columns) as result:
            return list(result.fetchall())

    @contextmanager
    def _query(self, sql: str, *columns: str) -> Iterator[Any]:
        """Ask about ``frame``; ``{id}``, ``{no_id}`` and ``{stratum}`` stand for its columns."""
        duckdb = _duckdb()
        with tempfile.TemporaryDirectory(prefix="dpstrata-") as folder:
            connection = duckdb.connect(":memory:")
            try:
                # what does not fit in memory is encrypted on disk, under a key that ends with the process
                connection.execute(f"SET temp_directory = '{folder}'; SET temp_file_encryption = true")
                self._attach(connection)
                kinds = {row[0]: row[1] for row in connection.execute("DESCRIBE frame").fetchall()}
                self.require_kinds(kinds, inexact=_INEXACT)
                for column in columns:
                    if column not in kinds:
                        raise InputError(f"{self.path} has no column {column!r}; it has {', '.join(kinds)}.")
                person = _quote(self.id) if kinds[self.id] in _WHOLE else _text(self.id)
                no_id = f"{_quote(self.id)} IS NULL OR trim({_text(self.id)}) = ''"
                names = {"id": person, "no_id": no_id, "stratum": self._stratum()}
                for name, expression in names.items():
                    sql = sql.replace(f"{{{name}}}", expression)
                yield connection.sql(sql)
            except duckdb.Error as error:
                known = isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException)
                reason = str(error).splitlines()[0][:120] if known else "not readable"
                raise InputError(f"{self.path} cannot be read as a frame: {reason}.") from None
            finally:
                connection.close()

    def _stratum(self) -> str:
        texts = [_text(column) for column in self.stratum]
        missing = " OR ".join(f"{text} IS NULL OR trim({text}) = ''" for text in texts)
        joined = f" || '{BETWEEN}' || ".join(f"trim({text})" for text in texts)
        return f"CASE WHEN {missing} THEN NULL ELSE {joined} END"

    def _attach(self, connection: Any) -> None:
        """Make the file known as ``frame``."""
        if not self.path.exists():
            raise InputError(f"{self.path} does not exist.")
        if set(str(self.path)) & set("*?["):
            raise InputError(
                f"a frame's name must not hold *, ? or [, which stand for other names, got {self.path}."
            )
        ending = self.path.suffix.lower()
        path = str(self.path).replace("'", "''")
        if ending in TEXT_ENDINGS:
            connection.execute(
                f"CREATE VIEW frame AS SELECT * FROM read_csv('{path}', all_varchar = true, header = true)"
            )
        elif ending == ".parquet":
            connection.execute(f"CREATE VIEW frame AS SELECT * FROM read_parquet('{path}')")
        elif ending in EXCEL_ENDINGS:
            import pyarrow

            columns = {
                name: pyarrow.array([text_of(cell) or None for cell in cells], pyarrow.string())
                for name, cells in read_table(self.path).columns.items()
            }
            connection.register("frame", pyarrow.table(columns))
        elif ending in DATABASE_ENDINGS:
            if self.table is None:
                raise InputError(f"{self.path} is a database: say which table lists the people.")
            connection.execute(f"ATTACH '{path}' AS source (READ_ONLY)")
            connection.execute(f"CREATE VIEW frame AS SELECT * FROM source.{_quote(self.table)}")
        else:
            endings = (*TEXT_ENDINGS, ".parquet", *EXCEL_ENDINGS, *DATABASE_ENDINGS)
            raise InputError(f"a frame must end in {', '.join(endings)}, got {self.path.name!r}.")


def file_digest(path: str | Path) -> str:
    """SHA-256 of a file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(column: str) -> str:
    return f"CAST({_quote(column)} AS VARCHAR)"


def _duckdb() -> Any:
    try:
        import duckdb
        import pyarrow  # noqa: F401 - batches are Arrow's
    except ImportError:
        raise MissingExtraError("frames need", "survey") from None
    return duckdb
