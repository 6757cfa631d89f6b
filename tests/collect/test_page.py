"""The respondents' page in Chromium: the whole path, in three languages, by keyboard, and for everyone."""

import json
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

import dpstrata as dps
from collecting import labels_of, responding, serving
from dpstrata.fielding.randomizers import randomizers_of
from questionnaires import small_plan

SPOKEN = dps.Questionnaire(
    [
        dps.Question(
            "smokes", "yes_no", blank=False, text="Do you smoke?",
            translations=[dps.Translation("de", "Rauchen Sie?"), dps.Translation("ar", "هل تدخن؟")],
        ),
        dps.Question(
            "work", "category", blank=False, categories=[f"w{i}" for i in range(14)], labels=[f"work {i}" for i in range(14)],
            text="Where do you work?",
            translations=[
                dps.Translation("de", "Wo arbeiten Sie?", labels=[f"Arbeit {i}" for i in range(14)]),
                dps.Translation("ar", "أين تعمل؟", labels=[f"عمل {i}" for i in range(14)]),
            ],
        ),
        dps.Question(
            "hours", "number", lower=0, upper=80, text="How many hours a week?",
            translations=[dps.Translation("de", "Wie viele Stunden in der Woche?"), dps.Translation("ar", "كم ساعة في الأسبوع؟")],
        ),
    ],
    language="en",
)  # fmt: skip


@pytest.fixture(scope="module")
def spoken():
    """A server for a questionnaire in three languages, on one form."""
    with serving(dps.respondent_kit(small_plan(questions=SPOKEN, forms="one"), title="Work")) as served:
        yield served


@pytest.fixture
def visit(browser, survey):
    with responding(browser, survey) as made:
        yield made


def test_a_question_that_may_be_left_blank_has_words_for_it(browser):
    questions = dps.Questionnaire(
        [
            dps.Question("smokes", "yes_no", text="Do you smoke?", blank=True),
            dps.Question(
                "home", "category", categories=["rent", "own"], labels=["Rented", "Owned"], blank=True
            ),
        ],
        language="de",
    )
    kit = dps.respondent_kit(small_plan(questions=questions, forms="one"), title="Home")
    with serving(kit) as served, responding(browser, served) as visit:
        visit.open(served.link(0)).press("Beginnen").without_barriers()
        visit.chooses("Keine Antwort").press("Weiter").without_barriers().chooses("Keine Antwort")


def test_yes_comes_first_and_the_first_page_speaks_of_the_own_form(browser, small_kit):
    questions = dps.Questionnaire(
        [
            dps.Question("smokes", "yes_no", labels=["Nein", "Ja"], text="Rauchen Sie?"),
            dps.Question("drinks", "yes_no", labels=["Nein", "Ja"], text="Trinken Sie?", no_first=True),
        ],
        language="de",
    )
    kit = dps.respondent_kit(small_plan(questions=questions, forms="one"), title="Rauchen")
    with serving(kit) as served, responding(browser, served) as visit:
        visit.open(served.link(0)).press("Beginnen")
        assert visit.page.locator(".choice").all_inner_texts() == ["Ja", "Nein", "Keine Antwort"]
        visit.chooses("Ja").press("Weiter")
        assert visit.page.locator(".choice").all_inner_texts() == ["Nein", "Ja", "Keine Antwort"]
    asked = kit.to_dict()["forms"][0]["questions"]
    assert [each["values"] for each in asked] == [["no", "yes", "no answer"]] * 2
    own = [form["consent"]["en"]["1"].split("\n")[1] for form in small_kit.to_dict()["forms"]]
    assert len(set(own)) == len(own)
    with serving(small_kit) as served, responding(browser, served) as visit:
        for form, text in enumerate(own):
            visit.open("about:blank").open(served.link(form)).sees("What happens to your answers")
            expect(visit.page.locator("main p").first).to_have_text(text)


