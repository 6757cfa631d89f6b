"""What leaked from a prototype: copies of the file and its journal, transaction numbers, dead tuples."""

import asyncio
import os
import random
import shutil
import sqlite3
from base64 import urlsafe_b64decode
from collections import Counter
from itertools import pairwise

import psycopg
import pytest

import engines
from collecting import DATABASES, collecting, invited, random_cells, send_all, send_over, served
from dpstrata.collect.closing import close_survey
from dpstrata.collect.invitations import hash_of
from dpstrata.collect.overseeing import back_up, restore
from dpstrata.collect.postgresql_store import PostgresqlTables
from dpstrata.collect.sqlite_store import SqliteTables
from dpstrata.collect.tables import _ZERO, LostError
from dpstrata.fielding.keys import read_key
from dpstrata.fielding.sample import ReportKey
from engines import tuples

pytestmark = pytest.mark.slow

BATCH = 20


def read(path):
    """What a thief reads in a copy: the hashes that were used, and the counters."""
    connection = sqlite3.connect(path)
    used = {row[0] for row in connection.execute("SELECT hash FROM tokens WHERE used = 1")}
    rows = connection.execute("SELECT stratum, part, form, cell, count FROM counters").fetchall()
    counted = Counter({row[:4]: row[4] - _ZERO for row in rows if row[4] > _ZERO})
    connection.close()
    return used, counted


def linked(copies):
    """How many cells someone sees in fewer than a batch, or beside their tokens, who has copies from one moment to the next."""
    found = 0
    for (used, counted), (used_next, counted_next) in pairwise(copies):
        groups = Counter()
        for (*key, _), number in (counted_next - counted).items():
            groups[tuple(key)] += number
        beside = used_next - used
        found += sum(number for number in groups.values() if beside or number < BATCH)
    return found


def close(made):
    close_survey(
        made.survey, design=made.design, **made.office, office_key=made.base / "office.key",
        out=made.base / "results.csv", database=made.database, accept_response=True,
    )  # fmt: skip


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
    cells = random.sample(list(random_cells(made).items()), 189)
    for some in (cells[:150], cells[150:]):  # too few for a batch of every stratum and form
        with collecting(made) as collector:
            send_all(collector, some, at_once=1)
    assert len(copies) > 300
    assert len(copies[-1][0]) == 189
    assert BATCH <= copies[-1][1].total() < 189
    close(made)
    copies.append(read(made.survey / "collected.sqlite"))
    assert len(copies[-1][0]) == 189
    assert not copies[-1][1]
    assert linked(copies) == 0


def test_the_attack_finds_what_counts_at_once(tmp_path, copies):
    made = invited(tmp_path)
    with made.folder.connected() as tables:
        for hashed, key in list(tables.invited().items())[:10]:
            with tables.transaction():
                tables.use([hashed], {os.urandom(16): b"sealed"})
                tables.count([(key, 0)])
    assert linked(copies) == 10


def test_the_attack_finds_what_is_counted_in_small_groups_at_closing(tmp_path, copies):
    made = invited(tmp_path)
    with collecting(made) as collector:
        send_all(collector, list(random_cells(made).items())[:15])
    with made.folder.connected() as tables, tables.transaction():
        tables.count([(ReportKey(0, 0, 0), 0)] * 15)
    assert linked(copies) == 15


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
    """How many used tokens have a transaction in common with a counter, by the columns that everyone can read."""
    rows = connection.execute(
        "SELECT COUNT(*) FROM tokens t JOIN counters c ON t.xmin = c.xmin WHERE t.used = 1"
    )
    return rows.fetchone()[0]


def joined_in_files(connection, created):
    """How many transactions, after that which made all rows, wrote or replaced both a token and a counter."""
    written = []
    for table in ("tokens", "counters"):
        numbers = {number for each in tuples(connection, table) for number in (each.xmin, each.xmax)}
        written.append(numbers - {0} - created)
    return len(written[0] & written[1])


@pytest.mark.postgresql
def test_neither_transaction_numbers_nor_dead_tuples_link_a_token_to_a_cell(postgres, monkeypatch):
    """Neither while it is collected nor at closing, before the tables are written anew and after."""
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
    moved = {each.xmin for each in tuples(connection, "counters")} - created
    assert moved
    assert joined_in_files(connection, created) == 0
    compact = PostgresqlTables.compact

    def watched(tables):
        assert {
            each.xmin for each in tuples(connection, "counters")
        } - created == moved  # nothing more was counted
        assert joined_in_files(connection, created) == 0
        compact(tables)

    monkeypatch.setattr(PostgresqlTables, "compact", watched)
    close(made)
    assert not tuples(connection, "counters")
    assert joined(connection) == 0


@pytest.mark.postgresql
def test_the_attacks_find_what_counts_at_once(postgres):
    made, connection = postgres
    created = {each.xmin for each in tuples(connection, "tokens")}
    with made.folder.connected() as tables:
        for hashed, key in list(tables.invited().items())[:10]:
            with tables.transaction():
                tables.use([hashed], {os.urandom(16): b"sealed"})
                tables.count([(key, 0)])
    assert joined(connection) > 0
    assert joined_in_files(connection, created) == 10


