"""What a reader of published answers, sums or figures does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dpstrata.designs.record import Design
from dpstrata.fielding.intervals.tilt import Limits
from dpstrata.fielding.results.results import Results
from dpstrata.files.tables import Table, table_from_frame
from dpstrata.numerics.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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

    def estimate_on_spark(self, data: DataFrame, stratum: str) -> Results:
        """Estimate from a published table on Spark; a small one is brought here."""
        from dpstrata.fielding.frames.spark import spark_errors

        with spark_errors("what was published"):
            table = table_from_frame(data.toArrow())
        return self.estimate(*self.read(table, stratum))

    def limits_in_surveys(self, surveys: Surveys) -> Limits:
        """Find the interval of the mean of the population that would be printed in each of many surveys."""
        raise NotImplementedError  # where several shares are estimated
