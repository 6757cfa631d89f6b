"""A row of answers to the questions of a form: kept as a whole, or replaced by a random one.

Numbers are put on the levels of the design at random, without bias. The row is then one of the cells of its
form, and a device sends the number of a cell. Rows are published one by one, or added up to the tables of the
form.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import COUNT, ENTRY, TABLE, VALUE, read_position
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.randomizers.randomizer import Randomizer
from dpstrata.files.cells import text_of
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms.grid import DiscreteLaplaceNoise
from dpstrata.privacy.rows import Source, cell_of, level_of, odds_below, places_of, randomized_cell, spendable
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR
from dpstrata.survey.questionnaires.question import Question

CELL = "cell"


class RowRandomizer(Randomizer):
    """A row that is kept, or replaced with the probability that the design states."""

    marks: ClassVar[tuple[str, ...]] = (FORM, CELL)
    sum_columns: ClassVar[tuple[str, ...]] = (FORM, TABLE, ENTRY, VALUE, COUNT)

    def __init__(self, plan: Design, form: int) -> None:
        self.designed = plan.forms[form]
        named = {question.name: question for question in plan.inputs.questions}
        super().__init__(plan, form, [named[name] for name in self.designed.questions])
        self._published: dict[int, dict[str, Any]] = {}  # far fewer than rows

    # --- on the device ------------------------------------------------------------------------

    def read(self, question: Question, answer: Any) -> Any | None:
        """Find where an answer lies between its first level and its last."""
        return question.of_kind.share_of(question, answer, clip=self.plan.inputs.clip)

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

    def published(self, report: Any) -> dict[str, Any]:
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

    # --- at the office ------------------------------------------------------------------------

    def report_column(self, table: Table) -> str | None:
        """Return the column of cells, if the table has it, and then none of a question."""
        if CELL not in table.columns:
            return None
        both = [name for name in self.plan.inputs.questions.names if name in table.columns]
        if both:
            raise InputError(
                f"{table.source} must have either a column {CELL!r}, as devices send it, or a column for "
                f"each question, got {CELL!r} and {both[0]!r}.",
                where=table.source,
            )
        return CELL

    def read_reports(self, table: Table, column: str, rows: Sequence[int]) -> list[Any | None]:
        """Read cells of this form."""
        texts = [text_of(table.columns[column][row]) for row in rows]
        cells = [None if text == "" else read_position(text) for text in texts]
        wrong = [
            row
            for row, text, cell in zip(rows, texts, cells, strict=True)
            if text != "" and (cell is None or cell >= self.designed.cells)
        ]
        if wrong:
            raise InputError(
                f"{table.source}: column {column!r}, {table.places(wrong)}: not a cell of the form that this "
                "person was given."
            )
        return cells

    def reports_of_cells(self, stratum: int, cells: Sequence[int]) -> list[Any]:
        """Return the cells, which are what devices send."""
        return list(cells)

    # --- added up -----------------------------------------------------------------------------

    @property
    def entries(self) -> int:
        """Count the numbers of all tables."""
        return sum(len(self._entries_of(place)) for place in range(len(self.designed.tables)))

    @cached_property
    def _office_budgets(self) -> FloatArray:
        return office_budgets(self.plan)

    def _entries_of(self, table: int) -> tuple[str, ...]:
        return table_entries(self.plan, self.form, self.designed.tables[table].questions)

    def draw_office_noise(self, stratum: int) -> list[int]:
        """Draw noise for every number of every table; none where that of devices is enough."""
        budget = float(self._office_budgets[stratum, self.form])
        drawn: list[int] = []
        for place, table in enumerate(self.designed.tables):
            noise = [0] * len(self._entries_of(place))
            if budget != float("inf"):
                moved = sensitivity(self.plan, self.form, table.questions)
                noise = DiscreteLaplaceNoise(budget * table.budget, moved).noise(len(noise)).tolist()
            drawn += noise
        return drawn

    def noised_sums(
        self, stratum: int, answers: Sequence[Any], noise: Sequence[int], *, from_devices: bool
    ) -> list[tuple[Any, ...]]:
        """Add rows up to tables; raw ones are randomised first, as devices would."""
        cells = answers if from_devices else self.randomized(stratum, answers)
        drawn, rows = iter(noise), []
        for place, table in enumerate(self.designed.tables):
            label = table_label(table.questions)
            counts = counts_of_cells(self.plan, self.form, cells, table.questions)
            for entry, count in zip(self._entries_of(place), counts, strict=True):
                rows.append((self.form + 1, label, entry, count + next(drawn), len(cells)))
        return rows


def odds_in(plan: Design, place: int) -> int:
    """Return P of a stratum: that of all devices, or of published rows at its own budget."""
    budget = plan.inputs.device_epsilon
    return odds_below(spendable(plan.local_epsilon(place) if budget is None else budget))


def table_entries(plan: Design, t: int, questions: tuple[str, ...]) -> tuple[str, ...]:
    """Name what a published table of a form has: its combinations, the count of yes, or a sum of levels."""
    form = plan.forms[t]
    named = {question.name: question for question in plan.inputs.questions}
    levels = dict(zip(form.questions, form.levels, strict=True))
    return _entries(tuple(named[name] for name in questions), tuple(levels[name] for name in questions))


@lru_cache(maxsize=1024)  # every stratum asks for them
def _entries(questions: tuple[Question, ...], levels: tuple[int, ...]) -> tuple[str, ...]:
    if len(questions) == 1:
        (question,) = questions
        if question.of_kind.averaged:
            return ("sum of levels",)
        if not question.of_kind.cases(question):
            return ("yes",)
    return tuple(
        f" {SEPARATOR} ".join(
            str(question.of_kind.answer_at(question, place, number))
            for question, place, number in zip(questions, places_of(cell, levels), levels, strict=True)
        )
        for cell in range(math.prod(levels))
    )


def counts_of_cells(plan: Design, t: int, cells: Sequence[int], questions: tuple[str, ...]) -> list[int]:
    """Add up the rows of a form to what one of its tables publishes, before noise."""
    form = plan.forms[t]
    at = [form.questions.index(name) for name in questions]
    levels = [form.levels[place] for place in at]
    places = np.unravel_index(np.array(cells, dtype=np.int64), form.levels)
    joint = np.ravel_multi_index([places[position] for position in at], levels)
    counts: list[int] = np.bincount(joint, minlength=math.prod(levels)).tolist()
    if len(table_entries(plan, t, questions)) == len(counts):
        return counts
    # the count of yes, or the sum of levels: every level counts as many times as its place
    return [sum(place * number for place, number in enumerate(counts))]


def office_budgets(plan: Design) -> FloatArray:
    """Return the budget of the office's noise on all tables of each form (columns), by stratum.

    It is infinite where none is needed.
    """
    return plan.problem.forms.office_budgets(plan.local_epsilons)


def sensitivity(plan: Design, t: int, questions: tuple[str, ...]) -> int:
    """By how much one person moves a table in all: two counts, the count of yes, or the sum of levels."""
    if len(questions) > 1:
        return 2
    form = plan.forms[t]
    kind = next(each.of_kind for each in plan.inputs.questions if each.name == questions[0])
    return round(kind.in_table(form.levels[form.questions.index(questions[0])], None)[1])


def table_label(questions: Sequence[str]) -> str:
    """Name a table by its questions."""
    return f" {SEPARATOR} ".join(questions)
