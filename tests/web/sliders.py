"""Clients that move sliders: each asks for designs of strata of its own and checks that every answer is its own."""

import asyncio
import json
import random
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Tally:
    """What some clients got."""

    answers: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    @property
    def rate(self):
        """Answers a second."""
        return self.answers / self.seconds


def make_request(number, strata, chance):
    """Ask about strata that no other client has, with sliders somewhere."""
    return {
        "strata": {
            "stratum": [f"client {number} stratum {i}" for i in range(strata)],
            "size": [1000 + 7 * number + i for i in range(strata)],
            "sd": [0.05 + 0.4 * chance.random() for _ in range(strata)],
        },
        "options": {
            "epsilon": round(10 ** chance.uniform(-1, 1), 3),
            "total": chance.randint(strata, 50 * strata),
        },
    }


def find_fault(request, status, answer):
    """Say what is wrong with an answer, if anything is."""
    if status != 200:
        return f"status {status}: {answer.get('error')}"
    if answer["strata"]["stratum"] != request["strata"]["stratum"]:
        return "an answer about another client's strata"
    if answer["strata"]["size"] != request["strata"]["size"]:
        return "an answer about other sizes"
    total, epsilon = request["options"]["total"], request["options"]["epsilon"]
    if answer["total"] != total or sum(answer["strata"]["sample_size"]) != total:
        return "an answer to another question"
    if f"epsilon={epsilon:g}," not in answer["code"]["python"]:
        return "an answer for another epsilon"
    return None


async def post(reader, writer, host, path, body):
    """Send one request over a connection that stays open."""
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    status = int((await reader.readline()).split()[1])
    length = 0
    while (line := await reader.readline()) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        if name.lower() == "content-length":
            length = int(value)
    return status, await reader.readexactly(length)


async def move_slider(number, address, until, tally, strata):
    """Be one client."""
    place, chance = urlsplit(address), random.Random(number)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        while time.perf_counter() < until:
            request = make_request(number, strata, chance)
            status, content = await post(
                reader, writer, place.netloc, "/api/design", json.dumps(request).encode()
            )
            fault = find_fault(request, status, json.loads(content))
            tally.answers += 1
            if fault:
                tally.faults.append(fault)
    finally:
        writer.close()
        await writer.wait_closed()


def move_sliders(address, *, clients, seconds, strata=50):
    """Let so many clients ask as fast as they are answered, for so long."""
    tally = Tally()
    begun = time.perf_counter()

    async def run():
        until = begun + seconds
        await asyncio.gather(*(move_slider(i, address, until, tally, strata) for i in range(clients)))

    asyncio.run(run())
    tally.seconds = time.perf_counter() - begun
    return tally
