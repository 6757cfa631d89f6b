"""The page in a real browser: what is shown belongs to the plan that is shown, or says that it does not."""

import json

import pytest
from browser import FIRST, visiting
from playwright.sync_api import expect

import dpstrata as dps
from dpstrata.report.words import headline

GOOD = "total=200&epsilon=1&strata=stratum,size,sd;A,7000,0.283;B,8000,0.08"


def outputs(visit):
    """What the table says beside its rows."""
    return [cell.strip() for cell in visit.page.locator("tbody td.out").all_inner_texts()]


def open_file(visit, name, content):
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    visit.page.locator(".strata input[type=file]").set_input_files(file)


def release(visit, pattern, held):
    """Let requests go that were held back."""
    for route in held:
        route.continue_()
    visit.page.unroute(pattern)


# --- the table --------------------------------------------------------------------------------


def test_figures_stand_beside_their_own_strata_alone(visit):
    assert outputs(visit)[0] == "62"
    visit.control("epsilon").fill("")
    expect(visit.page.locator(".failure")).to_be_visible()
    visit.button("Remove A").click()
    expect(visit.page.locator("tbody input.name")).to_have_count(3)
    assert set(outputs(visit)) == {""}
    expect(visit.page.locator("table.edit tfoot")).to_have_count(0)
    visit.page.locator("select.example").select_option("empty")
    expect(visit.page.locator(".headline")).to_contain_text("No strata yet")
    assert set(outputs(visit)) == {""}
    visit.page.go_back()
    visit.control("epsilon").fill("1")
    visit.headline("= 200 interviews")
    held = []
    visit.page.route("**/api/design", lambda route: held.append(route))
    visit.button("Remove B").click()  # while its answer is under way, no figure is C's
    expect(visit.page.locator("tbody input.name")).to_have_count(2)
    assert set(outputs(visit)) == {""}
    release(visit, "**/api/design", held)
    expect(visit.page.locator("table.edit tfoot")).to_contain_text("19,000")


def test_a_curve_of_the_plan_before_says_so(visit):
    held = []
    visit.page.route("**/api/precision", lambda route: held.append(route))
    visit.control("total").fill("300")
    visit.headline("= 300 interviews")
    for name in ("precision", "epsilon"):
        figure = visit.page.locator(f'figure[aria-labelledby="chart-{name}"]')
        expect(figure).to_contain_text("of the plan before")
        expect(figure.get_by_role("button", name="Save chart as SVG")).to_be_disabled()
    allocation = visit.page.locator('figure[aria-labelledby="chart-allocation"]')
    expect(allocation).not_to_contain_text("of the plan before")
    expect(allocation.get_by_role("button", name="Save chart as SVG")).to_be_enabled()
    release(visit, "**/api/precision", held)
    expect(visit.page.get_by_text("of the plan before")).to_have_count(0)
    expect(visit.page.locator('figure[aria-labelledby="chart-precision"]')).to_contain_text("300 interviews")


# --- documents --------------------------------------------------------------------------------


def test_a_document_opens_with_its_own_question_or_not_at_all(visit, strata, tmp_path):
    def saved(plan):
        plan.save(tmp_path / "design.json")
        return (tmp_path / "design.json").read_bytes()

    notice = visit.page.locator(".notice.error")
    costly = dps.Strata(strata.sizes, strata.sds, costs=[1.0, 2.0, 3.0, 4.0], names=list(strata.names))
    open_file(visit, "design.json", saved(dps.design(costly, epsilon=1, target_se=0.03, budget=5000)))
    expect(notice).to_contain_text("target_se and budget together, for which the page has no control")
    open_file(
        visit,
        "design.json",
        saved(dps.pilot(strata, epsilon=1, pilot_epsilon=0.5, pilot_total=200, total=800)),
    )
    expect(notice).to_contain_text("two waves, for which the page has no control")
    for content in (
        b'{"format": "dpstrata.design", "strata": []}',
        b'{"format": "dpstrata.design", "strata": [1]}',
    ):
        open_file(visit, "design.json", content)
        expect(notice).to_contain_text("This design document is damaged.")
    open_file(visit, "plan.json", b"null")
    expect(notice).to_contain_text("neither a plan file nor a design document")
    visit.headline(FIRST)
    plan = dps.design(strata, epsilon=1, total=250)
    assert json.loads(saved(plan))["inputs"]["delta"] == 0
    open_file(visit, "design.json", saved(plan))
    visit.headline(headline(plan))
    visit.control("mechanism").select_option("gaussian")
    visit.headline(headline(dps.design(strata, epsilon=1, total=250, mechanism="gaussian", delta=1e-6)))


# --- numbers ----------------------------------------------------------------------------------


def test_separators_of_thousands_are_refused_and_decimal_commas_are_read(visit, strata):
    failure = visit.page.locator(".failure")
    for text in ("1,000", "1.000", "1 000", "200,5"):
        visit.control("total").fill(text)
        expect(failure).to_contain_text(f'whole number without commas, points or spaces, got "{text}"')
        expect(visit.control("total")).to_have_attribute("aria-invalid", "true")
    visit.control("total").fill("200")
    visit.control("epsilon").fill("1,000")
    expect(failure).to_contain_text("without separators of thousands")
    visit.control("epsilon").fill("0,125")
    visit.headline(headline(dps.design(strata, epsilon=0.125, total=200)))


# --- links ------------------------------------------------------------------------------------


def test_a_damaged_link_is_told(browser, server):
    damaged = [
        "strata=",
        "nonsense",
        "%ZZ",
        "total=%E0%A4%A&strata=x&end",
        GOOD,  # cut before its end
        f"{GOOD};C,900&end",
        f"mechanism=evil&{GOOD}&end",
        f"at_most=9&{GOOD}&end",
        f"colour=red&{GOOD}&end",
    ]
    with visiting(browser, server) as visit:
        notice = visit.page.locator(".notice.error")
        visit.open(f"#{GOOD}")
        expect(notice).to_contain_text("This link is damaged or was cut off")
        visit.headline(FIRST)
        visit.page.goto(f"{server}#{GOOD}&end")
        expect(visit.page.locator("tbody input.name")).to_have_count(2)
        expect(notice).to_have_count(0)
        for text in damaged:
            visit.page.evaluate("text => (location.hash = text)", text)
            expect(notice).to_contain_text("This link is damaged or was cut off")
            visit.page.evaluate("text => (location.hash = text)", f"{GOOD}&end")
            expect(notice).to_have_count(0)
        visit.page.evaluate("text => (location.hash = text)", f"{GOOD}&held.total=9&end")
        expect(notice).to_contain_text("held plan of this link is damaged")
        visit.page.evaluate("text => (location.hash = text)", "large")
        expect(notice).to_contain_text("too large for an address")
        visit.settle()


@pytest.mark.parametrize(
    "hash", ["#epsilon=1&strata=%3Cb%3E,size;1,2", "#total=9&epsilon=1&strata=%3Cb%3E,size;1,2&end"]
)
def test_hostile_links_are_survived(browser, server, hash):
    with visiting(browser, server) as visit:
        visit.open(hash)
        expect(visit.page.locator("#headline, .failure")).to_be_visible()
