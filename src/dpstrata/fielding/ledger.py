"""The ledger: what was spent on the people of a frame, written before anything is released.

A release spends its central budget on everyone in the frame, asked or not, so the ledger adds up releases,
not respondents. One ledger is for one population. An entry is *pending* from before noise is drawn until its
file is in place, then *released*. It counts from when its noise is drawn, whatever becomes of the file. Those
who answered are recognised by a digest under the ledger's own key, whichever key drew them; nobody is named.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import DpstrataWarning, InputError, option
from dpstrata.fielding.frames.files import file_digest
from dpstrata.fielding.keys import commitment
from dpstrata.fielding.losses import ROUNDING, delta_of_repeats, loss_of_repeats, planned_shares
from dpstrata.files.writing import write_atomically
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.promises import Spent
from dpstrata.words.results import altered_in_words

FORMAT = "dpstrata.ledger"
VERSION = 4
_MOST = 1e9  # of any loss; far beyond what protects
_MOST_ROUNDS = 1000  # of one sample; the loss of each further one is found from all before


@dataclass(frozen=True, slots=True)
class Entry:
    """One release.

    Attributes
    ----------
    design_digest, key_commitment : str
        Which design, and which key drew its sample.
    output : str
        Path of the file.
    output_digest : str or None
        SHA-256 of the file, from when its noise is drawn.
    status : {"pending", "released"}
        How far it came.
    spent : Spent
        What it adds to what everyone in the frame has spent.
    people : tuple of str
        Keyed digests of those who answered.
    recognition : str
        Commitment to the key of these digests.
    questions : tuple of str
        What was asked.
    round : int
        0 for the first time that a sample is released, one more each time its budget is spent again.
    pilot : bool
        Whether it is the first of two waves.
    shares : tuple of float
        Largest share of the willing people of each stratum who answered, over all releases of the sample so
        far; empty where that is no more than the design counts on.
    budgets : tuple of float
        What it spends of a person in each stratum, where that is set after the field; otherwise empty.
    raw : bool
        Whether the office had raw answers of a design whose answers devices can noise: only the promise about
        what is published is left.
    reports : str or None
        Keyed digest of all that devices sent, together: releases that share it are made of the same reports.
        ``None`` where answers are raw.
    """

    design_digest: str
    key_commitment: str
    output: str
    output_digest: str | None
    status: Literal["pending", "released"]
    spent: Spent
    people: tuple[str, ...]
    recognition: str
    questions: tuple[str, ...]
    round: int = 0
    pilot: bool = False
    shares: tuple[float, ...] = ()
    budgets: tuple[float, ...] = ()
    raw: bool = False
    reports: str | None = None

    @property
    def counts(self) -> bool:
        """Whether its noise was drawn, so that it may have been seen, wherever its file is now."""
        return self.status == "released" or self.output_digest is not None


@dataclass(frozen=True, slots=True, eq=False)
class Recognition:
    """Those who answer now, and the key by which the entries of a ledger recognise them.

    Attributes
    ----------
    people : sequence of str
        Their ids.
    key : bytes
        The ledger's own.
    """

    people: Sequence[str] = field(repr=False)
    key: bytes = field(repr=False)

    def of(self, entry: Entry) -> tuple[str, ...] | None:
        """Return what they would be in an entry, in their own order; nothing if its key is another."""
        if entry.recognition != commitment(self.key):
            return None
        return tuple(keyed_digest(self.key, person) for person in self.people)


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
            if data["format"] != FORMAT:
                raise ValueError
            if data["version"] != VERSION:
                raise InputError(
                    f"{path} must be a ledger of version {VERSION}, got version {data['version']!r}. Use the "
                    "version of dpstrata that wrote it; if you begin another ledger in a new folder instead, "
                    "add what this one says was spent to what that one says.",
                    where=str(path),
                )
            self.entries = [_read(entry) for entry in data["entries"]]
            if not all(_is_sound(entry) for entry in self.entries):
                raise ValueError
        except InputError:  # which is a ValueError too
            raise
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.", where=str(path)) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(f"{path} is not a ledger of dpstrata.", where=str(path)) from None

    def create(self) -> None:
        """Write a file without entries, unless there is one."""
        if not self.path.exists():
            self._write()

    def of_sample(self, entry: Entry) -> list[Entry]:
        """Return the releases that count of the sample of an entry."""
        same = (entry.design_digest, entry.key_commitment)
        return [k for k in self.entries if k.counts and (k.design_digest, k.key_commitment) == same]

    def begin(
        self,
        entry: Entry,
        plan: Design,
        *,
        again: bool,
        shares: FloatArray | None = None,
    ) -> int:
        """Write a pending entry, unless more would be spent than was announced without ``again``.

        A main wave was announced with its pilot. A pending entry of the same release, whose noise was never
        drawn, is taken up again.

        Parameters
        ----------
        entry : Entry
            What is about to be released; its round and what it adds are found here.
        plan : Design
            Its design.
        again : bool
            Whether more may be spent.
        shares : array, optional
            The largest credible share of the willing people of each stratum who answered, over all releases
            of the sample; by default what the design counts on.
        """
        self.entries = self.with_pending(entry, plan, again=again, shares=shares)
        self._write()
        return len(self.entries) - 1

    def with_pending(
        self,
        entry: Entry,
        plan: Design,
        *,
        again: bool,
        shares: FloatArray | None = None,
    ) -> list[Entry]:
        """Return the entries that :meth:`begin` would write, the new one last, and write nothing."""
        # What was to be this file and never got its noise is not this file; it spent nothing.
        kept = [known for known in self.entries if known.counts or known.output != entry.output]
        counted = [known for known in kept if known.counts]
        own = [known for known in counted if known.design_digest == entry.design_digest]
        others = [known for known in counted if known.design_digest != entry.design_digest]
        if others and not again and not _is_announced(others, plan):
            raise InputError(
                f"everyone in the frame has already spent {_added(counted).in_words}, most recently in "
                f"{Path(counted[-1].output).name}, and this release adds to it. Pass {option('again', True)} "
                "to release anyway; keep surveys of other people in another folder."
            )
        planned = planned_shares(plan)
        shares = planned if shares is None else shares
        entry = _with_round(entry, own, plan, again=again, shares=shares)
        if plan.inputs.promise.amplified and np.any(shares > planned * (1 + ROUNDING)):
            entry = replace(entry, shares=tuple(shares.tolist()))
        return [*kept, entry]

    def in_place(self, entry: Entry, who: Recognition) -> int | None:
        """Find the pending entry of this very release whose file is in place; it only has to be said."""
        same = ("design_digest", "key_commitment")
        for i, known in enumerate(self.entries):
            if (
                known.status == "pending"
                and all(getattr(known, name) == getattr(entry, name) for name in same)
                and Path(known.output).name == Path(entry.output).name  # the folder may have been moved
                and sorted(who.of(known) or ()) == sorted(known.people)
                and known.output_digest == file_digest(entry.output)
            ):
                return i
        return None

    def expect(self, i: int, output_digest: str, *, output: str | None = None) -> None:
        """Write down what the file of an entry will be, and where if that has changed, before it is there."""
        known = self.entries[i]
        self.entries[i] = replace(known, output_digest=output_digest, output=output or known.output)
        self._write()

    def finish(self, i: int) -> None:
        """Mark an entry as released."""
        self.entries[i] = replace(self.entries[i], status="released")
        self._write()

    def spent(self) -> Spent:
        """Return what everyone in the frame has spent in all."""
        return _added(entry for entry in self.entries if entry.counts)

    def known_before(self, who: Recognition, *, but: int) -> tuple[int, int]:
        """Return how many of these people answered in another release, and in how many nobody can be told."""
        known, untold = np.zeros(len(who.people), dtype=bool), 0
        for entry in (entry for i, entry in enumerate(self.entries) if i != but and entry.counts):
            digests, answered = who.of(entry), set(entry.people)
            if digests is None:
                untold += 1
            else:
                known |= [digest in answered for digest in digests]
        return int(known.sum()), untold

    def _write(self) -> None:
        data = {"format": FORMAT, "version": VERSION, "entries": [asdict(entry) for entry in self.entries]}
        write_atomically(self.path, (json.dumps(data, indent=1) + "\n").encode())


@dataclass(frozen=True, slots=True)
class Listed:
    """What the ledgers beside a file or its design say of the file.

    Attributes
    ----------
    entry : Entry or None
        The release of this design that it is, unchanged.
    spent : Spent or None
        What everyone in the frame has spent in all, by the ledger that lists this design.
    others : tuple of str
        If no release is this very file: the names of what was released of this design.
    foreign : bool
        Whether it is a release of another design.
    """

    entry: Entry | None = None
    spent: Spent | None = None
    others: tuple[str, ...] = ()
    foreign: bool = False


def find_release(plan: Design, noised: Path, design: Path | None) -> Listed:
    """Find what the ledgers beside the answers or the design say of a file."""
    if not noised.is_file():
        return Listed()
    counted = [
        (entry, ledger) for ledger in _ledgers(noised, design) for entry in ledger.entries if entry.counts
    ]
    own = [(entry, ledger) for entry, ledger in counted if entry.design_digest == plan.digest]
    digest = file_digest(noised) if counted else None
    for entry, ledger in own:
        if entry.output_digest == digest:
            return Listed(entry, ledger.spent())
    foreign = any(entry.output_digest == digest for entry, _ in counted)
    names = tuple(sorted({Path(entry.output).name for entry, _ in own}))
    return Listed(None, own[0][1].spent() if own else None, names, foreign)


def check_release(plan: Design, noised: Path, design: Path | None) -> None:
    """Refuse noised answers that a ledger knows as those of another design; warn if it knows others of this.

    Parameters
    ----------
    plan : Design
        The design.
    noised : path
        The answers; a ledger may lie beside them.
    design : path or None
        Its document; a ledger may lie beside it.
    """
    found = find_release(plan, noised, design)
    if found.foreign:
        raise InputError(
            f"{noised} must hold noised answers of this design, got those of another design, according to "
            "the ledger.",
            where=str(noised),
        )
    if found.others:
        warnings.warn(DpstrataWarning(altered_in_words(str(noised), found.others)), stacklevel=4)


def _ledgers(noised: Path, design: Path | None) -> list[Ledger]:
    """Return the ledgers that lie beside the answers and beside the design."""
    folders = dict.fromkeys(path.resolve().parent for path in (noised, design) if path is not None)
    return [Ledger(folder / "ledger.json") for folder in folders]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock beside a file, so that two releases cannot pass each other; it ends with the process."""
    import fcntl

    lock = path.with_name(f"{path.name}.lock")
    try:
        file = open(lock, "w")  # noqa: SIM115 - closed below, whatever happens inside
    except OSError as error:
        raise InputError(f"{lock} cannot be written: {error.strerror or error}.", where=str(lock)) from None
    with file:  # the file stays: whoever waits for it must not hold one that is gone
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another release with the ledger {path} is running; wait until it finishes."
            ) from None
        yield


