"""From an XLSForm to questions, with every mistake at its sheet, row and column."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from dpstrata.errors import QuestionnaireError, option
from dpstrata.files.columns import Finding, require_none_in
from dpstrata.survey.questionnaires.kinds.base import is_plain
from dpstrata.survey.questionnaires.question import Translation, find_among, read_question
from dpstrata.survey.questionnaires.xlsform.sheets import (
    OWN,
    OWN_NUMBERS,
    Choice,
    Lists,
    Workbook,
    no_and_yes,
)
from dpstrata.survey.questionnaires.xlsform.types import Bounds, RowType, bounds_of, read_type
from dpstrata.words.numbers import read_number

Fields = dict[str, Any]
"""Arguments of ``Question``."""
_DEFAULTS: Fields = {
    **dict.fromkeys(("lower", "upper", "step", "levels", "target_se", "target_margin", "together")),
    **dict.fromkeys(("categories", "labels", "translations"), ()),
    "importance": 1.0,
    "everyone": False,
    "blank": False,
    "no_first": False,
    "text": "",
}
# where a field comes from, if it is wrong
_COLUMNS = {
    "categories": "type",
    "step": "parameters",
    "text": "label",
    "labels": "label",
    "importance": "dp_importance",
    "target_se": "dp_target",
    "together": "dp_together",
    "levels": "dp_levels",
    "everyone": "dp_everyone",
    "blank": "required",
}
_RANGE = {"start": 1.0, "end": 10.0, "step": 1.0}  # what XLSForms take where nothing is said
_PARAMETER = re.compile(r"([^\s=,;]+)\s*=\s*([^\s=,;]+)[\s,;]*")
_ANSWERED = "select_one, select_multiple, range, integer or decimal"
_REFERENCE = re.compile(r"\$\{\s*([^}]*?)\s*\}")
_REQUIRED = ("yes", "true", "true()", "1")
_LISTED = 5


class LeftOut(NamedTuple):
    """A row that is left out: its name, or its type where it has none, and the reason."""

    name: str
    reason: str


class Form:
    """The questions of an XLSForm, and what is wrong with it.

    Parameters
    ----------
    book : Workbook
        Its sheets.
    leave_out : bool
        Whether rows that cannot be protected are left out, rather than refused.

    Attributes
    ----------
    questions : list of dict
        Arguments of each ``Question`` that could be read.
    rows : list of int
        The row of each.
    left_out : dict of int to LeftOut
        Rows that are left out: what devices record by themselves, and with ``leave_out`` everything that
        becomes no question.
    findings : list of Finding
        Mistakes in the sheet of questions.
    """

    def __init__(self, book: Workbook, *, leave_out: bool = False) -> None:
        self.book = book
        self.lists = Lists(book)
        self.questions: list[Fields] = []
        self.rows: list[int] = []
        self.findings: list[Finding] = []
        self._own_groups: set[str] = set()  # of rows with several choices, under their names
        self._open: list[tuple[str, int]] = []  # groups and repetitions that have not ended
        known = book.survey.known
        self._texts = {name: known.optional_texts(name) for name in known.cells}
        self._numbers = {name: known.optional_numbers(name) for name in OWN_NUMBERS}
        self._everyone = known.optional_switches("dp_everyone")
        disabled = known.optional_switches("disabled")
        kinds = {row: read_type(self._text(row, "type")) for row in range(known.length) if not disabled[row]}
        self.left_out = self._find_left_out(kinds, leave_out)
        self._reasons = {each.name: each.reason for each in self.left_out.values()}
        self._can_leave_out = False
        for row, kind in kinds.items():
            self._read(row, kind)
        for what, row in self._open:
            self._report(row, "type", f"begin {what} must be closed by end {what}")
        self._refuse_shared_groups()
        for finding in find_among(self.questions):
            assert finding.row is not None
            self._take(self.rows[finding.row], finding)

    def require_no_mistake(self) -> None:
        """Report everything that is wrong, if anything is."""
        survey = self.book.survey
        tables = [(survey.known.all_findings(self.findings), survey.table)]
        if self.book.choices is not None:
            tables.append((sorted(self.lists.findings), self.book.choices.table))
        advice = ""
        if self._can_leave_out:
            go_on = f"read the form with {option('leave_out', True)}"
            advice = f"To go on without the rows that cannot be protected, {go_on}."
        require_none_in(tables, QuestionnaireError, advice=advice)
        if not self.questions:
            mistake = "sheet 'survey': there must be at least one question, got none."
            if self.left_out:
                mistake = f"sheet 'survey': no question is left.\n{self.left_out_in_words}"
            raise QuestionnaireError([mistake], source=survey.table.source)

    @property
    def left_out_in_words(self) -> str:
        """Say on a line each which rows are left out, and why."""
        place = self.book.survey.table.place
        number = "1 row is" if len(self.left_out) == 1 else f"{len(self.left_out):,} rows are"
        lines = [f"  - {place(row)}, {name!r}: {reason}" for row, (name, reason) in self.left_out.items()]
        return "\n".join([f"{number} left out:", *lines])

    # --- rows ---------------------------------------------------------------------------------------

    def _find_left_out(self, kinds: dict[int, RowType], leave_out: bool) -> dict[int, LeftOut]:
        """Find the rows that are left out; with a repetition everything in it is."""
        found: dict[int, LeftOut] = {}
        open_repeats: list[str] = []
        for row, kind in kinds.items():
            text = self._text(row, "type")
            name = self._text(row, "name") or text
            reason = kind.reason if leave_out or kind.role == "metadata" else ""
            if leave_out and kind.role == "begin repeat":
                open_repeats.append(name)
            elif leave_out and kind.role == "end repeat" and open_repeats:
                open_repeats.pop()
            elif open_repeats and text and kind.role not in ("begin group", "end group", "end repeat"):
                reason = reason or f"it is repeated in {open_repeats[-1]!r}"
            if reason:
                found[row] = LeftOut(name, reason)
        return found

    def _read(self, row: int, kind: RowType) -> None:
        """Read a row: a question, the beginning or end of a group, or nothing that is answered."""
        text = self._text(row, "type")
        if not text:
            if self._text(row, "name") or self.book.labels(self.book.survey, row):
                self._report(row, "type", "type must not be empty")
            return
        if kind.role.startswith("begin"):
            self._open.append((kind.role.removeprefix("begin "), row))
        if kind.role.startswith("end"):
            self._close(row, kind.role.removeprefix("end "))
        if row in self.left_out:
            return
        made = _MADE.get(kind.role)
        if made is not None:
            for what, opened in self._open:
                if what == "group":  # whose questions are skipped together
                    self._refuse_logic(opened)
            self._refuse_logic(row)
            self._add(row, made(self, row, kind))
            return
        for name in OWN:
            if self._text(row, name):
                self._report(
                    row, name, f"{name} must be empty in a row without a question", self._text(row, name)
                )
        if kind.advice:
            self._can_leave_out = True
            self._report(row, "type", f"{text!r} cannot be protected: {kind.reason}; {kind.advice}")
        if kind.role == "unknown":
            self._report(row, "type", f"type must be {_ANSWERED}, or one without an answer", repr(text))

    def _close(self, row: int, what: str) -> None:
        if self._open and self._open[-1][0] == what:
            self._open.pop()
        else:
            self._report(row, "type", f"end {what} must follow begin {what}")

    def _refuse_logic(self, row: int) -> None:
        """Refuse what makes a question depend on the answer to another."""
        elsewhere = "the other question may be on another form"
        skipped = (
            "a skipped question reveals the answer that it depends on; ask everyone and add a choice such as "
            "'does not apply'"
        )
        for column, reason in (("relevant", skipped), ("choice_filter", elsewhere)):
            text = self._text(row, column)
            if text not in ("", "true()"):
                missing = self._left_out_in(text)
                why = f"it refers to {missing}" if missing else reason
                self._report(row, column, f"{column} must be empty, because {why}")
        if self._text(row, "calculation"):
            self._report(row, "calculation", "calculation must be empty in a row that is answered")
        for column, text in (
            ("constraint", self._text(row, "constraint")),
            ("label", " ".join(self.book.labels(self.book.survey, row).values())),
        ):
            if "${" in text:
                other = self._left_out_in(text) or f"another question, because {elsewhere}"
                self._report(row, column, f"{column} must not refer to {other}")

    def _left_out_in(self, text: str) -> str:
        """Name the first left-out row that a cell refers to, with its reason; empty if there is none."""
        for name in _REFERENCE.findall(text):
            if name in self._reasons:
                return f"{name!r}, which is left out: {self._reasons[name]}"
        return ""

    def _add(self, row: int, made: list[Fields]) -> None:
        """Keep the questions that a row makes, or what is wrong with them."""
        for given in made:
            importance = self._numbers["dp_importance"][row]
            own: Fields = {
                "importance": 1.0 if math.isnan(importance) else importance,
                "target_se": _none_if_nan(self._numbers["dp_target"][row]),
                "everyone": self._everyone[row],
                "together": self._text(row, "dp_together") or None,
                "levels": self._text(row, "dp_levels").casefold() or None,
            }
            fields, found = read_question({**_DEFAULTS, **own, **given})
            for finding in found:
                self._take(row, finding)
            self.questions.append(fields)
            self.rows.append(row)

    def _refuse_bounds(self, row: int, kind: RowType, instead: str) -> None:
        """Refuse bounds where they would not be applied."""
        for column in ("dp_lower", "dp_upper"):
            if self._text(row, column):
                rule = f"{column} must be empty for {kind.role}; {instead}"
                self._report(row, column, rule, self._text(row, column))

    def _refuse_constraint(self, row: int, kind: RowType, instead: str) -> None:
        """Refuse a constraint that would not be applied; references to other questions are refused anyway."""
        constraint = self._text(row, "constraint")
        if constraint not in ("", "true()") and "${" not in constraint:
            rule = f"constraint must be empty for {kind.role}; {instead}"
            self._report(row, "constraint", rule, repr(constraint))

    def _refuse_shared_groups(self) -> None:
        """Refuse names of groups that would silently join the choices of another row."""
        for row in dict.fromkeys(self.rows):
            group = self._text(row, "dp_together")
            if group in self._own_groups:
                rule = (
                    "dp_together must not be the name of a select_multiple row; to keep both together, put "
                    "another name in dp_together of both rows"
                )
                self._report(row, "dp_together", rule, repr(group))

    # --- kinds of questions -------------------------------------------------------------------------

    def _select_one(self, row: int, kind: RowType) -> list[Fields]:
        """Make a category question, or yes/no if the choices mean that; it may be blank unless required."""
        self._refuse_bounds(row, kind, "its answers are choices")
        self._refuse_constraint(row, kind, "remove the choices that are not allowed")
        choices = self._choices(row, kind)
        if choices is None:
            return []
        named = no_and_yes(choices)
        fields: Fields = {"kind": "category"}
        if named:
            fields = {"kind": "yes_no", "no_first": choices == named}
        if not named:
            fields["categories"] = [choice.name for choice in choices]
        fields["blank"] = self._text(row, "required").casefold() not in _REQUIRED
        name = self._text(row, "name")
        return [{"name": name, **fields, **self._wording(row, named or choices)}]

    def _select_multiple(self, row: int, kind: RowType) -> list[Fields]:
        """Make a yes/no question of each choice, kept together; what is not ticked is no."""
        self._refuse_bounds(row, kind, "its answers are choices")
        self._refuse_constraint(row, kind, "every combination of choices can be reported")
        choices = self._choices(row, kind)
        name = self._text(row, "name")
        if choices is None or not name:
            if not name:
                self._report(row, "name", "the name of a question must not be empty")
            return []
        fields: Fields = {"kind": "yes_no"}
        if len(choices) > 1 and not self._everyone[row] and not self._text(row, "dp_together"):
            fields["together"] = name
            self._own_groups.add(name)
        return [
            {"name": f"{name}/{choice.name}", **fields, **self._option_wording(row, choice)}
            for choice in choices
        ]

    def _range(self, row: int, kind: RowType) -> list[Fields]:
        """Make a scale."""
        self._refuse_bounds(row, kind, "use start and end in parameters")
        self._refuse_constraint(row, kind, "use start and end in parameters")
        text = self._text(row, "parameters")
        given = {key.casefold(): read_number(value) for key, value in _PARAMETER.findall(text)}
        values = {name: given.get(name, default) for name, default in _RANGE.items()}
        start, end, step = values.values()
        unknown = set(given) - set(_RANGE)
        if unknown or _PARAMETER.sub("", text).strip() or start is None or end is None or step is None:
            rule = "parameters must be written as in 'start=1 end=5 step=1'"
            self._report(row, "parameters", rule, repr(text))
            return []
        fields: Fields = {"kind": "scale", "lower": start, "upper": end, "step": step}
        return [{"name": self._text(row, "name"), **fields, **self._wording(row)}]

    def _number(self, row: int, kind: RowType) -> list[Fields]:
        """Make a number, with bounds of its own or from a simple constraint."""
        constraint = self._text(row, "constraint")
        bounds = (bounds_of(constraint, whole=kind.role == "integer") if constraint else None) or Bounds()
        own = [_none_if_nan(self._numbers[name][row]) for name in ("dp_lower", "dp_upper")]
        lower, upper = (stated if mine is None else mine for mine, stated in zip(own, bounds, strict=True))
        if lower is None or upper is None:
            rule = (
                "a number must have a smallest and a largest answer; use a constraint such as "
                "'. >= 0 and . <= 120', or dp_lower and dp_upper"
            )
            if "${" not in constraint:  # which is refused by itself
                self._report(row, "constraint", rule, repr(constraint) if constraint else "nothing")
            return []
        fields: Fields = {"kind": "number", "lower": lower, "upper": upper}
        return [{"name": self._text(row, "name"), **fields, **self._wording(row)}]

    # --- parts of rows ------------------------------------------------------------------------------

    def _choices(self, row: int, kind: RowType) -> list[Choice] | None:
        """Find the choices of a question, or report that there are none."""
        if kind.choices in self.lists.names:
            return self.lists.choices(kind.choices)
        names = self.lists.names
        if not kind.choices:
            rule, got = f"{kind.role} must name a list, as in '{kind.role} colours'", "none"
        elif not names:
            rule, got = "choices must be in a sheet 'choices'", "no such sheet, or an empty one"
        else:
            more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
            listed = f"{', '.join(map(repr, names[:_LISTED]))}{more}"
            rule, got = f"{kind.role} must name a list of sheet 'choices' ({listed})", repr(kind.choices)
        self._report(row, "type", rule, got)
        return None

    def _wording(self, row: int, choices: list[Choice] | None = None) -> Fields:
        """Return what respondents read of a question and its answers."""
        default, *others = self.book.languages
        texts = self.book.labels(self.book.survey, row)
        choices = choices or []
        translations = []
        for language in others:
            told = any(language in choice.labels for choice in choices)
            labels = [choice.label(language, default) for choice in choices] if told else []
            if language in texts or told:
                translations.append(self._translation(row, language, texts.get(language, ""), labels))
        labels = [choice.label(default, default) for choice in choices]
        names = [choice.name for choice in choices]
        return {
            "text": texts.get(default, ""),
            "labels": [] if labels == names else labels,
            "translations": translations,
        }

    def _option_wording(self, row: int, choice: Choice) -> Fields:
        """Return what respondents read of one choice of several that can be ticked."""
        default, *others = self.book.languages
        texts = self.book.labels(self.book.survey, row)

        def both(language: str) -> str:
            text = texts.get(language) or texts.get(default, "")
            return " – ".join(filter(None, (text, choice.label(language, default))))

        translations = [
            self._translation(row, language, both(language), [])
            for language in others
            if language in texts or language in choice.labels
        ]
        return {"text": both(default), "translations": translations}

    def _translation(self, row: int, language: str, text: str, labels: list[str]) -> Translation:
        if not is_plain(text, but="\r\n\t"):
            rule = f"label::{language} must be text without control characters"
            self._report(row, "label", rule, repr(text))
            text = ""
        return Translation(language, text, labels)

    def _text(self, row: int, column: str) -> str:
        return self._texts[column][row] if column in self._texts else ""

    def _take(self, row: int, finding: Finding) -> None:
        """Report what is wrong with a field at the column that it came from."""
        column = finding.column
        if column in ("lower", "upper"):
            ranged = read_type(self._text(row, "type")).role == "range"
            column = (
                "parameters"
                if ranged
                else f"dp_{column}"
                if self._text(row, f"dp_{column}")
                else "constraint"
            )
        self._report(row, _COLUMNS.get(column, column), finding.rule, finding.got)

    def _report(self, row: int, column: str, rule: str, got: str = "") -> None:
        """Keep what is wrong with a cell, once."""
        finding = Finding(row, column, rule, got)
        if finding not in self.findings:
            self.findings.append(finding)


_MADE: dict[str, Callable[[Form, int, RowType], list[Fields]]] = {
    "select_one": Form._select_one,
    "select_multiple": Form._select_multiple,
    "range": Form._range,
    "integer": Form._number,
    "decimal": Form._number,
}


def _none_if_nan(number: float) -> float | None:
    return None if math.isnan(number) else number
