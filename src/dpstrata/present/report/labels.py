"""Answers as respondents read them, in place of the codes that files of results have."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.results.ratios import combinations
from dpstrata.fielding.results.results import Results
from dpstrata.fielding.results.table import texts
from dpstrata.survey.questionnaires.kinds.category import listed
from dpstrata.survey.questionnaires.question import Question
from dpstrata.words.estimates import ratio_name

_Labels: TypeAlias = Mapping[tuple[str, str], str]
"""What an answer is called, by its question and its code; those that are missing are called by their code."""


def require_language(plan: Design, language: str | None) -> str:
    """Return the language to show a questionnaire in: its own, or the one that is asked for."""
    asked = plan.inputs.questions
    spoken = tuple(filter(None, asked.languages))
    if language is None:
        return asked.language
    if language not in spoken:
        rule = f"be a language of the questionnaire ({', '.join(spoken)})" if spoken else "be left out here"
        raise InputError.must("language", rule, language)
    return language


def with_labels(plan: Design, result: Results, language: str) -> Results:
    """Return the same estimates, with answers as respondents read them in a language."""
    labels = _labels(plan, language)
    if result.ratio_of:
        (over, above), (under, below) = (
            (name, [labels.get((name, each), each) for each in ([some] if isinstance(some, str) else some)])
            for name, some in result.ratio_of
        )
        name, answer = ratio_name(over, above, under, below)
        labels = {(name, level): answer for level in result.columns.level}
    columns = result.columns
    called = [labels.get(pair, pair[1]) for pair in zip(columns.question, columns.level, strict=True)]
    return replace(result, columns=columns._replace(level=texts(called)))


def _labels(plan: Design, language: str) -> _Labels:
    """List what answers and combinations of answers are called, where that is not their code."""
    asked = plan.inputs.questions
    groups = [[asked[place] for place in places] for places in asked.groups.values()]
    listed = [[question] for question in asked] + groups
    labels = {}
    for questions in listed:
        name = " by ".join(question.name for question in questions)
        for levels in _levels_of(plan, questions):
            called = itertools.product(
                *(_called(each, number, language) for each, number in zip(questions, levels, strict=True))
            )
            for code, words in zip(combinations(questions, levels), called, strict=True):
                labels[name, code] = " and ".join(words)
    return labels


def _levels_of(plan: Design, questions: Sequence[Question]) -> set[tuple[int, ...]]:
    """Return the levels that questions have on the forms that have all of them."""
    forms = [dict(zip(form.questions, form.levels, strict=True)) for form in plan.forms]
    names = [question.name for question in questions]
    return {tuple(form[name] for name in names) for form in forms if set(names) <= set(form)}


def _called(question: Question, levels: int, language: str) -> list[str]:
    """Name every level by its label; by its code where it has none, or where two would be called the same."""
    codes = [str(question.of_kind.answer_at(question, place, levels)) for place in range(levels)]
    _, labels = question.wording(language)
    called = [*labels, *codes[len(labels) :]]
    return called if len(set(called)) == levels else codes


def answers_in_words(question: Question, language: str) -> str:
    """Say what can be answered, as respondents read it where that differs from the codes."""
    _, labels = question.wording(language)
    if not labels:
        return question.answers
    shown = labels[::-1] if question.kind == "yes_no" and not question.no_first else labels
    return f"{listed(shown)}{', or blank' if question.blank else ''}"
