"""Sentences about the estimates of a questionnaire."""

from types import SimpleNamespace

import numpy as np

from dpstrata.words.question_estimates import doubts_of_questions, few_answers


def test_what_cannot_be_told_from_zero_is_named_by_question_and_answer():
    rows = [
        SimpleNamespace(question="smokes", answer="yes", lower=0),
        SimpleNamespace(question="home", answer="rent", lower=0),
        SimpleNamespace(question="home", answer="own", lower=0.2),
    ]
    result = SimpleNamespace(whole=rows, stand_ins={}, notes=())
    assert doubts_of_questions(result)[-1] == (
        "2 estimates cannot be told from zero: smokes = yes, home = rent."
    )


def test_few_answers_are_said_with_their_stratum_and_form():
    enough = np.array([10, 30])
    assert few_answers(["north", "south"], [enough, enough], [["a"], ["b"]]) == []
    (said,) = few_answers(["north", "south"], [enough, np.array([9, 12])], [["a"], ["b", "c"]])
    assert said == (
        "Fewer than 10 answers, too few for a reliable standard error, came from north (form 2: b, c)."
    )
    (said,) = few_answers([f"s{i}" for i in range(7)], [np.zeros(7, dtype=int)], [["a"]])
    assert said.endswith(
        "came from s0 (form 1: a); s1 (form 1: a); s2 (form 1: a); s3 (form 1: a); s4 (form 1: a) and 2 more."
    )
