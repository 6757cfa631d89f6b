"""One release of a batch of answers: checked, on the ledger before anything is drawn, written once.

Whatever stands against it is found before anything is spent. What is published, and how it is noised, is up
to the form of release (``releases``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import open_answers, read_people
from dpstrata.fielding.collected import Collected, read_collected
from dpstrata.fielding.draw import check_record, drawn_columns, read_sample
from dpstrata.fielding.keys import commitment, new_key, read_key, read_or_make_key
from dpstrata.fielding.ledger import Entry, Ledger, Recognition, keyed_digest, locked
from dpstrata.fielding.losses import Response, check_response, joint_shares
from dpstrata.fielding.randomizers.noise import require_stated_answers
from dpstrata.fielding.releases import Fielding, fielding_of
from dpstrata.fielding.sample import ReportKey
from dpstrata.files.writing import (
    as_path,
    recover_unfinished,
    remove_unfinished,
    require_apart,
    require_room,
    require_table_path,
    table_content,
    write_atomically,
)
from dpstrata.numerics.arrays import IntArray
from dpstrata.privacy.promises import Spent
from dpstrata.words.released import left_out_in_words, release_notes

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

_SAME_RELEASE = ("design_digest", "key_commitment", "people")


@dataclass(frozen=True, slots=True)
class Released:
    """What was released.

    Attributes
    ----------
    answers, invited : int
        How many answers were noised or added up, and how many people were invited.
    known_before : int
        How many of those who answered had answered in an earlier release on the same ledger, whichever key
        drew them.
    spent : Spent
        What everyone in the frame has spent in all, centrally, by the ledger.
    response : Response or None
        What holds, given how many people answered; ``None`` where the promise does not depend on it.
    notes : tuple of str
        What is to be said of it, in sentences: about blanks, about those who did not answer,
        and about raw answers that were seen.
    untold_releases : int
        Earlier releases in which nobody can be recognised, because the ledger's key was lost.
    blank : int
        How many people in the table left the answer blank; they count as people who did not answer.
    from_devices : bool
        Whether devices randomised all of the answers.
    """

    answers: int
    invited: int
    known_before: int
    spent: Spent
    response: Response | None
    notes: tuple[str, ...]
    untold_releases: int = 0
    blank: int = 0
    from_devices: bool = False


class Files(NamedTuple):
    """The files of a release; ledger, its key and the record of the draw lie beside them.

    There is no file of answers where they are in a data frame.
    """

    design: Path
    answers: Path | None
    sample: Path
    out: Path
    key: Path

    @classmethod
    def given(
        cls,
        *,
        design: str | Path,
        answers: str | Path | IntoFrame,
        sample: str | Path,
        out: str | Path,
        key_file: str | Path,
    ) -> Files:
        """Take the files of a release, and require that they are apart and that a table can be written."""
        files = cls(
            as_path(design, "design").resolve(),
            Path(answers) if isinstance(answers, str | Path) else None,
            as_path(sample, "sample"),
            as_path(out, "out"),
            as_path(key_file, "key_file"),
        )
        require_apart(*files, files.ledger, files.ledger_key, files.record)
        require_table_path(files.out)
        return files

    @property
    def ledger(self) -> Path:
        """What was spent, beside the design."""
        return self.design.with_name("ledger.json")

    @property
    def ledger_key(self) -> Path:
        """What the ledger recognises people by."""
        return self.design.with_name("ledger.key")

    @property
    def record(self) -> Path:
        """The record of the draw, beside the sample."""
        return self.sample.with_name("draw.json")


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Answers that can all be released.

    Attributes
    ----------
    plan : Design
        Their design.
    files : Files
        Where they come from, and where the release goes.
    drawn : dict
        Everyone in the sample, with what their report is filed under.
    people : list of str
        Those who answered, in the order of their answers under each key.
    collected : Collected
        What they answered.
    blank : int
        How many left the answer blank.
    secret : bytes
        The key of the draw.
    response : Response or None
        What holds, given how many answered.
    forget : function
        Deletes the answers where they came from, if that is to be done once what is published is in place.
    """

    plan: Design
    files: Files
    drawn: dict[str, ReportKey] = field(repr=False)
    people: list[str] = field(repr=False)
    collected: Collected
    blank: int
    secret: bytes = field(repr=False)
    response: Response | None
    forget: Callable[[], None] = lambda: None

    @property
    def digest(self) -> str:
        """Digest of everything that is released."""
        content = {
            "people": sorted(self.people),
            "answers": {str(key): sorted(given) for key, given in self.collected.answers.items()},
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()

    @property
    def reports_digest(self) -> str:
        """Digest of who sent what, all together: devices that were asked again sent something else.

        A collector does not know who sent what, but counts every report once, so that the same people and
        counts are the same reports; there people and reports are joined in the order of both.
        """
        of_key: dict[ReportKey, list[str]] = {}
        for person in self.people:
            of_key.setdefault(self.drawn[person], []).append(person)
        sent = [
            (key, person, report)
            for key, people in of_key.items()
            for person, report in zip(people, self.collected.of(key), strict=True)
        ]
        content = sorted(json.dumps(each, default=str) for each in sent)
        return hashlib.sha256("\n".join(content).encode()).hexdigest()

    @property
    def entry(self) -> Entry:
        """What the ledger says of it at first."""
        plan, spent = self.plan, self.plan.inputs.promise.spent
        return Entry(
            design_digest=plan.digest,
            key_commitment=commitment(self.secret),
            output=str(self.files.out.resolve()),
            output_digest=None,
            status="pending",
            spent=spent if self.response is None else replace(spent, delta=self.response.delta),
            people=(),
            recognition="",  # with the people, once the ledger has a key
            questions=plan.inputs.questions.names,
            pilot=plan.waves is not None and plan.waves.first,
            budgets=tuple(plan.budgets_given(self.counts).tolist()) if plan.scaled_by_answers else (),
            raw=self.raw,
        )

    @property
    def raw(self) -> bool:
        """Whether the office has raw answers, which devices could have randomised."""
        return bool(self.plan.inputs.release_form.noised_at) and not self.collected.from_devices

    @property
    def counts(self) -> IntArray:
        """How many answered in each stratum."""
        return self.collected.counts(self.plan)


def read_batch(
    plan: Design,
    files: Files,
    answers: str | Path | IntoFrame,
    *,
    id: str | None,
    stratum: str | Sequence[str] | None,
    sheet: str | None,
    accept_response: bool,
) -> Batch:
    """Read answers, and require that all of them can be released."""
    id, columns = drawn_columns(files.sample, id, stratum)
    names = (id, *columns, *plan.inputs.questions.names)
    if len(set(names)) < len(names):
        raise InputError("id, stratum and every question must be different columns.")
    require_stated_answers(plan)
    secret = read_key(files.key)
    check_record(plan, sample=files.sample, key=secret, record=files.record)
    drawn = read_sample(files.sample, plan, id=id, stratum=columns)
    given = open_answers(answers, sheet=sheet)
    people, strata = read_people(given, id, columns)
    # From here on, who left the answer blank is somebody who did not answer.
    answered, collected = read_collected(given, plan, [drawn.get(person) for person in people])
    _require_drawn(plan, drawn, people, strata)
    collected.require_sound(plan)
    batch = Batch(
        plan=plan,
        files=files,
        drawn=drawn,
        people=[people[row] for row in answered],
        collected=collected,
        blank=len(people) - len(answered),
        secret=secret,
        response=None,
    )
    return with_response(batch, accept_response=accept_response)


def with_response(batch: Batch, *, accept_response: bool) -> Batch:
    """Find what holds, given how many answered, and require that it is what was promised."""
    batch.collected.require_every_question(batch.plan)
    response = check_response(batch.plan, batch.counts)
    if response is not None and not accept_response:
        response.require_promise(left_out_in_words(batch.blank))
    return replace(batch, response=response)


def release(batch: Batch, *, again: bool, progress: Callable[[int], None] | None = None) -> Released:
    """Write what is published, once, with what it spends on the ledger before."""
    files, plan, entry, fielding = batch.files, batch.plan, batch.entry, fielding_of(batch.plan)
    with locked(files.ledger):
        ledger = _open_ledger(files)
        _tidy_up(ledger, entry, files)
        ledger.create()  # before its key: a key without a ledger means that the ledger was lost
        key = read_or_make_key(files.ledger_key)
        who = Recognition(batch.people, key)
        entry = replace(
            entry,
            people=tuple(sorted(keyed_digest(key, person) for person in batch.people)),
            recognition=commitment(key),
            reports=keyed_digest(key, batch.reports_digest) if batch.collected.from_devices else None,
        )
        _put_back(ledger, entry, batch, fielding)
        place = ledger.in_place(entry, who) if files.out.exists() else None
        taken_up = place is not None
        if place is None:
            _require_new(files.out)
            shares = _joint(batch, ledger, entry, key)
            place = ledger.begin(entry, plan, again=again, shares=shares)
            content = table_content(
                fielding.make(batch, ledger.entries[place], progress or (lambda number: None)), files.out
            )
            require_room(files.out, len(content))  # from here on it is spent, whatever becomes of the file
            ledger.expect(place, hashlib.sha256(content).hexdigest())
            write_atomically(files.out, content)
        fielding.done(batch, ledger.entries[place])  # not yet finished: a run that is killed here is taken up
        batch.forget()
        ledger.finish(place)
        before, untold = ledger.known_before(who, but=place)
    response_notes = release_notes(batch.response, batch.blank, taken_up=taken_up)
    return Released(
        answers=len(batch.people),
        invited=plan.total,
        known_before=before,
        spent=ledger.spent(),
        response=batch.response,
        notes=(*response_notes, *fielding.notes(batch)),
        untold_releases=untold,
        blank=batch.blank,
        from_devices=batch.collected.from_devices,
    )


def require_releasable(batch: Batch, *, again: bool) -> None:
    """Refuse now whatever :func:`release` would refuse before it spends anything; nothing is written.

    For a release that follows something that cannot be undone.
    """
    files, entry = batch.files, batch.entry
    with locked(files.ledger):
        ledger = _open_ledger(files)
        key = read_key(files.ledger_key) if files.ledger_key.exists() else new_key()
        _require_new(files.out)
        require_room(files.out, 0)
        shares = _joint(batch, ledger, entry, key)
        ledger.with_pending(entry, batch.plan, again=again, shares=shares)


def is_unfinished(batch: Batch) -> bool:
    """Whether what this release publishes is in place, and only the ledger does not say so yet."""
    files = batch.files
    if not (files.out.exists() and files.ledger_key.exists()):
        return False
    who = Recognition(batch.people, read_key(files.ledger_key))
    return Ledger(files.ledger).in_place(batch.entry, who) is not None


def _open_ledger(files: Files) -> Ledger:
    """Read the ledger, and refuse to start another one where its key shows that there was one."""
    if files.ledger_key.exists() and not files.ledger.exists():
        raise InputError(
            f"{files.ledger} is gone, but its key {files.ledger_key.name} is still there, so what was spent "
            "on these people is unknown. Put the ledger back from a backup. If nothing was ever released "
            f"about these people, delete {files.ledger_key.name} and run this again.",
            where=str(files.ledger),
        )
    return Ledger(files.ledger)


def _require_new(out: Path) -> None:
    if out.exists():
        raise InputError(f"{out} exists and is not replaced. Choose a new file for this release.")


def _joint(batch: Batch, ledger: Ledger, entry: Entry, key: bytes) -> Any:
    """Return the shares who answered over all releases of the sample, where the promise depends on them."""
    if batch.response is None:
        return None
    return joint_shares(
        batch.plan,
        batch.response.shares,
        ledger.of_sample(entry),
        sampled=Recognition(list(batch.drawn), key),
        strata=[batch.plan.strata.name(key.stratum) for key in batch.drawn.values()],
        answered=frozenset(batch.people),
    )


def _put_back(ledger: Ledger, entry: Entry, batch: Batch, fielding: Fielding) -> None:
    """Write the file of a release that was cut short again, if its noise is known and nothing has changed.

    It is the same table. Its bytes may differ, since an Excel file holds the time.
    """
    out = batch.files.out
    if out.exists():
        return
    for place, known in enumerate(ledger.entries):
        same = all(getattr(known, name) == getattr(entry, name) for name in _SAME_RELEASE)
        columns = fielding.made_before(batch, known) if same and known.counts else None
        if columns is not None and known.status == "pending":
            content = table_content(columns, out)
            ledger.expect(place, hashlib.sha256(content).hexdigest(), output=entry.output)
            write_atomically(out, content)
            return


def _tidy_up(ledger: Ledger, entry: Entry, files: Files) -> None:
    """Put a finished file in place that a killed run has left, and remove what else it left."""
    for known in ledger.of_sample(entry):
        if known.status == "pending" and known.output_digest and not files.out.exists():
            recover_unfinished(files.out, known.output_digest)
    # They would be a second release of the same answers, or another key.
    remove_unfinished(files.out, ledger.path, files.ledger_key)


def _require_drawn(plan: Design, drawn: dict[str, ReportKey], people: list[str], strata: list[str]) -> None:
    """Refuse answers of people who were not drawn, or drawn elsewhere, or twice; nobody is named."""
    if len(set(people)) < len(people):
        raise InputError("each person may answer once, got two answers from the same person.")
    names = plan.strata.names
    strangers = sum(person not in drawn for person in people)
    elsewhere = sum(
        names[drawn[person].stratum] != name
        for person, name in zip(people, strata, strict=True)
        if person in drawn
    )
    if strangers or elsewhere:
        raise InputError(
            f"only answers of people who were drawn may be released, got {strangers:,} from people who were "
            f"not and {elsewhere:,} with a stratum other than the one they were drawn in."
        )
