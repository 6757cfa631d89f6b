"""Property tests see the same examples in every run of `make test`; `make slow` gives them new ones, and more."""

import atexit
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


def pytest_runtestloop(session):
    """Run tests in several processes, if asked to and if all were collected."""
    if WORKERS > 1 and not session.testsfailed and not session.config.option.collectonly:
        # for what is still being installed; without it, the tests that need it fail and say so
        end, awaited = time.monotonic() + 300, Path(os.environ.get("DPSTRATA_AFTER", "."))
        while not awaited.exists() and time.monotonic() < end:
            time.sleep(0.2)
        run_tests(session, WORKERS)
        return True
    return None


def pytest_collection_finish():
    """What thousands of tests are made of stays, and is not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)  # it is freed at the very end, as ever
