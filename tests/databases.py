"""Databases that read frames, kept between tests: opening one takes longer than most questions."""

import atexit
from contextlib import ExitStack, contextmanager

from dpstrata.fielding.frames import files

_open = files._database
_idle = []


def keep_open():
    """Let frames of this process be read by databases that are kept."""
    files._database = _kept


@contextmanager
def _kept():
    """Lend a database that nobody uses, and take it back without what it was told; after any error it is closed."""
    with ExitStack() as closing:
        stack, database = _idle.pop() if _idle else _opened()
        closing.enter_context(stack)
        yield database
        database.execute("DROP VIEW IF EXISTS frame")
        database.execute("DETACH DATABASE IF EXISTS source")
        database.unregister("frame")
        _idle.append((closing.pop_all(), database))


def _opened():
    stack = ExitStack()
    return stack, stack.enter_context(_open())


@atexit.register
def _close():
    while _idle:
        _idle.pop()[0].close()
