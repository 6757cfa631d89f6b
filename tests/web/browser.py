"""Driving the system's Chromium, and what must hold for every visit to the page."""

import shutil
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from extent import FULL

FOUR = {
    "stratum": ["A", "B", "C", "D"],
    "size": [7000, 8000, 9000, 10000],
    "sd": [0.283, 0.08, 0.0226, 0.0064],
}
expect.set_options(timeout=20_000)  # machines may be busy

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WINDOWLESS = "chromium-headless-shell"  # the same without a window, which takes a sixth less of a core
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREEN = {"width": 1280, "height": 900}
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI}`));
"""

# Of axe's rules, those that it runs unless it is asked for others and whose breaches it calls serious or critical.
LOOK = """async () => {
  const { rules, tagExclude } = axe._audit;
  const grave = rules.filter((rule) => rule.enabled && !rule.tags.some((tag) => tagExclude.includes(tag))
    && ["serious", "critical"].includes(rule.impact));
  const runOnly = grave.map((rule) => rule.id);
  const { violations } = await axe.run(document, { resultTypes: ["violations"], runOnly });
  return violations;
}"""


def find_chromium(*, whole=False):
    """Return the path of a Chromium; without one the tests of the page cannot be run, and fail.

    Parameters
    ----------
    whole : bool
        Whether it must be the browser that people use, with all that it keeps in files.
    """
    names = NAMES if whole else (WINDOWLESS, *NAMES)
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(
            "The tests of the page need Chromium on the PATH: apt-get install chromium (Debian, Ubuntu), "
            "dnf install chromium (Fedora) or brew install chromium.",
            pytrace=False,
        )
    return found


@contextmanager
def chromium():
    """Start a Chromium; meanwhile its thread can run no event loop of its own."""
    path = find_chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield started
        finally:
            started.close()


class Visit:
    """One page, and everything it did that it should not have."""

    def __init__(self, page, server=None):
        self.page = page
        self.server = server
        self.requests = []
        self.faults = []
        page.add_init_script(WATCH)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda line: line.type in ("error", "warning") and self.faults.append(line.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))

    def open(self, address=""):
        """Load the page anew."""
        if "#" in address:
            self.leave()  # or it would be the same page at another place
        self.page.goto(self.server + address)
        self.settle()
        return self

    def leave(self):
        """Go elsewhere on the server: about:blank would be another process."""
        self.page.goto(f"{self.server}api/health")

    def settle(self):
        """Wait until the newest design, its whole headline and its charts are there."""
        expect(self.page.locator(".headline.stale, #headline[aria-busy=true]")).to_have_count(0)
        expect(self.page.locator("#headline, .failure, .first.empty").first).to_be_visible()
        self.page.wait_for_load_state("networkidle")

    def headline(self, text):
        expect(self.page.locator("#headline")).to_contain_text(text)

    def control(self, name):
        return self.page.locator(
            f'.controls input[type="text"][data-name="{name}"], .controls select[data-name="{name}"]'
        )

    def ask(self, question):
        """Choose how large the survey may be."""
        self.page.locator(f'input[name="question"][value="{question}"]').check()

    def slider(self, name):
        return self.page.locator(f'.controls input[type="range"][data-name="{name}"]')

    def cell(self, row, column):
        return self.page.locator(f'[data-row="{row}"][data-column="{column}"]')

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def download(self, locator):
        """Click, and return the name and the bytes of what comes."""
        with self.page.expect_download() as started:
            locator.click()
        return started.value.suggested_filename, Path(started.value.path()).read_bytes()

    def check(self):
        """No request left the machine, nothing complained, and everyone can use what is shown."""
        assert self.find_barriers() == []
        self.check_conduct()

    def check_conduct(self):
        """No request left the machine and nothing complained."""
        host = urlsplit(self.server).netloc
        outside = [
            url
            for url in self.requests
            if not url.startswith(("data:", "blob:")) and urlsplit(url).netloc != host
        ]
        assert outside == []
        assert self.page.evaluate("window.violations") == []
        assert self.faults == []

    def find_barriers(self):
        """Return what axe calls serious or critical."""
        return find_barriers(self.page)


def find_barriers(page):
    """Return what axe calls serious or critical on a page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate(LOOK)
    return [
        f"{rule['id']}: {rule['help']}: {[node['html'][:120] for node in rule['nodes'][:3]]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]


@contextmanager
def visiting(browser, server, *, viewport=SCREEN, **options):
    """Visit the page in a context of its own, and check the visit at its end.

    `make slow` looks for barriers after every visit; `make test` where a test calls `Visit.check`: between them, these
    tests show nearly every kind of element.
    """
    context = browser.new_context(viewport=viewport, accept_downloads=True, **options)
    context.set_default_timeout(15_000)
    try:
        visit = Visit(context.new_page(), server)
        yield visit
        if FULL:
            visit.check()
        else:
            visit.check_conduct()
    finally:
        context.close()


def drop(visit, name, content):
    """Drop a file on the table of strata."""
    visit.page.locator("section.strata").evaluate(
        """(place, [name, bytes]) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], name));
            place.dispatchEvent(new DragEvent("dragover", {dataTransfer: data, bubbles: true, cancelable: true}));
            place.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        [name, list(content)],
    )


# Pastes a text into an element.
PASTE = """(cell, text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    cell.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
}"""

FIRST = "117 + 42 + 22 + 19 = 200 interviews give a standard error of 0.00937"


def open_file(visit, name, content):
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    visit.page.locator(".strata input[type=file]").set_input_files(file)