@pytest.mark.parametrize(("locale", "press", "first"), [("fr", "Commencer", "Oui"), ("es", "Empezar", "Sí")])
def test_the_page_speaks_every_language_of_the_words_for_respondents(browser, survey, locale, press, first):
    with responding(browser, survey, locale=locale) as visit:
        visit.open(survey.link(0))
        heading = survey.kit.to_dict()["consent"][locale].partition("\n")[0]
        visit.sees(heading).press(press).chooses(first)


# --- the whole path ------------------------------------------------------------------------------


def test_yes_no_category_and_number_one_after_another(visit, survey):
    visit.open(survey.link(0)).sees("What happens to your answers").without_barriers()
    expect(visit.page).to_have_title("Health in three regions")
    visit.press("Start").sees("Question 1 of 3").without_barriers().chooses("Yes").press("Next")
    visit.sees("Question 2 of 3").chooses("own").press("Back")
    assert visit.page.get_by_role("radio", name="Yes").is_checked()
    visit.press("Next").press("Next").sees("Question 3 of 3").writes("3000.5").press("Next")
    visit.sees("Check your answers").without_barriers()
    assert visit.page.locator("dd").all_inner_texts() == ["Yes", "own", "3,000.5"]
    assert survey.store.counted == []
    visit.press("Change answers").press("Next").press("Continue").sees("What will be sent").without_barriers()
    # 11/(12 + e⁴ − 1) is 0.168; the words for respondents say the same
    expect(visit.page.locator("main")).to_contain_text("change at least 16 at random")
    assert "changes about 16 of every 100" in str(small_plan().consent(form=1))
    assert visit.page.locator(".rows dl:not([translate=no])").count() == 0
    shown = visit.row()
    visit.press("Send").sees("Thank you").without_barriers()
    form, cell = survey.store.counted.pop()
    assert form == 0
    assert shown == labels_of(survey.kit, form, cell)


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside rows"])
@pytest.mark.parametrize(
    ("asked", "mechanism", "given", "answered"),
    [
        (dps.Question("income", "number", lower=0, upper=8000, text="Your income?"), "sine", "1234.5", "1,234.5"),
        (dps.Question("trust", "scale", lower=1, upper=5, step=1, text="Do you trust it?"), "cells", "4", "4"),
    ],
)  # fmt: skip
def test_a_number_or_a_scale_alone_is_sent_as_a_number(browser, asked, mechanism, given, answered, beside):
    strata = dps.Strata([500, 700], [0.5, 0.5], ["a", "b"])
    options = {"questions": asked, "mechanism": mechanism}
    if beside:  # on a form of its own, where others have rows of several answers
        others = [dps.Question(name, "yes_no", text=f"Do you {name}?") for name in ("smoke", "drink")]
        options = {"questions": [asked, *others], "forms": [[asked.name], ["smoke", "drink"]]}
        options["spreads"] = dps.Spreads(strata, options["questions"], sds={asked.name: 0.2 * asked.range})
    plan = dps.design(strata, epsilon=1, total=200, release="sums", device_epsilon=3, **options)
    randomizer = randomizers_of(plan)[0]
    assert plan.forms[0].mechanism == mechanism
    kit = dps.respondent_kit(plan)
    cells = range(kit.cells_at(0, 0))
    readings = [
        randomizer.published(0, report)[asked.name] for report in randomizer.reports_of_cells(0, cells)
    ]
    with serving(kit) as served, responding(browser, served) as visit:
        visit.open(served.link(0)).press("Start").sees("Question 1 of 1").without_barriers()
        if asked.kind == "number":
            visit.writes("80000").press("Next").sees("Question 1 of 1").writes("77")
        else:
            visit.chooses("2")
        visit.press("Next").sees("Check your answers").press("Change answers")
        visit.writes(given) if asked.kind == "number" else visit.chooses(given)
        visit.press("Next").sees("Check your answers")
        assert visit.page.locator("dd").all_inner_texts() == [answered]
        visit.press("Continue").sees("What will be sent").without_barriers()
        expect(visit.page.locator("main")).to_contain_text("A number drawn at random is sent")
        (shown,) = visit.row()
        visit.page.reload()
        visit.sees("What will be sent")
        assert visit.row() == [shown]
        visit.press("Send").sees("Thank you")
        form, cell = served.store.counted.pop()
    assert form == 0
    assert float(shown.replace(",", "")) == pytest.approx(readings[cell], rel=5e-4, abs=5e-4)


