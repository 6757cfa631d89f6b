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
    question : str
        The column that was noised: a design for several questions is released once for each.
    round : int
        0 for the first time that a design is released, one more each time its budget is spent again.
    """

    design_digest: str
    output: str
    status: Literal["pending", "released"]
    epsilon: float
    delta: float
    people: tuple[str, ...]
    question: str
    round: int = 0


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

    def begin(self, entry: Entry, *, again: bool, questions: int = 1, announced: str | None = None) -> int:
        """Write a pending entry, unless that would spend somebody's budget twice without ``again``.

        A pending entry of the same design, question and file, whose file never came into place, is taken up
        again. One whose file is there may have been released, and counts as such.

        Parameters
        ----------
        entry : Entry
            What is about to be released; its round is found here.
        again : bool
            Whether the budget may be spent again.
        questions : int
            To how many questions the budget of the design is meant: so many releases share it.
        announced : str, optional
            Digest of a pilot whose budget the design counts already.
        """
        resumed = None
        people = set(entry.people)
        before: list[Entry] = []
        for i, known in enumerate(self.entries):
            there = known.status == "released" or Path(known.output).exists()
            if known.design_digest == entry.design_digest:
                if there:
                    before.append(known)
                elif (known.output, known.question) == (entry.output, entry.question):
                    resumed = i if set(known.people) <= people else resumed
                continue
            counted = known.design_digest == announced and known.round == 0
            twice = 0 if again or counted or not there else len(people.intersection(known.people))
            if twice:
                raise InputError(
                    f"{twice:,} of these people have spent epsilon = {known.epsilon:g} in "
                    f"{Path(known.output).name} already; more is spent on top of it. Say so with --again."
                )
        entry = replace(entry, round=_round(entry, before, questions, again=again))
        if resumed is None:
            self.entries.append(entry)
            resumed = len(self.entries) - 1
        else:
            self.entries[resumed] = entry
        self._write()
        return resumed

    def in_place(self, entry: Entry) -> int | None:
        """Find the pending entry of this very release whose file is in place; it only has to be said."""
        for i, known in enumerate(self.entries):
            if known == replace(entry, round=known.round) and Path(known.output).exists():
                return i
        return None

    def finish(self, i: int) -> None:
        """Mark an entry as released."""
        self.entries[i] = replace(self.entries[i], status="released")
        self._write()

    def spent_before(self, people: Iterable[str], *, but: int) -> tuple[int, float]:
        """Return how many of these people had spent something before, and the most that one of them had.

        Releases of one round share one budget, also with the one that is left out.
        """
        shared = {(self.entries[but].design_digest, self.entries[but].round): set(self.entries[but].people)}
        spent: dict[str, float] = {}
        for i, entry in enumerate(self.entries):
            counted = shared.setdefault((entry.design_digest, entry.round), set())
            for person in set(entry.people) - counted if i != but else ():
                spent[person] = spent.get(person, 0.0) + entry.epsilon
            counted.update(entry.people)
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
        file = open(lock, "w")  # noqa: SIM115 - closed below, whatever happens inside
    except OSError as error:
        raise InputError(f"{lock} cannot be written: {error.strerror or error}.") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another release with the ledger {path} is under way; wait for it to end."
            ) from None
        yield
        lock.unlink(missing_ok=True)


def _round(entry: Entry, before: list[Entry], questions: int, *, again: bool) -> int:
    """Find which time this is that the budget of a design is spent, and require ``again`` for a new one."""
    now = max((known.round for known in before), default=0)
    asked = {known.question: known for known in before if known.round == now}
    if entry.question not in asked and len(asked) < questions:
        return now
    if again:
        return now + 1
    known = asked.get(entry.question)
    reason = (
        f"this design was released before, as {Path(known.output).name}"
        if known is not None
        else f"this design is for {questions} questions, and as many were released before"
    )
    raise InputError(
        f"{reason}; noising again spends the budget of everyone in it again. Say so with --again."
    )


def _is_sound(entry: Entry) -> bool:
    numbers = all(isinstance(value, int | float) for value in (entry.epsilon, entry.delta, entry.round))
    return numbers and entry.status in ("pending", "released") and isinstance(entry.question, str)


def keyed_digest(key: bytes, person: object) -> str:
    """Return what a person is recognised by: nothing without the key."""
    return hashlib.blake2b(
        str(person).encode(), digest_size=16, key=key, person=b"dpstrata ledger"
    ).hexdigest()
