"""Forms as a design has them: who is asked which questions, with how many levels, and what is published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeGuard

from dpstrata.errors import InputError, option

AUTO: Literal["auto"] = "auto"
ONE: Literal["one"] = "one"


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
        How many levels each answer has.
    share : float
        Share of the people of a stratum who get it.
    tables : tuple of Table
        What is published of it; none where rows are published.
    """

    questions: tuple[str, ...]
    levels: tuple[int, ...]
    share: float
    tables: tuple[Table, ...] = ()

    @property
    def cells(self) -> int:
        """K: how many different rows there are."""
        return math.prod(self.levels)

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
    )


def require_partition(
    forms: Sequence[Sequence[str]], names: Sequence[str], everyone: Sequence[str], *, overlap: bool
) -> None:
    """Require that every question is on one form, or with ``overlap`` on some; some are for everyone."""
    known = set(names)
    for number, form in enumerate(forms, start=1):
        for name in form:
            if name not in known:
                raise InputError(f"form {number} of {option('forms')} has an unknown question {name!r}.")
        if len(set(form)) < len(form):
            raise InputError(f"form {number} of {option('forms')} has a question twice.")
        if not set(form) - set(everyone) and len(forms) > 1:
            raise InputError(f"form {number} of {option('forms')} must have a question of its own.")
    for name in names:
        on = sum(name in form for form in forms)
        if name in everyone:
            continue  # it is put on every form, whether it is listed or not
        if on < 1 or (on > 1 and not overlap):
            where = "none" if on == 0 else f"{on:,}"
            raise InputError(f"every question must be on one form, got {name!r} on {where}.")
