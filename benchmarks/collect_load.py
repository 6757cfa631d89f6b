"""A collector under load: ``make load``.

Everyone in a sample sends a row, 32 at a time and on a connection of their own, to a server on each database;
beside them others guess tokens. Nobody may get an error, every answer must be there afterwards, and the
throughput must be at least 0.15 of what the same server does with empty bodies, which it refuses at once.
Ends with status 1 if not. ``python benchmarks/collect_load.py 2000`` takes fewer people.
"""

import asyncio
import secrets
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "web"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from collecting import DATABASES, invited, opened, plan_for, post, random_cells, sent, served

AT_ONCE, LEAST = 32, 0.15


async def timed(port, bodies, path="/send"):
    """Send all bodies; return what became of them, the seconds of each, and all in all."""
    gate, replies, seconds = asyncio.Semaphore(AT_ONCE), [], []

    async def one(body):
        async with gate:
            begun = time.perf_counter()
            replies.append(await post(port, path, body))
            seconds.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    await asyncio.gather(*(one(body) for body in bodies))
    return replies, seconds, time.perf_counter() - begun


async def beside(port, bodies, guesses):
    """Let respondents send while others guess."""
    guessing = asyncio.ensure_future(timed(port, guesses, "/look"))
    result = await timed(port, bodies)
    unknown, _, _ = await guessing
    return result, unknown


def measure(database, people, folder):
    """Measure one database; return whether all was well."""
    made = invited(
        folder, plan_for(people, sizes=(("north", 3 * people), ("south", 7 * people))), database=database
    )
    cells = list(random_cells(made).items())
    bodies = [{"token": token, "cell": cell} for token, cell in cells]
    half = len(bodies) // 2
    guesses = [{"token": secrets.token_urlsafe(16)} for _ in range(half)]
    with served(made) as server:
        refused, _, empty = asyncio.run(timed(server.port, [b" " * 128] * min(people, 2000)))
        replies, seconds, first = asyncio.run(timed(server.port, bodies[:half]))
        (more, _, _), unknown = asyncio.run(beside(server.port, bodies[half:], guesses))
    with made.folder.connected() as tables:
        whole = opened(made, tables) == sent(made, cells)
    well = all((status, b"counted" in content) == (200, True) for status, content in replies + more)
    known = all((status, b"unknown" in content) == (200, True) for status, content in unknown)
    rate, ceiling = half / first, len(refused) / empty
    p99 = statistics.quantiles(seconds, n=100)[98]
    print(
        f"{database}: {rate:,.0f} answers a second, {rate / ceiling:.2f} of empty bodies ({ceiling:,.0f}); "
        f"99% within {1000 * p99:.0f} ms; {len(guesses):,} guesses beside; "
        f"{'no error' if well and known else 'ERRORS'}, {'all' if whole else 'NOT ALL'} there."
    )
    return well and known and whole and rate >= LEAST * ceiling


def main():
    """Measure both."""
    people = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        well = [measure(database, people, Path(folder) / database) for database in DATABASES]
    sys.exit(0 if all(well) else 1)


if __name__ == "__main__":
    main()
