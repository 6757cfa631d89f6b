"""The first minute with the page: from an example to strata of one's own, whatever their spreadsheet calls them."""

import json
import re

from browser import FIRST, PASTE, open_file, visiting
from playwright.sync_api import expect

import dpstrata as dps
from dpstrata.present.report.words import headline

STAFF = (
    b"Region,Employees,Share sick,Site\n"
    b'North,"7,000",4%,port\nSouth,"8,100",6.5%,hill\nEast,950,12%,port\nWest,"1,200",3%,hill\n'
    b'Total,"17,250",,\n'
)


PLAIN = (
    "stratum,size,proportion,Site\n"
    "North,7000,0.04,port\nSouth,8100,0.065,hill\nEast,950,0.12,port\nWest,1200,0.03,hill\n"
)


def names(visit):
    return visit.page.locator("tbody input.name[data-column=stratum]").evaluate_all(
        "cells => cells.map(cell => cell.value)"
    )


def asked(visit):
    """What is chosen for every question about a table's columns."""
    return visit.page.locator("[data-ask]").evaluate_all(
        "boxes => Object.fromEntries(boxes.map(box => [box.dataset.ask, box.selectedOptions[0].text]))"
    )


def test_the_example_is_called_one_and_pasting_over_it_replaces_it(visit):
    first = visit.page.locator(".first")
    expect(first).to_contain_text("This is an example: The paper's four strata.")
    order = visit.page.locator(".first, .headline").evaluate_all("parts => parts.map(part => part.className)")
    assert order[0].startswith("first")  # above the result
    visit.page.reload()
    expect(first).to_contain_text("This is an example")
    visit.cell(0, "stratum").evaluate(PASTE, "north\t5000\t0.2\nsouth\t6000\t0.3\n")
    visit.headline("200 interviews")
    assert names(visit) == ["north", "south"]  # and not C and D of the example
    expect(first).to_have_count(0)
    visit.page.go_back()
    expect(first).to_contain_text("This is an example")
    visit.cell(0, "size").evaluate(PASTE, "5000\t0.2\n6000\t0.3\n700\t0.1\n")
    expect(visit.page.locator("tfoot")).to_contain_text("11,700")
    assert names(visit) == ["stratum 1", "stratum 2", "stratum 3"]
    visit.page.go_back()
    visit.cell(3, "size").fill("500")
    expect(first).to_contain_text("Rows that you did not change are still those of the example")
    visit.button("Start empty").click()
    expect(first).to_contain_text("No strata yet")
    expect(visit.page.locator(".protection .cost, pre")).to_have_count(0)  # they were of the plan before
    visit.check()
    visit.button("Paste a table").click()
    visit.page.locator("#pasted").evaluate(PASTE, "Region\tPeople\nN\t7,000\nS\t8,000\n")
    expect(visit.page.locator("#asking-heading")).to_be_focused()
    visit.button("Use this table").click()
    expect(visit.page.locator("tfoot")).to_contain_text("15,000")
    assert names(visit) == ["N", "S"]
    visit.page.locator("h1").evaluate(
        PASTE, 'stratum;size;sd\n"a;b";7000;0.2\nc;8000;0.3\n'
    )  # no field has the focus
    expect(visit.page.locator("tfoot")).to_contain_text("15,000")
    assert names(visit) == ["a;b", "c"]


