"""Frames: lists of everyone in the population, in files, databases or on Spark."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from dpstrata.errors import DpstrataWarning, InputError, option
from dpstrata.fielding.frames.base import Frame
from dpstrata.fielding.frames.databases import PostgresqlFrame, SqliteFrame, is_postgresql, is_sqlite
from dpstrata.fielding.frames.files import DATABASE_ENDINGS, FileFrame
from dpstrata.files.tables import eager_frame, require_excel, require_file
from dpstrata.survey.classes import BETWEEN
from dpstrata.survey.look_alikes import alphabets, find_look_alikes
from dpstrata.survey.strata import Strata
from dpstrata.survey.strata_columns import is_known

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame
    from pyspark.sql import DataFrame

Engine = Literal["duckdb", "spark"]
_TINY = 2
_MANY_STRATA = 10  # fewer are seen at a glance
_MOST_PAIRS = 5  # in a warning


def open_frame(
    people: str | Path | DataFrame | IntoFrame,
    *,
    id: str,
    stratum: str | Sequence[str],
    table: str | None = None,
    sheet: str | None = None,
    engine: Engine = "duckdb",
) -> Frame:
    """Describe a frame; nothing is read yet.

    Parameters
    ----------
    people : path, str or data frame
        ``.csv``, ``.parquet``, Excel, Stata or SPSS; with ``table`` a DuckDB or SQLite database, or the
        address of a PostgreSQL one (``postgresql://user@host/database``); or a data frame of pandas, Polars,
        Arrow or anything narwhals knows. For Spark a data frame, the name of a table, or a path
        (``.parquet``, ``.csv``, or a folder of Parquet).
    id : str
        Column that identifies a person.
    stratum : str or sequence of str
        Column or columns with the stratum; several are crossed.
    table : str, optional
        Table of a database; in PostgreSQL also ``schema.table``.
    sheet : str, optional
        Sheet of an Excel file; by default the first. Title rows above its header are left out.
    engine : {"duckdb", "spark"}
        Engine that reads a path; a data frame stays where it is.

    Examples
    --------
    >>> import dpstrata as dps
    >>> import pyarrow as pa
    >>> people = pa.table({"id": range(400), "town": ["A", "B", "B", "B"] * 100})
    >>> frame = dps.open_frame(people, id="id", stratum="town")
    >>> frame.summary().sizes
    {'A': 100, 'B': 300}
    """
    remote = engine == "duckdb" and is_postgresql(people)
    if isinstance(people, str | Path) and not remote:
        require_file(people, spark=engine == "spark")
    columns = (stratum,) if isinstance(stratum, str) else tuple(stratum)
    if not columns:
        raise InputError(f"{option('stratum')} must name at least one column, got none.")
    if id in columns or (len(columns) > 1 and id == "stratum"):
        raise InputError(
            f"{option('id')} and {option('stratum')} must be different columns, got {id!r} for both.",
            value=id,
        )
    if isinstance(people, str) and remote and sheet is None:
        return PostgresqlFrame(id, columns, table, people)
    if isinstance(people, str | Path) and engine == "duckdb" and not remote:
        if table is not None and Path(people).suffix.lower() not in DATABASE_ENDINGS:
            raise InputError(
                f"{option('table')} requires a database, got {Path(people).name!r}.",
                value=table,
                where=str(people),
            )
        require_excel(people, sheet)
        if is_sqlite(Path(people)):
            return SqliteFrame(id, columns, table, Path(people))
        return FileFrame(id, columns, Path(people), table, sheet)
    if sheet is not None:
        raise InputError(f"{option('sheet')} requires an Excel file, got another frame.", value=sheet)
    if table is not None:
        raise InputError(
            f"{option('table')} is for databases; give Spark the name of the table itself.",
            value=table,
        )
    if not isinstance(people, str | Path) and not hasattr(people, "mapInArrow"):
        from dpstrata.fielding.frames.files import MemoryFrame

        return MemoryFrame(id, columns, eager_frame(people))
    from dpstrata.fielding.frames.spark import open_spark_frame

    return open_spark_frame(people, id, columns)


def frame_strata(
    frame: Frame,
    *,
    sd_column: str | None = None,
    sd_source: Literal["public", "prior"] | None = None,
    classes: str | Sequence[str] = (),
) -> Strata:
    """Count the strata of a frame.

    Parameters
    ----------
    frame : Frame
        Everyone, each once.
    sd_column : str, optional
        A numeric column whose standard deviation in each stratum stands in for that of the answers. It must
        be public or prior knowledge, never the confidential answers.
    sd_source : {"public", "prior"}
        Whether the column is public or prior knowledge; recorded in every design.
    classes : str or sequence of str
        Weighting classes: those of the frame's stratum columns by which nothing is reported, as in
        :func:`design`. The column ``reported_stratum`` of the strata then names the coarser strata.

    Returns
    -------
    Strata
        Every stratum with its size. Where several columns are crossed, they are kept as columns of the
        strata, so that each can be a domain; only those whose names mean something else in strata files
        (``size``, ``stratum``) are not.

    Raises
    ------
    InputError
        If strata or ids are missing or people are listed twice, with how many.

    Warns
    -----
    DpstrataWarning
        If there are ten strata or more, and most of them have one or two people; or if names of strata look
        alike, so that one stratum may be counted as two.

    Examples
    --------
    >>> import dpstrata as dps
    >>> import pyarrow as pa
    >>> people = pa.table({"id": range(400), "town": ["A", "B", "B", "B"] * 100})
    >>> frame = dps.open_frame(people, id="id", stratum="town")
    >>> strata = dps.frame_strata(frame)
    >>> strata.names, strata.sizes.tolist()
    (('A', 'B'), [100, 300])
    """
    if (sd_column is None) != (sd_source is None):
        raise InputError(
            f"{option('sd_column')} and {option('sd_source')} (public or prior) must be given together, got "
            "only one."
        )
    if sd_source is not None and sd_source not in ("public", "prior"):
        raise InputError.must("sd_source", "be 'public' or 'prior'", sd_source)
    summary = frame.summary()
    summary.require_sound(frame.source)
    names = list(summary.sizes)
    _warn_of_tiny_strata(frame, list(summary.sizes.values()))
    _warn_of_look_alikes(frame, summary.sizes)
    sds = None
    if sd_column is not None:
        spread = frame.spreads(sd_column)
        sds = np.array([spread[name] for name in names])
    extra = _crossed(frame.stratum, names)
    counted = Strata([summary.sizes[name] for name in names], sds, names, sd_sources=sd_source, extra=extra)
    return counted.filled(classes=classes or None)


def _warn_of_tiny_strata(frame: Frame, sizes: Sequence[int]) -> None:
    """Warn of many strata that mostly have one or two people, such as those of a column of dates."""
    tiny = sum(size <= _TINY for size in sizes)
    if len(sizes) < _MANY_STRATA or 2 * tiny <= len(sizes):
        return
    columns = " and ".join(map(repr, frame.stratum))
    warnings.warn(
        DpstrataWarning(
            f"{frame.source}: {tiny:,} of {len(sizes):,} strata have only one or two people; use another "
            f"column, or group the values of {columns} (dates into years, say)."
        ),
        stacklevel=3,
    )


def _warn_of_look_alikes(frame: Frame, sizes: Mapping[str, int]) -> None:
    """Warn of values of a stratum column that may be one value in two spellings."""
    for place, column in enumerate(frame.stratum):
        people: Counter[str] = Counter()
        for name, number in sizes.items():
            people[name if len(frame.stratum) == 1 else name.split(BETWEEN)[place]] += number
        pairs = find_look_alikes(people)
        if pairs:
            words = [f"{_spelled(first)} and {_spelled(second)}" for first, second in pairs[:_MOST_PAIRS]]
            more = f", and {len(pairs) - _MOST_PAIRS:,} more pairs" if len(pairs) > _MOST_PAIRS else ""
            warnings.warn(
                DpstrataWarning(
                    f"{frame.source}: values of column {column!r} look alike but are separate strata: "
                    f"{'; '.join(words)}{more}. If two of them mean the same, write them the same way and "
                    "count again."
                ),
                stacklevel=3,
            )


def _spelled(name: str) -> str:
    """Write a name, with the alphabet of letters that only look Latin."""
    foreign = alphabets(name)
    return f"{name!r} (with {' and '.join(foreign)} letters)" if foreign else repr(name)


def _crossed(columns: Sequence[str], names: Sequence[str]) -> dict[str, Sequence[str]]:
    """Take the names of crossed strata apart, into columns that strata files can have besides their own."""
    if len(columns) == 1:
        return {}
    values = zip(*(name.split(BETWEEN) for name in names), strict=True)
    return {name: cells for name, cells in zip(columns, values, strict=True) if not is_known(name)}
