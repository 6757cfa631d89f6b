"""What is known of the answers to a questionnaire, in each stratum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpstrata.errors import QuestionnaireError
from dpstrata.files.columns import Finding, KnownColumns, require_none
from dpstrata.numerics.arrays import FloatArray, read_only
from dpstrata.privacy.rows import Quadratic
from dpstrata.survey.questionnaires.kinds.base import Impossible, Known
from dpstrata.survey.questionnaires.question import Question
from dpstrata.survey.questionnaires.questionnaire import Questionnaire, Questions, read_questions
from dpstrata.words.numbers import counted

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

    from dpstrata.files.tables import Table
    from dpstrata.survey.strata import Strata

TOLD_BY = ("proportion", "sd", "mean")
COLUMNS = ("stratum", "question", "category", *TOLD_BY)
_LISTED = 5

SpreadRecord: TypeAlias = Mapping[str, Mapping[str, list[Any]]]
"""What is known of the answers, as documents hold it: by question and column, a row for each stratum."""
Values = dict[str, dict[str, FloatArray]]
"""By question and column that tells something: strata in rows, and categories, if it has any, in columns."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Spreads:
    """What is known of the answers to each question in each stratum; the worst case where nothing is.

    It must be public, prior knowledge or a bound, never computed from the confidential answers.

    Parameters
    ----------
    strata : Strata
        The strata; their own spreads do not matter.
    questionnaire : Questionnaire
        The questions.
    proportions : mapping of str to array, optional
        By yes/no question the expected share of yes, by category question those of its categories, in their
        order, and of blanks: a row for each stratum, or the same for all. NaN where it is not known. A yes/no
        question that may be left blank takes rows of three as well, the shares of no, yes and blanks.
    sds : mapping of str to array, optional
        By scale or number its standard deviation in each stratum (divisor N − 1), or the same for all.
    means : mapping of str to array, optional
        By scale or number its expected mean. With a standard deviation it says how far answers are from the
        middle of their range, which saves noise; alone it limits the spread.

    Attributes
    ----------
    values : dict
        What was told: by question and column (``proportion``, ``sd``, ``mean``), NaN for nothing.

    Raises
    ------
    QuestionnaireError
        With every mistake found.

    Examples
    --------
    >>> import dpstrata as dps
    >>> questionnaire = dps.Questionnaire(
    ...     [
    ...         dps.Question("smokes", "yes_no", blank=False),
    ...         dps.Question("trust", "scale", lower=1, upper=5),
    ...     ]
    ... )
    >>> strata = dps.Strata([1000, 2000], names=["north", "south"])
    >>> spreads = dps.Spreads(strata, questionnaire, proportions={"smokes": [0.2, 0.3]}, sds={"trust": 1.2})
    >>> spreads.variances.round(4).tolist()
    [[0.1602, 0.09], [0.2101, 0.09]]
    """

    strata: Strata
    questionnaire: Questionnaire
    values: Values
    _known: tuple[Known, ...]

    def __init__(
        self,
        strata: Strata,
        questionnaire: Questions,
        *,
        proportions: Mapping[str, npt.ArrayLike] | None = None,
        sds: Mapping[str, npt.ArrayLike] | None = None,
        means: Mapping[str, npt.ArrayLike] | None = None,
    ) -> None:
        questionnaire = read_questions(questionnaire)
        values = _nothing(strata, questionnaire)
        given = {"proportion": proportions or {}, "sd": sds or {}, "mean": means or {}}
        mistakes = [
            f"question {name!r}: {mistake}."
            for column, by_question in given.items()
            for name, array in by_question.items()
            if (mistake := _take(values, questionnaire, name, column, array))
        ]
        found = [] if mistakes else _impossible(strata, questionnaire, values)
        mistakes += [_in_words(each, question, strata) for question, each in found]
        if mistakes:
            raise QuestionnaireError(mistakes, source="what is known of the answers")
        self._put(strata, questionnaire, values)

    @classmethod
    def from_file(
        cls, path: str | Path, strata: Strata, questionnaire: Questions, *, sheet: str | None = None
    ) -> Spreads:
        """Read a long table from CSV, or with the extra ``files`` from Parquet or Excel.

        Parameters
        ----------
        path : path
            A row for each stratum and question, or each category of it: ``stratum``, ``question``,
            ``category``, ``proportion``, ``sd``, ``mean``.
        strata, questionnaire : Strata, Questionnaire
            What it speaks of.
        sheet : str, optional
            Sheet of an Excel file; by default the first.

        Raises
        ------
        QuestionnaireError
            With every mistake of the file, each with its row and column.
        """
        from dpstrata.files.tables import read_table

        table = read_table(Path(path), sheet=sheet, error=QuestionnaireError)
        return cls._from_table(table, strata, questionnaire)

    @classmethod
    def from_frame(cls, frame: IntoFrame, strata: Strata, questionnaire: Questions) -> Spreads:
        """Take the same columns from a data frame (pandas, Polars, Arrow or anything narwhals knows)."""
        from dpstrata.files.tables import table_from_frame

        return cls._from_table(table_from_frame(frame), strata, questionnaire)

    @classmethod
    def _from_table(cls, table: Table, strata: Strata, given: Questions) -> Spreads:
        questionnaire = read_questions(given)
        spreads = object.__new__(cls)
        spreads._put(strata, questionnaire, _values_of_table(table, strata, questionnaire))
        return spreads

    @classmethod
    def from_record(cls, strata: Strata, questionnaire: Questionnaire, told: SpreadRecord | None) -> Spreads:
        """Read what documents hold, as :attr:`record` writes it."""
        given: dict[str, dict[str, Any]] = {column: {} for column in TOLD_BY}
        for name, columns in (told or {}).items():
            for column, values in columns.items():
                given.setdefault(column, {})[name] = np.array(values, dtype=float)
        proportions, sds, means = (given[column] for column in TOLD_BY)
        return cls(strata, questionnaire, proportions=proportions, sds=sds, means=means)

    @property
    def record(self) -> SpreadRecord | None:
        """What is known, as documents hold it; ``None`` where nothing is."""
        told = {
            name: {
                column: np.where(np.isnan(values), None, values).tolist()  # type: ignore[call-overload]
                for column, values in columns.items()
                if not np.isnan(values).all()
            }
            for name, columns in self.values.items()
        }
        return {name: columns for name, columns in told.items() if columns} or None

    def _put(self, strata: Strata, questionnaire: Questionnaire, values: Values) -> None:
        put = object.__setattr__
        put(self, "strata", strata)
        put(self, "questionnaire", questionnaire)
        put(self, "values", {n: {c: read_only(a) for c, a in told.items()} for n, told in values.items()})
        known = (each.of_kind.known(each, values[each.name], strata.sizes) for each in questionnaire)
        put(self, "_known", tuple(known))

    @property
    def variances(self) -> FloatArray:
        """S² of each stratum (rows) and question (columns), in squared ranges, divisor N − 1.

        Of a category it is half the sum over its shares.
        """
        return np.stack([known.spread for known in self._known], axis=1)

    @property
    def squares(self) -> FloatArray:
        """x², the mean squared distance from the middle, in squared ranges; NaN where it is not known."""
        squares = np.full((len(self.strata), len(self.questionnaire)), np.nan)
        for place, (question, known) in enumerate(zip(self.questionnaire, self._known, strict=True)):
            if known.squares is not None:
                told = np.stack(list(self.values[question.name].values()))
                squares[:, place] = np.where(np.isnan(told).any(axis=0), np.nan, known.squares[0])
        return squares

    def is_worst_case(self, place: int) -> bool:
        """Whether noise of a question can be less than planned: what it depends on is not known exactly."""
        squares = self._known[place].squares
        if squares is None:  # names: the same noise whatever is answered
            return False
        return len(self.questionnaire[place].candidates) > 1 or bool(np.any(squares[1] > squares[0]))

    def scaled(self, factors: FloatArray) -> Spreads:
        """Return what holds if all standard deviations of a stratum are larger by its factor.

        None becomes larger than answers allow; expected means stay.
        """
        other, N = object.__new__(Spreads), self.strata.sizes
        other._put(self.strata, self.questionnaire, self.values)
        known = []
        for question, told in zip(self.questionnaire, self._known, strict=True):
            most = np.maximum(question.of_kind.largest(question, N), told.spread)
            spread, squares = np.minimum(told.spread * factors**2, most), told.squares
            if squares is not None:
                low = np.clip(squares[0] + (spread - told.spread) * (N - 1) / N, 0.0, 0.25)
                squares = low, np.where(squares[1] > squares[0], 0.25, low)
            known.append(Known(spread, squares, told.told))
        object.__setattr__(other, "_known", tuple(known))
        return other

    def in_row(self, place: int, levels: int) -> Quadratic:
        """Return S² + noise of one question in each stratum, in squared ranges, as a polynomial in r.

        Parameters
        ----------
        place : int
            Position of the question.
        levels : int
            How many levels its answers are put on.
        """
        question = self.questionnaire[place]
        return question.of_kind.in_row(question, levels, self._known[place])

    def rounding(self, place: int, levels: int) -> FloatArray:
        """Return how much of the spread of one question may be rounding to levels, in each stratum.

        None where the spread is known. In squared ranges; for the parameters see :meth:`in_row`.
        """
        question = self.questionnaire[place]
        return question.of_kind.rounding(question, levels, self._known[place])

    def table(self) -> dict[str, list[Any]]:
        """Return the columns of a file of it: a row for everything that was told."""
        columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        for question in self.questionnaire:
            told = self.values[question.name]
            cases = question.of_kind.cases(question) or ("",)
            for row, stratum in enumerate(self.strata.names):
                for place, case in enumerate(cases):
                    cells = {c: float(np.atleast_1d(array[row])[place]) for c, array in told.items()}
                    if not np.isnan(list(cells.values())).all():
                        line = {
                            "stratum": stratum,
                            "question": question.name,
                            "category": case or None,
                            **cells,
                        }
                        for name, column in columns.items():
                            cell = line.get(name)
                            column.append(None if isinstance(cell, float) and np.isnan(cell) else cell)
        return columns

    def to_file(self, path: str | Path) -> None:
        """Write a file that :meth:`from_file` reads: ``.csv``, ``.parquet`` or ``.xlsx``.

        Raises
        ------
        InputError
            If there is a file of another kind.
        """
        from dpstrata.files.writing import require_table_path, write_result

        require_table_path(Path(path))
        write_result(self.table(), Path(path))

    def __repr__(self) -> str:
        strata, questions = counted(len(self.strata), "stratum"), counted(len(self.questionnaire), "question")
        return f"Spreads({strata}, {questions})"


