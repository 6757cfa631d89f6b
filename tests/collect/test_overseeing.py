"""While a survey is open: what the office is told of turnout, whom it reminds, and copies of the database."""

import os
import shutil
import sqlite3
import stat
from contextlib import closing, suppress

import pytest
from typer.testing import CliRunner

import dpstrata as dps
from collecting import collected, collecting, invited, opened, plan_for, random_cells, send_all, sent
from dpstrata.cli import app
from dpstrata.collect.invitations import hash_of
from dpstrata.collect.overseeing import _shown, back_up, remind, restore, survey_status
from dpstrata.collect.sqlite_store import SqliteTables


def test_the_status_says_totals_and_strata_from_a_batch_on(made):
    names, people, links = made.folder.plan.strata.names, made.people, made.links
    few = [person for person, (stratum, _) in people.items() if stratum == "north"][:19]
    many = [person for person, (stratum, _) in people.items() if stratum == "south"][:25]
    collected(made, [(links[person], 0) for person in few + many])
    status = survey_status(made.survey, database=made.database)
    assert (status.answered, status.invited, status.batch) == (44, 200, 20)
    # 19 would follow from 25 and the total
    assert [answered for _, _, answered in status.strata] == [None, None]
    more = [person for person, (stratum, _) in people.items() if stratum == "north"][19:20]
    collected(made, [(links[person], 0) for person in more])
    status = survey_status(made.survey, database=made.database)
    assert [answered for _, _, answered in status.strata] == [
        {"north": 20, "south": 25}[name] for name in names
    ]


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ([30, 40, 50], [30, 40, 50]),
        ([50, 7, 40, 30], [50, None, 40, None]),
        ([50, 7, 40, 19], [50, None, 40, None]),
        ([50, 3, 40, 5], [50, None, None, None]),
        ([50, 0, 40, 0], [50, None, None, None]),
        ([50, 15, 40, 5], [50, None, 40, None]),
        ([7, 30], [None, None]),
        ([7], [None]),
        ([25], [25]),
        ([0, 0], [None, None]),
    ],
)
def test_no_small_number_follows_from_the_others_and_the_total(numbers, shown):
    assert _shown(numbers, [100] * len(numbers), 20) == shown


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [
        ([39, 60, 100], [None, None, None]),  # 99 of 100: 39 or 40, and 59 or 60
        ([39, 20, 100], [None, None, 100]),
        ([40, 60, 100], [40, 60, 100]),
    ],
)
def test_no_number_follows_from_how_many_were_invited(numbers, shown):
    assert _shown(numbers, [40, 60, 100], 40) == shown


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


def test_a_copy_is_whole_and_for_its_owner_alone(made):
    cells, copy = list(random_cells(made).items()), made.base / "copy.sqlite"
    with collecting(made) as collector:
        send_all(collector, cells[:50])
        back_up(made.survey, copy, database=made.database)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    connection = sqlite3.connect(copy)
    used = {row[0] for row in connection.execute("SELECT hash FROM tokens WHERE used = 1")}
    connection.close()
    assert used == {hash_of(token) for token, _ in cells[:50]}
    with pytest.raises(dps.InputError, match="cannot be made: File exists"):
        back_up(made.survey, copy, database=made.database)


def test_a_copy_that_fails_leaves_no_file(tmp_path, monkeypatch):
    made = invited(tmp_path)
    monkeypatch.setattr(SqliteTables, "create_empty", lambda self: self.execute("no SQL"))
    with pytest.raises(dps.InputError, match="the database could not be used"):
        back_up(made.survey, tmp_path / "copy.sqlite")
    with pytest.raises(dps.InputError, match="must be a folder that invite made"):
        back_up(tmp_path, tmp_path / "copy.sqlite")
    assert not (tmp_path / "copy.sqlite").exists()


def backed_up(made, cells):
    """Let so many answer, make a backup, and let the others answer."""
    backup = made.base / "copy.sqlite"
    collected(made, cells[:50])
    back_up(made.survey, backup, database=made.database)
    collected(made, cells[50:])
    return backup


def test_what_is_restored_is_as_it_was_and_goes_on_from_there(made):
    cells = list(random_cells(made).items())
    backup = backed_up(made, cells)
    restore(made.survey, backup, database=made.database)
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells[:50])
    collected(made, cells[50:])
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)
    again = made.base / "again.sqlite"
    restore(made.survey, backup, database=made.database)
    back_up(made.survey, again, database=made.database)
    assert again.read_bytes() == backup.read_bytes()
    assert not list(made.survey.glob(".*"))


def test_a_backup_is_restored_on_the_command_line(made):
    cells = list(random_cells(made).items())
    backup = backed_up(made, cells)
    address = ["--database", made.database] if made.database else []
    result = CliRunner().invoke(app, ["collect", "restore", str(made.survey), str(backup), *address])
    assert result.exit_code == 0
    assert "with 50 answers. People who answered since then can answer again." in result.output
    with collecting(made):
        result = CliRunner().invoke(app, ["collect", "restore", str(made.survey), str(backup), *address])
    assert result.exit_code == 0  # a collector in this process has no lock


def test_nothing_is_restored_under_a_collector(made):
    cells = list(random_cells(made).items())
    backup = backed_up(made, cells)
    with made.folder.alone(), pytest.raises(dps.InputError, match=r"a collector is using .*; stop it before"):
        restore(made.survey, backup, database=made.database)
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)


