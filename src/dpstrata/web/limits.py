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
    questions : int
        Most questions of a questionnaire.
    previews, preview_bytes : int
        Most previews of the respondents' page that are kept, and most that their kits may take together.
    unpacked_bytes : int
        Most that a spreadsheet may unpack to.
    workers : int
        Processes that work on requests, one request each at a time.
    waiting : int
        Most requests that wait for a worker.
    held_bytes : int
        Most that the bodies of all requests together may take, while they are read and while they wait.
    patience : float
        Seconds of work after which it is stopped if nobody waits for it any more; before, finishing it is
        quicker than starting another worker.
    worker_bytes : int
        Most memory that a worker may allocate, where the system can hold it to that.
    kept_bytes : int
        Most memory that a worker may keep after a request; one with more is replaced, so that every request
        finds nearly all of ``worker_bytes``.
    """

    body_bytes: int = 16 * 2**20
    body_seconds: float = 30.0
    work_seconds: float = 20.0
    rows: int = 100_000
    columns: int = 60
    text: int = 1_000
    questions: int = 200
    previews: int = 20
    preview_bytes: int = 32 * 2**20
    unpacked_bytes: int = 200 * 2**20
    workers: int = 2
    waiting: int = 200
    held_bytes: int = 96 * 2**20
    patience: float = 2.0
    worker_bytes: int = 4 * 2**30
    kept_bytes: int = 512 * 2**20


LIMITS = Limits()
