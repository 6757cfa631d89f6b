"""Noised answers as they come, in a file, a data frame or on Spark, and the estimates from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpstrata.designs.record import Design
from dpstrata.fielding.answer_files import STRATUM, open_answers
from dpstrata.fielding.frames import Engine
from dpstrata.fielding.ledger import check_release
from dpstrata.fielding.results.forms import RowsReader, TablesReader
from dpstrata.fielding.results.mean import MeanReader
from dpstrata.fielding.results.microdata import CategoriesReader, MicrodataReader
from dpstrata.fielding.results.reader import Reader, brought_here
from dpstrata.fielding.results.results import Results
from dpstrata.fielding.results.sums import SumsReader
from dpstrata.files.tables import require_file
from dpstrata.survey.classes import refuse_late

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame
    from pyspark.sql import DataFrame


# what a design publishes of its only question, and of questions on forms
READERS: dict[str, type[Reader]] = {"microdata": MicrodataReader, "sums": SumsReader, "mean": MeanReader}
_OF_ROWS: dict[str, type[Reader]] = {"microdata": RowsReader, "sums": TablesReader, "mean": MeanReader}


def reader_of(plan: Design) -> Reader:
    """Return the reader of what a design publishes."""
    if plan.inputs.rows:
        return _OF_ROWS[plan.inputs.release](plan)
    if not plan.inputs.space.numbers:  # names are published one by one, and in no other way
        return CategoriesReader(plan)
    return READERS[plan.inputs.release](plan)


def estimate(
    design: Design | str | Path,
    answers: str | Path | IntoFrame | DataFrame,
    *,
    stratum: str = STRATUM,
    engine: Engine = "duckdb",
    **late: Any,
) -> Results:
    """Estimate means and the total from noised answers, with intervals that cover both sampling and privacy.

    Parameters
    ----------
    design : Design or path
        The design, or its document.
    answers : path, str or data frame
        What :func:`dpstrata.privatize` or :func:`dpstrata.publish` wrote, or any table with the stratum and
        the noised answer of everyone, in a column with the name of the question; for sums, one row a stratum
        with the number of its ``answers``. Data frames are those of pandas, Polars, Arrow, Spark or another
        library that narwhals knows.
    stratum : str
        Name of the column of the strata.
    engine : {"duckdb", "spark"}
        With ``spark``, answers are the name of a table or a path that Spark reads; a data frame stays where
        it is.
    **late
        ``classes`` and ``weights``, which cannot be brought in after the draw: refused with the reason.

    Returns
    -------
    Results
        A row for the whole, the total, the domains and the strata; of categories for the share of each, and
        of several questions for every question and answer.

    Raises
    ------
    InputError
        If a ledger beside the answers or the design lists the file as the release of another design, or
        classes or weights are brought in.
    """
    refuse_late(**late)
    plan, document = (design, None) if isinstance(design, Design) else (Design.read(design), Path(design))
    return estimate_from(plan, answers, document=document, stratum=stratum, engine=engine)


def estimate_from(
    plan: Design,
    answers: str | Path | IntoFrame | DataFrame,
    *,
    document: Path | None,
    stratum: str = STRATUM,
    engine: Engine = "duckdb",
) -> Results:
    """Do the same for a design that has been read; a ledger may lie beside its document."""
    reader = reader_of(plan)
    path = Path(answers) if isinstance(answers, str | Path) else None
    data = on_spark(answers, engine)
    if data is not None:
        if path is not None:
            check_release(plan, path, document)
        return reader.estimate_on_spark(data, stratum)
    columns = reader.read(open_answers(answers), stratum)
    if path is not None:
        check_release(plan, path, document)
    return reader.estimate(*columns)


def on_spark(answers: str | Path | IntoFrame | DataFrame, engine: Engine) -> DataFrame | None:
    """Return a table that lies on Spark as its data frame; ``None`` for any other."""
    if hasattr(answers, "mapInArrow"):
        return answers
    if engine == "duckdb" or not isinstance(answers, str | Path):
        return None
    from dpstrata.fielding.frames.spark import read_spark

    require_file(str(answers), spark=True)
    return read_spark(str(answers))


def estimate_closely(
    plan: Design,
    answers: str | Path | IntoFrame | DataFrame,
    *,
    stratum: str = STRATUM,
    engine: Engine = "duckdb",
) -> Results:
    """Estimate with all that can be seen of spreads, for a pilot; a table on Spark is brought here."""
    reader, data = reader_of(plan), on_spark(answers, engine)
    table = open_answers(answers) if data is None else brought_here(data)
    if isinstance(answers, str | Path):
        check_release(plan, Path(answers), None)
    return reader.estimate_closely(*reader.read(table, stratum))