def keyed_digest(key: bytes, person: object) -> str:
    """Return what a person is recognised by: nothing without the key."""
    return hashlib.blake2b(
        str(person).encode(), digest_size=16, key=key, person=b"dpstrata ledger"
    ).hexdigest()


def _is_announced(others: list[Entry], plan: Design) -> bool:
    """Whether these releases are one pilot, with the budget that its main design says it spent."""
    digest = None if plan.waves is None else plan.waves.pilot_digest
    stated, spent = plan.strata.sd_epsilons, _added(others)
    return (
        digest is not None
        and stated is not None
        and all(known.pilot and known.design_digest == digest and known.round == 0 for known in others)
        and spent.epsilon <= float(stated.min())
        and replace(spent, epsilon=0.0) == Spent()
    )


def _with_round(entry: Entry, own: list[Entry], plan: Design, *, again: bool, shares: FloatArray) -> Entry:
    """Find which time this is that the budget of a sample is spent, and require ``again`` for a new one.

    What a release adds is what all releases of the sample lose together, less what is counted already.
    """
    promise = plan.inputs.promise
    drawn = [known for known in own if known.key_commitment == entry.key_commitment]
    now = max((known.round for known in drawn), default=-1)
    counted = _added(drawn)
    if own and not again:
        name = Path(own[-1].output).name
        reason = f"this design was released before, as {name}"
        if own[-1].status == "pending":
            reason = (
                f"an earlier attempt was cut short after the noise of {name} was drawn, so it counts as "
                "released (if you still have that file, put it back and run the same command again)"
            )
        raise InputError(
            f"{reason}; noising the same people again costs everyone "
            f"{'far more than the first time' if promise.amplified else 'more'}, and answers that come "
            f"later would reveal late respondents. Pass {option('again', True)} to release anyway."
        )
    if not promise.amplified:  # the sample hides nobody, so that every release adds what it is
        return replace(entry, round=now + 1)
    sets: dict[str | int, list[Entry]] = {}
    for number, each in enumerate([*drawn, entry]):
        sets.setdefault(each.reports or number, []).append(each)
    budgets = [np.sum([each.budgets for each in same], axis=0) for same in sets.values() if same[0].budgets]
    loss = loss_of_repeats(plan, now + 2, shares, budgets=budgets, report_sets=len(sets))
    delta = delta_of_repeats(plan, now + 2, shares)
    return _adding(replace(entry, round=now + 1), counted, loss, delta)


