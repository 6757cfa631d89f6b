"""The page in a real browser: links and files, two plans at once, what can be taken away, and for whom it works."""

import json
import math
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from html import unescape

from browser import FIRST, drop, visiting
from playwright.sync_api import expect

import dpstrata as dps
from dpstrata.present.report.words import headline

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
        other.check()


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
        visit.leave()
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
        visit.check()


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
    visit.check()


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
    visit.button("Drop held plan").click()
    expect(figures).to_have_count(0)


# --- taking away ------------------------------------------------------------------------------
def test_every_file_is_what_the_library_writes(visit, strata, tmp_path, monkeypatch):
    visit.control("mechanism").select_option("best")
    visit.control("total").fill("250")
    plan = dps.design(strata, epsilon=1, total=250, mechanism="best", questions=(0, 1))
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
    from dpstrata.present.charts.plan import budgets_chart, parts_chart

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


def test_sentences_name_options_as_the_page_does(visit):
    reasons = visit.page.locator(".reasons")
    expect(reasons).to_contain_text("publish sums (the release “")
    expect(reasons).not_to_contain_text("release=")


def test_the_headline_is_said_once_it_rests(visit):
    status = visit.page.locator(".headline [role=status]")
    expect(status).to_contain_text("117 + 42 + 22 + 19")
    visit.control("total").fill("300")
    expect(status).to_contain_text("= 300 interviews")


def test_a_server_that_is_gone_is_told(browser, server):
    with visiting(browser, server) as visit:
        visit.open()
        visit.page.route("**/api/design", lambda route: route.abort())
        visit.control("total").fill("300")
        expect(visit.page.locator(".failure")).to_contain_text("The server does not answer")
        assert visit.find_barriers() == []
        expect(visit.page.locator(".failure-title")).to_have_text("The planner is not connected")
        visit.page.route("**/api/health", lambda route: route.abort())
        visit.button("Try again").click()
        visit.page.unroute("**/api/design")
        visit.control("epsilon").fill("1000")  # what the server says of this, trying again cannot change
        expect(visit.page.locator(".failure")).to_contain_text("Epsilon must lie")
        expect(visit.button("Try again")).to_have_count(0)
        visit.page.route("**/api/design", lambda route: route.abort())
        visit.page.route("**/api/protection*", lambda route: route.abort())
        visit.control("epsilon").fill("1")
        expect(visit.button("Try again")).to_be_visible()
        expect(visit.page.locator(".protection .cost")).to_have_count(0)
        visit.page.unroute("**/api/design")
        visit.page.unroute("**/api/protection*")
        visit.page.unroute("**/api/health")
        visit.headline("= 300 interviews")  # by itself, once the server is back
        expect(visit.page.locator(".protection .cost").first).to_contain_text("300 invited")
        expect(visit.button("Try again")).to_have_count(0)
        title = visit.page.locator(".failure-title")
        said = {"message": "late.", "parts": ["late."], "argument": None, "cells": [], "nearest": None}

        def refuse(status):
            return lambda route: route.fulfill(status=status, json={"error": said})

        for status, told, again in ((500, "No design", 0), (503, "The planner is busy", 1)):
            visit.page.route("**/api/design", refuse(status))
            visit.control("total").fill(str(status))
            expect(title).to_have_text(told)  # what was stopped would be stopped again
            expect(visit.button("Try again")).to_have_count(again)
            visit.page.unroute("**/api/design")
        visit.headline("= 503 interviews")
        staged = ("ERR_FAILED", "status of 50")
        visit.faults = [fault for fault in visit.faults if not any(each in fault for each in staged)]


def test_tooltips_work_under_the_policy(visit):
    canvas = visit.page.locator("figure.chart canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for share in (0.15, 0.2, 0.25, 0.3):
        visit.page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] * 0.8)
    expect(visit.page.locator("#tooltip")).to_be_visible()
    expect(visit.page.locator("#tooltip")).to_contain_text("people")
