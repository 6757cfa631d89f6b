"""Recognisable answers to a questionnaire: in no file but their own, no output, no log, no exception."""

import csv
import logging
import re

import pytest

import dpstrata as dps
from commands import run
from dpstrata.fielding import releasing
from dpstrata.fielding.privatize import privatize
from dpstrata.fielding.publish import publish
from row_surveys import answered, command, survey, write

STEPS = {"publish": publish, "privatize": privatize}
THEIRS = {"people.csv", "sample.csv", "answers.csv"}  # files that hold ids, or answers
# Ids and answers; as whole words, because digests hold any few digits.
CANARIES = re.compile(r"canary-|(?<![\w.])4321\d(?![\w.])|87\.6543|parrot", re.IGNORECASE)


def read(folder):
    with open(folder / "answers.csv", newline="") as file:
        return list(csv.DictReader(file))


def search(folder):
    """Search every file that a release leaves, hidden ones too."""
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in THEIRS:
            assert not CANARIES.search(path.read_bytes().decode("utf-8", "replace")), path.name
            assert not CANARIES.search(path.name)


def said_by(error):
    """Everything that an exception holds, and those that led to it."""
    if error is None:
        return ""
    own = f"{error} {error!r} {error.args} {getattr(error, '__dict__', '')}"
    return own + said_by(error.__cause__) + said_by(error.__context__)


def release(folder, step, out="out.csv", **more):
    return STEPS[step](
        *(folder / "design.json", folder / "answers.csv"),
        sample=folder / "sample.csv",
        out=folder / out,
        key_file=folder / "draw.key",
        id="person",
        stratum="region",
        **more,
    )


@pytest.mark.parametrize("step", STEPS)
def test_no_answer_in_what_a_release_leaves_and_says(tmp_path, step):
    survey(tmp_path, step, devices=False)
    for arguments in (
        command(step, "out.csv"),
        command(step, "again.csv"),  # refused: it was released
        ["estimate", "design.json", "out.csv", "--out", "estimates.csv", "--plot", "shares.svg"],
        ["estimate", "design.json", "out.csv", "--json"],
    ):
        done = run(tmp_path, *arguments)
        assert done.returncode == (2 if "again.csv" in arguments else 0), done.stderr
        assert not CANARIES.search(done.stdout + done.stderr)
    search(tmp_path)


@pytest.mark.parametrize("moment", ["require_room", "write_atomically"])
@pytest.mark.parametrize("step", STEPS)
def test_no_answer_in_what_a_killed_release_leaves(tmp_path, step, moment, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    survey(tmp_path, step, devices=False)

    def killed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(releasing, moment, killed)
    with pytest.raises(KeyboardInterrupt):
        release(tmp_path, step)
    search(tmp_path)
    assert not CANARIES.search(caplog.text)


def _in_column(column, value):
    def change(rows):
        for row in rows[3:]:
            row[column] = value

    return change


def _same_person(rows):
    rows[4]["person"] = rows[5]["person"]


def _stranger(rows):
    rows[4]["person"] = "canary-parrot"


def _elsewhere(rows):
    rows[4]["region"] = "parrot"


RAW = {
    **{
        f"{column} {value}": _in_column(column, value)
        for column, value in (
            ("home", "parrot"),
            ("smokes", "parrot"),
            ("ill", "43219"),
            ("trust", "4321.5"),
            ("trust", "87.6543"),
            ("income", "parrot"),
            ("income", "987.654.43210"),
            ("income", "-43219"),
        )
    },
    "same person": _same_person,
    "stranger": _stranger,
    "elsewhere": _elsewhere,
}
SENT = {
    **{f"cell {value}": _in_column("cell", value) for value in ("parrot", "43217", "87.6543", "-43210")},
    "same person": _same_person,
    "stranger": _stranger,
}


@pytest.mark.parametrize(("devices", "changes"), [(False, RAW), (True, SENT)])
@pytest.mark.parametrize("step", STEPS)
def test_no_answer_in_refusals(tmp_path, step, devices, changes, caplog, capfd):
    """Bad cells of every column, people twice, strangers: whatever is raised, and what led to it."""
    caplog.set_level(logging.DEBUG)
    survey(tmp_path, step, devices=devices)
    right = read(tmp_path)
    for what, change in changes.items():
        rows = [dict(row) for row in right]
        change(rows)
        write(tmp_path / "answers.csv", rows)
        with pytest.raises(dps.InputError) as caught:
            release(tmp_path, step)
        assert not CANARIES.search(said_by(caught.value)), what
        assert not (tmp_path / "ledger.json").exists()
        assert not (tmp_path / "out.csv").exists()
    search(tmp_path)
    done = run(tmp_path, *command(step, "out.csv"))
    assert done.returncode == 2
    assert not CANARIES.search(done.stdout + done.stderr + caplog.text + "".join(capfd.readouterr()))


@pytest.mark.parametrize(
    "wrong",
    [
        {"income": "parrot"},
        {"income": 43_219_000},
        {"trust": 4321.5},
        {"trust": ["parrot"]},
        {"income": None},
    ],
)
def test_no_answer_in_refusals_on_a_device(tmp_path, wrong):
    plan, _ = survey(tmp_path, "publish", devices=False)
    asked = {name: answered("canary-0001")[name] for name in plan.forms[1].questions}
    with pytest.raises(dps.InputError) as caught:
        dps.noise_row(plan, "north", 2, asked | wrong)
    assert not CANARIES.search(said_by(caught.value))
