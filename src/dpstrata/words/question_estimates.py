"""Estimates of a questionnaire for the eye: a table of means and shares, and sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.words.estimates import (
    REPORTED,
    beyond_in_words,
    beyond_interval,
    bias_cells,
    bias_header,
    not_told_from_zero,
    strata_without_answers,
)
from dpstrata.words.numbers import at_error
from dpstrata.words.tables import SHOWN_STRATA, TextTable, not_shown

_FEW = 10
_LISTED = 5

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpstrata.fielding.results.questions import QuestionnaireEstimation
    from dpstrata.numerics.arrays import IntArray


def questions_table(result: QuestionnaireEstimation) -> TextTable:
    """Means and shares of the whole population, each rounded to its error."""
    found = result.whole
    shown = found[: 4 * SHOWN_STRATA]
    biases = [row.largest_bias for row in shown]
    rows = []
    for row, bias in zip(shown, bias_cells(biases), strict=True):
        figures = (row.estimate, row.standard_error, row.lower, row.upper)
        estimate, error, lower, upper = at_error(figures, row.standard_error)
        interval = f"{lower} to {upper}"
        rows.append((row.question, row.answer, estimate, error, interval, f"{row.answers:,}", *bias))
    level = f"{100 * result.confidence:.10g}% interval"
    return TextTable(
        "Means and shares of the population",
        ("question", "answer", "estimate", "standard error", level, "answers", *bias_header(biases)),
        rows,
        not_shown(len(found) - len(rows), "estimates"),
    )


def _places_without_answers(result: QuestionnaireEstimation) -> list[str]:
    """Say for which questions strata take the result of a neighbour, and how much that can matter."""
    said = []
    for question, (stand_ins, reach) in result.stand_ins.items():
        shift = reach * sum(each.share for each in stand_ins)
        (sentence,) = strata_without_answers(stand_ins, shift, "its estimate for the population")
        said.append(f"{question}: {sentence[0].lower()}{sentence[1:]}")
    return said


def few_answers(
    strata: Sequence[str], forms: Sequence[IntArray], questions: Sequence[Sequence[str]]
) -> list[str]:
    """Say where standard errors are not to be relied on: few answers on a form in a stratum.

    Parameters
    ----------
    strata : sequence of str
        Names of the strata.
    forms : sequence of array
        For each form, how many people of each stratum answered it.
    questions : sequence of sequence of str
        For each form, what it asks.
    """
    few = [
        f"{name} (form {number}: {_listed(asked)})"
        for number, (answers, asked) in enumerate(zip(forms, questions, strict=True), start=1)
        for name, came in zip(strata, answers.tolist(), strict=True)
        if came < _FEW
    ]
    if not few:
        return []
    more = f" and {len(few) - _LISTED:,} more" if len(few) > _LISTED else ""
    listed = "; ".join(few[:_LISTED])
    return [f"Fewer than {_FEW} answers, too few for a reliable standard error, came from {listed}{more}."]


def ratio_name(over: str, answers: Sequence[str], under: str, others: Sequence[str]) -> tuple[str, str]:
    """Name the questions of a ratio, and its answers."""
    return f"{over} / {under}", f"{' + '.join(answers)} / {' + '.join(others)}"


def ratio_left_out(question: str, answer: str, groups: Sequence[tuple[str, str]], most: float) -> list[str]:
    """Say where a ratio is not given, and why."""
    if not groups:
        return []
    called = {REPORTED: "stratum"}
    named = [
        "the whole" if column == "all" else f"{called.get(column, column)} {label!r}"
        for column, label in groups
    ]
    more = f" and {len(named) - _LISTED:,} more" if len(named) > _LISTED else ""
    return [
        f"The ratio {question} ({answer}) is left out for {', '.join(named[:_LISTED])}{more}: the standard "
        f"error of its denominator is {100 * most:.3g}% of it or more."
    ]


def questions_in_words(result: QuestionnaireEstimation) -> list[str]:
    """State what the figures are, and what to be careful with."""
    whole = sum(beyond_interval(row.estimate, row.lower, row.upper) for row in result.whole)
    return [
        "Shares are not clipped to 0 and 1, so that they add up. Intervals cover sampling error and privacy "
        "noise, and those of a question hold for all its answers together.",
        *beyond_in_words(whole),
        *([spread_of_design(_listed(result.planned))] if result.planned else []),
        *doubts_of_questions(result),
    ]


def spread_of_design(questions: str = "") -> str:
    """Say that standard errors, here or of some questions, come from the design and not from the answers."""
    errors = f"the standard errors of {questions}" if questions else "these standard errors"
    return (
        f"Published sums show no spread of the answers, so {errors} use the spread that the design assumed: "
        "the largest possible, or a smaller one that was stated."
    )


def _listed(names: Sequence[str]) -> str:
    left = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {left:,} more" if left > 0 else "")


def doubts_of_questions(result: QuestionnaireEstimation) -> list[str]:
    """Say what to be careful with."""
    return [
        *not_told_from_zero([f"{row.question} = {row.answer}" for row in result.whole if row.lower == 0]),
        *_places_without_answers(result),
        *result.notes,
    ]
