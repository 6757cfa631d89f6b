"""Closing: what was counted is released like anything else, and nothing is left of how it came about."""

import csv
import hashlib
import json
import random
import stat

import psycopg
import pytest
from typer.testing import CliRunner

import dpstrata as dps
import engines
from collecting import (
    DATABASES,
    collected,
    collecting,
    drawn,
    invited,
    opened,
    plan_for,
    random_cells,
    send_all,
    sent,
)
from dpstrata.cli import app
from dpstrata.collect.closing import close_survey
from dpstrata.collect.overseeing import survey_status
from dpstrata.collect.postgresql_store import PostgresqlTables
from dpstrata.collect.sqlite_store import SqliteTables
from dpstrata.collect.tables import Tables
from dpstrata.fielding.ledger import Ledger
from dpstrata.fielding.office_noise import NoiseKept
from dpstrata.fielding.randomizers.tables import tables_of
from dpstrata.fielding.releases import SumsFielding
from extent import FULL

STEPS = [
    (Tables, "mark_closed"),
    (NoiseKept, "make"),
    (Ledger, "expect"),
    (NoiseKept, "forget"),
    (Tables, "unwritten"),
    (Tables, "forget"),
    (Ledger, "finish"),
]
CHANGES = ["count = count + 1", "cell = cell + 1000", "form = form + 7"]


def close(made, **more):
    given = {
        "design": made.design, **made.office, "office_key": made.base / "office.key", "out": made.base / "results.csv",
        "database": made.database,
    }  # fmt: skip
    return close_survey(made.survey, **(given | more))


def test_what_is_published_is_what_was_counted_with_the_noise_of_the_office(made, monkeypatch):
    draw = SumsFielding.draw_office_noise
    monkeypatch.setattr(SumsFielding, "draw_office_noise", lambda *given: dict.fromkeys(draw(*given), 7))
    cells = random_cells(made).items()
    collected(made, cells)
    released = close(made)
    counted, plan = sent(made, cells), made.folder.plan
    assert len(plan.forms) == 2
    with open(made.base / "results.csv") as file:
        rows = list(csv.DictReader(file))
    expected = []
    for i in range(len(plan.strata)):
        for t in range(len(plan.forms)):
            of_form = [cell for key, cell in counted.elements() if key == (i, 0, t)]
            for table in tables_of(plan, t):
                expected += table.totals(of_form)
    assert [int(row["count"]) - 7 for row in rows] == expected
    assert (released.answers, released.invited) == (len(cells), plan.total)
    assert sum({(row["stratum"], row["form"]): int(row["answers"]) for row in rows}.values()) == len(cells)


def test_the_ledger_has_the_release_and_those_who_answered(made):
    cells = list(random_cells(made).items())
    collected(made, cells[:-5])
    released = close(made, accept_response=True)
    entry = json.loads((made.base / "ledger.json").read_text())["entries"][0]
    assert (entry["status"], len(entry["people"])) == ("released", len(cells) - 5)
    assert entry["questions"] == list(made.folder.plan.inputs.questions.names)
    assert released.from_devices
    assert not (made.survey / "ledger.json").exists()
    for out in ("results.csv", "more.csv"):
        with pytest.raises(
            dps.InputError, match=r"was closed before: its results were published, and its answers"
        ):
            close(made, out=made.base / out, accept_response=True, again=True)
    assert len(json.loads((made.base / "ledger.json").read_text())["entries"]) == 1
    assert not (made.base / "more.csv").exists()


def test_rows_are_published_in_no_order_where_every_row_is(tmp_path):
    made = invited(tmp_path, plan_for(release="microdata"))
    cells = random_cells(made).items()
    collected(made, cells)
    close(made)
    with open(made.base / "results.csv") as file:
        rows = [(row["stratum"], int(row["form"]) - 1, int(row["cell"])) for row in csv.DictReader(file)]
    names = made.folder.plan.strata.names
    assert sorted(rows) == sorted(
        (names[key.stratum], key.form, cell) for key, cell in sent(made, cells).elements()
    )
    assert rows != sorted(rows)


