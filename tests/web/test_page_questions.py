"""Questionnaires on the page: a table of questions, files of them, and the forms that follow."""

import json
import re
from pathlib import Path

from browser import Visit, find_barriers, open_file, visiting
from playwright.sync_api import expect

import dpstrata as dps
from dpstrata.survey.questionnaires.kinds.base import KINDS
from questionnaires import YES_NO, write_form

ROOT = Path(__file__).parents[2]
SURVEY = [
    ["type", "name", "label", "constraint", "required"],
    ["select_one yn", "smokes", "Do you smoke?", None, "yes"],
    ["integer", "age", "How old are you?", ". >= 18 and . <= 98"],
]


def field(visit, row, name):
    return visit.page.locator(f'[data-question="{row}"][data-field="{name}"]')


def test_every_kind_of_question_can_be_chosen():
    listed = re.search(r"KINDS = {(.*?)}", (ROOT / "web" / "src" / "questions.js").read_text())
    assert sorted(re.findall(r"(\w+): \"", listed[1])) == sorted(KINDS)


def test_questions_are_typed_and_their_precision_shown(visit):
    visit.ask("total")
    visit.button("Add a question").click()
    visit.button("Add a question").click()
    field(visit, 0, "name").fill("smokes")
    field(visit, 1, "kind").select_option("category")
    expect(field(visit, 1, "lower")).to_be_disabled()
    field(visit, 1, "categories").fill("rent|own|other")
    visit.headline("typical standard error")
    results = visit.page.locator(".questionnaire .results")
    expect(results).to_contain_text("smokes")
    expect(results).to_contain_text("question 2")
    field(visit, 0, "target_margin").fill("0.2")
    expect(visit.page.locator("#headline")).not_to_contain_text("200 interviews")
    visit.settle()
    visit.open(visit.page.url[len(visit.server) :])
    expect(field(visit, 1, "categories")).to_have_value("rent|own|other")
    visit.button("Back to a single question").click()
    visit.headline("117 + 42 + 22 + 19 = 200 interviews")


def test_another_kind_empties_what_does_not_belong_to_it(visit):
    visit.button("Add a question").click()
    field(visit, 0, "kind").select_option("scale")
    for name, text in {"lower": "1", "upper": "5", "step": "2", "importance": "3"}.items():
        field(visit, 0, name).fill(text)
    visit.settle()
    field(visit, 0, "kind").select_option("number")
    expect(field(visit, 0, "step")).to_have_value("")
    expect(field(visit, 0, "upper")).to_have_value("5")
    field(visit, 0, "kind").select_option("yes_no")
    for name in ("lower", "upper", "step"):
        expect(field(visit, 0, name)).to_have_value("")
        expect(field(visit, 0, name)).to_be_disabled()
    expect(field(visit, 0, "importance")).to_have_value("3")
    visit.headline("for the share of any category")
    expect(visit.page.locator(".failure")).to_have_count(0)
    visit.settle()
    visit.button("Undo").click()
    visit.button("Undo").click()
    expect(field(visit, 0, "kind")).to_have_value("scale")
    expect(field(visit, 0, "step")).to_have_value("2")


def test_whether_a_question_may_be_left_blank_is_chosen(visit):
    visit.button("Add a question").click()
    expect(field(visit, 0, "blank").locator("option")).to_have_text(["yes", "no"])
    field(visit, 0, "blank").select_option("no")
    visit.settle()
    _, content = visit.download(visit.page.get_by_role("button", name="Design document"))
    assert json.loads(content)["inputs"]["questions"]["questions"][0].get("blank", False) is False


def test_what_is_wrong_with_a_question_stands_at_its_cell_in_the_words_of_the_page(visit):
    visit.button("Add a question").click()
    field(visit, 0, "kind").select_option("number")
    for name, text in {"lower": "5", "upper": "1", "target_margin": "-1"}.items():
        field(visit, 0, name).fill(text)
    wrong = visit.page.locator(".questionnaire .error-text")
    expect(wrong).to_have_text(
        [
            "“Lowest” must be below “Highest”, got “Lowest” 5, “Highest” 1.",
            "“Margin to reach” must be above 0, got -1.",
        ]
    )
    expect(field(visit, 0, "target_margin")).to_have_attribute("aria-invalid", "true")
    visit.page.get_by_role("button", name="question 1, Margin to reach").click()
    expect(field(visit, 0, "target_margin")).to_be_focused()
    field(visit, 0, "kind").select_option("category")
    field(visit, 0, "target_margin").fill("")
    field(visit, 0, "categories").fill("|".join(f"category {i}" for i in range(300)))
    expect(wrong).to_have_text(["a cell must have at most 1000 characters."])
    expect(visit.page.locator(".strata .error-text, .controls [aria-invalid=true]")).to_have_count(0)
    visit.check()


