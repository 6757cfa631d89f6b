"""Noised answers as they come, in a file or on Spark, and the estimates from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpstrata.errors import InputError
from dpstrata.model.design_record import Design
from dpstrata.model.document import read_design
from dpstrata.model.tables import read_table, text_of
from dpstrata.survey.estimating import (
    Estimation,
    Moments,
    estimate_from_means,
    estimate_from_moments,
    estimate_means,
    places,
)
from dpstrata.survey.frames import Engine
from dpstrata.survey.frames.base import BETWEEN
from dpstrata.survey.ledger import check_release

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STRATUM, ANSWER, COUNT = "stratum", "answer", "answers"  # the last: how many answers a noised mean is of


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
    curator = plan.inputs.trust == "curator"
    document = None if isinstance(design, Design) else Path(design)
    if isinstance(answers, str | Path) and engine == "duckdb":
        names, values = read_noised(Path(answers), stratum, answer)
        check_release(plan, Path(answers), document)
        if not curator:
            return estimate_means(plan, names, values)
        return estimate_from_means(plan, names, values, read_numbers(Path(answers), COUNT))
    from dpstrata.survey.frames.spark import read_spark
    from dpstrata.survey.noised_on_spark import collect_numbers, sum_numbers

    data = read_spark(str(answers)) if isinstance(answers, str | Path) else answers
    if isinstance(answers, str | Path):
        check_release(plan, Path(answers), document)
    if curator:
        names, values, counts = collect_numbers(data, stratum, answer, COUNT)
        return estimate_from_means(plan, names, values, counts)
    return estimate_from_moments(plan, _moments(plan, sum_numbers(data, stratum, answer)))


def _moments(plan: Design, rows: list[tuple[str, int, float, float]]) -> Moments:
    """Put what an engine added up in the order of the design; strata without an answer have none."""
    order = places(plan, [row[0] for row in rows])
    counts, means, squares = (np.zeros(len(plan.strata)) for _ in range(3))
    for place, (_, count, mean, square) in zip(order.tolist(), rows, strict=True):
        counts[place], means[place], squares[place] = count, mean, square
    return Moments(counts.astype(np.int64), means, squares)


def read_noised(path: Path, stratum: str, answer: str) -> tuple[list[str], list[float]]:
    """Read noised answers and the stratum of each."""
    return read_people(path, stratum, (stratum,))[1], read_numbers(path, answer)


def read_people(path: Path, id: str, stratum: Sequence[str]) -> tuple[list[str], list[str]]:
    """Read ids and strata as text; several stratum columns are crossed."""
    people, *parts = ([text_of(cell) for cell in column] for column in _columns(path, id, *stratum))
    return people, [BETWEEN.join(cells) for cells in zip(*parts, strict=True)]


def read_numbers(path: Path, name: str) -> list[float]:
    """Read a column of numbers; no message shows one."""
    (cells,) = _columns(path, name)
    try:
        if any(isinstance(cell, str) and "_" in cell for cell in cells):  # Python would read 1_0 as 10
            raise ValueError
        numbers = np.array(cells, dtype=float)
        if not np.all(np.isfinite(numbers)):
            raise ValueError
    except (TypeError, ValueError):  # the cause would show an answer
        raise InputError(f"{path}: answers must be numbers, got others in column {name!r}.") from None
    return [float(number) for number in numbers]


def _columns(path: Path, *names: str) -> list[list[Any]]:
    table = read_table(path)
    for name in names:
        if name not in table.columns:
            raise InputError(f"{path} has no column {name!r}; it has {', '.join(map(repr, table.columns))}.")
    return [table.columns[name] for name in names]
