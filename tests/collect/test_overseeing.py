"""While a survey is open: what the office is told of turnout, whom it reminds, and copies of the database."""

import sqlite3
import stat

import pytest

import dpstrata as dps
from collecting import collected, collecting, invited, random_cells, send_all
from dpstrata.collect.invitations import hash_of
from dpstrata.collect.overseeing import _shown, back_up, remind, survey_status
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


def test_a_copy_that_fails_leaves_no_file(tmp_path, monkeypatch):
    made = invited(tmp_path)
    monkeypatch.setattr(SqliteTables, "copy", lambda self, path: self.execute("no SQL"))
    with pytest.raises(dps.InputError, match="the database could not be used"):
        back_up(made.survey, tmp_path / "copy.sqlite")
    with pytest.raises(dps.InputError, match="must be a folder that invite made"):
        back_up(tmp_path, tmp_path / "copy.sqlite")
    assert not (tmp_path / "copy.sqlite").exists()


def test_reminders_stay_out_of_the_folder_of_the_collector(tmp_path):
    made = invited(tmp_path)
    with pytest.raises(dps.InputError, match="the collector must not know it"):
        remind(made.survey, **made.office, address="https://x.org", out=made.survey / "reminders.csv")
    assert not (made.survey / "reminders.csv").exists()
