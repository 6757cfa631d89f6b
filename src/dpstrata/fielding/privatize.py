"""Noising a batch of answers at the office: of those drawn, shuffled, without ids, on the ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import read_answers, read_people
from dpstrata.fielding.draw import check_record
from dpstrata.fielding.frames.base import stratum_column
from dpstrata.fielding.grid_noise import as_answers, check_answers, require_stated_answers
from dpstrata.fielding.joint import joint_shares
from dpstrata.fielding.keys import commitment, read_key, read_or_make_key
from dpstrata.fielding.ledger import Entry, Ledger, Recognition, keyed_digest, locked
from dpstrata.fielding.releases import fielding_of
from dpstrata.fielding.response import Response, check_response
from dpstrata.files.writing import (
    recover_unfinished,
    remove_unfinished,
    require_apart,
    require_room,
    require_table_path,
    table_content,
    write_atomically,
)
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.promises import Spent
from dpstrata.words.released import release_notes


@dataclass(frozen=True, slots=True)
class Released:
    """What was released.

    Attributes
    ----------
    answers, invited : int
        How many noised answers there are, and how many people were invited.
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
        Earlier releases in which nobody can be recognised: 0.1.0 made them with the key of another draw, or
        the ledger's key was lost.
    blank : int
        How many people in the table left the answer blank; they count as people who did not answer.
    """

    answers: int
    invited: int
    known_before: int
    spent: Spent
    response: Response | None
    notes: tuple[str, ...]
    untold_releases: int = 0
    blank: int = 0


def privatize(
    design: str | Path,
    answers: str | Path,
    *,
    sample: str | Path,
    id: str,
    stratum: str | Sequence[str],
    answer: str,
    out: str | Path,
    key_file: str | Path,
    sheet: str | None = None,
    again: bool = False,
    accept_response: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Released:
    """Noise the answers of a sample and write them, shuffled within strata and without ids.

    For a design with a curator, the mean of each stratum is noised instead. Whoever runs this holds raw
    answers, so only the central promise is left: the local one needs answers that are noised on the
    respondent's side. Anything that prevents a release is found before anything is spent.

    Parameters
    ----------
    design : path
        The design document; the ledger ``ledger.json`` is kept beside it, with the key ``ledger.key`` by
        which it recognises people.
    answers : path
        Table with the columns ``id``, ``stratum`` and ``answer``. Numbers may have decimal commas; yes, no,
        true and false are 1 and 0 where the design's answers are ``"binary"``. People who left the answer
        blank count as people who did not answer.
    sample : path
        The sample that was drawn; its record ``draw.json`` is beside it, and must be of this design and key.
    id, answer : str
        Names of the columns.
    stratum : str or sequence of str
        Name of the stratum column, or of the columns that were crossed.
    out : path
        Noised answers (``.csv``, ``.parquet``, ``.xlsx``), with the columns ``stratum`` and ``answer``; for a
        curator, one noised mean per stratum, with the number of its ``answers``. It must not exist yet.
    key_file : path
        The key of the draw.
    sheet : str, optional
        Sheet of the answers, if they are an Excel file; by default the first.
    again : bool
        Whether to release even though something was released before: everyone's losses add up, and those of
        the same sample add up before the sample hides anyone.
    accept_response : bool
        Whether to release even though more may be lost than the design promises, because too few people
        answered, or a further question was answered by other people; the ledger counts that loss.
    progress : callable, optional
        Called with the number of answers noised since the last call.

    Raises
    ------
    InputError
        For answers of people who were not drawn, answers that cannot be read or lie outside the range of the
        design, a design that does not state its range, strata without an answer, a response that contradicts
        the design, and releases that need ``again``; nobody and no answer is named, and nothing is spent.
    """
    design, out, sample = Path(design).resolve(), Path(out), Path(sample)
    columns = (stratum,) if isinstance(stratum, str) else tuple(stratum)
    ledger_path, record = design.with_name("ledger.json"), sample.with_name("draw.json")
    ledger_key = design.with_name("ledger.key")
    require_apart(design, Path(answers), sample, record, Path(key_file), ledger_path, ledger_key, out)
    require_table_path(out)
    if len({id, answer, *columns}) < 2 + len(columns):
        raise InputError("id, stratum and answer must be different columns.")
    plan = Design.read(design)
    require_stated_answers(plan)
    secret = read_key(Path(key_file))
    check_record(plan, sample=sample, key=secret, record=record)
    drawn = dict(zip(*read_people(sample, id, (stratum_column(columns),)), strict=True))
    batch = _read_batch(plan, Path(answers), drawn, (id, columns, answer), sheet)
    response = check_response(plan, batch.counts)
    if response is not None and not accept_response:
        response.require_promise()
    entry = _pending(plan, secret, response, out, question=answer)
    with locked(ledger_path):
        ledger = Ledger(ledger_path)
        _tidy_up(ledger, entry, out, ledger_key)
        key = read_or_make_key(ledger_key)
        who = Recognition(batch.people, key, secret)
        digests = tuple(sorted(keyed_digest(key, person) for person in batch.people))
        entry = replace(entry, people=digests, recognition=commitment(key))
        place = ledger.in_place(entry, who) if out.exists() else None
        if place is None:
            _require_new(out)
            shares = None
            if response is not None:
                sampled = Recognition(list(drawn), key, secret)
                shares = batch.joint_shares(response, ledger.of_sample(entry), sampled)
            place = ledger.begin(entry, plan, again=again, shares=shares, accept_response=accept_response)
            _write_noised(ledger, place, batch, out, progress or (lambda number: None))
        ledger.finish(place)
        before, untold = ledger.known_before(who, but=place)
    notes = release_notes(plan, response, batch.blank)
    return Released(
        len(batch.people), plan.total, before, ledger.spent(), response, notes, untold, batch.blank
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Batch:
    """Answers that can all be released, and who gave them; it never shows itself.

    Attributes
    ----------
    plan : Design
        The design.
    drawn : mapping of str to str
        The stratum of everyone in the sample.
    people : list of str
        Those who answered.
    by_stratum : mapping of str to list of float
        Their answers.
    blank : int
        How many people left the answer blank.
    """

    plan: Design
    drawn: Mapping[str, str]
    people: list[str]
    by_stratum: Mapping[str, list[float]]
    blank: int

    @property
    def counts(self) -> IntArray:
        """How many people answered in each stratum of the design."""
        return np.array([len(self.by_stratum[name]) for name in self.plan.strata.names], dtype=np.int64)

    def joint_shares(self, response: Response, earlier: list[Entry], sampled: Recognition) -> FloatArray:
        """Return the largest share of the willing who answered, over this release and earlier ones."""
        return joint_shares(
            self.plan,
            response.shares,
            earlier,
            sampled=sampled,
            strata=list(self.drawn.values()),
            answered=frozenset(self.people),
        )


def _read_batch(
    plan: Design,
    path: Path,
    drawn: Mapping[str, str],
    columns: tuple[str, tuple[str, ...], str],
    sheet: str | None,
) -> _Batch:
    """Read the answers of people who were drawn; who left it blank is somebody who did not answer."""
    id, stratum, answer = columns
    people, strata = read_people(path, id, stratum, sheet=sheet)
    values = read_answers(path, answer, plan.inputs.answers, sheet=sheet)
    _require_drawn(drawn, people, strata)
    answered = [row for row, value in enumerate(values) if value is not None]
    people, strata = ([column[row] for row in answered] for column in (people, strata))
    by_stratum = _by_stratum(plan, strata, [value for value in values if value is not None])
    return _Batch(plan, drawn, people, by_stratum, len(values) - len(answered))


def _pending(plan: Design, secret: bytes, response: Response | None, out: Path, *, question: str) -> Entry:
    """Make the entry of a release that is about to be made; the ledger adds whom it recognises."""
    spent = plan.inputs.promise.spent
    return Entry(
        design_digest=plan.digest,
        key_commitment=commitment(secret),
        output=str(out.resolve()),
        output_digest=None,
        status="pending",
        spent=spent if response is None else replace(spent, delta=response.delta),
        people=(),
        question=question,
        pilot=plan.waves is not None and plan.waves.first,
    )


def _require_new(out: Path) -> None:
    """Refuse to replace a file that is not this release."""
    if out.exists():
        raise InputError(f"{out} exists and is not replaced. Choose a new file for this release.")


def _write_noised(
    ledger: Ledger, place: int, batch: _Batch, out: Path, progress: Callable[[int], None]
) -> None:
    """Noise the answers, tell the ledger what their file will be, and put it in place."""
    noised = fielding_of(batch.plan).noised(batch.plan, batch.by_stratum, progress)
    content = table_content(noised, out)
    require_room(out, len(content))  # from here on it is spent, whatever becomes of the file
    ledger.expect(place, hashlib.sha256(content).hexdigest())
    write_atomically(out, content)


def _tidy_up(ledger: Ledger, entry: Entry, out: Path, ledger_key: Path) -> None:
    """Put a finished file in place that a killed run has left, and remove what else it left."""
    for known in ledger.of_sample(entry):
        if known.status == "pending" and known.output_digest and not out.exists():
            recover_unfinished(out, known.output_digest)
    # They would be a second release of the same answers, or another key.
    remove_unfinished(out, ledger.path, ledger_key)


def _by_stratum(plan: Design, strata: Sequence[str], values: list[float]) -> dict[str, list[float]]:
    """Put answers together by stratum, once they can all be released and every stratum has one."""
    as_answers(plan, values)
    by_stratum: dict[str, list[float]] = {}
    for name, value in zip(strata, values, strict=True):
        by_stratum.setdefault(name, []).append(value)
    empty = [name for name in plan.strata.names if name not in by_stratum]
    if empty:
        listed = ", ".join(map(repr, empty[:5])) + (", ..." if len(empty) > 5 else "")
        raise InputError(
            f"every stratum must have an answer, got none in {listed}, so nothing could be estimated. Wait "
            "for answers from there, or merge strata in a new design with a new sample."
        )
    for name, given in by_stratum.items():
        check_answers(plan, name, given)
    return by_stratum


def _require_drawn(drawn: Mapping[str, str], people: list[str], strata: list[str]) -> None:
    """Refuse answers of people who were not drawn, or drawn elsewhere, or twice; nobody is named."""
    if len(set(people)) < len(people):
        raise InputError("each person may answer once, got two answers from the same person.")
    strangers = sum(person not in drawn for person in people)
    elsewhere = sum(drawn.get(person, name) != name for person, name in zip(people, strata, strict=True))
    if strangers or elsewhere:
        raise InputError(
            f"only answers of people who were drawn may be noised, got {strangers:,} from people who were "
            f"not and {elsewhere:,} with a stratum other than the one they were drawn in."
        )
