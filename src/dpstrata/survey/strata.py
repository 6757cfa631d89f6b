"""The strata of a population: how many people, how spread their answers are, and what binds each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from dpstrata.errors import InputError, StrataError, option
from dpstrata.files.cells import text_of
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.survey.classes import with_reported
from dpstrata.survey.options import OPTIONS
from dpstrata.survey.strata_checks import find_large_spreads, find_mistakes
from dpstrata.survey.strata_columns import OF_CATEGORY, spread_of_proportions, strata_arguments
from dpstrata.words.numbers import counted
from dpstrata.words.survey import population_table
from dpstrata.words.tables import as_plain_text, shown_as_html

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

    from dpstrata.files.tables import Table
    from dpstrata.survey.questionnaires.question import Question
    from dpstrata.survey.questionnaires.questionnaire import Questions

EXPECTED = "expected_mean"


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """A population divided into strata.

    Parameters
    ----------
    sizes : array of int
        People in each stratum, from 1 to 10**12.
    sds : array of float, optional
        Standard deviation of the answers in each stratum (divisor N - 1), >= 0. It must be public, prior
        knowledge or a bound, never computed from the confidential answers without a budget of its own.
        If omitted, the worst case of the answer range is used.
    names : sequence of str, optional
        Unique names; "1", "2", ... if omitted.
    coefficients : array of float, optional
        Weights a_i for ``objective="custom"``.
    costs : array of float, optional
        Cost of one invitation, > 0.
    mins, maxs : array of int, optional
        Minimum and maximum number of people to invite.
    response_rates : array of float, optional
        Publicly known share of people who would answer, 0 < r <= 1.
    sd_sources : str or sequence of str, optional
        Where each standard deviation comes from: ``public``, ``prior`` (the default), ``bound``,
        ``private_pilot`` or ``confidential``. The last two are computed from confidential answers; they are
        refused unless ``sd_epsilons`` states their cost.
    sd_epsilons : array of float, optional
        Privacy budget spent on each standard deviation, >= 0; it adds to that of the survey.
    sds_are_shares : bool
        Whether ``sds`` are in units of the answer range, as those that come from a proportion are.
    proportions : array of float, optional
        The expected proportions that ``sds`` come from, if they do. They are not kept in documents.
    extra : mapping of str to sequence, optional
        Any further columns; kept, and usable as domains.

    Raises
    ------
    StrataError
        With every mistake found.

    Examples
    --------
    >>> strata = Strata(sizes=[7000, 8000], sds=[0.283, 0.08], names=["north", "south"])
    >>> len(strata), strata.population
    (2, 15000)
    """

    sizes: IntArray
    sds: FloatArray | None
    _names: tuple[str, ...] | None
    coefficients: FloatArray | None
    costs: FloatArray | None
    mins: IntArray | None
    maxs: IntArray | None
    response_rates: FloatArray | None
    sd_epsilons: FloatArray | None
    sd_sources: tuple[str, ...] | str
    sds_are_shares: bool
    proportions: FloatArray | None
    extra: Mapping[str, Sequence[Any]] = field(repr=False)

    def __init__(
        self,
        sizes: npt.ArrayLike,
        sds: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
        coefficients: npt.ArrayLike | None = None,
        costs: npt.ArrayLike | None = None,
        mins: npt.ArrayLike | None = None,
        maxs: npt.ArrayLike | None = None,
        response_rates: npt.ArrayLike | None = None,
        *,
        sd_sources: str | Sequence[str] | None = None,
        sd_epsilons: npt.ArrayLike | None = None,
        sds_are_shares: bool = False,
        proportions: npt.ArrayLike | None = None,
        extra: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        given = {
            "sizes": sizes,
            "sds": sds,
            "coefficients": coefficients,
            "costs": costs,
            "mins": mins,
            "maxs": maxs,
            "response_rates": response_rates,
            "sd_epsilons": sd_epsilons,
        }
        columns = _checked_columns(given, names=names, sources=sd_sources, extra=extra or {})
        put = object.__setattr__
        put(self, "_names", None if names is None else tuple(map(str, names)))
        put(self, "sds_are_shares", sds_are_shares)
        shares = None if proportions is None else read_only(np.asarray(proportions, dtype=float))
        put(self, "proportions", shares)
        put(self, "sd_sources", _sources(sd_sources, sds is None))
        put(self, "extra", {name: tuple(values) for name, values in (extra or {}).items()})
        found = find_mistakes(columns, names=self._names, sources=self.sd_sources)
        if found:
            raise StrataError([finding.at_stratum(self.name) for finding in found])
        for name in given:
            values = columns.get(name)
            if values is not None and name in ("sizes", "mins", "maxs"):
                values = values.astype(np.int64)
            put(self, name, None if values is None else read_only(values))

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        questions: Questions | None = None,
        sheet: str | None = None,
    ) -> Strata:
        """Read strata from CSV, or with the extra ``files`` from Parquet or Excel.

        Parameters
        ----------
        path : path
            The ending says the kind: ``.csv``, ``.tsv``, ``.txt``, ``.parquet``, ``.xlsx``, ``.ods``.
        questions : Question or shorthand, optional
            What is asked; spreads that answers to the only question cannot have are then reported with the
            other mistakes.
        sheet : str, optional
            Sheet of an Excel file; by default the first. Title rows above its header are left out.

        Raises
        ------
        StrataError
            With every mistake of the file, each with its row and column.
        """
        from dpstrata.files.tables import read_table
        from dpstrata.survey.questionnaires.questionnaire import only_question

        table = read_table(Path(path), sheet=sheet)
        return strata_from_table(table, question=only_question(questions))

    @classmethod
    def from_frame(
        cls,
        frame: IntoFrame,
        *,
        questions: Questions | None = None,
    ) -> Strata:
        """Take strata from a data frame (pandas, Polars, Arrow or anything narwhals knows).

        The columns are those of a strata file.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"stratum": ["a", "b"], "size": [10, 20], "sd": [0.1, 0.2]})
        >>> Strata.from_frame(frame).names
        ('a', 'b')
        """
        from dpstrata.files.tables import table_from_frame
        from dpstrata.survey.questionnaires.questionnaire import only_question

        table = table_from_frame(frame)
        return strata_from_table(table, question=only_question(questions))

    def filled(
        self,
        *,
        response_rate: float | None = None,
        proportion: float | None = None,
        classes: str | Sequence[str] | None = None,
        expected_means: FloatArray | None = None,
    ) -> Strata:
        """Return the same strata with one response rate, one expected proportion, or further columns.

        Parameters
        ----------
        response_rate : float, optional
            Publicly known share of people who would answer, above 0 and at most 1.
        proportion : float, optional
            Expected share of answers at the upper end, the others being at the lower one, from 0 to 1: prior
            knowledge that gives every standard deviation.
        classes : str or sequence of str, optional
            Columns that the strata are crossed with and not reported by; the column ``reported_stratum`` then
            names the coarser strata.
        expected_means : array, optional
            The column ``expected_mean``, which documents keep, unlike proportions.

        Raises
        ------
        InputError
            If the value is not such a share or column, or the strata have their own.

        Examples
        --------
        >>> strata = Strata(sizes=[7000, 8000]).filled(response_rate=0.6, proportion=0.08)
        >>> strata.response_rates.tolist(), strata.sds.round(4).tolist(), strata.sd_source(0)
        ([0.6, 0.6], [0.2713, 0.2713], 'prior')
        """
        changes: dict[str, Any] = {}
        if wanted := OPTIONS["classes"].read(classes):
            changes["extra"] = with_reported(self.names, self.extra, wanted)
        if expected_means is not None:
            changes["extra"] = {**changes.get("extra", self.extra), EXPECTED: expected_means.tolist()}
        if response_rate is not None:
            rate = OPTIONS["response_rate"].read(response_rate)
            if self.response_rates is not None:
                raise InputError(
                    "the strata already have response rates; remove that column, or leave "
                    f"{option('response_rate')} out.",
                    value=response_rate,
                )
            changes["response_rates"] = np.full(len(self), rate)
        if proportion is not None:
            shares = np.full(len(self), OPTIONS["proportion"].read(proportion))
            if self.sds is not None:
                raise InputError(
                    "the strata already have standard deviations; remove them, or leave "
                    f"{option('proportion')} out.",
                    value=proportion,
                )
            sds = spread_of_proportions(shares, self.sizes.astype(float))
            changes |= {"sds": sds, "sd_sources": "prior", "sds_are_shares": True, "proportions": shares}
        return self.replaced(**changes) if changes else self

    def replaced(self, **changes: Any) -> Strata:
        """Return the same strata but for some arguments of ``Strata``."""
        given = {part.name.lstrip("_"): getattr(self, part.name) for part in fields(self)}
        return Strata(**given | changes)

    def __len__(self) -> int:
        return len(self.sizes)

    def __repr__(self) -> str:
        return as_plain_text(population_table(self, most=10))

    def _repr_html_(self) -> str:
        return shown_as_html([population_table(self)])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the strata."""
        if self._names is None:
            return tuple(str(i + 1) for i in range(len(self)))
        return self._names

    def name(self, row: int) -> str:
        """Name of one stratum."""
        return str(row + 1) if self._names is None else self._names[row]

    @property
    def unit(self) -> Literal["interview", "invitation"]:
        """What sample sizes count: where not everyone answers, an invitation is not an interview."""
        return (
            "interview" if self.response_rates is None or (self.response_rates == 1).all() else "invitation"
        )

    def counted(self, number: int) -> str:
        """Write a number of interviews or invitations."""
        return counted(number, self.unit)

    @property
    def costs_differ(self) -> bool:
        """Whether people of different strata cost differently, so that least cost is not fewest people."""
        return self.costs is not None and bool(np.any(self.costs != self.costs[0]))

    @property
    def population(self) -> int:
        """People in all strata together."""
        return int(self.sizes.sum())

    def sd_source(self, row: int) -> str:
        """Where the standard deviation of one stratum comes from."""
        return self.sd_sources if isinstance(self.sd_sources, str) else self.sd_sources[row]

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories whose expected shares the strata state, in columns ``proportion:NAME``."""
        return tuple(
            name.removeprefix(OF_CATEGORY) for name in self.extra if str(name).startswith(OF_CATEGORY)
        )

    def expected_means(self, question: Question) -> FloatArray | None:
        """Return the mean expected in each stratum: the column ``expected_mean``, or from proportions.

        Raises
        ------
        InputError
            If a cell of that column is not a number, or no mean of such answers.
        """
        cells, space = self.extra.get(EXPECTED), question.space
        if cells is None:
            if self.proportions is None or not space.numbers:
                return None
            return space.at_shares(self.proportions)
        means = np.empty(len(self))
        for row, cell in enumerate(cells):
            try:
                means[row] = float(text_of(cell).replace(",", "."))
            except ValueError:
                means[row] = math.nan
            if not math.isfinite(means[row]):
                place = f"stratum {self.name(row)!r}"
                raise InputError(
                    f"column {EXPECTED!r} must be a number, got {text_of(cell)!r} in {place}.", where=place
                )
            if space.numbers and not space.lower <= means[row] <= space.upper:
                place = f"stratum {self.name(row)!r}"
                raise InputError(
                    f"column {EXPECTED!r} must lie within {space}, got {text_of(cell)} in {place}.",
                    where=place,
                )
        return means

    def columns_of_spreads(self, question: Question) -> dict[str, FloatArray]:
        """Return what is known of the answers to the only question, by the column of ``Spreads``."""
        if self.categories:
            columns = [self.extra[f"{OF_CATEGORY}{name}"] for name in question.names]
            shares = [[float(text_of(cell).replace(",", ".")) for cell in cells] for cells in columns]
            return {"proportion": np.array(shares).T}
        if self.proportions is not None and "proportion" in question.of_kind.told_by:
            return {"proportion": self.proportions}
        return question.of_kind.columns_from_sd(question, self.spreads(question), self.sizes)

    def spreads(self, question: Question) -> FloatArray:
        """Return the standard deviations, checked against what such answers can have.

        Without any, that is the worst case of the answer range.

        Raises
        ------
        StrataError
            Naming every stratum whose spread is too large.
        """
        if self.sds is None:
            return read_only(question.of_kind.largest_sd(question, self.sizes))
        sds = read_only(self.sds * question.range) if self.sds_are_shares else self.sds
        found = find_large_spreads(sds, self.sizes, question)
        if found:
            raise StrataError([finding.at_stratum(self.name) for finding in found])
        return sds


def strata_from_table(table: Table, *, question: Question | None, spread_follows: bool = False) -> Strata:
    """Build strata from a table, or report everything that is wrong with it.

    ``spread_follows`` says that a table without any spread is no reason to warn of the worst case.
    """
    return Strata(**strata_arguments(table, question=question, spread_follows=spread_follows))


def require_fit(strata: Strata, question: Question, proportion: float | None) -> None:
    """Require that expected shares are those of such answers.

    Parameters
    ----------
    strata : Strata
        The population.
    question : Question
        What is asked.
    proportion : float or None
        One expected share of the upper end for all strata.

    Raises
    ------
    InputError
        If they are shares of something else.
    """
    alone = not question.names or question.of_kind.told_alone(question) is not None
    if not alone and (proportion is not None or strata.proportions is not None):
        first = f"{OF_CATEGORY}{question.names[0]}"
        raise InputError(
            f"{option('proportion')} is the share of one of two answers, and there are "
            f"{question.space.described}. Give the strata a column for each category instead: "
            f"{first} and so on.",
            value=proportion,
        )
    if strata.categories and strata.sds is None:
        raise InputError(
            f"columns {OF_CATEGORY}{strata.categories[0]} and so on must be read by Strata.from_file or "
            "Strata.from_frame, got them without standard deviations."
        )
    if strata.categories and sorted(strata.categories) != sorted(question.names):
        raise InputError(
            f"the strata have proportions of the categories {', '.join(strata.categories)}, which must be "
            f"those of {option('questions')}, got {question.answers}."
        )


def _sources(sd_sources: str | Sequence[str] | None, worst_case: bool) -> str | tuple[str, ...]:
    if worst_case:
        return "bound"
    if sd_sources is None:
        return "prior"
    return sd_sources if isinstance(sd_sources, str) else tuple(sd_sources)


def _checked_columns(
    given: Mapping[str, npt.ArrayLike | None],
    *,
    names: Sequence[str] | None,
    sources: str | Sequence[str] | None,
    extra: Mapping[str, Sequence[Any]],
) -> dict[str, FloatArray]:
    """Take the columns that were given as numbers, and require an entry per stratum in everything."""
    mistakes: list[str] = []
    columns = {
        name: _as_floats(name, values, mistakes) for name, values in given.items() if values is not None
    }
    count = len(columns["sizes"])
    if not mistakes and count == 0:
        mistakes.append("there must be at least one stratum, got none.")
    lengths = {option(name): len(values) for name, values in columns.items()}
    if names is not None:
        lengths[option("names")] = len(names)
    if sources is not None and not isinstance(sources, str):
        lengths[option("sd_sources")] = len(sources)
    lengths |= {f"{option('extra')}[{name!r}]": len(values) for name, values in extra.items()}
    mistakes += [
        f"{name} must have one entry per stratum ({count}), got {length}."
        for name, length in lengths.items()
        if length != count
    ]
    if mistakes:
        raise StrataError(mistakes)
    return columns


def _as_floats(name: str, values: npt.ArrayLike, mistakes: list[str]) -> FloatArray:
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        mistakes.append(f"{option(name)} must be numbers of moderate size.")
        return np.empty(0)
    if array.ndim != 1:
        mistakes.append(f"{option(name)} must be a list of numbers, got {array.ndim} dimensions.")
        return np.empty(0)
    return array