def test_a_margin_out_of_reach_is_said_as_a_margin_and_the_nearest_can_be_taken(visit):
    visit.button("Add a question").click()
    visit.button("Add a question").click()
    visit.headline("typical standard error")
    field(visit, 0, "target_margin").fill("0.00001")
    failure = visit.page.locator(".failure")
    expect(failure).to_contain_text("question 'question 1' cannot reach a margin of error of 1e-05")
    expect(visit.page.locator(".questionnaire .error-text")).to_contain_text(
        "“Margin to reach” must be at least"
    )
    expect(visit.page.locator(".controls [aria-invalid=true]")).to_have_count(0)
    visit.page.locator('[data-nearest="target_margin"]').click()
    expect(failure).to_have_count(0)
    visit.settle()
    assert float(field(visit, 0, "target_margin").input_value()) > 0.001
    visit.check()


def test_spreads_of_the_strata_are_kept_but_said_to_be_unused(visit):
    """They may be spreads of other answers than those of the questions, which would be refused."""
    open_file(visit, "wide.csv", b"stratum,size,sd,sd_source\nA,7000,2.5,public\nB,8000,4,prior\n")
    expect(visit.control("questions")).to_have_value("0:10")
    unused = visit.page.locator(".strata th", has_text="not used with a questionnaire")
    expect(unused).to_have_count(0)
    visit.button("Add a question").click()
    visit.headline("for the share of any category")
    expect(unused).to_contain_text("sd")
    visit.settle()
    _, content = visit.download(visit.page.get_by_role("button", name="Strata file"))
    assert content.decode().splitlines()[0].split(",")[:2] == ["stratum", "size"]
    assert b"public" not in content
    assert b"2.5" not in content
    visit.button("Back to a single question").click()
    expect(visit.cell(0, "sd")).to_have_value("2.5")
    visit.headline("interviews give")