def test_yes_no_and_scale_on_one_page(visit, survey):
    visit.open(survey.link(1)).press("Start").press("Show all questions on one page").sees("Questions")
    visit.press("Next")
    expect(visit.page.get_by_role("alert").first).to_have_text("Please choose an answer.")
    visit.sees("Questions").without_barriers().chooses("No").chooses("4").press("Next").sees(
        "Check your answers"
    )
    visit.press("Continue").sees("What will be sent")
    shown = visit.row()
    visit.press("Send").sees("Thank you")
    form, cell = survey.store.counted.pop()
    assert shown == labels_of(survey.kit, form, cell)


def test_a_row_that_is_replaced_is_said_to_be_changed(visit, survey):
    """With bytes that replace the row, and draw the one with the next answer to the second question."""
    cells, kit = survey.kit.cells[1][0], survey.kit.to_dict()
    last = int(kit["odds"][0]) + cells * int(kit["denominator"]) - 1  # of all cases: the row is not kept
    size = (last.bit_length() + 7) // 8
    drawn = list((last << (8 * size - last.bit_length())).to_bytes(size, "big"))
    drawn.append(7 << 4)  # of 10 cells: yes and 3
    visit.page.add_init_script(
        f"const bytes = {drawn}; crypto.getRandomValues = (place) => place.set(bytes.splice(0, place.length)) ?? place;"
    )
    visit.open(survey.link(1)).press("Start").press("Show all questions on one page").chooses("Yes").chooses(
        "2"
    )
    visit.press("Next").press("Continue")
    assert visit.page.locator(".rows dd").all_inner_texts() == ["Yes", "Yes", "2", "3changed at random"]
    visit.press("Send").sees("Thank you")
    assert survey.store.counted.pop() == (1, 7)


def test_numbers_that_are_none_or_could_be_two(visit, survey):
    visit.open(survey.link(0)).press("Start").chooses("Yes").press("Next").chooses("own").press("Next")
    for text in ("", "abc", "-1", "8000.01", "1,234", "1e3", "１", "12 000"):
        visit.writes(text).press("Next")
        expect(visit.page.get_by_role("alert")).to_have_text(
            "Please write a number from 0 to 8,000, without thousands separators."
        )
        expect(visit.page.get_by_role("textbox")).to_be_focused()
    visit.without_barriers().writes("12").press("Next").sees("Check your answers")


def test_by_keyboard_alone(visit, survey):
    keyboard = visit.page.keyboard
    visit.open(survey.link(0)).sees("What happens to your answers")
    keyboard.press("Tab")
    expect(visit.page.get_by_role("button", name="Start")).to_be_focused()
    keyboard.press("Enter")
    visit.sees("Question 1 of 3")
    expect(visit.page.get_by_role("heading", level=1)).to_be_focused()
    for keys in (["Tab", "Space", "ArrowDown", "Enter"], ["Tab", "Space", "ArrowDown", "ArrowDown", "Enter"]):
        for key in keys:
            keyboard.press(key)
    visit.sees("Question 3 of 3")
    keyboard.press("Tab")
    keyboard.type("1500")
    keyboard.press("Enter")
    visit.sees("Check your answers")
    assert visit.page.locator("dd").all_inner_texts() == ["No", "other", "1,500"]
    keyboard.press("Tab")
    keyboard.press("Enter")
    visit.sees("What will be sent")
    keyboard.press("Tab")
    keyboard.press("Space")
    visit.sees("Thank you")
    assert len(survey.store.counted) == 1
    survey.store.counted.clear()


