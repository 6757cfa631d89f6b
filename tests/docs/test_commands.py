"""Every shell command of the documentation, run in order in an empty folder with the shipped examples.

A block marked ``console`` holds commands behind ``$`` and, if it shows any, their output, in which ``...`` stands
for whatever. A block with a caption is a file of that name. A block that is not run says why, right above it:
``<!-- not run here: REASON -->``.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import dpstrata as dps
from dpstrata.cli import app

ROOT = Path(__file__).parents[2]
EXAMPLES = Path(dps.__file__).parent / "examples"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts]
BLOCK = re.compile(
    r"(?P<skip><!-- not run here: .+? -->\n)?^```(?P<kind>console|\{code-block\} \w+)\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
CAPTION = re.compile(r":caption: (\S+)\n")


def blocks(page):
    """Files and commands of a page: (name, text) or (command, expected output)."""
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        if match["skip"]:
            continue
        if match["kind"] == "console":
            assert match["body"].startswith("$ "), f"{page}: a console block begins with a command"
            for part in re.split(r"^\$ ", match["body"], flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield "command", command, output
        elif caption := CAPTION.match(match["body"]):
            yield "file", caption[1], match["body"][caption.end() :]


def as_expected(expected, got):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return not expected.strip() or doctest.OutputChecker().check_output(expected, got, flags)


def carried_out(command, folder, environment):
    """Run a line as a shell does."""
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(kind == "command" for kind, *_ in blocks(page))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_commands_of(page, tmp_path):
    for example in (*EXAMPLES.glob("*.csv"), *EXAMPLES.glob("*.xlsx")):
        shutil.copy(example, tmp_path)
    path = os.pathsep.join([os.fspath(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "120"}
    for kind, first, second in blocks(page):
        if kind == "file":
            (tmp_path / first).write_text(second, encoding="utf-8")
            continue
        result = carried_out(first, tmp_path, environment)
        assert result.returncode == 0, f"{first}\n{result.stderr}"
        assert as_expected(second, result.stdout), f"{first}\nexpected:\n{second}\ngot:\n{result.stdout}"


def test_no_command_hides_outside_a_console_block():
    """One in an indented block, or behind no prompt, would never be run."""
    names = typer.main.get_command(app).commands
    docs = [page for page in PAGES if page.name != "README.md"]
    hidden = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in docs
        for line in page.read_text(encoding="utf-8").splitlines()
        if re.match(rf"\s*dpstrata ({'|'.join(names)}) ", line)
    ]
    allowed = "docs/how-to/report.md: dpstrata design strata.csv --epsilon=1 --total=200 --out=design.json"
    assert [line for line in hidden if line != allowed] == []  # that one is the output of an example


def test_a_wrong_output_is_noticed():
    assert as_expected("200 interviews\n...\n", "200 interviews\nand more\n")
    assert not as_expected("200 interviews\n...\n", "201 interviews\nand more\n")
