"""Driving the system's Chromium, and what must hold for every visit to the page."""

import asyncio
import atexit
import json
import shutil
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from dpstrata.web.jobs import reply_epsilon, reply_precision
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
MEDIA = {"color_scheme": "light", "reduced_motion": "no-preference", "forced_colors": "none"}
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI}`));
"""

# What is wholly transparent is laid out and can be clicked, but not painted, which takes a quarter of Chromium's time.
UNPAINTED = """
const clear = new CSSStyleSheet();
clear.replaceSync("html { opacity: 0 !important; }");
window.paint = (whether) => (document.adoptedStyleSheets = whether ? [] : [clear]);
window.paint(false);
"""

# Colours too are looked at, so that all is shown meanwhile; without a pause, in which it would be painted. Of axe's
# rules, those that it runs unless it is asked for others and whose breaches it calls serious or critical.
LOOK = """async () => {
  window.paint?.(true);
  const { rules, tagExclude } = axe._audit;
  const grave = rules.filter((rule) => rule.enabled && !rule.tags.some((tag) => tagExclude.includes(tag))
    && ["serious", "critical"].includes(rule.impact));
  const runOnly = grave.map((rule) => rule.id);
  const { violations } = await axe.run(document, { resultTypes: ["violations"], runOnly });
  window.paint?.(false);
  return violations;
}"""

# In place of Vega, which takes a third of the time of a visit: the exports of `web/src/vega.js`, with empty canvases.
UNDRAWN = """
const view = {data: () => view, resize: () => view, runAsync: async () => view, tooltip: () => view, finalize() {}};
export const makeView = (spec, {container}) => {
  container.replaceChildren(document.createElement("canvas"));
  return view;
};
export const toSvg = undefined, toPng = undefined;
"""

KEPT = {}  # visits by whether charts are drawn: a page of its own for each would be a process


@cache
def curves():
    """Replies of the server with curves of the paper's strata, by their address: each takes it forty designs."""
    asked = json.dumps({"strata": FOUR, "options": {"epsilon": 1.0, "total": 200}}).encode()
    return {
        "**/api/precision": ("application/json", reply_precision(asked, {}).content),
        "**/api/epsilon": ("application/json", reply_epsilon(asked, {}).content),
    }


def leave_out_charts(context):
    """Let pages work without curves of their own and without drawing any."""
    for address, (kind, body) in {"**/static/part-*.js": ("text/javascript", UNDRAWN), **curves()}.items():
        context.route(address, answering(kind, body))


def answering(kind, body):
    """Return what answers a request in place of the server."""
    return lambda route: route.fulfill(content_type=kind, body=body)


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
    """Lend the Chromium of this process; meanwhile its thread can run no event loop of its own.

    Playwright's loop stays in the thread, so nobody else could run one if it were not put aside afterwards.
    """
    started, loop = _started()
    asyncio._set_running_loop(loop)
    try:
        yield started
    finally:
        asyncio._set_running_loop(None)


@cache
def _started():
    """Start a Chromium, once for each process of the tests, and return it with the loop that drives it."""
    path = find_chromium()
    playwright = sync_playwright().start()
    started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
    loop = asyncio.get_running_loop()
    atexit.register(_end, playwright, started, loop)
    return started, loop


def _end(playwright, started, loop):
    asyncio._set_running_loop(loop)
    started.close()
    playwright.stop()


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

    def begin(self, server, *, viewport=SCREEN, **media):
        """Forget other visits, on a screen of this size and with these preferences."""
        self.server = server
        self.requests, self.faults = [], []
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(media="screen", **{**MEDIA, **media})

    def end(self):
        """Undo what would last beyond this visit."""
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.context.clear_permissions()
        for other in self.page.context.pages:
            if other is not self.page:
                other.close()
        self.page.mouse.move(0, 0)
        self.leave()

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
def visiting(browser, server, *, drawn=False, alone=False, **options):
    """Visit the page, loaded anew, and check the visit at its end.

    `make slow` looks for barriers after every visit; `make test` where a test calls `Visit.check`: between them, these
    tests show nearly every kind of element.

    Parameters
    ----------
    drawn : bool
        Whether its charts are drawn, for tests that look at them; `make slow` draws them in all tests.
    alone : bool
        Whether it has a context of its own, for tests that leave behind what cannot be undone.
    options
        Its `viewport`, `color_scheme`, `reduced_motion` and `forced_colors`.
    """
    drawn, alone = drawn or FULL, alone or FULL
    visit = None if alone else KEPT.pop(drawn, None)
    if visit is None:
        visit = new_visit(browser, drawn=drawn)
    visit.begin(server, **options)
    try:
        yield visit
        if FULL:
            visit.check()
        else:
            visit.check_conduct()
        if not alone:
            visit.end()
            KEPT[drawn] = visit
    finally:
        if KEPT.get(drawn) is not visit:
            visit.page.context.close()


def new_visit(browser, *, drawn):
    """Make a page in a context of its own; `make slow` paints it."""
    context = browser.new_context(viewport=SCREEN, accept_downloads=True)
    context.set_default_timeout(15_000)
    if not FULL:
        context.add_init_script(UNPAINTED)
    if not drawn:
        leave_out_charts(context)
    return Visit(context.new_page())


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

FIRST = "104 + 42 + 27 + 27 = 200 interviews give a standard error of 0.0118"


def open_file(visit, name, content):
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    visit.page.locator(".strata input[type=file]").set_input_files(file)
