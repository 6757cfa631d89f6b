"""Frames in tables of SQLite and PostgreSQL, which their ADBC drivers bring here in batches of Arrow's."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dpstrata.errors import InputError, MissingExtraError, option, without_passwords
from dpstrata.fielding.frames.files import DuckFrame, quoted
from dpstrata.words.numbers import counted

_POSTGRESQL = re.compile(r"postgres(ql)?://", re.IGNORECASE)
_SQLITE = b"SQLite format 3\0"
_WHOLE = "bigint"  # kinds that stay numbers on their way; all others travel as text
_KNOWN = r"varchar|uuid|boolean|bigint|decimal\(\d+,0\)"
_MOST_OF_A_REASON = 160
_OF_A_SERVER = re.compile(r"connection to server|translate host name|SQLSTATE|sqlite|database|relation")
_BEFORE_REASON = re.compile(r"^[A-Z_]+: (\[\w+\] )?(Failed to connect: )?")


def is_postgresql(people: object) -> bool:
    """Say whether something is the address of a PostgreSQL database."""
    return isinstance(people, str) and _POSTGRESQL.match(people) is not None


def is_sqlite(path: Path) -> bool:
    """Say whether a file is a SQLite database, whatever it is called."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:  # whoever reads it says why
        return False


@dataclass(frozen=True, slots=True)
class DatabaseFrame(DuckFrame):
    """A frame in a table of a database.

    Attributes
    ----------
    table : str, optional
        The table that lists the people.
    """

    table: str | None

    def _attach(self, connection: Any, columns: Sequence[str], opened: ExitStack) -> None:
        """Make the table known as ``frame``: a reader of batches, for one question."""
        with self._problems():
            database = opened.enter_context(self._connect())
            cursor = opened.enter_context(database.cursor())
        kinds = self._kinds(cursor, self._known_table(cursor), columns)
        self.require_kinds(kinds, _KNOWN)
        parts = [self._part(name, kinds[name]) for name in dict.fromkeys(columns)]
        with self._problems():
            cursor.execute(f"SELECT {', '.join(parts)} FROM {self._quoted_table()}")
            connection.register("frame", cursor.fetch_record_batch())
        opened.callback(connection.unregister, "frame")

    def _known_table(self, cursor: Any) -> str:
        """Return the name of the table, or say which tables there are."""
        with self._problems():
            cursor.execute(self._list_tables())
            tables = sorted(str(name) for (name,) in cursor.fetchall())
        there = f"it has {', '.join(map(repr, tables[:20])) or 'none'}"
        more = f" and {counted(len(tables) - 20, 'other')}" if len(tables) > 20 else ""
        if self.table is None:
            raise InputError(
                f"{self.source} is a database: name the table that lists the people ({option('table')}); "
                f"{there}{more}.",
                where=self.source,
            )
        if self.table not in tables:
            raise InputError(f"{self.source} has no table {self.table!r}; {there}{more}.", where=self.source)
        return self.table

    @contextmanager
    def _problems(self) -> Iterator[None]:
        """Say what the driver said, without passwords and without what may hold rows."""
        try:
            from adbc_driver_manager import Error
        except ImportError:
            raise MissingExtraError("databases need", "databases") from None
        try:
            yield
        except Error as error:
            said = _BEFORE_REASON.sub("", without_passwords(str(error)))
            reason = said.partition("\n")[0][:_MOST_OF_A_REASON].rstrip(" .:")
            if not _OF_A_SERVER.search(said):  # it quotes the address, of which a part may be a password
                reason = "write special characters of its address as %XX, and give a password in PGPASSWORD"
            raise InputError(f"{self.source} cannot be read: {reason}.", where=self.source) from None

    @abstractmethod
    def _connect(self) -> Any:
        """Open the database, for reading."""

    @abstractmethod
    def _list_tables(self) -> str:
        """Ask for the names of its tables."""

    @abstractmethod
    def _kinds(self, cursor: Any, table: str, columns: Sequence[str]) -> dict[str, str]:
        """Return the kind of every column, in the words of DuckDB."""

    @abstractmethod
    def _part(self, column: str, kind: str) -> str:
        """Write what is asked for a column."""

    def _quoted_table(self) -> str:
        assert self.table is not None
        return quoted(self.table)


