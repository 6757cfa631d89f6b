"""Tables of results in a report: those of the whole population in short, and all of a question."""

from __future__ import annotations

from dpstrata.fielding.results.results import Results
from dpstrata.present.report.tables import SHOWN
from dpstrata.words.estimates import beyond_in_words, estimates_table, interval_in_words, spread_of_design
from dpstrata.words.numbers import at_error, plain_number
from dpstrata.words.tables import TextTable, not_shown


def summary_table(result: Results) -> TextTable | None:
    """Show every answer for the whole population, shares in percent; nothing if the headline has them all."""
    averaged = {
        each.name: f"mean, {plain_number(each.lower)} to {plain_number(each.lower + each.range)}"
        for each in result.design.inputs.questions
        if each.of_kind.averaged and each.lower is not None
    }
    whole = result.whole.uncrossed
    if len(whole) == 1:
        return None
    shown, several = whole[:SHOWN], len(set(whole.columns.question)) > 1
    cells = []
    for row in shown:
        scale, unit = (100.0, "%") if row.level else (1.0, "")
        figures = [scale * each for each in (row.estimate, row.lower, row.upper)]
        estimate, lower, upper = (f"{each}{unit}" for each in at_error(figures, scale * row.standard_error))
        question = (row.question,) if several else ()
        cells.append((*question, averaged.get(row.question, row.level), estimate, f"{lower} to {upper}"))
    return TextTable(
        "Results for the whole population",
        (*(("question",) if several else ()), "answer", "estimate", interval_in_words(result)),
        cells,
        " ".join([*beyond_in_words(shown), not_shown(len(whole) - SHOWN, "results")]).strip(),
        columns_of_text=1 + several,
    )


def question_table(result: Results) -> TextTable:
    """Show all estimates of one question, and explain what would look wrong."""
    found = estimates_table(result, SHOWN)
    notes = [*beyond_in_words(result.shown[:SHOWN]), found.note, *spread_of_design(result)]
    return found._replace(note=" ".join(filter(None, notes)))
