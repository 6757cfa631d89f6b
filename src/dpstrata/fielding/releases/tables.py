"""Tables of a questionnaire: rows are added up by stratum and form, and the office's noise is drawn once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.questionnaires.counts import (
    counts_of_cells,
    office_budgets,
    published_counts,
    sensitivity,
    table_entries,
    table_label,
)
from dpstrata.fielding.questionnaires.estimates import QuestionnaireEstimation, estimate_questions
from dpstrata.fielding.questionnaires.files import RawRow, Row
from dpstrata.fielding.releases.rows import RowsFielding, randomized
from dpstrata.fielding.releases.sums import COUNT, STRATUM, require_noise_for
from dpstrata.fielding.sample import ReportKey
from dpstrata.files.cells import text_of
from dpstrata.files.headers import require_columns
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import IntArray
from dpstrata.privacy.mechanisms.grid import DiscreteLaplaceNoise
from dpstrata.words.numbers import read_number

TABLE, ENTRY, VALUE = "table", "entry", "count"


class TablesFielding(RowsFielding):
    """Add rows up, and noise every table, once."""

    def drawn_for(self, plan: Design, counts: IntArray) -> str:
        """Name what the office's noise depends on beside the design: nothing."""
        return ""

    def draw_office_noise(self, plan: Design, counts: IntArray) -> dict[str, int]:
        """Draw the noise of every published number, however many answers came."""
        drawn: dict[str, int] = {}
        budgets = office_budgets(plan).tolist()
        for i in range(len(plan.strata)):
            for t, form in enumerate(plan.forms):
                budget = budgets[i][t]
                for place, table in enumerate(form.tables):
                    entries = table_entries(plan, t, table.questions)
                    noise = [0] * len(entries)
                    if budget != float("inf"):
                        moved = sensitivity(plan, t, table.questions)
                        layer = DiscreteLaplaceNoise(budget * table.budget, moved)
                        noise = layer.noise(len(entries)).tolist()
                    drawn |= {
                        _label(ReportKey(i, 0, t), place, entry): number for entry, number in enumerate(noise)
                    }
        return drawn

    def published(
        self,
        plan: Design,
        rows: Mapping[str, Sequence[Row | RawRow]],
        noise: Mapping[str, int],
        progress: Callable[[int], None],
    ) -> dict[str, list[Any]]:
        """Make the table that is published: a row for every entry of every table."""
        require_noise_for(noise, self._labels(plan))
        columns: dict[str, list[Any]] = {name: [] for name in (STRATUM, FORM, TABLE, ENTRY, VALUE, COUNT)}
        for i, stratum in enumerate(plan.strata.names):
            given = randomized(plan, stratum, rows[stratum])
            for t, form in enumerate(plan.forms):
                cells = [row.cell for row in given if row.form == t + 1]
                for place, table in enumerate(form.tables):
                    label = table_label(table.questions)
                    entries = table_entries(plan, t, table.questions)
                    counts = counts_of_cells(plan, t, cells, table.questions)
                    for number, (entry, count) in enumerate(zip(entries, counts, strict=True)):
                        value = count + noise[_label(ReportKey(i, 0, t), place, number)]
                        for name, cell in (
                            (STRATUM, stratum),
                            (FORM, t + 1),
                            (TABLE, label),
                            (ENTRY, entry),
                            (VALUE, value),
                            (COUNT, len(cells)),
                        ):
                            columns[name].append(cell)
            progress(len(given))
        return columns

    def _labels(self, plan: Design) -> list[str]:
        """Name every number that is published."""
        return [
            _label(ReportKey(i, 0, t), place, number)
            for i in range(len(plan.strata))
            for t, form in enumerate(plan.forms)
            for place, table in enumerate(form.tables)
            for number in range(len(table_entries(plan, t, table.questions)))
        ]

    def read(self, table: Table, stratum: str, answer: str) -> tuple[Sequence[Any], ...]:
        """Read published tables."""
        names = (stratum, FORM, TABLE, ENTRY, VALUE, COUNT)
        require_columns(table.source, table.columns, *names)
        return tuple(table.columns[name] for name in names)

    def estimate(self, plan: Design, *columns: Any) -> QuestionnaireEstimation:
        """Estimate from noised tables."""
        values: dict[tuple[str, int, str, str], float] = {}
        answers: dict[tuple[str, int], int] = {}
        for stratum, form, table, entry, value, count in zip(*columns, strict=True):
            number, people, which = (read_number(cell) for cell in (value, count, form))
            if (
                number is None
                or people is None
                or which is None
                or (number % 1, people % 1, which % 1) != (0, 0, 0)
            ):
                raise InputError("published tables must have whole numbers, got others.")
            key = text_of(stratum), int(which), text_of(table), text_of(entry)
            if key in values or answers.setdefault(key[:2], int(people)) != people:
                raise InputError(
                    "published tables must have every entry once, and one number of answers for each stratum "
                    "and form, got others."
                )
            values[key] = number
        try:
            return estimate_questions(plan, published_counts(plan, values, answers))
        except KeyError:
            raise InputError("published tables must be those of this design, got others.") from None


def _label(key: ReportKey, table: int, entry: int) -> str:
    """Name a published number by its places, which are never the same for two of them."""
    return f"{key.stratum}/{key.part}/{key.form}/{table}/{entry}"
