"""Frames: lists of everyone in the population, read by DuckDB in batches, never as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dpstrata.errors import InputError, MissingExtraError
from dpstrata.model.strata import Strata
from dpstrata.model.tables import EXCEL_ENDINGS, TEXT_ENDINGS, read_table, text_of

DATABASE_ENDINGS = (".duckdb", ".db")
BETWEEN = " | "  # of the values of several stratum columns
_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class Frame:
    """Where everyone is listed, and which columns say who they are and where they belong.

    Parameters
    ----------
    path : path
        CSV, Parquet, Excel, or a DuckDB database.
    id : str
        Column that identifies a person. Text unless the file types it.
    stratum : sequence of str
        Columns whose values, crossed, are the strata.
    table : str, optional
        Table of a DuckDB database.
    """

    path: Path
    id: str
    stratum: tuple[str, ...]
    table: str | None = None

    def batches(self) -> Iterator[Any]:
        """Yield Arrow batches with the columns ``id`` and ``stratum``, in the order of the frame."""
        with self._query(
            f"SELECT {_quote(self.id)} AS id, {self._stratum()} AS stratum FROM frame"
        ) as result:
            yield from result.to_arrow_reader(_BATCH)

    def summary(self) -> FrameSummary:
        """Count people by stratum, and what is wrong: missing strata, missing ids, people listed twice."""
        missing = f"{_quote(self.id)} IS NULL OR trim(CAST({_quote(self.id)} AS VARCHAR)) = ''"
        counts = self._rows(f"SELECT {self._stratum()} AS stratum, count(*) FROM frame GROUP BY 1 ORDER BY 1")
        ((nobody,),) = self._rows(f"SELECT count(*) FROM frame WHERE {missing}")
        ((twice,),) = self._rows(
            f"SELECT count(*) FROM (SELECT {_quote(self.id)} FROM frame WHERE NOT ({missing}) "
            f"GROUP BY {_quote(self.id)} HAVING count(*) > 1)"
        )
        if len(self.stratum) > 1:
            parted = " OR ".join(
                f"contains(CAST({_quote(column)} AS VARCHAR), '{BETWEEN}')" for column in self.stratum
            )
            ((unclear,),) = self._rows(f"SELECT count(*) FROM frame WHERE {parted}")
            if unclear:
                raise InputError(
                    f"values that are crossed must not hold {BETWEEN!r}, got {unclear:,} that do."
                )
        nowhere = sum(number for name, number in counts if name is None)
        sizes = {name: number for name, number in counts if name is not None}
        return FrameSummary(sizes, int(nowhere), int(nobody), int(twice))

    def spreads(self, column: str) -> dict[str, float]:
        """Return the standard deviation of a column in every stratum, 0 where it has one person."""
        value = f"TRY_CAST({_quote(column)} AS DOUBLE)"
        rows = self._rows(
            f"SELECT {self._stratum()} AS stratum, coalesce(stddev_samp({value}), 0), "
            f"count(*) - count({value}) FROM frame GROUP BY 1"
        )
        unreadable = sum(number for _, _, number in rows)
        if unreadable:
            raise InputError(
                f"column {column!r} must be a number for everyone, got none for {unreadable:,} people."
            )
        return {name: float(sd) for name, sd, _ in rows if name is not None}

    def _stratum(self) -> str:
        texts = [f"CAST({_quote(column)} AS VARCHAR)" for column in self.stratum]
        missing = " OR ".join(f"{text} IS NULL OR trim({text}) = ''" for text in texts)
        joined = f" || '{BETWEEN}' || ".join(f"trim({text})" for text in texts)
        return f"CASE WHEN {missing} THEN NULL ELSE {joined} END"

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._query(sql) as result:
            return list(result.fetchall())

    @contextmanager
    def _query(self, sql: str) -> Iterator[Any]:
        duckdb = _duckdb()
        connection = duckdb.connect(":memory:")
        try:
            self._attach(connection)
            known = [row[0] for row in connection.execute("DESCRIBE frame").fetchall()]
            for column in (self.id, *self.stratum):
                if column not in known:
                    raise InputError(f"{self.path} has no column {column!r}; it has {', '.join(known)}.")
            yield connection.sql(sql)
        except duckdb.Error as error:
            reason = (
                str(error).splitlines()[0][:120] if isinstance(error, duckdb.IOException) else "not readable"
            )
            raise InputError(f"{self.path} cannot be read as a frame: {reason}.") from None
        finally:
            connection.close()

    def _attach(self, connection: Any) -> None:
        """Make the file known as ``frame``."""
        if not self.path.exists():
            raise InputError(f"{self.path} does not exist.")
        if set(str(self.path)) & set("*?["):
            raise InputError(
                f"a frame's name must not hold *, ? or [, which stand for other names, got {self.path}."
            )
        connection.execute("SET TimeZone = 'UTC'")  # dates become the same text everywhere
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
                name: [text_of(cell) or None for cell in cells]
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


@dataclass(frozen=True, slots=True)
class FrameSummary:
    """How many people a frame lists, and what is wrong with it.

    Attributes
    ----------
    sizes : dict
        People by stratum.
    without_stratum, without_id, listed_twice : int
        People without a stratum or an id, and ids that stand there more than once.
    """

    sizes: dict[str, int]
    without_stratum: int
    without_id: int
    listed_twice: int

    @property
    def problems(self) -> list[str]:
        """What is wrong, a phrase each."""
        return [
            f"{number:,} {words}"
            for number, words in (
                (self.without_stratum, "without a stratum"),
                (self.without_id, "without an id"),
                (self.listed_twice, "listed more than once, who would lose more than was promised"),
            )
            if number
        ]

    def require_sound(self, source: object) -> None:
        """Raise if anything is wrong."""
        if not self.sizes and not self.problems:
            raise InputError(f"{source} lists nobody.")
        if self.problems:
            raise InputError(
                f"{source} must list everyone once, with id and stratum, got {' and '.join(self.problems)}."
            )


def open_frame(path: str | Path, *, id: str, stratum: str | Sequence[str], table: str | None = None) -> Frame:
    """Describe a frame; nothing is read yet.

    Parameters
    ----------
    path : path
        ``.csv``, ``.parquet``, Excel, or a DuckDB database (``.duckdb``, with ``table``).
    id : str
        Column that identifies a person.
    stratum : str or sequence of str
        Column or columns that say where they belong; several are crossed.
    table : str, optional
        Table of a database.
    """
    columns = (stratum,) if isinstance(stratum, str) else tuple(stratum)
    if not columns:
        raise InputError("a frame needs at least one stratum column.")
    if id in columns or (len(columns) > 1 and id == "stratum"):
        raise InputError(f"the id and the stratum must be different columns, got {id!r} for both.")
    return Frame(Path(path), id, columns, table)


def frame_strata(
    frame: Frame, *, sd_column: str | None = None, sd_source: Literal["public", "prior"] | None = None
) -> Strata:
    """Count the strata of a frame.

    Parameters
    ----------
    frame : Frame
        Everyone, each once.
    sd_column : str, optional
        A numeric column whose standard deviation in each stratum stands for that of the answers. It must be
        public or prior knowledge, never the confidential answers.
    sd_source : {"public", "prior"}
        Which of the two it is; recorded in every design.

    Raises
    ------
    InputError
        If strata or ids are missing or people are listed twice, with their numbers.
    """
    if (sd_column is None) != (sd_source is None):
        raise InputError(
            "a column for standard deviations needs sd_source, 'public' or 'prior', and the reverse."
        )
    if sd_source is not None and sd_source not in ("public", "prior"):
        raise InputError(f"sd_source must be 'public' or 'prior', got {sd_source!r}.")
    summary = frame.summary()
    summary.require_sound(frame.path)
    names = list(summary.sizes)
    sds = None
    if sd_column is not None:
        spread = frame.spreads(sd_column)
        sds = np.array([spread[name] for name in names])
    return Strata([summary.sizes[name] for name in names], sds, names, sd_sources=sd_source)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _duckdb() -> Any:
    try:
        import duckdb
        import pyarrow  # noqa: F401 - batches are Arrow's
    except ImportError:
        raise MissingExtraError("frames need", "survey") from None
    return duckdb