def test_columns_of_a_foreign_file_are_asked_about(visit, tmp_path):
    (tmp_path / "plain.csv").write_text(PLAIN)
    strata = dps.Strata.from_file(tmp_path / "plain.csv", questions="yes_no")
    open_file(visit, "staff.csv", STAFF)
    card = visit.page.locator(".asking")
    expect(card).to_contain_text("What is in staff.csv?")
    assert asked(visit) == {
        "stratum": "Region",
        "size": "Employees",
        "spread": "Share sick",
        "kind": "the share of yes, from 0 to 1",
        "cost": "none",
        "response_rate": "none",
    }
    expect(card.get_by_label("yes or no")).to_be_checked()
    expect(card.get_by_label("Leave out the last row (Total)")).to_be_checked()
    visit.check()
    visit.headline(FIRST)  # nothing is used before someone says so
    visit.button("Use this table").click()
    plan = dps.design(strata, epsilon=1, total=200, questions="yes_no")
    visit.headline(headline(plan))
    assert names(visit) == ["North", "South", "East", "West"]
    expect(visit.page.locator(".notice")).to_contain_text(
        "4 strata and 17,250 people, so answers are now yes or no"
    )
    expect(visit.page.locator(".notice")).to_be_in_viewport()
    expect(visit.page).to_have_title(re.compile(r"^staff.csv: 200 people in 4 strata"))
    expect(visit.page.locator("#result")).to_be_focused()
    visit.page.get_by_role("checkbox", name="Site").check()
    expect(visit.page.locator(".groups tbody tr")).to_have_count(3)  # the whole, port and hill
    visit.ask("target_se")
    visit.page.get_by_label("Target for every group of Site").fill("0.03")
    visit.headline(
        headline(dps.design(strata, epsilon=1, target_se=0.02, questions="yes_no", domains={"Site": 0.03}))
    )
    link = visit.page.url
    visit.leave()
    visit.page.goto(link)
    expect(visit.page.get_by_label("Target for every group of Site")).to_have_value("0.03")
    visit.settle()
    visit.check()


FOREIGN = [
    (
        "Region,Employees\nN,700\nS,800\nE,95\nTotal,1595\nSource: the register of 2024,\n",
        "Region",
        "Employees",
        2,
    ),
    ("Region,Employees\nN,700\nS,800\nE,95\nQuelle: Amt,\n", "Region", "Employees", 1),
    ("Region,Employees\nN,700\nS,\nE,95\n", "Region", "Employees", 0),
    ("Lp.,Region,Y2024\n1,N,700\n2,S,800\n3,E,95\n4,W,50\n,,1645\n", "Region", "Y2024", 1),
    ("Region,Employees\nN,700\nS,800\nE,\n", "Region", "Employees", 0),
    (
        "E-mail,Staff number,Department\n"
        + "".join(f"p{i}@example.org,{10000 + i},{'ABC'[i % 3]}\n" for i in range(1, 901)),
        "Department",
        "none: every row is one person",
        0,
    ),
    ("Contact,Code\nann@a.org,17\nbo@a.org,95\ncy@a.org,31\n", "none: number the rows", "please choose", 0),
    ("Region,Employees\nN,700\nS,#REF!\nE,95\n", "Region", "Employees", 0),
    ("Name,Team,Age\nAnn,a,31\nBo,b,32\nCy,a,40\nDi,b,29\n", "Team", "none: every row is one person", 0),
]


def test_notes_gaps_numbering_and_people_are_told_from_sizes(visit):
    left_out = visit.page.locator(".asking .ends input:checked")
    for i, (text, stratum, size, ends) in enumerate(FOREIGN):
        open_file(visit, f"table{i}.csv", text.encode())
        expect(visit.page.locator("#asking-heading")).to_contain_text(f"table{i}.csv")
        assert (asked(visit)["stratum"], asked(visit)["size"]) == (stratum, size)
        expect(left_out).to_have_count(ends)
    open_file(visit, "table.csv", FOREIGN[0][0].encode())
    expect(left_out).to_have_count(2)
    visit.page.get_by_label("Leave out the row above it too (Total)").uncheck()
    expect(left_out).to_have_count(1)
    visit.page.get_by_label("Leave out the row above it too (Total)").check()
    visit.button("Use this table").click()
    expect(visit.page.locator(".asking")).to_have_count(0)
    assert names(visit) == ["N", "S", "E"]
    visit.page.locator("h1").evaluate(PASTE, "Staff of 2024\n\nRegion\tPeople\nN\t7,000\nS\t8,000\n")
    expect(visit.page.locator("#asking-heading")).to_contain_text("the pasted table")
    assert (asked(visit)["stratum"], asked(visit)["size"]) == ("Region", "People")


