"""What a form must say about its reports: how they are made on devices, taken in, and added up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.files.tables import Table
from dpstrata.survey.questionnaires.question import Question


class Figures(ABC):
    """What the office publishes of a question for a group of strata: one figure, or one for each answer."""

    entries: tuple[str, ...]
    """What each figure is."""
    moved: int
    """By how many units one person can move the totals of all of them together."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Name the question."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """The scale of the noise of a mean of the answers in units, where the design has a scale of 1."""

    @abstractmethod
    def add_up(self, stratum: int, answers: Sequence[Any]) -> list[int]:
        """Add up the answers of people of one stratum to the total of each figure, in whole units."""

    @abstractmethod
    def figure(self, units: float) -> float:
        """Write a mean of so many units an answer as an estimate."""


class Randomizer(ABC):
    """What is done to the answers on one form of a design.

    What people answer is *raw* until a device, or the office in its place, makes a *report* of it.

    Parameters
    ----------
    plan : Design
        The design.
    form : int
        The position of the form, from 0.
    questions : sequence of Question
        Its questions.
    """

    marks: ClassVar[tuple[str, ...]] = ()
    """Columns of published reports beside those of the questions."""
    sum_columns: ClassVar[tuple[str, ...]]
    """Columns of published sums after the stratum."""
    figure_columns: ClassVar[tuple[str, ...]] = ()
    """Columns of published figures before what they are for: which one it is, where there are several."""

    def __init__(self, plan: Design, form: int, questions: Sequence[Question]) -> None:
        self.plan = plan
        self.form = form
        self.questions = tuple(questions)

    # --- on the device ------------------------------------------------------------------------

    @abstractmethod
    def read(self, question: Question, answer: Any) -> Any | None:
        """Read one answer as people write it; ``None`` for what is none."""

    def check(self, question: Question, answers: Sequence[Any], where: str | None = None) -> None:  # noqa: B027
        """Refuse answers that can be read but are not allowed; no message shows one."""

    def raw_of(self, answers: Sequence[Any]) -> Any:
        """Put together what one person answered, one answer for each question."""
        return tuple(answers)

    def raw(self, answers: Any) -> Any:
        """Read what one person answered: the answer to the only question, or a mapping by question.

        Raises
        ------
        InputError
            If an answer is missing or not allowed, or to no question of the form; no message shows it.
        """
        if not isinstance(answers, Mapping):
            if len(self.questions) > 1:
                raise InputError(
                    f"answers must be a mapping from question to answer, got {type(answers).__name__}."
                )
            answers = {self.questions[0].name: answers}
        found = []
        for question in self.questions:
            answer = answers.get(question.name)
            plain = answer is None or isinstance(answer, str | Real) or np.ndim(answer) == 0
            try:
                read = self.read(question, answer) if plain else None
            except ValueError:  # a number too long to be written
                read = None
            if read is None:
                must = f"the answer must be {question.of_kind.written(question)}"
                raise InputError(f"question {question.name!r}: {must}.")
            found.append(read)
        unknown = set(answers) - {question.name for question in self.questions}
        if unknown:
            raise InputError(f"form {self.form + 1} has no question {min(map(str, unknown))!r}.")
        return self.raw_of(found)

    @abstractmethod
    def randomized(self, stratum: int, raw: Sequence[Any]) -> list[Any]:
        """Make the reports of people of one stratum, as their devices would; each spends its budget."""

    @abstractmethod
    def published(self, stratum: int, report: Any) -> dict[str, Any]:
        """Write a report of a stratum by column: what it says of every question, after its ``marks``."""

    @abstractmethod
    def levels_in_browser(self) -> tuple[int, ...]:
        """Return how many levels of each answer a browser is told; refuse what browsers do not do."""

    def specification(self, stratum: int) -> dict[str, Any] | None:
        """Return what a browser must know, beside the odds, of how cells are drawn; ``None`` for rows."""
        return None

    # --- at the office ------------------------------------------------------------------------

    @abstractmethod
    def report_column(self, table: Table) -> str | None:
        """Return the column of reports; ``None`` where a table has raw answers, by question."""

    @abstractmethod
    def read_reports(self, table: Table, column: str, rows: Sequence[int]) -> list[Any | None]:
        """Read what devices sent; ``None`` for a blank."""

    def check_reports(self, stratum: int, reports: Sequence[Any]) -> None:  # noqa: B027
        """Refuse what devices of a stratum cannot send."""

    @abstractmethod
    def reports_of_cells(self, stratum: int, cells: Sequence[int]) -> list[Any]:
        """Return the reports that a collector counted."""

    # --- added up -----------------------------------------------------------------------------

    def as_sent(self, stratum: int, answers: Sequence[Any], *, from_devices: bool) -> Sequence[Any]:
        """Return answers as they are added up: raw ones as they were given, unless devices randomise."""
        return answers

    @property
    @abstractmethod
    def figures(self) -> Sequence[Figures]:
        """What is estimated of every question, where figures of many strata get one draw of noise each."""

    @property
    @abstractmethod
    def entries(self) -> int:
        """How many numbers are published of it in a stratum, where answers are added up."""

    @abstractmethod
    def draw_office_noise(self, stratum: int) -> list[int]:
        """Draw what the office adds to each of them."""

    @abstractmethod
    def noised_sums(
        self, stratum: int, answers: Sequence[Any], noise: Sequence[int], *, from_devices: bool
    ) -> list[tuple[Any, ...]]:
        """Add answers up and add the noise: a row of ``sum_columns`` for each number.

        Parameters
        ----------
        stratum : int
            The position of the stratum.
        answers : sequence
            Reports or raw answers of people of the stratum: at most as many as were invited.
        noise : sequence of int
            What the office drew for each number.
        from_devices : bool
            Whether the answers are reports.
        """
