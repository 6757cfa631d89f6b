"""Every test is run once, and those that take longest begin first."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from xdist.scheduler import WorkStealingScheduling

from arranging import SECONDS, arranged

ROOT = Path(__file__).parents[1]
LONG = tuple(SECONDS)
SHORT = tuple(f"tests/short_{k}.py" for k in range(40))
NAMES = [f"{start}::test_{i}" for start in sorted(LONG + SHORT) for i in range(17 if start in LONG else 29)]


class Worker:
    """What the schedule of xdist asks of a worker."""

    shutting_down = False
    gateway = SimpleNamespace(id="worker")

    def send_runtest_some(self, places):
        self.given = places


def parts(order, workers):
    """What xdist itself gives to each worker at first."""
    config = SimpleNamespace(getvalue=lambda _: ["popen"] * workers)
    schedule = WorkStealingScheduling(config, log=SimpleNamespace(workstealsched=None))
    made = [Worker() for _ in range(workers)]
    for worker in made:
        schedule.add_node(worker)
        schedule.add_node_collection(worker, order)
    schedule.schedule()
    return [[order[place] for place in worker.given] for worker in made]


@pytest.mark.parametrize("workers", [2, 3, 4, 7])
def test_what_takes_long_begins_first_and_stays_whole(workers):
    order = [NAMES[place] for place in arranged(NAMES, workers)]
    assert sorted(order) == sorted(NAMES)
    assert [name for name in order if name.startswith(SHORT)] == [
        name for name in NAMES if name.startswith(SHORT)
    ]
    found, seconds = [], []
    for part in parts(order, workers):
        starts = [name.partition("::")[0] for name in part]
        heads = list(dict.fromkeys(start for start in starts if start in LONG))
        assert starts[: 17 * len(heads)] == [head for head in heads for _ in range(17)]
        found += heads
        seconds.append(sum(SECONDS[head] for head in heads))
    assert sorted(found) == sorted(LONG)
    assert max(seconds) - min(seconds) <= max(SECONDS.values())


@pytest.mark.parametrize("count", [0, 1, 5, 18])
def test_a_few_tests_are_all_run(count):
    assert sorted(arranged(NAMES[:count], 3)) == list(range(count))


def test_what_takes_long_is_there():
    assert [name for name in SECONDS if not (ROOT / name).exists()] == []


def test_a_module_that_is_named_is_not_taken_for_its_folder():
    names = [
        "tests/web/test_page.py::test_a",
        "tests/web/test_api.py::test_b",
        "tests/web/test_page.py::test_c",
    ]
    order = arranged(names, 3)
    assert order.index(0) + 1 == order.index(2)
