"""A row of answers to the questions of a form: kept as a whole, or replaced by a random one.

Numbers are put on the levels of the design at random, without bias. The row is then one of the cells of its
form, and a device sends the number of a cell. Rows are published one by one, or added up to the tables of the
form.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpstrata.designs.record import Design
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.randomizers.form import CELL, FormRandomizer, odds_in
from dpstrata.privacy.rows import Source, cell_of, level_of, places_of, randomized_cell


class RowRandomizer(FormRandomizer):
    """A row that is kept, or replaced with the probability that the design states."""

    def __init__(self, plan: Design, form: int) -> None:
        super().__init__(plan, form)
        self._published: dict[int, dict[str, Any]] = {}  # far fewer than rows

    def randomized(
        self, stratum: int, raw: Sequence[tuple[Fraction, ...]], source: Source = secrets.token_bytes
    ) -> list[Any]:
        """Put answers on levels, then keep or replace the rows.

        ``source`` returns as many random bytes as it is asked for. Others than the operating system's are for
        tests alone: whoever knows the bytes knows the answers.
        """
        odds, levels, cells = odds_in(self.plan, stratum), self.designed.levels, self.designed.cells
        reports = []
        for shares in raw:
            places = [
                level_of(share, range(number), source) for share, number in zip(shares, levels, strict=True)
            ]
            reports.append(randomized_cell(cell_of(places, levels), cells, odds, source))
        return reports

    def published(self, stratum: int, report: Any) -> dict[str, Any]:
        """Write the form, the cell, and the answers that it stands for."""
        if report not in self._published:
            levels = self.designed.levels
            answers = {
                question.name: question.of_kind.answer_at(question, place, number)
                for question, place, number in zip(
                    self.questions, places_of(report, levels), levels, strict=True
                )
            }
            self._published[report] = {FORM: self.form + 1, CELL: report, **answers}
        return self._published[report]

    def levels_in_browser(self) -> tuple[int, ...]:
        """Return the levels of the form."""
        return self.designed.levels

    def cells_in(self, stratum: int) -> int:
        """Return K."""
        return self.designed.cells
