"""The page in a real browser: what people do with it, and that nothing leaves the machine meanwhile."""

import random
import re

import pytest
from browser import FIRST, drop, find_chromium, open_file, visiting
from playwright.sync_api import expect

import dpstrata as dps
from dpstrata.present.report.words import headline
from extent import FULL, few


def test_without_a_chromium_the_tests_fail_and_say_what_to_install(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
        find_chromium()


# --- loading and looking ----------------------------------------------------------------------
def test_it_starts_with_the_papers_strata(visit, strata):
    visit.headline(headline(dps.design(strata, epsilon=1, total=200)))
    assert visit.page.locator("tbody input.name").evaluate_all("cells => cells.map(c => c.value)") == [
        "A",
        "B",
        "C",
        "D",
    ]
    expect(visit.page.locator("figure.chart canvas")).to_have_count(5)
    seen = visit.page.get_by_role("figure").get_by_role("img")
    assert len(set(seen.evaluate_all("all => all.map(each => each.ariaLabel)"))) == 5
    expect(seen.first).to_have_accessible_description(
        re.compile("^People invited in every stratum. A: this design 117")
    )
    expect(visit.page.locator("main")).not_to_match_aria_snapshot('- img "Vega visualization"')
    expect(visit.page).to_have_title(
        "The paper's four strata: 200 people in 4 strata, ε 1 – dpstrata planner"
    )


SCREENS = [(1440, 900), (640, 450), (390, 844), (320, 640)]


@pytest.mark.parametrize(
    ("scheme", "screens"),
    [("light", SCREENS if FULL else SCREENS[::3]), ("dark", SCREENS if FULL else SCREENS[1:3])],
    ids=["light", "dark"],
)
def test_it_fits_every_screen_in_light_and_dark(browser, server, scheme, screens):
    with visiting(browser, server, color_scheme=scheme) as visit:
        for width, height in screens:
            visit.page.set_viewport_size({"width": width, "height": height})
            visit.open()
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
            visit.page.locator("details.more").evaluate("box => (box.open = true)")
            visit.page.locator("summary", has_text="Columns").click()
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
            assert visit.find_barriers() == []


def test_every_chart_has_a_table(visit):
    for figure in visit.page.locator("figure.chart").all():
        figure.locator("summary").click()
        expect(figure.locator("tbody tr").nth(3)).to_be_visible()
    allocation = visit.page.locator("figure.chart").first
    first = allocation.locator("tbody tr").first.locator("td").all_inner_texts()
    assert first[:3] == ["A", "this design", "117"]
    visit.check()


# --- changing ---------------------------------------------------------------------------------


def test_a_cell_is_edited(visit):
    visit.cell(0, "size").fill("70000")
    visit.headline("200 interviews")
    expect(visit.page.locator("#headline")).not_to_contain_text("117 + 42")
    expect(visit.page.locator("tfoot")).to_contain_text("97,000")


def test_epsilon_is_moved(visit, strata):
    slider = visit.slider("epsilon")
    slider.focus()
    for _ in range(10):
        slider.press("ArrowLeft")
    expect(visit.control("epsilon")).not_to_have_value("1")
    moved = float(visit.control("epsilon").input_value())
    assert moved < 1
    visit.headline(headline(dps.design(strata, epsilon=moved, total=200)))


def test_the_newest_of_many_moves_wins(visit, strata):
    slider, chance = visit.slider("epsilon"), random.Random(5)
    shares = [chance.random() for _ in range(few(20, of=60))]
    for share in reversed(shares):  # to one at which 200 people are not too many
        slider.evaluate(
            "(box, share) => { box.value = share; box.dispatchEvent(new Event('input', {bubbles: true})); }",
            share,
        )
    last = float(visit.control("epsilon").input_value())
    visit.settle()
    visit.headline(headline(dps.design(strata, epsilon=last, total=200)))


def test_the_question_is_switched_to_at_most(visit, strata):
    visit.ask("at_most")
    visit.control("epsilon").fill("0.1")
    visit.control("at_most").fill("5000")
    visit.headline(headline(dps.design(strata, epsilon=0.1, at_most=5000)))
    visit.headline("584 interviews")
    visit.ask("target_se")
    visit.control("target_se").fill("0.05")
    visit.headline(headline(dps.design(strata, epsilon=0.1, target_se=0.05)))


def test_every_other_control_reaches_the_design(visit, strata):
    alike = {"epsilon": 1, "total": 200, "questions": (0, 2), "objective": "trace", "min_per_stratum": 30}
    expect(visit.control("mechanism")).to_have_value("best")
    visit.control("mechanism").select_option("tulap")
    visit.control("questions").fill("0:2")
    visit.control("local_epsilon_cap").fill("3")
    visit.control("objective").select_option("trace")
    visit.control("min_per_stratum").fill("30")
    visit.headline(headline(dps.design(strata, mechanism="tulap", local_epsilon_cap=3, **alike)))
    visit.control("local_epsilon_cap").fill("")
    expect(visit.control("device_epsilon")).to_have_count(0)
    visit.control("release").select_option("sums")
    visit.control("device_epsilon").fill("2.5")
    sums = {"release": "sums", "device_epsilon": 2.5}
    visit.headline(headline(dps.design(strata, mechanism="tulap", **sums, **alike)))
    visit.control("device_epsilon").fill("")
    visit.control("mechanism").select_option("gaussian")
    visit.headline(headline(dps.design(strata, mechanism="gaussian", delta=1e-6, release="sums", **alike)))


def test_rows_and_columns_are_added_and_removed(visit):
    visit.button("Add a stratum").click()
    expect(visit.cell(4, "stratum")).to_be_focused()
    visit.cell(4, "size").fill("500")
    visit.cell(4, "sd").fill("0.01")
    expect(visit.page.locator("tfoot")).to_contain_text("34,500")
    visit.page.locator("summary", has_text="Columns").click()
    visit.page.get_by_label("cost of one invitation").check()
    for row in range(5):
        visit.cell(row, "cost").fill(str(10 + row))
    visit.ask("budget")
    visit.control("budget").fill("2400")
    visit.headline("at a cost of")
    visit.page.locator("summary", has_text="Columns").click()
    visit.page.get_by_label("variance", exact=True).check()
    expect(visit.cell(0, "variance")).to_have_value("0.283")
    visit.ask("total")
    visit.button("Remove stratum 5").click()
    visit.settle()
    expect(visit.page.locator("tbody input.name")).to_have_count(4)


def test_a_block_is_pasted_from_a_spreadsheet(visit):
    paste = """(cell, text) => {
        const data = new DataTransfer();
        data.setData("text/plain", text);
        cell.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
    }"""
    visit.cell(2, "size").evaluate(paste, "100\t0.1\r\n200\t0.2\r\n300\t0.05\r\n")
    expect(visit.cell(3, "size")).to_have_value("200")
    expect(visit.cell(4, "sd")).to_have_value("0.05")
    visit.cell(4, "stratum").fill("E")
    visit.headline("200 interviews")
    visit.cell(0, "stratum").evaluate(paste, "stratum\tsize\tsd\nnorth\t5000\t0.2\nsouth\t6000\t0.3\n")
    visit.headline("200 interviews give")
    expect(visit.page.locator("tbody input.name")).to_have_count(2)


def test_files_are_dropped(visit, tmp_path):
    import pandas as pd

    for more, ending in enumerate(["csv", "parquet", "xlsx"]):  # each is another table
        sizes, sds = [5000 + 900 * more, 6000, 700], [0.2, 0.3, 0.1]
        frame = pd.DataFrame({"stratum": [f"0{more}", "07", "08"], "size": sizes, "sd": sds})
        path = tmp_path / f"strata.{ending}"
        {"csv": frame.to_csv, "parquet": frame.to_parquet, "xlsx": frame.to_excel}[ending](path, index=False)
        drop(visit, path.name, path.read_bytes())
        visit.headline(headline(dps.design(dps.Strata.from_file(path), epsilon=1, total=200)))
        expect(visit.cell(0, "stratum")).to_have_value(f"0{more}")


def test_a_file_that_cannot_be_read_says_why(visit):
    drop(visit, "strata.xlsx", b"nonsense")
    expect(visit.page.locator(".notice.error")).to_contain_text("strata.xlsx is not a readable Excel file")
    drop(visit, "strata.exe", b"MZ")
    expect(visit.page.locator(".notice.error")).to_contain_text("a table must end in")
    visit.headline(FIRST)


def test_more_rows_than_it_takes_are_refused_and_the_plan_stays(visit):
    content = b"stratum,size\n" + b"".join(b"%d,9\n" % i for i in range(few(100_001, of=300_000)))
    file = {"name": "many.csv", "mimeType": "text/csv", "buffer": content}
    visit.page.locator(".strata input[type=file]").set_input_files(file)
    expect(visit.page.locator(".notice.error")).to_contain_text("100,000 rows")
    visit.headline(FIRST)


def test_shipped_examples_are_offered(visit):
    visit.page.locator("select.example").select_option("schools")
    visit.headline("600 interviews in 57 strata")
    expect(visit.page.locator(".pager")).to_contain_text("of 57")
    visit.button("Next").click()
    expect(visit.cell(15, "stratum")).to_be_visible()
    visit.page.locator("select.example").select_option("occupations")
    visit.headline("interviews give a standard error")
    visit.check()


def test_an_empty_table_says_what_to_do(visit):
    visit.page.locator("select.example").select_option("empty")
    expect(visit.page.locator(".first")).to_contain_text("No strata yet")
    expect(visit.page.locator("[aria-invalid=true], .headline, figure.chart, .ticker")).to_have_count(0)
    expect(visit.page).to_have_title("empty plan – dpstrata planner")
    visit.check()
    visit.cell(0, "stratum").fill("all")
    visit.cell(0, "size").fill("5000")
    visit.cell(0, "sd").fill("0.3")
    visit.headline("200 interviews in 1 stratum")


# --- what is wrong ----------------------------------------------------------------------------


def test_a_wrong_cell_is_shown_at_its_place(visit):
    visit.cell(1, "size").fill("many")
    wrong = visit.cell(1, "size")
    expect(wrong).to_have_attribute("aria-invalid", "true")
    message = visit.page.locator(f"#{wrong.get_attribute('aria-describedby')}")
    expect(message).to_have_text("size must be a number, got 'many'.")
    expect(visit.page.locator(".failure")).to_contain_text("One cell of the table needs your attention")
    visit.check()  # the error state too is for everyone
    visit.page.get_by_role("button", name="B, size").click()
    expect(wrong).to_be_focused()
    wrong.fill("8000")
    visit.headline(FIRST)
    expect(wrong).not_to_have_attribute("aria-invalid", "true")
    open_file(visit, "wrong.csv", b"stratum,size,sd\nNorth,many,0.2\nSouth,few,0.1\n")
    expect(visit.page.locator(".failure")).to_contain_text("2 cells of the table need your attention")
    expect(visit.page.locator("#headline, .charts")).to_have_count(0)  # which were of the table before
    visit.button("Go to the first cell").click()
    expect(visit.cell(0, "size")).to_be_focused()


def test_a_wrong_control_is_shown_at_its_place(visit):
    visit.control("epsilon").fill("one")
    expect(visit.control("epsilon")).to_have_attribute("aria-invalid", "true")
    expect(visit.page.locator(".failure")).to_contain_text("Epsilon must be a number")
    visit.control("epsilon").fill("1")
    visit.control("total").fill("2")
    expect(visit.page.locator(".failure")).to_contain_text(
        "The number of people must be at least the sum of the minimums (4), got 2."
    )
    expect(visit.control("total")).to_have_attribute("aria-invalid", "true")
    visit.control("total").fill("200")
    visit.headline(FIRST)


def test_hostile_names_stay_text(visit):
    names = ["<img src=x onerror=alert(1)>", '=HYPERLINK("http://evil.example")', "<script>alert(1)</script>"]
    for row, name in enumerate(names):
        visit.cell(row, "stratum").fill(name)
    visit.settle()
    visit.headline(FIRST)
    visit.button("Hold this plan").click()
    visit.page.locator("figure.chart summary").first.click()
    shown = visit.page.locator("figure.chart").first.locator("tbody td:first-child").all_inner_texts()
    assert set(names) <= set(shown)
    assert visit.page.locator("img[src=x], #app script").count() == 0
    link = visit.page.url
    visit.leave()
    visit.page.goto(link)
    visit.settle()
    for row, name in enumerate(names):
        expect(visit.cell(row, "stratum")).to_have_value(name)
