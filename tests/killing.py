"""Runs a command again and again, killed a little later each time; ``test_interruptions.py`` starts it.

Each run is a child of its own, which ends like a killed process at the k-th line of the modules that write
files; a line counts the first times that it is reached, so that loops over people do not count a thousandfold. After each, every file under its final name must be whole, and the command must then run to its end.
"""

import hashlib
import json
import os
import shutil
import sys
from collections import Counter
from pathlib import Path

# loaded once, before the children that run commands
import cryptography.hazmat.primitives.ciphers  # noqa: F401
import duckdb  # noqa: F401
import opendp.measurements  # noqa: F401
import pandas  # noqa: F401
import pyarrow.parquet  # noqa: F401
import scipy.stats  # noqa: F401

import dpstrata.cli
import dpstrata.fielding.estimate
import dpstrata.fielding.publish
import dpstrata.fielding.sample

WATCHED = tuple(f"{name}.py" for name in ("writing", "overwriting", "keys", "ledger", "draw", "publish"))

TIMES = 2


def run(arguments, kill_at=None):
    """Run a command in a child, and return its exit code."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        if kill_at is not None:
            os.dup2(null, 2)
            sys.settrace(watch(kill_at))
        sys.argv = ["dpstrata", *arguments]
        try:
            dpstrata.cli.main()
        except SystemExit as end:
            os._exit(end.code or 0)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def watch(kill_at):
    left, reached = [kill_at], Counter()

    def line(frame, event, argument):
        if event == "line":
            place = frame.f_code, frame.f_lineno
            reached[place] += 1
            left[0] -= reached[place] <= TIMES
            if left[0] == 0:
                os._exit(137)
        return line

    return lambda frame, event, argument: line if frame.f_code.co_filename.endswith(WATCHED) else None


def whole(path):
    """Whether a file is complete, by what its ending and name promise."""
    text = path.read_text()
    if path.suffix == ".json":
        return bool(json.loads(text))
    if path.suffix == ".key":
        return len(text) == 65
    lines = json.loads(os.environ["DPSTRATA_LINES"])
    return len(text.splitlines()) == lines[path.name] and text.endswith("\n")


def is_spent(ledger):
    """Whether a rerun must refuse to spend again: all was done, or noise was drawn and its file is lost."""
    entries = json.loads(ledger.read_text())["entries"] if ledger.exists() else []
    if not entries:
        return False
    (entry,) = entries
    digest, out = entry["output_digest"], Path(entry["output"])
    finished = [
        hashlib.sha256(part.read_bytes()).hexdigest() for part in out.parent.glob(f".{out.name}.*.part")
    ]
    lost = digest is not None and not out.exists() and digest not in finished
    return entry["status"] == "released" or lost


def main():
    start, arguments = Path(sys.argv[1]), sys.argv[3:]
    step = int(sys.argv[2])
    kills = 0
    while True:
        folder = start.with_name("killed")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(start, folder)
        os.chdir(folder)
        code = run(arguments, kill_at=1 + kills * step)
        for path in folder.iterdir():
            if not path.name.startswith(".") and not path.name.endswith(".lock"):
                assert whole(path), f"{path.name} is half-written, killed at {1 + kills * step}"
        if code == 0:
            break
        assert code == 137, code
        spent = arguments[0] == "privatize" and is_spent(folder / "ledger.json")
        assert run(arguments) == (2 if spent else 0), f"the rerun failed, killed at {1 + kills * step}"
        if spent and not (folder / "noised.csv").exists():
            assert run([*arguments, "--again"]) == 0, f"it cannot be released, killed at {1 + kills * step}"
        left = [path.name for path in folder.iterdir() if path.name.endswith(".part")]
        assert not left or arguments[0] in ("frame", "estimate"), left
        kills += 1
    sys.stdout.write(str(kills))


if __name__ == "__main__":
    main()
