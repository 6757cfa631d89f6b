"""What is known of answers: spreads per stratum and question, worst cases, and everything that can be wrong."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpstrata as dps
from dpstrata.privacy.rows import stretch
from dpstrata.survey.questionnaires.kinds.category import largest_spread
from dpstrata.survey.questionnaires.kinds.number import LEVELS
from dpstrata.survey.strata import strata_from_table
from extent import few

EXAMPLES = Path(dps.__file__).parent / "examples"
STRATA = dps.Strata([10, 200], names=["a", "b"])
QUESTIONS = dps.Questionnaire(
    [
        dps.Question("smokes", "yes_no", blank=False),
        dps.Question("home", "category", blank=False, categories=["rent", "own", "other"]),
        dps.Question("trust", "scale", lower=1, upper=5),
        dps.Question("income", "number", lower=0, upper=1000),
    ]
)


def read(tmp_path, text):
    path = tmp_path / "spreads.csv"
    path.write_text(text, encoding="utf-8")
    return dps.Spreads.from_file(path, STRATA, QUESTIONS)


TABLE = (
    "stratum,question,category,proportion,sd,mean\n"
    "a,smokes,,0.3,,\n"
    "b,home,rent,0.5,,\n"
    "b,home,own,0.3,,\n"
    "b,home,other,0.2,,\n"
    "a,trust,,,1.2,\n"
    "b,trust,,,1,4\n"
    "a,income,,,200,300\n"
)


def test_a_long_file_gives_strata_by_questions(tmp_path):
    spreads = read(tmp_path, TABLE)
    ten, many = 10 / 9, 200 / 199
    worst_home = (1 - (3 * 2 + 3 * 2 + 4 * 3) / 90) / 2  # 3, 3 and 4 of ten people
    expected = [
        [0.3 * 0.7 * ten, worst_home, 0.09, 0.04],
        [0.25 * many, (0.25 + 0.21 + 0.16) / 2 * many, 0.0625, 0.25 * many],
    ]
    assert spreads.variances == pytest.approx(np.array(expected), rel=1e-12)
    nan = np.nan
    squares = [[nan, nan, nan, 0.04 / ten + 0.04], [nan, nan, 0.0625 / many + 0.0625, nan]]
    assert spreads.squares == pytest.approx(np.array(squares), rel=1e-12, nan_ok=True)
    assert repr(spreads) == "Spreads(2 strata, 4 questions)"


def test_python_and_frames_say_the_same(tmp_path):
    nan = np.nan
    told = dps.Spreads(
        STRATA,
        QUESTIONS,
        proportions={"smokes": [0.3, nan], "home": [[nan] * 3, [0.5, 0.3, 0.2]]},
        sds={"trust": [1.2, 1], "income": [200, nan]},
        means={"trust": [nan, 4], "income": [300, nan]},
    )
    frame = pd.read_csv(pd.io.common.StringIO(TABLE))
    for spreads in (read(tmp_path, TABLE), dps.Spreads.from_frame(frame, STRATA, QUESTIONS)):
        assert np.array_equal(told.variances, spreads.variances)
        assert np.array_equal(told.squares, spreads.squares, equal_nan=True)
    same = dps.Spreads(STRATA, QUESTIONS, proportions={"home": [0.5, 0.3, 0.2]}, sds={"trust": 1.2})
    assert same.values["home"]["proportion"].tolist() == [[0.5, 0.3, 0.2]] * 2
    with pytest.raises(ValueError, match="read-only"):
        same.values["home"]["proportion"][0, 0] = 1


def test_a_proportion_has_the_spread_that_strata_give_it():
    spreads = dps.Spreads(STRATA, QUESTIONS, proportions={"smokes": 0.3})
    assert spreads.variances[:, 0] == pytest.approx(STRATA.filled(proportion=0.3).sds ** 2, rel=1e-14)


def spread_of(people, categories):
    shares = np.array([[person == name for name in range(categories)] for person in people], dtype=float)
    return shares.var(axis=0, ddof=1).sum() / 2


@pytest.mark.parametrize("categories", [2, 3, 5])
@pytest.mark.parametrize("size", [2, 3, 4, 6])
def test_the_worst_case_of_categories_is_the_worst_of_all_populations(size, categories):
    everything = itertools.combinations_with_replacement(range(categories), size)
    worst = max(spread_of(people, categories) for people in everything)
    assert largest_spread(np.array([size]), categories)[0] == pytest.approx(worst, rel=1e-12)


def test_without_anything_everything_is_the_worst_case():
    strata = dps.Strata([1, 2, 7, 1000])
    nothing = dps.Spreads(strata, QUESTIONS)
    largest = strata.spreads(dps.Question("any", "number", lower=0, upper=1)) ** 2
    for place in (0, 2, 3):
        assert nothing.variances[:, place] == pytest.approx(largest, rel=1e-12)
    assert nothing.variances[0].tolist() == [0, 0, 0, 0]  # a person alone does not vary
    assert np.isnan(nothing.squares).all()
    # A number's squared distance from the middle is a quarter at worst.
    quadratic = nothing.in_row(3, 4)
    assert quadratic.linear[-1] == pytest.approx(0.25 + 5 / 36)
    assert quadratic.constant[-1] == pytest.approx(largest[-1])


def test_shares_that_are_not_known_are_the_worst_that_is_left():
    spreads = dps.Spreads(STRATA, QUESTIONS, proportions={"home": [0.5, np.nan, np.nan]})
    told = dps.Spreads(STRATA, QUESTIONS, proportions={"home": [0.5, 0.25, 0.25]})
    assert np.array_equal(spreads.variances, told.variances)
    for share in (0.1, 0.2, 0.4):
        other = dps.Spreads(STRATA, QUESTIONS, proportions={"home": [0.5, share, 0.5 - share]})
        assert (other.variances[:, 1] < told.variances[:, 1]).all()


@settings(max_examples=few(50, of=100), deadline=None)
@given(st.lists(st.floats(1, 5), min_size=2, max_size=8), st.integers(2, 9))
def test_real_answers_are_never_refused_nor_planned_too_well(values, levels):
    """Whatever people answer, their own spread and mean are accepted, and more knowledge gives no more variance."""
    strata, questions = (
        dps.Strata([len(values)]),
        dps.Questionnaire([dps.Question("q", "number", lower=1, upper=5)]),
    )
    sd, mean = {"q": np.std(values, ddof=1)}, {"q": np.mean(values)}
    both = dps.Spreads(strata, questions, sds=sd, means=mean)
    assert both.squares[0, 0] == pytest.approx(np.mean((np.array(values) - 3) ** 2) / 16, abs=1e-12)
    for less in (dps.Spreads(strata, questions, sds=sd), dps.Spreads(strata, questions, means=mean)):
        for r in (0.0, 0.3, 3.0):
            assert both.in_row(0, levels).at(r)[0] <= less.in_row(0, levels).at(r)[0] * (1 + 1e-9)
            worst = dps.Spreads(strata, questions).in_row(0, levels).at(r)[0]
            assert less.in_row(0, levels).at(r)[0] <= worst * (1 + 1e-9)


def test_no_number_of_levels_that_matters_is_left_out():
    """The best of all numbers of levels up to 100 is hardly better than the best candidate, for a number alone."""
    number = dps.Spreads(dps.Strata([10**6]), dps.Questionnaire([QUESTIONS[3]]), sds={"income": 120})
    for budget in np.linspace(0.5, 14, 28):
        for others in (1, 2, 6):
            by_levels = {
                levels: number.in_row(0, levels).at(stretch(levels * others, budget))[0]
                for levels in range(2, 101)
            }
            best = min(by_levels.values())
            assert min(by_levels[levels] for levels in LEVELS) <= best * 1.002


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("c,smokes,,0.1,,", "column 'stratum': stratum must be one of 'a', 'b', got 'c'."),
        (",smokes,,0.1,,", "column 'stratum': stratum must be one of 'a', 'b', got nothing."),
        (
            "a,smoke,,0.1,,",
            "column 'question': question must be one of 'smokes', 'home', 'trust', 'income', got 'smoke'.",
        ),
        ("a,home,,0.1,,", "column 'category': category must be one of 'rent', 'own', 'other', got nothing."),
        ("a,home,buy,0.1,,", "column 'category': category must be one of 'rent', 'own', 'other', got 'buy'."),
        ("a,smokes,yes,0.1,,", "column 'category': category must be empty for a yes/no question, got 'yes'."),
        ("a,smokes,,1.1,,", "column 'proportion': proportion must lie between 0 and 1, got 1.1."),
        ("a,home,own,-0.5,,", "column 'proportion': proportion must lie between 0 and 1, got -0.5."),
        ("a,smokes,,x,,", "column 'proportion': proportion must be a number, got 'x'."),
        (
            "a,smokes,,,0.4,",
            "column 'sd': sd must be empty for a yes/no question (which takes proportion), got 0.4.",
        ),
        (
            "a,trust,,0.4,,",
            "column 'proportion': proportion must be empty for a scale question (which takes sd and mean), got 0.4.",
        ),
        ("a,trust,,,-1,", "column 'sd': sd must be a number >= 0, got -1."),
        (
            "a,trust,,,2.5,",
            "column 'sd': sd must be at most 2.10819, the largest that answers from 1 to 5 can have, got 2.5.",
        ),
        (
            "a,trust,,,2,4.5",
            "column 'sd': sd must be at most 1.39443, the largest that answers from 1 to 5 with this mean can "
            "have, got 2.",
        ),
        (
            'a,income,,,"1,500",',
            "column 'sd': sd must be written without thousands separators, got '1,500'.",
        ),
        ("a,trust,,,,7", "column 'mean': mean must lie between 1 and 5, got 7."),
    ],
)
def test_one_clear_mistake(tmp_path, row, sentence):
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, f"stratum,question,category,proportion,sd,mean\n{row}\n")
    assert caught.value.mistakes == (f"line 2, {sentence}",)


def test_every_mistake_is_reported_at_once(tmp_path):
    text = (
        "stratum,question,category,proportion,sd\n"
        "a,home,rent,0.5,\n"
        "a,home,own,0.3,\n"
        "a,home,other,0.3,\n"
        "b,home,rent,0.9,\n"
        "b,home,own,0.3,\n"
        "b,trust,,,9\n"
        "b,trust,,,1\n"
    )
    with pytest.raises(dps.QuestionnaireError) as caught:
        read(tmp_path, text)
    assert caught.value.mistakes == (
        "line 4, column 'proportion': proportions of the categories must add up to 1 (within 0.02), got 1.1.",
        "line 6, column 'proportion': proportions of some of the categories must add up to at most 1, got 1.2.",
        "line 7, column 'sd': sd must be at most 2.00502, the largest that answers from 1 to 5 can have, got 9.",
        "line 8, column 'question': each stratum, question and category must have one row, got a second one.",
    )


def test_mistakes_in_python():
    with pytest.raises(dps.QuestionnaireError) as caught:
        dps.Spreads(
            STRATA,
            QUESTIONS,
            proportions={"nobody": 0.1, "smokes": [0.1, 0.2, 0.3], "trust": 0.4},
            sds={"income": "much"},
        )
    assert caught.value.mistakes == (
        "question 'nobody': there is no such question, only 'smokes', 'home', 'trust', 'income'.",
        "question 'smokes': proportion must be one number, or 2 numbers.",
        "question 'trust': it must be described by sd or mean, got proportion.",
        "question 'income': sd must be one number, or 2 numbers.",
    )
    with pytest.raises(dps.QuestionnaireError) as caught:
        dps.Spreads(STRATA, QUESTIONS, proportions={"home": [0.5, 2, np.nan]}, sds={"income": [1, 900]})
    assert caught.value.mistakes == (
        "question 'home', stratum 'a', category 'own': proportion must lie between 0 and 1, got 2.",
        "question 'home', stratum 'b', category 'own': proportion must lie between 0 and 1, got 2.",
        "question 'income', stratum 'b': sd must be at most 501.255, the largest that answers from 0 to 1,000 can "
        "have, got 900.",
    )


@pytest.mark.parametrize("name", ["health10", "income5", "opinion20"])
def test_the_shipped_examples_are_complete(name):
    from dpstrata.files.tables import read_table

    strata = strata_from_table(
        read_table(EXAMPLES / "six-occupations.csv"), question=None, spread_follows=True
    )
    assert strata.population == 6366
    questions = dps.Questionnaire.from_file(EXAMPLES / f"{name}.csv")
    spreads = dps.Spreads.from_file(EXAMPLES / f"{name}-spreads.csv", strata, questions)
    worst = dps.Spreads(strata, questions)
    assert (spreads.variances <= worst.variances + 1e-12).all()
    for told in spreads.values.values():
        told = {column: values for column, values in told.items() if column != "mean"}
        assert not any(np.isnan(values).any() for values in told.values())


def test_a_share_of_yes_alone_tells_something_of_a_question_that_may_be_left_blank(tmp_path):
    """One number a stratum is that share, also where there are as many strata as answers."""
    strata = dps.Strata([100, 200, 300], names=["a", "b", "c"])
    questions = dps.Questionnaire([dps.Question("smokes", "yes_no")])
    yes = [0.2, 0.3, 0.5]
    found = dps.Spreads(strata, questions, proportions={"smokes": yes})
    shares = [[np.nan, each, np.nan] for each in yes]
    np.testing.assert_array_equal(found.values["smokes"]["proportion"], shares)
    completed = [[(1 - each) / 2, each, (1 - each) / 2] for each in yes]
    same = dps.Spreads(strata, questions, proportions={"smokes": completed})
    np.testing.assert_allclose(found.variances, same.variances, rtol=1e-12)
    path = tmp_path / "spreads.csv"
    path.write_text("stratum,question,category,proportion\na,smokes,,0.2\nb,smokes,yes,0.3\nc,smokes,,0.5\n")
    read_again = dps.Spreads.from_file(path, strata, questions)
    np.testing.assert_array_equal(read_again.values["smokes"]["proportion"], shares)
    path.write_text("stratum,question,category,proportion\na,smokes,,0.2\na,smokes,yes,0.3\n")
    with pytest.raises(dps.QuestionnaireError, match="must have one row, got a second one"):
        dps.Spreads.from_file(path, strata, questions)


def test_one_question_is_one():
    assert repr(dps.Spreads(dps.Strata([10]), "yes_no")) == "Spreads(1 stratum, 1 question)"
