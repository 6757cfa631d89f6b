"""Tables of estimates, of whatever kind: all of them, and in short those of the whole population."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dpstrata.designs.record import Design
from dpstrata.fielding.results.estimators import Estimate, Estimation, ShareEstimate, ShareEstimation
from dpstrata.fielding.results.questions import QuestionnaireEstimation
from dpstrata.present.report.tables import SHOWN
from dpstrata.words.estimates import (
    SAFE,
    beyond_in_words,
    beyond_interval,
    bias_cells,
    bias_header,
    place_of,
    safe_cells,
)
from dpstrata.words.numbers import at_error, plain_number
from dpstrata.words.question_estimates import spread_of_design
from dpstrata.words.results import Figures
from dpstrata.words.tables import TextTable, not_shown

Result: TypeAlias = Estimation | ShareEstimation | QuestionnaireEstimation


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """One estimate, of whatever kind."""

    of: str
    answer: str
    place: str
    figures: Figures
    answers: int
    whole: bool
    crossed: bool
    largest_bias: float | None
    safe: tuple[float | None, float | None] = (None, None)


def rows_of(result: Result) -> Iterator[EstimateRow]:
    """Bring estimates of every kind to the same form."""
    for row in result.rows:
        figures = Figures(row.estimate, row.standard_error, row.lower, row.upper)
        if isinstance(row, Estimate):
            question, answer = "", row.category if isinstance(row, ShareEstimate) else ""
            crossed, safe = False, (row.safe_lower, row.safe_upper)
        else:
            question, answer, crossed, safe = row.question, row.answer, row.crossed, (None, None)
        whole = row.column == "all"
        yield EstimateRow(
            question, answer, place_of(row), figures, row.answers, whole, crossed, row.largest_bias, safe
        )


def level_in_words(result: Result) -> str:
    """Name the intervals by their confidence."""
    return f"{100 * result.confidence:.10g}% interval"


def summary_table(plan: Design, rows: Sequence[EstimateRow], level: str) -> TextTable | None:
    """Show every answer for the whole population, shares in percent; nothing if the headline has them all."""
    averaged = {
        each.name: f"mean, {plain_number(each.lower)} to {plain_number(each.lower + each.range)}"
        for each in plan.inputs.questions
        if each.of_kind.averaged and each.lower is not None
    }
    whole = [row for row in rows if row.whole and not row.crossed]
    if not plan.inputs.rows and len(whole) == 1:
        return None
    shown = whole[:SHOWN]
    cells = []
    for row in shown:
        scale, unit = (1.0, "") if row.of in averaged else (100.0, "%")
        figures = [scale * each for each in row.figures]
        estimate, _, lower, upper = (f"{each}{unit}" for each in at_error(figures, figures[1]))
        question = (row.of,) if plan.inputs.rows else ()
        cells.append((*question, averaged.get(row.of, row.answer), estimate, f"{lower} to {upper}"))
    return TextTable(
        "Results for the whole population",
        (*(("question",) if plan.inputs.rows else ()), "answer", "estimate", level),
        cells,
        _note(shown, not_shown(len(whole) - SHOWN, "results")),
        columns_of_text=2 if plan.inputs.rows else 1,
    )


def estimates_table(rows: Sequence[EstimateRow], result: Result) -> TextTable:
    """Show estimates, each rounded to its error; an answer that all have in common is in the title."""
    level = level_in_words(result)
    named = list(dict.fromkeys(row.answer for row in rows))
    answers = len(named) > 1
    shown = rows[:SHOWN]
    biases = [row.largest_bias for row in shown]
    cells = []
    for row, bias in zip(shown, bias_cells(biases), strict=True):
        estimate, error, lower, upper = at_error(row.figures, row.figures.error)
        answer, interval = (row.answer,) if answers else (), f"{lower} to {upper}"
        safe = safe_cells(*row.safe, row.figures.error)
        cells.append((row.place, *answer, estimate, interval, *safe, error, f"{row.answers:,}", *bias))
    safe = (SAFE,) if shown[0].safe != (None, None) else ()
    header = (
        *("for", *(("answer",) if answers else ())),
        *("estimate", level, *safe, "standard error", "answers"),
    )
    return TextTable(
        f"Estimates: {named[0]}" if named[0] and not answers else "Estimates",
        (*header, *bias_header(biases)),
        cells,
        _note(shown, not_shown(len(rows) - SHOWN, "estimates"), *_from_design(rows, result)),
        columns_of_text=2 if answers else 1,
    )


def _note(shown: Sequence[EstimateRow], *others: str) -> str:
    """Explain what would look wrong in a table: estimates outside their intervals."""
    beyond = (
        beyond_interval(each.estimate, each.lower, each.upper) for each in (row.figures for row in shown)
    )
    return " ".join(filter(None, [*beyond_in_words(sum(beyond)), *others]))


def _from_design(rows: Sequence[EstimateRow], result: Result) -> list[str]:
    """Say that standard errors come from the design and not from the answers, where they do."""
    if isinstance(result, QuestionnaireEstimation):
        planned = rows[0].of in result.planned
        return [spread_of_design()] if planned else []
    if result.causes is not None or isinstance(result, ShareEstimation):
        return []
    return [
        "What was published shows no spread of the answers, so these standard errors use the standard "
        "deviations of the design.",
    ]
