"""Every test is run once, and those that take longest begin first."""

from pathlib import Path

import pytest

from arranging import SECONDS, grouped

ROOT = Path(__file__).parents[1]
SHORT = tuple(f"tests/short_{k}.py" for k in range(40))
NAMES = [f"{start}::test_{i}" for i in range(17) for start in (*sorted(SECONDS), *SHORT)]


@pytest.mark.parametrize("count", [0, 1, 5, len(NAMES)])
def test_every_test_is_in_one_group(count):
    assert sorted(place for group in grouped(NAMES[:count]) for place in group) == list(range(count))


def test_what_takes_long_begins_first_and_stays_together():
    groups = [[NAMES[place].partition("::")[0] for place in group] for group in grouped(NAMES)]
    assert all(len(set(group)) == 1 for group in groups)
    first = [group[0] for group in groups]
    assert first == [*sorted(SECONDS, key=SECONDS.get, reverse=True), *SHORT]


def test_what_takes_long_is_there():
    assert [name for names in SECONDS for name in names.split() if not (ROOT / name).exists()] == []


def test_several_modules_are_one_group(monkeypatch):
    monkeypatch.setitem(SECONDS, "tests/a/ tests/b/test_c.py", 40)
    assert grouped(["tests/b/test_c.py::x", "tests/b/test_d.py::y", "tests/a/test_e.py::z"]) == [[0, 2], [1]]


def test_a_module_that_is_named_is_not_taken_for_its_folder(monkeypatch):
    monkeypatch.setitem(SECONDS, "tests/web/test_page.py", 40)
    names = ["tests/web/test_page.py::a", "tests/web/test_api.py::b", "tests/web/test_page.py::c"]
    assert grouped(names) == [[1], [0, 2]]
