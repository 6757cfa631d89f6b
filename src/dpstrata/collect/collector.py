"""The collector: one thread that marks tokens, seals cells, and counts them a batch at a time.

A transaction marks tokens as used and keeps their cells sealed; the cells wait in memory. When a batch of one
stratum, part and form is together (under load, several), another transaction moves the counters and deletes
the sealed copies. So no transaction has a token and a counter in it, and a collector that is killed has lost
nothing: what is sealed is opened at closing, with the office's key.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from dpstrata.collect.folder import CLOSING, SurveyFolder
from dpstrata.collect.invitations import hash_of
from dpstrata.collect.sealing import Sealer
from dpstrata.collect.store import BusyError, Invitation
from dpstrata.collect.tables import CLOSED, LostError, Tables, Token, UnsureError
from dpstrata.errors import InputError
from dpstrata.fielding.sample import ReportKey

_log = logging.getLogger(__name__)
_GROUP = 100  # requests that share a transaction
_WAITING = 1000  # requests beyond which a server says that it is busy
_AT_MOST = 5  # batches of one key that wait under load, where every transaction counts
_PAUSE = 0.2  # seconds after which an idle thread looks whether the survey is to be closed


class _ChangedError(Exception):
    """Something else has deleted sealed copies: those that are left stay for closing."""


@dataclass(slots=True, eq=False)
class _Request:
    """What a page asks: about a token, or to count a cell."""

    hashed: bytes
    cell: int | None
    done: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    reply: Any = None


@dataclass(slots=True, eq=False)
class _Pool:
    """Cells that wait for others of their key, with the ids of their sealed copies.

    Those that are being counted are set apart and stay the same until that is done: of a transaction of which
    only the confirmation was lost, all copies are gone, or none is.
    """

    batch: int
    countable: set[ReportKey]
    waiting: dict[ReportKey, dict[bytes, int]] = field(default_factory=dict)
    moving: dict[ReportKey, dict[bytes, int]] = field(default_factory=dict)

    def add(self, id: bytes, key: ReportKey, cell: int) -> None:
        if key in self.countable:
            self.waiting.setdefault(key, {})[id] = cell

    def take(self, batches: int) -> None:
        """Set apart what is together in so many batches, in the order in which counters are locked."""
        if not self.moving:
            full = [key for key, cells in self.waiting.items() if len(cells) >= batches * self.batch]
            self.moving = {key: self.waiting.pop(key) for key in sorted(full)}


class Collector:
    """A store over the database of a survey.

    Parameters
    ----------
    folder : SurveyFolder
        The survey.
    limit : int
        How many requests may wait before others are told that the server is busy.

    Attributes
    ----------
    batch : int
        How many answers of one stratum and form are counted together, once it has started.
    closed : bool
        Whether the survey takes no more answers, as far as is known.
    """

    batch: int
    closed: bool

    def __init__(self, folder: SurveyFolder, *, limit: int = _WAITING) -> None:
        self._connect: Callable[[], Tables] = folder.tables
        self._kit = folder.kit
        self._sealer = Sealer(folder.public_key, folder.plan.digest)
        self._closing: Path = folder.path / CLOSING
        self._requests: queue.Queue[_Request | None] = queue.Queue(limit)
        self._thread = threading.Thread(target=self._run, name="collector", daemon=True)
        self._going = True  # until it is stopped and has done what was asked before
        self._lost = False
        self._tables: Tables
        self._pool: _Pool

    def start(self) -> None:
        """Connect, and begin to work."""
        self._tables = self._connect()
        try:
            self._tables.check()
            self.batch = int(self._tables.fact("batch"))
            self.closed = self._tables.fact("state") == CLOSED
            self._pool = _Pool(self.batch, self._tables.countable())
        except BaseException as error:
            self._tables.close()
            if isinstance(error, LostError):
                raise InputError(
                    "the database was lost while the collector started; start it again."
                ) from None
            raise
        self._closing.unlink(missing_ok=True)  # of a run of close that was killed before this started
        self._thread.start()

    def stop(self) -> None:
        """Finish what was asked, and end the connection; cells that wait stay sealed."""
        self._requests.put(None)
        self._thread.join()
        self._tables.close()

    async def look(self, token: str) -> Invitation:
        """Say how it stands with a token."""
        found: Invitation = await self._ask(token, None)
        return found

    async def send(self, token: str, cell: int) -> Literal["counted", "used", "closed", "unknown"]:
        """Count a cell and use its token up."""
        state: Literal["counted", "used", "closed", "unknown"] = await self._ask(token, cell)
        return state

    async def _ask(self, token: str, cell: int | None) -> Any:
        loop = asyncio.get_running_loop()
        request = _Request(hash_of(token), cell, loop.create_future(), loop)
        try:
            self._requests.put_nowait(request)
        except queue.Full:
            raise BusyError from None
        return await request.done

    # --- in the thread ------------------------------------------------------------------------

    def _run(self) -> None:
        while self._going:
            group = self._take(_GROUP, seconds=_PAUSE)
            self._tables.limit()  # for this whole turn, so that nobody waits for longer
            try:
                self._serve(group)
            except Exception as error:  # a fault of the program must not leave anybody waiting
                for request in group:
                    request.reply = error
            _reply(group)
            for step in (
                self._look_whether_to_close,
                partial(self._move, _AT_MOST if group and self._going else 1),
            ):
                with suppress(Exception):  # nobody waits for it, and the next turn tries again
                    step()
            if self._lost:  # those who have come meanwhile have waited long enough
                group = self._take(self._requests.maxsize)
                for request in group:
                    request.reply = BusyError()
                _reply(group)

    def _take(self, most: int, *, seconds: float = 0.0) -> list[_Request]:
        """Return the requests that are there, after waiting so long for the first."""
        group: list[_Request] = []
        with suppress(queue.Empty):
            while len(group) < most:
                request = (
                    self._requests.get(timeout=seconds)
                    if seconds and not group
                    else self._requests.get_nowait()
                )
                if request is None:
                    self._going = False
                    break
                group.append(request)
        return group

    def _serve(self, group: Sequence[_Request]) -> None:
        looks = [each for each in group if each.cell is None]
        sends = [each for each in group if each.cell is not None]
        for some, answer in ((looks, self._answer_looks), (sends, self._answer_sends)):
            if some and not self._reach(partial(answer, some)):
                for request in some:
                    request.reply = BusyError()

    def _reach(self, work: Callable[[], None]) -> bool:
        """Do what needs the database, once more on a new connection if it fails: whether it was done.

        Whoever runs the collector learns when the database is lost and when it is back, once each.
        """
        for again in (False, True):
            try:
                if again:
                    self._tables.reconnect()
                work()
            except LostError as error:
                fault = error
            else:
                if self._lost:
                    _log.warning("The database is back: answers are counted again.")
                self._lost = False
                return True
        if not self._lost:
            _log.warning("The database is lost (%s): respondents are told to try again.", fault)
        self._lost = True
        return False

    def _answer_looks(self, looks: Sequence[_Request]) -> None:
        self.closed = self.closed or self._tables.fact("state") == CLOSED
        found = self._tables.find(each.hashed for each in looks)
        for each in looks:
            each.reply = self._standing(found.get(each.hashed))

    def _standing(self, token: Token | None) -> Invitation:
        if token is None:
            return Invitation("unknown")
        if token.used:
            return Invitation("used")
        if self.closed:
            return Invitation("closed")
        return Invitation("open", token.key.form, self._kit.odds_of(token.key))

    def _answer_sends(self, sends: Sequence[_Request]) -> None:
        """Mark tokens and keep their cells sealed; of two requests with one token the first wins."""
        counted: dict[bytes, tuple[bytes, ReportKey, int]] = {}
        try:
            self._use(sends, counted)
        except UnsureError:
            self._tables.reconnect()
            if not self._tables.has_sealed(id for id, _, _ in counted.values()):
                raise
        for id, key, cell in counted.values():
            self._pool.add(id, key, cell)

    def _use(self, sends: Sequence[_Request], counted: dict[bytes, tuple[bytes, ReportKey, int]]) -> None:
        with self._tables.transaction():
            self.closed = self._tables.fact("state") == CLOSED
            found = self._tables.find((each.hashed for each in sends), to_use=True)
            for each in sends:
                token = found.get(each.hashed)
                state = self._standing(token).state
                if state != "open" or token is None or each.cell is None:
                    each.reply = state
                elif each.hashed in counted:
                    each.reply = "used"
                elif not 0 <= each.cell < self._kit.cells_of(token.key):
                    each.reply = ValueError("a cell must be in the range of its form.")
                else:
                    counted[each.hashed] = secrets.token_bytes(16), token.key, each.cell
                    each.reply = "counted"
            sealed = {id: self._sealer.seal(key, cell) for id, key, cell in counted.values()}
            if counted:
                self._tables.use(counted, sealed)

    def _move(self, batches: int) -> None:
        """Move the counters wherever so many batches are together; if that fails, try again the next time."""
        self._pool.take(batches)
        if self._pool.moving and self._reach(self._count_together):
            self._pool.moving.clear()

    def _count_together(self) -> None:
        with suppress(_ChangedError), self._tables.transaction():
            # After closing, and after a commit of which only the confirmation was lost, it is done.
            if self._tables.fact("state") != CLOSED:
                for key, cells in self._pool.moving.items():
                    unsealed = self._tables.unseal(cells)
                    if unsealed == len(cells):
                        self._tables.count((key, cell) for cell in cells.values())
                    elif unsealed:
                        raise _ChangedError

    def _look_whether_to_close(self) -> None:
        """Take no more answers once the office has asked for it, by a file that its owner alone can make."""
        if not self.closed and self._closing.exists():
            self.closed = self._reach(self._tables.mark_closed)


def _reply(group: Sequence[_Request]) -> None:
    """Wake those who wait, all of a loop at once."""
    for loop in {request.loop for request in group}:
        mine = [request for request in group if request.loop is loop]
        try:
            loop.call_soon_threadsafe(_settle, mine)
        except RuntimeError:  # the loop has ended, and with it whoever waited
            continue


def _settle(group: Sequence[_Request]) -> None:
    for request in group:
        if request.done.done():
            continue
        if isinstance(request.reply, Exception):
            request.done.set_exception(request.reply)
        else:
            request.done.set_result(request.reply)
