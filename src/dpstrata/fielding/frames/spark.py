"""Frames on Spark: counted and sifted inside its executors; only counts and the sample come back.

The key of the draw travels inside the pickled function of the executors, never in SQL text, a plan or an
event log. No value of a row enters an expression or an error.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpstrata.errors import InputError, without_passwords
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
from dpstrata.fielding.frames.spark_session import require_spark, spark_session
from dpstrata.files.tables import TEXT_ENDINGS
from dpstrata.survey.classes import BETWEEN

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_KINDS = r"string|(var)?char\(\d+\)|boolean|(tiny|small|big)?int|decimal\(\d+,0\)"
_WHOLE = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True, eq=False)
class SparkFrame(Frame):
    """A frame in a Spark data frame.

    Attributes
    ----------
    data : DataFrame
        Everyone, each once.
    name : str
        What messages call it.
    """

    data: DataFrame = field(repr=False)
    name: str = "the Spark frame"

    @property
    def source(self) -> str:
        """What messages call it."""
        return self.name

    def summary(self) -> FrameSummary:
        """Count people by stratum, and what is wrong: missing strata, missing ids, people listed twice."""
        from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

        people, no_id = self._people(), _is_empty(F.col("id").cast("string"))
        with spark_errors(self.name):
            counts = [(row[0], row[1]) for row in people.groupBy("stratum").count().collect()]
            nobody = people.where(no_id).count()
            broken = people.where(
                F.contains("stratum", F.lit("\ufffd")) | F.col("id").cast("string").contains("\ufffd")
            )
            if broken.count():
                raise InputError(f"{self.name} is not UTF-8 text; save it as UTF-8.")
            known = people.where(~no_id)
            repeats = find_repeats(known.count(), partial(_distinct, known), partial(_listed, known))
            ambiguous = 0
            if len(self.stratum) > 1:
                parted = [text_of_column(column).contains(BETWEEN.strip()) for column in self.stratum]
                ambiguous = self.data.where(reduce(lambda a, b: a | b, parted)).count()
        return summarize(counts, without_id=nobody, repeats=repeats, ambiguous=ambiguous)

    def spreads(self, column: str) -> dict[str, float]:
        """Return the standard deviation of a column in every stratum, 0 where it has one person."""
        from pyspark.sql import functions as F  # noqa: N812

        self.require_column(column, self.data.columns)
        value = finite(F.col(quoted(column)).try_cast("double"))
        with spark_errors(self.name):
            rows = (
                self._people(value.alias("value"))
                .groupBy("stratum")
                .agg(F.stddev_samp("value"), F.count("*") - F.count("value"))
                .collect()
            )
        require_numbers(column, sum(number for _, _, number in rows))
        return {name: float(sd or 0.0) for name, sd, _ in rows if name is not None}

    def sift(self, sift: Sift) -> Iterator[Any]:
        """Run everyone through ``sift`` inside the executors."""
        people = self._people()
        kind = people.schema["id"].dataType.simpleString()
        kept = f"place bigint, high bigint, low bigint, id {kind}, people bigint, name string"
        yield from map_in_arrow(people, sift, kept, self.name)

    def _people(self, *more: Column) -> DataFrame:
        """Everyone, with the columns ``id`` and ``stratum``."""
        from pyspark.sql import functions as F  # noqa: N812

        kinds = dict(self.data.dtypes)
        self.require_kinds(kinds, _KINDS)
        person = F.col(quoted(self.id)) if kinds[self.id] in _WHOLE else text_of_column(self.id)
        texts = [text_of_column(column) for column in self.stratum]
        missing = reduce(lambda a, b: a | b, map(_is_empty, texts))
        joined = F.concat_ws(BETWEEN, *texts)
        stratum = F.when(missing, F.lit(None)).otherwise(joined)
        return self.data.select(person.alias("id"), stratum.alias("stratum"), *more)


def open_spark_frame(people: Any, id: str, stratum: tuple[str, ...]) -> SparkFrame:
    """Describe a frame on Spark, from a data frame, the name of a table, or a path."""
    if not isinstance(people, str | Path):
        require_spark()
        return SparkFrame(id, stratum, people)
    return SparkFrame(id, stratum, read_spark(str(people)), without_passwords(str(people)))


def read_spark(source: str) -> DataFrame:
    """Let Spark read a table by its name, or a path: Parquet, a folder of it, or CSV with a header."""
    spark = spark_session()
    local = Path(source.removeprefix("file:"))
    with spark_errors(source):
        if source.lower().endswith(TEXT_ENDINGS):
            return _read_csv(spark, source)
        if source.lower().endswith(".parquet") or "/" in source or local.is_dir():
            return spark.read.parquet(source)
        return spark.table(source)


def _read_csv(spark: SparkSession, source: str) -> DataFrame:
    """Read CSV as DuckDB does: the delimiter that the header has most of, and double quotes."""
    header = spark.read.text(source).first()
    cells = "" if header is None else str(header[0])
    delimiter = max(",;\t|", key=cells.count)
    return spark.read.csv(
        source,
        sep=delimiter,
        header=True,
        quote='"',
        escape='"',
        multiLine=True,
        ignoreLeadingWhiteSpace=True,
        ignoreTrailingWhiteSpace=True,
        enforceSchema=False,
        mode="FAILFAST",
    )


def _distinct(people: DataFrame, kinds: Sequence[str]) -> int:
    """Count ids, without some kinds of differences in spelling; whole numbers have none."""
    ids = people.select("id")
    if ids.schema["id"].dataType.simpleString() not in _WHOLE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as in map_in_arrow
            ids = ids.mapInArrow(_Named(partial(_plain_batches, kinds=kinds)), "id string")
    return int(ids.distinct().count())


def _plain_batches(batches: Iterable[Any], kinds: Sequence[str]) -> Iterator[Any]:
    import pyarrow

    for batch in batches:
        yield pyarrow.record_batch({"id": plain_ids(batch.column("id"), kinds)})


def _listed(people: DataFrame) -> tuple[int, int]:
    """Count different ids, and those that are listed more than once."""
    numbers = people.groupBy("id").count()
    return numbers.count(), numbers.where("count > 1").count()


def map_in_arrow(data: DataFrame, function: Callable[..., Any], columns: str, source: str) -> Iterator[Any]:
    """Run a function over Arrow batches inside the executors, and bring its batches here."""
    with spark_errors(source), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns of newer versions of pandas, which is not used
        return iter(data.mapInArrow(_Named(function), columns).toArrow().to_batches())


class _Named:
    """A function for executors under a name that tells nothing; plans show the name."""

    __name__ = "dpstrata"

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        return iter(self.function(batches))


@contextmanager
def spark_errors(source: str) -> Iterator[None]:
    """Turn Spark's errors into one sentence; its own messages can hold values of rows."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        condition = error.getCondition() if isinstance(error, PySparkException) else None
        raise InputError(f"Spark cannot read {source}: {condition or 'see its own log'}.") from None


def _is_empty(text: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(text, F.lit("")) == ""


def text_of_column(column: str) -> Column:
    """Return a column as text, without the white space around it."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.trim(F.col(quoted(column)).cast("string"), F.lit(WHITESPACE))


def finite(number: Column) -> Column:
    """Return a number, or nothing where it is infinite or none."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.when(F.abs(number) < math.inf, number)  # NaN is the largest of all in Spark


def quoted(name: str) -> str:
    """Quote a column's name."""
    return "`" + name.replace("`", "``") + "`"
