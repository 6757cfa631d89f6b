"""Questionnaires through the API: read from files within the limits, and designed like any other plan."""

import json

import pytest

import dpstrata as dps
from dpstrata.web.requests import LIMITS
from dpstrata.web.workers import work
from questionnaires import YES_NO, write_form

QUESTIONS = {
    "name": ["smokes", "tenure", "age"],
    "kind": ["yes_no", "category", "number"],
    "categories": ["", "rent|own|other", ""],
    "lower": ["", "", "18"],
    "upper": ["", "", "98"],
    "importance": ["1", "2", "1"],
}
OPTIONS = {"epsilon": 1.0, "total": 1000, "release": "sums", "device_epsilon": 5.0}


def asked(job, questions=QUESTIONS, **options):
    strata = {"stratum": ["A", "B"], "size": [7000, 8000]}
    body = {"strata": strata, "options": {**OPTIONS, **options}, "questionnaire": questions}
    body["options"] = {name: value for name, value in body["options"].items() if value is not None}
    return work(job, {"language": "en"}, json.dumps(body).encode())


def planned(**options):
    questionnaire = dps.Questionnaire(
        [
            dps.Question("smokes", "yes_no"),
            dps.Question("tenure", "category", categories=["rent", "own", "other"], importance=2),
            dps.Question("age", "number", lower=18, upper=98),
        ]
    )
    strata = dps.Strata([7000, 8000], names=["A", "B"])
    return dps.design(strata, questions=questionnaire, **{**OPTIONS, **options})


def test_a_questionnaire_is_designed_as_the_library_does():
    reply = asked("design")
    assert reply.status == 200, reply.content
    answer, plan = json.loads(reply.content), planned()
    assert answer["strata"]["sample_size"] == plan.sample_sizes.tolist()
    assert [form["questions"] for form in answer["forms"]] == [list(form.questions) for form in plan.forms]
    assert sum(form["total"] for form in answer["forms"]) == plan.total
    for told, question in zip(answer["questions"], plan.questions, strict=True):
        assert told["question"] == question.name
        assert told["standard_error"] == pytest.approx(question.standard_error, rel=1e-12)
    assert answer["charts"]["allocation"]["title"]["text"] == "How precise every question becomes"


def test_a_single_question_is_on_one_form_without_rows(four):
    answer = json.loads(work("design", {}, json.dumps(four).encode()).content)
    (form,), (question,) = answer["forms"], answer["questions"]
    assert (form["questions"], form["rows"], form["total"]) == ([question["question"]], 0, answer["total"])
    assert question["standard_error"] == pytest.approx(answer["standard_error"])