def _adding(entry: Entry, counted: Spent, epsilon: float, delta: float) -> Entry:
    """Let an entry add what is missing to what its sample loses in all."""
    left = max(epsilon - counted.epsilon, 0.0), max(delta - counted.delta, 0.0)
    return replace(entry, spent=replace(entry.spent, epsilon=left[0], delta=left[1]))


def _added(entries: Iterable[Entry]) -> Spent:
    return Spent.added(entry.spent for entry in entries)


def _read(data: Mapping[str, Any]) -> Entry:
    """Take an entry as it is written."""
    lists = {name: tuple(data[name]) for name in ("questions", "people", "shares", "budgets")}
    return Entry(**{**data, **lists, "spent": Spent(**data["spent"])})


def _is_sound(entry: Entry) -> bool:
    losses = asdict(entry.spent).values()
    texts = (entry.design_digest, entry.key_commitment, entry.output, entry.recognition)
    return (
        all(type(loss) in (int, float) and 0 <= loss <= _MOST for loss in losses)  # no NaN either
        and type(entry.round) is int
        and type(entry.raw) is bool
        and 0 <= entry.round <= _MOST_ROUNDS
        and all(isinstance(text, str) for text in (*entry.questions, *entry.people))
        and all(type(share) in (int, float) and 0 <= share <= 1 for share in entry.shares)
        and all(type(budget) in (int, float) and 0 <= budget <= _MOST for budget in entry.budgets)
        and entry.status in ("pending", "released")
        and all(isinstance(text, str) for text in texts)
        and all(text is None or isinstance(text, str) for text in (entry.output_digest, entry.reports))
    )
