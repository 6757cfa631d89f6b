"""The container file: what it starts is a command that exists, and what it copies is what a build needs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from collecting import invited, plan_for, served
from commands import run

ROOT = Path(__file__).parent.parent.parent
LINES = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()


def instruction(name):
    (line,) = (line for line in LINES if line.startswith(name + " "))
    return json.loads(line.removeprefix(name))


def test_it_says_what_it_can_start(tmp_path):
    """A collector needs the name under which respondents reach it, which no default can know."""
    assert instruction("ENTRYPOINT") == ["dpstrata"]
    said = run(tmp_path, *instruction("CMD")).stdout
    assert all(re.search(rf"\b{name}\b", said) for name in ("collect", "serve"))


def test_the_commands_of_the_page_are_commands(tmp_path):
    page = (ROOT / "docs/start/installation.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ podman run .* dpstrata (\w+) (.*)$", page, re.MULTILINE)
    assert {name for name, _ in commands} == {"serve", "collect"}
    for name, options in commands:
        known = run(tmp_path, name, *(["serve"] if name == "collect" else []), "--help").stdout
        assert all(flag in known for flag in re.findall(r"--[a-z-]+", options))


@pytest.mark.slow
def test_its_health_check_knows_whether_a_server_is_alive(tmp_path):
    (line,) = (line for line in LINES if line.startswith("HEALTHCHECK "))
    program, *words = json.loads(line.partition(" CMD ")[2])
    assert program == "python"
    with served(invited(tmp_path, plan_for(180))) as server:
        check = [sys.executable, *(word.replace("8000", str(server.port)) for word in words)]
        assert subprocess.run(check, capture_output=True).returncode == 0
    assert subprocess.run(check, capture_output=True).returncode == 1


def test_nothing_that_a_build_needs_is_left_out():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert not {"src", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"} & set(ignored)
