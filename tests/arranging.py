"""The order of the tests for several workers: what takes longest begins first."""

# Seconds that a module or a folder takes on two cores, roughly. Its tests share what is costly to start.
SECONDS = {
    "tests/web/": 210,
    "tests/collect/": 110,
    "tests/fielding/test_engines.py": 70,
    "tests/present/": 55,
    "tests/docs/test_site.py": 35,
    "tests/docs/test_commands.py": 35,
    "tests/fielding/test_repeated_rows.py": 15,
    "tests/fielding/test_sample.py": 10,
    "tests/fielding/test_interruptions.py": 10,
    "tests/allocation/solvers/test_noised_once.py": 10,
    "tests/paper/": 10,
}


def grouped(names):
    """Return the places of the tests with these names in groups, each for one worker, in the order to begin them.

    Examples
    --------
    >>> grouped(["tests/a.py::b", "tests/paper/c.py::d", "tests/a.py::e", "tests/paper/f.py::g"])
    [[1, 3], [0, 2]]
    """
    groups = {start: [] for start in sorted(SECONDS, key=SECONDS.get, reverse=True)}
    starts = sorted(SECONDS, key=len, reverse=True)  # a module before its folder
    for place, name in enumerate(names):
        start = next(filter(name.startswith, starts), name.partition("::")[0])
        groups.setdefault(start, []).append(place)
    return [together for together in groups.values() if together]
