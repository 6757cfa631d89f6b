"""The page in a real browser while someone works: what stays, what is undone, what is said, and in whose colours."""

import re

import pytest
from browser import FIRST, open_file, visiting
from playwright.sync_api import expect

import dpstrata as dps
from dpstrata.present.report.words import headline

COLOUR = "element => getComputedStyle(element).color"


def test_results_stay_dimmed_while_one_types_and_errors_come_after_a_pause(visit):
    field, failure = visit.control("total"), visit.page.locator(".failure")
    shown = visit.page.locator("#headline")
    ink = shown.evaluate(COLOUR)
    field.fill("")
    assert failure.count() == 0  # not a mistake yet: someone is typing
    expect(visit.page.locator(".headline.stale")).to_have_count(1)
    visit.headline(FIRST)
    field.press_sequentially("2")
    expect(failure).to_contain_text("at least the sum of the minimums")
    expect(field).to_have_attribute("aria-invalid", "true")
    words = visit.page.locator(f"#{field.get_attribute('aria-describedby')}")
    expect(words).to_contain_text("at least the sum of the minimums (4), got 2.")
    expect(visit.page.locator(".result.old")).to_contain_text("The previous plan, which still had a design")
    visit.headline(FIRST)
    expect(visit.page.locator("td.invite").first).to_have_text("117")  # dimmed too
    visit.page.wait_for_timeout(600)
    assert shown.evaluate(COLOUR) != ink
    visit.check()
    field.press_sequentially("50")
    visit.headline("= 250 interviews")
    expect(failure).to_have_count(0)


def test_a_refusal_is_announced_once(visit):
    visit.control("epsilon").fill("5000")
    expect(visit.page.locator(".headline [role=status]")).to_contain_text(
        "No design: Epsilon must lie between"
    )
    saying = visit.page.locator("[role=alert], [role=status], [aria-live]").filter(
        has_text="must lie between"
    )
    expect(saying).to_have_count(1)


def test_changes_are_undone_and_done_again(visit):
    undo, redo = visit.button("Undo"), visit.button("Redo")
    expect(undo).to_be_disabled()
    expect(redo).to_be_disabled()
    visit.control("total").fill("300")
    visit.headline("= 300 interviews")
    visit.cell(0, "size").fill("9999")
    visit.cell(0, "size").press("Control+z")
    expect(visit.cell(0, "size")).to_have_value("7000")
    visit.page.keyboard.press("Control+z")
    visit.headline(FIRST)
    expect(undo).to_be_disabled()
    visit.page.keyboard.press("Control+Shift+z")
    expect(visit.control("total")).to_have_value("300")
    redo.click()
    expect(visit.cell(0, "size")).to_have_value("9999")
    expect(redo).to_be_disabled()
    visit.page.reload()
    visit.settle()
    undo.click()
    expect(visit.cell(0, "size")).to_have_value("7000")
    visit.control("total").fill("301")
    expect(redo).to_be_disabled()
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.button("Copy link").click()
    expect(visit.page.get_by_text("Link copied")).to_be_visible()
    assert visit.page.evaluate("navigator.clipboard.readText()") == visit.page.url
    assert "total=301" in visit.page.url
    expect(visit.page).to_have_title(re.compile("301 people in 4 strata, ε 1"))


def test_mechanisms_that_do_not_fit_are_disabled_with_their_reason(visit):
    def unfit():
        return (
            visit.control("mechanism")
            .locator("option:disabled")
            .evaluate_all("all => all.map(each => each.value)")
        )

    reasons = visit.page.locator(".misfits")
    expect(reasons).to_contain_text("Why 4 do not fit")
    assert unfit() == ["cells", "discrete_laplace", "randomized_response", "category_response"]
    reasons.locator("summary").click()
    expect(reasons).to_contain_text(
        "Randomized response protects answers of two values, got any number in a range."
    )
    visit.check()
    visit.control("questions").fill("yes_no")
    expect(reasons).to_contain_text("Why 2 do not fit")
    assert unfit() == ["cells", "category_response"]
    visit.control("release").select_option("sums")
    expect(reasons).to_contain_text("The office adds noise to the sum of a stratum")
    visit.control("release").select_option("microdata")
    visit.control("mechanism").select_option("randomized_response")
    visit.control("questions").fill("0:10")
    button = visit.page.locator(".failure button")
    expect(button).to_have_text("Use the most precise mechanism that fits")
    visit.cell(0, "sd").focus()
    button.click()
    expect(visit.control("mechanism")).to_have_value("best")
    expect(visit.page.locator(".failure")).to_have_count(0)


def test_a_column_that_is_ticked_does_not_break_the_plan(visit, strata):
    visit.page.locator("summary", has_text="Columns").click()
    for name in ("cost of one invitation", "share who would answer", "minimum to invite"):
        visit.page.get_by_label(name).check()
        visit.settle()
        expect(visit.page.locator(".failure")).to_have_count(0)
    visit.headline(headline(dps.design(strata, epsilon=1, total=200)))
    visit.ask("budget")
    expect(visit.page.locator(".failure")).to_contain_text("A budget needs the column cost: fill it in.")
    visit.ask("total")
    visit.cell(0, "cost").fill("10")
    expect(visit.cell(1, "cost")).to_have_attribute("aria-invalid", "true")
    for row in range(1, 4):
        visit.cell(row, "cost").fill("10")
    visit.headline("at a cost of")


