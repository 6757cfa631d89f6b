"""Questions that may be left blank: a blank is randomised, published and estimated like any other answer."""

import csv

import numpy as np
import pyarrow as pa
import pytest

import dpstrata as dps
from commands import run
from dpstrata.fielding.estimate import estimate
from dpstrata.fielding.publish import privatize, publish
from surveys import QUESTIONS, answered, survey, write

STEPS = {"publish": publish, "privatize": privatize}
WITH_BLANKS = dps.Questionnaire(
    [
        dps.Question(each.name, each.kind, **fields)
        for each, fields in zip(
            QUESTIONS,
            [
                {"categories": ["rent", "own", "other"], "together": "living", "blank": True},
                {"together": "living", "blank": True},
                {"lower": 1, "upper": 5},
                {"lower": 0, "upper": 90_000},
                {"everyone": True, "blank": True},
            ],
            strict=True,
        )
    ]
)


def read_rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def left_blank(person):
    """Every other person answers neither the first question nor the last."""
    given = answered(person)
    return given | ({"home": "", "ill": ""} if int(person[-1]) % 2 else {})


@pytest.mark.slow
@pytest.mark.parametrize("devices", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_blanks_count(tmp_path, step, devices):
    plan, _ = survey(tmp_path, step, devices=devices, answers=left_blank, questions=WITH_BLANKS, epsilon=2)
    assert plan.forms[0].cells == 4 * 3 * 3
    files = {"sample": tmp_path / "sample.csv", "key_file": tmp_path / "draw.key", "id": "person"}
    done = STEPS[step](
        tmp_path / "design.json",
        tmp_path / "answers.csv",
        stratum="region",
        out=tmp_path / "out.csv",
        **files,
    )
    assert (done.answers, done.blank) == (plan.total, 0)
    result = estimate(plan, tmp_path / "out.csv")
    for name, answers in (
        ("home", ["rent", "own", "other", "no answer"]),
        ("smokes", ["no", "yes", "no answer"]),
        ("ill", ["no", "yes", "no answer"]),
    ):
        rows = [row for row in result.whole if row.question == name]
        assert [row.level for row in rows] == answers
        assert sum(row.estimate for row in rows) == pytest.approx(1.0, abs=1e-12)
        assert all(row.standard_error > 0 for row in rows)
    (ill,) = [row for row in result.whole if (row.question, row.level) == ("ill", "no answer")]
    assert abs(ill.estimate - 0.5) < 6 * ill.standard_error


def test_other_blanks_do_not_count(tmp_path):
    plan, _ = survey(tmp_path, "publish", devices=False, questions=WITH_BLANKS)
    with open(tmp_path / "answers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows[:2]:
        row["trust"] = row["income"] = row["home"] = row["smokes"] = ""
    with open(tmp_path / "sample.csv", newline="") as file:
        forms = {row["person"]: row["form"] for row in csv.DictReader(file)}
    numbers = sum(forms[row["person"]] == "2" for row in rows[:2])
    write(tmp_path / "answers.csv", rows)
    done = publish(
        *(tmp_path / "design.json", tmp_path / "answers.csv"),
        sample=tmp_path / "sample.csv",
        key_file=tmp_path / "draw.key",
        id="person",
        stratum="region",
        out=tmp_path / "out.csv",
        accept_response=True,
    )
    assert (done.answers, done.blank) == (plan.total - numbers, numbers)


def test_devices_take_a_missing_answer_for_a_blank():
    strata = dps.Strata([500, 900], names=["a", "b"])
    questions = dps.Questionnaire([WITH_BLANKS[4], dps.Question("drinks", "yes_no", blank=False)])
    plan = dps.design(
        strata, questions=questions, epsilon=1, device_epsilon=30, release="sums", total=200, forms="one"
    )
    for given in ({"drinks": "yes"}, {"drinks": "yes", "ill": None}, {"drinks": "yes", "ill": ""}):
        assert dps.randomize(plan, "a", given).answers == {"ill": "no answer", "drinks": "yes"}
    with pytest.raises(dps.InputError, match="question 'drinks': the answer must be yes or no"):
        dps.randomize(plan, "a", {"ill": "no"})


def test_a_blank_is_an_answer_to_a_single_question_too(tmp_path):
    """On a device, on a line of the command and in a file; noise is next to impossible at this budget."""
    home = dps.Question("home", "category", categories=["rent", "own"])
    plan = dps.design(dps.Strata([500], names=["a"]), questions=home, epsilon=90, total=50)
    for given in ("", None, {}, {"home": " "}):
        assert dps.randomize(plan, "a", given).answers == {"home": "no answer"}
    people = pa.table({"id": range(500), "town": ["a"] * 500})
    frame = dps.open_frame(people, id="id", stratum="town")
    plan.save(tmp_path / "design.json")
    files = {"sample": tmp_path / "sample.csv", "key_file": tmp_path / "draw.key"}
    dps.draw(tmp_path / "design.json", frame, out=files["sample"], key_file=files["key_file"])
    rows = [{**row, "home": ("", "Rent")[i % 2]} for i, row in enumerate(read_rows_of(files["sample"]))]
    write(tmp_path / "answers.csv", rows)
    done = privatize(tmp_path / "design.json", tmp_path / "answers.csv", **files, out=tmp_path / "out.csv")
    assert (done.answers, done.blank) == (50, 0)
    noised = [row["home"] for row in read_rows_of(tmp_path / "out.csv")]
    assert (noised.count("no answer"), noised.count("rent")) == (25, 25)
    one = run(tmp_path, "privatize", "design.json", "--stratum-value", "a", input="\nown\n")
    assert one.stdout.split("\n") == ["no answer", "own", ""]


def test_what_is_known_of_blanks_makes_a_design_more_precise():
    strata = dps.Strata([500, 900], names=["a", "b"])
    questions = dps.Questionnaire([WITH_BLANKS[4], dps.Question("drinks", "yes_no", blank=False)])
    known = dps.Spreads(strata, questions, proportions={"ill": [[0.9, 0.05, 0.05]] * 2})
    given = {"epsilon": 1, "device_epsilon": 4, "release": "sums", "total": 200}
    worst, better = (dps.design(strata, questions=questions, spreads=s, **given) for s in (None, known))
    assert better.questions[0].standard_error < worst.questions[0].standard_error
    population = dps.synthetic_population(better)
    assert (population[0]["ill"] == "no answer").sum() == 25
    assert dps.simulate(better, population, replications=2000, seed=1).agrees()


def test_the_statement_says_what_becomes_of_blanks():
    strata, given = (
        dps.Strata([500, 900]),
        {"epsilon": 1, "device_epsilon": 4, "release": "sums", "total": 200},
    )

    def assumed(*questions):
        plan = dps.design(strata, questions=questions, forms="one", **given)
        return [each for each in plan.privacy["assumptions"] if "blank" in each]

    blank, plain = dps.Question("a", "yes_no", blank=True), dps.Question("b", "yes_no", blank=False)
    also = dps.Question("c", "yes_no", blank=False)
    (none,), (every,), (some, others) = assumed(plain, also), assumed(blank), assumed(blank, plain)
    assert assumed(plain) == []  # a single answer is no row that could be incomplete
    assert none.startswith("a row counts only if every question of its form is answered")
    assert (
        every
        == some
        == (
            "a question that may be left blank has one more answer, a blank, which is randomised like the others"
        )
    )
    assert others.startswith("a row counts only if all other questions of its form are answered")


def test_a_document_keeps_blanks(tmp_path):
    plan = dps.design(
        dps.Strata(np.array([500, 900])),
        questions=WITH_BLANKS,
        epsilon=1,
        device_epsilon=4,
        release="sums",
        total=200,
    )
    plan.save(tmp_path / "design.json")
    again = dps.load_design(tmp_path / "design.json")
    assert (again, again.digest) == (plan, plan.digest)
    assert [question.blank for question in again.inputs.questions] == [True, True, False, False, True]
    written = plan.to_dict()["inputs"]["questions"]["questions"]
    assert [question["blank"] for question in written] == [True, True, False, False, True]
