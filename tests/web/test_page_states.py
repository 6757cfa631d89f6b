"""The page in a real browser: what is shown belongs to the plan that is shown, or says that it does not."""

import re

from browser import FIRST, PASTE, open_file, visiting
from playwright.sync_api import expect

import dpstrata as dps
from dpstrata.present.report.words import headline
from extent import few

GOOD = "total=200&epsilon=1&strata=stratum,size,sd;A,7000,0.283;B,8000,0.08"


def outputs(visit):
    """What the table says beside its rows."""
    return [cell.strip() for cell in visit.page.locator("tbody td.out").all_inner_texts()]


def release(visit, pattern, held):
    """Let requests go that were held back."""
    for route in held:
        route.continue_()
    visit.page.unroute(pattern)


# --- the table --------------------------------------------------------------------------------


def test_figures_stand_beside_their_own_strata_alone(visit):
    assert outputs(visit)[0] == "117"
    visit.control("epsilon").fill("")
    expect(visit.page.locator(".failure")).to_be_visible()
    visit.button("Remove A").click()
    expect(visit.page.locator("tbody input.name")).to_have_count(3)
    assert set(outputs(visit)) == {""}
    expect(visit.page.locator("table.edit tfoot")).to_have_count(0)
    visit.page.locator("select.example").select_option("empty")
    expect(visit.page.locator(".first")).to_contain_text("No strata yet")
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
        expect(figure).to_contain_text("previous plan")
        expect(figure.get_by_role("button", name="Save chart as SVG")).to_be_disabled()
    allocation = visit.page.locator('figure[aria-labelledby="chart-allocation"]')
    expect(allocation).not_to_contain_text("previous plan")
    expect(allocation.get_by_role("button", name="Save chart as SVG")).to_be_enabled()
    release(visit, "**/api/precision", held)
    expect(visit.page.get_by_text("previous plan")).to_have_count(0)
    expect(visit.page.locator('figure[aria-labelledby="chart-precision"]')).to_contain_text("300 interviews")


# --- documents --------------------------------------------------------------------------------


def test_separators_of_thousands_are_read_where_they_are_clear_and_decimal_commas_are_read(visit, strata):
    failure = visit.page.locator(".failure")
    for text in ("1.000", "1,00", "200,5", "1,000 000"):
        visit.control("total").fill(text)
        expect(failure).to_contain_text(f'whole number, such as 1500 or 1,500, got "{text}"')
        expect(visit.control("total")).to_have_attribute("aria-invalid", "true")
    for text in ("1,000", "1 000"):  # as in the table
        visit.control("total").fill(text)
        visit.headline("= 1,000 interviews")
    visit.control("total").fill("200")
    visit.control("epsilon").fill("1,000")
    expect(failure).to_contain_text("without thousands separators")
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


def test_hostile_links_are_survived(browser, server):
    with visiting(browser, server) as visit:
        for hash in ("#epsilon=1&strata=%3Cb%3E,size;1,2", "#total=9&epsilon=1&strata=%3Cb%3E,size;1,2&end"):
            visit.open(hash)
            expect(visit.page.locator("#headline, .failure")).to_be_visible()


# --- sliding ----------------------------------------------------------------------------------


def test_sliders_by_keyboard_step_stay_feasible_and_are_one_step_back(visit):
    visit.cell(0, "size").fill("6967")
    visit.cell(3, "size").fill("1000")
    visit.control("total").fill("10")
    visit.headline("= 10 interviews")
    slider = visit.slider("total")
    slider.focus()
    for number in ("11", "12", "13", "12"):
        slider.press(
            "ArrowLeft" if number == "12" and visit.control("total").input_value() == "13" else "ArrowRight"
        )
        expect(visit.control("total")).to_have_value(number)
    slider.press("End")
    expect(visit.control("total")).to_have_value("24967")
    slider.press("ArrowLeft")
    assert 20_000 < int(visit.control("total").input_value()) < 24_967
    slider.press("Home")
    expect(visit.control("total")).to_have_value("4")
    visit.page.go_back()
    expect(visit.control("total")).to_have_value("10")
    visit.page.go_forward()
    expect(visit.control("total")).to_have_value("4")


# --- two plans, and code ----------------------------------------------------------------------


