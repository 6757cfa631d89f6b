"""The command line, run as a user would, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
_SECONDS = 120


def run(folder, *arguments, **options):
    """Run a command of dpstrata in a folder; options are those of ``subprocess.run``."""
    return _run(["-m", "dpstrata", *arguments], folder, **options)


def run_script(name, *arguments, folder=None, seconds=_SECONDS, **options):
    """Run a script of the tests: a module beside this one."""
    return _run([TESTS / f"{name}.py", *arguments], folder, timeout=seconds, **options)


def run_line(folder, line):
    """Run a command as it is written, through a shell."""
    program = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": program},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )


def _run(words, folder, **options):
    options = {"capture_output": True, "text": True, "timeout": _SECONDS, **options}
    return subprocess.run([sys.executable, *map(str, words)], cwd=folder, **options)
