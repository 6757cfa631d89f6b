"""The tables of a collector in a SQLite file, with a rollback journal; what is deleted is overwritten."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path

from dpstrata.collect.tables import LostError, Tables
from dpstrata.errors import InputError, option
from dpstrata.files.writing import remove_unfinished

_SECONDS = 30.0  # to wait for a lock


class SqliteTables(Tables):
    """A SQLite file, which one server uses at a time.

    A write-ahead log would keep every answer beside its token, one frame after the other; a rollback journal
    has pages as they were before. Tables have no row numbers, whose order would be that of the answers.
    """

    suffix = " WITHOUT ROWID"
    faults = (sqlite3.Error,)

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise InputError(
                f"{path} does not exist; make it with invite, or give {option('database')} if the survey is "
                "in a PostgreSQL database.",
                where=str(path),
            )
        self._path = path
        super().__init__(_connect(path))

    @classmethod
    def make(cls, path: Path) -> SqliteTables:
        """Make a file that only its owner may read."""
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return cls(path)

    @property
    def exists(self) -> bool:
        """Whether the tables are there."""
        return bool(self.execute("SELECT 1 FROM sqlite_master"))

    def begin(self, *, alone: bool) -> None:
        """Begin a transaction; only one can write at a time, whoever it is."""
        self.execute("BEGIN IMMEDIATE")

    def reconnect(self) -> None:
        """Open the file again."""
        self._connection.close()
        try:
            self._connection = _connect(self._path)
        except (InputError, sqlite3.Error) as error:
            raise LostError(type(error).__name__) from None

    def compact(self) -> None:
        """Write a new file, page by page in the order of the keys, and put it in place."""
        remove_unfinished(self._path)
        new = self._path.with_name(f".{self._path.name}.new.part")
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self.execute("VACUUM INTO ?", (str(new),))
        self._connection.close()
        with open(new, "rb") as file:
            _hand_over(file.fileno(), self._path.stat())
            os.fsync(file.fileno())
        os.replace(new, self._path)
        self._connection = _connect(self._path)

    def copy(self, path: Path) -> None:
        """Write a copy as of now, also while a server is using the file."""
        self.execute("VACUUM INTO ?", (str(path),))


def _hand_over(file: int, old: os.stat_result) -> None:
    """Give a new file to whom the old one belonged, as far as that is allowed, with the rights it had."""
    mode = stat.S_IMODE(old.st_mode)
    try:
        os.fchown(file, -1, old.st_gid)
    except PermissionError:
        mode &= ~stat.S_IRWXG  # they were for another group
    with suppress(PermissionError):
        os.fchown(file, old.st_uid, -1)
    os.fchmod(file, mode)


def _connect(path: Path) -> sqlite3.Connection:
    try:
        with open(path, "rb"):  # since SQLite does not say why it cannot
            pass
        connection = sqlite3.connect(path, timeout=_SECONDS, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be opened: {why}.", where=str(path)) from None
    try:
        for setting in (
            "journal_mode = DELETE",
            "secure_delete = ON",
            "synchronous = FULL",
            "temp_store = MEMORY",
        ):
            connection.execute(f"PRAGMA {setting}").fetchall()
    except sqlite3.DatabaseError:
        connection.close()
        raise InputError(f"{path} is not the database of a survey.", where=str(path)) from None
    return connection
