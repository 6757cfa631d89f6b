"""Someone's own allocation beside the best one, for the eye."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.words.designs import RANDOM_ANSWERS
from dpstrata.words.numbers import figure, money, percent_up, round_up
from dpstrata.words.proofs import proof_in_words
from dpstrata.words.tables import SHOWN_STRATA, TextTable, not_shown

if TYPE_CHECKING:
    from dpstrata.planning.evaluate import Evaluation


def evaluation_tables(scored: Evaluation) -> list[TextTable]:
    """Show the allocation beside the best one, and of a questionnaire how precise each question becomes."""
    return [_allocations(scored), *([_questions(scored)] if scored.best.inputs.rows else [])]


def _questions(scored: Evaluation) -> TextTable:
    rows = [
        (given.name, given.kind.replace("_", "/"), figure(given.standard_error), figure(best.standard_error))
        for given, best in zip(scored.questions, scored.best.questions, strict=True)
    ]
    return TextTable(
        "Standard errors of the questions, each in its own units",
        ("question", "kind", "given", "best"),
        rows[:SHOWN_STRATA],
        not_shown(len(rows) - SHOWN_STRATA, "questions"),
    )


def _allocations(scored: Evaluation) -> TextTable:
    columns = scored.table()
    rows = [
        (name, f"{size:,}", f"{given:,}", f"{best:,}", round_up(e, 3) if e == e else "none", figure(sd))
        for name, size, given, best, e, sd in zip(*columns.values(), strict=True)
    ]
    left, people = len(rows) - SHOWN_STRATA, scored.best.strata.counted(scored.total)
    return TextTable(
        f"{people} as given, beside the best allocation {_as_large(scored)}",
        ("stratum", "size", "given", "best", "local epsilon", "noise sd"),
        rows[:SHOWN_STRATA],
        not_shown(left, "strata"),
    )


def evaluation_sentences(scored: Evaluation) -> list[str]:
    """Say how good the allocation is."""
    error, _ = scored.best.inputs.precision_in_words
    name = error if scored.standard_error is not None else "an objective of"
    given = scored.variance if scored.standard_error is None else scored.standard_error
    best = scored.best.precision
    measure = "planned variance" if scored.best.problem.planned else "variance"
    return [
        f"Your allocation has {name} {figure(given)}; the best one {_as_large(scored)} has "
        f"{figure(best)}. Its {measure} is {_beside_the_best(scored.ratio)}.",
        *([] if scored.best.expected_answers is None else [_response_in_words(scored)]),
        *([] if scored.cost is None else [_cost_in_words(scored, scored.cost)]),
        proof_in_words(scored.best, scored.certificate),
    ]


def _beside_the_best(ratio: float) -> str:
    return "the best possible" if ratio == 1 else f"{ratio:.4g} times that of the best"


def _as_large(scored: Evaluation) -> str:
    return "for the same cost" if scored.best.strata.costs_differ else "with the same total"


def _response_in_words(scored: Evaluation) -> str:
    given, best = scored.chance_of_empty_stratum, scored.best.chance_of_empty_stratum
    return (
        f"The chance that nobody answers in some stratum, which then takes its neighbour's result, is "
        f"{percent_up(given)}; for the best allocation it is {percent_up(best)}. {RANDOM_ANSWERS}"
    )


def _cost_in_words(scored: Evaluation, cost: float) -> str:
    if scored.budget is None:
        return f"The invitations cost {money(cost)}."
    if scored.within_budget:
        return f"The invitations cost {money(cost)}, within the budget of {money(scored.budget)}."
    over = money(cost - scored.budget)
    return f"The invitations cost {money(cost)}, {over} more than the budget of {money(scored.budget)}."
