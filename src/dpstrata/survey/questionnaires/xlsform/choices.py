"""Lists of choices of an XLSForm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dpstrata.files.columns import Finding
from dpstrata.survey.questionnaires.kinds.base import is_plain
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR
from dpstrata.survey.questionnaires.translation import is_label
from dpstrata.survey.questionnaires.xlsform.sheets import Workbook

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
