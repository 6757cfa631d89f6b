"""What forms have in common: reports that are cells or raw rows, and tables that they are added up to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import COUNT, ENTRY, TABLE, VALUE, read_position
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.randomizers.randomizer import Figures, Randomizer
from dpstrata.fielding.randomizers.tables import FormTable, tables_of
from dpstrata.files.cells import text_of
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.rows import DENOMINATOR, odds_below, spendable
from dpstrata.survey.questionnaires.question import Question

CELL = "cell"


class FormRandomizer(Randomizer):
    """What is done to the answers on one of the forms of a design."""

    marks: ClassVar[tuple[str, ...]] = (FORM, CELL)
    sum_columns: ClassVar[tuple[str, ...]] = (FORM, TABLE, ENTRY, VALUE, COUNT)
    figure_columns: ClassVar[tuple[str, ...]] = (TABLE, ENTRY)

    def __init__(self, plan: Design, form: int) -> None:
        self.designed = plan.inputs.chosen_forms[form]
        named = {question.name: question for question in plan.inputs.questions}
        super().__init__(plan, form, [named[name] for name in self.designed.questions])

    # --- on the device ------------------------------------------------------------------------

    def read(self, question: Question, answer: Any) -> Any | None:
        """Find where an answer lies between its first level and its last."""
        return question.of_kind.share_of(question, answer, clip=self.plan.inputs.clip)

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

    def cells_in(self, stratum: int) -> int:
        """How many different cells devices of a stratum can send."""
        raise NotImplementedError(f"form {self.form + 1} has no cells")

    def read_reports(self, table: Table, column: str, rows: Sequence[int]) -> list[Any | None]:
        """Read cells; those that no device of the stratum sends are refused by :meth:`check_reports`."""
        texts = [text_of(table.columns[column][row]) for row in rows]
        cells = [None if text == "" else read_position(text) for text in texts]
        most = max(map(self.cells_in, range(len(self.plan.strata))))
        wrong = [
            row
            for row, text, cell in zip(rows, texts, cells, strict=True)
            if text != "" and (cell is None or cell >= most)
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

    @cached_property
    def tables(self) -> list[FormTable]:
        """What is published of the form, where answers are added up."""
        return tables_of(self.plan, self.form)

    @property
    def figures(self) -> Sequence[Figures]:
        """The figures of every table; all devices have the same odds."""
        return [TableFigures(self.plan, table) for table in self.tables]

    @property
    def entries(self) -> int:
        """Count the numbers of all tables."""
        return sum(len(table.entries) for table in self.tables)

    @cached_property
    def _office_budgets(self) -> FloatArray:
        return office_budgets(self.plan)

    def draw_office_noise(self, stratum: int) -> list[int]:
        """Draw noise for every number of every table; none where that of devices is enough."""
        budget = float(self._office_budgets[stratum, self.form])
        return [number for table in self.tables for number in table.draw_noise(budget)]

    def noised_sums(
        self, stratum: int, answers: Sequence[Any], noise: Sequence[int], *, from_devices: bool
    ) -> list[tuple[Any, ...]]:
        """Add answers up to tables; raw ones are randomised first, as devices would."""
        budget = float(self._office_budgets[stratum, self.form])
        given = self.as_sent(stratum, answers, from_devices=from_devices)
        rows: list[tuple[Any, ...]] = []
        start = 0
        for table in self.tables:
            drawn = noise[start : start + len(table.entries)]
            start += len(drawn)
            numbers = table.published(given, drawn, budget)
            rows += [
                (self.form + 1, table.label, entry, number, len(given))
                for entry, number in zip(table.entries, numbers, strict=True)
            ]
        return rows

    def as_sent(self, stratum: int, answers: Sequence[Any], *, from_devices: bool) -> Sequence[Any]:
        """Return answers as devices send them: raw ones are randomised here."""
        return answers if from_devices else self.randomized(stratum, answers)


class TableFigures(Figures):
    """The figures of a table, made of the answers of many strata."""

    def __init__(self, plan: Design, table: FormTable) -> None:
        self._table, self._r = table, 0.0
        self.entries, self.moved = table.entries, table.moved
        if table.form.keeps_rows:
            self._r = table.form.cells * DENOMINATOR / odds_in(plan, 0)

    @property
    def label(self) -> str:
        """Name the question."""
        return self._table.label

    @property
    def scale(self) -> float:
        """K over the share of the budget."""
        return self.moved / self._table.table.budget

    @property
    def noise(self) -> float:
        """The variance of the noise of one figure over that of figures of scale 1, in squared ranges."""
        unit = 1.0 if self._table.counted else self.moved
        return ((1.0 + self._r) * self.scale / unit) ** 2

    def add_up(self, stratum: int, answers: Sequence[Any]) -> list[int]:
        """Add up what is on the form."""
        return self._table.totals(answers)

    def figure(self, units: float) -> float:
        """Write a share or a mean."""
        return self._table.figure(units, self._r)


def odds_in(plan: Design, place: int) -> int:
    """Return P of a stratum: that of all devices, or of published answers at its own budget."""
    return odds_below(spendable(budget_of_devices(plan, place)))


def budget_of_devices(plan: Design, place: int) -> float:
    """Return what the device of a person of a stratum may spend."""
    budget = plan.inputs.device_epsilon
    return plan.local_epsilon(place) if budget is None else budget


def office_budgets(plan: Design) -> FloatArray:
    """Return the budget of the office's noise on all tables of each form (columns), by stratum.

    It is infinite where none is needed.
    """
    return plan.problem.forms.office_budgets(plan.local_epsilons)
