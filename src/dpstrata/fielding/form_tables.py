"""The tables that are published of a form: their entries, their counts, and how far one person moves them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.rows import places_of
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR
from dpstrata.survey.questionnaires.question import Question


def table_entries(plan: Design, t: int, questions: tuple[str, ...]) -> tuple[str, ...]:
    """Name what a published table of a form has: its combinations, the count of yes, or a sum of levels."""
    form = plan.forms[t]
    named = {question.name: question for question in plan.inputs.questions}
    levels = dict(zip(form.questions, form.levels, strict=True))
    return _entries(tuple(named[name] for name in questions), tuple(levels[name] for name in questions))


@lru_cache(maxsize=1024)  # every stratum asks for them
def _entries(questions: tuple[Question, ...], levels: tuple[int, ...]) -> tuple[str, ...]:
    if len(questions) == 1:
        (question,) = questions
        if question.of_kind.averaged:
            return ("sum of levels",)
        if not question.of_kind.cases(question):
            return ("yes",)
    return tuple(
        f" {SEPARATOR} ".join(
            str(question.of_kind.answer_at(question, place, number))
            for question, place, number in zip(questions, places_of(cell, levels), levels, strict=True)
        )
        for cell in range(math.prod(levels))
    )


def counts_of_cells(plan: Design, t: int, cells: Sequence[int], questions: tuple[str, ...]) -> list[int]:
    """Add up the rows of a form to what one of its tables publishes, before noise."""
    form = plan.forms[t]
    at = [form.questions.index(name) for name in questions]
    levels = [form.levels[place] for place in at]
    places = np.unravel_index(np.array(cells, dtype=np.int64), form.levels)
    joint = np.ravel_multi_index([places[position] for position in at], levels)
    counts: list[int] = np.bincount(joint, minlength=math.prod(levels)).tolist()
    if len(table_entries(plan, t, questions)) == len(counts):
        return counts
    # the count of yes, or the sum of levels: every level counts as many times as its place
    return [sum(place * number for place, number in enumerate(counts))]


def office_budgets(plan: Design) -> FloatArray:
    """Return the budget of the office's noise on all tables of each form (columns), by stratum.

    It is infinite where none is needed.
    """
    return plan.problem.forms.office_budgets(plan.local_epsilons)


def sensitivity(plan: Design, t: int, questions: tuple[str, ...]) -> int:
    """By how much one person moves a table in all: two counts, the count of yes, or the sum of levels."""
    if len(questions) > 1:
        return 2
    form = plan.forms[t]
    kind = next(each.of_kind for each in plan.inputs.questions if each.name == questions[0])
    return round(kind.in_table(form.levels[form.questions.index(questions[0])], None)[1])


def table_label(questions: Sequence[str]) -> str:
    """Name a table by its questions."""
    return f" {SEPARATOR} ".join(questions)
