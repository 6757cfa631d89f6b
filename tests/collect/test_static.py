"""The built page: made from the sources that are there, small, and with nothing that the policy forbids."""

import hashlib
import re
from pathlib import Path

from starlette.testclient import TestClient

from dpstrata.collect.contract import STATIC, make_page_app
from dpstrata.words.consent import languages

ROOT = Path(__file__).parents[2]


def test_it_is_built_from_the_sources_that_are_there():
    lines = (STATIC / "SOURCES.txt").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    web = ROOT / "web"
    sources = [*(web / "respond").iterdir(), *web.glob("*.json"), web / "build.mjs"]
    found = {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in sources
    }
    assert found == listed, "the page is not built from web/ as it is: run make web and commit what it writes"


def test_the_thanks_do_not_say_that_answers_stayed_on_the_device():
    """Most rows are sent as they are; what holds is that nobody can tell."""
    page = (STATIC / "page.js").read_text(encoding="utf-8")
    for said in (
        "Nobody can tell whether what was sent is what you answered.",
        "Niemand kann erkennen, ob das Gesendete Ihren Antworten entspricht.",
        "ولا يستطيع أحد أن يعرف هل ما أُرسل هو ما أجبت به.",
    ):
        assert page.count(said) == 1
    assert not re.search("never left|nie verlassen|لم تغادر", page)


def test_all_of_it_is_under_40_kb():
    served = [path for path in STATIC.iterdir() if path.name != "SOURCES.txt"]
    assert sum(path.stat().st_size for path in served) < 40_000


def test_the_page_loads_only_its_own_files(small_kit):
    with TestClient(make_page_app(small_kit, None), base_url="http://127.0.0.1") as client:
        page = client.get("/").text
        addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
        assert addresses
        for address in addresses:
            assert address.startswith("static/")  # relative, so that a survey can be served under any address
            assert client.get(f"/{address}").status_code == 200
    assert not re.search(r"<style|style=|<script>|onload=|javascript:", page)


def test_code_uses_nothing_that_keeps_or_reads_markup():
    code = "".join(path.read_text(encoding="utf-8") for path in STATIC.glob("*.js"))
    for word in (
        "localStorage", "sessionStorage", "indexedDB", "cookie", "innerHTML", "outerHTML", "insertAdjacentHTML",
        "eval(", "Math.random", "console.", "sendBeacon", "serviceWorker", "http:", "https:",
    ):  # fmt: skip
        assert word not in code, word
    assert not re.search(r"url\(|@import", (STATIC / "page.css").read_text())


def test_every_language_has_every_word():
    source = (ROOT / "web" / "respond" / "words.js").read_text(encoding="utf-8")
    parts = re.split(r"\n  (\w\w): \{\n", source)[1:]
    words = {
        language: re.findall(r"^    (\w+):", text, re.MULTILINE)
        for language, text in zip(parts[::2], parts[1::2], strict=True)
    }
    assert sorted(words) == sorted(languages())
    assert all(each == words["en"] for each in words.values())
    for text in parts[1::2]:
        placeholders = sorted(re.findall(r"\{\w\}", text))
        assert placeholders == sorted(re.findall(r"\{\w\}", parts[1]))
