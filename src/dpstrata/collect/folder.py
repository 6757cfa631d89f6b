"""The folder of a survey that is being collected: design, kit, the office's public key, and the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpstrata.collect.kit import Kit, read_kit
from dpstrata.collect.postgresql_store import PostgresqlTables
from dpstrata.collect.sealing import read_public_key
from dpstrata.collect.sqlite_store import SqliteTables
from dpstrata.collect.tables import LostError, Tables
from dpstrata.designs.record import Design
from dpstrata.errors import InputError

DESIGN, KIT, PUBLIC_KEY, DATABASE = "design.json", "kit.json", "office.pub", "collected.sqlite"
LOCK, CLOSING = "collect.lock", "collect.closing"


@dataclass(frozen=True, slots=True, eq=False)
class SurveyFolder:
    """A survey as its collector knows it: nobody's id, no key of the draw, no private key.

    Attributes
    ----------
    path : path
        The folder.
    plan : Design
        Its design.
    kit : Kit
        What respondents' devices get.
    public_key : bytes
        What answers are sealed to.
    database : str or None
        The address of a PostgreSQL database; ``None`` for the SQLite file in the folder.
    """

    path: Path
    plan: Design
    kit: Kit
    public_key: bytes
    database: str | None

    def tables(self) -> Tables:
        """Connect to the database, which must be of this design."""
        found: Tables
        if self.database is None:
            found = SqliteTables(self.path / DATABASE)
        else:
            found = PostgresqlTables(self.database, self.plan.digest)
        try:
            right = found.fact("design") == self.plan.digest
        except LostError:
            right = False
        if not right:
            found.close()
            raise InputError("the database must be the one that invite made for this design, got another.")
        return found

    @contextmanager
    def connected(self) -> Iterator[Tables]:
        """Connect for a while; what the database fails at is told in a sentence."""
        tables = self.tables()
        try:
            yield tables
        except LostError:
            raise InputError(
                "the database could not be used; check that it is running and has room."
            ) from None
        finally:
            tables.close()

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Hold the folder as its one server, if there is no other: whether that was so."""
        import fcntl

        with open(self.path / LOCK, "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True


def open_folder(path: str | Path, database: str | None = None) -> SurveyFolder:
    """Open the folder that :func:`invite` made.

    Raises
    ------
    InputError
        If one of its files is missing or does not fit the others.
    """
    path = Path(path)
    missing = [name for name in (DESIGN, KIT, PUBLIC_KEY) if not (path / name).is_file()]
    if missing:
        raise InputError(
            f"{path} must be a folder that invite made, got none with {missing[0]}.", where=str(path)
        )
    plan = Design.read(path / DESIGN)
    kit = read_kit(path / KIT, plan)
    return SurveyFolder(path, plan, kit, read_public_key(path / PUBLIC_KEY), database)
