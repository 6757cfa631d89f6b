"""The built page: made from the sources that are there, whole, licensed, and with nothing that the policy forbids."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from dpstrata.survey.options import OPTIONS
from dpstrata.web.app import STATIC

ROOT = Path(__file__).parents[2]


def test_it_is_built_from_the_sources_that_are_there():
    lines = (STATIC / "SOURCES.txt").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    sources = [*(ROOT / "web" / "src").iterdir(), *(ROOT / "web").glob("*.json"), ROOT / "web" / "build.mjs"]
    found = {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in sources
    }
    assert found == listed, "the page is not built from web/ as it is: run make web and commit what it writes"


@pytest.mark.parametrize("name", ["mechanism", "objective", "release"])
def test_every_choice_has_a_title(name):
    """The menu offers what the library has; without a title the page would show a bare name."""
    menu = re.search(
        rf"\n  {name}: {{(.*?)\n  }}", (ROOT / "web" / "src" / "choices.js").read_text(), re.DOTALL
    )
    assert sorted(re.findall(r"(\w+): \"", menu[1])) == sorted(OPTIONS[name].choices)


def test_the_page_loads_only_its_own_files(client):
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for address in re.findall(r'(?:src|href)="([^"]+)"', page.text):
        assert address.startswith("/static/")
        assert client.get(address).status_code == 200
    assert not re.search(r"<style|style=|<script>|onload=|javascript:", page.text)
    assert client.get("/static/planner.js").headers["content-type"].startswith("text/javascript")


def test_every_part_of_the_bundle_is_there():
    parts = {
        name for file in STATIC.glob("*.js") for name in re.findall(r"\./(part-\w+\.js)", file.read_text())
    }
    assert parts
    assert {path.name for path in STATIC.glob("part-*.js")} == parts


def test_parts_named_by_their_content_are_kept_and_everything_else_is_asked_for_again(client):
    for path in STATIC.iterdir():
        policy = client.get(f"/static/{path.name}").headers["cache-control"]
        kept = path.name.startswith("part-")
        assert policy == ("public, max-age=31536000, immutable" if kept else "no-cache"), path.name
    assert client.get("/").headers["cache-control"] == "no-cache"


def test_styles_load_nothing():
    assert not re.search(r"url\(|@import", (STATIC / "planner.css").read_text())


def test_packages_are_pinned_and_licensed():
    package = json.loads((ROOT / "web" / "package.json").read_text())
    licences = (STATIC / "THIRD-PARTY.txt").read_text()
    for name, version in package["dependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        assert f"\n{name} {version} (" in licences
    assert "resolved" not in (ROOT / "web" / "package-lock.json").read_text()


@pytest.mark.parametrize(
    "path", ["/static/", "/static/nothing.js", "/static/%2e%2e/app.py", "/static/..%2fapp.py"]
)
def test_nothing_else_is_served(client, path):
    assert client.get(path).status_code == 404
