"""The chart of a questionnaire shows every question's figures, grouped by form."""

import pytest

import dpstrata as dps
from dpstrata.present.charts.plan import questions_chart
from questionnaires import QUESTIONS, small_plan


@pytest.fixture(scope="module")
def plan():
    return small_plan()


def points(chart):
    return next(layer for layer in chart.spec["layer"] if layer["mark"]["type"] == "point")


def test_every_question_has_its_three_figures_in_percent_of_its_range(plan):
    rows = {
        (row["question"], row["precision"]): row["value"] for row in points(dps.plot(plan))["data"]["values"]
    }
    form = {name: i for i, each in enumerate(plan.forms, 1) for name in each.questions}
    for question, designed in zip(QUESTIONS, plan.questions, strict=True):
        label = f"{question.name} (form {form[question.name]})"
        for title, value in (
            ("this design", designed.standard_error),
            ("without privacy", designed.standard_error_without_privacy),
            ("with a split budget", designed.if_split),
        ):
            assert rows.pop((label, title)) == pytest.approx(100 * value / question.range)
    assert not rows


def test_questions_are_grouped_by_form_in_the_picture(plan):
    svg = dps.plot(plan).svg()
    listed = [f"{name} (form {i})" for i, form in enumerate(plan.forms, 1) for name in form.questions]
    places = [svg.index(f">{label}<") for label in listed]
    assert places == sorted(places)
    bands = dps.plot(plan).spec["layer"][0]
    assert {row["question"] for row in bands["data"]["values"]} == {
        x for x in listed if x.endswith("(form 2)")
    }


def test_questions_for_everyone_come_first_and_figures_of_nothing_are_left_out():
    questions = dps.Questionnaire(
        [
            dps.Question("a", "yes_no", blank=False),
            dps.Question("b", "category", blank=False, categories=[*"uvwxyz"]),
            dps.Question("c", "yes_no", blank=False, everyone=True),
        ]
    )
    plan = small_plan(
        questions=questions, forms=[["a"], ["b"]], strata=dps.Strata([40, 60]), at_most=None, total=100
    )
    assert all(question.standard_error_without_privacy == 0 for question in plan.questions)
    rows = points(questions_chart(plan))["data"]["values"]
    assert rows[0]["question"] == "c (all forms)"
    assert {row["precision"] for row in rows} == {"this design", "with a split budget"}
    assert questions_chart(plan).svg().startswith("<svg")


def test_fifty_questions_have_a_line_each():
    questions = dps.Questionnaire([dps.Question(f"question {i}", "yes_no") for i in range(50)])
    forms = [[f"question {i}" for i in range(start, start + 5)] for start in range(0, 50, 5)]
    chart = dps.plot(small_plan(questions=questions, forms=forms))
    assert chart.spec["height"] >= 20 * 50
    svg = chart.svg()
    assert all(f">question {i} (form {i // 5 + 1})<" in svg for i in range(50))


def test_a_single_question_has_one_line():
    plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    (layer,) = [layer for layer in questions_chart(plan).spec["layer"] if layer["mark"]["type"] == "point"]
    rows = layer["data"]["values"]
    assert {row["question"] for row in rows} == {"answer"}
    own = next(row["value"] for row in rows if row["precision"] == "this design")
    assert own == pytest.approx(100 * plan.standard_error)
