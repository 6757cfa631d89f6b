"""The ledger: what was spent on the people of a frame, written before anything is released.

A release spends its central budget on everyone in the frame, asked or not, so the ledger adds up releases,
not respondents. One ledger is for one population. An entry is *pending* from before noise is drawn until its
file is in place, then *released*. It counts from when its noise is drawn, whatever becomes of the file. Those
who answered are recognised by a digest under the ledger's own key, whichever key drew them; nobody is named.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dpstrata.arrays import FloatArray
from dpstrata.errors import DpstrataWarning, InputError
from dpstrata.model.design_record import Design
from dpstrata.model.output import write_atomically
from dpstrata.privacy.promises import Spent
from dpstrata.survey.frames.files import file_digest
from dpstrata.survey.keys import commitment, survey_key
from dpstrata.survey.response import ROUNDING, central_losses, planned_shares

FORMAT = "dpstrata.ledger"
_MOST = 1e9  # of any loss; far beyond what protects


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
        Keyed digests of those who answered; see :class:`Recognition`.
    question : str
        The column that was noised: a design for several questions is released once for each.
    round : int
        0 for the first time that a sample is released, one more each time its budget is spent again.
    pilot : bool
        Whether it is the first of two waves.
    recognition : str or None
        Commitment to the key of these digests; ``None`` if it is that of the draw, as 0.1.0 had it.
    """

    design_digest: str
    key_commitment: str
    output: str
    output_digest: str | None
    status: Literal["pending", "released"]
    spent: Spent
    people: tuple[str, ...]
    question: str
    round: int = 0
    pilot: bool = False
    recognition: str | None = None

    @property
    def counts(self) -> bool:
        """Whether its noise was drawn, so that it may have been seen, wherever its file is now."""
        return self.status == "released" or self.output_digest is not None