def _nothing(strata: Strata, questionnaire: Questionnaire) -> Values:
    """Make room for everything that could be told."""
    values: Values = {}
    for question in questionnaire:
        cases = question.of_kind.cases(question)
        shape = (len(strata), len(cases)) if cases else (len(strata),)
        values[question.name] = {column: np.full(shape, np.nan) for column in question.of_kind.told_by}
    return values


def _take(values: Values, questionnaire: Questionnaire, name: str, column: str, array: npt.ArrayLike) -> str:
    """Put what someone told about a question into its place; return what is wrong with it."""
    if name not in values:
        return f"there is no such question, only {_listed(list(values))}"
    if column not in values[name]:
        return f"it must be described by {' or '.join(values[name])}, got {column}"
    question = questionnaire[questionnaire.names.index(name)]
    try:
        told = np.asarray(array, dtype=float)
        alone = question.of_kind.told_alone(question) if told.ndim < 2 else None
        values[name][column][:, ... if alone is None else alone] = told
    except (TypeError, ValueError):
        shape = " x ".join(map(str, values[name][column].shape))
        return f"{column} must be one number, or {shape} numbers"
    return ""


def _impossible(
    strata: Strata, questionnaire: Questionnaire, values: Values
) -> list[tuple[Question, Impossible]]:
    return [
        (question, each)
        for question in questionnaire
        for each in question.of_kind.find_impossible(question, values[question.name], strata.sizes)
    ]


