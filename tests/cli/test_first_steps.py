"""The five commands that ``dpstrata`` shows are a whole survey: run as they are shown, with devices that answer."""

import asyncio
import csv
import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

import dpstrata as dps
from collecting import Server, send_over
from commands import run, run_line
from dpstrata.cli import STEPS, first_steps

EXAMPLES = Path(dps.__file__).parent / "examples"


def answers_of(plan, form):
    """Answers of someone to every question of a form."""
    first = {"yes_no": lambda _: "yes", "category": lambda each: each.categories[0]}
    return {
        each.name: first.get(each.kind, lambda each: each.lower)(each)
        for each in plan.inputs.questions
        if each.name in plan.forms[form - 1].questions
    }


def test_without_a_command_the_five_steps_are_shown(tmp_path):
    done = run(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, first_steps() + "\n", "")
    assert [command.split()[0] for command in STEPS.values()] == [
        "frame",
        "design",
        "invite",
        "collect",
        "collect",
    ]


@pytest.mark.slow
def test_the_five_steps_are_a_survey(tmp_path):
    with open(EXAMPLES / "fair1978.csv", newline="", encoding="utf-8") as file:
        people = [{"person": row["person"], "region": row["occupation"]} for row in csv.DictReader(file)]
    with open(tmp_path / "people.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["person", "region"])
        writer.writeheader()
        writer.writerows(people)
    shutil.copy(EXAMPLES / "how-are-you.xlsx", tmp_path / "questions.xlsx")
    *before, collecting, closing = [f"dpstrata {command}" for command in STEPS.values()]
    for command in before:
        done = run_line(tmp_path, command)
        assert done.returncode == 0, (command, done.stderr)
    plan = dps.load_design(tmp_path / "design.json")
    with open(tmp_path / "sample.csv", newline="", encoding="utf-8") as file:
        drawn = {row["person"]: row for row in csv.DictReader(file)}
    with open(tmp_path / "invitations.csv", newline="", encoding="utf-8") as file:
        links = {row["person"]: row["link"].partition("#")[2] for row in csv.DictReader(file)}
    sent = {}
    for person, row in drawn.items():
        form = int(row["form"])
        sent[links[person]] = dps.randomize(plan, row["region"], answers_of(plan, form), form).value
    words = ["-m", *shlex.split(collecting), "--port", "0"]
    server = Server(None, [sys.executable, *words], folder=tmp_path)
    try:
        assert len(asyncio.run(send_over(server, sent.items()))[0]) == len(drawn)
    finally:
        server.end()
    done = run_line(tmp_path, closing)
    assert done.returncode == 0, done.stderr
    assert f"{len(drawn)} of {len(drawn)} people answered." in done.stdout
    assert done.stdout.endswith("Report written to results.html.\n")
    assert "<!doctype html>" in (tmp_path / "results.html").read_text(encoding="utf-8")[:200].lower()
    (entry,) = json.loads((tmp_path / "ledger.json").read_text())["entries"]
    assert entry["status"] == "released"
