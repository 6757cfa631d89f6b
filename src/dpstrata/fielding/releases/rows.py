"""Rows of a questionnaire, published one by one: a share of them is replaced by random ones."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import STRATUM
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.grid_noise import place_of
from dpstrata.fielding.questionnaires.files import CELL, RawRow, Row
from dpstrata.fielding.questionnaires.rows import answers_of, form_of, odds_in
from dpstrata.fielding.releases.base import Fielding
from dpstrata.privacy.device import cell_of, level_of, randomized_cell

if TYPE_CHECKING:
    pass


def randomized(plan: Design, stratum: str, rows: Sequence[Row | RawRow]) -> list[Row]:
    """Do to raw rows what devices do; what devices sent stays as it is."""
    forms, odds = plan.forms, odds_in(plan, place_of(plan, stratum))
    sent = []
    for row in rows:
        if isinstance(row, RawRow):
            form = forms[row.form - 1]
            levels = [level_of(share, number) for share, number in zip(row.shares, form.levels, strict=True)]
            row = Row(row.form, randomized_cell(cell_of(levels, form.levels), form.cells, odds))
        sent.append(row)
    return sent


class RowsFielding(Fielding):
    """Publish every row, shuffled within strata, as answers and as the number of its cell."""

    def noised(
        self,
        plan: Design,
        rows: Mapping[str, Sequence[Row | RawRow]],
        progress: Callable[[int], None],
    ) -> dict[str, list[Any]]:
        """Randomise rows where the office got raw ones, and shuffle them within strata."""
        names = [question.name for question in plan.inputs.questions]
        columns: dict[str, list[Any]] = {name: [] for name in (STRATUM, FORM, CELL, *names)}
        asked = {number: form_of(plan, number) for number in range(1, len(plan.forms) + 1)}
        written: dict[Row, dict[str, Any]] = {}  # far fewer than rows
        for stratum in sorted(rows):
            given = randomized(plan, stratum, rows[stratum])
            secrets.SystemRandom().shuffle(given)
            for row in given:
                if row not in written:
                    written[row] = answers_of(*asked[row.form], row.cell)
                for name, value in ((STRATUM, stratum), (FORM, row.form), (CELL, row.cell)):
                    columns[name].append(value)
                for name in names:
                    columns[name].append(written[row].get(name))
            progress(len(given))
        return columns

    def noise_answers(self, plan: Design, stratum: str, answers: Any) -> Any:
        """Refuse: a questionnaire has rows."""
        raise InputError("a design with a questionnaire randomises whole rows; use noise_row.")
