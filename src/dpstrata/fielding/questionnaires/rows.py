"""Rows of answers to the questions of a form: as people give them, as devices send them, as cells."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from operator import index
from typing import Any, SupportsIndex

import numpy as np

from dpstrata.designs.questions import DesignedForm
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.grid_noise import place_of
from dpstrata.privacy.device import Source, cell_of, level_of, odds_below, places_of, randomized_cell
from dpstrata.survey.questionnaires.question import Question


@dataclass(frozen=True, slots=True)
class NoisedRow:
    """What a device sends.

    Attributes
    ----------
    form : int
        The form, from 1 on.
    cell : int
        The row as one number.
    answers : dict
        The same as answers to the questions; some rows are the true ones and some are drawn at random.
    """

    form: int
    cell: int
    answers: dict[str, Any]


def noise_row(
    plan: Design,
    stratum: str,
    form: SupportsIndex,
    answers: Mapping[str, Any],
    *,
    source: Source = secrets.token_bytes,
) -> NoisedRow:
    """Randomise one person's answers to a form before anyone else sees them.

    Call this on the respondent's own device. Numbers are put on the levels of the design at random, without
    bias; then the whole row is kept, or with the probability that the design states replaced by a random one.

    Parameters
    ----------
    plan : Design
        A design with a questionnaire.
    stratum : str
        Name of the respondent's stratum.
    form : int
        Which form they got, from 1 on.
    answers : mapping
        An answer to every question of the form, and to no other. A blank is ``"no answer"``; an empty text,
        ``None``, or leaving the question out of the mapping is the same. It is refused where the question
        may not be left blank.
    source : callable
        Returns as many random bytes as it is asked for; by default those of the operating system. Others are
        for tests alone: whoever knows the bytes knows the answers.

    Returns
    -------
    NoisedRow
        What may be sent.

    Raises
    ------
    InputError
        For an unknown stratum or form, and for answers that are missing or that a question does not have; no
        message shows an answer.

    Notes
    -----
    Each call spends the budget of one person. Calling it twice for the same answers spends it twice.

    Examples
    --------
    >>> import dpstrata as dps
    >>> questions = dps.Questionnaire([dps.Question("smokes", "yes_no"), dps.Question("drinks", "yes_no")])
    >>> strata = dps.Strata([5000, 8000], names=["north", "south"])
    >>> plan = dps.design(
    ...     strata, questions=questions, epsilon=1, device_epsilon=4, release="sums", total=400
    ... )
    >>> row = dps.noise_row(plan, "north", 1, {"smokes": "no", "drinks": "yes"})
    >>> sorted(row.answers)
    ['drinks', 'smokes']
    >>> row = dps.noise_row(plan, "north", 1, {"smokes": "no", "drinks": ""})  # the second is left blank
    """
    questions, asked = form_of(plan, form)
    if not isinstance(answers, Mapping):
        raise InputError(f"answers must be a mapping from question to answer, got {type(answers).__name__}.")
    place = place_of(plan, stratum)
    places = [
        level_of(
            share_in(question, answers.get(question.name), f"question {question.name!r}"), levels, source
        )
        for question, levels in zip(questions, asked.levels, strict=True)
    ]
    unknown = set(answers) - set(asked.questions)
    if unknown:
        raise InputError(f"form {form} has no question {min(map(str, unknown))!r}.")
    cell = randomized_cell(cell_of(places, asked.levels), asked.cells, odds_in(plan, place), source)
    return NoisedRow(index(form), cell, answers_of(questions, asked, cell))


def form_of(plan: Design, form: SupportsIndex) -> tuple[list[Question], DesignedForm]:
    """Return the questions of a form, and the form."""
    if not plan.inputs.rows:
        raise InputError("rows need a design with a questionnaire, got one with a single question.")
    forms = plan.forms
    number = 0 if isinstance(form, bool) or not isinstance(form, SupportsIndex) else index(form)
    if not 1 <= number <= len(forms):
        raise InputError(f"form must be a whole number from 1 to {len(forms)}.")
    named = {question.name: question for question in plan.inputs.questions}
    asked = forms[number - 1]
    return [named[name] for name in asked.questions], asked


def odds_in(plan: Design, place: int) -> Fraction:
    """Return P/Q of a stratum: that of all devices, or of published rows at its own budget."""
    budget = plan.inputs.device_epsilon
    return odds_below(plan.local_epsilon(place) if budget is None else budget)


def share_in(question: Question, answer: Any, where: str) -> Fraction:
    """Return where an answer lies between the first level and the last; ``where`` begins the message."""
    plain = answer is None or isinstance(answer, str | Real) or np.ndim(answer) == 0
    try:
        share = question.of_kind.share_of(question, answer) if plain else None
    except ValueError:  # a number too long to be written
        share = None
    if share is None:
        raise InputError(f"{where}: the answer must be {question.of_kind.written(question)}.")
    return share


def answers_of(questions: list[Question], form: DesignedForm, cell: int) -> dict[str, Any]:
    """Write a cell as answers."""
    return {
        question.name: question.of_kind.answer_at(question, place, levels)
        for question, place, levels in zip(questions, places_of(cell, form.levels), form.levels, strict=True)
    }
