"""Tests in several processes, forked when all tests are collected: each has everything imported, and collects nothing.

The parent hands out groups of tests, one at a time, and tells what comes back as if it had run them. A worker asks
for its next group before the last test of the one it has, so that what both share is kept.
"""

import atexit
import os
import signal
import sys
import traceback
from collections import deque
from multiprocessing.connection import Pipe, wait

import pytest

from arranging import grouped


class Worker:
    """A process that was forked, what it was given, and the test that it runs."""

    def __init__(self, session, number):
        self.pipe, other = Pipe()
        self.given, self.running, self.over = [], None, False
        self.process = os.fork()
        if self.process == 0:
            self.pipe.close()
            _work(session, number, other)
        other.close()

    def left(self):
        """Return the places of tests that it was given and has not begun."""
        names = [name for name, _ in self.given]
        begun = names.index(self.running) + 1 if self.running in names else 0
        return [place for _, place in self.given[begun:]]


def run_tests(session, number):
    """Run all tests in so many processes; whoever calls it tells how they ended from what the session counted."""
    names = [item.nodeid for item in session.items]
    groups = deque(grouped(names))
    if len(groups) < 10 * number:  # a few modules: their tests are shared out one by one
        groups = deque([place] for place in range(len(names)))
    basetemp = session.config._tmp_path_factory.getbasetemp()
    for k in range(number):
        (basetemp / str(k)).mkdir()
    sys.stdout.flush()
    workers = [Worker(session, k) for k in range(number)]
    try:
        while open_pipes := {worker.pipe: worker for worker in workers if not worker.pipe.closed}:
            for pipe in wait(list(open_pipes)):
                _listen(session, open_pipes[pipe], groups, names)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        if groups:
            raise session.Failed(f"{sum(map(len, groups))} tests were left when no process was")
    finally:
        for worker in workers:
            if not worker.over:
                os.kill(worker.process, signal.SIGKILL)
            os.waitpid(worker.process, 0)


def _listen(session, worker, groups, names):
    """Take one thing that a worker says."""
    hook = session.config.hook
    try:
        said, content = worker.pipe.recv()
    except (EOFError, OSError):
        worker.pipe.close()
        if not worker.over:
            _lose(session, worker, groups, "the process that ran it ended")
        return
    if said == "more":
        stopped = session.shouldstop or session.shouldfail
        places = groups.popleft() if groups and not stopped else []
        worker.given += [(names[place], place) for place in places]
        worker.pipe.send(places)
    elif said == "begins":
        worker.running = content[0]
        hook.pytest_runtest_logstart(nodeid=content[0], location=content[1])
    elif said == "reports":
        for data in content:
            report = hook.pytest_report_from_serializable(config=session.config, data=data)
            hook.pytest_runtest_logreport(report=report)
    elif said == "ends":
        hook.pytest_runtest_logfinish(nodeid=content[0], location=content[1])
    else:
        worker.over = True
        worker.pipe.close()
        if content:
            _lose(session, worker, groups, content)


def _lose(session, worker, groups, reason):
    """Tell that a worker ended before its time, and leave to others what it did not begin."""
    worker.over = True
    name = worker.running or "before the first test"
    location = (name.partition("::")[0], None, name)
    report = pytest.TestReport(name, location, {}, "failed", reason, "call")
    session.config.hook.pytest_runtest_logreport(report=report)
    if left := worker.left():
        groups.appendleft(left)


class Teller:
    """Tells the parent what happens, in the place of the terminal: at once what fails, the rest when a test ends."""

    def __init__(self, config, pipe):
        self.config, self.pipe, self.reports = config, pipe, []

    def pytest_runtest_logstart(self, nodeid, location):
        self.pipe.send(("begins", (nodeid, location)))

    def pytest_runtest_logreport(self, report):
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.reports.append(data)
        if report.failed or report.when == "teardown":
            self.pipe.send(("reports", self.reports))
            self.reports = []

    def pytest_runtest_logfinish(self, nodeid, location):
        self.pipe.send(("ends", (nodeid, location)))


def _work(session, number, pipe):
    """In the child: run what the parent hands out, and end without what the parent does at its own end."""
    config, fault = session.config, None
    try:
        config._tmp_path_factory._basetemp = config._tmp_path_factory.getbasetemp() / str(number)
        config.pluginmanager.unregister(name="terminalreporter")
        capture = config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()  # into files that all processes would share
        capture.start_global_capturing()
        config.pluginmanager.register(Teller(config, pipe))
        items = _asked_for(session, pipe)
        while items:
            for item, following in zip(items, [*items[1:], None], strict=True):
                if following is None:
                    items = _asked_for(session, pipe)
                    following = items[0] if items else None
                config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.shouldfail or session.shouldstop:
                    items = []
                    break
        config._ensure_unconfigure()  # looks for errors that nobody saw
    except BaseException:
        fault = traceback.format_exc()
    try:
        atexit._run_exitfuncs()
        pipe.send(("over", fault))
    finally:
        os._exit(0)


def _asked_for(session, pipe):
    pipe.send(("more", None))
    return [session.items[place] for place in pipe.recv()]
