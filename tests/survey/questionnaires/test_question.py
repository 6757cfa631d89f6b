"""Questions and questionnaires: what they are, how they show themselves, and everything that can be wrong with them."""

import dataclasses
import pickle
from fractions import Fraction

import pytest

import dpstrata as dps
from dpstrata.survey.questionnaires.kinds.base import KINDS, kind_named, read_kind

CATEGORY = {"kind": "category", "categories": ["rent", "own"]}
SCALE = {"kind": "scale", "lower": 1, "upper": 5}
NUMBER = {"kind": "number", "lower": 0, "upper": 100}


def test_every_kind_by_its_levels_and_range():
    def levels(**fields):
        question = dps.Question("q", **fields)
        return question.answer_count, question.range, question.candidates[:2]

    assert levels(kind="yes_no", blank=False) == (2, 1.0, (2,))
    assert levels(kind="category", categories=("a", "b", "c"), blank=False) == (3, 1.0, (3,))
    assert levels(**SCALE) == (5, 4.0, (5,))
    assert levels(kind="scale", lower=0, upper=1, step=0.1) == (11, 1.0, (2, 3))
    assert levels(kind="scale", lower=1, upper=100) == (100, 99.0, (2, 3))
    assert levels(kind="scale", lower=1, upper=100, levels="all") == (100, 99.0, (100,))
    assert levels(kind="scale", lower=0, upper=6) == (7, 6.0, (7,))
    assert dps.Question("q", "scale", lower=0, upper=10).candidates == tuple(range(2, 12))
    assert levels(**NUMBER) == (None, 100.0, (2, 3))


def test_fields_are_kept_as_they_are_read():
    question = dps.Question(
        " home ", "Category", categories=["rent ", "own"], together=" a ", text=" Where?\r\nNow? "
    )
    assert (question.name, question.kind, question.categories) == ("home", "category", ("rent", "own"))
    assert (question.together, question.text, question.importance) == ("a", "Where?\nNow?", 1.0)
    assert dps.Question("q", "yes_no", together="").together is None
    assert dps.Question("q", **SCALE).step == 1.0
    assert isinstance(dps.Question("q", **NUMBER).upper, float)
    with pytest.raises(dataclasses.FrozenInstanceError):
        question.name = "other"
    assert not hasattr(question, "__dict__")
    assert pickle.loads(pickle.dumps(question)) == question
    assert hash(dataclasses.replace(question, importance=2)) != hash(question)


