"""Databases that cannot be frames are refused with what to do, and nobody in them is named."""

import sqlite3
from contextlib import closing

import duckdb
import pytest

import dpstrata as dps
from dpstrata.fielding.frames import frame_strata, open_frame


def test_databases_that_cannot_be_a_frame_say_what_to_do(tmp_path):
    for name in ("p.db", "p.sqlite"):
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            connection.execute("CREATE TABLE people (person, region TEXT)")
            connection.execute("INSERT INTO people VALUES ('canary', 'a'), (7, 'a'), (x'00', 'b')")
            connection.commit()
    (tmp_path / "junk.db").write_text("canary " * 1000)
    (tmp_path / "broken.db").write_bytes((tmp_path / "p.db").read_bytes()[:1500])
    (tmp_path / "folder.db").mkdir()
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE folk AS SELECT 1 AS person, 'a' AS region")
    for name, table, words in (
        ("p.db", "people", "got blob in column 'person' of"),
        ("p.sqlite", None, r"is a database: name the table .* \(table\); it has 'people'\."),
        ("p.sqlite", "folk", "p.sqlite has no table 'folk'; it has 'people'."),
        ("broken.db", "people", "broken.db cannot be read"),
        (
            "junk.db",
            "people",
            "junk.db cannot be read as a frame: it is neither a DuckDB nor a SQLite database.",
        ),
        ("folder.db", "people", "folder.db cannot be read as a frame"),
        ("d.duckdb", "people", "d.duckdb has no table 'people'; it has 'folk'."),
        ("d.duckdb", None, r"name the table that lists the people \(table\); it has 'folk'."),
    ):
        with pytest.raises(dps.InputError, match=words) as caught:
            frame_strata(open_frame(tmp_path / name, id="person", stratum="region", table=table))
        assert "canary" not in str(caught.value)
    assert frame_strata(
        open_frame(tmp_path / "d.duckdb", id="person", stratum="region", table="Folk")
    ).names == ("a",)


@pytest.mark.parametrize("column", ["stratum", "id"])
def test_a_database_whose_first_rows_say_nothing(tmp_path, column):
    """The driver guesses kinds from the first rows; nothing in them is no number."""
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as connection:
        connection.execute("CREATE TABLE people (id TEXT, stratum TEXT)")
        rows = [
            (f"p{i}", "a") if i >= 3000 else (None, "a") if column == "id" else (f"p{i}", None)
            for i in range(5000)
        ]
        connection.executemany("INSERT INTO people VALUES (?, ?)", rows)
        connection.commit()
    frame = dps.open_frame(tmp_path / "people.sqlite", id="id", stratum="stratum", table="people")
    with pytest.raises(dps.InputError, match=f"got 3,000 without an? {column}"):
        dps.frame_strata(frame)


@pytest.mark.slow
def test_whatever_ends_a_draw_in_the_middle_is_what_is_told(tmp_path):
    """And not that the table it was reading is still open."""
    with closing(sqlite3.connect(tmp_path / "p.sqlite")) as connection:
        connection.execute("CREATE TABLE people (person INTEGER, region TEXT)")
        rows = ((i, "a" if i % 3 else "b") for i in range(150_000))
        connection.executemany("INSERT INTO people VALUES (?, ?)", rows)
        connection.commit()
    frame = open_frame(tmp_path / "p.sqlite", id="person", stratum="region", table="people")

    def sieve(batches):
        yield next(iter(batches))
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            list(frame.sift(sieve))
    assert sum(frame_strata(frame).sizes) == 150_000
