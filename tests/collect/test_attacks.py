"""What leaked from a prototype: copies of the file and its journal, transaction numbers, dead tuples."""

import os
import shutil
import sqlite3
from collections import Counter
from itertools import pairwise

import psycopg
import pytest

from collecting import collecting, invited, random_cells, send_all
from dpstrata.collect.sqlite_store import SqliteTables
from dpstrata.fielding.keys import read_key
from heap_files import tuples

BATCH = 20


def read(path):
    """What a thief reads in a copy: the hashes that were used, and the counters."""
    connection = sqlite3.connect(path)
    used = {row[0] for row in connection.execute("SELECT hash FROM tokens WHERE used = 1")}
    counted = Counter(
        {row[:3]: row[3] for row in connection.execute("SELECT stratum, form, cell, count FROM counters")}
    )
    connection.close()
    return used, counted


def linked(copies):
    """How many tokens someone links to fewer than a batch of cells who has copies from one moment to the next."""
    found = 0
    for (used, counted), (used_next, counted_next) in pairwise(copies):
        tokens, cells = used_next - used, (counted_next - counted).total()
        found += len(tokens) if cells and (tokens or cells < BATCH) else 0
    return found


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """A copy of the SQLite file after every commit, and of its journal before it."""
    kept, original = [], SqliteTables.execute

    def execute(self, statement, values=()):
        file = tmp_path / "survey" / "collected.sqlite"
        watched = statement == "COMMIT" and (tmp_path / "invitations.csv").exists()
        if watched:
            journal = file.with_name(f"{file.name}-journal")
            assert not file.with_name(f"{file.name}-wal").exists()
            before = tmp_path / "before.sqlite"
            shutil.copy(file, before)
            if journal.exists():
                shutil.copy(journal, tmp_path / "before.sqlite-journal")
            kept.append(read(before))
        result = original(self, statement, values)
        if watched:
            shutil.copy(file, tmp_path / "after.sqlite")
            kept.append(read(tmp_path / "after.sqlite"))
        return result

    monkeypatch.setattr(SqliteTables, "execute", execute)
    return kept


def test_no_copy_of_the_file_and_its_journal_links_a_token_to_a_cell(tmp_path, copies):
    made = invited(tmp_path)
    cells = list(random_cells(made).items())
    with collecting(made) as collector:
        send_all(collector, cells[:120], at_once=1)
    assert len(copies) > 200
    assert len(copies[-1][0]) == 120
    assert copies[-1][1].total() >= BATCH
    assert linked(copies) == 0


def test_the_attack_finds_what_counts_at_once(tmp_path, copies):
    made = invited(tmp_path)
    with made.folder.connected() as tables:
        for hashed, (stratum, form) in list(tables.invited().items())[:10]:
            with tables.transaction():
                tables.use([hashed], {os.urandom(16): b"sealed"})
                tables.count([(stratum, form, 0)])
    assert linked(copies) == 10


@pytest.fixture
def postgres(tmp_path):
    made = invited(tmp_path, database="postgresql")
    with psycopg.connect(made.database, autocommit=True) as connection:
        connection.execute(f"SET search_path TO dpstrata_{made.folder.plan.digest[:16]}")
        with psycopg.connect(made.database) as other:  # sees what was, so that the dead stay where they are
            other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            other.execute("SELECT COUNT(*) FROM pg_class")
            yield made, connection


def joined(connection):
    """How many tokens have a transaction in common with a counter, by the columns that everyone can read."""
    rows = connection.execute("SELECT COUNT(*) FROM tokens t JOIN counters c ON t.xmin = c.xmin").fetchone()
    return rows[0]


def joined_in_files(connection):
    """How many transactions wrote or replaced both a token and a counter, the dead ones too."""
    written = []
    for table in ("tokens", "counters"):
        numbers = {number for each in tuples(connection, table) for number in (each.xmin, each.xmax)}
        written.append(numbers - {0})
    return len(written[0] & written[1])


def test_neither_transaction_numbers_nor_dead_tuples_link_a_token_to_a_cell(postgres):
    made, connection = postgres
    cells = list(random_cells(made).items())
    created = {each.xmin for each in tuples(connection, "tokens")}
    with collecting(made) as collector:
        for start in range(0, 150, 10):
            send_all(collector, cells[start : start + 10], at_once=1)
            assert joined(connection) == 0
    live = connection.execute("SELECT COUNT(*) FROM tokens WHERE used = 1").fetchone()[0]
    dead = [each for each in tuples(connection, "tokens") if each.xmax and each.xmin in created]
    assert live == len(dead) == 150  # the files have them
    assert tuples(connection, "counters")
    assert joined_in_files(connection) == 0


def test_the_attacks_find_what_counts_at_once(postgres):
    made, connection = postgres
    with made.folder.connected() as tables:
        for hashed, (stratum, form) in list(tables.invited().items())[:10]:
            with tables.transaction():
                tables.use([hashed], {os.urandom(16): b"sealed"})
                tables.count([(stratum, form, 0)])
    assert joined(connection) > 0
    assert joined_in_files(connection) == 10


def test_no_token_and_no_key_is_in_any_file_of_the_database(postgres):
    made, connection = postgres
    cells = random_cells(made)
    with collecting(made) as collector:
        send_all(collector, cells.items())
    content = b"".join(
        each.content for table in ("tokens", "sealed", "counters") for each in tuples(connection, table)
    )
    assert content
    assert not any(token.encode() in content for token in cells)
    assert read_key(made.base / "office.key") not in content


def test_equal_cells_are_sealed_differently_and_at_one_length(tmp_path):
    made = invited(tmp_path)
    with collecting(made) as collector:
        send_all(collector, [(token, 0) for token in list(random_cells(made))[:30]])
    with made.folder.connected() as tables:
        sealed = list(tables.sealed().values())
    assert len(set(sealed)) == len(sealed) > 0
    assert len({len(content) for content in sealed}) == 1


def test_nothing_that_was_deleted_stays_in_the_file(tmp_path):
    made = invited(tmp_path)
    cells = list(random_cells(made).items())
    sealed = {}
    with collecting(made) as collector:
        for start in range(0, len(cells), 10):
            send_all(collector, cells[start : start + 10])
            with made.folder.connected() as tables:
                sealed |= tables.sealed()
    with made.folder.connected() as tables:
        left = tables.sealed()
    content = (made.survey / "collected.sqlite").read_bytes()
    gone = set(sealed) - set(left)
    assert gone
    assert not any(sealed[key][:40] in content for key in gone)
    assert all(left[key] in content for key in left)
