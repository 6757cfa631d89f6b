"""Property tests see the same examples in every run of `make test`; `make slow` gives them new ones, and more."""

import functools
import gc
import os
import time
from pathlib import Path

import pytest
import typer.main
import typer.testing
from hypothesis import settings

import databases
from extent import FULL
from undrawn import draw
from workers import run_tests

WORKERS = int(os.environ.get("DPSTRATA_WORKERS", "1"))
if WORKERS > 1:
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


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    """Draw charts and print pages where a test is marked so; whoever else is asked runs it."""
    draw(item.get_closest_marker("drawn") is not None)


def pytest_runtestloop(session):
    """Run tests in several processes, if asked to and if all were collected."""
    if WORKERS > 1 and not session.testsfailed and not session.config.option.collectonly:
        if "DPSTRATA_AFTER" in os.environ:
            _wait_for(Path(os.environ["DPSTRATA_AFTER"]), session)
        run_tests(session, WORKERS)
        return True
    return None


def _wait_for(installed, session):
    """Wait for what `make test` installs meanwhile."""
    failed = installed.with_name(f"{installed.name}.failed")
    while not installed.exists():
        if failed.exists():
            raise session.Failed("Spark could not be installed, so no test was run")
        time.sleep(0.2)


def pytest_collection_finish():
    """What thousands of tests are made of stays, and is not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_sessionfinish():
    """Let it be freed at the end as ever."""
    gc.unfreeze()
