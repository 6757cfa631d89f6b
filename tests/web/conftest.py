"""A server in the test's own process, with real workers."""

import re
import signal
import subprocess
import sys

import pytest
from browser import FOUR, chromium, visiting
from starlette.testclient import TestClient

import dpstrata as dps
from dpstrata.web.app import make_app


@pytest.fixture(scope="session")
def client():
    with TestClient(make_app(), base_url="http://127.0.0.1") as made:
        yield made


@pytest.fixture
def four():
    """The paper's four strata and a question about them, with the paper's noise, as a request."""
    return {
        "strata": {name: list(cells) for name, cells in FOUR.items()},
        "options": {"epsilon": 1.0, "total": 200, "mechanism": "laplace"},
    }


@pytest.fixture(scope="session")
def server():
    """The address of ``dpstrata serve``, started as a user would."""
    command = [sys.executable, "-m", "dpstrata", "serve", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        yield re.search(r"http://\S+/", line).group()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(10) == 0
        assert rest == "The planner has stopped.\n"


@pytest.fixture(scope="module")
def browser():
    """Chromium, for the tests of one module."""
    with chromium() as started:
        yield started


@pytest.fixture
def visit(browser, server):
    """The page, opened."""
    with visiting(browser, server) as made:
        yield made.open()


@pytest.fixture(scope="session")
def strata():
    from importlib import resources

    return dps.Strata.from_file(str(resources.files("dpstrata") / "examples" / "four-strata.csv"))
