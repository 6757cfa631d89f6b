"""What pages must say because the code does, and figures that must be those of the code."""

import hashlib
import re
import tomllib
from pathlib import Path

import pytest
from import_graph import BASE, imports, layers, reduced

import dpstrata as dps
from dpstrata.privacy.mechanisms.registry import MECHANISMS

DOCS = Path(__file__).parents[2] / "docs"


def test_every_mechanism_is_documented():
    text = (DOCS / "explanation" / "mechanisms.md").read_text(encoding="utf-8")
    assert [name for name in MECHANISMS if f"`{name}`" not in text] == []


def test_every_mechanism_is_in_the_docstring_of_design():
    assert [name for name in MECHANISMS if f"``{name}``" not in dps.design.__doc__] == []


def test_every_extra_is_documented():
    with (DOCS.parent / "pyproject.toml").open("rb") as file:
        extras = set(tomllib.load(file)["project"]["optional-dependencies"]) - {"dev", "docs", "bench"}
    text = (DOCS / "start" / "installation.md").read_text(encoding="utf-8")
    assert [name for name in sorted(extras) if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize("page", ["../README.md", "tutorials/large-frame.md"])
def test_the_speed_of_the_draw_is_the_one_measured(page):
    measured = (DOCS / "reference" / "benchmarks.md").read_text(encoding="utf-8")
    scans = re.search(r"^\| secret draw .*in scans of the two columns \| ([\d.]+) ", measured, re.MULTILINE)[
        1
    ]
    memory = float(re.search(r"^\| its peak memory, in megabytes \| ([\d.]+) ", measured, re.MULTILINE)[1])
    text = " ".join((DOCS / page).read_text(encoding="utf-8").split())
    assert f"takes {scans} scans of the two columns and less than" in text
    assert memory / 1000 < float(re.search(r"columns and less than ([\d.]+) GB", text)[1])


def test_what_pages_import_is_in_the_reference():
    reference = "".join(
        page.read_text(encoding="utf-8") for page in (DOCS / "reference" / "api").glob("*.md")
    )
    imported = [
        (page.name, f"{module}.{name.strip()}")
        for page in (*DOCS.rglob("*.md"), DOCS.parent / "README.md")
        for module, names in re.findall(
            r"^(?:>>> )?from (dpstrata[\w.]*) import (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        for name in names.split(",")
    ]
    assert len(imported) > 5
    assert [each for each in imported if f":: {each[1]}\n" not in reference] == []


def test_no_letter_has_two_meanings():
    text = (DOCS / "explanation" / "notation.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (\$.*?) \|", text, re.MULTILINE)
    letters = [letter for cell in cells for letter in re.findall(r"\$(.+?)\$", cell)]
    assert len(letters) > 40
    assert sorted(letters) == sorted(set(letters))


@pytest.mark.parametrize("page", ["../CONTRIBUTING.md", "architecture.md"])
def test_every_path_in_the_pages_for_maintainers_exists(page):
    """``NAME`` stands for a file that is yet to be written."""
    text = (DOCS / page).read_text(encoding="utf-8")
    named = re.findall(r"`([\w./-]+(?:/|\.(?:py|js|json|md|toml)))`", text)
    source = DOCS.parent / "src"
    folders = (DOCS.parent, DOCS, source, source / "dpstrata")
    assert len(named) > 20
    missing = [path for path in named if not any((folder / path).exists() for folder in folders)]
    assert [path for path in missing if "NAME" not in path] == []


def test_the_diagram_knows_every_part_of_the_package():
    drawn = {name for row in layers() for name in row}
    source = DOCS.parent / "src" / "dpstrata"
    parts = {path.stem for path in source.glob("*.py")} | {
        path.parent.name for path in source.glob("*/__init__.py")
    }
    assert parts - {"__init__", "__main__", "numerics", "errors", "version"} == drawn - {BASE}


def test_its_arrows_are_the_imports_and_point_down():
    assert {"designs", "allocation"} <= imports()["planning"]
    assert "privacy" in imports()["allocation"]
    assert "planning" not in imports()["fielding"]
    depth = {name: place for place, row in enumerate(layers()) for name in row}
    assert all(depth[above] < depth[below] for above, found in imports().items() for below in found)


def test_no_arrow_that_matters_is_left_out():
    """Whatever can be reached by imports can be reached by the arrows that are drawn."""

    def reach(edges, name):
        return set().union(edges[name], *(reach(edges, below) for below in edges[name]))

    drawn = reduced(imports())
    assert all(reach(drawn, name) == reach(imports(), name) for name in drawn)
    assert sum(map(len, drawn.values())) < sum(map(len, imports().values()))


def test_the_vendored_mathjax_is_the_one_that_its_source_names():
    folder = DOCS / "_static" / "mathjax"
    digest = hashlib.sha256((folder / "tex-svg.js").read_bytes()).hexdigest()
    assert digest in (folder / "SOURCE.txt").read_text(encoding="utf-8")
