"""What a reader of published answers, sums or figures does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dpstrata.designs.record import Design
from dpstrata.fielding.intervals.tilt import Limits
from dpstrata.fielding.results.results import Results
from dpstrata.files.cells import unmarked
from dpstrata.files.headers import require_columns
from dpstrata.files.tables import Table, table_from_frame
from dpstrata.numerics.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


NOISED_TABLE = "the table of noised answers"
"""What messages call a table on Spark."""


class Surveys(NamedTuple):
    """What many surveys of one design gave: a row for each survey, a column for each stratum.

    Attributes
    ----------
    counts : array of int
        How many people answered.
    means, squares : array
        Mean of what they reported, and the sum of squared distances from it.
    noise, variances : array
        Noise that is added to the mean of the population of each survey, and its variance; zero where it is
        in the means already.
    """

    counts: IntArray
    means: FloatArray
    squares: FloatArray
    noise: FloatArray | float = 0.0
    variances: FloatArray | float = 0.0


class Reader(ABC):
    """Reads what was published with a design, and estimates from it."""

    def __init__(self, plan: Design) -> None:
        self.plan = plan

    @abstractmethod
    def read(self, table: Table, stratum: str) -> tuple[Sequence[Any], ...]:
        """Read a published table, column by column; ``stratum`` names that of the strata."""

    @abstractmethod
    def estimate(self, *columns: Any) -> Results:
        """Estimate from the columns of a published table, as :meth:`read` has them."""

    def estimate_closely(self, *columns: Any) -> Results:
        """Estimate with all that can be seen of spreads, as pilots need it, which takes longer."""
        return self.estimate(*columns)

    def estimate_on_spark(self, data: DataFrame, stratum: str) -> Results:
        """Estimate from a published table on Spark; a small one is brought here."""
        return self.estimate(*self.read(brought_here(data), stratum))

    def limits_in_surveys(self, surveys: Surveys) -> Limits:
        """Find the interval of the mean of the population that would be printed in each of many surveys."""
        raise NotImplementedError  # where several shares are estimated


def brought_here(data: DataFrame) -> Table:
    """Bring a table from Spark."""
    from dpstrata.fielding.frames.spark import spark_errors

    with spark_errors("what was published"):
        return table_from_frame(data.toArrow())


def count_on_spark(data: DataFrame, *columns: str) -> list[list[Any]]:
    """Let Spark count how often the same texts stand in some columns together; the last list says it."""
    from pyspark.sql import functions as F  # noqa: N812

    from dpstrata.fielding.frames.spark import spark_errors, text_of_column

    require_columns(NOISED_TABLE, data.columns, *columns)
    names = [f"column_{place}" for place in range(len(columns))]
    texts = data.select(
        *(text_of_column(column).alias(name) for column, name in zip(columns, names, strict=True))
    )
    with spark_errors("the noised answers"):
        rows = texts.groupBy(*names).agg(F.count("*")).collect()
    *cells, times = zip(*rows, strict=True) if rows else [()] * (len(names) + 1)
    return [*([unmarked(cell or "") for cell in column] for column in cells), list(times)]
