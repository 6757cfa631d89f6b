"""A questionnaire's design for the eye: who is asked what, and how precise every question becomes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpstrata.words.numbers import counted, figure, per_hundred, plain_number, round_up
from dpstrata.words.tables import SHOWN_STRATA, TextTable, not_shown
from dpstrata.words.usefulness import imprecise_questions

if TYPE_CHECKING:
    from dpstrata.designs.questions import DesignedForm, DesignedQuestion
    from dpstrata.designs.record import Design
    from dpstrata.survey.questionnaires.question import Question

SHOWN_QUESTIONS = 100
_FORMS_IN_COLUMNS = 6
PLANNED = (
    "Allocations are optimised and compared by their planned variance: forms dealt in exact shares, and none "
    "of the office's noise left out because devices randomise already."
)


def precision_table(plan: Design) -> TextTable:
    """Precision of every question beside what no privacy and what a split budget would give."""
    targets = any(question.target is not None for question in plan.questions)
    on_form: dict[str, str] = {}
    for number, form in enumerate(plan.forms, start=1):
        for name in form.questions:
            on_form[name] = f"{on_form[name]}, {number}" if name in on_form else str(number)
    rows = [
        (
            designed.name,
            question.of_kind.title,
            "all" if question.everyone else on_form[designed.name],
            figure(designed.standard_error),
            figure(designed.margin),
            as_percent(designed.margin / question.range),
            *(_target(designed.target, met=designed.target_met) if targets else ()),
            figure(designed.standard_error_without_privacy),
            figure(designed.if_split),
        )
        for question, designed in _pairs(plan)[:SHOWN_QUESTIONS]
    ]
    left = len(plan.questions) - SHOWN_QUESTIONS
    return TextTable(
        "Precision of the questions, each in its own units",
        (
            *("question", "kind", "form", "standard error", "margin", "margin, % of range"),
            *(("target", "met") if targets else ()),
            *("without privacy", "split budget"),
        ),
        rows,
        " ".join(filter(None, (not_shown(left, "questions"), _explained(plan)))),
        columns_of_text=2,
    )


def _target(target: float | None, *, met: bool | None) -> tuple[str, str]:
    return ("", "") if target is None else (figure(target), "yes" if met else "no")


def _pairs(plan: Design) -> list[tuple[Question, DesignedQuestion]]:
    """Return each question with what was designed for it."""
    return list(zip(plan.inputs.questions, plan.questions, strict=True))


def _explained(plan: Design) -> str:
    """Say what the last columns are, and what one figure means for a category."""
    said = (
        "The last two columns are standard errors if everyone in the sample were asked every question: "
        "without noise, and with the budgets split over the questions."
    )
    if any(question.of_kind.cases(question) for question in plan.inputs.questions):
        said += " Of a category: the root of half the sum of the variances of its shares."
    return said


def forms_table(plan: Design) -> TextTable:
    """Show who is asked what, and how often a row of answers is replaced."""
    rows = [
        (
            str(number),
            ", ".join(_asked(plan, form)),
            f"{int(form.sample_sizes.sum()):,}",
            f"{form.cells:,}",
            _replaced(form),
        )
        for number, form in enumerate(plan.forms, start=1)
    ]
    by_stratum = any(_replaced(form) != per_hundred(form.replaced) for form in plan.forms)
    return TextTable(
        "Forms: everyone in the sample gets one of them"
        if len(plan.forms) > 1
        else "Form: everyone in the sample gets it",
        ("form", "questions", "people", "possible rows", "replaced, of 100 rows"),
        rows,
        "How many rows are replaced depends on the stratum." if by_stratum else "",
        columns_of_text=2,
    )


def _asked(plan: Design, form: DesignedForm) -> list[str]:
    """Name the questions of a form, with the levels that the design chose for numbers."""
    chosen = {question.name for question in plan.inputs.questions if question.levels is None}
    return [
        f"{name} ({levels} levels)" if name in chosen else name
        for name, levels in zip(form.questions, form.levels, strict=True)
    ]


def _replaced(form: DesignedForm) -> str:
    """Write how many of 100 rows are replaced; it differs by stratum where rows are published."""
    least, most = per_hundred(form.least_replaced), per_hundred(form.replaced)
    return most if least == most else f"{least} to {most}"


def sizes_by_form(plan: Design, *, shown: int = SHOWN_STRATA) -> TextTable:
    """Show how many people of the first strata get each form, and what is published of one may spend."""
    few = len(plan.forms) <= _FORMS_IN_COLUMNS
    budgets, shown = plan.local_epsilons, min(len(plan.strata), shown)
    dealt = [form.sample_sizes for form in plan.forms]

    def on_forms(i: int) -> tuple[str, ...]:
        people = [int(sizes[i]) for sizes in dealt]
        return tuple(f"{n:,}" for n in people) if few else (_range(min(people), max(people)),)

    rows = [
        (
            plan.strata.name(i),
            f"{plan.strata.sizes[i]:,}",
            f"{plan.sample_sizes[i]:,}",
            f"{plan.sample_sizes[i] / plan.strata.sizes[i]:.3%}",
            *on_forms(i),
            round_up(float(budgets[i]), 3),
        )
        for i in range(shown)
    ]
    totals = [f"{int(sizes.sum()):,}" for sizes in dealt] if few else [""]
    rows.append(("all", f"{plan.strata.population:,}", f"{plan.total:,}", "", *totals, ""))
    forms = [f"form {number}" for number in range(1, len(dealt) + 1)] if few else ["people per form"]
    return TextTable(
        f"{plan.strata.counted(plan.total)} in {counted(len(plan.strata), 'stratum')}, "
        f"{plan.inputs.promise.in_words}, {_in_title(plan)}",
        ("stratum", "size", "sample size", "rate", *forms, plan.inputs.release_form.budget_of),
        rows,
        " ".join(filter(None, (not_shown(len(plan.strata) - shown, "strata"), _budget_explained(plan)))),
    )


def _budget_explained(plan: Design) -> str:
    """Say what the last column of the strata is."""
    return (
        f"The last column is the budget of {plan.inputs.release_form.published}; it may exceed the promise "
        f"({plan.inputs.promise.in_words}) because nobody knows who is in the sample."
    )


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def result_of_questionnaire(plan: Design) -> str:
    """State what comes out of a questionnaire, and which questions it would be of no use for."""
    useless = imprecise_questions(plan)
    return " ".join([result_in_short(plan), beside_in_words(plan), *([] if useless is None else [useless])])


def result_in_short(plan: Design) -> str:
    """State the typical precision of a question, or that all targets are met."""
    error, people = plan.standard_error, plan.strata.counted(plan.total)
    assert error is not None
    give = "gives" if plan.total == 1 else "give"
    reached = [question for question in plan.questions if question.target is not None]
    of_range = f"standard error of {as_percent(error)} of"
    one = len(plan.questions) == 1
    typical = f"a {of_range} the question's range" if one else f"a typical {of_range} a question's range"
    forms = f" on {len(plan.forms):,} forms" if len(plan.forms) > 1 else ""
    met = ""
    if reached:
        few = {1: "the target", 2: "both targets"}
        all_of_them = few.get(len(reached), f"all {len(reached):,} targets")
        met = f" {'meets' if plan.total == 1 else 'meet'} {all_of_them} and"
    return f"{people}{forms}{met} {give} {typical}."


def beside_in_words(plan: Design) -> str:
    """Set the typical precision beside no privacy and a split budget."""
    plain, share = plan.standard_error_without_privacy, plan.variance_parts.privacy_share
    assert plain is not None
    split = _typical(plan, [question.if_split for question in plan.questions])
    one = len(plan.questions) == 1
    splitting = "" if one else f", and {as_percent(split)} if the budget were split over the questions"
    return (
        f"It would be {as_percent(plain)} without privacy{splitting}. "
        f"Privacy accounts for {share:.1%} of the variance."
    )


def _typical(plan: Design, errors: list[float]) -> float:
    """Root of the mean of squared standard errors in units of the range, by importance."""
    questions = plan.inputs.questions
    total = sum(question.importance for question in questions)
    return math.sqrt(
        sum(
            question.importance * (error / question.range) ** 2
            for question, error in zip(questions, errors, strict=True)
        )
        / total
    )


def as_percent(share: float) -> str:
    """Write a share of a range in percent."""
    return "more than 100%" if share > 1.0 else f"{figure(100.0 * share, 2)}%"


def forms_bound_in_words(plan: Design) -> str:
    """Say how close the forms come to the best there could be: in variance, or for targets in people."""
    assert plan.forms_bound is not None
    gap, people = plan.forms_bound.relative_gap, plan.inputs.asks_by_question
    what = (
        "the number of people that the targets need" if people else "the variance from sampling and devices"
    )
    where = "before the office's noise" if people else "at these sample sizes"
    if gap > 1.0:
        return (
            f"A lower bound leaves room for better forms: with others {what} may be "
            f"{figure(1.0 + gap, 2)} times smaller {where}."
        )
    return (
        f"A lower bound proves that no other forms, overlapping ones included, lower {what} by more than "
        f"{math.ceil(1000.0 * gap) / 10.0:.1f}% {where}."
    )


def office_adds_noise(plan: Design) -> bool:
    """Whether the office noises tables of a questionnaire; devices may already give all that is promised."""
    return plan.problem.forms.office_adds_noise(plan.local_epsilons)


def _in_title(plan: Design) -> str:
    """Say, in the title of a table, what is randomised where."""
    device = plan.inputs.device_epsilon
    if device is None:
        return "rows of answers randomised and published"
    tables = "tables noised by the office" if office_adds_noise(plan) else "no further noise in the tables"
    return f"rows of answers randomised on devices at epsilon = {plain_number(device)}, {tables}"
