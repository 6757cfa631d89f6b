"""The collector: every token counts once, batches move together, and nothing is lost on either database."""

import asyncio
import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from collecting import (
    DATABASES,
    collecting,
    give_back,
    invited,
    opened,
    plan_for,
    random_cells,
    send_all,
    sent,
    take_away,
)
from dpstrata.collect.collector import Collector
from dpstrata.collect.folder import CLOSING
from dpstrata.collect.store import BusyError
from dpstrata.collect.tables import LostError
from extent import few


def look(collector, token):
    return asyncio.run(collector.look(token))


def test_a_token_counts_once(made):
    cells = random_cells(made)
    token = next(iter(cells))
    with collecting(made) as collector:
        assert look(collector, token).state == "open"
        assert send_all(collector, [(token, cells[token]), (token, 0), (token, 1)]).count("counted") == 1
        assert send_all(collector, [(token, 0)]) == ["used"]
        assert look(collector, token).state == "used"
        assert look(collector, "A" * 22).state == "unknown"
        assert send_all(collector, [("A" * 22, 0)]) == ["unknown"]
    with made.folder.connected() as tables:
        assert sum(opened(made, tables).values()) == 1


def test_a_link_has_the_form_and_the_odds_of_its_person(made):
    links, kit, names = made.links, made.folder.kit, made.folder.plan.strata.names
    with collecting(made) as collector:
        for person, (stratum, form) in list(made.people.items())[:20]:
            found = look(collector, links[person])
            assert (found.form, found.odds) == (form - 1, kit.odds[names.index(stratum)])


def test_batches_move_together_and_the_rest_stays_sealed(made):
    cells = random_cells(made)
    with collecting(made) as collector:
        assert set(send_all(collector, cells.items())) == {"counted"}
    with made.folder.connected() as tables:
        counted, sealed = tables.counted(), tables.sealed()
        assert opened(made, tables) == sent(made, cells.items())
        assert sum(counted.values()) + len(sealed) == len(cells)
        turnout, moved = tables.turnout(), Counter()
    for (key, _), number in counted.items():
        moved[key] += number
    for place, number in turnout.items():
        assert number - moved[place] < 20
        assert moved[place] == 0 or moved[place] >= 20


@pytest.mark.parametrize("database", DATABASES)
def test_where_there_would_be_too_many_counters_all_answers_stay_sealed(tmp_path, monkeypatch, database):
    monkeypatch.setattr("dpstrata.collect.invitations.MOST_COUNTERS", 10)
    made = invited(tmp_path, database=database)
    cells = random_cells(made)
    with collecting(made) as collector:
        assert set(send_all(collector, cells.items())) == {"counted"}
    with made.folder.connected() as tables:
        assert (tables.counted().total(), len(tables.sealed())) == (0, len(cells))
        assert opened(made, tables) == sent(made, cells.items())


def test_the_database_is_said_to_be_lost_once_and_to_be_back_once(made, caplog):
    """And nothing of anybody is said with it."""
    cells = list(random_cells(made).items())
    with collecting(made) as collector:
        send_all(collector, cells[:5])
        take_away(made)
        for pair in cells[5:10]:
            assert [type(each) for each in send_all(collector, [pair])] == [BusyError]
        give_back(made)
        while [type(each) for each in send_all(collector, [cells[5]])] == [BusyError]:
            pass  # whoever comes in the turn in which it was found to be lost is still sent away
        assert set(send_all(collector, cells[6:])) == {"counted"}
    assert [line.partition(":")[0].partition(" (")[0] for line in caplog.messages] == [
        "The database is lost",
        "The database is back",
    ]
    assert not any(token in caplog.text for token, _ in cells)
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)