def test_scales_and_lists_by_keyboard_alone(browser, survey, spoken):
    with responding(browser, survey) as visit:
        visit.open(survey.link(1)).sees("What happens to your answers")
        for key in (
            "Tab",
            "Enter",
            "Tab",
            "Space",
            "Enter",
            "Tab",
            "Space",
            "ArrowRight",
            "ArrowRight",
            "Enter",
        ):
            visit.page.keyboard.press(key)
        visit.sees("Check your answers")
        assert visit.page.locator("dd").all_inner_texts() == ["Yes", "3"]
    with responding(browser, spoken, locale="ar") as visit:
        visit.open(spoken.link(0)).sees("ماذا يحدث لإجاباتك")
        for key in (
            "Tab",
            "Enter",
            "Tab",
            "Space",
            "Enter",
            "Tab",
            "ArrowDown",
            "ArrowDown",
            "Tab",
            "Enter",
            "Tab",
        ):
            visit.page.keyboard.press(key)
        visit.page.keyboard.type("7")
        visit.page.keyboard.press("Enter")
        visit.sees("راجع إجاباتك")
        assert visit.page.locator("dd").all_inner_texts() == ["نعم", "عمل 1", "7"]


# --- languages -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("locale", "direction", "start", "following", "question", "choice", "hours", "shown"),
    [
        ("en-US", "ltr", "Start", "Next", "Do you smoke?", "Yes", "7.25", "7.25"),
        ("de-AT", "ltr", "Beginnen", "Weiter", "Rauchen Sie?", "Ja", "7,25", "7,25"),
        ("ar-EG", "rtl", "ابدأ", "التالي", "هل تدخن؟", "نعم", "٧٫٢٥", "7.25"),
    ],
)
def test_every_language_from_the_first_word_to_the_last(
    browser, spoken, locale, direction, start, following, question, choice, hours, shown
):
    with responding(browser, spoken, locale=locale) as visit:
        visit.open(spoken.link(0))
        visit.press(start)
        root = visit.page.locator("html")
        expect(root).to_have_attribute("dir", direction)
        expect(root).to_have_attribute("lang", locale[:2])
        expect(visit.page.locator("legend")).to_have_text(question)
        visit.chooses(choice).press(following)
        visit.page.locator("main select").select_option("w3")
        visit.without_barriers()
        visit.press(following).writes(hours).press(following)
        assert visit.page.locator("dd").nth(2).inner_text() in (shown, "٧٫٢٥")
        buttons = visit.page.locator("main button.main")
        buttons.click()
        visit.without_barriers()
        buttons.click()
        expect(visit.page.locator("main button")).to_have_count(0)
    assert len(spoken.store.counted) == 1
    spoken.store.counted.clear()


def test_the_language_can_be_changed_at_any_time_and_answers_stay(browser, spoken):
    with responding(browser, spoken, locale="fr-FR") as visit:
        visit.open(spoken.link(0)).press("Start").chooses("Yes")
        language = visit.page.locator("#language")
        assert language.locator("option").all_inner_texts() == ["English", "Deutsch", "العربية"]
        language.select_option("Deutsch")
        expect(language).to_be_focused()
        expect(visit.page.locator("legend")).to_have_text("Rauchen Sie?")
        assert visit.page.get_by_role("radio", name="Ja").is_checked()
        visit.press("Weiter")
        visit.page.locator("main select").select_option("w2")
        visit.press("Weiter").writes("7,125").press("Weiter").sees("Prüfen Sie Ihre Antworten")
        assert visit.page.locator("dd").all_inner_texts() == ["Ja", "Arbeit 2", "7,125"]
        language.select_option("English")
        assert visit.page.locator("dd").all_inner_texts() == ["Yes", "work 2", "7.125"]
        visit.press("Continue").sees("What will be sent")
        language.select_option("العربية")
        expect(visit.page.locator("html")).to_have_attribute("dir", "rtl")
        visit.without_barriers()


