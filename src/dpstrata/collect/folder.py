"""The folder of a survey that is being collected: design, kit, the office's public key, and the database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpstrata.collect.kit import Kit, kit_from_content, read_kit
from dpstrata.collect.postgresql_store import PostgresqlTables
from dpstrata.collect.sealing import read_public_key
from dpstrata.collect.sqlite_store import SqliteTables
from dpstrata.collect.tables import LostError, Tables
from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option

DESIGN, KIT, PUBLIC_KEY, DATABASE = "design.json", "kit.json", "office.pub", "collected.sqlite"
POSTGRESQL = "collected.postgresql"  # says that the database is a PostgreSQL one, and not where
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
            self.require_own(found)
        except BaseException:
            found.close()
            raise
        return found

    def require_own(self, tables: Tables) -> None:
        """Require that a database is of this survey."""
        try:
            design = tables.fact("design")
        except LostError:
            raise InputError(
                "the database cannot be read; it must be the one that invite made for this design, "
                "undamaged. dpstrata collect restore puts a backup in its place."
            ) from None
        if design != self.plan.digest:
            raise InputError("the database must be the one that invite made for this design, got another.")
        require_same_origin(tables, self.kit.digest, self.public_key)

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

        lock = self.path / LOCK
        with ExitStack() as stack:
            try:
                file = stack.enter_context(open(lock, "w"))
            except OSError as error:
                raise InputError(
                    f"{lock} cannot be written: {error.strerror or error}.", where=str(lock)
                ) from None
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True


def origin_of(kit: str, public_key: bytes) -> dict[str, str]:
    """Return the facts by which a database knows the folder that it belongs to.

    Parameters
    ----------
    kit : str
        The digest of the kit.
    public_key : bytes
        That of the office.
    """
    return {"kit": kit, "office": hashlib.sha256(public_key).hexdigest()}


def require_same_origin(tables: Tables, kit: str, public_key: bytes) -> None:
    """Require that a database was made with this kit and key.

    Several servers can share a database: what one seals to another key could never be opened with the rest.
    """
    files = {"kit": KIT, "office": PUBLIC_KEY}
    for name, value in origin_of(kit, public_key).items():
        if tables.fact(name) != value:
            raise another_survey("the database must be a new one or one", files[name])


def another_survey(what: str, name: str) -> InputError:
    """Return the error for a folder or a database that has another file than is given."""
    remedies = {
        PUBLIC_KEY: " Use the office's key that it was made with.",
        KIT: f" Keep {option('title')} and {option('text')} as they were in the first invitations, or make "
        f"another folder with {option('survey')}.",
    }
    return InputError(f"{what} of this survey, got another {name}.{remedies.get(name, '')}")


def open_folder(path: str | Path, database: str | None = None) -> SurveyFolder:
    """Open the folder that :func:`invite` made.

    Raises
    ------
    InputError
        If one of its files is missing or does not fit the others, its database is a PostgreSQL one whose
        address is not given, or an address is given although it is the SQLite file.
    """
    path = Path(path)
    try:
        (path / DESIGN).stat()
    except (FileNotFoundError, NotADirectoryError):
        pass  # which is said below
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", where=str(path)) from None
    require_database(path, database)
    missing = [name for name in (DESIGN, KIT, PUBLIC_KEY) if not (path / name).is_file()]
    if missing:
        if not path.exists():
            raise InputError(f"{path} does not exist; give a folder that invite made.", where=str(path))
        got = f"one without {missing[0]}" if path.is_dir() else "a file"
        raise InputError(f"{path} must be a folder that invite made, got {got}.", where=str(path))
    plan = Design.read(path / DESIGN)
    kit = read_kit(path / KIT, plan)
    return SurveyFolder(path, plan, kit, read_public_key(path / PUBLIC_KEY), database)


def title_of(path: Path) -> str:
    """Return what the survey in a folder is called; empty if it has no title."""
    return kit_from_content((path / KIT).read_bytes()).title


def require_database(path: Path, database: str | None) -> None:
    """Require the database that the survey has: with a second one, half of the answers would be in each."""
    named = (path / POSTGRESQL).exists()
    if database is None and named:
        raise InputError(
            f"this survey is in a PostgreSQL database: give {option('database')} or DPSTRATA_DATABASE.",
            where=str(path),
        )
    file = path / DATABASE
    if database is not None and not named and file.exists() and file.stat().st_size:
        raise InputError(
            f"this survey is in the SQLite file {file}: remove {option('database')}, or unset "
            "DPSTRATA_DATABASE.",
            where=str(path),
        )
