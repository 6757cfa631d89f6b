"""A questionnaire: questions that are designed together, as records, in a file, or in shorthand."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from dpstrata.errors import DpstrataError, DpstrataWarning, InputError, QuestionnaireError, option
from dpstrata.files.cells import text_of
from dpstrata.files.columns import Finding, KnownColumns, is_missing, require_none
from dpstrata.files.tables import Table
from dpstrata.survey.questionnaires.kinds.base import LONGEST_TITLE, OR_BLANK, is_plain
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR
from dpstrata.survey.questionnaires.question import (
    FIELDS,
    NUMBERS,
    Question,
    Translation,
    find_among,
    read_question,
)
from dpstrata.words.survey import questions_table
from dpstrata.words.tables import as_plain_text, shown_as_html

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

    from dpstrata.files.sent import File
    from dpstrata.files.tables import Table


COLUMNS = (
    *("name", "kind", "lower", "upper", "step", "levels", "categories", "importance"),
    *("target_se", "target_margin", "together", "everyone", "blank", "no_first", "text", "labels"),
)
_WORDING = ("text", "labels")  # what there can be in several languages
_IN_LANGUAGE = re.compile(r"(text|labels)\s*::\s*(.+)", re.IGNORECASE)


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
    >>> questionnaire[1].answer_count, [question.name for question in questionnaire]
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
    def from_file(
        cls, path: str | Path, *, sheet: str | None = None, leave_out: bool = False
    ) -> Questionnaire:
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
        leave_out : bool
            As in :meth:`from_xlsform`; it is refused for a table of questions.

        Raises
        ------
        QuestionnaireError
            With every mistake of the file, each with its row and column.
        """
        return read_questionnaire(Path(path), sheet=sheet, leave_out=leave_out, stacklevel=3)

    @classmethod
    def from_xlsform(cls, path: str | Path, *, leave_out: bool = False) -> Questionnaire:
        """Read a questionnaire from an XLSForm, with the extra ``files``.

        Parameters
        ----------
        path : path
            An Excel file with the sheets ``survey`` and, if there are choices, ``choices``. The columns
            ``dp_importance``, ``dp_target``, ``dp_lower``, ``dp_upper``, ``dp_everyone`` and ``dp_together``
            of ``survey`` say what XLSForms cannot; other unknown columns are ignored. ``form_title`` of the
            sheet ``settings`` is the title. What devices record by themselves, such as ``start`` and
            ``deviceid``, is left out with a :class:`DpstrataWarning`.
        leave_out : bool
            Whether to leave out all rows that cannot be protected, and those that nobody answers; the
            warning names each with its reason. By default they are refused.

        Raises
        ------
        QuestionnaireError
            With every row that cannot be protected and every mistake, each with its sheet, row and column.
        """
        return _from_xlsform(Path(path), leave_out=leave_out, stacklevel=3)

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


def read_questionnaire(
    file: File, *, sheet: str | None = None, leave_out: bool = False, stacklevel: int = 2
) -> Questionnaire:
    """Read a table of questions or an XLSForm, from a path or from the bytes of a file that was sent.

    Rows of an XLSForm that are left out are warned about, at ``stacklevel``.
    """
    from dpstrata.files.tables import read_table

    if sheet is None and is_xlsform(file):
        return _from_xlsform(file, leave_out=leave_out, stacklevel=stacklevel + 1)
    if leave_out:
        raise InputError(f"{option('leave_out')} requires an XLSForm, got {str(file)!r}.")
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


def _from_xlsform(file: File, *, leave_out: bool, stacklevel: int) -> Questionnaire:
    from dpstrata.survey.questionnaires.xlsform.read import Form
    from dpstrata.survey.questionnaires.xlsform.sheets import read_workbook

    form = Form(read_workbook(file), leave_out=leave_out)
    form.require_no_mistake()
    if form.left_out:
        words = f"{form.book.survey.table.source}: {form.left_out_in_words}"
        warnings.warn(DpstrataWarning(words), stacklevel=stacklevel)
    questions = (Question(**fields) for fields in form.questions)
    return Questionnaire(questions, language=form.book.languages[0], title=form.book.title)


# --- from the columns of a table and back ---------------------------------------------------------


