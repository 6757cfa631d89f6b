"""The page in a real browser: what people do with it, and that nothing leaves the machine meanwhile."""

import json
import math
import random
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from html import unescape

import pytest
from browser import ARGUMENTS, find_chromium, visiting
from playwright.sync_api import expect, sync_playwright

import dpstrata as dps
from dpstrata.report.words import headline

FIRST = "62 + 43 + 45 + 50 = 200 interviews give a standard error of 0.0196"


@pytest.fixture(scope="module")
def browser():
    path = find_chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def visit(browser, server):
    with visiting(browser, server) as made:
        yield made.open()


@pytest.fixture(scope="module")
def strata():
    from importlib import resources

    return dps.Strata.from_file(str(resources.files("dpstrata") / "examples" / "four-strata.csv"))


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
    expect(visit.page).to_have_title("dpstrata planner")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (640, 450), (390, 844), (320, 640)])
def test_it_fits_every_screen_in_light_and_dark(browser, server, scheme, width, height):
    with visiting(browser, server, viewport={"width": width, "height": height}, color_scheme=scheme) as visit:
        visit.open()
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        visit.page.locator("details.more").evaluate("box => (box.open = true)")
        visit.page.locator("summary", has_text="Columns").click()
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_chart_has_a_table(visit):
    for figure in visit.page.locator("figure.chart").all():
        figure.locator("summary").click()
        expect(figure.locator("tbody tr").nth(3)).to_be_visible()
    allocation = visit.page.locator("figure.chart").first
    first = allocation.locator("tbody tr").first.locator("td").all_inner_texts()
    assert first[:3] == ["A", "this design", "62"]


# --- changing ---------------------------------------------------------------------------------


def test_a_cell_is_edited(visit):
    visit.cell(0, "size").fill("70000")
    visit.headline("200 interviews")
    expect(visit.page.locator("#headline")).not_to_contain_text("62 + 43")
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
    slider = visit.slider("epsilon")
    for share in [random.Random(1).random() for _ in range(60)]:
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
    visit.headline("972 interviews")
    visit.ask("target_se")
    visit.control("target_se").fill("0.05")
    visit.headline(headline(dps.design(strata, epsilon=0.1, target_se=0.05)))


def test_every_other_control_reaches_the_design(visit, strata):
    visit.control("mechanism").select_option("best")
    visit.control("answers").fill("0:2")
    visit.control("local_epsilon_cap").fill("3")
    visit.control("objective").select_option("trace")
    visit.control("questions").fill("2")
    visit.control("min_per_stratum").fill("30")
    visit.headline(
        headline(
            dps.design(
                strata,
                epsilon=1,
                total=200,
                mechanism="best",
                answers=(0, 2),
                local_epsilon_cap=3,
                objective="trace",
                questions=2,
                min_per_stratum=30,
            )
        )
    )
    visit.control("local_epsilon_cap").fill("")
    visit.control("trust").select_option("curator")
    visit.control("mechanism").select_option("gaussian")
    visit.control("questions").fill("1")
    visit.headline(
        headline(
            dps.design(
                strata,
                epsilon=1,
                total=200,
                mechanism="gaussian",
                delta=1e-6,
                answers=(0, 2),
                objective="trace",
                trust="curator",
                min_per_stratum=30,
            )
        )
    )


def test_rows_and_columns_are_added_and_removed(visit):
    visit.button("Add a stratum").click()
    expect(visit.cell(4, "stratum")).to_be_focused()
    visit.cell(4, "size").fill("500")
    visit.cell(4, "variance").fill("0.01")
    expect(visit.page.locator("tfoot")).to_contain_text("34,500")
    visit.page.locator("summary", has_text="Columns").click()
    visit.page.get_by_label("cost of one invitation").check()
    for row in range(5):
        visit.cell(row, "cost").fill(str(10 + row))
    visit.ask("budget")
    visit.control("budget").fill("2400")
    visit.headline("for a cost of")
    visit.page.locator("summary", has_text="Columns").click()
    visit.page.get_by_label("standard deviation", exact=True).check()
    expect(visit.cell(0, "sd")).to_have_value("0.08")
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
    expect(visit.cell(4, "variance")).to_have_value("0.05")
    visit.cell(4, "stratum").fill("E")
    visit.headline("200 interviews")
    visit.cell(0, "stratum").evaluate(paste, "stratum\tsize\tsd\nnorth\t5000\t0.2\nsouth\t6000\t0.3\n")
    visit.headline("200 interviews give")
    expect(visit.page.locator("tbody input.name")).to_have_count(2)