def test_a_list_of_people_is_counted_and_cells_that_are_no_table_change_nothing(visit):
    people = "".join(f"{i},{'NSE'[i % 3]},{20 + i % 50}\n" for i in range(300))
    open_file(visit, "people.csv", f"Id,Department,Age\n{people}".encode())
    visit.page.locator("[data-ask=stratum]").select_option("Department")
    visit.page.locator("[data-ask=size]").select_option("none: every row is one person")
    visit.button("Use this table").click()
    assert names(visit) == ["E", "N", "S"]
    expect(visit.cell(0, "size")).to_have_value("100")
    expect(visit.control("total")).to_have_value("200")
    visit.page.locator(".strata").scroll_into_view_if_needed()
    staff = "".join(f"p{i}@example.org,{10000 + i},{'ABC'[i % 3]}\n" for i in range(1, 901))
    open_file(visit, "staff.csv", f"E-mail,Staff number,Department\n{staff}".encode())
    expect(visit.page.locator(".asking .people")).to_contain_text("900 people in 3 strata")
    visit.button("Cancel").click()
    open_file(visit, "few.csv", b"stratum,size\nA,40\nB,60\n")
    expect(visit.control("total")).to_have_value("50")
    expect(visit.page.locator(".notice")).to_contain_text("so the goal is now 50 people")
    expect(visit.page.locator(".notice")).to_be_in_viewport()
    open_file(visit, "wide.csv", b"stratum,size,sd\nA,4000,2.5\nB,6000,4\n")
    expect(visit.control("questions")).to_have_value("0:10")
    visit.headline("interviews give")
    open_file(visit, "other.csv", b"Region,People\nA,40\nB,60\n")
    visit.button("Cancel").click()
    expect(visit.page.locator(".asking")).to_have_count(0)
    assert names(visit) == ["A", "B"]


def test_thousands_are_read_where_the_whole_column_reads_so(visit):
    for written, people in (
        (["7,000", "8,000", "950"], "15,950"),
        (["7.000", "8.000", "951"], "15,951"),
        (["7 000", "8\u202f000", "952"], "15,952"),
        (["7,000", "8000", "950"], None),  # only where the whole column reads so
        (["7,00", "8,000", "950"], None),
    ):
        rows = ";".join(f"s{i},{cell.replace(',', '%2C')},0.2" for i, cell in enumerate(written))
        link = f"total=200&epsilon=1&strata=stratum,size,sd;{rows}&end"
        visit.page.evaluate("text => (location.hash = text)", link)
        if people is None:
            expect(visit.page.locator("td [aria-invalid=true]").first).to_be_visible()
            visit.page.go_back()
            expect(visit.page.locator("td [aria-invalid=true]")).to_have_count(0)
        else:
            expect(visit.page.locator("tfoot")).to_contain_text(people)


def test_a_file_without_a_header_keeps_its_first_stratum(visit):
    open_file(visit, "bare.csv", b"North,7000\nSouth,8000\n")
    asking = visit.page.locator(".asking")
    first = asking.locator('[data-ask="first"]')
    expect(first).to_be_checked()
    expect(asking).to_contain_text("It has 2 rows and no headers.")
    expect(asking).to_contain_text("The first row (North, 7000) is data")
    expect(asking.locator('[data-ask="size"] option:checked')).to_have_text("column 2")
    first.uncheck()
    expect(asking).to_contain_text("It has 1 row and headers of its own.")
    first.check()
    visit.button("Use this table").click()
    visit.settle()
    assert names(visit) == ["North", "South"]
    open_file(visit, "years.csv", b"Region,2024\nNorth,many\nSouth,few\n")
    expect(asking).to_contain_text("It has 2 rows and headers of its own.")
    expect(first).to_have_count(0)


