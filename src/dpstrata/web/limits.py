"""What the server accepts, so that no request can take more than its share."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one server.

    Attributes
    ----------
    body_bytes : int
        Largest body of a request, counted while it is read.
    body_seconds, work_seconds : float
        Longest time to send a body, and to work on a request; a worker that takes longer is replaced.
    rows, columns, text : int
        Most strata, most columns, and longest text in a cell.
    unpacked_bytes : int
        Most that a spreadsheet may unpack to.
    workers : int
        Processes that work on requests, one request each at a time.
    waiting : int
        Most requests that wait for a worker.
    worker_bytes : int
        Most memory that a worker may allocate, where the system can hold it to that.
    """

    body_bytes: int = 16 * 2**20
    body_seconds: float = 30.0
    work_seconds: float = 20.0
    rows: int = 100_000
    columns: int = 60
    text: int = 1_000
    unpacked_bytes: int = 200 * 2**20
    workers: int = 2
    waiting: int = 200
    worker_bytes: int = 4 * 2**30


LIMITS = Limits()
