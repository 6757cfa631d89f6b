"""Noised answers as they come, in a file or on Spark, and the estimates from them."""

from __future__ import annotations

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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COUNT = "answers"  # column of how many answers a noised mean is of


def estimate(
    design: Design | str | Path,
    answers: str | Path | DataFrame,
    *,
    stratum: str = "stratum",
    answer: str = "answer",
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
    """
    plan = design if isinstance(design, Design) else read_design(Path(design))
    curator = plan.inputs.trust == "curator"
    if isinstance(answers, str | Path) and engine == "duckdb":
        _, names, values = read_columns(Path(answers), stratum, stratum, answer)
        if not curator:
            return estimate_means(plan, names, values)
        return estimate_from_means(
            plan, names, values, read_columns(Path(answers), stratum, stratum, COUNT)[2]
        )
    from dpstrata.survey.frames.spark import read_spark
    from dpstrata.survey.noised_on_spark import read_numbers, sum_numbers

    data = read_spark(str(answers)) if isinstance(answers, str | Path) else answers
    if curator:
        names, values, counts = read_numbers(data, stratum, answer, COUNT)
        return estimate_from_means(plan, names, values, counts)
    return estimate_from_moments(plan, _moments(plan, sum_numbers(data, stratum, answer)))


def _moments(plan: Design, rows: list[tuple[str, int, float, float]]) -> Moments:
    """Put what an engine added up in the order of the design; strata without an answer have none."""
    order = places(plan, [row[0] for row in rows])
    counts, means, squares = (np.zeros(len(plan.strata)) for _ in range(3))
    for place, (_, count, mean, square) in zip(order.tolist(), rows, strict=True):
        counts[place], means[place], squares[place] = count, mean, square
    return Moments(counts.astype(np.int64), means, squares)


def read_columns(path: Path, *names: str) -> tuple[list[Any], ...]:
    """Read some columns of a table; ids and strata are text."""
    table = read_table(path)
    for name in names:
        if name not in table.columns:
            raise InputError(f"{path} has no column {name!r}; it has {', '.join(table.columns)}.")
    texts = [[text_of(cell) for cell in table.columns[name]] for name in names[:2]]
    if len(names) == 2:
        return tuple(texts)
    try:
        numbers = np.array(table.columns[names[2]], dtype=float)
    except (TypeError, ValueError):  # the cause would show an answer
        raise InputError(f"{path}: answers must be numbers, got others in column {names[2]!r}.") from None
    if not np.all(np.isfinite(numbers)):
        raise InputError(f"{path}: answers must be numbers, got others in column {names[2]!r}.")
    return (*texts, numbers.tolist())
