"""A few processes that work on requests, one at a time each, and hold nothing between them.

The server has a :class:`Pool` of them, and replaces one that takes too long. The process itself runs this
module: it reads frames on its standard input and writes others on its output, each a head as JSON and a body
after their lengths. It ends when its input does, so it never outlives the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from dpstrata.web.replies import RefusedError, Reply, explain, reply_error
from dpstrata.web.requests import LIMITS, Limits

LENGTHS = struct.Struct("!II")
# Workers share the processors. Threads of linear algebra that wait for one another while others work made a
# design of 100 questions ten times as slow.
_ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


def pack(head: dict[str, Any], body: bytes) -> bytes:
    """Make a frame."""
    text = json.dumps(head).encode()
    return LENGTHS.pack(len(text), len(body)) + text + body


# --- in the server -----------------------------------------------------------------------------------


class ClientGoneError(Exception):
    """The client left before its request was answered."""


class Worker:
    """One process, started when it is first needed.

    Attributes
    ----------
    spent : bool
        Whether it kept so much memory after its last request that it should be replaced.
    """

    def __init__(self) -> None:
        self.spent = False
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> asyncio.subprocess.Process:
        """Start the process, unless it runs."""
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "dpstrata.web.workers",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, **_ONE_THREAD},
                start_new_session=True,  # Ctrl-C is for the server, which then ends its workers
            )
        return self._process

    async def ask(self, job: str, parameters: dict[str, str], body: bytes) -> Reply:
        """Have one request worked on."""
        process = await self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(pack({"job": job, "parameters": parameters}, body))
        await process.stdin.drain()
        lengths = await process.stdout.readexactly(LENGTHS.size)
        head, content = [await process.stdout.readexactly(length) for length in LENGTHS.unpack(lengths)]
        told = json.loads(head)
        self.spent = told["spent"]
        return Reply(content, **told["reply"])

    async def end(self) -> None:
        """End the process and wait until it is gone."""
        process, self._process, self.spent = self._process, None, False
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class Pool:
    """The workers of one server.

    A worker that is late, that a leaving client has interrupted, or that kept much memory is ended and
    started anew: what it was doing cannot disturb the next request.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._workers = [Worker() for _ in range(limits.workers)]
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()
        self._waiting = 0
        self._stopped = False

    async def start(self) -> None:
        """Start every worker, without waiting until they are ready."""
        for worker in self._workers:
            await worker.start()
            self._idle.put_nowait(worker)

    async def stop(self) -> None:
        """End every worker."""
        self._stopped = True
        await asyncio.gather(*(worker.end() for worker in self._workers))

    async def run(
        self,
        job: str,
        parameters: dict[str, str],
        body: bytes,
        *,
        gone: asyncio.Event | None = None,
    ) -> Reply:
        """Have a request worked on by the next idle worker.

        Parameters
        ----------
        job, parameters, body
            What to do.
        gone : Event, optional
            Set once the client has left.

        Raises
        ------
        RefusedError
            If too many wait already, if the work takes too long, or if the worker did not survive it.
        ClientGoneError
            If the client left before work began, or while it took long.
        """
        if self._waiting >= self._limits.waiting:
            raise RefusedError(503, "too many requests are waiting; try again in a moment.")
        self._waiting += 1
        try:
            worker = await self._idle.get()
        finally:
            self._waiting -= 1
        replaced = True
        try:
            if gone is not None and gone.is_set():
                replaced = False
                raise ClientGoneError
            async with asyncio.timeout(self._limits.work_seconds):
                reply = await self._watched(worker.ask(job, parameters, body), gone)
            replaced = worker.spent
            return reply
        except TimeoutError:
            raise RefusedError(
                413,
                f"the request took longer than {self._limits.work_seconds:g} seconds and was stopped; fewer "
                "questions or strata take less time, and Python and the command line have no such limit.",
            ) from None
        except (asyncio.IncompleteReadError, ConnectionError):
            raise RefusedError(
                500, "the request ended the process that worked on it; it may need too much memory."
            ) from None
        finally:
            if replaced:
                await asyncio.shield(self._replace(worker))
            else:
                self._idle.put_nowait(worker)

    async def _watched(self, work: Coroutine[None, None, Reply], gone: asyncio.Event | None) -> Reply:
        """Wait for work; where it takes long, stop it once the client has left."""
        task = asyncio.ensure_future(work)
        left = asyncio.ensure_future((gone or asyncio.Event()).wait())
        try:
            await asyncio.wait([task], timeout=self._limits.patience)
            await asyncio.wait([task, left], return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise ClientGoneError
        finally:
            task.cancel()
            left.cancel()

    async def _replace(self, worker: Worker) -> None:
        await worker.end()
        if not self._stopped:
            await worker.start()
        self._idle.put_nowait(worker)


# --- in the process ----------------------------------------------------------------------------------


def work(job: str, parameters: dict[str, str], body: bytes) -> Reply:
    """Do one job; whatever happens, there is a reply that says no more than it should."""
    from dpstrata.web.jobs import JOBS

    try:
        return JOBS[job](body, parameters)
    except Exception as error:
        reply = explain(error)
        if reply is None:
            # The kind alone: what an unforeseen error says might quote what was sent.
            sys.stderr.write(f"dpstrata: a request for {job} failed unexpectedly ({type(error).__name__}).\n")
            if os.environ.get("DPSTRATA_DEBUG"):
                sys.excepthook(*sys.exc_info())
            reply = reply_error(500, "dpstrata failed unexpectedly; this is a fault of the program.")
        return reply


def bound_memory(limit: int) -> None:
    """Let allocations beyond ``limit`` bytes fail, where the system can."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def memory_kept() -> int:
    """Return how many bytes of memory this process has now, where the system tells; 0 elsewhere."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:  # not on Linux
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Work until the input ends."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that prints can break a frame
    bound_memory(LIMITS.worker_bytes)
    from dpstrata.web import jobs  # noqa: F401 -- loaded before the first request, not during it

    while (lengths := _read(source, LENGTHS.size)) is not None:
        head_length, body_length = LENGTHS.unpack(lengths)
        head, body = _read(source, head_length), _read(source, body_length)
        if head is None or body is None:
            return
        asked = json.loads(head)
        reply = work(asked["job"], asked["parameters"], body)
        answer = {"status": reply.status, "kind": reply.kind, "name": reply.name}
        content = reply.content
        del body, reply
        sink.write(pack({"reply": answer, "spent": memory_kept() > LIMITS.kept_bytes}, content))
        sink.flush()


def _read(source: BinaryIO, length: int) -> bytes | None:
    content = source.read(length)
    return content if len(content) == length else None


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(0)
