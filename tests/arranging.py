"""The order of the tests for several workers: what takes longest begins first."""

# Seconds that a module, a folder or several take on two cores, roughly. Their tests share what is costly to start,
# such as a browser or Spark.
SECONDS = {
    "tests/web/": 210,
    "tests/collect/ tests/docs/test_site.py tests/present/test_layout.py": 150,
    "tests/fielding/test_engines.py": 70,
    "tests/present/": 50,
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
    groups = {together: [] for together in sorted(SECONDS, key=SECONDS.get, reverse=True)}
    starts = {start: together for together in SECONDS for start in together.split()}
    longest = sorted(starts, key=len, reverse=True)  # a module before its folder
    for place, name in enumerate(names):
        start = next(filter(name.startswith, longest), name.partition("::")[0])
        groups.setdefault(starts.get(start, start), []).append(place)
    return [together for together in groups.values() if together]
