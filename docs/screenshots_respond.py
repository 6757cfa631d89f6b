"""Takes the pictures of the respondents' page in the documentation: ``make screenshots``."""

import re
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from screenshots import ARGUMENTS, IMAGES, find_chromium

import dpstrata as dps

GERMAN = {
    "smokes": dps.Translation("de", "Rauchen Sie?"),
    "home": dps.Translation("de", "Wie wohnen Sie?", labels=["zur Miete", "im Eigentum", "anders"]),
    "sleep": dps.Translation("de", "Wie viele Stunden schlafen Sie in einer Nacht?"),
}
ARABIC = {
    "smokes": dps.Translation("ar", "هل تدخن؟"),
    "home": dps.Translation("ar", "كيف تسكن؟", labels=["بالإيجار", "في ملك", "غير ذلك"]),
    "sleep": dps.Translation("ar", "كم ساعة تنام في الليلة؟"),
}


def question(name: str, kind: str, **more: object) -> dps.Question:
    """Make a question in three languages."""
    return dps.Question(name, kind, translations=[GERMAN[name], ARABIC[name]], **more)


QUESTIONS = dps.Questionnaire(
    [
        question("smokes", "yes_no", blank=False, text="Do you smoke?"),
        question(
            "home",
            "category",
            blank=False,
            categories=["rent", "own", "other"],
            labels=["Rented", "Owned", "Other"],
            text="How do you live?",
        ),
        question("sleep", "number", lower=0, upper=12, text="How many hours do you sleep in a night?"),
    ],
    language="en",
)
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True}
DESK = {"viewport": {"width": 900, "height": 760}}


@contextmanager
def previewing():
    """Preview a small questionnaire, and stop."""
    plan = dps.design(
        dps.Strata([4000, 9000], names=["north", "south"]),
        questions=QUESTIONS,
        forms="one",
        epsilon=1,
        device_epsilon=3,
        release="sums",
        total=800,
    )
    with tempfile.TemporaryDirectory() as folder:
        plan.save(Path(folder) / "design.json")
        command = [sys.executable, "-m", "dpstrata", "respond", f"{folder}/design.json", "--no-browser"]
        process = subprocess.Popen(
            [*command, "--port", "0", "--title", "Health in the north and south"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield re.search(r"http://\S+", process.stdout.readline()).group()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


def press(page: Page) -> None:
    """Press the main button."""
    page.locator("main button.main").click()


def answer(page: Page, hours: str = "7.5") -> None:
    """Answer all questions, one after another, up to the row that will be sent."""
    press(page)
    page.get_by_role("radio").nth(1).check()
    press(page)
    page.get_by_role("radio").first.check()
    press(page)
    page.get_by_role("textbox").fill(hours)
    press(page)
    press(page)
    page.locator(".rows").wait_for()


def main() -> None:
    """Take every picture."""
    with previewing() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)

        def opened(**options: object) -> Page:
            page = browser.new_context(**{"locale": "en-GB", **options}).new_page()
            page.goto(address)
            page.get_by_role("link", name="Form 1").click()
            page.locator("main button.main").wait_for()
            return page

        def take(page: Page, name: str) -> None:
            page.screenshot(path=IMAGES / f"respond-{name}.png")

        take(opened(**DESK), "light")
        page = opened(**DESK, color_scheme="dark")
        answer(page)
        take(page, "dark")
        page = opened(**PHONE)
        press(page)
        page.get_by_role("radio").nth(1).check()
        take(page, "phone")
        page = opened(**PHONE, locale="ar")
        answer(page)
        take(page, "right-to-left")
        page = opened(**PHONE)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        press(page)
        take(page, "large-print")
        browser.close()


if __name__ == "__main__":
    main()
