"""Runs commands of dpstrata in children that it forks, so that each starts at once with everything imported.

It reads a line of JSON for each command from standard input, and answers with its exit code. It has one thread,
so that forking is safe, and a command still has a process of its own.
"""

import encodings.utf_8_sig  # noqa: F401 - what most commands import
import functools
import gc
import json
import os
import signal
import sys

import mpmath  # noqa: F401
import numpy  # noqa: F401
import pydantic.type_adapter  # noqa: F401
import rich._emoji_codes
import rich.console
import rich.table  # noqa: F401
import scipy.special  # noqa: F401
import typer._adapters
import typer.main

from dpstrata import cli
from dpstrata.designs import reading  # noqa: F401
from dpstrata.planning import design  # noqa: F401
from dpstrata.words import designs  # noqa: F401

SURVEY = {"frame", "draw", "privatize", "publish", "estimate", "main-design"}


def carry_out(request):
    """In the child: run the command with its own folder, environment and files, and end."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for name, target in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        flags = os.O_RDONLY if target == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(request[name], flags, 0o600), target)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(i, mode, encoding="utf-8", closefd=False) for i, mode in enumerate(("r", "w", "w"))
    )
    sys.argv = ["dpstrata", *request["arguments"]]
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main():
    """Answer until standard input ends."""
    typer.main.get_command = functools.cache(typer.main.get_command)  # made once, before the children
    typer.main.get_command(cli.app)
    gc.freeze()  # collecting garbage in a child would copy all of it
    for line in sys.stdin:
        request = json.loads(line)
        if SURVEY & set(request["arguments"][:1]):
            import survey_imports  # noqa: F401
        child = os.fork()
        if child == 0:
            signal.alarm(request["timeout"])
            carry_out(request)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