def test_too_few_answers_leave_the_survey_open(made):
    cells = list(random_cells(made).items())
    with pytest.raises(dps.InputError, match="there must be at least one answer"):
        close(made)
    collected(made, cells[:60])
    with pytest.raises(dps.InputError, match="Wait for more answers"):
        close(made)
    assert survey_status(made.survey, database=made.database).state == "open"
    assert not (made.base / "ledger.json").exists()
    collected(made, cells[60:])
    close(made)
    assert survey_status(made.survey, database=made.database).state == "closed"


def test_a_release_that_would_be_refused_leaves_the_survey_open(tmp_path):
    made = invited(tmp_path)
    collected(made, random_cells(made).items())
    ledger, start = tmp_path / "ledger.json", (made.survey / "collected.sqlite").read_bytes()

    def refused(match, **more):
        with pytest.raises(dps.InputError, match=match):
            close(made, **more)
        assert survey_status(made.survey).state == "open"

    refused("cannot be written: No such file", out=tmp_path / "nowhere" / "results.csv")
    ledger.mkdir()
    refused("cannot be read: Is a directory")
    ledger.rmdir()
    ledger.write_text("{}")
    refused("is not a ledger of dpstrata")
    ledger.unlink()
    assert close(made).answers == 200
    (made.survey / "collected.sqlite").write_bytes(start)
    known = ledger.read_bytes()
    refused("exists and is not replaced")
    refused("this design was released before, as results.csv", out=tmp_path / "more.csv")
    assert ledger.read_bytes() == known
    assert not (tmp_path / "more.csv").exists()
    assert close(made, out=tmp_path / "more.csv", again=True).answers == 200


def test_a_report_that_cannot_be_written_leaves_the_survey_open(tmp_path):
    made = invited(tmp_path)
    collected(made, random_cells(made).items())
    words = [
        "collect", "close", made.survey, "--design", made.design, "--office-key", tmp_path / "office.key", "--sample",
        tmp_path / "sample.csv", "--key-file", tmp_path / "draw.key", "--out", tmp_path / "results.csv", "--report",
        tmp_path / "nowhere" / "results.html",
    ]  # fmt: skip
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert "results.html cannot be written: No such file" in str(result.exception)
    assert survey_status(made.survey).state == "open"


def test_a_report_has_the_title_of_the_survey_unless_it_is_given_another(tmp_path):
    for number, given in enumerate([(), ("--title", "Spring")]):
        (tmp_path / str(number)).mkdir()
        made = invited(tmp_path / str(number), title="Health & work")
        collected(made, random_cells(made).items())
        words = [
            "collect", "close", made.survey, "--design", made.design, "--office-key", made.base / "office.key",
            "--sample", made.base / "sample.csv", "--key-file", made.base / "draw.key", "--out",
            made.base / "results.csv", "--report", made.base / "r.html", *given,
        ]  # fmt: skip
        refused = CliRunner().invoke(app, [str(word) for word in (*words, "--language", "Elvish")])
        assert "language must be" in str(refused.exception).replace("`", "")
        assert survey_status(made.survey).state == "open"
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        title = "Spring" if given else "Health &amp; work"
        assert f"<h1>{title}</h1>" in (made.base / "r.html").read_text()


def test_a_running_collector_is_closed_through_it(made):
    cells = list(random_cells(made).items())
    with made.folder.alone() as alone, collecting(made) as collector:
        assert alone
        send_all(collector, cells[:-3])
        close(made, accept_response=True)
        assert set(send_all(collector, cells[-3:])) == {"closed"}
        assert send_all(collector, cells[:1]) == ["used"]
    assert not (made.survey / "collect.closing").exists()


