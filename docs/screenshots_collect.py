"""Takes the pictures of a survey that is collected, for its tutorial: ``make screenshots``."""

import csv
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from screenshots import ARGUMENTS, IMAGES, find_chromium

import dpstrata as dps

QUESTIONS = dps.Questionnaire(
    [
        dps.Question("harassed", "yes_no", blank=False, text="Were you harassed at work in the last year?"),
        dps.Question("stay", "yes_no", blank=False, text="Do you want to stay with us next year?"),
    ]
)
SITES = {"coast": 2400, "city": 1500, "hills": 900}
PHONE = {"viewport": {"width": 360, "height": 640}, "is_mobile": True, "locale": "en-GB"}


def invited(folder: Path) -> str:
    """Design, draw and invite as the tutorial does; return the token of someone in the sample."""
    people = [f"{site}-{i:04},{site}\n" for site, size in SITES.items() for i in range(size)]
    (folder / "staff.csv").write_text("id,site\n" + "".join(people))
    frame = dps.open_frame(folder / "staff.csv", id="id", stratum="site")
    plan = dps.design(
        dps.frame_strata(frame),
        questions=QUESTIONS,
        epsilon=1,
        device_epsilon=3,
        release="sums",
        total=200,
    )
    plan.save(folder / "design.json")
    dps.draw(folder / "design.json", frame, out=folder / "sample.csv", key_file=folder / "draw.key")
    dps.invite(
        folder / "design.json",
        survey=folder / "survey",
        sample=folder / "sample.csv",
        key_file=folder / "draw.key",
        id="id",
        stratum="site",
        office_key=folder / "office.key",
        address="http://127.0.0.1",
        out=folder / "invitations.csv",
        title="Working with us",
    )
    with open(folder / "invitations.csv", newline="") as file:
        return next(csv.DictReader(file))["link"].partition("#")[2]


@contextmanager
def collecting() -> Iterator[str]:
    """Start a collector, and give someone's link."""
    with tempfile.TemporaryDirectory() as name:
        token = invited(Path(name))
        command = [sys.executable, "-m", "dpstrata", "collect", f"{name}/survey", "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            at = next(found for line in process.stdout if (found := re.search(r"http://127\S+", line)))
            yield f"{at.group()}#{token}"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


def main() -> None:
    """Take every picture, from the link to the thanks."""
    with collecting() as link, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        page: Page = browser.new_context(**PHONE).new_page()

        def take(name: str) -> None:
            page.screenshot(path=IMAGES / f"collect-{name}.png")

        def press() -> None:
            page.locator("main button.main").click()

        page.goto(link)
        page.locator("main button.main").wait_for()
        take("start")
        press()
        page.get_by_role("radio").nth(1).check()
        take("question")
        press()
        page.get_by_role("radio").first.check()
        press()
        press()
        page.locator(".rows").wait_for()
        take("review")
        press()
        page.locator("main button.main").wait_for(state="detached")
        page.wait_for_timeout(500)
        take("done")
        browser.close()


if __name__ == "__main__":
    main()