def test_an_xlsform_is_opened_or_dropped(visit, tmp_path):
    content = write_form(tmp_path / "form.xlsx", SURVEY, YES_NO).read_bytes()
    visit.page.locator(".questionnaire").evaluate(
        """(place, bytes) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], "form.xlsx"));
            place.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        list(content),
    )
    expect(field(visit, 1, "name")).to_have_value("age")
    expect(field(visit, 1, "upper")).to_have_value("98")
    visit.headline("typical standard error")
    expect(visit.cell(0, "stratum")).to_have_value("A")
    margin = field(visit, 1, "target_margin").bounding_box()
    region = visit.page.get_by_role("region", name="The questions").bounding_box()
    assert margin["x"] + margin["width"] <= region["x"] + region["width"]  # no need to scroll for it
    visit.button("Back to a single question").click()
    expect(field(visit, 1, "name")).to_have_count(0)
    open_file(visit, "form.xlsx", content)  # at the strata
    expect(field(visit, 1, "name")).to_have_value("age")
    expect(visit.page.locator(".questionnaire .notice")).to_contain_text("form.xlsx is an XLSForm")
    expect(visit.cell(0, "stratum")).to_have_value("A")
    visit.headline("typical standard error")
    broken = {"name": "form.xlsx", "mimeType": "application/octet-stream", "buffer": b"PK"}
    visit.page.locator(".questionnaire input[type=file]").set_input_files(broken)
    expect(visit.page.locator(".notice.error")).to_contain_text("form.xlsx is not a readable Excel file")
    unknown = [SURVEY[0], ["image", "photo", "A photo"], ["text", "why", "Why?"]]
    refused = write_form(tmp_path / "refused.xlsx", unknown, YES_NO).read_bytes()
    visit.page.locator(".questionnaire input[type=file]").set_input_files({**broken, "buffer": refused})
    notice = visit.page.locator(".questionnaire .notice.error span")  # where one looks at that moment
    expect(notice).to_contain_text("pictures and files cannot be randomised")
    expect(notice).to_be_in_viewport()
    assert "\n" in notice.inner_text()  # a line for each question
    visit.settle()
    visit.check()


def test_rows_that_cannot_be_protected_are_left_out_if_that_is_wished(visit, tmp_path):
    rows = [*SURVEY, ["start", "begun"], ["text", "why", "Why?"]]
    content = write_form(tmp_path / "form.xlsx", rows, YES_NO).read_bytes()
    asked = []
    visit.page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.accept()))
    open_file(visit, "form.xlsx", content)
    expect(field(visit, 1, "name")).to_have_value("age")
    expect(visit.page.locator(".questionnaire .notice")).to_contain_text(
        "row 5, 'why': free text has no fixed"
    )
    visit.page.locator(".questionnaire").get_by_role("button", name="Close this note").click()
    expect(visit.page.locator(".questionnaire .notice")).to_have_count(0)
    file = {"name": "form.xlsx", "mimeType": "application/octet-stream", "buffer": content}
    visit.page.locator(".questionnaire input[type=file]").set_input_files(file)
    expect(visit.page.locator(".questionnaire .notice")).to_contain_text(
        "row 4, 'begun': the time of an answer"
    )
    assert len(asked) == 2
    assert "'text' cannot be protected" in asked[0]
    assert "read the form with these rows left out" in asked[0]
    visit.settle()


def test_a_questionnaire_may_be_protected_against_the_public_alone(visit):
    visit.page.locator('input[name="against"][value="public"]').check()
    visit.button("Add a question").click()
    expect(visit.page.locator('input[name="against"][value="public"]')).to_be_checked()
    visit.headline("for the share of any category")
    visit.button("Add a question").click()
    visit.headline("200 interviews give a typical standard error")
    visit.page.locator('input[name="against"][value="office"]').check()
    visit.headline("typical standard error")


def test_what_speaks_of_a_single_question_is_not_asked(visit):
    visit.ask("target_se")
    visit.page.locator("details.more > summary").click()
    visit.button("Add a question").click()
    visit.button("Add a question").click()
    visit.headline("typical standard error")
    for name in ("mechanism", "questions", "objective", "local_epsilon_cap"):
        expect(visit.control(name)).to_have_count(0)
    expect(visit.page.locator(".one-question")).to_contain_text(
        "Every question of a questionnaire says itself"
    )
    expect(visit.page.locator('input[name="question"]')).to_have_count(2)
    public = visit.page.locator('label:has(input[name="against"][value="public"])')
    expect(public).to_contain_text("200 invited, standard error")
    published = visit.page.locator('label:has(input[name="against"][value="published"])')
    expect(published).to_contain_text("200 invited, standard error")
    field(visit, 0, "target_margin").fill("0.2")
    expect(visit.page.locator('input[name="question"]').first).to_be_disabled()
    expect(visit.page.get_by_text("The margins to reach in the questionnaire decide this")).to_be_visible()
    expect(published).to_contain_text("invited, every margin reached")
    visit.settle()
    visit.button("Back to a single question").click()
    expect(visit.control("mechanism")).to_have_count(1)
    visit.settle()


def test_a_design_document_with_a_questionnaire_is_taken_up(visit):
    questions = dps.Questionnaire(
        [
            dps.Question(
                "smokes", "yes_no", text="Smoke?", blank=True, translations=[dps.Translation("de", "Rauch?")]
            ),
            dps.Question(
                *("home", "category"), categories=["rent", "own"], labels=["Rented", "Owned"], importance=2, blank=False
            ),
            dps.Question("age", "number", lower=18, upper=98, everyone=True),
        ],
        language="en",
    )  # fmt: skip
    strata = dps.Strata([7000, 8000], names=["A", "B"])
    plan = dps.design(strata, questions=questions, epsilon=1, device_epsilon=4, release="sums", total=900)
    document = json.dumps(plan.to_dict())
    open_file(visit, "design.json", document.encode())
    expect(field(visit, 2, "everyone")).to_have_value("yes")
    for row, must in enumerate(("", "no", "")):
        expect(field(visit, row, "blank")).to_have_value(must)
    expect(field(visit, 0, "blank").locator("option:checked")).to_have_text("yes")  # what an empty cell means
    expect(field(visit, 2, "blank")).to_be_disabled()
    expect(field(visit, 0, "text::de")).to_have_value("Rauch?")
    visit.settle()
    _, content = visit.download(visit.page.get_by_role("button", name="Design document"))
    first, again = json.loads(document), json.loads(content)
    assert again["inputs"]["questions"] == first["inputs"]["questions"]
    assert again["forms"] == first["forms"]
    visit.check()


def test_a_design_document_with_known_spreads_is_refused_by_their_name(visit):
    questions = dps.Questionnaire([dps.Question("smokes", "yes_no")])
    strata = dps.Strata([7000, 8000], names=["A", "B"])
    document = dps.design(
        strata, questions=questions, epsilon=1, device_epsilon=4, release="sums", total=900
    ).to_dict()
    document["inputs"]["spreads"] = {"smokes": {"proportion": [0.1, 0.2]}}
    open_file(visit, "design.json", json.dumps(document).encode())
    expect(visit.page.locator(".notice.error")).to_contain_text(
        "This design uses known spreads of the answers to its questions, for which the page has no control"
    )


def test_the_respondents_page_is_previewed_and_no_answer_leaves_it(visit):
    visit.ask("total")
    visit.button("Add a question").click()
    field(visit, 0, "kind").select_option("number")
    field(visit, 0, "lower").fill("0")
    field(visit, 0, "upper").fill("9999")
    visit.headline("standard error of")
    expect(visit.button("Preview the respondents' page")).to_be_disabled()  # noise is added to a number alone
    visit.button("Add a question").click()
    visit.headline("typical standard error")
    visit.settle()
    with visit.page.expect_popup() as popup:
        visit.button("Preview the respondents' page").click()
    preview = Visit(popup.value, visit.server)
    bodies = []
    preview.page.on("request", lambda request: bodies.append(request.post_data or ""))
    preview.page.get_by_role("link", name="Form 1").click()
    preview.page.get_by_role("button", name="Start", exact=True).click()
    preview.page.get_by_role("textbox").fill("8642.5")
    preview.page.get_by_role("button", name="Next", exact=True).click()
    preview.page.get_by_role("radio").first.check()
    for name in ("Next", "Continue"):
        preview.page.get_by_role("button", name=name, exact=True).click()
    expect(preview.page.locator("h1")).to_have_text("What will be sent")
    expect(preview.page.locator("main")).to_contain_text("8,642.5")
    assert find_barriers(preview.page) == []
    preview.page.get_by_role("button", name="Send", exact=True).click()
    expect(preview.page.locator("h1")).to_contain_text("Thank you")
    assert not any("8642" in each for each in [*bodies, *preview.requests])
    assert {key for body in bodies if body for key in json.loads(body)} == {"token", "cell"}
    assert preview.faults == []
    assert all(url.startswith(visit.server) for url in preview.requests)


def test_a_preview_that_is_refused_leaves_no_window(visit):
    visit.button("Add a question").click()
    visit.button("Add a question").click()
    visit.headline("typical standard error")
    visit.settle()
    for path in ("preview", "health"):
        visit.page.route(f"**/api/{path}", lambda route: route.abort())
    visit.button("Preview the respondents' page").click()
    expect(visit.page.locator(".notice.error")).to_contain_text("The server does not answer")
    for _ in range(100):  # a window closes once the browser gets round to it
        if len(visit.page.context.pages) == 1:
            break
        visit.page.wait_for_timeout(100)
    assert len(visit.page.context.pages) == 1
    visit.page.unroute("**/api/health")
    expect(visit.page.locator(".notice")).to_contain_text("The server answers again")
    visit.faults.clear()  # the browser's own lines about the requests


def test_it_fits_a_phone(browser, server):
    with visiting(browser, server, viewport={"width": 390, "height": 844}, color_scheme="dark") as visit:
        visit.open()
        visit.button("Add a question").click()
        visit.headline("for the share of any category")
        visit.settle()
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
        field(visit, 0, "importance").focus()
        name, importance = (field(visit, 0, each).bounding_box() for each in ("name", "importance"))
        assert 0 <= name["x"] < name["x"] + name["width"] <= importance["x"] < 390
        visit.check()