def left_journal(made, cells):
    """The journal of a transaction that was under way when the machine stopped, with the file as it was then."""
    path, journal = made.survey / "collected.sqlite", made.survey / "collected.sqlite-journal"
    with made.folder.connected() as tables:
        tables.execute("PRAGMA cache_size = 1")  # so that pages are written before the end
        tables.begin(alone=True)
        tables.use([hash_of(token) for token, _ in cells], {os.urandom(16): bytes(300) for _ in cells})
        kept = path.read_bytes(), journal.read_bytes()
        tables.execute("ROLLBACK")
    return kept


def test_a_journal_that_was_left_is_not_rolled_into_a_backup(tmp_path):
    made = invited(tmp_path)
    cells = list(random_cells(made).items())
    back_up(made.survey, tmp_path / "empty.sqlite")
    backup = backed_up(made, cells)
    path, journal = made.survey / "collected.sqlite", made.survey / "collected.sqlite-journal"
    restore(made.survey, tmp_path / "empty.sqlite")
    torn, left = left_journal(made, cells)
    assert len(left) > 4096
    # copied by hand, the backup is damaged, and a collector says so
    shutil.copy(backup, path)
    journal.write_bytes(left)
    with pytest.raises(dps.InputError, match="dpstrata collect restore"), collecting(made):
        pass
    for found in (torn, None, bytes(4096)):  # as the machine stopped, lost, and damaged
        path.unlink()
        if found is not None:
            path.write_bytes(found)
        journal.write_bytes(left)
        restore(made.survey, backup)
        assert not journal.exists()
        with made.folder.connected() as tables:
            tables.check()
            assert opened(made, tables) == sent(made, cells[:50])


def test_a_database_that_is_lost_or_damaged_is_restored_and_until_then_refused(tmp_path):
    made = invited(tmp_path)
    cells = list(random_cells(made).items())
    backup = backed_up(made, cells)
    path = made.survey / "collected.sqlite"
    path.unlink()
    restore(made.survey, backup)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    whole = path.read_bytes()
    for content in (
        whole[: len(whole) // 2],
        whole[:4096] + bytes(len(whole) - 4096),
        whole[:8192] + bytes(100) + whole[8292:],
    ):
        path.write_bytes(content)
        with pytest.raises(dps.InputError, match="dpstrata collect restore"), collecting(made):
            pass
        restore(made.survey, backup)
        assert path.read_bytes() == whole


def test_a_file_that_another_program_has_locked_is_not_called_damaged(tmp_path, monkeypatch):
    """Who restores a backup for that loses answers."""
    made = invited(tmp_path)
    monkeypatch.setattr("dpstrata.collect.sqlite_store._SECONDS", 0.1)
    with closing(sqlite3.connect(made.survey / "collected.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(dps.InputError, match="cannot be opened: database is locked"):
            survey_status(made.survey)
        with pytest.raises(dps.InputError, match="cannot be opened: database is locked"), collecting(made):
            pass


def test_an_answer_that_is_missing_is_noticed_before_anyone_else_answers(tmp_path):
    made = invited(tmp_path)
    collected(made, list(random_cells(made).items())[:5])
    with made.folder.connected() as tables:
        tables.unseal(list(tables.sealed())[:1])
    with pytest.raises(dps.InputError, match=r"collected\.sqlite is damaged; put a backup"), collecting(made):
        pass


def test_only_a_whole_backup_of_this_survey_is_restored(made):
    cells = list(random_cells(made).items())
    backup = backed_up(made, cells)
    content = backup.read_bytes()
    other = invited(made.base / "other", plan_for(180), database="postgresql" if made.database else None)
    back_up(other.survey, made.base / "other.sqlite", database=other.database)
    wrong = {
        "half.sqlite": content[: len(content) // 2],
        "text.sqlite": b"no database",
        "empty.sqlite": b"",
        "other.sqlite": (made.base / "other.sqlite").read_bytes(),
    }
    for name, content in wrong.items():
        (made.base / name).write_bytes(content)
        with pytest.raises(dps.InputError, match=rf"{name} must be an undamaged backup of this survey"):
            restore(made.survey, made.base / name, database=made.database)
    with pytest.raises(dps.InputError, match=r"none\.sqlite cannot be copied to .*: No such file"):
        restore(made.survey, made.base / "none.sqlite", database=made.database)
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)
    assert not list(made.survey.glob(".*"))


def test_a_survey_that_is_closed_stays_closed(made):
    cells = list(random_cells(made).items())
    backup = backed_up(made, cells)
    with made.folder.connected() as tables:
        tables.mark_closed()
    with pytest.raises(dps.InputError, match="closed for ever"):
        restore(made.survey, backup, database=made.database)
    late = made.base / "late.sqlite"
    back_up(made.survey, late, database=made.database)
    restore(made.survey, late, database=made.database)


def test_every_connection_to_a_file_survives_a_power_cut(tmp_path, monkeypatch):
    """With synchronous = EXTRA (3) the disk knows that a journal is gone before anybody is told of an answer."""
    seen = []

    class Watched(sqlite3.Connection):
        def close(self):
            with suppress(sqlite3.ProgrammingError):  # closed before
                seen.append(self.execute("PRAGMA synchronous").fetchone()[0])
            super().close()

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **more, factory=Watched))
    made = invited(tmp_path)
    backup = backed_up(made, list(random_cells(made).items()))
    restore(made.survey, backup)
    survey_status(made.survey)
    with made.folder.connected() as tables:
        tables.reconnect()
        tables.forget()
    assert len(seen) > 10
    assert set(seen) == {3}


def test_reminders_stay_out_of_the_folder_of_the_collector(tmp_path):
    made = invited(tmp_path)
    with pytest.raises(dps.InputError, match="the collector must not know it"):
        remind(made.survey, **made.office, address="https://x.org", out=made.survey / "reminders.csv")
    assert not (made.survey / "reminders.csv").exists()
