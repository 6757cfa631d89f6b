"""Forms as a design has them: who is asked which questions, with how many levels, and what is published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

from dpstrata.errors import InputError, option
from dpstrata.words.numbers import counted

if TYPE_CHECKING:
    from dpstrata.survey.questionnaires.question import Question

AUTO: Literal["auto"] = "auto"
ONE: Literal["one"] = "one"

ROWS = "randomized_response"
"""A row of answers is kept or replaced as a whole: what devices do to a form of several questions."""
RAW = "none"
"""Nobody changes the answers on a form before the office adds them up."""


@dataclass(frozen=True, slots=True)
class Table:
    """What the office publishes of some questions of a form.

    Attributes
    ----------
    questions : tuple of str
        One question: its counts, or the sum of its levels. Several: the counts of their combinations.
    budget : float
        Its share of the office's budget, above 0; those of a form add up to 1.
    """

    questions: tuple[str, ...]
    budget: float


@dataclass(frozen=True, slots=True)
class FormPlan:
    """One form.

    Attributes
    ----------
    questions : tuple of str
        What is asked.
    levels : tuple of int
        How many levels each answer has; 0 where it has none: it is noised by itself, or a number is added up
        as it is.
    share : float
        Share of the people of a stratum who get it.
    tables : tuple of Table
        What is published of it; none where answers or rows are published, or a mean.
    mechanism : str
        What changes the answers before anyone sees them: ``ROWS``, ``RAW``, or the mechanism that noises the
        only question of the form.
    """

    questions: tuple[str, ...]
    levels: tuple[int, ...]
    share: float
    tables: tuple[Table, ...] = ()
    mechanism: str = ROWS

    @property
    def keeps_rows(self) -> bool:
        """Whether a row is kept or replaced as a whole."""
        return self.mechanism == ROWS

    @property
    def raw(self) -> bool:
        """Whether the office gets the answers as they were given."""
        return self.mechanism == RAW

    @property
    def cells(self) -> int:
        """K: how many different rows there are; 0 where rows are not kept or replaced."""
        return math.prod(self.levels) if self.keeps_rows else 0

    def cells_of(self, table: Table) -> int:
        """How many combinations of answers a table has."""
        levels = dict(zip(self.questions, self.levels, strict=True))
        return math.prod(levels[name] for name in table.questions)


Forms: TypeAlias = Literal["auto", "one"] | tuple[tuple[str, ...], ...] | tuple[FormPlan, ...]


def are_chosen(forms: Forms) -> TypeGuard[tuple[FormPlan, ...]]:
    """Whether forms are complete: with levels, shares and tables."""
    return not isinstance(forms, str) and all(isinstance(form, FormPlan) for form in forms)


def names_on(forms: Forms) -> list[tuple[str, ...]]:
    """Return the names of the questions of each form; none where the forms are left open."""
    if isinstance(forms, str):
        return []
    return [form.questions if isinstance(form, FormPlan) else form for form in forms]


def as_forms(given: Any) -> Forms:
    """Take forms as someone gives them: a word, lists of question names, or those of a document."""
    if isinstance(given, str) and given in (AUTO, ONE):
        return AUTO if given == AUTO else ONE
    try:
        if isinstance(given, Sequence) and not isinstance(given, str) and given:
            if all(isinstance(form, FormPlan) for form in given):
                return tuple(given)
            if all(isinstance(form, Mapping) for form in given):
                return tuple(_form(form) for form in given)
            names = tuple(tuple(form) for form in given if not isinstance(form, str))
            if len(names) == len(given) and all(isinstance(name, str) for form in names for name in form):
                return names
    except (KeyError, TypeError, ValueError):
        pass
    raise InputError(
        f"{option('forms')} must be auto, one, or a list of lists of question names, got {given!r}.",
        argument="forms",
        value=given,
    )


def _form(data: Mapping[str, Any]) -> FormPlan:
    return FormPlan(
        tuple(data["questions"]),
        tuple(data["levels"]),
        float(data["share"]),
        tuple(Table(tuple(table["questions"]), float(table["budget"])) for table in data["tables"]),
        str(data.get("mechanism", ROWS)),
    )


def require_partition(
    forms: Sequence[Sequence[str]], names: Sequence[str], everyone: Sequence[str], *, overlap: bool
) -> None:
    """Require that every question is on one form, or with ``overlap`` on some; some are for everyone.

    Forms that a design chose overlap, and one of them may have the questions for everyone alone.
    """
    known = set(names)
    for number, form in enumerate(forms, start=1):
        for name in form:
            if name not in known:
                raise InputError(f"form {number} of {option('forms')} has an unknown question {name!r}.")
        if len(set(form)) < len(form):
            raise InputError(f"form {number} of {option('forms')} has a question twice.")
        if not overlap and not set(form) - set(everyone) and len(forms) > 1:
            raise InputError(f"form {number} of {option('forms')} must have a question of its own.")
    for name in names:
        on = sum(name in form for form in forms)
        if name in everyone:
            continue  # it is put on every form, whether it is listed or not
        if on < 1 or (on > 1 and not overlap):
            where = "none" if on == 0 else f"{on:,}"
            raise InputError(f"every question must be on one form, got {name!r} on {where}.")


MOST_ROWS = 1_000_000  # different ones on a form; nothing can be learned from more at any budget of use


def require_few_rows(questions: Sequence[Question]) -> None:
    """Require that questions which must be on one form have no more rows of answers than are of use."""
    rows = math.prod(min(question.candidates) for question in questions)
    if rows > MOST_ROWS:
        named = ", ".join(repr(question.name) for question in questions[:_LISTED])
        more = f" and {len(questions) - _LISTED:,} more" if len(questions) > _LISTED else ""
        raise InputError(
            f"the questions of a form must have at most {MOST_ROWS:,} different rows of answers together, "
            f"got {float(rows):.2g} from {named}{more}. Put fewer of them on one form."
        )


_LISTED = 5
_TOLERANCE = 1e-9  # by which shares may miss 1 together


def require_complete(
    forms: Sequence[FormPlan], questions: Sequence[Question], *, tables: bool, raw: bool
) -> None:
    """Require of complete forms that they spend the office's budget once, and publish everything.

    Parameters
    ----------
    forms : sequence of FormPlan
        A partition of the questions.
    questions : sequence of Question
        All of them.
    tables : bool
        Whether tables are published.
    raw : bool
        Whether the office gets answers as they were given.
    """
    by_name = {question.name: question for question in questions}
    everyone = {question.name for question in questions if question.everyone}
    for number, form in enumerate(forms, start=1):
        where = f"form {number} of {option('forms')}"
        missing = sorted(everyone - set(form.questions))
        if missing:
            raise InputError(f"{where} must have {missing[0]!r}, which everyone is asked.")
        _require_mechanism(form, raw=raw, where=where)
        _require_levels(form, by_name, where)
        if form.keeps_rows:
            require_few_rows([by_name[name] for name in form.questions])
        if not form.share > 0:
            raise InputError(f"{where} must have a share of people above 0, got {form.share:g}.")
        _require_tables(form, by_name, where, tables=tables)
    if not abs(math.fsum(form.share for form in forms) - 1.0) <= _TOLERANCE:
        total = math.fsum(form.share for form in forms)
        raise InputError(f"the shares of people of all {option('forms')} must add up to 1, got {total:.9g}.")


def _require_mechanism(form: FormPlan, *, raw: bool, where: str) -> None:
    """Require raw answers where there are no devices, and rows of several answers where there are."""
    if form.raw != raw or (not form.raw and not form.keeps_rows and len(form.questions) > 1):
        can = RAW if raw else ROWS
        raise InputError(f"{where} must have the mechanism {can!r}, got {form.mechanism!r}.")


def _require_levels(form: FormPlan, questions: Mapping[str, Question], where: str) -> None:
    if len(form.levels) != len(form.questions):
        asked = counted(len(form.questions), "question")
        raise InputError(f"{where} must have levels for its {asked}, got {len(form.levels)}.")
    for name, levels in zip(form.questions, form.levels, strict=True):
        allowed = _levels_allowed(form, questions[name])
        if levels not in allowed:
            can = allowed[0] if len(allowed) == 1 else "from 2 to 16, or 18, 20, 22 and so on up to 100"
            raise InputError(f"{where} must give {name!r} {can} levels, got {levels}.")


def _levels_allowed(form: FormPlan, question: Question) -> tuple[int, ...]:
    if form.keeps_rows:
        return question.candidates
    return (question.answer_count or 0,) if form.raw else (0,)


def _require_tables(form: FormPlan, questions: Mapping[str, Question], where: str, *, tables: bool) -> None:
    """Require every question in one table, and budgets that are no more together than the office's."""
    if not tables:
        if form.tables:
            raise InputError(f"{where} must have no tables where rows are published, got {len(form.tables)}.")
        return
    published = [name for table in form.tables for name in table.questions]
    if sorted(published) != sorted(form.questions):
        raise InputError(f"{where} must have each of its questions in one of its tables.")
    for table in form.tables:
        if not table.budget > 0:
            raise InputError(f"{where} must have budgets above 0 for its tables, got {table.budget:g}.")
    total = math.fsum(table.budget for table in form.tables)
    if not abs(total - 1.0) <= _TOLERANCE:
        raise InputError(f"{where} must have budgets of its tables that add up to 1, got {total:.9g}.")
    for table in form.tables:
        group = {questions[name].together for name in table.questions} - {None}
        for name in form.questions:
            if questions[name].together in group and name not in table.questions:
                raise InputError(
                    f"{where} must have questions that are kept together in one table, got {name!r} apart."
                )


def require_together(forms: Sequence[Sequence[str]], questions: Sequence[Question]) -> None:
    """Require that questions which are kept together are on one form."""
    on: dict[str, int] = {}
    for number, form in enumerate(forms):
        for name in form:
            on.setdefault(name, number)
    first: dict[str, Question] = {}
    for question in questions:
        if question.together is None:
            continue
        other = first.setdefault(question.together, question)
        if on[question.name] != on[other.name]:
            raise InputError(
                f"questions that are kept together must be on one form of {option('forms')}, got "
                f"{other.name!r} and {question.name!r} on several."
            )
