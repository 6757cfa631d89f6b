"""Collectors that are killed under load, hostile bodies, and many respondents at once: nothing is lost."""

import asyncio
import json
import random
import signal

import pytest
from starlette.testclient import TestClient

from collect_servers import post, send_over, served
from collecting import DATABASES, collecting, invited, opened, plan_for, random_cells, sent
from dpstrata.collect.contract import LENGTH, make_page_app
from dpstrata.collect.invitations import hash_of
from dpstrata.fielding.keys import read_key
from extent import few

PEOPLE = few(400, of=1000)
SIZES = (("north", 3000), ("south", 7000))


async def killed_meanwhile(server, pairs, seconds):
    """Let everyone send, and kill the server after a while; return who was acknowledged."""
    sending = asyncio.ensure_future(send_over(server, pairs))
    await asyncio.sleep(seconds)
    server.process.send_signal(signal.SIGKILL)
    return (await sending)[0]


@pytest.mark.parametrize("database", DATABASES)
def test_killed_at_any_moment_under_load(tmp_path, database):
    made = invited(tmp_path, plan_for(PEOPLE, sizes=SIZES), database=database)
    cells, acknowledged = list(random_cells(made).items()), set()
    with served(made) as server:
        for _ in range(few(3, of=25)):
            random.shuffle(cells)
            left = [pair for pair in cells if pair[0] not in acknowledged]
            acknowledged |= set(asyncio.run(killed_meanwhile(server, left, random.uniform(0.02, 0.4))))
            server.end(signal.SIGKILL)
            with made.folder.connected() as tables:
                assert {hash_of(token) for token in acknowledged} <= tables.used()
                assert opened(made, tables).total() == tables.turnout().total()
            server.start()
        left = [pair for pair in cells if pair[0] not in acknowledged]
        counted, others = asyncio.run(send_over(server, left))
        assert {state for _, _, state in others} <= {"used"}
        assert len(counted) + len(others) == len(left)
        said = "\n".join(server.said)
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)
    content = b"".join(path.read_bytes() for path in made.survey.iterdir()) + said.encode()
    office = read_key(made.base / "office.key")
    assert not any(secret in content for secret in (office, office.hex().encode()))
    assert not any(token.encode() in content for token, _ in cells)


@pytest.mark.parametrize("database", DATABASES)
def test_a_thousand_respondents_at_once_and_others_who_guess(tmp_path, database):
    made = invited(tmp_path, plan_for(1000, sizes=SIZES), database=database)
    cells = list(random_cells(made).items())

    async def guess(server):
        for _ in range(25):
            guesses = ({"token": "".join(random.choices("abcXYZ019_-", k=22))} for _ in range(8))
            for status, content in await asyncio.gather(
                *(post(server.port, "/look", each) for each in guesses)
            ):
                assert (status, json.loads(content)) == (200, {"state": "unknown"})

    async def everyone(server):
        return (await asyncio.gather(send_over(server, cells), guess(server)))[0]

    with served(made) as server:
        counted, others = asyncio.run(everyone(server))
    assert (len(counted), others) == (1000, [])
    with made.folder.connected() as tables:
        assert opened(made, tables) == sent(made, cells)


def hostile(tokens):
    """A body that is nearly right, or nothing like it."""
    token = random.choice(
        [random.choice(tokens), "A" * 22, "", "\x00" * 22, "'; DROP TABLE tokens; --", None, 7, [], {}]
    )
    cell = random.choice(
        [0, 1, -1, 10**18, 10**40, 1.5, True, None, "1", [], {"a": 1}, float("inf"), float("nan")]
    )
    body = {"token": token, "cell": cell}
    for _ in range(random.randrange(2)):
        body[random.choice(["token", "cell", "more", "__proto__", ""])] = random.choice([token, cell, "x"])
    content = bytearray(
        json.dumps(body).encode()[: random.choice([LENGTH, 20])].ljust(random.choice([LENGTH, LENGTH, 7]))
    )
    for _ in range(random.choice([0, 0, 1, 5, 60])):
        content[random.randrange(len(content))] = random.randrange(256)
    return bytes(content)


def test_hostile_bodies_get_a_reply_and_change_nothing_else(tmp_path):
    made = invited(tmp_path)
    cells = list(random_cells(made).items())
    tokens, seen = [token for token, _ in cells[:20]], set()
    with collecting(made) as collector:
        app = make_page_app(made.folder.kit, collector)
        with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
            for _ in range(few(500, of=5000)):
                headers = {"content-type": "application/json"}
                reply = client.post(
                    random.choice(["/send", "/look"]), content=hostile(tokens), headers=headers
                )
                seen.add(reply.status_code)
                assert len(reply.content) == LENGTH
    assert seen <= {200, 400}
    with made.folder.connected() as tables:
        assert tables.used() <= {hash_of(token) for token in tokens}
        assert opened(made, tables).total() == tables.turnout().total()