@pytest.mark.postgresql
def test_no_token_answer_or_key_is_in_any_file_or_log_of_the_database(tmp_path):
    """Neither in tables nor in the write-ahead log, also where connections broke and after closing."""
    made = invited(tmp_path, database="postgresql")
    cells = list(random_cells(made).items())
    with psycopg.connect(made.database, autocommit=True) as connection:
        with served(made) as server:
            asyncio.run(send_over(server, cells[:100]))
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query <> ''"
            )
            asyncio.run(send_over(server, cells))
            said = "\n".join(server.said)
        with pytest.raises(psycopg.Error):  # which the database notes
            connection.execute("INSERT INTO nowhere VALUES (%s)", (cells[0][0],))
        close(made)
        kept = engines.files(connection)
    assert b"terminating connection" in kept["log"]
    canaries = {token for token, _ in cells[::25]}
    secrets = [read_key(tmp_path / name) for name in ("office.key", "draw.key", "ledger.key")]
    secrets += [urlsafe_b64decode(f"{token}==") for token in canaries]
    sought = [form for each in secrets for form in (each, each.hex().encode())]
    sought += [text.encode() for text in (*canaries, *list(made.people)[::25], '"cell"', "smokes")]
    for kind, content in {**kept, "said": said.encode()}.items():
        assert not [each for each in sought if each in content], kind
    hashes = [hash_of(token) for token in canaries]  # the search finds what is there
    for kind in ("base", "pg_wal"):
        assert all(each in kept[kind] for each in hashes), kind
    assert not any(each.hex().encode() in kept["log"] for each in hashes)


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


def pages_of_counters(path):
    """The pages of the table of counters as they are in the file, by number: its rows and where they lie."""
    connection = sqlite3.connect(path)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'counters'").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    content, found, left = path.read_bytes(), {}, [root]
    while left:
        number = left.pop()
        page = found[number] = content[(number - 1) * size : number * size]
        if page[0] == 2:  # with pages below
            cells = [int.from_bytes(page[12 + 2 * i :][:2]) for i in range(int.from_bytes(page[3:5]))]
            left += [int.from_bytes(page[at:][:4]) for at in (*cells, 8)]
    return found


def full_batches(made):
    """Batches of two strata, and two of one stratum and form, that are counted whole."""
    links, cells, people = made.links, random_cells(made), made.people
    found = []
    for place in (("north", 1), ("south", 1)):
        some = [(links[person], cells[links[person]]) for person in people if people[person] == place]
        found += [some[start : start + BATCH] for start in range(0, len(some) - BATCH + 1, BATCH)]
    assert len(found) > 2
    return found


@pytest.mark.parametrize("database", DATABASES)
def test_neither_a_file_nor_a_backup_shows_in_which_order_batches_came(tmp_path, database):
    """The same answers in two orders: the same pages of counters in SQLite, and in either database the same backup."""
    made = invited(tmp_path, database=database)
    back_up(made.survey, tmp_path / "empty.sqlite", database=made.database)
    batches, seen = full_batches(made), []
    for order in (batches, batches[::-1]):
        for pairs in order:
            with collecting(made) as collector:
                send_all(collector, pairs)
        copy = tmp_path / f"{len(seen)}.sqlite"
        back_up(made.survey, copy, database=made.database)
        file = made.survey / "collected.sqlite"
        seen.append((copy.read_bytes(), None if made.database else pages_of_counters(file)))
        with made.folder.connected() as tables:
            assert tables.counted().total() == BATCH * len(batches)
        restore(made.survey, tmp_path / "empty.sqlite", database=made.database)
    assert seen[0] == seen[1]


def test_the_order_of_batches_is_seen_where_counters_are_made_as_they_come(tmp_path):
    made = invited(tmp_path)
    batches, seen = full_batches(made), []
    for order in (batches, batches[::-1]):
        with made.folder.connected() as tables:
            tables.execute("DELETE FROM counters")
            for pairs in order:
                for _, cell in pairs:
                    tables.execute(
                        "INSERT INTO counters VALUES (0, 0, 0, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1",
                        (cell,),
                    )
        seen.append(pages_of_counters(made.survey / "collected.sqlite"))
    assert seen[0] != seen[1]


def test_sealed_copies_have_ids_of_their_own_and_no_order(tmp_path):
    """The same links are used twice, the second time in a copy of the folder: what is made of a token comes again."""
    made = invited(tmp_path)
    shutil.copytree(made.survey, tmp_path / "fresh")
    seen = []
    for _ in range(2):
        with collecting(made) as collector:
            send_all(collector, [(token, 0) for token in list(made.links.values())[:15]])
        with made.folder.connected() as tables:
            ids, hashes = set(tables.sealed()), b"".join(sorted(tables.used()))
            with pytest.raises(LostError):
                tables.execute("SELECT rowid FROM sealed")
        assert len(ids) == 15
        assert not any(each[:8] in hashes for each in ids)
        seen.append(ids)
        shutil.rmtree(made.survey)
        shutil.copytree(tmp_path / "fresh", made.survey)
    assert not seen[0] & seen[1]
