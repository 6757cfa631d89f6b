"""A questionnaire: questions that are designed together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dpstrata.errors import DpstrataError, QuestionnaireError
from dpstrata.survey.questionnaires.kinds.base import LONGEST_TITLE, is_plain
from dpstrata.survey.questionnaires.question import FIELDS, Question
from dpstrata.survey.questionnaires.question_checks import find_among
from dpstrata.survey.questionnaires.question_columns import question_columns, questions_from_table
from dpstrata.words.questionnaires import questions_table
from dpstrata.words.tables import as_plain_text, shown_as_html

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

    from dpstrata.files.sent import File
    from dpstrata.files.tables import Table


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Questionnaire(Sequence[Question]):
    """The questions of a survey, in the order in which they are asked.

    Parameters
    ----------
    questions : iterable of Question
        At least one, with different names; questions that are kept together come in groups of two or more.
    language : str
        The language of their texts and labels, a code such as ``en`` or a name; empty if it does not matter.
    title : str
        What the survey is called, which respondents and reports are shown, a line of at most 200 characters;
        empty if it has no title.

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
      question    kind              answers  importance
      smokes    yes/no  yes or no, or blank           1
      trust      scale               1 to 5           2
      income    number          0 to 10,000           1
    >>> questionnaire[1].levels, [question.name for question in questionnaire]
    (5, ['smokes', 'trust', 'income'])
    """

    questions: tuple[Question, ...]
    language: str
    title: str

    def __init__(self, questions: Iterable[Question], *, language: str = "", title: str = "") -> None:
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
        object.__setattr__(self, "language", self._read_language(language))
        object.__setattr__(self, "title", _line("title", title, LONGEST_TITLE))

    def _read_language(self, language: object) -> str:
        """Require a line of text, and translations in other languages."""
        language = _line("language", language)
        if any(each.language == language for question in self.questions for each in question.translations):
            rule = "translations must be in other languages than the questionnaire"
            raise QuestionnaireError([f"{rule}, got {language!r}."])
        return language

    @classmethod
    def from_file(cls, path: str | Path, *, sheet: str | None = None) -> Questionnaire:
        """Read a questionnaire from CSV, or with the extra ``files`` from Parquet or Excel.

        Parameters
        ----------
        path : path
            The ending says the kind: ``.csv``, ``.tsv``, ``.txt``, ``.parquet``, ``.xlsx``, ``.ods``. An
            Excel file with the sheets ``survey`` and ``choices``, or with a sheet ``survey`` that has the
            columns ``type`` and ``name``, is an XLSForm.
        sheet : str, optional
            Sheet of an Excel file that is a table of questions; by default the first. Title rows above its
            header are left out.

        Raises
        ------
        QuestionnaireError
            With every mistake of the file, each with its row and column.
        """
        return read_questionnaire(Path(path), sheet=sheet)

    @classmethod
    def from_xlsform(cls, path: str | Path) -> Questionnaire:
        """Read a questionnaire from an XLSForm, with the extra ``files``.

        Parameters
        ----------
        path : path
            An Excel file with the sheets ``survey`` and, if there are choices, ``choices``. The columns
            ``dp_importance``, ``dp_target``, ``dp_lower``, ``dp_upper``, ``dp_everyone`` and ``dp_together``
            of ``survey`` say what XLSForms cannot; other unknown columns are ignored. ``form_title`` of the
            sheet ``settings`` is the title.

        Raises
        ------
        QuestionnaireError
            With every row that cannot be protected and every mistake, each with its sheet, row and column.
        """
        return _from_xlsform(Path(path))

    @classmethod
    def from_frame(cls, frame: IntoFrame) -> Questionnaire:
        """Take a questionnaire from a data frame (pandas, Polars, Arrow or anything narwhals knows).

        The columns are those of a file.
        """
        from dpstrata.files.tables import table_from_frame

        return questionnaire_from_table(table_from_frame(frame))

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

    def table(self) -> dict[str, list[Any]]:
        """Return the columns of a file of it."""
        questions = [{name: getattr(each, name) for name in FIELDS} for each in self.questions]
        return question_columns(questions, self.language)

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
    def languages(self) -> tuple[str, ...]:
        """Languages that respondents can choose from, that of the questionnaire first."""
        others = (each.language for question in self.questions for each in question.translations)
        return tuple(dict.fromkeys((self.language, *others)))

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

    def without_targets(self) -> Questionnaire:
        """Return the same questions, with no precision to reach."""
        questions = (replace(each, target_se=None, target_margin=None) for each in self.questions)
        return Questionnaire(questions, language=self.language, title=self.title)

    @property
    def everyone(self) -> tuple[int, ...]:
        """Positions of the questions that are on every form."""
        return tuple(place for place, question in enumerate(self.questions) if question.everyone)


def _line(name: str, value: object, most: int | None = None) -> str:
    """Require a line of text, of at most so many characters."""
    if not isinstance(value, str) or not is_plain(value):
        raise QuestionnaireError([f"{name} must be a line of text, got {value!r}."])
    if most is not None and len(value) > most:
        raise QuestionnaireError([f"{name} must have at most {most} characters, got {len(value):,}."])
    return value.strip()


def read_questionnaire(file: File, *, sheet: str | None = None) -> Questionnaire:
    """Read a table of questions or an XLSForm, from a path or from the bytes of a file that was sent."""
    from dpstrata.files.tables import read_table

    if sheet is None and is_xlsform(file):
        return _from_xlsform(file)
    return questionnaire_from_table(read_table(file, sheet=sheet, error=QuestionnaireError))


def is_xlsform(file: File) -> bool:
    """Whether the sheets of a file are those of an XLSForm."""
    from dpstrata.files.tables import read_table, sheet_names

    sheets = set(sheet_names(file))
    if "survey" not in sheets or "choices" in sheets:
        return "survey" in sheets
    try:  # one without choices has columns of its own
        header = read_table(file, sheet="survey", error=QuestionnaireError).columns
    except DpstrataError:
        return False  # another table, beside the one that is meant
    return {"type", "name"} <= {name.strip().casefold() for name in header}


def questionnaire_from_table(table: Table) -> Questionnaire:
    """Take a questionnaire from a table; its columns are those of a file."""
    language, questions = questions_from_table(table)
    return Questionnaire((Question(**fields) for fields in questions), language=language)


def _from_xlsform(file: File) -> Questionnaire:
    from dpstrata.survey.questionnaires.xlsform.read import questions_from_xlsform

    heading, questions = questions_from_xlsform(file)
    return Questionnaire((Question(**fields) for fields in questions), **heading)