def test_a_refused_number_of_people_is_quoted_as_it_was_typed(visit):
    visit.cell(0, "size").fill("7,000")
    expect(visit.page.locator("td .error-text")).to_contain_text("got '7,000'")


def test_decimal_commas_and_percentages_of_a_column(browser, server):
    with visiting(browser, server) as visit:
        sent = []
        visit.page.on("request", lambda each: "/api/design" in each.url and sent.append(each.post_data_json))
        visit.open("#total=200&epsilon=1&strata=stratum,size,sd;A,7000,0%2C283;B,8000,0%2C1&end")
        visit.headline("200 interviews")
        assert sent[-1]["strata"]["sd"] == ["0.283", "0.1"]
        link = "#total=200&epsilon=1&strata=stratum,size,proportion;A,7000,12.5%25;B,8000,7 %25&end"
        visit.open(link)
        visit.headline("200 interviews")
        assert sent[-1]["strata"]["proportion"] == ["0.125", "0.07"]


def test_an_infeasible_wish_offers_the_nearest_that_is_feasible(visit):
    for question, text, offered, then in (
        ("total", "2", "Use 4 people", "4"),
        ("total", "40000", "Use 34,000 people", "34000"),
        ("at_most", "3", "Use at most 4 people", "4"),
        ("target_se", "0.00001", re.compile("Use a standard error of 0.00"), None),
        ("target_margin", "0.0001", re.compile("Use a margin of error of 0.00987"), None),
    ):
        visit.ask(question)
        visit.control(question).fill(text)
        button = visit.page.locator(".failure button")
        expect(button).to_have_text(offered)
        expect(visit.button("Try again")).to_have_count(0)
        assert not button.text_content().endswith("00") or then is not None
        button.click()
        expect(visit.page.locator(".failure")).to_have_count(0)
        if then is not None:
            expect(visit.control(question)).to_have_value(then)
        visit.settle()
    visit.check()


def test_a_better_mechanism_or_release_is_one_click_with_its_figure(visit, strata):
    visit.control("mechanism").select_option("laplace")
    offers = visit.page.locator(".offers li")
    best = dps.design(strata, epsilon=1, total=200)
    sums = dps.design(strata, epsilon=1, total=200, release="sums")
    expect(offers).to_have_count(3)
    expect(offers.nth(0)).to_contain_text(
        f"Sine noise, with the same promise: a standard error of {best.standard_error:#.3g}"
    )
    expect(offers.nth(1)).to_contain_text("with devices at ε")
    expect(offers.nth(2)).to_contain_text(
        f"if the office may see raw answers: a standard error of {sums.standard_error:#.3g}"
    )
    visit.check()
    offers.nth(0).get_by_role("button").click()
    visit.headline(headline(best))
    expect(offers).to_have_count(1)
    offers.nth(0).get_by_role("button").click()
    visit.headline(headline(sums))
    expect(visit.control("release")).to_have_value("sums")
    expect(visit.page.locator(".offers")).to_have_count(0)
    visit.control("release").select_option("microdata")
    visit.ask("target_se")
    visit.control("target_se").fill("0.01")
    many = dps.design(strata, epsilon=1, target_se=0.01).total
    few = dps.design(strata, epsilon=1, target_se=0.01, release="sums").total
    expect(offers.last).to_contain_text(f"raw answers: {few:,} people instead of {many:,}.")
    visit.settle()


def test_offers_name_what_to_ask_for(client, four):
    answer = client.post("/api/offers", json=four)
    offers = json.loads(answer.content)["offers"]
    assert [offer["options"].get("release") for offer in offers] == [None, "sums", "sums"]
    for offer in offers:
        options = {**four["options"], **offer["options"]}
        made = client.post("/api/design", json={**four, "options": options}).json()
        assert made["standard_error"] == offer["standard_error"]