@dataclass(frozen=True, slots=True, eq=False)
class Recognition:
    """Those who answer now, and the keys by which the entries of a ledger recognise them.

    Attributes
    ----------
    people : sequence of str
        Their ids.
    key : bytes
        The ledger's own.
    draw_key : bytes
        That of their draw; 0.1.0 recognised people by it.
    """

    people: Sequence[str] = field(repr=False)
    key: bytes = field(repr=False)
    draw_key: bytes = field(repr=False)

    def of(self, entry: Entry) -> tuple[str, ...] | None:
        """Return what they would be in an entry, in their own order; nothing if its key is another."""
        if entry.recognition == commitment(self.key):
            key = self.key
        elif entry.recognition is None and entry.key_commitment == commitment(self.draw_key):
            key = survey_key(self.draw_key, "ledger")
        else:
            return None
        return tuple(keyed_digest(key, person) for person in self.people)


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
            if data["format"] != FORMAT or data["version"] not in (1, 2):
                raise ValueError
            self.entries = [_read(entry) for entry in data["entries"]]
            if not all(_is_sound(entry) for entry in self.entries):
                raise ValueError
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{path} is not a ledger of dpstrata.") from None

    def begin(self, entry: Entry, plan: Design, *, again: bool, shares: FloatArray | None = None) -> int:
        """Write a pending entry, unless more would be spent than was announced without ``again``.

        Releases of one design for several questions share its budget. A main wave was announced with its
        pilot. A pending entry of the same release, whose noise was never drawn, is taken up again.

        Parameters
        ----------
        entry : Entry
            What is about to be released; its round and what it adds are found here.
        plan : Design
            Its design.
        again : bool
            Whether more may be spent.
        shares : array, optional
            The largest credible share of the willing people of each stratum who answered; by default what the
            design counts on.
        """
        # What was to be this file and never got its noise is not this file; it spent nothing.
        self.entries = [known for known in self.entries if known.counts or known.output != entry.output]
        counted = [known for known in self.entries if known.counts]
        own = [known for known in counted if known.design_digest == entry.design_digest]
        others = [known for known in counted if known.design_digest != entry.design_digest]
        if others and not again and not _is_announced(others, plan):
            raise InputError(
                f"everyone in the frame has spent {_added(others).in_words} before, last in "
                f"{Path(others[-1].output).name}, and this release spends more on top of it. Say so with "
                "--again; surveys of other people belong in another folder."
            )
        self.entries.append(_with_round(entry, own, plan, again=again, shares=shares))
        self._write()
        return len(self.entries) - 1

    def in_place(self, entry: Entry, who: Recognition) -> int | None:
        """Find the pending entry of this very release whose file is in place; it only has to be said."""
        same = ("design_digest", "key_commitment", "output", "question")
        for i, known in enumerate(self.entries):
            if (
                known.status == "pending"
                and all(getattr(known, name) == getattr(entry, name) for name in same)
                and sorted(who.of(known) or ()) == sorted(known.people)
                and known.output_digest == file_digest(known.output)
            ):
                return i
        return None

    def expect(self, i: int, output_digest: str) -> None:
        """Write down what the file of an entry will be, before it is put in place."""
        self.entries[i] = replace(self.entries[i], output_digest=output_digest)
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
        data = {"format": FORMAT, "version": 2, "entries": [_written(entry) for entry in self.entries]}
        write_atomically(self.path, (json.dumps(data, indent=1) + "\n").encode())


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
    if not noised.is_file():
        return
    folders = {path.resolve().parent for path in (noised, design) if path is not None}
    entries = [
        entry for folder in folders for entry in Ledger(folder / "ledger.json").entries if entry.counts
    ]
    own = sorted({Path(entry.output).name for entry in entries if entry.design_digest == plan.digest})
    digest = file_digest(noised) if entries else None
    designs = {entry.design_digest for entry in entries if entry.output_digest == digest}
    if designs and plan.digest not in designs:
        raise InputError(
            f"{noised} must hold noised answers of this design, got those of another one by the ledger."
        )
    if own and not designs:
        warnings.warn(
            f"{noised} differs from what the ledger records as released for this design ({', '.join(own)}); "
            "make sure that it holds the noised answers of this design, unchanged.",
            DpstrataWarning,
            stacklevel=3,
        )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock beside a file, so that two releases cannot pass each other; it ends with the process."""
    import fcntl

    lock = path.with_name(f"{path.name}.lock")
    try:
        file = open(lock, "w")  # noqa: SIM115 - closed below, whatever happens inside
    except OSError as error:
        raise InputError(f"{lock} cannot be written: {error.strerror or error}.") from None
    with file:  # the file stays: whoever waits for it must not hold one that is gone
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another release with the ledger {path} is under way; wait for it to end."
            ) from None
        yield


def loss_of_repeats(plan: Design, times: int, shares: FloatArray | None = None) -> float:
    r"""Central loss of releasing one and the same sample several times.

    The budgets of one answer add up before the secret sample hides anyone, so this grows faster than times ε:

    .. math:: \max_i \ln\bigl(1 + q_i (e^{k e_i} - 1)\bigr)

    and at least ε, which the first release is counted with.

    Parameters
    ----------
    plan : Design
        The design.
    times : int
        How often, >= 0.
    shares : array, optional
        q, the largest credible share of the willing people of each stratum who answered; by default what the
        design counts on.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([2000, 2000], [0.3, 0.3]), epsilon=1, total=40)
    >>> round(loss_of_repeats(plan, 1), 6), round(loss_of_repeats(plan, 2), 1)
    (1.0, 5.7)
    """
    promised = plan.inputs.promise.central_epsilon
    if times == 0 or (times == 1 and shares is None):
        return times * promised
    losses = central_losses(planned_shares(plan) if shares is None else shares, times * plan.local_epsilons)
    # Where a cap binds, less is spent than was promised; what was counted at first stays counted.
    loss = max(float(losses.max()), promised)
    return promised if loss <= promised * (1 + ROUNDING) else loss


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


def _with_round(
    entry: Entry, own: list[Entry], plan: Design, *, again: bool, shares: FloatArray | None
) -> Entry:
    """Find which time this is that the budget of a sample is spent, and require ``again`` for a new one.

    What a release adds is what all releases of the sample lose together, less what is counted already.
    """
    amplified = plan.inputs.promise.amplified
    drawn = [known for known in own if known.key_commitment == entry.key_commitment]
    now = max((known.round for known in drawn), default=-1)
    counted = math.fsum(known.spent.epsilon for known in drawn)
    asked = {known.question for known in drawn if known.round == now}
    if drawn and entry.question not in asked and len(asked) < plan.inputs.questions:
        # The budget is shared; more is lost only where fewer answered this question than the others.
        adds = max(loss_of_repeats(plan, now + 1, shares) - counted, 0.0) if amplified else 0.0
        return replace(entry, round=now, spent=Spent(epsilon=adds))
    if own and not again:
        repeated = [known for known in own if known.question == entry.question]
        reason = f"this design is for {plan.inputs.questions} questions, and as many were released before"
        if repeated:
            name = Path(repeated[-1].output).name
            reason = f"this design was released before, as {name}"
            if repeated[-1].status == "pending":
                reason = (
                    f"an earlier attempt was cut short after the noise of {name} was drawn, so it counts as "
                    "released (if you still have that file, put it back and run the same again)"
                )
        raise InputError(
            f"{reason}; noising the same people again costs everyone "
            f"{'far more than it did' if amplified else 'more'}, and answers that come "
            "later would show who was late. Say so with --again."
        )
    if not amplified:  # the sample hides nobody, so that every release adds what it is
        return replace(entry, round=now + 1)
    before = min(loss_of_repeats(plan, now + 1, shares), counted)
    adds = loss_of_repeats(plan, now + 2, shares) - before
    return replace(entry, round=now + 1, spent=replace(entry.spent, epsilon=adds))


def _added(entries: Iterable[Entry]) -> Spent:
    return Spent.added(entry.spent for entry in entries)


def _read(data: Mapping[str, Any]) -> Entry:
    """Take an entry as it is written: losses by their names beside the rest, epsilon and delta always."""
    names = {part.name for part in fields(Spent)}
    losses = {name: data[name] for name in names & {"epsilon", "delta", *data}}
    rest = {name: value for name, value in data.items() if name not in names}
    return Entry(**{**rest, "people": tuple(data["people"])}, spent=Spent(**losses))


def _written(entry: Entry) -> dict[str, Any]:
    """Write an entry as 0.1.0 did: epsilon and delta before the people, other losses after the pilot."""
    spent, data = asdict(entry.spent), dict[str, Any]()
    first = {name: spent.pop(name) for name in ("epsilon", "delta")}
    for name, value in asdict(entry).items():
        data |= first if name == "spent" else {name: value}
        data |= spent if name == "pilot" else {}
    return data


def _is_sound(entry: Entry) -> bool:
    losses = asdict(entry.spent).values()
    texts = (entry.design_digest, entry.key_commitment, entry.output, entry.question)
    return (
        all(type(loss) in (int, float) and 0 <= loss <= _MOST for loss in losses)  # no NaN either
        and type(entry.round) is int
        and entry.round >= 0
        and entry.status in ("pending", "released")
        and all(isinstance(text, str) for text in texts)
        and all(text is None or isinstance(text, str) for text in (entry.output_digest, entry.recognition))
    )