def questions_from_table(table: Table) -> tuple[str, list[dict[str, Any]]]:
    """Read the language and the arguments of each ``Question``, or report everything that is wrong."""
    plain, others = _apart(table)
    known = KnownColumns(
        plain, COLUMNS, required=("name", "kind"), numbers=NUMBERS, row="question", error=QuestionnaireError
    )
    known.require_header()
    language = ""
    if others and not set(_WORDING) & set(known.cells):  # the first language is that of the questionnaire
        language = next(iter(others))
        known.cells |= others.pop(language)
    read, found = [], []
    for row, given in enumerate(_cells(known)):
        given["translations"], mistakes = _translations(others, row)
        found += mistakes
        fields, mistakes = read_question(given)
        for mistake in mistakes:
            own = f"::{language}" if language and mistake.column in _WORDING else ""
            found.append(mistake._replace(row=row, column=f"{mistake.column}{own}"))
        read.append(fields)
    require_none(known.all_findings(found + find_among(read)), table, QuestionnaireError)
    return language, read


def question_columns(questions: Sequence[Mapping[str, Any]], language: str) -> dict[str, list[Any]]:
    """Return the columns of a table of questions; some only if there is anything in them."""
    columns = {column: [_written(question[column]) for question in questions] for column in COLUMNS}
    columns["blank"] = [None if each["blank"] or each["kind"] not in OR_BLANK else "no" for each in questions]
    for column in ("levels", "blank", "no_first"):
        if not any(columns[column]):
            del columns[column]
    own = f"::{language}" if language else ""
    wording = {f"{part}{own}": columns.pop(part) for part in _WORDING}
    for row, question in enumerate(questions):
        for each in question["translations"]:
            for part in _WORDING:
                cells = wording.setdefault(f"{part}::{each.language}", [None] * len(questions))
                cells[row] = _written(getattr(each, part))
    unused = {name for name, cells in wording.items() if cells == [None] * len(questions)} - {f"text{own}"}
    return columns | {name: cells for name, cells in wording.items() if name not in unused}


def _apart(table: Table) -> tuple[Table, dict[str, dict[str, list[Any]]]]:
    """Take out texts and labels in named languages, in the order of their columns."""
    plain, others = {}, dict[str, dict[str, list[Any]]]()
    for name, cells in table.columns.items():
        match = _IN_LANGUAGE.fullmatch(name.strip())
        if match is None:
            plain[name] = cells
        else:
            others.setdefault(match[2], {})[match[1].casefold()] = cells
    return replace(table, columns=plain), others


def _translations(
    others: Mapping[str, Mapping[str, Sequence[Any]]], row: int
) -> tuple[list[Translation], list[Finding]]:
    """Read what a row says in other languages."""
    read, found = [], list[Finding]()
    for language, columns in others.items():
        text, labels = (text_of(columns[part][row]) if part in columns else "" for part in _WORDING)
        if text or labels:
            try:
                read.append(Translation(language, text, _listed(labels)))
            except QuestionnaireError as problem:
                column = f"{'labels' if labels else 'text'}::{language}"
                found += [Finding(row, column, mistake.rstrip("."), "") for mistake in problem.mistakes]
    return read, found


def _written(cell: Any) -> Any:
    """Write a field as a cell: lists with separators, switches as words, and whole numbers as such."""
    match cell:
        case tuple():
            return SEPARATOR.join(cell) or None
        case bool():
            return "yes" if cell else None
        case float():
            return int(cell) if cell.is_integer() else cell
    return cell or None


def _cells(known: KnownColumns) -> list[dict[str, Any]]:
    """Read cells as arguments of ``Question``, so far as they can be read."""
    columns: dict[str, list[Any]] = {
        name: [None if math.isnan(number) else number for number in known.optional_numbers(name)]
        for name in NUMBERS
    }
    columns["importance"] = [1.0 if number is None else number for number in columns["importance"]]
    for column in ("name", "kind", "levels", "together", "text"):
        columns[column] = known.optional_texts(column)
    for column in ("categories", "labels"):
        columns[column] = [_listed(text) for text in known.optional_texts(column)]
    for column in ("everyone", "no_first"):
        columns[column] = known.optional_switches(column)
    given = known.cells.get("blank", [None] * known.length)
    columns["blank"] = [  # an empty cell leaves it to the kind
        None if is_missing(cell) else switch
        for cell, switch in zip(given, known.optional_switches("blank"), strict=True)
    ]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _listed(text: str) -> list[str]:
    return text.split(SEPARATOR) if text else []


# --- as people give them --------------------------------------------------------------------------


