"""Reports in a browser: words are whole where there is room for them."""

from browser import chromium

from dpstrata.present.report.markup import table, whole_page
from dpstrata.words.tables import TextTable

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
