"""Collectors that are killed under load, hostile bodies, and many respondents at once: nothing is lost."""

import asyncio
import json
import random
import re
import signal

import pytest

from collecting import DATABASES, invited, opened, plan_for, post, random_cells, send_over, sent, served
from dpstrata.collect.contract import LENGTH
from dpstrata.collect.invitations import hash_of
from dpstrata.fielding.keys import read_key
from extent import few

PEOPLE = few(1200, of=16_000)  # so many that some are still to answer whenever it ends
SIZES = (("north", 9000), ("south", 21_000))
ENDS = [signal.SIGKILL] * few(3, of=50) + [signal.SIGTERM] * few(1, of=20)


async def ended_meanwhile(server, pairs, how, seconds):
    """Let everyone send, and end the server after a while; return who was acknowledged."""
    sending = asyncio.ensure_future(send_over(server, pairs))
    await asyncio.sleep(seconds)
    assert not sending.done()
    server.process.send_signal(how)
    return (await sending)[0]


@pytest.mark.slow
@pytest.mark.parametrize("database", DATABASES)
def test_killed_and_restarted_at_any_moment_under_load(tmp_path, database):
    made = invited(tmp_path, plan_for(PEOPLE, sizes=SIZES), database=database)
    cells, acknowledged = list(random_cells(made).items()), set()
    with served(made) as server:
        for how in random.sample(ENDS, len(ENDS)):
            random.shuffle(cells)
            left = [pair for pair in cells if pair[0] not in acknowledged]
            acknowledged |= set(asyncio.run(ended_meanwhile(server, left, how, random.uniform(0.02, 0.2))))
            server.end(None)  # a second signal could come while the process ends
            assert server.process.returncode == (0 if how is signal.SIGTERM else -how)
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


@pytest.mark.slow
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


def head_for(path):
    """The beginning of a request."""
    return (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\n"
    ).encode()


def sized(body):
    """The rest of it, as it should be."""
    return b"content-length: %d\r\n\r\n%s" % (len(body), body)


def right_request(token, cell):
    """A request as the page sends it."""
    body = json.dumps({"token": token, "cell": cell}).encode().ljust(LENGTH)
    return head_for("/send") + sized(body), False


def request(tokens):
    """A request with such a body, or something that is nearly one; whether more of it would have to follow."""
    body, head = hostile(tokens), head_for(random.choice(["/send", "/look"]))
    chunks = b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n"
    right = head + sized(body)
    return random.choice(
        [
            *[(right, False)] * 10,
            (right + right, False),
            (head + chunks % (len(body), body) + b"0\r\n\r\n", False),
            (head + chunks % (len(body), body), True),
            (head + chunks % (len(body) + 9, body), True),
            (head + chunks % (2, body), False),
            (head + chunks % (10**20, body), True),
            (head + b"content-length: %d\r\n" % len(body) + chunks % (len(body), body) + b"0\r\n\r\n", False),
            (head + b"content-length: 200\r\n\r\n" + body, True),
            (head + b"content-length: 3\r\n\r\n" + body, False),
            (head + b"content-length: -1\r\n\r\n" + body, False),
            (head + b"content-length: many\r\n\r\n" + body, False),
            (right[: random.randrange(1, len(right) - 1)], True),
            (random.randbytes(300), True),
        ]
    )


async def answered(port, content, *, unfinished, slowly):
    """Return the status of the reply to a request, if it gets one, with what follows the head."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for start in range(0, len(content), size := 40 if slowly else len(content)):
            writer.write(content[start : start + size])
            await asyncio.sleep(0.1 if slowly else 0)
        async with asyncio.timeout(0.1 if unfinished and not slowly else 60):  # then the others just leave
            reply = await reader.read()
    except ConnectionError:  # ended while more was coming
        return None
    except TimeoutError:
        assert unfinished
        assert not slowly
        return None
    finally:
        writer.close()
    found = re.match(rb"HTTP/1\.1 (\d+) .*?\r\n\r\n(.*)", reply, re.DOTALL)
    return (int(found[1]), found[2]) if found else None


async def all_answered(port, requests):
    gate = asyncio.Semaphore(32)

    async def one(place, content, unfinished):
        async with gate:
            slowly = place % 25 == 0
            return await answered(port, content, unfinished=unfinished, slowly=slowly)

    return await asyncio.gather(*(one(place, *each) for place, each in enumerate(requests)))


@pytest.mark.slow
def test_hostile_requests_get_a_reply_and_change_nothing_else(tmp_path):
    """Over the network: bodies that are nearly right, and broken HTTP, some of it slow."""
    made = invited(tmp_path)
    cells = list(random_cells(made).items())
    tokens = [token for token, _ in cells[:20]]
    requests = [request(tokens) for _ in range(few(500, of=5000))]
    for place in range(1, len(requests), 100):  # amid all that
        requests[place] = right_request(*cells[place // 100 % 20])
    with served(made) as server:
        replies = asyncio.run(all_answered(server.port, requests))
        assert [server.send(*pair) for pair in cells[20:30]] == [{"state": "counted"}] * 10
    seen = {each[0] for each in replies if each is not None}
    assert {200, 400} <= seen <= {200, 400, 408}
    assert len([each for each in replies if each is not None]) > len(replies) / 2
    assert not [line for line in server.said if "rror" in line or "Traceback" in line]
    with made.folder.connected() as tables:
        assert tables.used() <= {hash_of(token) for token, _ in cells}
        assert opened(made, tables).total() == tables.turnout().total()
