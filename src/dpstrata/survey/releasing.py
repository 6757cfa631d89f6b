"""Noising a batch of answers at the office: of those drawn, shuffled, without ids, on the ledger."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpstrata.errors import InputError
from dpstrata.model.design_record import Design
from dpstrata.model.document import read_design
from dpstrata.model.output import remove_unfinished, write_table
from dpstrata.survey.keys import read_key, survey_key
from dpstrata.survey.ledger import Entry, Ledger, keyed_digest, locked
from dpstrata.survey.noised import COUNT, read_columns
from dpstrata.survey.noising import check_answers, noise_answers, noise_mean
from dpstrata.survey.records import check_record, require_apart

CHUNK = 50_000


@dataclass(frozen=True, slots=True)
class Release:
    """What was released.

    Attributes
    ----------
    answers, invited : int
        How many noised answers there are, and how many people were invited.
    known_before : int
        How many of them had spent something in an earlier release on the same ledger.
    largest_spent : float
        The most that one of them has spent in all, centrally.
    """

    answers: int
    invited: int
    known_before: int
    largest_spent: float


def privatize(
    design: str | Path,
    answers: str | Path,
    *,
    sample: str | Path,
    id: str,
    stratum: str,
    answer: str,
    out: str | Path,
    key_file: str | Path,
    again: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Release:
    """Noise the answers of a sample and write them, shuffled within strata and without ids.

    For a design with a curator, the mean of each stratum is noised instead. Whoever runs this holds raw
    answers, so only the central promise is left: the local one needs answers that are noised on the
    respondent's side.

    Parameters
    ----------
    design : path
        The design document; the ledger ``ledger.json`` is kept beside it.
    answers : path
        Table with the columns ``id``, ``stratum`` and ``answer``.
    sample : path
        The sample that was drawn, with the same ``id`` and ``stratum`` columns; its record ``draw.json`` is
        beside it, and must be of this design and key.
    id, stratum, answer : str
        Names of the columns.
    out : path
        Noised answers, with the columns ``stratum`` and ``answer``; for a curator one noised mean a stratum,
        with the number of its ``answers``.
    key_file : path
        The key of the draw; people are recognised on the ledger by digests that need it.
    again : bool
        Whether to noise again what was released before, which spends everyone's budget again.
    progress : callable, optional
        Called with the number of answers noised since the last call.
    """
    design, out, sample = Path(design), Path(out), Path(sample)
    ledger_path, record = design.with_name("ledger.json"), sample.with_name("draw.json")
    require_apart([design, Path(answers), sample, record, Path(key_file), ledger_path, out])
    plan = read_design(design)
    if not plan.inputs.amplified:
        raise InputError(
            "the ledger counts budgets of epsilon; designs for zcdp or gdp are noised one by one."
        )
    secret = read_key(Path(key_file))
    check_record(plan, sample=sample, key=secret, record=record)
    drawn = dict(zip(*read_columns(sample, id, stratum), strict=True))
    people, strata, values = read_columns(Path(answers), id, stratum, answer)
    _require_drawn(drawn, people, strata)
    by_stratum: dict[str, list[Any]] = {}
    for name, value in zip(strata, values, strict=True):
        by_stratum.setdefault(name, []).append(value)
    for name, given in by_stratum.items():
        check_answers(plan, name, given)
    key = survey_key(secret, "ledger")
    known = tuple(sorted(keyed_digest(key, person) for person in people))
    epsilon = plan.inputs.epsilon or 0.0
    spends = epsilon, plan.inputs.delta
    entry = Entry(plan.digest, str(out.resolve()), "pending", *spends, known, answer)
    with locked(ledger_path):
        ledger = Ledger(ledger_path)
        remove_unfinished(out, ledger_path)  # it would be a second release of the same answers
        place = None if again else ledger.in_place(entry)
        if place is None:
            pilot = None if plan.waves is None else plan.waves.pilot_digest
            place = ledger.begin(entry, again=again, questions=plan.inputs.questions, announced=pilot)
            noised = _noised_means if plan.inputs.trust == "curator" else _noised_answers
            write_table(noised(plan, by_stratum, (stratum, answer), progress or (lambda number: None)), out)
        ledger.finish(place)
        before, most = ledger.spent_before(known, but=place)
    return Release(len(people), plan.total, before, most + epsilon)


def _noised_answers(
    plan: Design, answers: dict[str, list[Any]], names: tuple[str, str], progress: Callable[[int], None]
) -> dict[str, list[Any]]:
    """Noise every answer, and shuffle within strata."""
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for name in sorted(answers):
        given, noised = answers[name], []
        for start in range(0, len(given), CHUNK):
            noised += noise_answers(plan, name, given[start : start + CHUNK]).tolist()
            progress(min(CHUNK, len(given) - start))
        secrets.SystemRandom().shuffle(noised)
        columns[names[0]] += [name] * len(noised)
        columns[names[1]] += noised
    return columns


def _noised_means(
    plan: Design, answers: dict[str, list[Any]], names: tuple[str, str], progress: Callable[[int], None]
) -> dict[str, list[Any]]:
    """Noise the mean of every stratum, with how many answers it is of."""
    columns: dict[str, list[Any]] = {names[0]: [], names[1]: [], COUNT: []}
    for name in sorted(answers):
        for column, cell in zip(
            columns.values(), (name, noise_mean(plan, name, answers[name]), len(answers[name])), strict=True
        ):
            column.append(cell)
        progress(len(answers[name]))
    return columns


def _require_drawn(drawn: dict[str, str], people: list[str], strata: list[str]) -> None:
    """Refuse answers of people who were not drawn, or drawn elsewhere, or twice; nobody is named."""
    if len(set(people)) < len(people):
        raise InputError("everyone may answer once, got someone's answer twice.")
    strangers = sum(person not in drawn for person in people)
    elsewhere = sum(drawn.get(person, name) != name for person, name in zip(people, strata, strict=True))
    if strangers or elsewhere:
        raise InputError(
            f"only people who were drawn may be noised, got {strangers:,} who were not and {elsewhere:,} "
            "with another stratum than they were drawn in."
        )
