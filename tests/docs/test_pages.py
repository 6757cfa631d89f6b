"""What pages must say because the code does, and figures that must be those of the code."""

import hashlib
import re
import tomllib
from pathlib import Path

import pytest
from import_graph import BASE, imports, layers, reduced

import dpstrata as dps
from dpstrata.privacy.mechanisms import MECHANISMS

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


def without_example(docstrings, reference):
    """Return the names that have no example in their docstring, nor right below it in the reference."""
    parts = re.split(r"^\.\. auto\w+:: dpstrata\.([\w.]+)", reference, flags=re.MULTILINE)
    below = dict(zip(parts[1::2], parts[2::2], strict=True))
    return [
        name
        for name, text in docstrings.items()
        if ">>> " not in text and "```pycon\n>>> " not in below.get(name, "")
    ]


def test_every_public_name_has_an_example():
    pages = sorted((DOCS / "reference" / "api").glob("*.md"))
    reference = "".join(page.read_text(encoding="utf-8") for page in pages)
    docstrings = {name: getattr(dps, name).__doc__ for name in dps.__all__ if name != "__version__"}
    assert without_example(docstrings, reference) == []


def test_an_example_of_another_name_is_none():
    page = ".. autofunction:: dpstrata.one\n```\n.. autoclass:: dpstrata.Two\n```\n```pycon\n>>> Two()\n```\n"
    assert without_example({"one": "It.", "Two": "It.", "Three": ">>> Three()", "Four": ""}, page) == [
        "one",
        "Four",
    ]


def test_every_shipped_example_can_be_downloaded_from_the_site():
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    shipped = [path.name for path in (DOCS.parent / "src" / "dpstrata" / "examples").iterdir()]
    assert [name for name in shipped if name != "README.md" and f"examples/{name}>`" not in pages] == []


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


def test_every_module_that_a_decision_names_exists():
    """Folders that a decision turned down are named too, so only files count."""
    text = "".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "decisions").glob("*.md")))
    named = re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|js|json))`", text)
    source = DOCS.parent / "src" / "dpstrata"
    assert len(named) > 10
    assert [
        path for path in named if not (source / path).exists() and not (DOCS.parent / path).exists()
    ] == []


def test_every_folder_is_in_the_table_for_maintainers():
    text = (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = "".join(re.findall(r"^\| (`\w+/`.*?) \|", text, re.MULTILINE))
    listed = set(re.findall(r"`(\w+)/`", table))
    folders = {path.parent.name for path in (DOCS.parent / "src" / "dpstrata").glob("*/__init__.py")}
    assert folders == listed


def assumptions():
    return (DOCS / "explanation" / "assumptions.md").read_text(encoding="utf-8")


def missing_tests(text):
    """Return the tests that a page names, as path and function, and that are not there."""
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", text)
    files = {path: DOCS.parent / "tests" / path for path, _ in named}
    held = {path: file.read_text(encoding="utf-8") if file.exists() else "" for path, file in files.items()}
    return [f"{path}::{name}" for path, name in named if f"def {name}(" not in held[path]]


def test_every_test_that_an_assumption_names_exists():
    assert missing_tests(assumptions()) == []
    assert missing_tests("`fielding/test_sample.py::test_of_nothing`, `no/such.py::test_it`") == [
        "fielding/test_sample.py::test_of_nothing",
        "no/such.py::test_it",
    ]


def test_every_assumption_and_every_number_has_a_test_or_says_why_not():
    rows = [line for line in assumptions().splitlines() if line.startswith("| ")]
    heads = ("| assumption ", "| number ", "| --- ")
    untested = [
        row for row in rows if not row.startswith(heads) and "::test_" not in row and "| none: " not in row
    ]
    assert len(rows) > 40
    assert untested == []


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


def test_readme_says_which_reference_pages_are_filled_by_the_site():
    """Whoever reads the repository finds them empty, and must know where the same is said."""
    readme = (DOCS.parent / "README.md").read_text()
    there = readme[readme.index("## Documentation") :]
    for name in ("command-line", "options"):
        assert f"<!-- generated: {name} -->" in (DOCS / "reference" / f"{name}.md").read_text()
        assert f"docs/reference/{name}.md" in there
    assert "`dpstrata COMMAND --help`" in there
