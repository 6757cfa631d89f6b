"""Someone with a spreadsheet of their own, who has never seen the page: from opening it to a report to sign."""

import openpyxl
import pytest
from browser import visiting
from playwright.sync_api import expect

import dpstrata as dps
from dpstrata.present.report.words import headline

ACTIONS = 13  # as docs/planner.md tells; 25 would be too many
HEADER = ["Region ", "Head", "Employees", "Share sick", "Price of a letter", "2024"]
ROWS = [
    ["North", "Ann", 7000, 0.043, 2.5, 12],
    ["South", "Bea", 8100, 0.065, 2.5, 9],
    ["East", "Cem", 950, 0.12, 4, 7],
    ["West", "Dan", 1200, 0.03, 4, 5],
    ["Total", None, 17250, None, None, 33],
]


class NewUser:
    """Does one thing after the other, as a person with a mouse and a keyboard would, and counts."""

    def __init__(self, visit):
        self.visit = visit
        self.actions = []

    def do(self, what, action, *arguments):
        self.actions.append(what)
        return action(*arguments)

    def click(self, name, within=None):
        place = self.visit.page if within is None else self.visit.page.locator(within)
        self.do(f"click {name}", place.get_by_role("button", name=name).first.click)

    def choose_file(self, button, path):
        """Press a button and choose a file in the dialogue that opens: three actions."""
        with self.visit.page.expect_file_chooser() as chooser:
            self.click(button)
        self.do("find the file", lambda: None)
        self.do("open it", chooser.value.set_files, path)


@pytest.fixture
def workbook(tmp_path):
    """A sheet with a title, an empty row, headers of its own, a share and a row of totals."""
    book = openpyxl.Workbook()
    for row in (["Staff survey 2024"], [], HEADER, *ROWS):
        book.active.append(row)
    path = tmp_path / "Staff 2024.xlsx"
    book.save(path)
    return path


def test_a_spreadsheet_in_another_language_is_guessed_right(visit, tmp_path):
    """Headers, numbers as they are written there, shares known by their sign, and a row that adds up the others."""
    book = openpyxl.Workbook()
    for row in (
        ["Inquérito aos trabalhadores"], ["Fonte: Recursos Humanos"], [],
        ["Região", "Responsável", "N.º de trabalhadores", "Doentes", "Custo por carta (€)"],
        ["Norte", "Ana", "7.000", "4,3%", "2,50"], ["Centro", "Rui", "8.100", "6,5%", "2,50"],
        ["Lisboa", "Zé", "12.950", "12%", "4,00"], ["Algarve", "Eva", "950", "3%", "4,00"],
        ["Conjunto do país", None, "29.000", None, None],
    ):  # fmt: skip
        book.active.append(row)
    book.save(tmp_path / "Inquérito.xlsx")
    visit.page.locator(".first input[type=file]").set_input_files(tmp_path / "Inquérito.xlsx")
    visit.button("Use this table").click()
    visit.headline("at a cost of")
    expect(visit.page.locator("tbody input.name[data-column=stratum]")).to_have_count(4)
    expect(visit.page.locator(".notice")).to_contain_text("4 strata and 29,000 people")
    expect(visit.cell(2, "proportion")).to_have_value("12%")
    expect(visit.page.locator("pre")).to_contain_text('extra={"Responsável": ["Ana", "Rui", "Zé", "Eva"]}')
    visit.settle()
    visit.check()


def test_on_a_phone_an_example_is_called_one_before_anything_else(browser, server):
    with visiting(browser, server, viewport={"width": 390, "height": 844}) as visit:
        visit.open()
        places = [visit.page.locator(each).bounding_box()["y"] for each in (".first", "aside", "main#result")]
        assert places == sorted(places)
        expect(visit.page.locator(".first").get_by_role("button", name="Open your file")).to_be_in_viewport()


def test_from_a_foreign_spreadsheet_to_a_report_to_sign(browser, server, workbook, tmp_path):
    with visiting(browser, server) as visit:
        person = NewUser(visit)
        person.do("open the page", visit.open)
        person.choose_file("Open your file", workbook)
        expect(visit.page.locator(".asking")).to_contain_text("Which column names the strata?")
        person.click("Use this table")  # every guess was right
        visit.headline("interviews give a standard error")
        expect(visit.page.locator("tbody input.name[data-column=stratum]")).to_have_count(4)
        expect(visit.cell(0, "cost")).to_have_value("2.5")
        person.do("ask for a margin of error", visit.ask, "target_margin")
        person.do("type the margin", visit.control("target_margin").fill, "0.0001")
        expect(visit.page.locator(".failure")).to_contain_text(
            "The margin of error (0.0001) requires a standard error of"
        )
        person.click("Use a margin of error of")  # so small is out of reach
        expect(visit.page.locator(".failure")).to_have_count(0)
        person.do("type another margin", visit.control("target_margin").fill, "0.03")
        visit.headline("at a cost of")
        offers = visit.page.locator(".offers li")
        expect(offers).to_have_count(1)
        expect(offers).to_contain_text("if the office may see raw answers")
        visit.settle()
        visit.page.locator("#strata-heading").scroll_into_view_if_needed()
        expect(visit.page.locator("td.invite").first).to_be_in_viewport(
            ratio=1
        )  # whatever columns came along
        name, report = person.do("take the report", visit.download, visit.page.locator("button.file").first)
        (tmp_path / name).write_bytes(report)
        said = visit.page.locator("#headline").inner_text()
    plain = tmp_path / "plain.csv"
    lines = [f"{region},{people},{share},{cost}" for region, _, people, share, cost, _ in ROWS[:-1]]
    plain.write_text("\n".join(["stratum,size,proportion,cost", *lines]))
    strata = dps.Strata.from_file(plain, questions="yes_no")
    assert said == headline(dps.design(strata, epsilon=1, target_margin=0.03, questions="yes_no"))
    assert b">Signatures</h2>" in report
    for what in ("open the report", "print it", "sign it"):
        person.do(what, lambda: None)
    assert len(person.actions) == ACTIONS, person.actions