def _in_words(each: Impossible, question: Question, strata: Strata) -> str:
    case = "" if each.case is None else f", category {question.of_kind.cases(question)[each.case]!r}"
    place = f"question {question.name!r}, stratum {strata.name(each.stratum)!r}{case}"
    return f"{place}: {each.rule}, got {each.got}."


# --- from a table -----------------------------------------------------------------------------------


def _values_of_table(table: Table, strata: Strata, questionnaire: Questionnaire) -> Values:
    """Read what is known from a long table, or report everything that is wrong with it."""
    known = KnownColumns(
        table, COLUMNS, required=("stratum", "question"), numbers=TOLD_BY, row="row", error=QuestionnaireError
    )
    known.require_header()
    places = _Places(strata, questionnaire)
    texts = [known.optional_texts(column) for column in COLUMNS[:3]]
    numbers = {column: known.optional_numbers(column) for column in TOLD_BY}
    values = _nothing(strata, questionnaire)
    found: list[Finding] = []
    for row, cells in enumerate(zip(*texts, strict=True)):
        mistakes = list(places.find(row, *cells))
        found += mistakes
        if not mistakes:
            told = {column: numbers[column][row] for column in TOLD_BY}
            found += _fill(values, places, row, told)
    # What is impossible follows from what could be read; one mistake at a time for each cell.
    for question, each in _impossible(strata, questionnaire, values):
        row = places.row(question, each)
        found.append(Finding(row, each.column, each.rule, each.got))
    require_none(known.all_findings(found), table, QuestionnaireError)
    return values