def test_a_run_that_was_killed_is_taken_up(made, monkeypatch):
    cells = random_cells(made).items()
    collected(made, cells)
    monkeypatch.setattr("dpstrata.collect.closing.release", lambda *args, **more: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        close(made)
    monkeypatch.undo()
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)
    assert close(made).answers == len(cells)
    with made.folder.connected() as tables:
        assert not tables.counted()
        assert not tables.sealed()
        assert tables.turnout().total() == len(cells)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "owner", "step"),
    [
        *(("sqlite", *step) for step in STEPS),
        *(("postgresql", *step) for step in STEPS if FULL or step[0] is Tables),
    ],
    indirect=["made"],
)
def test_closing_goes_on_after_every_step_and_draws_noise_once(made, monkeypatch, owner, step):
    """In both databases; test_closing_killed.py kills the command itself."""
    cells, drawn = list(random_cells(made).items()), []
    collected(made, cells)
    draw = SumsFielding.draw_office_noise
    monkeypatch.setattr(
        SumsFielding, "draw_office_noise", lambda *given: drawn.append(draw(*given)) or drawn[-1]
    )
    if step == "unwritten":  # all is deleted, and not yet written anew
        owner, step = (PostgresqlTables if made.database else SqliteTables), "compact"
    original, stopped = getattr(owner, step), []

    def until(*given, **more):
        result = None if step == "compact" and not stopped else original(*given, **more)
        if not stopped:
            stopped.append(step)
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, step, until)
    with pytest.raises(KeyboardInterrupt):
        close(made)
    if step != "finish":
        assert close(made).answers == len(cells)
    (entry,) = json.loads((made.base / "ledger.json").read_text())["entries"]
    assert (entry["status"], len(drawn)) == ("released", 1)
    assert entry["output_digest"] == hashlib.sha256((made.base / "results.csv").read_bytes()).hexdigest()
    with made.folder.connected() as tables:
        assert (tables.fact("state"), tables.counted(), tables.sealed()) == ("closed", {}, {})
    with pytest.raises(dps.InputError, match="was closed before"):
        close(made)


def test_a_request_that_a_killed_run_left_closes_nothing(tmp_path):
    """The survey stays open: closing it takes another run, which goes on from there."""
    made = invited(tmp_path)
    cells = list(random_cells(made).items())
    (made.survey / "collect.closing").touch()
    collected(made, cells)
    assert not (made.survey / "collect.closing").exists()
    (made.survey / "collect.closing").touch()
    assert survey_status(made.survey).state == "open"
    assert close(made).answers == len(cells)
    assert survey_status(made.survey).state == "closed"


def test_another_key_or_design_changes_nothing(made, tmp_path):
    collected(made, random_cells(made).items())
    other = invited(tmp_path / "other", plan_for(180))
    with pytest.raises(dps.InputError, match="must be the office's key of this survey, got another"):
        close(made, office_key=other.base / "office.key")
    with pytest.raises(dps.InputError, match="must be the design of the survey"):
        close(made, design=other.design)
    assert survey_status(made.survey, database=made.database).state == "open"


@pytest.mark.parametrize(
    ("made", "change"),
    [
        (database, change)
        for database in DATABASES
        for change in (CHANGES if FULL or database == "sqlite" else CHANGES[:1])
    ],
    indirect=["made"],
)
def test_a_database_that_something_else_changed_is_not_released(made, change):
    collected(made, random_cells(made).items())
    with made.folder.connected() as tables:
        tables.execute(f"UPDATE counters SET {change}")
    with pytest.raises(dps.InputError, match="one answer for every link that was used"):
        close(made)
    assert not (made.base / "ledger.json").exists()
    assert survey_status(made.survey, database=made.database).state == "open"


def test_a_sealed_answer_that_does_not_open_leaves_the_survey_open(made):
    cells = list(random_cells(made).items())
    collected(made, cells[:5])  # which stay sealed
    collected(made, cells[5:-1])
    with made.folder.connected() as tables:
        ((key, kept), *_) = tables.sealed().items()
        tables.execute("UPDATE sealed SET content = ? WHERE id = ?", (bytes(len(kept)), key))
    with pytest.raises(dps.InputError, match="every sealed answer must open with the office's key"):
        close(made, accept_response=True)
    assert survey_status(made.survey, database=made.database).state == "open"
    collected(made, cells[-1:])
    with made.folder.connected() as tables:
        tables.execute("UPDATE sealed SET content = ? WHERE id = ?", (kept, key))
    assert close(made).answers == len(cells)


def test_answers_that_something_else_deleted_leave_the_survey_open(made):
    collected(made, random_cells(made).items())
    with made.folder.connected() as tables:
        tables.execute("DELETE FROM counters")
        tables.execute("DELETE FROM sealed")
    with pytest.raises(dps.InputError, match="one answer for every link that was used"):
        close(made)
    assert survey_status(made.survey, database=made.database).state == "open"


