"""Property tests see the same examples in every run of `make test`; `make slow` gives them new ones, and more."""

import functools
import gc
import os

import pytest
import typer.main
import typer.testing
from hypothesis import settings

import databases
from arranging import arranged
from extent import FULL

if "PYTEST_XDIST_WORKER" in os.environ:
    gc.disable()  # until all tests are collected: what they are made of is no garbage

# what options commands have is the same for all tests that run them
typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)

if not FULL:
    databases.keep_open()

settings.register_profile("same", derandomize=True)
settings.register_profile("new", max_examples=3000)
settings.load_profile(os.environ.get("DPSTRATA_EXAMPLES", "same"))


@pytest.fixture
def tmp_path(tmp_path):
    """A folder without neighbours: what other tests left beside it must not keep a design from being replaced."""
    folder = tmp_path / "own"
    folder.mkdir()
    return folder


@pytest.hookimpl(trylast=True)  # once it is known which tests are left out
def pytest_collection_modifyitems(config, items):
    """With several workers, begin with what takes longest."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = [items[place] for place in arranged([item.nodeid for item in items], workers)]


def pytest_collection_finish():
    """What thousands of tests are made of stays: looking through it for garbage again and again takes time."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_sessionfinish():
    """Let it be freed at the end as ever."""
    gc.unfreeze()
