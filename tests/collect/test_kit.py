"""The kit: what it holds, what it must not, and what it is refused for."""

import hashlib
import json
from functools import cache

import pytest
from mpmath import mp

import dpstrata as dps
from dpstrata.collect.languages import tag_of
from questionnaires import small_plan as make_plan

STRATA = dps.Strata([900, 2000], names=["a", "b"])
small_plan = cache(make_plan)


def one_question(**options):
    return dps.design(STRATA, **({"epsilon": 1.0, "total": 300, "questions": "yes_no"} | options))


def test_it_has_every_form_with_its_questions_and_levels():
    plan = small_plan()
    kit = dps.respondent_kit(plan, title=" Health ")
    data = kit.to_dict()
    assert (data["kit"], data["design"], data["title"]) == (1, plan.digest, "Health")
    for form, designed in zip(data["forms"], plan.forms, strict=True):
        assert form["cells"] == designed.cells
        assert [question["name"] for question in form["questions"]] == list(designed.questions)
        assert [len(question["values"]) for question in form["questions"]] == list(designed.levels)
    assert kit.cells == tuple((form.cells,) for form in plan.forms)
    questions = {question["name"]: question for form in data["forms"] for question in form["questions"]}
    assert questions["smokes"] == {
        "name": "smokes", "kind": "yes_no", "values": ["no", "yes"], "text": ["Do you smoke?"]
    }  # fmt: skip
    assert questions["trust"]["values"] == ["1", "2", "3", "4", "5"]
    assert (questions["income"]["lower"], questions["income"]["upper"]) == ("0", "8000")


def test_the_same_design_gives_the_same_bytes_and_a_digest_of_them():
    first, second = (dps.respondent_kit(make_plan(), title="Health") for _ in range(2))
    assert first.content == second.content
    assert first.digest == hashlib.sha256(first.content).hexdigest()
    assert dps.respondent_kit(small_plan(), title="Wealth").digest != first.digest
    assert json.dumps(first.to_dict(), sort_keys=True, ensure_ascii=False, separators=(",", ":")) == (
        first.content.decode()
    )


@pytest.mark.parametrize("budget", [1e-6, 1.0, 7.3, 100.0])
def test_odds_are_just_below_the_budget(budget):
    data = dps.respondent_kit(small_plan(device_epsilon=budget)).to_dict()
    with mp.workdps(120):
        exact = mp.expm1(mp.mpf(budget))
        odds = mp.mpf(int(data["odds"][0])) / int(data["denominator"])
        assert 0 <= exact - odds < mp.mpf(2) ** -40 + exact * budget * mp.mpf(2) ** -47


def test_published_rows_have_the_odds_of_their_stratum():
    plan = small_plan(release="microdata", device_epsilon=None)
    kit = dps.respondent_kit(plan)
    data = kit.to_dict()
    for row, place in enumerate(kit.odds):
        with mp.workdps(60):
            budget = plan.local_epsilon(row)
            exact = mp.expm1(mp.mpf(budget))
            odds = mp.mpf(int(data["odds"][place])) / int(data["denominator"])
            assert 0 <= exact - odds < mp.mpf(2) ** -40 + exact * budget * mp.mpf(2) ** -47
    assert len(data["odds"]) == len(set(kit.odds)) == 3
    assert dps.respondent_kit(small_plan()).odds == (0, 0, 0)


def test_no_stratum_and_no_spread_is_in_it():
    """Who is asked what, and what is expected of them, is no business of a device."""
    text = dps.respondent_kit(small_plan()).content.decode()
    for word in ("north", "middle", "south", "proportion", "importance", "share", "sample"):
        assert word not in text


def test_languages_labels_and_what_is_not_translated():
    questions = dps.Questionnaire(
        [
            dps.Question(
                "smokes", "yes_no", text="Do you smoke?", labels=["never", "yes"],
                translations=[dps.Translation("de", "Rauchen Sie?", labels=["nie", "ja"])],
            ),
            dps.Question("trust", "scale", lower=1, upper=3, text="Trust?", translations=[dps.Translation("ar", "ثقة؟")]),
            dps.Question("plain", "yes_no"),
        ],
        language="English (en)",
    )  # fmt: skip
    data = dps.respondent_kit(make_plan(questions=questions, forms="one")).to_dict()
    assert data["languages"] == [
        {"name": "English (en)", "tag": "en"}, {"name": "de", "tag": "de"}, {"name": "ar", "tag": "ar"}
    ]  # fmt: skip
    smokes, trust, plain = data["forms"][0]["questions"]
    assert smokes["text"] == ["Do you smoke?", "Rauchen Sie?", "Do you smoke?"]
    assert smokes["labels"] == [["never", "yes"], ["nie", "ja"], ["never", "yes"]]
    assert trust["text"] == ["Trust?", "Trust?", "ثقة؟"]
    assert plain["text"] == ["plain"] * 3
    assert "labels" not in plain