def test_the_invitations_are_in_sight_on_a_phone(browser, server):
    with visiting(browser, server, viewport={"width": 390, "height": 844}) as visit:
        visit.open()
        box = visit.page.locator("td.invite").first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        visit.cell(0, "sd").focus()
        cell, invite = (
            visit.cell(0, "sd").bounding_box(),
            visit.page.locator("td.invite").first.bounding_box(),
        )
        assert cell["x"] + cell["width"] <= invite["x"] + 1 or invite["x"] + invite["width"] <= cell["x"] + 1
        visit.check()


def test_columns_may_be_called_anything(visit):
    table = "stratum,__proto__,size,constructor,sd,2024,toString\nA,x,7000,p,0.2,1,t\nB,y,8000,q,0.3,2,u\n"
    sent = []
    visit.page.on("request", lambda each: "/api/design" in each.url and sent.append(each.post_data))
    open_file(visit, "odd.csv", table.encode())
    order = ["stratum", "__proto__", "size", "constructor", "sd", "2024", "toString"]
    expect(visit.cell(1, "__proto__")).to_have_value("y")
    visit.settle()
    visit.headline("200 interviews")
    heads = visit.page.locator("table.edit thead th").all_inner_texts()
    assert [head.split()[0] for head in heads[:7]] == order
    assert visit.cell(1, "constructor").input_value() == "q"
    places = [sent[-1].index(f'"{name}":[') for name in order]
    assert places == sorted(places)
    visit.page.get_by_role("checkbox", name="constructor").check()
    expect(visit.page.locator(".groups tbody tr")).to_have_count(3)
    link = visit.page.url
    visit.leave()
    visit.page.goto(link)
    visit.headline("200 interviews")
    assert visit.cell(0, "__proto__").input_value() == "x"
    _, content = visit.download(visit.page.locator("button.file", has_text="Strata file"))
    assert set(order) <= set(content.decode().splitlines()[0].split(","))


SIDES = ("top", "right", "bottom", "left")


def brightness(colour):
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return (0.3 * red + 0.6 * green + 0.1 * blue) / 255


def test_it_prints_in_landscape_and_from_a_dark_screen(browser, server):
    with visiting(browser, server, color_scheme="dark") as visit:
        visit.open()
        expect(visit.page.locator(".drawing[data-ink=dark]")).to_have_count(5)
        for width, height in ((1047, 718), (718, 1047)):  # A4 without margins, in pixels of CSS
            visit.page.emulate_media(media="print", color_scheme="dark")
            visit.page.set_viewport_size({"width": width, "height": height})
            assert visit.page.locator("main").bounding_box()["width"] > 0.95 * width
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
            assert brightness(visit.page.locator("#headline").evaluate(COLOUR)) < 0.3
            assert brightness(visit.page.locator("td.invite").first.evaluate(COLOUR)) < 0.3
            inverted = visit.page.locator(".drawing canvas").first.evaluate(
                "it => getComputedStyle(it).filter"
            )
            assert "invert" in inverted
            foot = visit.page.locator(".strata tfoot").evaluate("it => getComputedStyle(it).display")
            assert foot == "table-row-group"  # else every page would repeat the sum
            drawing = visit.page.locator(".drawing").first
            widths = [each.bounding_box()["width"] for each in (drawing, drawing.locator("canvas"))]
            assert widths[0] == pytest.approx(widths[1], abs=1)
        visit.page.evaluate("window.paint?.(true)")
        printed = visit.page.pdf(landscape=True, format="A4", margin=dict.fromkeys(SIDES, "1cm"))
        assert len(re.findall(rb"/Type /Page\b", printed)) == 2  # the result and its charts, then the strata
        visit.page.emulate_media(media="screen", color_scheme="dark")


def test_forced_colours_show_what_is_chosen_and_every_state_is_for_everyone(browser, server):
    with visiting(browser, server, forced_colors="active", reduced_motion="reduce") as visit:
        visit.open()
        back = "element => getComputedStyle(element).backgroundColor"
        chosen, other = (
            visit.page.locator(f'input[name="question"][value="{name}"] + span')
            for name in ("total", "at_most")
        )
        assert chosen.evaluate(back) != other.evaluate(back)
        python, command = visit.button("Python"), visit.button("Command line")
        assert python.evaluate(back) != command.evaluate(back)
        assert visit.find_barriers() == []
        held = []
        visit.page.route("**/api/**", lambda route: held.append(route))
        visit.control("epsilon").fill("2")
        expect(visit.page.locator(".headline.stale")).to_have_count(1)
        assert visit.find_barriers() == []  # stale
        for route in held:
            route.continue_()
        visit.page.unroute("**/api/**")
        visit.settle()
        visit.control("epsilon").fill("x")
        expect(visit.page.locator(".failure")).to_be_visible()
        assert visit.control("epsilon").evaluate("it => getComputedStyle(it).borderStyle") == "dashed"
        visit.page.emulate_media(color_scheme="dark", forced_colors="active")
        assert visit.find_barriers() == []
        open_file(visit, "other.csv", b"Region,People\nA,4000\nB,6000\n")
        expect(visit.page.locator(".asking")).to_be_visible()
        assert visit.find_barriers() == []
