"""A single question is spoken of as one, also where its answers are sent as rows of one are."""

import pytest

import dpstrata as dps
from dpstrata.present.report.words import headline

STRATA = dps.Strata([700, 900], names=["north", "south"])
OPTIONS = {"epsilon": 1, "total": 600}
PLANS = {
    "category, counts": {"questions": ["rent", "own", "other"], "release": "sums", "device_epsilon": 2},
    "category, answers": {
        "questions": dps.Question("home", "category", categories=["rent", "own"]),
        "forms": "one",
    },
    "yes or no": {"questions": "yes_no", "forms": "one", "release": "sums", "device_epsilon": 3},
    "number": {"questions": (0, 100), "forms": "one"},
}


@pytest.fixture(params=PLANS, scope="module")
def plan(request):
    return dps.design(STRATA, **OPTIONS, **PLANS[request.param])


def test_no_sentence_speaks_of_questionnaires_rows_or_forms(plan):
    assert plan.inputs.release_form.of_rows
    report = dps.report_html(plan).split("How to reproduce it")[0]
    said = [repr(plan), headline(plan), str(plan.consent()), report]
    for text in said:
        for words in ("typical", "questionnaire", " row", "form 1", "1 form", "of a form"):
            assert words not in text


def test_its_precision_is_in_its_own_units(plan):
    (question,) = plan.questions
    assert f"{question.standard_error:.4g}" in repr(plan).splitlines()[0]
    assert f"a margin of error of {question.margin:.4g}" in repr(plan).splitlines()[0]
    assert f"{question.standard_error:#.3g}" in headline(plan)


def test_too_few_people_are_refused_in_the_same_words():
    with pytest.raises(dps.InputError, match="two people in every stratum"):
        dps.design(STRATA, epsilon=1, total=3, **PLANS["category, counts"])
