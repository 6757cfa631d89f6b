"""The sheets of an XLSForm: known columns under any of their names, labels by language, lists of choices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dpstrata.errors import QuestionnaireError
from dpstrata.files.cells import text_of
from dpstrata.files.columns import Finding, KnownColumns
from dpstrata.files.sent import File
from dpstrata.files.tables import Table, read_sheets
from dpstrata.survey.questionnaires.kinds.base import LONGEST_TITLE, is_plain
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR
from dpstrata.survey.questionnaires.question import is_label

OWN_NUMBERS = ("dp_lower", "dp_upper", "dp_importance", "dp_target")
OWN = (*OWN_NUMBERS, "dp_everyone", "dp_together", "dp_levels")
"""Columns that other tools do not know, and ignore."""
_SURVEY = (
    *("type", "name", "relevant", "required", "constraint", "calculation", "choice_filter", "parameters"),
    "disabled",
)
_ALIASES = {
    "command": "type",
    "tag": "name",
    "value": "name",
    "relevance": "relevant",
    "calculate": "calculation",
    "caption": "label",
}
_LABEL = re.compile(r"(?:label|caption)(?:\s*::?\s*(.*\S))?", re.IGNORECASE)
_CODE = re.compile(r".*\(\s*([\w-]+)\s*\)")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet with the columns that matter.

    Attributes
    ----------
    known : KnownColumns
        Columns by the name that XLSForms give them today.
    labels : mapping of str to list of str
        Labels by language; those of no named language under an empty one.
    """

    known: KnownColumns
    labels: Mapping[str, list[str]]

    @property
    def table(self) -> Table:
        """The sheet as it was read, for messages."""
        return self.known.table

    def label(self, row: int, language: str) -> str:
        """Return a label; empty if there is none."""
        return self.labels[language][row] if language in self.labels else ""


@dataclass(frozen=True, slots=True)
class Workbook:
    """What an XLSForm consists of.

    Attributes
    ----------
    survey, choices : Sheet
        Rows of the form, and of its lists of choices; ``None`` if there is no sheet of choices.
    languages : tuple of str
        The default language first; an empty name if it is not known.
    title : str
        What the settings call the form; empty if they do not.
    """

    survey: Sheet
    choices: Sheet | None
    languages: tuple[str, ...]
    title: str

    def labels(self, sheet: Sheet, row: int) -> dict[str, str]:
        """Return the labels of a row that are not empty, by language; no language means the default one."""
        default = self.languages[0]
        found = {language: sheet.label(row, language) for language in self.languages}
        found[default] = found[default] or sheet.label(row, "")
        return {language: label for language, label in found.items() if label}


def read_workbook(path: File) -> Workbook:
    """Read the sheets of an XLSForm, or say what is wrong with their headers."""
    tables = read_sheets(path, ("survey", "choices", "settings"), error=QuestionnaireError)
    if "survey" not in tables:
        raise QuestionnaireError(["an XLSForm must have a sheet 'survey', got none."], source=str(path))
    survey = _sheet(tables["survey"], (*_SURVEY, *OWN), required=("type", "name"), row="question")
    choices = None
    if "choices" in tables and any(tables["choices"].columns.values()):
        choices = _sheet(
            tables["choices"], ("list_name", "name"), required=("list_name", "name"), row="choice"
        )
    settings = tables.get("settings")
    title = "" if settings is None else _title(settings)
    return Workbook(survey, choices, _languages(survey, choices, settings), title)


def language_of(name: str) -> str:
    """Return the code in a language's name if there is one, or the name.

    Examples
    --------
    >>> language_of("Français (fr)"), language_of("english")
    ('fr', 'english')
    """
    words = " ".join(name.split())
    match = _CODE.fullmatch(words)
    return match[1] if match else words


def _sheet(table: Table, columns: Sequence[str], *, required: Sequence[str], row: str) -> Sheet:
    known, labels, mistakes = dict[str, list[Any]](), dict[str, list[str]](), []
    for header, cells in table.columns.items():
        plain = _plain(header)
        if match := _LABEL.fullmatch(header.strip()):
            language = language_of(match[1] or "")
            if language in labels:
                mistakes.append(f"column {header!r} appears twice in the header.")
            labels[language] = [text_of(cell) for cell in cells]
        elif plain in known:
            mistakes.append(f"column {plain!r} appears twice in the header.")
        elif plain in columns:
            known[plain] = cells
        elif plain.startswith("dp_") and columns[-1] in OWN:
            mistakes.append(f"column {header!r} is unknown; known are {', '.join(OWN)}.")
    numbers = [name for name in columns if name in OWN_NUMBERS]
    found = KnownColumns(
        replace(table, columns=known),
        columns,
        required=required,
        numbers=numbers,
        row=row,
        error=QuestionnaireError,
        header=list(table.columns),
    )
    mistakes += found.mistakes
    if mistakes:
        raise QuestionnaireError([f"sheet {table.sheet!r}: {each}" for each in mistakes], source=table.source)
    return Sheet(found, labels)


def _plain(header: str) -> str:
    """Write the name of a column as XLSForms do today."""
    name = re.sub(r"^bind::?", "", "_".join(header.split()).casefold())
    return _ALIASES.get(name, name)