def test_kinds_are_read_as_people_write_them():
    assert {read_kind(text) for text in ("yes_no", "yes/no", "Yes-No", "YES / NO", " yes no ")} == {"yes_no"}
    assert [read_kind(name) for name in KINDS] == list(KINDS)
    assert [read_kind(other) for other in ("", "yesno?", None, 3)] == [None] * 4
    assert dps.Question("q", "yes/no").kind == "yes_no"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": "", "kind": "yes_no"}, "a question: the name of a question must not be empty."),
        ({"name": 3, "kind": "yes_no"}, "a question: the name of a question must be text, got 3."),
        ({"name": "a\nb", "kind": "yes_no"}, r"the name of a question must be a line of text, got 'a\nb'."),
        ({"kind": "essay"}, "kind must be one of yes_no, category, scale, number, got 'essay'."),
        ({"kind": None}, "kind must be one of yes_no, category, scale, number, got None."),
        ({"kind": "yes_no", "lower": 0}, "lower must be left out of a yes/no question, got 0."),
        (
            {"kind": "yes_no", "categories": ["yes", "no"]},
            "categories must be left out of a yes/no question, got yes|no.",
        ),
        (
            {"kind": "category"},
            "a category question must have from 2 to 1,000 categories, got 0.",
        ),
        (
            {"kind": "category", "categories": list(map(str, range(1001)))},
            "a category question must have from 2 to 1,000 categories, got 1,001.",
        ),
        ({"kind": "category", "categories": "ab"}, "categories must be a list of names, got 'ab'."),
        ({"kind": "category", "categories": [1, 2]}, "categories must be a list of names, got [1, 2]."),
        (
            {"kind": "category", "categories": ["a", "b", "A "]},
            "names of categories must differ in more than case, got 'A' again.",
        ),
        (
            {"kind": "category", "categories": ["a", "b|c"]},
            "names of categories must be a line of text without '|', got 'b|c'.",
        ),
        (
            {"kind": "category", "categories": ["a", " "]},
            "names of categories must be a line of text without '|', got ''.",
        ),
        ({**CATEGORY, "step": 1}, "step must be left out of a category question, got 1."),
        ({"kind": "scale", "upper": 5}, "lower must be a number for a scale question, got nothing."),
        ({**SCALE, "lower": "one"}, "lower must be a number, got 'one'."),
        ({**SCALE, "lower": True}, "lower must be a number, got True."),
        ({**SCALE, "upper": float("inf")}, "upper must be a number, got inf."),
        ({**SCALE, "upper": 1}, "lower must be below upper, got lower=1, upper=1."),
        ({**SCALE, "step": 0}, "step must be above 0, got 0."),
        ({**SCALE, "step": 3}, "a scale must have a whole number of steps from lower to upper, got 1.33333."),
        (
            {**SCALE, "step": 9},
            "a scale must have a whole number of steps from lower to upper, got 0.444444.",
        ),
        (
            {**SCALE, "upper": 1e10},
            "a scale must have at most 1,000,000,000 steps (use a number for more), got 9,999,999,999.",
        ),
        (
            {**NUMBER, "step": 1},
            "step must be left out of a number question (use a scale for answers on a grid), got 1.",
        ),
        (
            {**NUMBER, "upper": 1e31},
            "upper must exceed lower by at least 1e-30 and at most 1e30, got 1e+31.",
        ),
        ({"kind": "yes_no", "importance": 0}, "importance must lie between 1e-06 and 1e+06, got 0."),
        ({"kind": "yes_no", "importance": None}, "importance must be a number, got None."),
        ({"kind": "yes_no", "target_se": 0}, "target_se must be above 0, got 0."),
        ({"kind": "yes_no", "target_margin": -1}, "target_margin must be above 0, got -1."),
        (
            {"kind": "yes_no", "target_se": 0.1, "target_margin": 0.2},
            "a question must have one target, a standard error or a margin of error, got both.",
        ),
        ({"kind": "yes_no", "everyone": "no"}, "everyone must be true or false, got 'no'."),
        (
            {"kind": "yes_no", "everyone": True, "together": "a"},
            "a question for everyone is on every form, so it must not be kept together with others, got 'a'.",
        ),
        ({"kind": "yes_no", "together": 3}, "together must be text, got 3."),
        ({"kind": "yes_no", "text": None}, "text must be text, got None."),
        ({"kind": "yes_no", "text": "a\x00"}, r"text must be text without control characters, got 'a\x00'."),
    ],
)
def test_one_clear_sentence(fields, sentence):
    with pytest.raises(dps.QuestionnaireError) as caught:
        dps.Question(**{"name": "q", **fields})
    assert len(caught.value.mistakes) == 1
    assert str(caught.value).endswith(sentence)
    if fields.get("name", "q") == "q":
        assert str(caught.value) == f"question 'q': {sentence}"


def test_every_mistake_is_reported_at_once():
    with pytest.raises(dps.QuestionnaireError, match="question 'q': 3 mistakes") as caught:
        dps.Question("q", "scale", lower=5, upper=1, importance=-1, everyone=3)
    assert len(caught.value.mistakes) == 3


# --- questionnaires -----------------------------------------------------------------------------


def questionnaire():
    return dps.Questionnaire(
        [
            dps.Question("age", "number", lower=0, upper=120, everyone=True),
            dps.Question("smokes", "yes_no", together="habits", target_se=0.02),
            dps.Question("home", "category", categories=list("abcdefg"), target_margin=0.05),
            dps.Question("drinks", "scale", lower=0, upper=1, step=0.25, together="habits", importance=2),
        ]
    )


def test_a_questionnaire_is_a_sequence():
    questions = questionnaire()
    assert len(questions) == 4
    assert questions[1].name == "smokes"
    assert [each.name for each in questions[1:3]] == ["smokes", "home"]
    assert questions.index(questions[2]) == 2
    assert questions[-1] in questions
    assert [each.name for each in reversed(questions)] == list(questions.names)[::-1]
    assert questions.groups == {"habits": (1, 3)}
    assert questions.everyone == (0,)
    assert questions == questionnaire()
    assert hash(questions) == hash(questionnaire())
    assert pickle.loads(pickle.dumps(questions)) == questions
    assert questions != dps.Questionnaire([questions[0]])


@pytest.mark.parametrize(
    ("questions", "sentence"),
    [
        ([], "there must be at least one question, got none."),
        (["q1"], "entry 1 must be a Question, got str."),
        (
            [dps.Question("q", "yes_no"), dps.Question("Q", "yes_no")],
            "names of questions must differ, and not only in case, got 'Q' again.",
        ),
        (
            [dps.Question("q", "yes_no", together="a"), dps.Question("p", "yes_no", together="b")],
            "2 mistakes.",
        ),
        (
            [dps.Question("q", "yes_no", together="a"), dps.Question("p", "yes_no")],
            "together must be shared by at least two questions, got 'a' once.",
        ),
    ],
)
def test_questions_that_do_not_go_together(questions, sentence):
    with pytest.raises(dps.QuestionnaireError) as caught:
        dps.Questionnaire(questions)
    assert f"the questionnaire: {sentence}" in str(caught.value)


