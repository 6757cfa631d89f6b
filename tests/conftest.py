"""What all tests share: examples of property tests, folders, and markers of what a test needs."""

import os

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True)  # `make test`: the same examples in every run
settings.register_profile("new", max_examples=3000)  # `make slow`
settings.load_profile(os.environ.get("DPSTRATA_EXAMPLES", "same"))

NEEDS = {"browser": "browser", "spark": "spark", "postgresql": "postgresql"}  # by fixture or parameter


def pytest_collection_modifyitems(items):
    """Mark what takes a browser, Spark or PostgreSQL, so that `make quick` can leave it out."""
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        asked = {*getattr(item, "fixturenames", ()), *(each for each in parameters if isinstance(each, str))}
        for name, marker in NEEDS.items():
            if name in asked:
                item.add_marker(marker)


@pytest.fixture
def tmp_path(tmp_path):
    """A folder without neighbours: what other tests left beside it must not keep a design from being replaced."""
    folder = tmp_path / "own"
    folder.mkdir()
    return folder
