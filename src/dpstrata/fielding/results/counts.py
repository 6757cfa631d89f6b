"""Rows and tables of forms, read again as counts: by stratum and form, and by table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.form_tables import office_budgets, sensitivity, table_entries, table_label
from dpstrata.fielding.grid_noise import places
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.mechanisms.kernels import point, s


class TableCounts(NamedTuple):
    """One table of a form, in all strata.

    Attributes
    ----------
    questions : tuple of str
        What it is about.
    levels : tuple of int
        The levels of each.
    counts : array or None
        How often each combination was reported, strata in rows; with noise they may be below zero.
    sums : array or None
        Where it is the sum of the levels of a number instead: that sum.
    noise : array
        Variance of the office's noise of each count, before they are put on their known total, or of the sum.
    """

    questions: tuple[str, ...]
    levels: tuple[int, ...]
    counts: FloatArray | None
    sums: FloatArray | None
    noise: FloatArray

    def about(self, question: str) -> TableCounts:
        """Add up over the other questions of a table of combinations."""
        if len(self.questions) == 1 or self.counts is None:
            return self
        at = self.questions.index(question)
        shape = (len(self.counts), *self.levels)
        others = tuple(axis + 1 for axis in range(len(self.levels)) if axis != at)
        added = self.counts.reshape(shape).sum(axis=others)
        number = math.prod(self.levels) // self.levels[at]
        return TableCounts((question,), (self.levels[at],), added, None, self.noise * number)


class FormCounts(NamedTuple):
    """Everything that was published of one form."""

    answers: IntArray
    """How many people of each stratum sent a row."""
    tables: tuple[TableCounts, ...]


def count_rows(
    plan: Design, strata: Sequence[str], forms: Sequence[str], cells: Sequence[str]
) -> list[FormCounts]:
    """Count published rows."""
    at = places(plan, list(strata))
    designed = plan.forms
    numbers = [_whole(form, 1, len(designed)) - 1 for form in forms]
    found = []
    for t, form in enumerate(designed):
        rows = [i for i, number in enumerate(numbers) if number == t]
        counts = np.zeros((len(plan.strata), form.cells))
        for i in rows:
            counts[at[i], _whole(cells[i], 0, form.cells - 1)] += 1
        answers = counts.sum(axis=1).astype(np.int64)
        _require_dealt(plan, t, answers)
        nothing = np.zeros(len(plan.strata))
        found.append(FormCounts(answers, (TableCounts(form.questions, form.levels, counts, None, nothing),)))
    return found


def _whole(text: Any, least: int, most: int) -> int:
    if str(text).isdecimal() and least <= int(text) <= most:
        return int(text)
    raise InputError("published rows must be those of this design, got other forms or cells.")


def _require_dealt(plan: Design, t: int, answers: IntArray) -> None:
    if np.any(answers < 0) or np.any(answers > plan.forms[t].sample_sizes):
        raise InputError(
            f"every stratum must have at most one answer on form {t + 1} for each person who was dealt it."
        )


def published_counts(
    plan: Design, values: Mapping[tuple[str, int, str, str], float], answers: Mapping[tuple[str, int], int]
) -> list[FormCounts]:
    """Read noised tables.

    Parameters
    ----------
    plan : Design
        A design that publishes tables.
    values : mapping
        By stratum, number of the form, table and entry.
    answers : mapping
        How many people answered, by stratum and number of the form.
    """
    found = []
    names = plan.strata.names
    for t, form in enumerate(plan.forms):
        given = np.array([answers[name, t + 1] for name in names], dtype=np.int64)
        _require_dealt(plan, t, given)
        tables = []
        for table in form.tables:
            entries = table_entries(plan, t, table.questions)
            label = table_label(table.questions)
            counts = np.array([[values[name, t + 1, label, entry] for entry in entries] for name in names])
            tables.append(_table_counts(plan, t, table.questions, table.budget, counts, given))
        found.append(FormCounts(given, tuple(tables)))
    return found


def _table_counts(
    plan: Design, t: int, questions: tuple[str, ...], share: float, counts: FloatArray, answers: IntArray
) -> TableCounts:
    """Put counts on their known total, which takes a part of the noise off; that of yes gives that of no."""
    form = plan.forms[t]
    levels = tuple(form.levels[form.questions.index(name)] for name in questions)
    budgets = office_budgets(plan)[:, t] * share
    moved = sensitivity(plan, t, questions)
    finite = np.where(np.isinf(budgets), 1.0, budgets)
    noise = np.where(np.isinf(budgets), 0.0, s(point(finite / moved)))
    cells = math.prod(levels)
    if counts.shape[1] == cells:
        counts = counts - (counts.sum(axis=1) - answers)[:, None] / cells
        return TableCounts(questions, levels, counts, None, noise)
    if levels == (2,):  # as if both had been counted, each with noise of its own
        yes = counts[:, 0]
        return TableCounts(questions, levels, np.stack([answers - yes, yes], axis=1), None, 2.0 * noise)
    return TableCounts(questions, levels, None, counts[:, 0], noise)
