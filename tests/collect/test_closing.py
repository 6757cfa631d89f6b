"""Closing: what was counted is released like anything else, and nothing is left of how it came about."""

import csv
import hashlib
import json
import random
import sqlite3
import stat

import psycopg
import pytest

import dpstrata as dps
from collecting import DATABASES, collecting, invited, plan_for, random_cells, send_all, sent
from dpstrata.collect.closing import close_survey
from dpstrata.collect.invitations import hash_of
from dpstrata.collect.overseeing import back_up, remind, survey_status
from dpstrata.fielding.questionnaires.counts import counts_of_cells
from dpstrata.fielding.releases.tables import TablesFielding


@pytest.fixture(params=DATABASES)
def made(request, tmp_path):
    return invited(tmp_path, database=request.param)


def close(made, **more):
    given = {
        "design": made.design, **made.office, "office_key": made.base / "office.key", "out": made.base / "results.csv",
        "database": made.database,
    }  # fmt: skip
    return close_survey(made.survey, **(given | more))


def collected(made, cells):
    with collecting(made) as collector:
        assert set(send_all(collector, cells)) == {"counted"}


def test_what_is_published_is_what_was_counted_with_the_noise_of_the_office(made, monkeypatch):
    monkeypatch.setattr(
        TablesFielding, "draw_office_noise", lambda self, plan, counts: dict.fromkeys(self._labels(plan), 7)
    )
    cells = random_cells(made).items()
    collected(made, cells)
    released = close(made)
    counted, plan = sent(made, cells), made.folder.plan
    assert len(plan.forms) == 2
    with open(made.base / "results.csv") as file:
        rows = list(csv.DictReader(file))
    expected = []
    for i in range(len(plan.strata)):
        for t, form in enumerate(plan.forms):
            of_form = [cell for stratum, of, cell in counted.elements() if (stratum, of) == (i, t)]
            for table in form.tables:
                expected += counts_of_cells(plan, t, of_form, table.questions)
    assert [int(row["count"]) - 7 for row in rows] == expected
    assert (released.answers, released.invited) == (len(cells), plan.total)
    assert sum({(row["stratum"], row["form"]): int(row["answers"]) for row in rows}.values()) == len(cells)


def test_the_ledger_has_the_release_and_those_who_answered(made):
    cells = list(random_cells(made).items())
    collected(made, cells[:-5])
    released = close(made, accept_response=True)
    entry = json.loads((made.base / "ledger.json").read_text())["entries"][0]
    assert (entry["status"], len(entry["people"]), entry["question"]) == (
        "released",
        len(cells) - 5,
        "questionnaire",
    )
    assert released.from_devices
    assert not (made.survey / "ledger.json").exists()
    with pytest.raises(dps.InputError):
        close(made, out=made.base / "more.csv", accept_response=True)  # the same answers again


def test_rows_are_published_in_no_order_where_every_row_is(tmp_path):
    made = invited(tmp_path, plan_for(release="microdata"))
    cells = random_cells(made).items()
    collected(made, cells)
    close(made)
    with open(made.base / "results.csv") as file:
        rows = [(row["stratum"], int(row["form"]) - 1, int(row["cell"])) for row in csv.DictReader(file)]
    names = made.folder.plan.strata.names
    assert sorted(rows) == sorted((names[i], form, cell) for i, form, cell in sent(made, cells).elements())
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
    monkeypatch.setattr("dpstrata.collect.closing.publish_batch", lambda *args, **more: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        close(made)
    monkeypatch.undo()
    assert close(made).answers == len(cells)


def test_another_key_or_design_changes_nothing(made, tmp_path):
    collected(made, random_cells(made).items())
    other = invited(tmp_path / "other", plan_for(180))
    with pytest.raises(dps.InputError, match="must be the office's key of this survey, got another"):
        close(made, office_key=other.base / "office.key")
    with pytest.raises(dps.InputError, match="must be the design of the survey"):
        close(made, design=other.design)
    assert survey_status(made.survey, database=made.database).state == "open"


@pytest.mark.parametrize("change", ["count = count + 1", "cell = cell + 1000", "form = form + 7"])
def test_a_database_that_something_else_changed_is_not_released(made, change):
    collected(made, random_cells(made).items())
    with made.folder.connected() as tables:
        tables.execute(f"UPDATE counters SET {change}")
    with pytest.raises(dps.InputError, match="one answer for every link that was used"):
        close(made)
    assert not (made.base / "ledger.json").exists()


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


def test_the_status_says_totals_and_strata_from_a_batch_on(made):
    names, people, links = made.folder.plan.strata.names, made.people, made.links
    few = [person for person, (stratum, _) in people.items() if stratum == "north"][:19]
    many = [person for person, (stratum, _) in people.items() if stratum == "south"][:25]
    collected(made, [(links[person], 0) for person in few + many])
    status = survey_status(made.survey, database=made.database)
    assert (status.answered, status.invited, status.batch) == (44, 200, 20)
    assert [answered for _, _, answered in status.strata] == [
        {"north": None, "south": 25}[name] for name in names
    ]


def test_reminders_go_to_everyone_or_to_those_who_are_missing(made):
    cells = list(random_cells(made).items())
    collected(made, cells[:30])
    given = {**made.office, "address": "https://survey.example.org", "database": made.database}
    assert remind(made.survey, **given, out=made.base / "all.csv") == 200
    assert (made.base / "all.csv").read_bytes() == (made.base / "invitations.csv").read_bytes()
    assert remind(made.survey, **given, out=made.base / "missing.csv", only_missing=True) == 170
    text = (made.base / "missing.csv").read_text()
    assert not any(token in text for token, _ in cells[:30])
    assert stat.S_IMODE((made.base / "missing.csv").stat().st_mode) == 0o600


def test_a_copy_is_whole_and_for_its_owner_alone(tmp_path):
    made = invited(tmp_path)
    cells = list(random_cells(made).items())
    with collecting(made) as collector:
        send_all(collector, cells[:50])
        back_up(made.survey, tmp_path / "copy.sqlite")
    assert stat.S_IMODE((tmp_path / "copy.sqlite").stat().st_mode) == 0o600
    connection = sqlite3.connect(tmp_path / "copy.sqlite")
    used = {row[0] for row in connection.execute("SELECT hash FROM tokens WHERE used = 1")}
    connection.close()
    assert used == {hash_of(token) for token, _ in cells[:50]}
    with pytest.raises(dps.InputError, match="cannot be made: File exists"):
        back_up(made.survey, tmp_path / "copy.sqlite")
