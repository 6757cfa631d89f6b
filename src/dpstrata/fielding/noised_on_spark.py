"""Noised answers on Spark, added up where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.errors import InputError
from dpstrata.fielding.frames.spark import finite, quoted, spark_errors, text_of_column
from dpstrata.files.cells import unmarked
from dpstrata.files.headers import require_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def sum_numbers(data: DataFrame, stratum: str, column: str) -> list[tuple[str, int, float, float]]:
    """Add up a column by stratum: how many numbers, their mean, and their squared distances from it."""
    from pyspark.sql import functions as F  # noqa: N812

    numbers = _numbers(data, stratum, column)
    sums = F.count("*"), F.count("number0"), F.avg("number0"), F.var_pop("number0") * F.count("*")
    with spark_errors("the noised answers"):
        rows = numbers.groupBy("stratum").agg(*sums).collect()
    if any(everyone != number for _, everyone, number, *_ in rows):
        raise InputError(f"noised answers must be numbers, got something else in column {column!r}.")
    return [
        (unmarked(name or ""), count, float(mean), float(squares)) for name, count, _, mean, squares in rows
    ]


def count_names(data: DataFrame, stratum: str, column: str) -> list[tuple[str, str, int]]:
    """Count a column of names by stratum."""
    from pyspark.sql import functions as F  # noqa: N812

    require_columns("the table of noised answers", data.columns, stratum, column)
    named = data.select(text_of_column(stratum).alias("stratum"), text_of_column(column).alias("name"))
    with spark_errors("the noised answers"):
        rows = named.groupBy("stratum", "name").agg(F.count("*")).collect()
    return [(unmarked(group or ""), unmarked(name or ""), count) for group, name, count in rows]


def collect_numbers(
    data: DataFrame, stratum: str, *columns: str
) -> tuple[list[str], list[float], list[float]]:
    """Bring two columns of numbers here, with the stratum of each row: noised sums with their counts."""
    with spark_errors("the noised sums"):
        rows = _numbers(data, stratum, *columns).collect()
    names, values, others = ([row[i] for row in rows] for i in range(3))
    if None in values or None in others:
        raise InputError(
            f"noised sums must be numbers, got something else in column {columns[0]!r} or {columns[1]!r}."
        )
    return [unmarked(name or "") for name in names], values, others


def _numbers(data: DataFrame, stratum: str, *columns: str) -> DataFrame:
    """Strata as text, and columns as numbers; what is none becomes nothing."""
    from pyspark.sql import functions as F  # noqa: N812

    require_columns("the table of noised answers", data.columns, stratum, *columns)
    values = [F.col(quoted(name)).try_cast("double") for name in columns]
    return data.select(
        text_of_column(stratum).alias("stratum"),
        *[value.alias(f"number{i}") for i, value in enumerate(map(finite, values))],
    )
