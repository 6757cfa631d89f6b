"""The tables of a collector in PostgreSQL, which several servers can share."""

from __future__ import annotations

from typing import Any

from dpstrata.collect.tables import LostError, Tables
from dpstrata.errors import InputError, MissingExtraError, without_passwords

_KEYS = {
    "survey": "name",
    "tokens": "hash",
    "sealed": "id",
    "counters": "stratum, form, cell",
}
_SECONDS = 10  # to connect in


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
        self.faults = (psycopg.Error,)
        self._schema, self._lock = f"dpstrata_{design[:16]}", int(design[:15], 16)
        try:
            super().__init__(self._connect())
            if make:
                self.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}")
            self.execute(f"SET search_path TO {self._schema}")
        except (psycopg.Error, LostError):
            raise InputError(
                f"the database at {without_passwords(address)} must be reachable and let you make a schema; "
                "check its address and your rights."
            ) from None

    def _connect(self) -> Any:
        return self._psycopg.connect(
            self._address, autocommit=True, prepare_threshold=None, connect_timeout=_SECONDS
        )

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
        self.execute("BEGIN")
        self.execute(f"SELECT pg_advisory_xact_lock{'' if alone else '_shared'}(?)", (self._lock,))

    def reconnect(self) -> None:
        """Connect anew."""
        self._connection.close()
        try:
            self._connection = self._connect()
        except self._psycopg.Error as error:
            raise LostError(type(error).__name__) from None
        self.execute(f"SET search_path TO {self._schema}")

    def compact(self) -> None:
        """Write every table anew in one transaction, in the order of its keys; the old files are deleted."""
        with self.transaction(alone=True):
            for table, keys in _KEYS.items():
                self.execute(f"CREATE TABLE new_{table} (LIKE {table} INCLUDING DEFAULTS)")
                self.execute(f"INSERT INTO new_{table} SELECT * FROM {table} ORDER BY {keys}")
                self.execute(f"DROP TABLE {table}")
                self.execute(f"ALTER TABLE new_{table} RENAME TO {table}")
                self.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({keys})")