def test_a_scale_alone_may_have_many_points():
    assert dps.Questionnaire([dps.Question("q", "scale", lower=0, upper=10**9)])[0].answer_count == 10**9 + 1


def test_it_shows_itself():
    assert [line.split() for line in repr(questionnaire()).splitlines()] == [
        ["4", "questions"],
        ["question", "kind", "answers", "importance", "target", "together", "asked", "of"],
        ["age", "number", "0", "to", "120", "1", "everyone"],
        ["smokes", "yes/no", "yes", "or", "no,", "or", "blank", "1", "SE", "0.02", "or", "less", "habits"],
        [
            "home",
            "category",
            *["a,", "b,", "c,", "d,", "e", "and", "2", "more,", "or", "blank"],
            "1",
            "margin",
            "0.05",
            "or",
            "less",
        ],
        ["drinks", "scale", *["0", "to", "1", "in", "steps", "of", "0.25"], "2", "habits"],
    ]
    html = dps.Questionnaire([dps.Question("<b>", "yes_no")])._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<caption>1 question</caption>" in html
    assert "together" not in html


def test_a_blank_is_one_more_answer():
    """By default, of yes/no and category questions."""
    home = dps.Question("home", "category", categories=["rent", "own"])
    smokes = dps.Question("smokes", "yes_no", labels=["Nein", "Ja"])
    assert home == dps.Question("home", "category", categories=["rent", "own"], blank=True)
    assert [dps.Question("q", **fields).blank for fields in (SCALE, NUMBER)] == [False, False]
    assert (home.answer_count, smokes.answer_count) == (3, 3)
    assert (home.answers, smokes.answers) == ("rent, own, or blank", "yes or no, or blank")
    for question, answers in ((home, ["rent", "own", None]), (smokes, ["No", "1", " "])):
        kind = question.of_kind
        assert [kind.share_of(question, answer) for answer in answers] == [0, Fraction(1, 2), 1]
        assert kind.share_of(question, "perhaps") is None
        assert kind.answer_at(question, 2, 3) == "no answer"
        assert kind.in_table(3, None) == kind_named("category").in_table(3, None)
    assert kind_named("yes_no", blank=True).cases(smokes) == ("no", "yes", "no answer")
    plain = dps.Question("smokes", "yes_no", blank=False)
    assert plain.of_kind.share_of(plain, "") is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (SCALE, "blank must be left out of a scale question, whose blanks do not count"),
        (NUMBER, "blank must be left out of a number question, whose blanks do not count"),
        (
            {"kind": "category", "categories": ["no answer", "b"]},
            "a question that may be left blank must have no category 'no answer', which is a blank",
        ),
    ],
)
def test_where_a_blank_is_no_answer(fields, words):
    with pytest.raises(dps.QuestionnaireError, match=words):
        dps.Question("q", **fields, blank=True)
    with pytest.raises(dps.QuestionnaireError, match="blank must be true or false, got 'x'"):
        dps.Question("q", "yes_no", blank="x")


def test_every_kind_is_complete():
    """A kind that is added says everything that is asked of it."""
    fields = {"yes_no": {"kind": "yes_no"}, "category": CATEGORY, "scale": SCALE, "number": NUMBER}
    assert set(fields) == set(KINDS)
    for name in KINDS:
        kind, question = kind_named(name), dps.Question("q", **fields[name])
        assert kind.title
        assert question.answers
        assert min(question.candidates) >= 2
        assert set(kind.fields) <= {"lower", "upper", "step", "levels", "categories"}
        assert kind.told_by


def test_only_yes_and_no_have_an_order_and_documents_keep_it(tmp_path):
    with pytest.raises(dps.QuestionnaireError, match="no_first must be left out of a scale question"):
        dps.Question("q", **SCALE, no_first=True)
    with pytest.raises(dps.QuestionnaireError, match="no_first must be true or false"):
        dps.Question("q", "yes_no", no_first="x")
    strata, options = dps.Strata([500]), {"epsilon": 1, "device_epsilon": 2, "release": "sums", "total": 40}
    plans = [
        dps.design(strata, questions=dps.Questionnaire([dps.Question("q", "yes_no", no_first=no)]), **options)
        for no in (False, True)
    ]
    written = [plan.to_dict()["inputs"]["questions"]["questions"][0] for plan in plans]
    assert [each["no_first"] for each in written] == [False, True]
    for plan in plans:
        plan.save(tmp_path / "design.json")
        again = dps.load_design(tmp_path / "design.json")
        assert again.inputs.questions == plan.inputs.questions
        assert again.digest == plan.digest