def _languages(survey: Sheet, choices: Sheet | None, settings: Table | None) -> tuple[str, ...]:
    """Find the languages of a form: the default one that its settings name, or the first."""
    named = [name for sheet in (survey, choices) if sheet is not None for name in sheet.labels if name]
    stated = "" if settings is None else _setting(settings, "default_language")
    default = language_of(stated)
    if not default and "" not in survey.labels:
        default = next(iter(named), "")
    if default and default not in named and named and "" not in survey.labels:
        assert settings is not None
        rule = f"default_language must be a language of the labels ({', '.join(dict.fromkeys(named))})"
        raise _refused(settings, "default_language", f"{rule}, got {stated!r}.")
    return tuple(dict.fromkeys((default, *named)))


def _title(settings: Table) -> str:
    """Return the title of a form on one line."""
    title = " ".join(_setting(settings, "form_title").split())
    if not is_plain(title):
        raise _refused(settings, "form_title", "form_title must be text without control characters.")
    if len(title) > LONGEST_TITLE:
        rule = f"form_title must have at most {LONGEST_TITLE} characters, got {len(title):,}."
        raise _refused(settings, "form_title", rule)
    return title


def _refused(settings: Table, column: str, words: str) -> QuestionnaireError:
    where = f"sheet {settings.sheet!r}, {settings.place(0)}, column {column!r}"
    return QuestionnaireError([f"{where}: {words}"], source=settings.source)


def _setting(settings: Table, name: str) -> str:
    """Return a setting, which is in the first row under its name."""
    for header, cells in settings.columns.items():
        if _plain(header) == name and cells:
            return text_of(cells[0])
    return ""


_YES = {"yes", "oui", "ja", "sí", "si", "sì", "sim", "да", "نعم", "ndiyo", "haan", "是", "true"}
_NO = {"no", "non", "nein", "nee", "nej", "nei", "não", "nao", "нет", "لا", "hapana", "nahin", "否", "false"}


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice: its name, and its labels by language."""

    name: str
    labels: dict[str, str]

    def label(self, language: str, default: str) -> str:
        """Return what respondents read, in the default language where it is not translated."""
        return self.labels.get(language) or self.labels.get(default) or self.name


@dataclass(slots=True)
class Lists:
    """The lists of choices that questions use, and what is wrong with them.

    Parameters
    ----------
    book : Workbook
        The form.

    Attributes
    ----------
    findings : list of Finding
        Mistakes in the sheet of choices, found when a list is first used.
    """

    book: Workbook
    findings: list[Finding] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _rows: dict[str, list[int]] = field(default_factory=dict)
    _read: dict[str, list[Choice]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.book.choices is not None:
            self._names = self.book.choices.known.optional_texts("name")
            for row, name in enumerate(self.book.choices.known.optional_texts("list_name")):
                if name:
                    self._rows.setdefault(name, []).append(row)

    @property
    def names(self) -> list[str]:
        """Names of all lists."""
        return list(self._rows)

    def choices(self, name: str) -> list[Choice] | None:
        """Return the choices of a list; ``None`` if something is wrong with them."""
        if name not in self._read:
            found = list(self._find(name))
            self.findings += found
            self._read[name] = [] if found else list(self._choices(name))
        return self._read[name] or None

    def _choices(self, name: str) -> Iterator[Choice]:
        sheet = self.book.choices
        assert sheet is not None
        for row in self._rows[name]:
            labels = self.book.labels(sheet, row)
            yield Choice(
                self._names[row], {language: " ".join(each.split()) for language, each in labels.items()}
            )

    def _find(self, name: str) -> Iterator[Finding]:
        """Require different names, and lines of text as names and labels."""
        seen = set()
        for row, choice in zip(self._rows[name], self._choices(name), strict=True):
            if not choice.name:
                yield Finding(row, "name", "the name of a choice must not be empty", "")
            elif SEPARATOR in choice.name or not is_plain(choice.name):
                rule = f"the name of a choice must be a line of text without {SEPARATOR!r}"
                yield Finding(row, "name", rule, repr(choice.name))
            elif choice.name in seen:
                rule = f"names of choices in list {name!r} must differ"
                yield Finding(row, "name", rule, f"{choice.name!r} again")
            seen.add(choice.name)
            for label in choice.labels.values():
                if not is_label(label):
                    rule = f"the label of a choice must be a line of text without {SEPARATOR!r}"
                    yield Finding(row, "label", rule, repr(label))


def no_and_yes(choices: list[Choice]) -> list[Choice] | None:
    """Return two choices that mean no and yes, in this order; ``None`` for others.

    They are named so, or 0 and 1 with labels that say so.

    Examples
    --------
    >>> [choice.name for choice in no_and_yes([Choice("yes", {}), Choice("no", {})])]
    ['no', 'yes']
    >>> no_and_yes([Choice("1", {"en": "Man"}), Choice("0", {"en": "Woman"})])
    """
    meant = {_meaning(choice): choice for choice in choices}
    return [meant[False], meant[True]] if len(choices) == 2 and set(meant) == {False, True} else None


def _meaning(choice: Choice) -> bool | None:
    """Whether a choice means yes or no, where answers under its name are understood."""
    name = choice.name.casefold()
    if name in ("yes", "true", "no", "false"):
        return name in ("yes", "true")
    labels = {label.casefold() for label in choice.labels.values()}
    if name == "1" and labels & _YES:
        return True
    return False if name == "0" and labels & _NO else None