@pytest.mark.postgresql
def test_a_connection_that_is_made_anew_in_time_is_not_worth_a_line(tmp_path, caplog):
    made = invited(tmp_path, database="postgresql")
    cells = list(random_cells(made).items())
    with collecting(made) as collector:
        send_all(collector, cells[:5])
        with psycopg.connect(made.database, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(%s)", (collector._tables._connection.info.backend_pid,)
            )
        assert set(send_all(collector, cells[5:10])) == {"counted"}
    assert not caplog.messages


def test_a_bad_cell_does_not_undo_the_group_it_came_in(made):
    cells = list(random_cells(made).items())
    bad = [(cells[0][0], 10**6), (cells[1][0], -1)]
    with collecting(made) as collector:
        outcomes = send_all(collector, bad + cells[2:40], at_once=40)
        assert [type(each) for each in outcomes[:2]] == [ValueError, ValueError]
        assert set(outcomes[2:]) == {"counted"}
        assert set(send_all(collector, cells[:2])) == {"counted"}


def test_what_a_stopped_collector_left_sealed_is_counted_with_what_the_next_one_gets(made):
    cells = list(random_cells(made).items())
    for start in range(0, len(cells), 67):
        with collecting(made) as collector:
            send_all(collector, cells[start : start + 67])
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)


def test_a_queue_that_is_full_says_so_at_once(made):
    collector = Collector(made.folder, limit=3)  # nobody works on it

    async def ask():
        asked = [asyncio.ensure_future(collector.look("A" * 22)) for _ in range(5)]
        await asyncio.sleep(0.05)
        for each in asked:
            each.cancel()
        return await asyncio.gather(*asked, return_exceptions=True)

    outcomes = asyncio.run(ask())
    assert [type(each) for each in outcomes[3:]] == [BusyError, BusyError]
    assert [type(each) for each in outcomes[:3]] == [asyncio.CancelledError] * 3


def test_a_survey_that_the_office_closes_takes_nothing_more(made):
    cells = list(random_cells(made).items())
    with collecting(made) as collector:
        send_all(collector, cells[:50])
        (made.survey / CLOSING).touch()
        end = time.monotonic() + 10
        while look(collector, cells[50][0]).state != "closed":
            assert time.monotonic() < end
        assert set(send_all(collector, cells[50:])) == {"closed"}
        assert look(collector, cells[0][0]).state == "used"
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells[:50])


def test_cells_that_closing_has_opened_are_not_counted_again(made):
    """Another server's batch is full only after the office has closed and opened what was sealed."""
    links = made.links
    of_one_place = {links[person] for person, place in made.people.items() if place == ("south", 1)}
    cells = [(token, cell) for token, cell in random_cells(made).items() if token in of_one_place][:20]
    assert len(cells) == 20
    with collecting(made) as collector:
        send_all(collector, cells[:19])
        with made.folder.connected() as tables:
            everything = opened(made, tables)
            tables.mark_closed()
            with tables.transaction(alone=True):
                tables.count(everything.elements())
                assert tables.unseal(tables.sealed()) == 19
        collector._pool.batch = 1  # what waits is a batch now
        send_all(collector, cells[19:])
    with made.folder.connected() as tables:
        assert tables.counted() == sent(made, cells[:19])


def without_confirmation(collector, monkeypatch):
    """Let the commit of the next batch be done, and only its confirmation be lost; return whether it was."""
    tables, fate = type(collector._tables), {"lost": False, "moving": False}
    unseal, execute = tables.unseal, tables.execute

    def unsealing(self, ids):
        fate["moving"] = True
        return unseal(self, ids)

    def executing(self, statement, values=()):
        found = execute(self, statement, values)
        if statement == "COMMIT" and fate["moving"] and not fate["lost"]:
            fate["lost"] = True
            raise LostError
        return found

    monkeypatch.setattr(tables, "unseal", unsealing)
    monkeypatch.setattr(tables, "execute", executing)
    return fate


def unreachable():
    raise LostError


