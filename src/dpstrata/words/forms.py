"""A questionnaire's design for the eye: who is asked what, and how precise every question becomes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpstrata.words.numbers import counted, figure, per_hundred, plain_number
from dpstrata.words.tables import SHOWN_STRATA, TextTable, not_shown

if TYPE_CHECKING:
    from dpstrata.allocation.proof.forms import FormsBound
    from dpstrata.designs.questions import DesignedForm
    from dpstrata.designs.record import Design
    from dpstrata.survey.inputs import Inputs

KINDS = {"yes_no": "yes/no", "category": "category", "scale": "scale", "number": "number"}


def questions_table(plan: Design) -> TextTable:
    """Precision of every question beside what no privacy and what a split budget would give."""
    targets = any(question.target is not None for question in plan.questions)
    on_form = {name: str(t) for t, form in enumerate(plan.forms, start=1) for name in form.questions}
    everyone = {question.name for question in plan.inputs.questionnaire or () if question.everyone}
    rows = [
        (
            question.name,
            KINDS[question.kind],
            "all" if question.name in everyone else on_form[question.name],
            figure(question.standard_error),
            figure(question.margin),
            *(("" if question.target is None else figure(question.target),) if targets else ()),
            figure(question.without_privacy),
            figure(question.if_split),
        )
        for question in plan.questions[:SHOWN_STRATA]
    ]
    return TextTable(
        "Precision of the questions, each in its own units",
        (
            *("question", "kind", "form", "standard error", "margin"),
            *(("target",) if targets else ()),
            *("without privacy", "with a split budget"),
        ),
        rows,
        " ".join(filter(None, (not_shown(len(plan.questions) - SHOWN_STRATA, "questions"), _units(plan)))),
    )


def _units(plan: Design) -> str:
    if not any(question.kind == "category" for question in plan.questions):
        return ""
    return "Of a category: the root of half the sum of the variances of its shares."


def forms_table(plan: Design) -> TextTable:
    """Show who is asked what, and how often a row of answers is replaced."""
    rows = [
        (
            str(number),
            ", ".join(_asked(form)),
            f"{int(form.sample_sizes.sum()):,}",
            f"{form.cells:,}",
            per_hundred(form.replaced),
        )
        for number, form in enumerate(plan.forms, start=1)
    ]
    return TextTable(
        "Forms: everyone in the sample gets one of them",
        ("form", "questions", "people", "different rows", "rows replaced, of 100"),
        rows,
        _replaced_note(plan),
    )


def _asked(form: DesignedForm) -> list[str]:
    return list(form.questions)


def _replaced_note(plan: Design) -> str:
    if plan.inputs.device_epsilon is None:
        return "The share of rows that is replaced differs by stratum; the largest is shown."
    return ""


def result_of_questionnaire(plan: Design) -> str:
    """State what comes out of a questionnaire."""
    parts, error = plan.variance_parts, plan.standard_error
    assert error is not None
    share = parts.privacy / parts.total if parts.total > 0 else 0.0
    split = math.sqrt(_weighted(plan, [question.if_split for question in plan.questions]))
    plain = math.sqrt(_weighted(plan, [question.without_privacy for question in plan.questions]))
    return (
        f"{plan.strata.counted(plan.total)} on {counted(len(plan.forms), 'form')} give a typical standard "
        f"error of {_percent(error)} of a question's range ({_percent(plain)} without privacy, "
        f"{_percent(split)} if the budget were split over the questions). Privacy accounts for "
        f"{share:.1%} of the variance, sampling for the rest."
    )


def _weighted(plan: Design, errors: list[float]) -> float:
    """Mean of squared standard errors in units of the range, by importance."""
    questionnaire = plan.inputs.questionnaire
    assert questionnaire is not None
    total = sum(question.importance for question in questionnaire)
    return (
        sum(
            question.importance * (error / question.range) ** 2
            for question, error in zip(questionnaire, errors, strict=True)
        )
        / total
    )


def _percent(share: float) -> str:
    return f"{figure(100.0 * share, 3)}%"


def forms_bound_in_words(bound: FormsBound) -> str:
    """Say how close the forms come to the best there could be."""
    gap = math.ceil(1000.0 * bound.relative_gap) / 10.0
    return (
        "A lower bound proves that no other forms, overlapping ones included, lower the variance from "
        f"sampling and devices by more than {gap:.1f}% at these sample sizes."
    )


def in_title(inputs: Inputs) -> str:
    """Say, in the title of a table, what is randomised where."""
    if inputs.device_epsilon is None:
        return "rows of answers randomised and published"
    return (
        f"rows of answers randomised on devices at epsilon = {plain_number(inputs.device_epsilon)}, and the "
        "office's noise on each table"
    )
