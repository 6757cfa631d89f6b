"""The tables of a form: answers are added up to whole numbers, and the office adds whole numbers of noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from dpstrata.allocation.rows_on_forms import OF_SUMS
from dpstrata.designs.record import Design
from dpstrata.fielding.randomizers.noise import SummedReports, grid_noise
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.grid import AdditiveGridNoise, CellNoise, DiscreteLaplaceNoise
from dpstrata.privacy.mechanisms.kernels import point, s
from dpstrata.privacy.rows import places_of
from dpstrata.survey.forms import FormPlan, Table
from dpstrata.survey.questionnaires.kinds.category import SEPARATOR
from dpstrata.survey.questionnaires.question import Question

SUM_OF_LEVELS, SUM_OF_ANSWERS = "sum of levels", "sum"
_FINE = 2**20  # steps of raw answers that have no grid of their own, where the noise is not on one


class FormTable(ABC):
    """What the office publishes of some questions of a form.

    Parameters
    ----------
    form : DesignedForm or FormPlan
        The form.
    table : Table
        One of its tables.
    questions : sequence of Question
        Those of the table.

    Attributes
    ----------
    entries : tuple of str
        What each published number is.
    moved : int
        By how many units one person can move all of them together.
    """

    entries: tuple[str, ...]
    moved: int
    counted: ClassVar[bool] = False
    """Whether combinations of answers are counted."""

    def __init__(self, form: FormPlan, table: Table, questions: Sequence[Question]) -> None:
        self.form = form
        self.table = table
        self.questions = tuple(questions)
        self.levels = tuple(form.levels[form.questions.index(name)] for name in table.questions)

    @property
    def label(self) -> str:
        """Name it by its questions."""
        return label_of(self.table.questions)

    @abstractmethod
    def noise(self, budget: float) -> AdditiveGridNoise:
        """Return what the office adds to every number, at its budget for the table."""

    def draw_noise(self, budget: float) -> list[int]:
        """Draw it for all of them, at the office's budget for the form; none at an infinite one."""
        if math.isinf(budget):
            return [0] * len(self.entries)
        return [int(each) for each in self.noise(budget * self.table.budget).noise(len(self.entries))]

    def published(self, answers: Sequence[Any], drawn: Sequence[int], budget: float) -> list[float]:
        """Add up the answers on the form, with the noise that was drawn at the same budget."""
        totals = zip(self.totals(answers), drawn, strict=True)
        return [total + noise for total, noise in totals]

    @abstractmethod
    def totals(self, answers: Sequence[Any]) -> list[int]:
        """Add up the answers on the form to the number of each entry, in whole units."""

    def in_shares(self, sums: FloatArray, answers: IntArray) -> FloatArray:
        """Write published sums of so many answers in shares of the range."""
        raise NotImplementedError("counts are no sums")

    @abstractmethod
    def variance(self, budgets: FloatArray) -> FloatArray:
        """Variance of the noise of one published number, at the office's budgets for the form.

        Of a sum in squared ranges of the question.
        """

    @abstractmethod
    def figure(self, units: float, r: float) -> float:
        """Write a mean of so many units an answer as an estimate; rows are stretched by 1 + r."""


class Counts(FormTable):
    """How often each combination of answers was given, or reported: or of yes alone."""

    counted = True

    def __init__(self, form: FormPlan, table: Table, questions: Sequence[Question]) -> None:
        super().__init__(form, table, questions)
        self.entries = entries_of(self.questions, self.levels)
        self.moved = 1 if self.levels == (2,) else 2

    def noise(self, budget: float) -> AdditiveGridNoise:
        """Discrete Laplace noise."""
        return DiscreteLaplaceNoise(budget, self.moved)

    def totals(self, answers: Sequence[Any]) -> list[int]:
        """Count."""
        counts = self.counts(answers)
        return counts if len(counts) == len(self.entries) else counts[1:]

    def counts(self, answers: Sequence[Any]) -> list[int]:
        """Count every combination."""
        joint = np.ravel_multi_index(self._places(answers), self.levels)
        counts: list[int] = np.bincount(joint, minlength=math.prod(self.levels)).tolist()
        return counts

    def _places(self, answers: Sequence[Any]) -> list[IntArray]:
        """Return the levels of the answers to each question."""
        at = [self.form.questions.index(name) for name in self.table.questions]
        if self.form.raw:
            given = [
                [round(row[place] * (levels - 1)) for row in answers]
                for place, levels in zip(at, self.levels, strict=True)
            ]
            return [np.array(each, dtype=np.int64) for each in given]
        places = np.unravel_index(np.array(answers, dtype=np.int64), self.form.levels)
        return [np.asarray(places[position], dtype=np.int64) for position in at]

    def variance(self, budgets: FloatArray) -> FloatArray:
        """Return that of discrete Laplace noise."""
        return _where_finite(budgets, lambda e: s(point(e * self.table.budget / self.moved)))

    def figure(self, units: float, r: float) -> float:
        """Return the share."""
        return units * (1.0 + r) - r / math.prod(self.levels)


