"""The answers of a survey by stratum, part and form: raw, or as devices sent them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import read_answers, read_position
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.randomizers import randomizers_of
from dpstrata.fielding.randomizers.noise import require_invited
from dpstrata.fielding.randomizers.randomizer import Randomizer
from dpstrata.fielding.sample import ReportKey
from dpstrata.files.cells import text_of
from dpstrata.files.headers import require_columns
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import IntArray


def report_keys(plan: Design) -> list[ReportKey]:
    """List all keys of a design: every form in every stratum."""
    forms = len(randomizers_of(plan))
    return [ReportKey(i, 0, form) for i in range(len(plan.strata)) for form in range(forms)]


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """Answers that were collected.

    Attributes
    ----------
    answers : mapping
        By key: what people answered, or what their devices made of it. Keys without an answer may be missing.
    from_devices : bool
        Whether devices randomised all of them.
    """

    answers: Mapping[ReportKey, Sequence[Any]] = field(repr=False)
    from_devices: bool

    def of(self, key: ReportKey) -> Sequence[Any]:
        """Return the answers of a key."""
        return self.answers.get(key, ())

    def counts(self, plan: Design) -> IntArray:
        """How many answered in each stratum."""
        counts = np.zeros(len(plan.strata), dtype=np.int64)
        for key, answers in self.answers.items():
            counts[key.stratum] += len(answers)
        return counts

    def require_sound(self, plan: Design) -> None:
        """Require some answer, no more than were invited, and reports that devices can send."""
        counts = self.counts(plan)
        if not counts.any():
            raise InputError("there must be at least one answer, got none; nothing was released.")
        for stratum, number in enumerate(counts.tolist()):
            require_invited(plan, stratum, number)
        if self.from_devices:
            randomizers = randomizers_of(plan)
            for key, reports in self.answers.items():
                randomizers[key.form].check_reports(key.stratum, reports)

    def require_every_question(self, plan: Design) -> None:
        """Require an answer to every question in some stratum."""
        randomizers = randomizers_of(plan)
        forms = {key.form for key, answers in self.answers.items() if answers}
        asked = {question.name for form in forms for question in randomizers[form].questions}
        missing = [name for name in plan.inputs.questions.names if name not in asked]
        if missing:
            listed = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
            raise InputError(
                f"every question must have an answer, got none to {listed}, so it could not be estimated. "
                "Wait for answers from people with its forms."
            )


def read_collected(
    table: Table, plan: Design, keys: Sequence[ReportKey | None]
) -> tuple[list[int], Collected]:
    """Read the answers of people who were drawn, a row for each.

    Someone who left a question blank did not answer, unless it may be left blank: then a blank is an answer.

    Parameters
    ----------
    table : Table
        With a column for each question, or with what devices sent.
    plan : Design
        The design.
    keys : sequence of ReportKey or None
        What the report of each person is filed under; ``None`` for someone who was not drawn, and whose
        answers are not read.

    Returns
    -------
    rows : list of int
        Those of people who answered.
    collected : Collected
        What they answered, in the order of the rows.
    """
    dealt = {row: key for row, key in enumerate(keys) if key is not None}
    _require_dealt(table, dealt)
    randomizers = randomizers_of(plan)
    column = randomizers[0].report_column(table)
    values: dict[int, Any] = {}
    if column is None:
        values = _read_raw(table, randomizers, dealt)
    else:
        require_columns(table.source, table.columns, column, sheets=table.sheets, about_people=True)
        refusals: list[InputError] = []
        for randomizer in randomizers:
            rows = [row for row, key in dealt.items() if key.form == randomizer.form]
            try:
                values |= zip(rows, randomizer.read_reports(table, column, rows), strict=True)
            except InputError as refusal:
                refusals.append(refusal)
        _refuse(table, refusals)
    answered = [row for row in dealt if values.get(row) is not None]
    answers: dict[ReportKey, list[Any]] = {}
    for row in answered:
        answers.setdefault(dealt[row], []).append(values[row])
    return answered, Collected(answers, column is not None)


def _read_raw(
    table: Table, randomizers: Sequence[Randomizer], dealt: Mapping[int, ReportKey]
) -> dict[int, Any]:
    """Read a column for each question, of those who answered all that may not be left blank."""
    plan = randomizers[0].plan
    names = plan.inputs.questions.names
    require_columns(table.source, table.columns, *names, sheets=table.sheets, about_people=True)
    required = [[each.name for each in randomizer.questions if not each.blank] for randomizer in randomizers]
    answered = [
        row
        for row, key in dealt.items()
        if all(text_of(table.columns[name][row]) != "" for name in required[key.form])
    ]
    found: dict[str, dict[int, Any]] = {}
    refusals: list[InputError] = []
    for question in plan.inputs.questions:
        asking = [randomizer for randomizer in randomizers if question in randomizer.questions]
        forms = {randomizer.form for randomizer in asking}
        rows = [row for row in answered if dealt[row].form in forms]
        read, check = partial(asking[0].read, question), partial(asking[0].check, question)
        try:
            given = read_answers(table, question, rows, read, check)
            found[question.name] = dict(zip(rows, given, strict=True))
        except InputError as refusal:
            refusals.append(refusal)
    _refuse(table, refusals)
    return {
        row: randomizers[dealt[row].form].raw_of(
            [found[question.name][row] for question in randomizers[dealt[row].form].questions]
        )
        for row in answered
    }


def _refuse(table: Table, refusals: Sequence[InputError]) -> None:
    """Say all at once what is wrong with a table."""
    if len(refusals) == 1:
        raise refusals[0]
    if refusals:
        raise InputError(" ".join(map(str, refusals)), where=table.source)


def _require_dealt(table: Table, dealt: Mapping[int, ReportKey]) -> None:
    """Refuse a form other than the one that a person was dealt, where the file has a column for it."""
    forms = table.columns.get(FORM)
    if forms is None:
        return
    said = {row: text_of(forms[row]) for row in dealt}
    wrong = [row for row in dealt if said[row] != "" and read_position(said[row]) != dealt[row].form + 1]
    if wrong:
        raise InputError(
            f"{table.source}: column {FORM!r}, {table.places(wrong)}: the form must be the one that this "
            "person was dealt in the sample.",
            where=table.source,
        )
