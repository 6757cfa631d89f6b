"""The parts of a report that only a questionnaire has: questions, forms, and what is known of the answers."""

from __future__ import annotations

import math

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.present.charts.plot import plot
from dpstrata.present.report.labels import answers_in_words
from dpstrata.present.report.markup import figure, paragraphs, table
from dpstrata.survey.forms import Table
from dpstrata.words.forms import forms_bound_in_words, forms_table, office_adds_noise, precision_table
from dpstrata.words.numbers import counted, per_hundred, round_up
from dpstrata.words.tables import TextTable


def questions(plan: Design) -> str:
    """Show every question, its precision, and where its error comes from."""
    return "".join(
        [
            table(asked_table(plan)),
            table(precision_table(plan)),
            figure(
                plot(plan),
                "Standard error of every question in percent of its range, beside those without privacy and "
                "with a split budget.",
            ),
            table(_causes(plan)),
        ]
    )


def asked_table(plan: Design, language: str | None = None) -> TextTable:
    """List the questions: with their importance, or as respondents read them in a language."""
    importance = language is None
    asked = plan.inputs.questions
    texts = any(question.text for question in asked)
    rows = [
        (
            question.name,
            *((question.wording(language or "")[0],) if texts else ()),
            question.of_kind.title,
            question.answers if language is None else answers_in_words(question, language),
            *((f"{question.importance:g}",) if importance else ()),
        )
        for question in asked
    ]
    header = ("question", *(("text",) if texts else ()), "kind", "answers")
    weighed = ("importance",) if importance else ()
    title = "What is asked" if importance else "What was asked"
    return TextTable(title, (*header, *weighed), rows, columns_of_text=len(header))


def _causes(plan: Design) -> TextTable:
    """Split the variance of every question into shares."""
    causes = {"sampling": "who is asked", "device": "replaced rows", "office": "the office's noise"}
    if plan.inputs.device_epsilon is None:
        del causes["office"]
    parts = [(each.name, [float(getattr(each, cause)) for cause in causes]) for each in plan.questions]
    rows = [(name, *(f"{part / (sum(own) or 1.0):.0%}" for part in own)) for name, own in parts]
    return TextTable("Where the variance of every question comes from", ("question", *causes.values()), rows)


def forms(plan: Design) -> str:
    """Show the forms, what becomes of a row, and what is published of each."""
    return "".join(
        [
            paragraphs([_row_in_words(plan)]),
            table(forms_table(plan)),
            table(_published(plan)) if plan.inputs.device_epsilon is not None else "",
        ]
    )


def _row_in_words(plan: Design) -> str:
    rates = [rate for form in plan.forms for rate in (form.least_replaced, form.replaced)]
    least, most = per_hundred(min(rates)), per_hundred(max(rates))
    of_100 = least if least == most else f"{least} to {most}"
    noise = "with noise of its own" if office_adds_noise(plan) else "without further noise"
    after = (
        "All rows are published."
        if plan.inputs.device_epsilon is None
        else f"The office adds them up, and publishes the tables below {noise}."
    )
    return (
        "Every person in the sample gets one form, dealt at random. On their device the whole row of answers "
        f"is sent as it is or, about {of_100} times in 100, replaced by a random row. {after}"
    )


def _published(plan: Design) -> TextTable:
    """List the tables of every form, and their share of the office's budget."""
    rows = [
        (str(number), _table_in_words(plan, levels, each), f"{each.budget:.0%}")
        for number, form in enumerate(plan.forms, start=1)
        for levels in [dict(zip(form.questions, form.levels, strict=True))]
        for each in form.tables
    ]
    return TextTable(
        "What the office publishes of each form, in every stratum",
        ("form", "table", "share of the office's budget"),
        rows,
        "The number of rows of each form in each stratum is published too.",
        columns_of_text=2,
    )


def _table_in_words(plan: Design, levels: dict[str, int], each: Table) -> str:
    if len(each.questions) > 1:
        cells = math.prod(levels[name] for name in each.questions)
        return f"{' × '.join(each.questions)}: the counts of all {cells:,} combinations"
    (name,) = each.questions
    question = next(one for one in plan.inputs.questions if one.name == name)
    return f"{name}: {question.of_kind.table_in_words(levels[name])}"


def forms_proof(plan: Design) -> str:
    """Show how close the forms come to the best there could be, and why that is a proof."""
    bound = plan.forms_bound
    if bound is None:
        return ""
    why = (
        "That is proven by a price for every question. At these prices the most that any form could "
        "contribute, with any questions and levels, limits what all forms together can reach. Anyone can "
        "recompute the limit without knowing how the forms were found. The sample sizes above are proven for "
        "these forms."
    )
    what = (
        "people before the office's noise" if plan.inputs.asks_by_question else "variance for one interview"
    )
    rows = [
        (f"{what}, with these forms", f"{bound.value:.12g}"),
        (f"{what}, that no forms can beat", f"{bound.lower_bound:.12g}"),
        ("relative gap, at most", f"{round_up(100.0 * bound.relative_gap, 2)}%"),
    ]
    shown = TextTable("Figures of the proof about forms", ("figure", "value"), rows)
    return "<h3>The forms</h3>" + paragraphs([forms_bound_in_words(plan), why]) + table(shown)


def budgets_in_words(plan: Design) -> str:
    """Say what the budgets of the strata are."""
    release = plan.inputs.release_form
    return (
        "Rows are randomised as a whole, and all forms of a stratum have the same budget. The smaller the "
        "share of a stratum that is invited, the better the sample hides a person, and the more "
        f"{release.published} may spend for the same promise to everyone."
    )


def known(plan: Design) -> str:
    """Say what is known of the answers beforehand, question by question."""
    explained = (
        "A design may use only what is public, known beforehand, or an upper bound; never anything computed "
        "from the confidential answers. Where nothing is known, the worst case is used. If what is stated "
        "here is wrong, the promise still holds, but the design is less precise than stated."
    )
    spreads = plan.spreads
    rows = [(name, _told_in_words(values, len(plan.strata))) for name, values in spreads.values.items()]
    shown = TextTable("What is known of the answers", ("question", "known"), rows, columns_of_text=2)
    return paragraphs([explained]) + table(shown)


_TOLD = {"proportion": "shares", "sd": "standard deviations", "mean": "means"}


def _told_in_words(values: dict[str, np.ndarray], strata: int) -> str:
    """Say which columns tell something, and in how many strata."""
    found = {
        _TOLD[column]: int((~np.isnan(told.reshape(strata, -1))).any(axis=1).sum())
        for column, told in values.items()
    }
    said = [f"{what} in {_of(number, strata)}" for what, number in found.items() if number]
    return " and ".join(said) or "nothing; the worst case is used"


def _of(number: int, strata: int) -> str:
    return "all strata" if number == strata else f"{number:,} of {counted(strata, 'stratum')}"
