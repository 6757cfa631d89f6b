"""Questions as people give them: as records, in a file, or as the shorthand of a single question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dpstrata.errors import InputError, QuestionnaireError, option
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR
from dpstrata.survey.questionnaires.question import Question
from dpstrata.survey.questionnaires.questionnaire import Questionnaire, read_questionnaire

Questions: TypeAlias = (
    Questionnaire
    | Question
    | Sequence[Question]
    | str
    | Path
    | tuple[float, float]
    | tuple[float, float, float]
    | Sequence[str]
)
"""What can be given for questions."""

NAME = "answer"
"""What the only question of a survey is called if it is given in shorthand."""
YES_NO = "yes_no"
_FORMS = (
    f"{YES_NO!r}, a range (as in 0:8000), a scale (as in 1:5:1), categories (as in rent|own|other), a file "
    "of questions, or questions"
)


def read_questions(given: Any) -> Questionnaire:
    """Take questions as someone gives them.

    Parameters
    ----------
    given : Questionnaire, Question, list of Question, path, or shorthand
        The shorthand of one question: ``"yes_no"``, ``(lower, upper)``, ``(lower, upper, step)``, a list of
        categories, or any of these as text: ``"0:8000"``, ``"1:5:1"``, ``"rent|own|other"``. It must be
        answered, so it cannot be left blank.

    Raises
    ------
    InputError
        If these are no questions; a QuestionnaireError with every mistake of a question.

    Examples
    --------
    >>> read_questions("1:5:1")[0].kind, read_questions(["rent", "own"])[0].answers
    ('scale', 'rent, own')
    """
    if isinstance(given, Questionnaire):
        return given
    if isinstance(given, Question):
        return Questionnaire([given])
    if isinstance(given, Sequence) and given and all(isinstance(each, Question) for each in given):
        return Questionnaire(given)
    named = (
        isinstance(given, str) and not {SEPARATOR, "\0"} & set(given) and _numbers(given.split(":")) is None
    )
    if isinstance(given, Path) or (named and Path(given).suffix):
        return read_questionnaire(Path(given))
    return read_shorthand(given)


def read_shorthand(given: Any) -> Questionnaire:
    """Take the shorthand of one question, which is never a file.

    Raises
    ------
    InputError
        If it is none.
    """
    listed = given.tolist() if isinstance(given, np.ndarray) else given
    if listed == YES_NO:
        return Questionnaire([Question(NAME, "yes_no", blank=False)])
    if isinstance(listed, str) and SEPARATOR in listed:
        return _alone("category", categories=[part.strip() for part in listed.split(SEPARATOR)], blank=False)
    if isinstance(listed, str):
        listed = listed.split(":")
    elif isinstance(listed, Sequence) and listed and all(isinstance(each, str) for each in listed):
        return _alone("category", categories=listed, blank=False)
    numbers = _numbers(listed) if isinstance(listed, Sequence) else None
    if numbers is not None and len(numbers) in (2, 3):
        fields = dict(zip(("lower", "upper", "step"), numbers, strict=False))
        return _alone("number" if len(numbers) == 2 else "scale", **fields)
    raise InputError(f"{option('questions')} must be {_FORMS}, got {given!r}.", argument="questions")


def only_question(given: Questions | None) -> Question | None:
    """Return the only question of a survey; ``None`` where there are several, or none is given."""
    questions = list(() if given is None else read_questions(given))
    return questions[0] if len(questions) == 1 else None


def _numbers(listed: Sequence[Any]) -> list[float] | None:
    """Read all as numbers; ``None`` if one is not."""
    try:
        return [float(each) for each in listed]
    except (TypeError, ValueError, OverflowError):
        return None


def _alone(kind: Any, **fields: Any) -> Questionnaire:
    """Make the only question, or say what is wrong with it without naming it: nobody has named it."""
    try:
        return Questionnaire([Question(NAME, kind, **fields)])
    except QuestionnaireError as problem:
        raise InputError(f"{option('questions')}: {problem.mistakes[0]}", argument="questions") from None


def shorthand_of(questions: Questionnaire) -> str | None:
    """Write the shorthand of the only question; ``None`` where there is more to say."""
    text = questions[0].of_kind.shorthand(questions[0])
    try:
        return text if read_questions(text) == questions else None
    except InputError:
        return None
