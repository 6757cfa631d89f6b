"""Questionnaires for the eye."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.words.numbers import counted, figure
from dpstrata.words.tables import TextTable

if TYPE_CHECKING:
    from dpstrata.survey.questionnaires.question import Question
    from dpstrata.survey.questionnaires.questionnaire import Questionnaire


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
