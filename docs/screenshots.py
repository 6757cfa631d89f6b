"""Takes the pictures of the planner and of the report in the documentation: ``make screenshots``."""

import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import dpstrata as dps

IMAGES = Path(__file__).parent / "images"
TOWN = Path(__file__).parents[1] / "examples" / "questionnaire.py"
EXAMPLE = Path(dps.__file__).parent / "examples" / "four-strata.csv"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
PICTURES = {
    "planner-light": {"viewport": {"width": 1360, "height": 1000}, "color_scheme": "light"},
    "planner-dark": {"viewport": {"width": 1360, "height": 1000}, "color_scheme": "dark"},
    "planner-phone": {
        "viewport": {"width": 390, "height": 844},
        "color_scheme": "light",
        "device_scale_factor": 2,
        "is_mobile": True,
    },
}


@contextmanager
def serving():
    """Serve the planner, and stop it."""
    command = [sys.executable, "-m", "dpstrata", "serve", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+/", process.stdout.readline()).group()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def wait_for_charts(page: Page) -> None:
    """Wait until every chart is drawn."""
    page.locator("[data-drawn]").nth(4).wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)


def find_chromium() -> str:
    """Return the path of a Chromium."""
    return next(
        path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))
    )


def results(folder: Path) -> Path:
    """Carry a survey out, and write the report of its results."""
    example = runpy.run_path(str(TOWN))
    plan, found = example["carry_out"](example["make_people"](), folder)
    published = dps.find_published(plan, folder / "published.csv", folder / "design.json")
    dps.write_results(plan, found, folder / "results.html", published)
    return folder / "results.html"


def main() -> None:
    """Take every picture."""
    with serving() as address, sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        for name, options in PICTURES.items():
            page = browser.new_context(**options).new_page()
            page.goto(address)
            wait_for_charts(page)
            if name == "planner-phone":
                page.locator("#headline").scroll_into_view_if_needed()
                page.locator(".headline").evaluate("box => box.scrollIntoView()")
                page.wait_for_timeout(300)
            page.screenshot(path=IMAGES / f"{name}.png")
        report = Path(folder) / "report.html"
        plan = dps.design(dps.Strata.from_file(EXAMPLE), epsilon=1, total=200)
        report.write_text(dps.report_html(plan), encoding="utf-8")
        page = browser.new_page(viewport={"width": 900, "height": 1200})
        page.goto(report.as_uri())
        page.screenshot(path=IMAGES / "report.png")
        page.goto(results(Path(folder)).as_uri())
        page.get_by_role("heading", name="Results", exact=True).evaluate("part => part.scrollIntoView()")
        page.screenshot(path=IMAGES / "results.png")
        browser.close()


if __name__ == "__main__":
    main()