Questions: TypeAlias = (
    Questionnaire
    | Question
    | Sequence[Question]
    | str
    | Path
    | tuple[float, float]
    | tuple[float, float, float]
    | Sequence[str]
)
"""What can be given for questions."""

NAME = "answer"
"""What the only question of a survey is called if it is given in shorthand."""
YES_NO = "yes_no"
_FORMS = (
    f"{YES_NO!r}, a range (as in 0:8000), a scale (as in 1:5:1), categories (as in rent|own|other), a file "
    "of questions, or questions"
)


def read_questions(given: Any, *, leave_out: bool = False) -> Questionnaire:
    """Take questions as someone gives them.

    Parameters
    ----------
    given : Questionnaire, Question, list of Question, path, or shorthand
        The shorthand of one question: ``"yes_no"``, ``(lower, upper)``, ``(lower, upper, step)``, a list of
        categories, or any of these as text: ``"0:8000"``, ``"1:5:1"``, ``"rent|own|other"``. It must be
        answered, so it cannot be left blank.
    leave_out : bool
        Whether to leave out the rows of an XLSForm that cannot be protected.

    Raises
    ------
    InputError
        If these are no questions; a QuestionnaireError with every mistake of a question.

    Examples
    --------
    >>> read_questions("1:5:1")[0].kind, read_questions(["rent", "own"])[0].answers
    ('scale', 'rent, own')
    """
    if isinstance(given, Questionnaire):
        return given
    if isinstance(given, Question):
        return Questionnaire([given])
    if isinstance(given, Sequence) and given and all(isinstance(each, Question) for each in given):
        return Questionnaire(given)
    named = (
        isinstance(given, str) and not {SEPARATOR, "\0"} & set(given) and _numbers(given.split(":")) is None
    )
    if isinstance(given, Path) or (named and Path(given).suffix):
        return read_questionnaire(Path(given), leave_out=leave_out)
    if leave_out:
        raise InputError(f"{option('leave_out')} requires an XLSForm in {option('questions')}.")
    return read_shorthand(given)


def read_shorthand(given: Any) -> Questionnaire:
    """Take the shorthand of one question, which is never a file.

    Raises
    ------
    InputError
        If it is none.
    """
    listed = given.tolist() if isinstance(given, np.ndarray) else given
    if listed == YES_NO:
        return Questionnaire([Question(NAME, "yes_no", blank=False)])
    if isinstance(listed, str) and SEPARATOR in listed:
        return _alone("category", categories=[part.strip() for part in listed.split(SEPARATOR)], blank=False)
    if isinstance(listed, str):
        listed = listed.split(":")
    elif isinstance(listed, Sequence) and listed and all(isinstance(each, str) for each in listed):
        if questions := [each for each in listed if each == YES_NO or _numbers(each.split(":")[1:])]:
            raise InputError(
                f"a list of texts names the categories of one question, got {questions[0]!r}; give several "
                "questions as Question objects, or a file of them.",
                argument="questions",
            )
        return _alone("category", categories=listed, blank=False)
    numbers = _numbers(listed) if isinstance(listed, Sequence) else None
    if numbers is not None and len(numbers) in (2, 3):
        fields = dict(zip(("lower", "upper", "step"), numbers, strict=False))
        return _alone("number" if len(numbers) == 2 else "scale", **fields)
    raise InputError(f"{option('questions')} must be {_FORMS}, got {given!r}.", argument="questions")


def only_question(given: Questions | None) -> Question | None:
    """Return the only question of a survey; ``None`` where there are several, or none is given."""
    questions = list(() if given is None else read_questions(given))
    return questions[0] if len(questions) == 1 else None


def _numbers(listed: Sequence[Any]) -> list[float] | None:
    """Read all as numbers; ``None`` if one is not."""
    try:
        return [float(each) for each in listed]
    except (TypeError, ValueError, OverflowError):
        return None


def _alone(kind: Any, **fields: Any) -> Questionnaire:
    """Make the only question, or say what is wrong with it without naming it: nobody has named it."""
    try:
        return Questionnaire([Question(NAME, kind, **fields)])
    except QuestionnaireError as problem:
        raise InputError(f"{option('questions')}: {problem.mistakes[0]}", argument="questions") from None


def shorthand_of(questions: Questionnaire) -> str | None:
    """Write the shorthand of the only question; ``None`` where there is more to say."""
    text = questions[0].of_kind.shorthand(questions[0])
    try:
        return text if read_questions(text) == questions else None
    except InputError:
        return None
