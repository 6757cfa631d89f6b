"""Starting and stopping ``dpstrata serve``."""

import signal
import socket
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import dpstrata as dps
from dpstrata.cli import app
from dpstrata.web import serve


def run(*arguments):
    command = [sys.executable, "-m", "dpstrata", "serve", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_ctrl_c_stops_it_without_a_traceback():
    process = run("--no-browser", "--port", "0")
    assert process.stdout.readline().startswith("The planner is at http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "The planner has stopped.\n", "")


def test_a_taken_port_is_one_clear_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = run("--no-browser", "--port", str(port))
        out, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert out == ""
    assert (
        err
        == f"Error: --port {port} is taken by another program; give another one, or none to find a free one.\n"
    )


def test_a_missing_extra_names_its_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(dps.MissingExtraError, match=r"pip install 'dpstrata\[web\]'"):
        serve(browser=False)


def test_the_browser_is_opened_unless_it_should_not(monkeypatch):
    import uvicorn

    opened, said = [], []
    monkeypatch.setattr("webbrowser.open", opened.append)
    startup = uvicorn.Server.startup

    async def start_and_stop(self, sockets=None):
        await startup(self, sockets=sockets)
        self.should_exit = True

    monkeypatch.setattr(uvicorn.Server, "startup", start_and_stop)
    serve(port=0, browser=True, say=said.append)
    assert len(opened) == 1
    assert opened[0] in said[0]
    serve(port=0, browser=False, say=said.append)
    assert len(opened) == 1


@pytest.mark.slow
def test_an_address_that_others_reach_is_said_to_be_open():
    process = run("--no-browser", "--port", "0", "--host", "0.0.0.0")
    lines = [process.stdout.readline() for _ in range(2)]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert lines[0].startswith("The planner is at http://127.0.0.1:")
    assert lines[1].startswith("Anyone who can reach this machine can use it")


def test_the_command_explains_itself():
    result = CliRunner().invoke(app, ["serve", "--help"])
    assert result.exit_code == 0
    for word in ("--host", "--port", "--no-browser", "127.0.0.1"):
        assert word in result.output