def test_a_table_of_one_question_is_designed_like_any_single_question(four):
    """With any noise that fits it, and not on a form as a row of one."""
    table = {"name": ["income"], "kind": ["number"], "lower": ["0"], "upper": ["100"]}
    answer = json.loads(work("design", {}, json.dumps({**four, "questionnaire": table}).encode()).content)
    asked_alone = {**four, "options": {**four["options"], "questions": [0, 100]}}
    alone = json.loads(work("design", {}, json.dumps(asked_alone).encode()).content)
    assert answer["mechanism"] == alone["mechanism"]
    assert answer["forms"][0]["rows"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("job", ["precision", "epsilon", "document", "csv", "strata", "report"])
def test_every_endpoint_takes_a_questionnaire(job):
    assert asked(job).status == 200


def test_the_file_of_questions_is_read_again(four):
    reply = asked("question_file")
    assert (reply.status, reply.name) == (200, "questions.csv")
    assert json.loads(work("questions", {"name": "q.csv"}, reply.content).content)["questionnaire"][
        "name"
    ] == ["smokes", "tenure", "age"]
    assert work("question_file", {}, json.dumps(four).encode()).status == 422


@pytest.mark.parametrize(
    ("options", "against"),
    [({}, "office"), ({"release": "microdata", "device_epsilon": None}, "published")],
)
def test_whom_a_questionnaire_protects_against_is_told(options, against):
    answer = json.loads(asked("protection", **options).content)
    assert answer["against"] == against
    assert set(answer["choices"]) == {"public", "office", "published"}
    assert answer["choices"]["public"]["standard_error"] < answer["choices"]["office"]["standard_error"]
    microdata = planned(release="microdata", device_epsilon=None)
    for name, plan in (("office", planned()), ("published", microdata)):
        assert answer["choices"][name]["total"] == plan.total == 1000
        assert answer["choices"][name]["standard_error"] == pytest.approx(plan.standard_error, rel=1e-12)
    assert answer["consent"]["title"]


def test_a_choice_that_cannot_reach_the_goal_has_no_figures():
    targets = {**QUESTIONS, "target_margin": ["0.01", "", ""]}
    answer = json.loads(asked("protection", targets, total=None).content)
    assert answer["choices"]["office"]["total"] > 0
    assert answer["choices"]["published"]["total"] is None


def test_nothing_is_offered_in_place_of_a_questionnaire():
    reply = asked("offers")
    assert (reply.status, json.loads(reply.content)) == (200, {"offers": []})


def test_targets_of_questions_take_the_place_of_a_total():
    targets = {**QUESTIONS, "target_margin": ["0.05", "", ""]}
    answer = json.loads(asked("design", targets, total=None).content)
    (smokes,) = (each for each in answer["questions"] if each["question"] == "smokes")
    assert smokes["margin"] <= 0.05
    assert "cannot be given too" in json.loads(asked("design", targets).content)["error"]["message"]


def test_every_mistake_of_a_questionnaire_is_told_with_its_question():
    wrong = {**QUESTIONS, "kind": ["yes_no", "colour", "number"], "upper": ["", "", "old"]}
    reply = asked("design", wrong)
    message = json.loads(reply.content)["error"]["message"]
    assert reply.status == 422
    assert "question 2" in message
    assert "question 3" in message


def test_too_many_questions_are_refused():
    many = {"name": [f"q{i}" for i in range(201)], "kind": ["yes_no"] * 201}
    reply = asked("design", many)
    assert (reply.status, LIMITS.questions) == (422, 200)
    assert "at most 200 entries" in json.loads(reply.content)["error"]["message"]
    rows = "".join(f"q{i},yes_no\n" for i in range(201))
    reply = work("questions", {"name": "q.csv"}, f"name,kind\n{rows}".encode())
    assert reply.status == 413
    assert "200 questions" in json.loads(reply.content)["error"]["message"]


def test_an_xlsform_becomes_a_table_that_is_designed(tmp_path):
    survey = [
        ["type", "name", "label", "constraint", "required"],
        ["select_one yn", "smokes", "Do you smoke?", None, "yes"],
        ["integer", "age", "How old are you?", ". >= 18 and . <= 98"],
    ]
    content = write_form(tmp_path / "form.xlsx", survey, YES_NO).read_bytes()
    reply = work("questions", {"name": "form.xlsx"}, content)
    assert reply.status == 200, reply.content
    read = json.loads(reply.content)
    assert read["columns"] == list(read["questionnaire"])
    assert read["questionnaire"]["name"] == ["smokes", "age"]
    assert read["questionnaire"]["upper"] == ["", "98"]
    assert asked("design", read["questionnaire"]).status == 200


def test_an_xlsform_that_cannot_be_protected_is_refused_with_its_reason(tmp_path):
    survey = [["type", "name", "label"], ["text", "why", "Why?"]]
    content = write_form(tmp_path / "form.xlsx", survey).read_bytes()
    reply = work("questions", {"name": "form.xlsx"}, content)
    assert reply.status == 422
    assert "row 2" in json.loads(reply.content)["error"]["message"]


def test_rows_of_an_xlsform_are_left_out_on_request_and_named(tmp_path):
    survey = [
        ["type", "name", "label"],
        ["select_one yn", "smokes", "Do you smoke?"],
        ["text", "why", "Why?"],
    ]
    content = write_form(tmp_path / "form.xlsx", survey, YES_NO).read_bytes()
    refused = json.loads(work("questions", {"name": "form.xlsx"}, content).content)
    assert {"option": "leave_out", "value": "True"} in refused["error"]["parts"]
    reply = work("questions", {"name": "form.xlsx", "leave_out": "yes"}, content)
    assert reply.status == 200, reply.content
    read = json.loads(reply.content)
    assert read["questionnaire"]["name"] == ["smokes"]
    assert read["warnings"] == [
        "form.xlsx: 1 row is left out:\n  - row 3, 'why': free text has no fixed set of answers"
    ]
