"""The documentation site: it builds without a warning, stands alone, and none of its links is dead."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from browser import chromium

import dpstrata as dps
from dpstrata.cli import app
from dpstrata.web.endpoints import ENDPOINTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def check(site):
    return subprocess.run(
        [sys.executable, DOCS / "check_site.py", site], capture_output=True, text=True, timeout=120
    )


def build(source, out):
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html", source, out]
    quick = {**os.environ, "DPSTRATA_QUICK_SITE": "yes"}  # what `make docs` has in addition: see conf.py
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=out.parent, env=quick)


@pytest.mark.slow
def test_the_site_builds_clean_and_stands_alone(tmp_path):
    """One test, because the build, with every tutorial, takes most of a minute."""
    site = tmp_path / "site"
    built = build(DOCS, site)
    assert built.returncode == 0, built.stderr
    checked = check(site)
    assert (checked.returncode, checked.stdout) == (0, "")
    index = (site / "index.html").read_text()
    text = index[index.index("<article") :]
    story = (
        "A whole survey in five commands",
        "Staff surveys",
        "You know surveys, not privacy",
        "One design in ten lines",
        "The paper",
    )
    assert [text.index(words) for words in story] == sorted(text.index(words) for words in story)
    everything = {page.relative_to(site).as_posix(): page.read_text() for page in site.rglob("*.html")}
    api = "".join(text for name, text in everything.items() if name.startswith("reference/api/"))
    missing = [name for name in dps.__all__ if name != "__version__" and f'id="dpstrata.{name}"' not in api]
    assert missing == []
    for name, given in options().items():
        section = everything["reference/command-line.html"].partition(f'<section id="{name}"')[2]
        section = section.partition("</section>")[0]
        assert [option for option in given if f">{option}<" not in section] == [], name
    described = everything["reference/json-api.html"]
    assert [each.path for each in ENDPOINTS if f"{each.method} {each.path}" not in described] == []
    with_formulas = [name for name, text in everything.items() if "mathjax" in text]
    assert "explanation/exact-solver.html" in with_formulas
    look_at(site)
    assert str(ROOT) not in "".join(everything.values())  # nothing about the machine that built it


def look_at(site):
    """In a browser: formulas are typeset, in the light and in the dark, and nothing is asked of another machine."""
    with chromium() as browser:
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme)
            asked, faults = [], []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.on("pageerror", lambda error, faults=faults: faults.append(str(error)))
            for name in ("index.html", "explanation/exact-solver.html", "architecture.html"):
                page.goto((site / name).as_uri())
                page.wait_for_load_state("networkidle")
                if "exact-solver" in name:
                    page.locator("mjx-container svg").first.wait_for()
            here = site.as_uri()
            assert [url for url in asked if not url.startswith((here, "data:"))] == []
            assert faults == []
            assert page.locator(".import-graph svg rect").count() > 10
            page.close()


def options():
    """Every command with its options."""
    return {
        name: [
            each
            for option in command.params
            if not option.hidden
            for each in option.opts
            if each.startswith("--")
        ]
        for name, command in typer.main.get_command(app).commands.items()
    }


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ('<script src="https://cdn.example.org/x.js"></script>', "loads https://cdn.example.org/x.js"),
        ('<link rel="stylesheet" href="//fonts.example.org/a.css">', "from elsewhere"),
        ('<img srcset="a.png 1x, https://example.org/b.png 2x">', "loads https://example.org/b.png"),
        ('<p style="background: url(http://example.org/x.png)">', "from elsewhere"),
        ("<style>@import 'https://example.org/x.css';</style>", "from elsewhere"),
        ('<img src="gone.png">', "loads gone.png, which does not exist"),
        ('<a href="gone.html">x</a>', "links to gone.html, which does not exist"),
        ('<a href="#gone">x</a>', "links to #gone, where there is no such place"),
        ('<a href="other.html#gone">x</a>', "links to other.html#gone, where there is no such place"),
        ('<a href="https:/example">x</a>', "not well formed"),
        ("<p>With &#8211;epsilon it is</p>", "shows \u2013epsilon, an option not in code"),
    ],
)
def test_the_checker_finds_what_it_should(page, words, tmp_path):
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "other.html").write_text('<h1 id="there">Other</h1>')
    found = check(tmp_path)
    assert found.returncode == 1
    assert words in found.stdout


def test_the_checker_finds_styles_that_load_from_elsewhere_and_passes_a_sound_site(tmp_path):
    (tmp_path / "index.html").write_text(
        '<a href="other.html#there">x</a><a href="https://example.org/a">y</a><img src="data:image/png;base64,AA">'
        "pages 3\u20135, a thought \u2013 and <code>--total</code>"
    )
    (tmp_path / "other.html").write_text('<h1 id="there">Other</h1>')
    assert check(tmp_path).returncode == 0
    (tmp_path / "a.css").write_text("@font-face { src: url(https://example.org/a.woff2) }")
    assert "a.css: loads https://example.org/a.woff2 from elsewhere." in check(tmp_path).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("raise ValueError('broken')", "cell at line 3: ValueError: broken"),
        ("assert 1 == 2, 'no longer so'", "no longer so"),
    ],
)
def test_a_cell_that_fails_stops_the_build(cell, words, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    path = os.fspath(DOCS / "_ext")
    (source / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {path!r})\nextensions = ['myst_parser', 'running']\n"
    )
    (source / "index.md").write_text(f"# Page\n\n```{{run}}\n{cell}\n```\n")
    built = build(source, tmp_path / "out")
    assert built.returncode != 0
    assert words in built.stderr
