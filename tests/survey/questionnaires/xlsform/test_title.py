"""The title of an XLSForm: from its settings to the document and to respondents."""

import pytest

import dpstrata as dps
from questionnaires import write_form


def test_the_title_goes_with_the_questionnaire_into_the_document_and_to_respondents(tmp_path):
    rows = [["type", "name", "label"], ["integer", "years", "Years?"]]
    rows = [[*rows[0], "dp_lower", "dp_upper"], [*rows[1], 0, 9]]
    settings = [["form_id", "form_title"], ["f", " Years  in the city "]]
    form = dps.Questionnaire.from_xlsform(write_form(tmp_path / "f.xlsx", rows, settings=settings))
    assert form.title == form.without_targets().title == "Years in the city"
    asked = {"epsilon": 1, "device_epsilon": 3, "release": "sums", "total": 90}
    plan = dps.design(dps.Strata([900, 800]), questions=form, forms="one", **asked)
    plan.save(tmp_path / "design.json")
    again = dps.load_design(tmp_path / "design.json")
    assert (again.inputs.questions.title, again.digest) == (form.title, plan.digest)
    assert dps.respondent_kit(again).title == form.title
    assert dps.respondent_kit(again, title="Another").title == "Another"


@pytest.mark.parametrize(
    ("title", "words"),
    [("a\x7fb", "text without control characters"), ("x" * 201, "at most 200 characters, got 201")],
)
def test_a_title_that_no_page_could_have_is_refused_at_its_place(tmp_path, title, words):
    survey = [["type", "name", "label", "dp_lower", "dp_upper"], ["integer", "years", "Years?", 0, 9]]
    path = write_form(tmp_path / "f.xlsx", survey, settings=[["form_title"], [title]])
    with pytest.raises(
        dps.QuestionnaireError, match=f"sheet 'settings', row 2, column 'form_title': .*{words}"
    ):
        dps.Questionnaire.from_xlsform(path)


def test_a_title_is_a_line(tmp_path):
    form = dps.Questionnaire([dps.Question("ill", "yes_no")])
    with pytest.raises(dps.QuestionnaireError, match="title must be a line of text"):
        dps.Questionnaire(form, title="two\nlines")