class LevelSums(Counts):
    """The sum of the levels of a number, on a form of rows."""

    counted = False

    def __init__(self, form: FormPlan, table: Table, questions: Sequence[Question]) -> None:
        super().__init__(form, table, questions)
        self.entries = (SUM_OF_LEVELS,)
        self.moved = self.levels[0] - 1

    def totals(self, answers: Sequence[Any]) -> list[int]:
        """Let every level count as many times as its place."""
        return [sum(place * number for place, number in enumerate(self.counts(answers)))]

    def in_shares(self, sums: FloatArray, answers: IntArray) -> FloatArray:
        """Divide by the number of steps of the range."""
        return sums / self.moved

    def variance(self, budgets: FloatArray) -> FloatArray:
        """Return the same, in squared ranges."""
        return super().variance(budgets) / self.moved**2

    def figure(self, units: float, r: float) -> float:
        """Return the mean, in the units of the answers."""
        share = (units / self.moved - 0.5) * (1.0 + r) + 0.5
        return float(self.questions[0].space.at_shares(np.array(share)))


class AnswerSums(FormTable):
    """The sum of answers that are no counts: raw, or as a mechanism of their own has devices report them.

    Parameters
    ----------
    form, table, questions
        As for every table.
    device : CellNoise, optional
        What devices do; ``None`` where the office gets raw answers.
    """

    def __init__(
        self,
        form: FormPlan,
        table: Table,
        questions: Sequence[Question],
        *,
        device: CellNoise | None = None,
    ) -> None:
        super().__init__(form, table, questions)
        (question,) = questions
        self.entries = (SUM_OF_ANSWERS,)
        self._reports = SummedReports(question.space, device, question.space.steps or _FINE)
        self.moved = self._reports.width

    def noise(self, budget: float) -> AdditiveGridNoise:
        """Staircase noise: on the grid of reports, or of raw answers on one so fine that it is not seen."""
        mechanism, device = get_mechanism(OF_SUMS, AnswerSpace()), self._reports.device
        noise = grid_noise(mechanism, budget, None if device is None else device.width)
        assert isinstance(noise, AdditiveGridNoise)
        return noise

    def published(self, answers: Sequence[Any], drawn: Sequence[int], budget: float) -> list[float]:
        """Write the sum as answers are written."""
        reports = self._reports
        if reports.device is None:
            reports = replace(reports, raw_steps=self.noise(budget * self.table.budget).steps)
        (noise,) = drawn
        return [reports.written(reports.steps(self._values(answers)) + noise, len(answers))]

    def totals(self, answers: Sequence[Any]) -> list[int]:
        """Add up reports, or raw answers on a fixed grid."""
        return [self._reports.steps(self._values(answers))]

    def _values(self, answers: Sequence[Any]) -> FloatArray | IntArray:
        if self._reports.device is not None:
            return np.array(answers, dtype=np.int64)
        place = self.form.questions.index(self.questions[0].name)
        return np.array([float(row[place]) for row in answers])

    def in_shares(self, sums: FloatArray, answers: IntArray) -> FloatArray:
        """Take the lower end of the range off every answer."""
        space = self.questions[0].space
        return (sums - answers * space.lower) / space.range

    def variance(self, budgets: FloatArray) -> FloatArray:
        """Return that of staircase noise, as far as devices' readings reach."""
        device, mechanism = self._reports.device, get_mechanism(OF_SUMS, AnswerSpace())
        reach = 1.0 if device is None else device.width * device.origin_and_unit[1]
        return _where_finite(
            budgets, lambda e: reach**2 * mechanism.variance_at(point(e * self.table.budget))
        )

    def figure(self, units: float, r: float) -> float:
        """Return the mean, in the units of the answers."""
        return self._reports.mean(units)


def _where_finite(budgets: FloatArray, variance: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return the variance of noise; none at an infinite budget."""
    none = np.isinf(budgets)
    return np.where(none, 0.0, variance(np.where(none, 1.0, budgets)))


def tables_of(plan: Design, t: int, device: CellNoise | None = None) -> list[FormTable]:
    """Return the tables of a form, in their order.

    Parameters
    ----------
    plan : Design
        The design.
    t : int
        The position of the form.
    device : CellNoise, optional
        What devices do to its only question, where that has a mechanism of its own.
    """
    form = plan.inputs.chosen_forms[t]
    named = {question.name: question for question in plan.inputs.questions}
    return [_table(form, each, [named[name] for name in each.questions], device) for each in form.tables]


def _table(
    form: FormPlan, table: Table, questions: Sequence[Question], device: CellNoise | None
) -> FormTable:
    if len(questions) > 1 or not questions[0].of_kind.averaged or questions[0].levels == "all":
        return Counts(form, table, questions)
    (levels,) = (
        form.levels if len(form.levels) == 1 else (form.levels[form.questions.index(questions[0].name)],)
    )
    if form.keeps_rows or levels == 2:
        return LevelSums(form, table, questions)
    return AnswerSums(form, table, questions, device=device)


def label_of(questions: Sequence[str]) -> str:
    """Name a table by its questions."""
    return f" {SEPARATOR} ".join(questions)


@lru_cache(maxsize=1024)  # every stratum asks for them
def entries_of(questions: tuple[Question, ...], levels: tuple[int, ...]) -> tuple[str, ...]:
    """Name what is counted: the combinations of answers, or yes alone."""
    if (
        len(questions) == 1
        and not questions[0].of_kind.averaged
        and not questions[0].of_kind.cases(questions[0])
    ):
        return ("yes",)
    return tuple(
        f" {SEPARATOR} ".join(
            str(question.of_kind.answer_at(question, place, number))
            for question, place, number in zip(questions, places_of(cell, levels), levels, strict=True)
        )
        for cell in range(math.prod(levels))
    )
