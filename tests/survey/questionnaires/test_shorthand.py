"""Questions given in shorthand mean what the same questions written out mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpstrata.errors import InputError
from dpstrata.survey.questionnaires.question import Question
from dpstrata.survey.questionnaires.questionnaire import NAME, Questionnaire, read_questions, shorthand_of

ONE = {
    "yes_no": Question(NAME, "yes_no", blank=False),
    "0:8000": Question(NAME, "number", lower=0, upper=8000),
    "-1:0.5": Question(NAME, "number", lower=-1, upper=0.5),
    "1:5:1": Question(NAME, "scale", lower=1, upper=5, step=1),
    "1|2": Question(NAME, "category", categories=["1", "2"], blank=False),
    "rent|own|v. other": Question(NAME, "category", categories=["rent", "own", "v. other"], blank=False),
}


@pytest.mark.parametrize("text", ONE)
def test_text_is_the_question_written_out_and_back(text):
    assert list(read_questions(text)) == [ONE[text]]
    assert shorthand_of(read_questions(text)) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((0, 8000), "0:8000"),
        (["1", "2"], "1|2"),
        (np.array([1, 5, 1]), "1:5:1"),
        (["rent", "own", "v. other"], "rent|own|v. other"),
        (ONE["yes_no"], "yes_no"),
        ([ONE["yes_no"]], "yes_no"),
        (Questionnaire([ONE["1:5:1"]]), "1:5:1"),
    ],
)
def test_values_and_records_mean_the_same(given, text):
    assert read_questions(given) == Questionnaire([ONE[text]])


def test_a_name_with_an_ending_is_a_file(tmp_path: Path):
    file = tmp_path / "questions.csv"
    file.write_text("name,kind,lower,upper\ntrust,scale,1,5\n")
    for given in (file, str(file)):
        assert [question.name for question in read_questions(given)] == ["trust"]


def test_what_says_more_has_no_shorthand():
    assert shorthand_of(Questionnaire([Question("trust", "scale", lower=1, upper=5)])) is None
    assert shorthand_of(Questionnaire([ONE["yes_no"], Question("b", "yes_no")])) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("a\0.csv", "must be 'yes_no', a range"),
        ("perhaps", "must be 'yes_no', a range"),
        ((), "must be 'yes_no', a range"),
        (5, "must be 'yes_no', a range"),
        (None, "must be 'yes_no', a range"),
        ("3:1", "lower must be below upper"),
        (["one"], "from 2 to 1,000 categories"),
        (["yes_no", "0:8000"], "give several questions as Question objects, or a file"),
        (["rent", "1:5:1"], "got '1:5:1'; give several questions"),
        ((1, 5, 3), "whole number of steps"),
        ("nowhere.csv", "does not exist"),
    ],
)
def test_what_is_none_is_refused_in_one_sentence(given, said):
    with pytest.raises(InputError, match=said) as problem:
        read_questions(given)
    assert "\n" not in str(problem.value)
