"""One answer, noised by a mechanism on the device; or raw, where the office noises what it publishes.

Reports are whole steps of a grid, from devices or, where the office sees raw answers, made there. The office
adds them up and adds one whole number of noise; what is published depends on nothing but that.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.fielding.answer_files import COUNT, SUM, read_present_numbers
from dpstrata.fielding.randomizers.randomizer import Figures, Randomizer
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import AdditiveGridNoise, CellNoise, GridNoise, to_grid
from dpstrata.privacy.rows import Source, spendable
from dpstrata.survey.questionnaires.question import Question
from dpstrata.survey.releases import OPTION

_LONGEST = 60.0  # e times noise in answer ranges, beyond which it is less than once in 10^25 draws


def check_answers(plan: Design, stratum: int, answers: npt.ArrayLike) -> FloatArray:
    """Check answers: numbers that the design allows (clipped where it says so), no more than were invited."""
    question = plan.inputs.question
    values = question.of_kind.checked(question, answers, clip=plan.inputs.clip)
    require_invited(plan, stratum, len(values))
    return values


def require_invited(plan: Design, stratum: int, answers: int) -> None:
    """Refuse more answers than people were invited in a stratum."""
    most = int(plan.sample_sizes[stratum])
    if answers > most:
        raise InputError(
            f"the design invites {most:,} people in stratum {plan.strata.name(stratum)!r}, got {answers:,} "
            "answers; more would break its promise."
        )


def noise_at(plan: Design, stratum: int) -> GridNoise:
    """Return what noises one answer before anyone sees it: at the device budget, or that of the stratum."""
    device, E = plan.inputs.release_form.device, plan.inputs.device_epsilon
    if device is not None and E is not None:
        noise = grid_noise(device, E, None)
        _require_distinct(plan, noise)
        return noise
    return grid_noise(plan.mechanism, _budget(plan, stratum), None)


def _require_distinct(plan: Design, noise: GridNoise) -> None:
    """Require that neighbouring reports are different numbers, each known by its own steps."""
    space = plan.inputs.space
    reach = (1.0 + 40.0 / (plan.inputs.device_epsilon or 1.0)) * space.range
    # beyond it less than once in 10^15 reports
    farthest = max(abs(space.lower), abs(space.upper)) + reach
    if space.range / noise.steps < 4.0 * np.spacing(farthest):
        raise InputError(
            f"reports of answers in {space} at {option('device_epsilon', plan.inputs.device_epsilon, 'g')} "
            "cannot be told apart in double precision. Subtract the lower end from the answers, or use a "
            "smaller device budget."
        )


def office_noise_at(plan: Design, stratum: int) -> AdditiveGridNoise | None:
    """Return what the office adds to the sum of a stratum; ``None`` where devices' noise is enough.

    It is on the grid of the reports. Where the office alone would need a finer one its budget is above that
    of devices, and whatever it adds is invisible beside their noise.
    """
    budget = float(plan.inputs.release_form.credited(np.array([_budget(plan, stratum)]))[0])
    if math.isinf(budget):
        return None
    reports = None if plan.inputs.release_form.device is None else noise_at(plan, stratum).width
    noise = grid_noise(plan.problem.forms.fitted, budget, reports)
    assert isinstance(noise, AdditiveGridNoise)
    if noise.steps * (1.0 + _LONGEST / budget) > 2.0**62:
        raise InputError(
            f"the office's noise does not fit on the grid of reports at "
            f"{option('device_epsilon', plan.inputs.device_epsilon, 'g')}, which is too fine for it. Use a "
            f"larger {option('epsilon')}, or noise that is added on devices."
        )
    return noise


def _budget(plan: Design, stratum: int) -> float:
    return plan.local_epsilon(stratum) if plan.inputs.promise.amplified else 0.0


def require_stated_answers(plan: Design) -> None:
    """Require that someone said what can be answered; the default range is for planning alone."""
    if plan.inputs.default_questions:
        raise InputError(
            "the design must state the possible answers before answers from a file are noised, got the "
            f"default range of 0 to 1. Design again with {option('questions')}: yes_no, 0:1 or the range of "
            "your question.",
            argument="questions",
        )


@lru_cache(maxsize=4096)
def grid_noise(mechanism: Mechanism, e: float, steps: int | None) -> GridNoise:
    """Return what a mechanism does at a budget, on its own grid or on one of so many steps."""
    e = spendable(e)  # 0 where there is no budget, and then not used
    return mechanism.on_grid(e, mechanism.grid_steps(e) if steps is None else steps)


@dataclass(frozen=True, slots=True)
class SummedReports:
    """Answers that are no counts, added up in whole steps.

    Attributes
    ----------
    space : AnswerSpace
        What can be answered.
    device : GridNoise or None
        What devices do; ``None`` where the office gets raw answers.
    raw_steps : int
        The grid that these are put on.
    """

    space: AnswerSpace
    device: GridNoise | None
    raw_steps: int

    @property
    def width(self) -> int:
        """By how many steps one person can move the sum."""
        return self.raw_steps if self.device is None else self.device.width

    @property
    def _scale(self) -> tuple[float, float]:
        """The share that a report of no step stands for, and what one step adds."""
        return (0.0, 1.0 / self.raw_steps) if self.device is None else self.device.origin_and_unit

    def steps(self, answers: FloatArray | IntArray) -> int:
        """Add up outputs of devices, or raw answers as shares of the range."""
        if not len(answers):
            return 0
        if self.device is None:
            return int(sum(to_grid(np.asarray(answers, dtype=float), self.raw_steps).tolist()))
        return int(sum(self.device.in_units(np.asarray(answers, dtype=np.int64)).tolist()))

    def written(self, steps: float, answers: int) -> float:
        """Write a sum of so many answers as answers are written."""
        start, step = self._scale
        return float(answers * self.space.lower + self.space.range * (steps * step + answers * start))

    def mean(self, steps: float) -> float:
        """Write a mean of so many steps an answer."""
        return self.written(steps, 1)


class NoiseRandomizer(Randomizer):
    """A number with noise, or a name that is kept or replaced."""

    sum_columns: ClassVar[tuple[str, ...]] = (SUM, COUNT)

    def __init__(self, plan: Design) -> None:
        super().__init__(plan, 0, plan.inputs.questions)

    # --- on the device ------------------------------------------------------------------------

    def read(self, question: Question, answer: Any) -> Any | None:
        """Read a number or a name."""
        return question.of_kind.from_cell(question, answer)

    def check(self, question: Question, answers: Sequence[Any], where: str | None = None) -> None:
        """Require answers in the range and on the grid; those outside may be clipped."""
        question.of_kind.checked(question, answers, clip=self.plan.inputs.clip, where=where)

    def raw_of(self, answers: Sequence[Any]) -> Any:
        """Return the answer."""
        (answer,) = answers
        return answer

    def randomized(self, stratum: int, raw: Sequence[Any], source: Source = secrets.token_bytes) -> list[Any]:
        """Noise answers; refuse where the office gets raw ones and noises their sum.

        ``source`` is for tests alone, and of cells.
        """
        plan = self.plan
        if not plan.inputs.release_form.noised_at:
            raise InputError(
                f"with {option(OPTION, plan.inputs.release)} and no {option('device_epsilon')} the office "
                "sees raw answers and noises what it publishes, not single answers."
            )
        noise, space = noise_at(plan, stratum), plan.inputs.space
        values = check_answers(plan, stratum, raw)
        if not space.numbers:
            names = self.questions[0].names
            return [names[place] for place in noise.randomize(values.astype(np.int64)).tolist()]
        if isinstance(noise, CellNoise):
            cells = [noise.cell_of(self._share_of(value), source) for value in values.tolist()]
            outputs = np.array(cells, dtype=np.int64)
        else:
            outputs = noise.randomize(noise.place(space.shares(values)))
        reports: list[float] = space.at_shares(noise.shares(outputs)).tolist()
        return reports

    def _share_of(self, value: float) -> Fraction:
        (question,) = self.questions
        share = question.of_kind.share_of(question, value)
        assert share is not None
        return share

    def published(self, stratum: int, report: Any) -> dict[str, Any]:
        """Name the question."""
        return {self.questions[0].name: report}

    def levels_in_browser(self) -> tuple[int, ...]:
        """Count the answers, which are kept or replaced; browsers add no noise."""
        if not self.plan.inputs.release_form.noised_at:
            raise InputError(
                "a kit needs answers that are randomised on devices, and here the office sees raw answers; "
                f"design with {option('device_epsilon')}."
            )
        noise, (question,) = noise_at(self.plan, 0), self.questions
        if noise.cells is None:
            raise InputError(
                "a kit needs devices that send one of a few cells, got a design whose devices add noise to a "
                f"number, which can become any other. Use {option('mechanism', 'sine')} or "
                f"{option('forms', 'one')}."
            )
        return (question.answer_count or 0,)

    def specification(self, stratum: int) -> dict[str, Any] | None:
        """Describe how cells are drawn; names that are kept or replaced are rows of one question."""
        noise = noise_at(self.plan, stratum)
        return noise.specification if isinstance(noise, CellNoise) else None

    # --- at the office ------------------------------------------------------------------------

    def report_column(self, table: Table) -> str | None:
        """Return the column of the question, where the design has devices noise answers to be added up."""
        return None if self.plan.inputs.release_form.device is None else self.questions[0].name

    def read_reports(self, table: Table, column: str, rows: Sequence[int]) -> list[Any | None]:
        """Read numbers."""
        numbers = read_present_numbers(table, column)
        return [numbers[row] for row in rows]

    def check_reports(self, stratum: int, reports: Sequence[Any]) -> None:
        """Require numbers that devices of the stratum can send."""
        if len(reports):
            steps_of_reports(self.plan, stratum, reports)

    def reports_of_cells(self, stratum: int, cells: Sequence[int]) -> list[Any]:
        """Write outputs as devices report them: what :func:`steps_of_reports` reads again."""
        shares = noise_at(self.plan, stratum).shares(np.array(cells, dtype=np.int64))
        return [float(each) for each in self.plan.inputs.space.at_shares(shares)]

    # --- added up -----------------------------------------------------------------------------

    @property
    def figures(self) -> Sequence[Figures]:
        """The mean."""
        return (_OnlyMean(self.plan),)

    @property
    def entries(self) -> int:
        """One sum."""
        return 1

    def draw_office_noise(self, stratum: int) -> list[int]:
        """Draw noise in steps of the grid; none where that of devices is enough."""
        noise = office_noise_at(self.plan, stratum)
        return [0 if noise is None else int(noise.noise(1)[0])]

    def noised_sums(
        self, stratum: int, answers: Sequence[Any], noise: Sequence[int], *, from_devices: bool
    ) -> list[tuple[Any, ...]]:
        """Add up reports, or raw answers on a grid of the noise."""
        (drawn,) = noise
        return [(noised_sum(self.plan, stratum, answers, drawn), len(answers))]


_FINE = 2**20  # steps of raw answers that have no grid of their own, where the noise is not on one


class _OnlyMean(Figures):
    """The mean of the answers to the only question."""

    def __init__(self, plan: Design) -> None:
        self._plan = plan
        self._reports = summed_reports(plan, plan.inputs.space.steps or _FINE)
        self.entries = ("mean",)
        self.moved = self._reports.width

    @property
    def label(self) -> str:
        """Name the question."""
        return self._plan.inputs.question.name

    @property
    def scale(self) -> float:
        """K over how far a report can move."""
        release = self._plan.inputs.release_form
        return self.moved / (self._plan.inputs.space.range * release.stretch)

    def add_up(self, stratum: int, answers: Sequence[Any]) -> list[int]:
        """Add up what devices sent, or raw answers on a grid."""
        return [sum_of_steps(self._plan, stratum, answers, self._reports.raw_steps)]

    def figure(self, units: float) -> float:
        """Write it as answers are written."""
        return self._reports.mean(units)


def noised_sum(plan: Design, stratum: int, reports: Sequence[float], noise: int) -> float:
    """Add reports up in whole steps, add the noise, and write the sum as answers are written.

    Parameters
    ----------
    plan : Design
        A design that publishes sums.
    stratum : int
        The place of the stratum.
    reports : sequence of float
        What devices sent, or raw answers where they noise nothing: at most as many as were invited.
    noise : int
        What the office draws for this stratum.
    """
    layer = office_noise_at(plan, stratum)
    raw_steps = 0 if layer is None else layer.steps  # raw answers always get noise
    steps = sum_of_steps(plan, stratum, reports, raw_steps) + noise + _shift(layer)
    return summed_reports(plan, raw_steps).written(steps, len(reports))


def sum_of_steps(plan: Design, stratum: int, reports: Sequence[float], raw_steps: int) -> int:
    """Add up what devices sent, or raw answers put on a grid of so many steps."""
    if not len(reports):
        return 0
    summed = summed_reports(plan, raw_steps)
    if summed.device is None:
        return summed.steps(plan.inputs.space.shares(check_answers(plan, stratum, reports)))
    require_invited(plan, stratum, len(reports))
    return summed.steps(outputs_of_reports(plan, stratum, reports))


def summed_reports(plan: Design, raw_steps: int) -> SummedReports:
    """Say how the answers to the only question are added up."""
    device = None if plan.inputs.release_form.device is None else noise_at(plan, 0)
    return SummedReports(plan.inputs.space, device, raw_steps)


def steps_of_reports(plan: Design, stratum: int, reports: npt.ArrayLike) -> IntArray:
    """Find the whole steps that devices of a stratum sent, which must be what devices can send."""
    return noise_at(plan, stratum).in_units(outputs_of_reports(plan, stratum, reports))


def outputs_of_reports(plan: Design, stratum: int, reports: npt.ArrayLike) -> IntArray:
    """Find the outputs that devices of a stratum sent.

    Different outputs of a device are different numbers, so that nothing else leads to the same one.
    """
    values, space = np.asarray(reports, dtype=float), plan.inputs.space
    noise = noise_at(plan, stratum)
    outputs = noise.nearest(space.shares(values))
    known = np.abs(space.at_shares(noise.shares(outputs)) - values) <= noise.slack * space.range
    if not known.all():
        raise InputError(
            f"reports must be answers noised for this design, got {int((~known).sum()):,} others in stratum "
            f"{plan.strata.name(stratum)!r}. Noise every answer with randomize, for its own stratum, and "
            "keep all digits."
        )
    return outputs


def _shift(noise: AdditiveGridNoise | None) -> float:
    """Return the half step by which the office's noise is off where a grid has no middle, in steps."""
    return 0.0 if noise is None else float(noise.shares(np.zeros(1, dtype=np.int64))[0]) * noise.steps