def test_a_batch_whose_confirmation_is_lost_is_counted_once_and_so_are_those_who_come_then(made, monkeypatch):
    links, cells = made.links, random_cells(made)
    together = [links[person] for person, place in made.people.items() if place == ("south", 1)][:25]
    first, more = ([(token, cells[token]) for token in some] for some in (together[:20], together[20:]))
    with collecting(made) as collector:
        fate = without_confirmation(collector, monkeypatch)
        monkeypatch.setattr(collector._tables, "reconnect", unreachable)  # until others have come
        assert set(send_all(collector, first, at_once=20)) == {"counted"}
        end = time.monotonic() + 10
        while not fate["lost"]:
            assert time.monotonic() < end
        while more:  # some may come while the database is still lost
            outcomes = send_all(collector, more)
            more = [pair for pair, outcome in zip(more, outcomes, strict=True) if outcome != "counted"]
            assert time.monotonic() < end
        others = [pair for pair in cells.items() if pair[0] not in together]
        assert set(send_all(collector, others)) == {"counted"}
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells.items())


def test_copies_that_something_else_deleted_are_not_counted_and_the_rest_stays(made):
    links, cells = made.links, random_cells(made)
    some = [links[person] for person, place in made.people.items() if place == ("south", 1)][:20]
    with collecting(made) as collector:
        send_all(collector, [(token, cells[token]) for token in some[:19]])
        with made.folder.connected() as tables, tables.transaction(alone=True):
            assert tables.unseal(list(tables.sealed())[:1]) == 1
        send_all(collector, [(token, cells[token]) for token in some[19:]])
    with made.folder.connected() as tables:
        assert (tables.counted().total(), len(tables.sealed())) == (0, 19)


def test_a_folder_that_cannot_be_looked_into_for_a_while_stops_nothing(tmp_path, monkeypatch):
    made = invited(tmp_path)
    cells = list(random_cells(made).items())
    looked = threading.Event()

    def forbidden(path):
        looked.set()
        raise PermissionError

    with collecting(made) as collector:
        with monkeypatch.context() as context:
            context.setattr(Path, "exists", forbidden)
            assert looked.wait(10)
            assert set(send_all(collector, cells[:30])) == {"counted"}
        assert set(send_all(collector, cells[30:])) == {"counted"}
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)


@pytest.mark.postgresql
def test_postgresql_that_drops_the_connection_is_connected_anew(tmp_path):
    made = invited(tmp_path, database="postgresql")
    cells = list(random_cells(made).items())
    with collecting(made) as collector:
        for start in range(0, len(cells), 25):
            with psycopg.connect(made.database, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                    "AND backend_type = 'client backend'"
                )
            assert set(send_all(collector, cells[start : start + 25])) == {"counted"}
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)


@pytest.mark.postgresql
@pytest.mark.parametrize("seconds", [few(4, of=10)])
def test_postgresql_that_hangs_keeps_nobody_waiting_for_longer_than_its_limit(tmp_path, monkeypatch, seconds):
    """Neither who asked first, nor who comes meanwhile; a stopped process neither answers nor hangs up."""
    monkeypatch.setattr("dpstrata.collect.postgresql_store._SECONDS", seconds)
    made = invited(tmp_path, database="postgresql")
    cells = list(random_cells(made).items())
    waited = []

    async def send(collector, pair, after):
        await asyncio.sleep(after)
        begun = time.monotonic()
        outcome = await asyncio.gather(collector.send(*pair), return_exceptions=True)
        waited.append(time.monotonic() - begun)
        return outcome[0]

    async def some_after_others(collector):
        return await asyncio.gather(*(send(collector, cells[30 + i], 0.3 * i) for i in range(10)))

    with psycopg.connect(made.database, autocommit=True) as connection, collecting(made) as collector:
        send_all(collector, cells[:30])
        data = connection.execute("SHOW data_directory").fetchone()[0]
        everything = [int((Path(data) / "postmaster.pid").read_text().split()[0])]  # which takes connections
        everything.append(collector._tables._connection.info.backend_pid)
        for process in everything:
            os.kill(process, signal.SIGSTOP)
        try:
            outcomes = asyncio.run(some_after_others(collector))
        finally:
            for process in everything:
                os.kill(process, signal.SIGCONT)
        assert {type(each) for each in outcomes} == {BusyError}
        assert max(waited) < seconds + 2
        end = time.monotonic() + 30
        while not set(map(str, send_all(collector, cells[30:]))) <= {"counted", "used"}:
            assert time.monotonic() < end
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)