def test_comparison_and_code_never_outlive_their_plans(visit):
    visit.button("Hold this plan").click()
    figures = visit.page.locator("section.compare .figures")
    expect(figures).to_be_visible()
    visit.control("epsilon").fill("5000")
    expect(visit.page.locator(".failure")).to_be_visible()
    expect(figures).to_have_count(0)
    expect(visit.page.locator("section.compare")).to_contain_text("This plan has no design")
    expect(visit.page.locator("pre code")).to_have_count(0)
    visit.button("Swap the two").click()
    visit.headline(FIRST)
    expect(visit.page.locator("section.compare [role=alert]")).to_be_visible()  # now the held one has none
    expect(figures).to_have_count(0)
    expect(visit.page.locator("pre code")).to_be_visible()
    visit.button("Hold this plan instead").click()
    expect(figures).to_be_visible()
    held = []
    visit.page.route("**/api/compare", lambda route: held.append(route))
    visit.control("epsilon").fill("2")
    visit.headline("= 200 interviews")
    expect(visit.page.locator(".compare-body")).to_have_attribute("aria-busy", "true")
    expect(figures.locator("tbody tr").first).to_have_text("ε11")  # as its figures are
    release(visit, "**/api/compare", held)
    expect(figures.locator("tbody tr").first).to_have_text("ε12")


def test_unlike_objectives_are_not_subtracted(visit):
    visit.button("Hold this plan").click()
    row = visit.page.locator('[data-figure="variance"]')
    expect(row).to_contain_text("Variance")
    visit.control("objective").select_option("trace")
    expect(visit.page.locator('[data-figure="objective"] td')).to_have_text(
        ["the population mean", "every stratum's mean equally", ""]
    )
    expect(row.locator("th")).to_have_text("Objective")
    expect(row.locator("td").nth(2)).to_have_text("")


COLOUR = "element => getComputedStyle(element).color"


def test_what_was_shown_before_can_be_read_while_the_next_is_worked_out(browser, server):
    """Replies are held back: what is greyed until they come has no barrier, in any colours and on any screen."""
    with visiting(browser, server, reduced_motion="reduce") as visit:
        visit.open()
        visit.button("Hold this plan").click()
        expect(visit.page.locator("section.compare .figures")).to_be_visible()
        held = []
        visit.page.route("**/api/**", lambda route: held.append(route))
        visit.control("epsilon").fill("2")
        for part in (".headline", ".strata", ".compare-body", ".code", ".ticker"):
            expect(visit.page.locator(f"{part}.stale")).to_have_count(1)
        for scheme, widths in (("light", (1280, 390)), ("dark", (390, 1280))):
            visit.page.emulate_media(color_scheme=scheme)
            for width in widths[: few(1, of=2)]:
                visit.page.set_viewport_size({"width": width, "height": 900})
                assert visit.find_barriers() == [], (scheme, width)
        grey = visit.page.locator("#headline").evaluate(COLOUR)
        release(visit, "**/api/**", held)
        visit.settle()
        assert visit.page.locator("#headline").evaluate(COLOUR) != grey  # which says that it is old
        visit.check()


# --- pasting and dropping ---------------------------------------------------------------------


def test_blocks_are_pasted_whole_or_not_at_all(visit):
    notice = visit.page.locator(".notice.error")
    names = visit.page.locator("tbody input.name")
    for block, fault in (
        ("1\t0.1\t5\n2\t0.2\t6", "The block is 3 columns wide, but the table has room for only 2"),
        ("stratum\tsize\tsd\n", "a header but no rows"),
        ("stratum\tsize\tSize\nA\t1\t2", "names size twice"),
        ("stratum\tsize\nA\t1\t2", "has no name in its header"),
    ):
        visit.cell(0, "size").evaluate(PASTE, block)
        expect(notice).to_contain_text(fault)
        expect(names).to_have_count(4)
    visit.headline(FIRST)
    block = 'Stratum\tSIZE\tsd\tSD_Source\r\n"A ""x""\nnorth"\t5000\t0.2\tpublic\r\n\t\t\t\r\nB\t6000\t0.3\tguess\r\n\r\n'
    visit.cell(0, "size").evaluate(PASTE, block)
    expect(names).to_have_count(2)
    expect(visit.cell(0, "stratum")).to_have_value('A "x" north')
    expect(visit.cell(1, "sd_source")).to_have_attribute("aria-invalid", "true")
    visit.cell(1, "size").evaluate(PASTE, "7000\t0.1\t\n\t\n\n")
    expect(visit.cell(1, "size")).to_have_value("7000")
    expect(names).to_have_count(2)
    visit.check()


