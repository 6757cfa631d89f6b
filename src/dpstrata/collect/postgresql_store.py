"""The tables of a collector in PostgreSQL, which several servers can share."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from functools import cache
from typing import Any

from dpstrata.collect.tables import KEYS, LostError, Tables
from dpstrata.errors import InputError, MissingExtraError, without_passwords

_SECONDS = 10  # to connect in, and for a statement
_LEAST = 2  # the shortest time to connect in that can be asked for
_NETWORK = {  # a server that is gone without a word
    "keepalives": 1, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
    "tcp_user_timeout": 1000 * _SECONDS,
}  # fmt: skip


class UnreachableError(InputError):
    """A database to which nobody can connect, or not yet."""


class PostgresqlTables(Tables):
    """The schema of one survey in a PostgreSQL database.

    PostgreSQL notes on every row which transaction wrote it, and keeps old versions for a while. So counters
    move in transactions of their own, for a whole batch at a time, and no transaction touches both a token
    and a counter.

    Parameters
    ----------
    address : str
        ``postgresql://...``.
    design : str
        The digest of the design, which names the schema.
    make : bool
        Whether to make the schema if there is none.
    """

    blob = "BYTEA"
    for_update = " FOR UPDATE"

    def __init__(self, address: str, design: str, *, make: bool = False) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("PostgreSQL needs", "collect") from None
        self._psycopg, self._address = psycopg, address
        self.faults = (psycopg.Error, OSError)  # the second where no file can be opened to wait with
        self._schema, self._lock = f"dpstrata_{design[:16]}", int(design[:15], 16)
        self._end: float | None = None  # of the time that the database was given
        self._alone = False
        said = (
            f"the database at {without_passwords(address)} must be reachable and let you make a schema; "
            "check its address and your rights."
        )
        try:
            super().__init__(self._connect())
        except (psycopg.OperationalError, OSError):
            raise UnreachableError(said) from None
        except psycopg.Error:
            raise InputError(said) from None
        try:
            if make:
                self.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
            self.execute(f"SET search_path TO {self._schema}")
        except LostError:
            self.close()
            raise InputError(said) from None

    def _connect(self) -> Any:
        seconds = self._remaining() or _SECONDS
        connection = _impatient(self._psycopg).connect(
            self._address, autocommit=True, prepare_threshold=None, connect_timeout=int(seconds), **_NETWORK
        )
        connection.remaining = self._remaining
        connection.execute(f"SET statement_timeout = {1000 * _SECONDS}")
        return connection

    def limit(self) -> None:
        """Give the server ten seconds for all that is asked of it from now on, a new connection included."""
        self._end, self._alone = time.monotonic() + _SECONDS, False

    def _remaining(self) -> float | None:
        """Return the seconds that the server has left; none where only the office waits."""
        if self._alone:
            return None
        return _SECONDS if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Nothing to do: PostgreSQL looks after its own files."""

    def _dialect(self, statement: str) -> str:
        return statement.replace("?", "%s")

    @property
    def exists(self) -> bool:
        """Whether the tables are there."""
        rows = self.execute(
            "SELECT 1 FROM information_schema.tables WHERE table_schema = ? AND table_name = 'tokens'",
            (self._schema,),
        )
        return bool(rows)

    def begin(self, *, alone: bool) -> None:
        """Begin a transaction; one that is alone waits for the others, and they for it."""
        self._alone = False
        self.execute("BEGIN")
        self.execute(f"SELECT pg_advisory_xact_lock{'' if alone else '_shared'}(?)", (self._lock,))
        if alone:  # writes as much as there is; nobody waits for it but the office
            self.execute("SET LOCAL statement_timeout = 0")
            self._alone = True

    def reconnect(self) -> None:
        """Connect anew, if there is time left for it."""
        self._connection.close()
        self._alone = False
        if (self._remaining() or 0) < _LEAST:
            raise LostError("TimeoutError")
        try:
            self._connection = self._connect()
        except self.faults as error:
            raise LostError(type(error).__name__) from None
        self.execute(f"SET search_path TO {self._schema}")

    def empty(self) -> None:
        """Delete all rows; inside a transaction."""
        self.execute(f"TRUNCATE {', '.join(KEYS)}")

    def compact(self) -> None:
        """Write every table anew in one transaction, in the order of its keys; the old files are deleted.

        The tables themselves stay, and with them their owner and who else may use them.
        """
        with self.transaction(alone=True):
            for table, keys in KEYS.items():
                self.execute(f"CREATE TABLE new_{table} (LIKE {table} INCLUDING DEFAULTS)")
                self.execute(f"INSERT INTO new_{table} SELECT * FROM {table} ORDER BY {keys}")
                self.execute(f"TRUNCATE {table}")  # which begins a new file
                self.execute(f"INSERT INTO {table} SELECT * FROM new_{table} ORDER BY {keys}")
                self.execute(f"DROP TABLE new_{table}")


@cache
def _impatient(psycopg: Any) -> Any:
    """Return a class of connections that are given up once the server has not answered for too long."""

    class Impatient(psycopg.Connection):  # type: ignore[misc]
        remaining: Callable[[], float | None] = staticmethod(lambda: _SECONDS)

        def wait(self, gen: Generator[Any, Any, Any], *given: Any, **more: Any) -> Any:
            try:
                return super().wait(_within(gen, self.remaining()), *given, **more)
            except TimeoutError:
                self.pgconn.finish()  # whatever else is asked of it fails at once
                raise psycopg.OperationalError("no answer in time") from None

    return Impatient


def _within(waiting: Generator[Any, Any, Any], seconds: float | None) -> Generator[Any, Any, Any]:
    """Go on with what waits for a server, which is asked several times a second, until it took too long."""
    end = None if seconds is None else time.monotonic() + seconds
    ready = None
    while True:
        try:
            state = waiting.send(ready)
        except StopIteration as stop:
            return stop.value
        ready = yield state
        if not ready and end is not None and time.monotonic() > end:
            raise TimeoutError
