"""The module for SurveyJS, with a survey that behaves as survey-core's does; and the example's folder."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "surveyjs.py"
COMPLETE = """async ([kit, answers]) => {
  const { randomise } = await import("/static/dpstrata-surveyjs.js");
  const listeners = [];
  const survey = {
    partialSendEnabled: true, data: answers, onCompleting: { add: (listener) => listeners.push(listener) },
    getValue: (name) => survey.data[name],
  };
  randomise(survey, kit, 0);
  for (const listener of listeners) listener(survey, { allow: true });
  return survey;
}"""


@pytest.fixture(scope="module")
def page(browser, survey):
    opened = browser.new_page()
    opened.goto(survey.address)
    yield opened
    opened.close()


def test_nothing_but_the_cell_is_left_to_give_away(page, small_kit):
    kit = small_kit.to_dict()
    kit["odds"] = ["1" + "0" * 40]  # nothing is ever replaced
    answers = {"smokes": True, "home": "own", "income": 8000, "not asked by the kit": "canary"}
    survey = page.evaluate(COMPLETE, [kit, answers])
    assert survey["data"] == {"cell": (1 * 3 + 1) * 2 + 1}
    assert survey["partialSendEnabled"] is False


def test_a_blank_stops_it_before_anything_is_given_away(page, small_kit):
    with pytest.raises(Exception, match="question home: this answer cannot be given"):
        page.evaluate(COMPLETE, [small_kit.to_dict(), {"smokes": True, "income": 8000}])


def test_the_example_loads_only_what_is_in_its_folder(tmp_path):
    packages, folder = tmp_path / "node_modules", tmp_path / "served"
    for path in (packages / "survey-core", packages / "survey-js-ui", folder):
        path.mkdir(parents=True)
    runpy.run_path(str(EXAMPLE))["fill"](folder, packages)
    text = (folder / "index.html").read_text(encoding="utf-8")
    for address in re.findall(r'(?:src|href|from|fetch\()\W{1,2}([^"]+)"', text):
        assert not address.startswith(("http", "//", "/")), address
    for name in ("kit.json", "dpstrata-respond.js", "dpstrata-surveyjs.js", "node_modules/survey-core"):
        assert (folder / name).exists()