def test_a_lock_that_nobody_gives_back_makes_others_busy(made, monkeypatch):
    monkeypatch.setattr("dpstrata.collect.postgresql_store._SECONDS", 3)
    monkeypatch.setattr("dpstrata.collect.sqlite_store._SERVING", 0.2)
    cells = list(random_cells(made).items())
    with made.folder.connected() as tables, collecting(made) as collector:
        with tables.transaction(alone=True):
            assert [type(each) for each in send_all(collector, cells[:1])] == [BusyError]
        end = time.monotonic() + 30
        while send_all(collector, cells[:1]) != ["counted"]:  # 0.2 seconds may be short on a busy machine
            assert time.monotonic() < end


def test_respondents_wait_for_a_locked_file_for_ten_seconds_at_most(tmp_path):
    """Also on the new connection on which the collector tries again."""
    made = invited(tmp_path)
    with made.folder.connected() as tables:
        for _ in range(2):
            tables.limit()
            assert tables.execute("PRAGMA busy_timeout") == [(5000,)]
            tables.reconnect()
            assert tables.execute("PRAGMA busy_timeout") == [(5000,)]


@pytest.mark.postgresql
def test_postgresql_that_is_killed_loses_nothing(tmp_path):
    """A backend that is killed takes all others with it; PostgreSQL recovers, and so does the collector."""
    made = invited(tmp_path, database="postgresql")
    cells = list(random_cells(made).items())
    left, states = dict(cells), Counter()
    end = time.monotonic() + 60
    with collecting(made) as collector:
        for killed in (True, True, False):
            some = list(left.items())[:80] if killed else list(left.items())
            killing = threading.Timer(
                0.02 * random.random(), kill_postgresql if killed else str, [made.database]
            )
            killing.start()
            while some:
                assert time.monotonic() < end
                outcomes = send_all(collector, some)
                assert {str(each) for each in outcomes} <= {"counted", "used", ""}
                states.update(map(str, outcomes))
                for (token, _), outcome in zip(some, outcomes, strict=True):
                    if not isinstance(outcome, BusyError):
                        del left[token]
                some = [pair for pair in some if pair[0] in left]
                time.sleep(0.1 * bool(some))
            killing.join()  # which may come last of all
    connected_again(made.database).close()
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)
    assert states["counted"] + states["used"] == len(cells)


def kill_postgresql(address):
    end = time.monotonic() + 30
    with connected_again(address) as connection, connected_again(address) as witness:
        os.kill(connection.info.backend_pid, signal.SIGKILL)
        with suppress(psycopg.OperationalError):
            while time.monotonic() < end:  # whoever connects before PostgreSQL has noticed is thrown out, too
                witness.execute("SELECT 1")


def connected_again(address):
    """Connect as soon as PostgreSQL has recovered from the kill before."""
    end = time.monotonic() + 30
    while True:
        try:
            return psycopg.connect(address, autocommit=True)
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


@pytest.mark.postgresql
def test_two_collectors_share_a_postgresql_database(tmp_path):
    made = invited(tmp_path, plan_for(180), database="postgresql")
    cells = list(random_cells(made).items())
    with collecting(made) as one, collecting(made) as other:

        async def both():
            return await asyncio.gather(
                *(store.send(*each) for each in cells for store in (one, other)), return_exceptions=True
            )

        outcomes = asyncio.run(both())
    assert (outcomes.count("counted"), outcomes.count("used")) == (len(cells), len(cells))
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)
