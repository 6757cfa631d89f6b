"""The tables of a collector, in SQL that SQLite and PostgreSQL both understand.

``tokens`` has the hash of every token with its stratum, part and form, and whether it was used; ``sealed``
has cells under random ids, which the office's key alone opens; ``counters`` has how often each cell came. No
table has a column, or an order of its rows, that would put a token and a cell together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from dpstrata.errors import InputError
from dpstrata.fielding.sample import ReportKey

OPEN, CLOSED = "open", "closed"
VERSION = "3"  # of these tables
Counted = tuple[ReportKey, int]  # a cell
KEYS = {
    "survey": "name",
    "tokens": "hash",
    "sealed": "id",
    "counters": "stratum, part, form, cell",
}
"""The tables, each with the columns of its key."""
# Counters begin here and not at 0. SQLite writes every number from 2^31 to 2^47 in six bytes and smaller ones
# in fewer; a row that outgrows its place moves, and where it then lies would show when that was.
_ZERO = 2**40
_MOST = 500  # parameters of one statement
_KEY = ", ".join(ReportKey._fields)


class Token(NamedTuple):
    """What is known of an invitation."""

    key: ReportKey
    used: bool


class LostError(Exception):
    """A database that cannot be reached, or that did not do what it was asked."""


class UnsureError(LostError):
    """A database that was lost while it committed: nobody knows yet whether it did."""


class Tables(ABC):
    """A connection to the tables of one survey; made and used by one thread at a time.

    Subclasses connect, begin transactions, and write what is left after closing without any trace of an
    order.
    """

    blob = "BLOB"
    suffix = ""  # of CREATE TABLE
    for_update = ""  # rows that are read are kept from other writers
    faults: tuple[type[Exception], ...]

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @property
    @abstractmethod
    def exists(self) -> bool:
        """Whether the tables are there."""

    @abstractmethod
    def begin(self, *, alone: bool) -> None:
        """Begin a transaction; ``alone`` waits until no other server is inside one."""

    @abstractmethod
    def reconnect(self) -> None:
        """Connect anew after the connection was lost."""

    @abstractmethod
    def compact(self) -> None:
        """Write every table anew, sorted, so that nothing of how it came about is left."""

    @abstractmethod
    def check(self) -> None:
        """Refuse a database that is damaged."""

    @abstractmethod
    def limit(self) -> None:
        """Give the database ten seconds for all that is asked of it from now on."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement, and return its rows.

        Raises
        ------
        LostError
            If the database fails.
        """
        try:
            cursor = self._connection.execute(self._dialect(statement), values)
            return list(cursor.fetchall()) if cursor.description else []
        except self.faults as error:
            raise LostError(type(error).__name__) from None

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for many rows."""
        if not rows:
            return
        try:
            self._connection.cursor().executemany(self._dialect(statement), rows)
        except self.faults as error:
            raise LostError(type(error).__name__) from None

    def _dialect(self, statement: str) -> str:
        return statement

    @contextmanager
    def transaction(self, *, alone: bool = False) -> Iterator[None]:
        """Do all of it or nothing; if the database fails while it commits, nobody knows which."""
        self.begin(alone=alone)
        try:
            yield
        except BaseException:
            with suppress(LostError):
                self.execute("ROLLBACK")
            raise
        try:
            self.execute("COMMIT")
        except LostError as error:
            raise UnsureError(*error.args) from None

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def create(
        self,
        facts: Mapping[str, str],
        tokens: Mapping[bytes, ReportKey],
        counters: Mapping[ReportKey, int],
    ) -> None:
        """Make and fill the tables of a survey; inside a transaction.

        Parameters
        ----------
        facts : mapping
            What the survey's own table says.
        tokens : mapping
            The key of every hash.
        counters : mapping
            How many cells each key has. All counters are made now: rows that were made when a
            cell first came would lie in the order of the batches.
        """
        self.create_empty()
        known = {**facts, "state": OPEN, "version": VERSION}
        self.many("INSERT INTO survey VALUES (?, ?)", sorted(known.items()))
        rows = [(hashed, *tokens[hashed], 0) for hashed in sorted(tokens)]
        self.many("INSERT INTO tokens VALUES (?, ?, ?, ?, ?)", rows)
        for (stratum, part, form), cells in sorted(counters.items()):
            self.execute(
                "WITH RECURSIVE cells (cell) AS (SELECT 0 UNION ALL "
                f"SELECT cell + 1 FROM cells WHERE cell + 1 < {cells:d}) INSERT INTO counters "
                f"SELECT {stratum:d}, {part:d}, {form:d}, cell, {_ZERO} FROM cells"
            )

    def create_empty(self) -> None:
        """Make the tables without any row; inside a transaction."""
        for table in (
            "survey (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
            f"tokens (hash {self.blob} PRIMARY KEY, stratum INTEGER NOT NULL, part INTEGER NOT NULL, "
            "form INTEGER NOT NULL, used INTEGER NOT NULL)",
            f"sealed (id {self.blob} PRIMARY KEY, content {self.blob} NOT NULL)",
            "counters (stratum INTEGER, part INTEGER, form INTEGER, cell BIGINT, count BIGINT NOT NULL, "
            "PRIMARY KEY (stratum, part, form, cell))",
        ):
            self.execute(f"CREATE TABLE {table}{self.suffix}")

    def copy_rows(self, other: Tables) -> None:
        """Write all rows to the empty tables of another database, in the order of their keys."""
        for table, keys in KEYS.items():
            rows = self.execute(f"SELECT * FROM {table} ORDER BY {keys}")
            if rows:
                other.many(f"INSERT INTO {table} VALUES ({_marks(rows[0])})", rows)

    def fact(self, name: str) -> str:
        """Return what the survey's own table says: ``design``, ``kit``, ``office``, ``batch``, ``state``."""
        found = dict(self.execute("SELECT name, value FROM survey"))
        if found.get("version") != VERSION or name not in found:
            raise InputError(
                "the database must be one that this version of dpstrata made, got another; use the version "
                "that made it."
            )
        return str(found[name])

    def invited(self) -> dict[bytes, ReportKey]:
        """Return all hashes with their keys."""
        rows = self.execute(f"SELECT hash, {_KEY} FROM tokens")
        return {bytes(hashed): ReportKey(*key) for hashed, *key in rows}

    def used(self) -> set[bytes]:
        """Return the hashes of the tokens that were used."""
        return {bytes(row[0]) for row in self.execute("SELECT hash FROM tokens WHERE used = 1")}

    def turnout(self) -> Counter[ReportKey]:
        """Return how many tokens of each key were used."""
        rows = self.execute(f"SELECT {_KEY}, COUNT(*) FROM tokens WHERE used = 1 GROUP BY {_KEY}")
        return Counter({ReportKey(*key): int(number) for *key, number in rows})

    def find(self, hashes: Iterable[bytes], *, to_use: bool = False) -> dict[bytes, Token]:
        """Return what is known of these tokens, and keep other writers from them if they are to be used."""
        found: dict[bytes, Token] = {}
        for some in _parts(sorted(set(hashes))):
            rows = self.execute(
                f"SELECT hash, used, {_KEY} FROM tokens WHERE hash IN ({_marks(some)}) ORDER BY hash"
                + (self.for_update if to_use else ""),
                some,
            )
            found |= {bytes(hashed): Token(ReportKey(*key), bool(used)) for hashed, used, *key in rows}
        return found

    def use(self, hashes: Iterable[bytes], sealed: Mapping[bytes, bytes]) -> None:
        """Mark tokens as used, and keep the sealed cells that came with them, under their random ids."""
        for some in _parts(sorted(hashes)):
            self.execute(f"UPDATE tokens SET used = 1 WHERE hash IN ({_marks(some)})", some)
        self.many("INSERT INTO sealed VALUES (?, ?)", sorted(sealed.items()))

    def has_sealed(self, ids: Iterable[bytes]) -> bool:
        """Whether one of these ids is there: then the transaction that wrote it was committed."""
        return any(
            self.execute(f"SELECT 1 FROM sealed WHERE id IN ({_marks(some)})", some)
            for some in _parts(sorted(ids))
        )

    def countable(self) -> set[ReportKey]:
        """Return the keys that have counters; the answers of others stay sealed until closing."""
        return {ReportKey(*key) for key in self.execute(f"SELECT DISTINCT {_KEY} FROM counters")}

    def count(self, cells: Iterable[Counted]) -> None:
        """Move counters."""
        moved = sorted(Counter(cells).items())
        self.many(
            "UPDATE counters SET count = count + ? WHERE stratum = ? AND part = ? AND form = ? AND cell = ?",
            [(number, *key, cell) for (key, cell), number in moved],
        )

    def unseal(self, ids: Iterable[bytes]) -> int:
        """Delete sealed cells that are counted now, and return how many there were."""
        gone = 0
        for some in _parts(sorted(ids)):
            gone += len(self.execute(f"DELETE FROM sealed WHERE id IN ({_marks(some)}) RETURNING id", some))
        return gone

    def sealed(self) -> dict[bytes, bytes]:
        """Return what is still sealed."""
        return {bytes(key): bytes(content) for key, content in self.execute("SELECT id, content FROM sealed")}

    def counted(self) -> Counter[Counted]:
        """Return all counters that have moved."""
        rows = self.execute(f"SELECT {_KEY}, cell, count - {_ZERO} FROM counters WHERE count > {_ZERO}")
        return Counter({(ReportKey(*key), int(cell)): int(number) for *key, cell, number in rows})

    def mark_closed(self) -> None:
        """Take no more answers, ever; no other server is inside a transaction meanwhile."""
        with self.transaction(alone=True):
            self.execute("UPDATE survey SET value = ? WHERE name = 'state'", (CLOSED,))

    def forget(self) -> None:
        """Delete all answers, counted and sealed, and whatever tells how they came about."""
        with self.transaction(alone=True):
            self.execute("DELETE FROM counters")
            self.execute("DELETE FROM sealed")
        self.compact()


@contextmanager
def writing_to(tables: Tables) -> Iterator[None]:
    """Write to a database for a while; what it fails at is told in a sentence."""
    try:
        yield
    except LostError:
        raise InputError(
            "the database could not be written; check that it has room, and that you may make tables there."
        ) from None
    finally:
        tables.close()


def _parts(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (keys[start : start + _MOST] for start in range(0, len(keys), _MOST))


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
