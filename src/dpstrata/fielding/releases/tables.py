"""Tables of a questionnaire: rows are added up by stratum and form, and the office's noise is drawn once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpstrata.designs.record import Design
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.published_columns import COUNT, ENTRY, STRATUM, TABLE, VALUE
from dpstrata.fielding.questionnaires.counts import (
    counts_of_cells,
    office_budgets,
    sensitivity,
    table_entries,
    table_label,
)
from dpstrata.fielding.questionnaires.files import RawRow, Row
from dpstrata.fielding.releases.rows import RowsFielding, randomized
from dpstrata.fielding.releases.sums import require_noise_for
from dpstrata.fielding.sample import ReportKey
from dpstrata.numerics.arrays import IntArray
from dpstrata.privacy.mechanisms.grid import DiscreteLaplaceNoise


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


def _label(key: ReportKey, table: int, entry: int) -> str:
    """Name a published number by its places, which are never the same for two of them."""
    return f"{key.stratum}/{key.part}/{key.form}/{table}/{entry}"
