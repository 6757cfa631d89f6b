"""Recognisable answers to a questionnaire: in no file but their own, no output, no log, no exception."""

import csv
import logging
import re

import pytest

import dpstrata as dps
from commands import run
from dpstrata.fielding import releasing
from dpstrata.fielding.publish import privatize, publish
from surveys import answered, command, survey, write

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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("first", ["canary-4321,parrot,0,0,43210", "anna,parrot,rent,rent,43210"])
@pytest.mark.parametrize("step", STEPS)
def test_no_answer_in_refusals_of_a_file_without_a_header(tmp_path, step, first):
    """Two answers alike look like two columns of the same name."""
    survey(tmp_path, step, devices=False)
    below = "canary-1,parrot,rent,1,43211\ncanary-2,south,own,0,43212\n"
    (tmp_path / "answers.csv").write_text(f"{first}\n{below}")
    with pytest.raises(dps.InputError, match="first row looks like data") as caught:
        release(tmp_path, step)
    said = said_by(caught.value)
    assert not CANARIES.search(said)
    assert not re.search(r"'0'|anna|rent", said)
    assert not (tmp_path / "ledger.json").exists()


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("Anna,Parrot,Castle,Teapot,Sofa", "it has 5 other columns, and may lack a header"),
        ("Anna,Parrot,Castle,Castle,Sofa", "columns 3 and 4 have the same name"),
        ("person,region,home,Teapot,Sofa", "it has 'home' and 4 other columns"),
        ("person, REGION,Castle,Teapot,Sofa", "column 2 differs from it in case or space only"),
    ],
)
@pytest.mark.parametrize("step", STEPS)
def test_only_names_that_were_asked_for_are_in_refusals_of_a_header(tmp_path, step, first, words):
    """Nothing about this first row says that it is somebody's."""
    survey(tmp_path, step, devices=False)
    (tmp_path / "answers.csv").write_text(f"{first}\nb,north,rent,coffee,none\nc,south,rent,coffee,none\n")
    with pytest.raises(dps.InputError, match=re.escape(words)) as caught:
        release(tmp_path, step)
    said = said_by(caught.value)
    assert not re.search("anna|parrot|castle|teapot|sofa", said, re.IGNORECASE)
    assert not (tmp_path / "ledger.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("people", ["canary-4321,a\ncanary-4322,b\n", "parrot,a\nben,b\nanna,a\n"])
def test_no_id_in_refusals_of_a_frame_without_a_header(tmp_path, people):
    survey(tmp_path, "publish", devices=False)
    (tmp_path / "people.csv").write_text(people)
    frame = ["people.csv", "--id", "person", "--stratum", "region", "--out", "new.csv"]
    for arguments in (["frame"], ["draw", "design.json"]):
        done = run(tmp_path, *arguments, *frame)
        assert done.returncode == 2
        assert "first row looks like data" in " ".join(done.stderr.split())
        assert not CANARIES.search(done.stdout + done.stderr)


@pytest.mark.parametrize("devices", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_form_that_was_not_dealt_is_refused_before_anything_is_spent(tmp_path, step, devices):
    survey(tmp_path, step, devices=devices)
    with open(tmp_path / "sample.csv", newline="") as file:
        dealt = {row["person"]: row["form"] for row in csv.DictReader(file)}
    rows = [row | {"form": dealt[row["person"]]} for row in read(tmp_path)]
    rows[0]["form"] = ""
    rows[1]["form"] = str(3 - int(rows[1]["form"]))
    rows[2]["form"] = "parrot"
    write(tmp_path / "answers.csv", rows)
    words = "column 'form', lines 3 and 4: the form must be the one that this person was dealt"
    with pytest.raises(dps.InputError, match=words) as caught:
        release(tmp_path, step)
    assert not CANARIES.search(said_by(caught.value))
    assert not (tmp_path / "ledger.json").exists()
    assert not (tmp_path / "out.csv").exists()
    for row in rows[1:3]:
        row["form"] = dealt[row["person"]]
    write(tmp_path / "answers.csv", rows)
    assert release(tmp_path, step).answers == len(rows)


@pytest.mark.parametrize(
    "wrong",
    [
        {"answer": "parrot"},
        {"answer": 43_219_000},
        {"trust": 4321.5},
        {"trust": ["parrot"]},
        {"answer": None},
    ],
)
def test_no_answer_in_refusals_on_a_device(tmp_path, wrong):
    plan, _ = survey(tmp_path, "publish", devices=False)
    asked = {name: answered("canary-0001")[name] for name in plan.forms[1].questions}
    with pytest.raises(dps.InputError) as caught:
        dps.randomize(plan, "north", asked | wrong, 2)
    assert not CANARIES.search(said_by(caught.value))