@pytest.mark.parametrize(
    ("name", "tag"),
    [("en", "en"), ("English", "en"), ("Deutsch", "de"), ("Kiswahili (sw)", "sw"), ("zh-Hant", "zh-Hant"), ("", ""), ("Elvish tongue", "")],
)  # fmt: skip
def test_languages_as_browsers_name_them(name, tag):
    assert tag_of(name) == tag


# --- one question ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "kind", "values"),
    [
        ({}, "yes_no", ["no", "yes"]),
        ({"release": "sums", "device_epsilon": 2.0}, "yes_no", ["no", "yes"]),
        ({"release": "mean", "device_epsilon": 2.0}, "yes_no", ["no", "yes"]),
        ({"questions": ["rent", "own", "other"]}, "category", ["rent", "own", "other"]),
        ({"questions": (0, 5, 5), "mechanism": "randomized_response"}, "scale", ["0", "5"]),
    ],
)
def test_a_single_question_is_a_form_of_its_own(options, kind, values):
    kit = dps.respondent_kit(one_question(**options), text="Do you?")
    (form,) = kit.to_dict()["forms"]
    (question,) = form["questions"]
    assert (question["kind"], question["values"], question["text"]) == (kind, values, ["Do you?"])
    assert kit.cells == ((len(values),),)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dps.respondent_kit(one_question(mechanism="laplace"), text="?"), "sine. or forms=.one."),
        (lambda: dps.respondent_kit(one_question(release="sums"), text="?"), "the office sees raw answers"),
        (lambda: dps.respondent_kit(one_question()), "text must be the question as respondents read it"),
        (lambda: dps.respondent_kit(small_plan(), text="Do you?"), "text is for a single question"),
        (lambda: dps.respondent_kit(small_plan(), title="a\nb"), "title must be a line"),
        (lambda: dps.respondent_kit(small_plan(), title="x" * 201), "title must be a line"),
        (lambda: dps.respondent_kit("design.json"), "a kit needs a Design, got str"),
    ],
)  # fmt: skip
def test_what_no_kit_can_be_made_of(make, words):
    with pytest.raises(dps.InputError, match=words):
        make()


# --- files ---------------------------------------------------------------------------------------


def test_it_is_saved_byte_for_byte_over_an_older_one(tmp_path):
    kit = dps.respondent_kit(small_plan())
    path = tmp_path / "kit.json"
    dps.respondent_kit(small_plan(), title="before").save(path)
    kit.save(path)
    assert path.read_bytes() == kit.content


def test_nothing_else_is_overwritten(tmp_path):
    kit = dps.respondent_kit(small_plan())
    path = tmp_path / "design.json"
    small_plan().save(path)
    before = path.read_bytes()
    with pytest.raises(dps.InputError, match="is not a kit"):
        kit.save(path)
    assert path.read_bytes() == before
    with pytest.raises(dps.InputError, match=r"must end in \.json"):
        kit.save(tmp_path / "kit.txt")


# --- what respondents are told --------------------------------------------------------------------


def test_respondents_are_told_what_the_design_says_in_every_language():
    plan = small_plan(device_epsilon=2.0)
    told = dps.respondent_kit(plan).to_dict()["consent"]
    assert set(told) >= {"en", "de", "ar"}
    for language, text in told.items():
        title, *parts = text.split("\n\n")
        consent = plan.consent(language)
        assert title == consent.title
        assert parts == [f"{heading}\n{' '.join(said)}" for heading, said in consent.parts]
        assert "89" in text  # e²/(1 + e²) = 88.08%, rounded up


def test_respondents_with_a_form_are_told_what_holds_for_it():
    plan = small_plan()
    data = dps.respondent_kit(plan).to_dict()
    assert len(data["forms"]) > 1
    for number, form in enumerate(data["forms"], start=1):
        for language, text in data["consent"].items():
            own = form["consent"][language]
            parts = [own.get(str(place), part) for place, part in enumerate(text.split("\n\n"))]
            assert "\n\n".join(parts) == str(plan.consent(language, form=number)).rstrip("\n")
            assert 0 < len(own) < len(parts)
    (only,) = dps.respondent_kit(small_plan(forms="one")).to_dict()["forms"]
    assert "consent" not in only
