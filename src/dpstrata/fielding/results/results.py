"""What a survey found: one record, whatever was asked and however it was published."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, overload

import numpy as np

from dpstrata.allocation.domains import WHOLE
from dpstrata.designs.record import Design
from dpstrata.errors import InputError, NotAvailableError
from dpstrata.fielding.covariances import Covariance, Errors, Origins
from dpstrata.fielding.neighbours import StandIn
from dpstrata.fielding.results.figures import Causes, QuestionFigures
from dpstrata.fielding.results.form_figures import TableCounts
from dpstrata.fielding.results.ratios import FigureNamed, estimate_ratio
from dpstrata.fielding.results.table import TOTAL, Columns, Estimate
from dpstrata.files.tables import FrameLibrary, frame_of
from dpstrata.numerics.arrays import BoolArray, IntArray
from dpstrata.words.results import estimates_table, results_in_words
from dpstrata.words.tables import TextTable, shown_as_html, shown_as_text

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


@dataclass(frozen=True, slots=True, eq=False)
class AboutQuestion:
    """What is known of a question, or of a cross-table, beside its estimates.

    Attributes
    ----------
    known : QuestionFigures
        Its figures in every stratum; none where only figures of groups are published.
    causes : Causes or None
        The variance for the whole population by what makes it err: sampling, noise on single answers, office
        noise; of several shares half the sum of their variances. ``None`` where what is published shows no
        spread, or none that can be told from rounding.
    stand_ins : tuple of StandIn
        Strata in which nobody answered it, each with the one whose result it takes.
    doubts : mapping of str to tuple of str
        What to be careful with, and in which strata.
    errors : tuple of Errors
        What makes its estimates err, of which covariances are made.
    """

    known: QuestionFigures
    causes: Causes | None
    stand_ins: tuple[StandIn, ...]
    doubts: Mapping[str, tuple[str, ...]]
    errors: tuple[Errors, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Results(Sequence[Estimate]):
    """The estimates of a survey: a table with one row for each question, level and group.

    It is a sequence of :class:`Estimate`. By question, the whole comes first, then the population total, the
    domains and the strata, each with all levels of the question.

    Attributes
    ----------
    design : Design
        The design that the answers were collected with.
    columns : Columns
        The table as arrays, with the fields of :class:`Estimate`.
    questions : mapping of str to AboutQuestion
        What is known of every question beside that; nothing of ratios.
    answered : array of int
        How many people of each stratum answered.
    notes : tuple of str
        Sentences about the promise, where fewer people answered than it assumes, and about answers that were
        clipped.
    waves : tuple of Wave
        The waves that the estimates are from, if there are two.
    ratio_of : tuple of (str, str or sequence of str)
        Of a ratio: its numerator and its denominator, as they were asked for.
    """

    design: Design
    columns: Columns
    questions: Mapping[str, AboutQuestion]
    origins: Origins = field(repr=False)
    answered: IntArray
    notes: tuple[str, ...] = ()
    waves: tuple[Wave, ...] = ()
    counts: tuple[TableCounts, ...] = field(default=(), repr=False)
    ratio_of: tuple[FigureNamed, ...] = ()

    def __len__(self) -> int:
        return len(self.columns.estimate)

    @overload
    def __getitem__(self, at: int) -> Estimate: ...

    @overload
    def __getitem__(self, at: slice) -> Results: ...

    def __getitem__(self, at: int | slice) -> Estimate | Results:
        """Return a row, or a table of several."""
        if isinstance(at, slice):
            return self.at(np.arange(len(self))[at])
        row = range(len(self))[at]
        (found,) = self.at(np.arange(row, row + 1))
        return found

    def __iter__(self) -> Iterator[Estimate]:
        return map(Estimate, *self.columns.lists().values())

    @property
    def confidence(self) -> float:
        """Confidence level of the intervals."""
        return self.design.inputs.confidence

    @property
    def whole(self) -> Results:
        """The estimates for the whole population."""
        return self.by(WHOLE)

    def question(self, name: str) -> Results:
        """Return the estimates of one question, or of one cross-table.

        Raises
        ------
        InputError
            If there is no such question.
        """
        return self._where("question", name)

    def by(self, column: str) -> Results:
        """Return the estimates of every question by the groups of a column.

        Parameters
        ----------
        column : str
            ``stratum``, a column of domains, ``all`` for the whole population, or ``total`` for its totals.

        Raises
        ------
        InputError
            If there is no such column.
        """
        return self._where("column", column)

    def _where(self, name: str, value: str) -> Results:
        cells = getattr(self.columns, name)
        rows = cells == value
        if not rows.any():
            known = ", ".join(map(repr, dict.fromkeys(cells.tolist())))
            raise InputError(f"{name} must be one of {known}, got {value!r}.")
        return self.at(rows)

    def at(self, rows: IntArray | BoolArray) -> Results:
        """Choose rows, by their places or a mask."""
        return replace(self, columns=self.columns.at(rows), origins=self.origins.at(rows))

    @property
    def shown(self) -> Results:
        """What tables and charts show: of several questions the whole; of one, all but the total."""
        column = self.columns.column
        whole = column == WHOLE
        if len(set(self.columns.question)) > 1 and whole.any():
            return self.at(whole)
        totals = column == TOTAL
        return self if totals.all() else self.at(~totals)

    @property
    def uncrossed(self) -> Results:
        """The estimates without those of cross-tables."""
        crossed = [name for name, about in self.questions.items() if about.known.crossed]
        return self.at(~np.isin(self.columns.question, crossed))

    def ratio(self, numerator: FigureNamed, denominator: FigureNamed) -> Results:
        """Estimate the ratio of two figures, for the whole, every domain and every stratum.

        Such as the share of those who smoke among those who rent, or one mean over another. A ratio is given
        where the standard error of its denominator is below a tenth of the denominator; a note says where it
        is left out.

        Parameters
        ----------
        numerator, denominator : pair of str and str, or of str and sequence of str
            The question and the level of an estimate, as they are listed, or ``mean``; several levels are
            added up.

        Returns
        -------
        Results
            The ratios, with standard errors by linearisation, and intervals made of those of both figures,
            which never leave what the ratio can be.

        Raises
        ------
        InputError
            If there is no such estimate, or the survey has a single figure.
        NotAvailableError
            If the estimates are from two waves.

        Notes
        -----
        The variance is that of the numerator less R times the denominator, over the denominator squared,
        where R is the ratio. Their covariance is counted where one table holds both: the figures of one
        question, of questions that are kept together, and of all questions of a form where rows are
        published. Otherwise the standard error is an upper bound: two tables of one form add up their
        standard errors, and figures of different people are not credited with the share of the population
        that was asked.
        """
        if self.ratio_of:
            raise InputError("a ratio must be of two estimates, got ratios; ask the estimates for it.")
        if self.waves:
            raise NotAvailableError(
                "a ratio must be of one wave, got the results of two; ask those of each wave for it."
            )
        if not self.counts:  # whoever estimates shares has counts
            (question,) = self.design.inputs.questions
            figure = "mean" if question.of_kind.averaged else "share of yes"
            raise InputError(
                f"a ratio must be of two figures, got a survey with a single one: the {figure} of "
                f"{question.name!r}."
            )
        columns, notes = estimate_ratio(self.design, self.counts, numerator, denominator)
        return Results(
            design=self.design,
            columns=columns,
            questions={},
            origins=Origins.unknown(len(columns.estimate)),
            answered=self.answered,
            notes=tuple(notes),
            ratio_of=(numerator, denominator),
        )

    def with_ratios(self, ratios: Sequence[Results]) -> Results:
        """Put ratios, which :meth:`ratio` returned, below the estimates."""
        every = (self, *ratios)
        return replace(
            self,
            columns=Columns.joined([each.columns for each in every]),
            origins=Origins.joined([each.origins for each in every]),
            notes=tuple(note for each in every for note in each.notes),
        )

    @property
    def covariance(self) -> Covariance:
        """The covariances of all estimates, in their order."""
        return Covariance(
            self._labels(),
            self.columns.standard_error**2,
            self.origins,
            [each.errors for each in self.questions.values()],
        )

    def _labels(self) -> tuple[str, ...]:
        """Name estimates, no two alike: a column of domains may hold the strata again."""
        questions, levels = (len(set(each)) for each in (self.columns.question, self.columns.level))
        seen: Counter[str] = Counter()
        labels = []
        for question, level, column, group in zip(*self.columns[:4], strict=True):
            label = column if column in (WHOLE, TOTAL) else f"{column}={group}"
            if questions > 1:
                label = f"{question}={level or 'mean'}, {label}"
            elif levels > 1:
                label = f"{level}, {label}"
            seen[label] += 1
            labels.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
        return tuple(labels)

    def to_frame(self, library: FrameLibrary | None = None) -> IntoDataFrame:
        """Return the table as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Whose; by default the first that is installed.
        """
        return frame_of(self.columns.lists(), library)

    def to_json(self) -> str:
        """Write the table and the sentences about it as JSON."""
        lists = self.columns.lists()
        rows = [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]
        return json.dumps({"estimates": rows, "notes": self.sentences}, indent=1, ensure_ascii=False)

    @property
    def table(self) -> TextTable:
        """The estimates for the eye: of several questions those of the whole population."""
        return estimates_table(self)

    @property
    def sentences(self) -> list[str]:
        """What the estimates say, and what to be careful with."""
        return results_in_words(self)

    def __repr__(self) -> str:
        return shown_as_text([self.table], self.sentences)

    def _repr_html_(self) -> str:
        return shown_as_html([self.table], self.sentences)


@dataclass(frozen=True, slots=True, eq=False)
class Wave:
    """One of two waves that estimates are from.

    Attributes
    ----------
    design : Design
        Its design.
    weights : mapping of str to float
        What it counts where both waves have answers, by question and cross-table.
    result : Results
        What it gave by itself.
    """

    design: Design
    weights: Mapping[str, float]
    result: Results
