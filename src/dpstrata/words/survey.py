"""What a survey is about, for the eye: its strata and its questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dpstrata.words.numbers import counted, figure, money
from dpstrata.words.tables import SHOWN_STRATA, TextTable, not_shown

if TYPE_CHECKING:
    from dpstrata.numerics.arrays import FloatArray, IntArray
    from dpstrata.survey.questionnaires.question import Question
    from dpstrata.survey.questionnaires.questionnaire import Questionnaire
    from dpstrata.survey.strata import Strata

_LISTED = 5  # strata in a message


def no_such_stratum(strata: Strata, name: str) -> str:
    """Say that a design has no such stratum, and the first few that it has."""
    listed = ", ".join(map(repr, strata.names[:_LISTED]))
    more = f" and {len(strata) - _LISTED:,} more" if len(strata) > _LISTED else ""
    return f"the design has no stratum {name!r}; it has {listed}{more}."


def population_table(strata: Strata, *, most: int = SHOWN_STRATA) -> TextTable:
    """Show strata as they were given, ``most`` of them, with the columns that they have."""
    sd = "sd, in answer ranges" if strata.sds_are_shares else "sd"
    numbers: dict[str, tuple[FloatArray | IntArray | None, Callable[[float], str]]] = {
        "size": (strata.sizes, "{:,}".format),
        sd: (strata.sds, lambda sd: figure(sd, 6)),
        "coefficient": (strata.coefficients, figure),
        "cost": (strata.costs, money),
        "min": (strata.mins, "{:,}".format),
        "max": (strata.maxs, "{:,}".format),
        "response rate": (strata.response_rates, figure),
    }
    shown = min(len(strata), most)
    columns = {
        name: [write(value) for value in values[:shown].tolist()]
        for name, (values, write) in numbers.items()
        if values is not None
    }
    columns |= {name: [str(cell) for cell in cells[:shown]] for name, cells in strata.extra.items()}
    rows = [(strata.name(i), *(cells[i] for cells in columns.values())) for i in range(shown)]
    rows.append(("all", f"{strata.population:,}", *[""] * (len(columns) - 1)))
    title = counted(len(strata), "stratum")
    return TextTable(title, ("stratum", *columns), rows, not_shown(len(strata) - shown, "strata"))


def questions_table(questionnaire: Questionnaire) -> TextTable:
    """Show questions with what was said about them; columns that are empty are left out."""
    columns = {
        "kind": [question.of_kind.title for question in questionnaire],
        "answers": [question.answers for question in questionnaire],
        "importance": [figure(question.importance) for question in questionnaire],
        "target": [_target(question) for question in questionnaire],
        "together": [question.together or "" for question in questionnaire],
        "asked of": ["everyone" if question.everyone else "" for question in questionnaire],
    }
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    rows = [
        (question.name, *(cells[place] for cells in shown.values()))
        for place, question in enumerate(questionnaire)
    ]
    return TextTable(counted(len(questionnaire), "question"), ("question", *shown), rows)


def _target(question: Question) -> str:
    """Say the precision to reach."""
    if question.target_se is not None:
        return f"SE {figure(question.target_se)} or less"
    if question.target_margin is not None:
        return f"margin {figure(question.target_margin)} or less"
    return ""
