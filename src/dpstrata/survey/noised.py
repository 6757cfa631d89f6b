"""Noised answers as they come, in a file or on Spark, and the estimates from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpstrata.errors import InputError
from dpstrata.model.design_record import Design
from dpstrata.model.document import read_design
from dpstrata.model.tables import Table, read_table, text_of
from dpstrata.survey.estimating import Estimation
from dpstrata.survey.frames import Engine
from dpstrata.survey.frames.base import BETWEEN
from dpstrata.survey.ledger import check_release
from dpstrata.survey.releases import fielding_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STRATUM, ANSWER = "stratum", "answer"


def estimate(
    design: Design | str | Path,
    answers: str | Path | DataFrame,
    *,
    stratum: str = STRATUM,
    answer: str = ANSWER,
    engine: Engine = "duckdb",
) -> Estimation:
    """Estimate means and the total from noised answers, with intervals that contain sampling and privacy.

    Parameters
    ----------
    design : Design or path
        The design, or its document.
    answers : path, str or Spark data frame
        What :func:`dpstrata.privatize` wrote, or a table of other making with the stratum and the noised
        answer of everyone; for a curator one noised mean a stratum and the number of its ``answers``.
    stratum, answer : str
        Names of the columns.
    engine : {"duckdb", "spark"}
        With ``spark``, answers are the name of a table or a path that Spark reads.

    Returns
    -------
    Estimation
        The whole, the total, the domains and the strata, and what is to be said of them.

    Raises
    ------
    InputError
        If a ledger beside the answers or the design knows the file as the release of another design.
    """
    plan = design if isinstance(design, Design) else read_design(Path(design))
    fielding = fielding_of(plan)
    document = None if isinstance(design, Design) else Path(design)
    if isinstance(answers, str | Path) and engine == "duckdb":
        columns = fielding.read(Path(answers), stratum, answer)
        check_release(plan, Path(answers), document)
        return fielding.estimate(plan, *columns)
    from dpstrata.survey.frames.spark import read_spark

    if not isinstance(answers, str | Path):
        return fielding.estimate_on_spark(plan, answers, stratum, answer)
    data = read_spark(str(answers))
    check_release(plan, Path(answers), document)
    return fielding.estimate_on_spark(plan, data, stratum, answer)


def read_noised(path: Path, stratum: str, answer: str) -> tuple[list[str], list[float]]:
    """Read noised answers and the stratum of each."""
    return read_people(path, stratum, (stratum,))[1], read_numbers(path, answer)


def read_people(path: Path, id: str, stratum: Sequence[str]) -> tuple[list[str], list[str]]:
    """Read ids and strata as text; several stratum columns are crossed."""
    columns = _table(path, id, *stratum).columns
    people, *parts = ([text_of(cell) for cell in columns[name]] for name in (id, *stratum))
    return people, [BETWEEN.join(cells) for cells in zip(*parts, strict=True)]


def read_numbers(path: Path, name: str) -> list[float]:
    """Read a column of numbers; a message says where there is none, and never what is there."""
    table = _table(path, name)
    cells = table.columns[name]
    for row, cell in enumerate(cells):
        if not _is_number(cell):
            raise InputError(
                f"{path}: column {name!r}, {table.place(row)}: not a number; code yes as 1 and no as 0."
            )
    return [float(cell) for cell in cells]


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str) and "_" in cell:  # Python would read 1_0 as 10
        return False
    try:
        return math.isfinite(float(cell))
    except (TypeError, ValueError, OverflowError):
        return False


def _table(path: Path, *names: str) -> Table:
    """Read a table that must have these columns."""
    table = read_table(path)
    for name in names:
        if name not in table.columns:
            raise InputError(f"{path} has no column {name!r}; it has {', '.join(map(repr, table.columns))}.")
    return table