@dataclass(frozen=True, slots=True)
class SqliteFrame(DatabaseFrame):
    """A frame in a SQLite database.

    Attributes
    ----------
    path : path
        The file.
    """

    path: Path

    @property
    def source(self) -> str:
        """What messages call it."""
        return str(self.path)

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that must not be written over."""
        return (self.path,)

    def _connect(self) -> Any:
        from adbc_driver_sqlite import dbapi

        return dbapi.connect(f"file:{quote(str(self.path.absolute()))}?mode=ro")

    def _list_tables(self) -> str:
        return (
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND substr(name, 1, 7) <> 'sqlite_'"
        )

    def _kinds(self, cursor: Any, table: str, columns: Sequence[str]) -> dict[str, str]:
        """Look at every value: SQLite's columns hold what they are given."""
        with self._problems():
            cursor.execute(f"SELECT name FROM pragma_table_info({_text_literal(table)})")
            names = [str(name) for (name,) in cursor.fetchall()]
        for column in columns:
            self.require_column(column, names)
        kinds = dict.fromkeys(names, "varchar")
        for column in columns:
            with self._problems():
                cursor.execute(f"SELECT DISTINCT typeof({quoted(column)}) FROM {quoted(table)}")
                found = {str(kind) for (kind,) in cursor.fetchall()} - {"null"}
            wrong = found - {"integer", "text"}
            if wrong and column in (self.id, *self.stratum):
                kinds[column] = "double" if "real" in wrong else "blob"
            elif found == {"integer"}:
                kinds[column] = _WHOLE
        return kinds

    def _part(self, column: str, kind: str) -> str:
        # the driver takes the kind of a column from its first rows, and nothing for numbers: so it gets text
        text = f"coalesce(CAST({quoted(column)} AS TEXT), '')"
        return quoted(column) if kind == _WHOLE else f"{text} AS {quoted(column)}"


@dataclass(frozen=True, slots=True)
class PostgresqlFrame(DatabaseFrame):
    """A frame in a PostgreSQL database.

    Attributes
    ----------
    address : str
        ``postgresql://user@host/database``; where a password is needed, better in ``PGPASSWORD`` or a
        password file than here.
    """

    address: str = field(repr=False)

    @property
    def source(self) -> str:
        """What messages call it."""
        return without_passwords(self.address)

    def _connect(self) -> Any:
        from adbc_driver_postgresql import dbapi

        return dbapi.connect(self.address)

    def _list_tables(self) -> str:
        return (
            "SELECT CASE WHEN pg_table_is_visible(oid) THEN relname "
            "ELSE relnamespace::regnamespace::text || '.' || relname END FROM pg_class "
            "WHERE relkind IN ('r', 'v', 'm', 'p', 'f') "
            "AND relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
        )

    def _kinds(self, cursor: Any, table: str, columns: Sequence[str]) -> dict[str, str]:
        with self._problems():
            cursor.execute(
                "SELECT attname::text, typcategory::text, typname::text, format_type(atttypid, atttypmod) "
                "FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid "
                f"WHERE attrelid = {_text_literal(self._quoted_table())}::regclass "
                "AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
            )
            found = cursor.fetchall()
        kinds = {name: _kind(category, kind, whole) for name, category, kind, whole in found}
        for column in columns:
            self.require_column(column, kinds)
        return kinds

    def _part(self, column: str, kind: str) -> str:
        return quoted(column) if kind == _WHOLE else f"{quoted(column)}::text AS {quoted(column)}"

    def _quoted_table(self) -> str:
        assert self.table is not None
        return ".".join(quoted(part) for part in self.table.split(".", 1))


def _kind(category: str, kind: str, whole: str) -> str:
    """Name a kind of PostgreSQL's in the words of DuckDB."""
    if kind in ("int2", "int4", "int8"):
        return _WHOLE
    if category in "SE":  # text of any length, and enumerations
        return "varchar"
    return {"bool": "boolean"}.get(kind, whole.replace("numeric", "decimal"))


def _text_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
