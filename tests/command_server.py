"""Runs commands of dpstrata in children that it forks, so that each starts at once with everything imported.

Scripts of the tests that run such commands again and again (``killing``) start in the same way.

It reads a line of JSON for each command from standard input, and answers with its exit code; of one that is only
started, with the number of its process, of which one can ask later whether it has ended. It has one thread, so that
forking is safe, and a command still has a process of its own.
"""

import json
import os
import signal
import sys
import traceback
from importlib import import_module

from dpstrata import cli
from forking import prepare
from undrawn import draw

SURVEY = {"frame", "draw", "privatize", "publish", "estimate", "main-design"}


def carry_out(request):
    """In the child: run the command with its own folder, environment and files, and end."""
    for name, target in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if name == "stderr" and request["stdout"] == request["stderr"]:
            os.dup2(1, 2)  # a pipe that is gone from its folder by now
            break
        flags = os.O_RDONLY if target == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(request[name], flags, 0o600), target)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(i, mode, buffering, encoding="utf-8", closefd=False)
        for i, (mode, buffering) in enumerate([("r", -1), ("w", -1), ("w", 1)])
    )
    sys.argv = [request["script"] or "dpstrata", *request["arguments"]]
    code = 0
    try:
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        draw(request["drawn"])
        import_module(request["script"]).main() if request["script"] else cli.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def started(request):
    """Start a command, and return the number of its process."""
    if SURVEY & set(request["arguments"][:1]):
        import survey_imports  # noqa: F401
    if request["only_start"]:
        import collect_imports  # noqa: F401
    if request["script"]:
        import_module(request["script"])
    child = os.fork()
    if child == 0:
        signal.alarm(request["timeout"])
        carry_out(request)
    return child


def ended(process):
    """Return the exit code of a process, or nothing while it runs."""
    number, status = os.waitpid(process, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if number else None


def main():
    """Answer until standard input ends."""
    prepare()
    for line in sys.stdin:
        request = json.loads(line)
        if "process" in request:
            answer = ended(request["process"])
        else:
            answer = started(request)
            if not request["only_start"]:
                answer = os.waitstatus_to_exitcode(os.waitpid(answer, 0)[1])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
