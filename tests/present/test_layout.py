"""Reports in a browser: words are whole, and a phone shows the figures that matter."""

import pytest
from browser import chromium

import dpstrata as dps
from dpstrata.present.report.markup import table, whole_page
from dpstrata.words.tables import TextTable
from questionnaires import published_tables, small_plan

pytestmark = pytest.mark.browser

BROKEN = """[...document.querySelectorAll("th, td")].filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map((line) => Math.round(line.top))).size > 1;
}).map((cell) => cell.textContent)"""


def test_no_word_of_a_table_is_broken_on_a_screen():
    text = "a text that takes all the room there is " * 2
    words = ("ueberstunden", "category", "Wochenarbeitszeit", *["0.0345"] * 7)
    header = ("question", "kind", "answers", *["error"] * 7)
    wide = TextTable("Questions", ("text", *header), [(text, *words)], columns_of_text=4)
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1000, "height": 800})
        page.set_content(whole_page("Report", [table(wide)]))
        assert page.evaluate(BROKEN) == [page.locator("tbody th").text_content()]
        page.close()


def test_a_phone_shows_results_with_their_intervals(tmp_path):
    """The page does not scroll, no name is broken, and intervals are in sight without scrolling a table."""
    names = ["Administration", "farm or unskilled", "Wohnungswirtschaft"]
    plan = small_plan(strata=dps.Strata([400, 900, 1700], names=names))
    plan.save(tmp_path / "design.json")
    rows = "".join(f'{a},{b},"{c}","{d}",{e},{f}\n' for a, b, c, d, e, f in published_tables(plan))
    (tmp_path / "published.csv").write_text(f"stratum,form,table,entry,count,answers\n{rows}")
    result = dps.estimate(tmp_path / "design.json", tmp_path / "published.csv")
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.set_content(dps.results_html(plan, result))
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert not set(page.evaluate(BROKEN)) & {"Administration", "Wohnungswirtschaft"}
        for heading in page.get_by_role("columnheader", name="95% interval").all():
            box = heading.bounding_box()
            assert box["x"] + box["width"] <= 390
        page.close()