def test_two_orders_leave_the_same_bytes_in_sqlite(tmp_path):
    made = invited(tmp_path)
    cells, start = list(random_cells(made).items()), (made.survey / "collected.sqlite").read_bytes()
    left = set()
    for turn in range(2):
        (made.survey / "collected.sqlite").write_bytes(start)
        random.shuffle(cells)
        for some in (cells[: 70 * turn], cells[70 * turn :]):
            with collecting(made) as collector:
                send_all(collector, some, at_once=(4, 200)[turn])
        close(made, out=tmp_path / f"results-{turn}.csv", again=True)
        left.add(hashlib.sha256((made.survey / "collected.sqlite").read_bytes()).hexdigest())
    assert len(left) == 1
    assert sorted(path.name for path in made.survey.iterdir()) == [
        "collect.lock", "collected.sqlite", "design.json", "kit.json", "office.pub",
    ]  # fmt: skip


@pytest.mark.postgresql
def test_two_orders_leave_the_same_dump_in_postgresql(tmp_path):
    """Also in the order in which the rows lie in their files, and as parts of one transaction."""
    made = invited(tmp_path, database="postgresql")
    cells, schema = list(random_cells(made).items()), f"dpstrata_{made.folder.plan.digest[:16]}"
    dumps = []
    for turn in range(2):
        with psycopg.connect(made.database, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")
        made.invite()
        random.shuffle(cells)
        with collecting(made) as collector:
            send_all(collector, cells, at_once=(4, 64)[turn])
        close(made, out=tmp_path / f"results-{turn}.csv", again=True)
        with psycopg.connect(made.database, autocommit=True) as connection:
            tables = ("survey", "tokens", "sealed", "counters")
            dumps.append(
                [
                    connection.execute(f"SELECT ctid::text, * FROM {schema}.{name}").fetchall()
                    for name in tables
                ]
            )
            found = connection.execute(f"SELECT DISTINCT xmin::text FROM {schema}.tokens").fetchall()
            assert len(found) == 1
    assert dumps[0] == dumps[1]
    assert dumps[0][2] == []


@pytest.mark.postgresql
def test_late_respondents_are_told_so_whoever_closed_the_survey(tmp_path):
    """Tables that are written anew stay with the role of the collector, and with whom it let in."""
    made, office = drawn(tmp_path, plan_for()), engines.server()
    schema = f"dpstrata_{plan_for().digest[:16]}"
    with psycopg.connect(office, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        connection.execute("DROP ROLE IF EXISTS asking")
        connection.execute("CREATE ROLE asking LOGIN")
        connection.execute("GRANT CREATE ON DATABASE postgres TO asking")
    try:
        made.database = office.replace("tests@", "asking@")
        made.invite()
        cells = list(random_cells(made).items())
        with collecting(made) as collector:
            send_all(collector, cells[:-1])
            close(made, database=office, accept_response=True)
            assert send_all(collector, cells[-1:]) == ["closed"]
            assert send_all(collector, cells[:1]) == ["used"]
    finally:
        with psycopg.connect(office, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
            connection.execute("DROP OWNED BY asking")
            connection.execute("DROP ROLE asking")


@pytest.mark.parametrize(("allowed", "mode"), [(True, 0o640), (False, 0o600)])
def test_a_database_that_is_written_anew_belongs_to_whom_it_belonged(tmp_path, monkeypatch, allowed, mode):
    """Also where another user closes the survey, such as root; rights are not given to another group."""
    made = invited(tmp_path)
    path, asked = made.survey / "collected.sqlite", []
    path.chmod(0o640)

    def fchown(file, owner, group):
        asked.append((owner, group))
        if not allowed:
            raise PermissionError

    monkeypatch.setattr("os.fchown", fchown)
    with made.folder.connected() as tables:
        tables.compact()
    assert asked == [(-1, path.stat().st_gid), (path.stat().st_uid, -1)]
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_the_ledger_does_not_go_into_the_folder_of_the_collector(tmp_path):
    made = invited(tmp_path)
    for inside, words in (
        ({"design": made.survey / "design.json"}, r"ledger\.json must be outside the folder"),
        ({"out": made.survey / "published.csv"}, r"published\.csv must be outside the folder"),
    ):
        with pytest.raises(dps.InputError, match=words):
            close(made, **inside)
    assert not (made.survey / "ledger.json").exists()
