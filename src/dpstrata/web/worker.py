"""A process that works on requests, one at a time, and holds nothing between them.

Frames on its standard input and output: a head as JSON and a body, each after its length. It ends when its
input does, so it never outlives the server.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO

from dpstrata.web.limits import LIMITS
from dpstrata.web.replies import Reply, explain, reply_error

LENGTHS = struct.Struct("!II")


def pack(head: dict[str, Any], body: bytes) -> bytes:
    """Make a frame."""
    text = json.dumps(head).encode()
    return LENGTHS.pack(len(text), len(body)) + text + body


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
