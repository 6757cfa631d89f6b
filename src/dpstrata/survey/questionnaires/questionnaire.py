"""A questionnaire: questions that are designed together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dpstrata.errors import QuestionnaireError
from dpstrata.survey.questionnaires.question import FIELDS, Question
from dpstrata.survey.questionnaires.question_checks import find_among
from dpstrata.survey.questionnaires.question_columns import question_columns, questions_from_table
from dpstrata.words.questionnaires import questions_table
from dpstrata.words.tables import as_plain_text, shown_as_html

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

    from dpstrata.files.tables import Table


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Questionnaire(Sequence[Question]):
    """The questions of a survey, in the order in which they are asked.

    Parameters
    ----------
    questions : iterable of Question
        At least one, with different names; questions that are kept together come in groups of two or more.

    Raises
    ------
    QuestionnaireError
        With every mistake found.

    Examples
    --------
    >>> import dpstrata as dps
    >>> questionnaire = dps.Questionnaire(
    ...     [
    ...         dps.Question("smokes", "yes_no"),
    ...         dps.Question("trust", "scale", lower=1, upper=5, importance=2),
    ...         dps.Question("income", "number", lower=0, upper=10_000),
    ...     ]
    ... )
    >>> questionnaire
    3 questions
      question    kind      answers  importance
      smokes    yes/no    yes or no           1
      trust      scale       1 to 5           2
      income    number  0 to 10,000           1
    >>> questionnaire[1].levels, [question.name for question in questionnaire]
    (5, ['smokes', 'trust', 'income'])
    """

    questions: tuple[Question, ...]

    def __init__(self, questions: Iterable[Question]) -> None:
        listed: tuple[object, ...] = tuple(questions)
        for place, question in enumerate(listed, start=1):
            if not isinstance(question, Question):
                got = type(question).__name__
                raise QuestionnaireError([f"entry {place} must be a Question, got {got}."])
        if not listed:
            raise QuestionnaireError(["there must be at least one question, got none."])
        found = find_among([{name: getattr(each, name) for name in FIELDS} for each in listed])
        if found:
            raise QuestionnaireError([f"{finding.words}." for finding in found])
        object.__setattr__(self, "questions", listed)

    @classmethod
    def from_file(cls, path: str | Path, *, sheet: str | None = None) -> Questionnaire:
        """Read a questionnaire from CSV, or with the extra ``files`` from Parquet or Excel.

        Parameters
        ----------
        path : path
            The ending says the kind: ``.csv``, ``.tsv``, ``.txt``, ``.parquet``, ``.xlsx``, ``.ods``.
        sheet : str, optional
            Sheet of an Excel file; by default the first. Title rows above its header are left out.

        Raises
        ------
        QuestionnaireError
            With every mistake of the file, each with its row and column.
        """
        from dpstrata.files.tables import read_table

        return cls._from_table(read_table(Path(path), sheet=sheet, error=QuestionnaireError))

    @classmethod
    def from_frame(cls, frame: IntoFrame) -> Questionnaire:
        """Take a questionnaire from a data frame (pandas, Polars, Arrow or anything narwhals knows).

        The columns are those of a file.
        """
        from dpstrata.files.tables import table_from_frame

        return cls._from_table(table_from_frame(frame))

    @classmethod
    def _from_table(cls, table: Table) -> Questionnaire:
        return cls(Question(**fields) for fields in questions_from_table(table))

    def to_file(self, path: str | Path) -> None:
        """Write a file that :meth:`from_file` reads: ``.csv``, ``.parquet`` or ``.xlsx``.

        Raises
        ------
        InputError
            If there is a file of another kind.
        """
        from dpstrata.files.overwriting import write_result
        from dpstrata.files.writing import require_table_path

        require_table_path(Path(path))
        write_result(self.table(), Path(path))

    def table(self) -> dict[str, list[Any]]:
        """Return the columns of a file of it."""
        return question_columns([{name: getattr(each, name) for name in FIELDS} for each in self.questions])

    def __len__(self) -> int:
        return len(self.questions)

    @overload
    def __getitem__(self, place: int) -> Question: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Question, ...]: ...
    def __getitem__(self, place: int | slice) -> Question | tuple[Question, ...]:
        return self.questions[place]

    def __repr__(self) -> str:
        return as_plain_text(questions_table(self))

    def _repr_html_(self) -> str:
        return shown_as_html([questions_table(self)])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the questions."""
        return tuple(question.name for question in self.questions)

    @property
    def has_targets(self) -> bool:
        """Whether some question has a precision to reach."""
        return any(each.target_se is not None or each.target_margin is not None for each in self.questions)

    @property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """Positions of the questions that are kept together, by the name of their group."""
        groups: dict[str, tuple[int, ...]] = {}
        for place, question in enumerate(self.questions):
            if question.together is not None:
                groups[question.together] = (*groups.get(question.together, ()), place)
        return groups

    @property
    def everyone(self) -> tuple[int, ...]:
        """Positions of the questions that are on every form."""
        return tuple(place for place, question in enumerate(self.questions) if question.everyone)
