"""The order of the tests for several workers: what takes longest begins first."""

from itertools import islice

# Seconds that a module or a folder takes on two cores, roughly. Its tests share what is costly to start.
SECONDS = {
    "tests/web/": 130,  # without those that are named
    "tests/collect/": 110,
    "tests/fielding/test_engines.py": 70,
    "tests/present/": 55,
    "tests/web/test_page_states.py": 45,
    "tests/web/test_page.py": 40,
    "tests/docs/test_site.py": 35,
    "tests/docs/test_commands.py": 35,
    "tests/fielding/test_repeated_rows.py": 15,
    "tests/fielding/test_sample.py": 10,
    "tests/fielding/test_interruptions.py": 10,
    "tests/allocation/solvers/test_noised_once.py": 10,
    "tests/paper/": 10,
}


def arranged(names, workers):
    """Return the places of the tests with these names in the order in which to run them.

    ``--dist worksteal`` gives every worker an equal part of the collection, and later takes tests from the end of a
    part for a worker that has none left. So what takes longest goes to the beginnings of the parts, where it starts
    at once, and each module of it stays with one worker: Spark, a server or a browser is started once. All other
    tests keep their order.
    """
    long = {start: [] for start in sorted(SECONDS, key=SECONDS.get, reverse=True)}
    others, starts = [], sorted(SECONDS, key=len, reverse=True)
    for place, name in enumerate(names):
        long.get(next(filter(name.startswith, starts), None), others).append(place)
    heads, seconds = [[] for _ in range(workers)], [0] * workers
    for start, together in long.items():
        least = seconds.index(min(seconds))
        heads[least] += together
        seconds[least] += SECONDS[start] if together else 0
    order, rest = [], iter(others)
    for i, head in enumerate(heads):
        size = (len(names) - len(order)) // (workers - i)
        order += head
        order += islice(rest, max(0, size - len(head)))
    return order
