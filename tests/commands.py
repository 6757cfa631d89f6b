"""The command line, run as a user would, in a process of its own (see ``command_server``)."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

_SECONDS = 120


def run(folder, *arguments, input=None, environment=None, drawn=False, **more):
    """Run a command of dpstrata in a folder; with ``env`` or limits of its own, from scratch.

    Charts are empty and nothing is printed unless `drawn` (see ``undrawn``) or from scratch.
    """
    words = list(map(str, arguments))
    if any(value is not None for value in more.values()):
        command = [sys.executable, "-m", "dpstrata", *words]
        options = {"capture_output": True, "text": True, "timeout": _SECONDS, **more}
        return subprocess.run(command, cwd=folder, input=input, **options)
    return _done(_request(folder, words, environment, drawn=drawn), input)


def run_script(name, *arguments, folder=None, environment=None, seconds=_SECONDS):
    """Run a script of the tests: the module's ``main``, in a process of its own."""
    request = _request(folder, list(map(str, arguments)), environment)
    return _done(request | {"script": name, "timeout": seconds})


def _done(request, input=None):
    with tempfile.TemporaryDirectory() as place:
        files = {name: os.path.join(place, name) for name in ("stdin", "stdout", "stderr")}
        Path(files["stdin"]).write_text(input or "", encoding="utf-8")
        code = _ask(**request, **files)
        out, err = (Path(files[name]).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
    return subprocess.CompletedProcess(
        [request["script"] or "dpstrata", *request["arguments"]], code, out, err
    )


class Started:
    """A collector that was started, much like one of ``subprocess.Popen``: what it says comes through a pipe."""

    def __init__(self, folder, *arguments, environment=None):
        with tempfile.TemporaryDirectory() as place:
            pipe = os.path.join(place, "said")
            os.mkfifo(pipe)
            files = {"stdin": os.devnull, "stdout": pipe, "stderr": pipe}
            request = _request(folder, list(map(str, arguments)), environment)
            self.pid = _ask(**request | {"only_start": True, "timeout": 3000}, **files)
            self.stdout = open(pipe, encoding="utf-8")  # noqa: SIM115 - closed by whoever reads it
        self.returncode = None

    def send_signal(self, how):
        if self.returncode is None:  # afterwards the number may be another process's
            os.kill(self.pid, how)

    def wait(self, timeout):
        """Wait for its end, for so many seconds."""
        end = time.monotonic() + timeout
        while self.returncode is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("dpstrata", timeout)
            self.returncode = _ask(process=self.pid)
            time.sleep(0.01 * (self.returncode is None))
        return self.returncode


def run_line(folder, line):
    """Run a command as it is written; the words of the line are what a shell makes of them."""
    program, words = line.split(" ", 1)
    assert program == "dpstrata"
    split = ["/bin/sh", "-c", f"printf '%s\\0' {words}"]
    found = subprocess.run(split, capture_output=True, text=True, check=True, cwd=folder).stdout
    return run(folder, *found.removesuffix("\0").split("\0"))


def _request(folder, words, environment, *, drawn=False):
    return {
        "arguments": words,
        "folder": str(folder or Path.cwd()),
        "environment": dict(os.environ if environment is None else environment),
        "drawn": drawn,
        "timeout": _SECONDS,
        "only_start": False,
        "script": None,
    }


def _ask(**request):
    """Send the server a request, and return its answer."""
    server = _server()
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


@cache
def _server():
    """Start the server, once for each process of the tests."""
    path = Path(__file__).with_name("command_server.py")
    server = subprocess.Popen(
        [sys.executable, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    atexit.register(_end, server)
    return server


def _end(server):
    server.stdin.close()
    server.wait()
    server.stdout.close()