def test_a_private_spread_can_say_what_it_cost(visit):
    visit.page.locator("summary", has_text="Columns").click()
    visit.page.get_by_label("where the sd comes from").check()
    visit.cell(0, "sd_source").select_option("private_pilot")
    expect(visit.cell(0, "sd_source")).to_have_attribute("aria-invalid", "true")
    visit.page.get_by_label("ε spent on a private sd").check()
    visit.cell(0, "sd_epsilon").fill("0.1")
    visit.headline(FIRST)
    visit.check()


def test_a_file_may_be_dropped_anywhere_and_is_told_while_it_is_read(visit):
    held = []
    visit.page.route("**/api/table*", lambda route: held.append(route))
    kept = visit.page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.items.add(new File(["stratum,size,sd\\nN,5000,0.2\\n"], "one.csv"));
            const made = (name) => new DragEvent(name, {dataTransfer: data, bubbles: true, cancelable: true});
            const place = document.querySelector("header");
            return [place.dispatchEvent(made("dragover")), place.dispatchEvent(made("drop"))];
        }"""
    )
    assert kept == [False, False]  # the browser's own opening of the file is prevented
    expect(visit.page.get_by_text("Reading one.csv …")).to_be_visible()
    release(visit, "**/api/table*", held)
    visit.headline("200 interviews in 1 stratum")
    expect(visit.page.get_by_text("Reading one.csv …")).to_have_count(0)
    open_file(visit, "two.csv", b"size,Size\n1,2\n")
    expect(visit.page.locator(".notice.error")).to_contain_text("Two columns of this file have the same name")


# --- refusals at their place ------------------------------------------------------------------


def test_refusals_are_marked_at_their_control(visit):
    for name, text, said in (
        ("epsilon", "2000", "Epsilon must lie between 1e-06 and 100, got 2000."),
        ("questions", "", "The answers must have a lower and an upper end"),
        ("total", "2", "The number of people must be at least the sum of the minimums (4), got 2."),
    ):
        before = visit.control(name).input_value()
        visit.control(name).fill(text)
        expect(visit.control(name)).to_have_attribute("aria-invalid", "true")
        expect(visit.page.locator(".failure")).to_contain_text(said)
        visit.control(name).fill(before)
        visit.headline(FIRST)
    visit.control("objective").select_option("custom")
    expect(visit.control("objective")).to_have_attribute("aria-invalid", "true")
    expect(visit.page.locator(".failure")).to_contain_text("Custom coefficients need the column coefficient")
    visit.check()


def test_refusals_of_other_options_are_marked_at_their_control(visit):
    for name, text, said in (
        ("local_epsilon_cap", "-1", "The local epsilon cap must be at least 1e-6, got -1."),
        ("min_per_stratum", "0", "The minimum per stratum must be at least 1, got 0."),
    ):
        before = visit.control(name).input_value()
        visit.control(name).fill(text)
        expect(visit.control(name)).to_have_attribute("aria-invalid", "true")
        expect(visit.page.locator(".failure")).to_contain_text(said)
        visit.control(name).fill(before)


def test_a_number_that_is_too_large_is_told_the_largest(visit):
    visit.control("total").fill("99999999999999999999")
    said = 'The number of people must be at most 9,007,199,254,740,991, got "99999999999999999999".'
    expect(visit.page.locator(".failure")).to_contain_text(said)


def test_a_note_about_a_silent_server_does_not_outlive_its_silence(visit):
    visit.page.route("**/api/report.html", lambda route: route.abort())
    visit.page.route("**/api/health", lambda route: route.abort())
    visit.page.get_by_role("button", name="Report").click()
    expect(visit.page.locator(".notice.error")).to_contain_text("The server does not answer")
    visit.page.unroute("**/api/health")
    expect(visit.page.locator(".notice")).to_have_text(re.compile("The server answers again"))
    visit.faults.clear()  # the browser's own lines about the requests
    visit.check()


def test_refusals_name_options_as_the_page_does(visit):
    visit.control("mechanism").select_option("gaussian")
    visit.control("delta").fill("0")
    expect(visit.control("delta")).to_have_attribute("aria-invalid", "true")
    expect(visit.page.locator(".failure")).to_contain_text(
        "The mechanism “Gaussian (needs delta)” needs delta above 0."
    )
    visit.check()


# --- charts and narrow screens ----------------------------------------------------------------

RECORD = """
window.written = [];
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
  const place = this.getTransform();
  if (this.canvas.isConnected && place.b === 0) {
    const width = this.measureText(text).width * place.a;
    const share = {left: 0, start: 0, center: 0.5, right: 1, end: 1}[this.textAlign];
    const left = place.a * x + place.e - share * width;
    window.written.push({text, left, right: left + width, most: this.canvas.width});
  }
  return write.call(this, text, x, y, ...rest);
};
"""


def test_no_word_of_a_chart_is_cut_or_like_another(browser, server):
    names = [f"Region of the very long administrative name {i}" for i in range(30)]
    table = "\n".join(["stratum,size,sd", *(f"{name},{1000 * (i + 3)},0.2" for i, name in enumerate(names))])
    with visiting(browser, server, viewport={"width": 1400, "height": 900}) as visit:
        visit.page.add_init_script(RECORD)
        visit.open()
        visit.control("local_epsilon_cap").fill("4.5")
        visit.control("total").fill("2000")
        open_file(visit, "long.csv", table.encode())
        visit.headline("2,000 interviews in 30 strata")
        visit.settle()
        written = visit.page.evaluate("window.written")
        texts = {each["text"] for each in written}
        assert {"cap 4.5", "standard error of the", "proportional"} <= texts
        assert [each for each in written if each["left"] < -1 or each["right"] > each["most"] + 1] == []
        assert not any(text.endswith("…") for text in texts)
        beside = [text for text in texts if text.startswith("Reg")]
        assert len({text[-3:] for text in beside}) >= 30
        visit.page.set_viewport_size({"width": 1280, "height": 900})
        visit.control("local_epsilon_cap").fill("")
        visit.control("epsilon").fill("6")
        visit.control("total").fill("300000")  # the labels of the bars become long
        visit.headline("300,000 interviews")
        visit.settle()
        written = visit.page.evaluate("window.written")
        assert any(re.fullmatch(r"0\.000\d{3}", each["text"]) for each in written)
        assert [each for each in written if each["left"] < -1 or each["right"] > each["most"] + 1] == []
        visit.check()


def test_the_ticker_never_covers_the_focus(browser, server):
    with visiting(browser, server, viewport={"width": 320, "height": 640}) as visit:
        visit.open()
        for name in ("Python", "Command line"):
            visit.page.evaluate("scrollTo(0, 0)")
            visit.button(name).evaluate("button => button.focus()")
            box, ticker = visit.button(name).bounding_box(), visit.page.locator(".ticker").bounding_box()
            assert box["y"] + box["height"] <= ticker["y"]


def test_cells_like_formulas_and_names_like_numbers(visit):
    visit.cell(0, "stratum").fill("-cmd|x")
    visit.settle()
    _, table = visit.download(visit.page.locator("button.file", has_text="Strata file"))
    assert b"\n'-cmd|x,7000," in table
    open_file(visit, "s.csv", b"stratum,size,sd,note\n007,5000,0.2,-5\n008,6000,0.3,@SUM(A1)\n")
    expect(visit.cell(0, "stratum")).to_have_value("007")
    visit.settle()
    canvas = visit.page.locator("figure.chart canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for share in (0.15, 0.2, 0.25, 0.3):
        visit.page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] * 0.8)
    expect(visit.page.locator("#tooltip")).to_contain_text("stratum: 007")
    visit.check()


def test_a_long_plan_is_kept_out_of_the_address(visit):
    rows = "".join(f"{i}{'x' * 800},5000,0.2\n" for i in range(50))
    open_file(visit, "long.csv", f"stratum,size,sd\n{rows}".encode())
    visit.headline("in 50 strata")
    assert visit.page.url.endswith("#large")
    expect(visit.page.get_by_text("This plan is too long for a link")).to_be_visible()
    visit.page.go_back()
    visit.headline(FIRST)
    visit.cell(0, "stratum").evaluate(  # half of a pair of characters, which no address can hold
        """cell => { cell.value = "\\ud800"; cell.dispatchEvent(new Event("input", {bubbles: true})); }"""
    )
    expect(visit.page).to_have_url(re.compile("%EF%BF%BD"))