def drop(visit, name, content):
    visit.page.locator("section.strata").evaluate(
        """(place, [name, bytes]) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], name));
            place.dispatchEvent(new DragEvent("dragover", {dataTransfer: data, bubbles: true, cancelable: true}));
            place.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        [name, list(content)],
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_a_file_is_dropped(visit, tmp_path, ending):
    import pandas as pd

    frame = pd.DataFrame({"stratum": ["01", "02", "03"], "size": [5000, 6000, 700], "sd": [0.2, 0.3, 0.1]})
    path = tmp_path / f"strata.{ending}"
    {"csv": frame.to_csv, "parquet": frame.to_parquet, "xlsx": frame.to_excel}[ending](path, index=False)
    drop(visit, path.name, path.read_bytes())
    visit.headline(headline(dps.design(dps.Strata.from_file(path), epsilon=1, total=200)))
    expect(visit.cell(0, "stratum")).to_have_value("01")


def test_a_file_that_cannot_be_read_says_why(visit):
    drop(visit, "strata.xlsx", b"nonsense")
    expect(visit.page.locator(".notice.error")).to_contain_text("strata.xlsx is not a readable Excel file")
    drop(visit, "strata.exe", b"MZ")
    expect(visit.page.locator(".notice.error")).to_contain_text("a table must end in")
    visit.headline(FIRST)


def test_a_million_rows_are_refused_and_the_plan_stays(visit):
    content = b"stratum,size\n" + b"".join(b"%d,9\n" % i for i in range(1_000_000))
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


def test_an_empty_table_says_what_to_do(visit):
    visit.page.locator("select.example").select_option("empty")
    expect(visit.page.locator(".headline")).to_contain_text("No strata yet")
    expect(visit.page.locator("[aria-invalid=true]")).to_have_count(0)
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


def test_a_wrong_control_is_shown_at_its_place(visit):
    visit.control("epsilon").fill("one")
    expect(visit.control("epsilon")).to_have_attribute("aria-invalid", "true")
    expect(visit.page.locator(".failure")).to_contain_text("Epsilon must be a number")
    visit.control("epsilon").fill("1")
    visit.control("total").fill("2")
    expect(visit.page.locator(".failure")).to_contain_text(
        "total must be at least the sum of the minimums (4)"
    )
    visit.control("total").fill("200")
    visit.headline(FIRST)


@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>", '=HYPERLINK("http://evil.example")', "<script>alert(1)</script>"]
)
def test_hostile_names_stay_text(visit, name):
    visit.cell(0, "stratum").fill(name)
    visit.settle()
    visit.headline(FIRST)
    visit.button("Hold this plan").click()
    visit.page.locator("figure.chart summary").first.click()
    expect(visit.page.locator("figure.chart tbody td").first).to_have_text(name)
    assert visit.page.locator("img[src=x], #app script").count() == 0
    link = visit.page.url
    visit.page.goto("about:blank")
    visit.page.goto(link)
    visit.settle()
    expect(visit.cell(0, "stratum")).to_have_value(name)


@pytest.mark.parametrize(
    "hash",
    [
        "#strata=",
        "#strata=a;b,c",
        "#total=%E0%A4%A&strata=x",
        "#epsilon=1&strata=%3Cb%3E,size;1,2",
        "#large",
        "#nonsense",
    ],
)
def test_a_damaged_address_is_survived(browser, server, hash):
    with visiting(browser, server) as visit:
        visit.open(hash)
        expect(visit.page.locator("#headline, .failure")).to_be_visible()


# --- keeping and sharing ----------------------------------------------------------------------


def test_a_link_reopens_the_plan(browser, server):
    with visiting(browser, server) as visit:
        visit.open()
        visit.cell(0, "stratum").fill("Ünder, ;&=+ 50%")
        visit.control("total").fill("321")
        visit.control("local_epsilon_cap").fill("4")
        visit.button("Hold this plan").click()
        visit.control("epsilon").fill("2")
        visit.settle()
        link, said = visit.page.url, visit.page.locator("#headline").inner_text()
    with visiting(browser, server) as other:
        other.page.goto(link)
        other.settle()
        other.headline(said)
        expect(other.cell(0, "stratum")).to_have_value("Ünder, ;&=+ 50%")
        expect(other.control("local_epsilon_cap")).to_have_value("4")
        expect(other.page.locator('[data-figure="total"]')).to_contain_text("321")


def test_the_back_button_undoes(visit):
    visit.control("total").fill("300")
    visit.headline("= 300 interviews")
    slider = visit.slider("epsilon")
    for share in (0.5, 0.55, 0.6):
        slider.evaluate(
            "(box, share) => { box.value = share; box.dispatchEvent(new Event('input', {bubbles: true})); }",
            share,
        )
    slider.evaluate("box => box.dispatchEvent(new Event('change', {bubbles: true}))")
    visit.cell(0, "size").fill("9999")
    visit.settle()
    visit.page.go_back()
    expect(visit.cell(0, "size")).to_have_value("7000")
    visit.page.go_back()  # the whole slide is one step
    expect(visit.control("epsilon")).to_have_value("1")
    expect(visit.control("total")).to_have_value("300")
    visit.page.go_back()
    visit.headline(FIRST)
    visit.page.go_forward()
    visit.headline("= 300 interviews")


def test_two_hundred_strata_fit_the_address_and_more_go_to_a_file(browser, server, tmp_path):
    def table(rows):
        lines = [f"stratum number {i},{1000 + i},0.{1 + i % 4}" for i in range(rows)]
        return "\n".join(["stratum,size,sd", *lines]).encode()

    with visiting(browser, server) as visit:
        visit.open()
        visit.control("total").fill("5000")
        drop(visit, "s.csv", table(200))
        visit.headline("5,000 interviews in 200 strata")
        link = visit.page.url
        assert len(link) < 8_000
        visit.page.goto("about:blank")
        visit.page.goto(link)
        visit.headline("5,000 interviews in 200 strata")
        drop(visit, "s.csv", table(201))
        visit.headline("5,000 interviews in 201 strata")
        assert visit.page.url.endswith("#large")
        expect(visit.page.get_by_text("too many for a link")).to_be_visible()
        _, plan = visit.download(visit.page.locator("button.file", has_text="Plan file"))
        visit.page.go_back()
        visit.headline("in 200 strata")
        (tmp_path / "plan.json").write_bytes(plan)
        visit.page.locator(".strata input[type=file]").set_input_files(tmp_path / "plan.json")
        visit.headline("5,000 interviews in 201 strata")


def test_ten_thousand_strata_stay_usable(visit):
    rows = [f"s{i},{500 + i},{0.01 + (i % 40) / 100:.2f}" for i in range(10_000)]
    visit.control("total").fill("100000")
    drop(visit, "s.csv", "\n".join(["stratum,size,sd", *rows]).encode())
    visit.headline("100,000 interviews in 10,000 strata")
    assert visit.page.locator("tbody input.name").count() == 15
    visit.control("epsilon").fill("2")
    visit.settle()
    visit.headline("100,000 interviews in 10,000 strata")
    figure = visit.page.locator("figure.chart").first
    figure.locator("summary").click()
    expect(figure.locator("tbody tr").first).to_be_visible()
    assert figure.locator("tbody tr").count() <= 100


# --- comparing --------------------------------------------------------------------------------


def test_two_plans_are_compared(visit, strata):
    visit.button("Hold this plan").click()
    visit.control("epsilon").fill("0.5")
    visit.control("total").fill("400")
    held, current = dps.design(strata, epsilon=1, total=200), dps.design(strata, epsilon=0.5, total=400)
    figures = visit.page.locator('[data-figure="total"] td')
    expect(figures).to_have_text(["200", "400", "+200"])
    errors = [f"{plan.standard_error:.4g}" for plan in (held, current)]
    expect(visit.page.locator('[data-figure="standard_error"] td').nth(0)).to_have_text(errors[0])
    expect(visit.page.locator('[data-figure="standard_error"] td').nth(1)).to_have_text(errors[1])
    visit.page.get_by_text("People invited, stratum by stratum").click()
    rows = visit.page.locator("section.compare details tbody tr").all_inner_texts()
    assert [re.split(r"\s+", row)[1:3] for row in rows] == [
        [str(a), str(b)] for a, b in zip(held.sample_sizes, current.sample_sizes, strict=True)
    ]
    expect(visit.page.locator("section.compare canvas")).to_be_visible()
    visit.check()
    visit.button("Swap the two").click()
    visit.headline(FIRST)
    expect(figures).to_have_text(["400", "200", "−200"])
    visit.button("Let go").click()
    expect(figures).to_have_count(0)


# --- taking away ------------------------------------------------------------------------------


def test_every_file_is_what_the_library_writes(visit, strata, tmp_path, monkeypatch):
    visit.control("mechanism").select_option("best")
    visit.control("total").fill("250")
    plan = dps.design(strata, epsilon=1, total=250, mechanism="best")
    visit.headline(headline(plan))
    files = visit.page.locator("button.file")
    got = dict(visit.download(files.nth(i)) for i in range(files.count()))
    assert list(got) == ["report.html", "design.json", "design.csv", "strata.csv", "plan.json"]
    for name, content in got.items():
        (tmp_path / name).write_bytes(content)
    assert dps.load_design(tmp_path / "design.json") == plan
    plan.save(tmp_path / "own.csv")
    assert got["design.csv"] == (tmp_path / "own.csv").read_bytes()
    assert headline(plan) in unescape(got["report.html"].decode())
    assert got["report.html"].decode() == dps.report_html(plan)
    assert json.loads(got["plan.json"])["options"]["total"] == "250"
    again = dps.Strata.from_file(tmp_path / "strata.csv")
    assert (
        dps.design(again, epsilon=1, total=250, mechanism="best").sample_sizes.tolist()
        == plan.sample_sizes.tolist()
    )
    visit.page.locator(".downloads input[type=file]").set_input_files(tmp_path / "design.json")
    visit.headline(headline(plan))


def test_the_code_gives_the_same_design(visit, strata, tmp_path, monkeypatch):
    visit.control("total").fill("250")
    visit.control("local_epsilon_cap").fill("4.5")
    plan = dps.design(strata, epsilon=1, total=250, local_epsilon_cap=4.5)
    visit.headline(headline(plan))
    code = visit.page.locator("pre code")
    python = code.inner_text()
    monkeypatch.chdir(tmp_path)
    exec(python, {})
    assert dps.load_design("design.json").sample_sizes.tolist() == plan.sample_sizes.tolist()
    (tmp_path / "design.json").unlink()
    visit.button("Command line").click()
    expect(code).to_contain_text("dpstrata design strata.csv")
    _, content = visit.download(visit.page.locator("button.file", has_text="Strata file"))
    (tmp_path / "strata.csv").write_bytes(content)
    words = shlex.split(code.inner_text())
    subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True)
    assert dps.load_design("design.json").sample_sizes.tolist() == plan.sample_sizes.tolist()
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.button("Copy").click()
    expect(visit.page.get_by_text("Copied")).to_be_visible()
    assert visit.page.evaluate("navigator.clipboard.readText()") == code.inner_text()


def words_of(svg):
    return sorted(
        "".join(part.itertext()).strip()
        for part in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    )


def test_every_chart_is_saved_as_the_library_draws_it(visit, strata):
    from dpstrata.report.plan_charts import budgets_chart, parts_chart

    plan = dps.design(strata, epsilon=1, total=200)
    known = {"allocation": dps.plot(plan), "parts": parts_chart(plan), "budgets": budgets_chart(plan)}
    names = []
    for figure in visit.page.locator("figure.chart").all():
        name, svg = visit.download(figure.get_by_role("button", name="Save chart as SVG"))
        names.append(name)
        if (chart := known.get(name.removesuffix(".svg"))) is not None:
            assert words_of(svg.decode()) == words_of(chart.svg())
        else:
            assert len(words_of(svg.decode())) > 10
        name, png = visit.download(figure.get_by_role("button", name="Save chart as PNG"))
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
        assert width > 1000
        assert math.isclose(width / height, 1.5, rel_tol=0.9)
    assert names == ["allocation.svg", "precision.svg", "epsilon.svg", "parts.svg", "budgets.svg"]


# --- for everyone -----------------------------------------------------------------------------


def test_the_keyboard_alone_is_enough(visit):
    visit.page.keyboard.press("Tab")
    expect(visit.page.get_by_text("Skip to the result")).to_be_focused()
    visit.page.keyboard.press("Tab")
    visit.page.keyboard.press("Enter")
    expect(visit.page.locator("#strata-heading")).to_be_focused()
    for _ in range(5):
        visit.page.keyboard.press("Tab")
    expect(visit.cell(0, "stratum")).to_be_focused()
    visit.page.keyboard.press("Tab")
    visit.page.keyboard.press("ArrowDown")
    expect(visit.cell(1, "size")).to_be_focused()
    visit.page.keyboard.type("4000")
    expect(visit.page.locator("tfoot")).to_contain_text("30,000")
    outline = visit.cell(1, "size").evaluate("cell => getComputedStyle(cell).outlineStyle")
    assert outline == "solid"


def test_the_headline_is_said_once_it_rests(visit):
    status = visit.page.locator(".headline [role=status]")
    expect(status).to_contain_text("62 + 43 + 45 + 50")
    visit.control("total").fill("300")
    expect(status).to_contain_text("= 300 interviews")


def test_a_server_that_is_gone_is_told(browser, server):
    with visiting(browser, server) as visit:
        visit.open()
        visit.page.route("**/api/design", lambda route: route.abort())
        visit.control("total").fill("300")
        expect(visit.page.locator(".failure")).to_contain_text("The server does not answer")
        visit.page.unroute("**/api/design")
        visit.button("Try again").click()
        visit.headline("= 300 interviews")
        visit.faults = [fault for fault in visit.faults if "ERR_FAILED" not in fault]  # what was staged above


def test_tooltips_work_under_the_policy(visit):
    canvas = visit.page.locator("figure.chart canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for share in (0.15, 0.2, 0.25, 0.3):
        visit.page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] * 0.8)
    expect(visit.page.locator("#tooltip")).to_be_visible()
    expect(visit.page.locator("#tooltip")).to_contain_text("people")
