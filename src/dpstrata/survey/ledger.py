"""The ledger: what was spent on whom, written before anything is released.

An entry is *pending* from before noise is drawn until its file is in place, then *released*. People are
recognised by a keyed digest, so that the file names nobody.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from dpstrata.errors import InputError
from dpstrata.model.output import write_atomically

FORMAT = "dpstrata.ledger"


@dataclass(frozen=True, slots=True)
class Entry:
    """One release.

    Attributes
    ----------
    design_digest : str
        SHA-256 of the design document.
    output : str
        Path of the file.
    status : {"pending", "released"}
        How far it came.
    epsilon, delta : float
        What it spends on everyone, centrally.
    people : tuple of str
        Keyed digests of those who answered.
    """

    design_digest: str
    output: str
    status: Literal["pending", "released"]
    epsilon: float
    delta: float
    people: tuple[str, ...]


class Ledger:
    """The entries of one ledger file.

    Parameters
    ----------
    path : path
        The file; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Entry] = []
        if not path.exists():
            return
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != FORMAT or data["version"] != 1:
                raise ValueError
            self.entries = [Entry(**{**entry, "people": tuple(entry["people"])}) for entry in data["entries"]]
            if not all(_is_sound(entry) for entry in self.entries):
                raise ValueError
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{path} is not a ledger of dpstrata.") from None

    def begin(self, entry: Entry, *, again: bool, announced: str | None = None) -> int:
        """Write a pending entry, unless that would spend somebody's budget twice without ``again``.

        A pending entry of the same design and file, whose file never came into place, is taken up again. One
        whose file is there may have been released, and counts as such. ``announced`` is the digest of a pilot
        whose budget the design counts already: one release of it may come before this one.
        """
        resumed = None
        people = set(entry.people)
        for i, known in enumerate(self.entries):
            there = known.status == "released" or Path(known.output).exists()
            if known.design_digest == entry.design_digest and not there:
                resumed = i if known.output == entry.output and set(known.people) <= people else resumed
                continue
            if again or not there:
                continue
            if known.design_digest == announced:
                announced = None  # a second release of the pilot was not announced
                continue
            name = Path(known.output).name
            if known.design_digest == entry.design_digest:
                raise InputError(
                    f"this design was released before, as {name}; noising again spends the budget of "
                    "everyone in it again. Say so with --again."
                )
            twice = len(people.intersection(known.people))
            if twice:
                raise InputError(
                    f"{twice:,} of these people have spent epsilon = {known.epsilon:g} in {name} already; "
                    "more is spent on top of it. Say so with --again."
                )
        if resumed is None:
            self.entries.append(entry)
            resumed = len(self.entries) - 1
        else:
            self.entries[resumed] = entry
        self._write()
        return resumed

    def finish(self, i: int) -> None:
        """Mark an entry as released."""
        self.entries[i] = replace(self.entries[i], status="released")
        self._write()

    def spent_before(self, people: Iterable[str], *, but: int) -> tuple[int, float]:
        """Return how many of these people had spent something before, and the most that one of them had."""
        spent: dict[str, float] = {}
        for i, entry in enumerate(self.entries):
            if i != but:
                for person in entry.people:
                    spent[person] = spent.get(person, 0.0) + entry.epsilon
        known = [spent[person] for person in people if person in spent]
        return len(known), max(known, default=0.0)

    def _write(self) -> None:
        data = {"format": FORMAT, "version": 1, "entries": [asdict(entry) for entry in self.entries]}
        write_atomically(self.path, (json.dumps(data, indent=1) + "\n").encode())


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock beside a file, so that two releases cannot pass each other; it ends with the process."""
    import fcntl

    lock = path.with_name(f"{path.name}.lock")
    try:
        with open(lock, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
            lock.unlink(missing_ok=True)
    except BlockingIOError:
        raise InputError(
            f"another release with the ledger {path} is under way; wait for it to end."
        ) from None
    except PermissionError as error:
        raise InputError(f"{lock} cannot be written: {error.strerror or error}.") from None


def _is_sound(entry: Entry) -> bool:
    numbers = isinstance(entry.epsilon, int | float) and isinstance(entry.delta, int | float)
    return numbers and entry.status in ("pending", "released")


def keyed_digest(key: bytes, person: object) -> str:
    """Return what a person is recognised by: nothing without the key."""
    return hashlib.blake2b(
        str(person).encode(), digest_size=16, key=key, person=b"dpstrata ledger"
    ).hexdigest()
