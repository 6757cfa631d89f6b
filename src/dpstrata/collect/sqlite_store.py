"""The tables of a collector in a SQLite file, with a rollback journal; what is deleted is overwritten."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path

from dpstrata.collect.tables import CLOSED, LostError, Tables
from dpstrata.errors import InputError, option
from dpstrata.files.writing import remove_unfinished, sync_folder

_SECONDS = 30.0  # to wait for a lock
_SERVING = 5.0  # the same while respondents wait, for each of two attempts


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
        self._path, self._seconds = path, _SECONDS
        super().__init__(_connect(path, _SECONDS))

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
            self._connection = _connect(self._path, self._seconds)
        except (InputError, sqlite3.Error) as error:
            raise LostError(type(error).__name__) from None

    def compact(self) -> None:
        """Write a new file, page by page in the order of the keys, and put it in place."""
        new = make_beside(self._path)
        self.execute("VACUUM INTO ?", (str(new),))
        self._connection.close()
        put_in_place(new, self._path)
        self._connection = _connect(self._path, self._seconds)

    def check(self) -> None:
        """Refuse a file whose pages are damaged, or in which a token that was used has no answer.

        The second is found where SQLite has rolled the journal of another database into this one.
        """
        try:
            sound = self.execute("PRAGMA integrity_check") == [("ok",)]
            answers = self.counted().total() + len(self.sealed())
            forgotten = answers == 0 and self.fact("state") == CLOSED
            sound = sound and (forgotten or answers == self.turnout().total())
        except LostError:
            sound = False
        if not sound:
            raise InputError(
                f"{self._path} is damaged; put a backup in its place with dpstrata collect restore.",
                where=str(self._path),
            )

    def limit(self) -> None:
        """Wait for locks for a shorter time from now on, also on a new connection."""
        self._seconds = _SERVING
        with suppress(sqlite3.Error):  # a lost connection, which is made anew
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * _SERVING)}")


def make_beside(path: Path) -> Path:
    """Make an empty file that only its owner may read, for a new database in place of another."""
    remove_unfinished(path)
    new = path.with_name(f".{path.name}.new.part")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return new


def put_in_place(new: Path, path: Path) -> None:
    """Put a database in the place of another in one step, for the same people to use.

    A journal that the other one left is removed first: SQLite would roll it back into the new one.
    """
    with open(new, "rb") as file:
        if path.exists():
            _hand_over(file.fileno(), path.stat())
        os.fsync(file.fileno())
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
    sync_folder(path.parent)
    os.replace(new, path)
    sync_folder(path.parent)


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


def _connect(path: Path, seconds: float) -> sqlite3.Connection:
    try:
        with open(path, "rb"):  # since SQLite does not say why it cannot
            pass
        connection = sqlite3.connect(path, timeout=seconds, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path} cannot be opened: {why}.", where=str(path)) from None
    try:
        for setting in (
            "journal_mode = DELETE",
            "secure_delete = ON",
            # With FULL, a journal that was deleted can be there again after a power cut, and is rolled back.
            "synchronous = EXTRA",
            "temp_store = MEMORY",
        ):
            connection.execute(f"PRAGMA {setting}").fetchall()
    except sqlite3.DatabaseError as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError):  # locked by another program, say: nothing to restore
            raise InputError(f"{path} cannot be opened: {error}.", where=str(path)) from None
        raise InputError(
            f"{path} is damaged, or not the database of a survey; dpstrata collect restore puts a backup in "
            "its place.",
            where=str(path),
        ) from None
    return connection