def test_texts_in_an_unknown_language_are_offered_with_words_in_all(browser, survey):
    with responding(browser, survey, locale="de-DE") as visit:
        visit.open(survey.link(0)).press("Beginnen").chooses("Ja")
        expect(visit.page.locator("legend")).to_have_text("Do you smoke?")


def test_a_language_without_words_of_its_own_has_english_ones(browser):
    question = dps.Question("q", "yes_no", blank=False, text="Fuma?", labels=["Não", "Sim"])
    questions = dps.Questionnaire([question], language="pt")
    with serving(dps.respondent_kit(small_plan(questions=questions))) as survey, responding(browser, survey) as visit:  # fmt: skip
        visit.open(survey.link(0)).press("Start").sees("Question 1 of 1").chooses("Sim")
        expect(visit.page.locator("html")).to_have_attribute("lang", "en")
        expect(visit.page.locator("legend")).to_have_attribute("lang", "pt")
        expect(visit.page.locator("#language")).to_have_count(0)


def test_words_of_a_questionnaire_are_text_and_never_markup(browser):
    texts = {
        "text": "<b>Bold</b> & <img src=x onerror=alert(1)>",
        "labels": ["<i>no</i>", "<script>alert(1)</script>"],
    }
    questions = dps.Questionnaire([dps.Question("<u>q</u>", "yes_no", blank=False, **texts)])
    kit = dps.respondent_kit(small_plan(questions=questions), title="<h1>T</h1>")
    with serving(kit) as survey, responding(browser, survey) as visit:
        visit.open(survey.link(0)).press("Start").sees("Question 1 of 1")
        expect(visit.page.locator("legend")).to_have_text(texts["text"])
        visit.chooses(texts["labels"][1]).press("Next").press("Continue").sees("What will be sent")
        assert visit.page.locator("b, img, i, u, script:not([src])").count() == 0


# --- screens --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "print_size", "axe"),
    [
        ({"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}, "100%", False),
        ({"viewport": {"width": 390, "height": 844}}, "200%", False),
        ({"viewport": {"width": 320, "height": 600}}, "100%", False),
        ({"color_scheme": "dark"}, "100%", True),
        ({"forced_colors": "active"}, "100%", True),
    ],
    ids=["phone", "large print", "zoomed", "dark", "forced colours"],
)
def test_every_screen_fits_and_can_be_used(browser, survey, options, print_size, axe):
    with responding(browser, survey, **options) as visit:

        def fits(heading):
            visit.sees(heading)
            wide = visit.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert wide <= 0, heading
            if axe:
                visit.without_barriers()

        visit.open(survey.link(0))
        visit.page.evaluate(f"document.documentElement.style.fontSize = '{print_size}'")
        visit.page.locator("summary").last.click()
        fits("What happens to your answers")
        visit.press("Start").press("Show all questions on one page").press("Next")
        fits("Questions")
        visit.chooses("Yes").chooses("rent").writes("8000").press("Next").press("Continue")
        fits("What will be sent")


def test_the_digest_on_the_page_is_that_of_the_kit(visit, survey):
    visit.open(survey.link(0))
    visit.page.locator("summary", has_text="Digest of this survey").click()
    expect(visit.page.locator(".digest")).to_have_text(survey.kit.digest)


def test_nothing_is_asked_but_the_kit_and_the_two_endpoints(visit, survey):
    visit.open(survey.link(0)).answers_first_form().press("Send").sees("Thank you")
    asked = [(request.method, urlsplit(request.url).path) for request in visit.requests]
    files = [
        ("GET", f"/static/{name}") for name in ("page.css", "page.js", "dpstrata-respond.js", "icon.svg")
    ]
    expected = [("GET", "/"), *files, ("GET", "/kit.json"), *[("POST", "/look")] * 2, ("POST", "/send")]
    assert sorted(asked) == sorted(expected) or sorted([*asked, ("GET", "/static/icon.svg")]) == sorted(
        expected
    )
    sent = json.loads(visit.requests[-1].post_data)
    assert set(sent) == {"token", "cell"}
    survey.store.counted.clear()