class _Places:
    """Which stratum, question and category each row of a long table is about."""

    def __init__(self, strata: Strata, questionnaire: Questionnaire) -> None:
        self.strata = {name: i for i, name in enumerate(strata.names)}
        self.questions = {question.name: question for question in questionnaire}
        self.rows: dict[tuple[int, str, int | None], int] = {}
        self.of: dict[int, tuple[int, Question, int | None]] = {}

    def find(self, row: int, stratum: str, name: str, category: str) -> Iterator[Finding]:
        """Find the place of a row, or what is wrong with it."""
        question = self.questions.get(name)
        if stratum not in self.strata:
            yield _no_such(row, "stratum", stratum, list(self.strata))
        if question is None:
            yield _no_such(row, "question", name, list(self.questions))
            return
        cases = question.of_kind.cases(question)
        if category and not cases:
            rule = f"category must be empty for a {question.of_kind.title} question"
            yield Finding(row, "category", rule, repr(category))
            return
        case = cases.index(category) if category in cases else None
        if cases and not category:
            case = question.of_kind.told_alone(question)
        if cases and case is None:
            yield _no_such(row, "category", category, list(cases))
        elif stratum in self.strata:
            key = (self.strata[stratum], name, case)
            if key in self.rows:
                rule = "each stratum, question and category must have one row"
                yield Finding(row, "category" if cases else "question", rule, "a second one")
                return
            self.rows[key] = row
            self.of[row] = (self.strata[stratum], question, case)

    def row(self, question: Question, each: Impossible) -> int:
        """Return the row that an impossible value stands in; of several categories the last one."""
        if each.case is not None or not question.of_kind.cases(question):
            return self.rows[each.stratum, question.name, each.case]
        return max(
            row
            for (stratum, name, _), row in self.rows.items()
            if (stratum, name) == (each.stratum, question.name)
        )


def _fill(values: Values, places: _Places, row: int, told: Mapping[str, float]) -> Iterator[Finding]:
    """Put a row into its place; find what is told of another kind of question."""
    stratum, question, case = places.of[row]
    kind = question.of_kind
    for column, number in told.items():
        if column in kind.told_by:
            values[question.name][column][stratum if case is None else (stratum, case)] = number
        elif not np.isnan(number):
            takes = " and ".join(kind.told_by)
            rule = f"{column} must be empty for a {kind.title} question (which takes {takes})"
            yield Finding(row, column, rule, f"{number:g}")


def _no_such(row: int, column: str, got: str, known: list[Any]) -> Finding:
    return Finding(row, column, f"{column} must be one of {_listed(known)}", repr(got) if got else "nothing")


def _listed(names: list[str]) -> str:
    """List the first few names."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"{', '.join(map(repr, names[:_LISTED]))}{more}"
