"""One answer, noised by a mechanism on the device; or raw, where the office noises what it publishes.

Reports are whole steps of a grid, from devices or, where the office sees raw answers, made there. The office
adds them up and adds one whole number of noise; what is published depends on nothing but that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.fielding.answer_files import read_present_numbers
from dpstrata.fielding.grid_noise import check_answers, noise_at, office_noise_at, on_grid, require_invited
from dpstrata.fielding.published_columns import COUNT, SUM
from dpstrata.fielding.randomizers.randomizer import Randomizer
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import IntArray
from dpstrata.privacy.mechanisms.category_response import CategoryResponse
from dpstrata.privacy.mechanisms.grid import AdditiveGridNoise, to_grid
from dpstrata.privacy.mechanisms.randomized_response import RandomizedResponse
from dpstrata.survey.questionnaires.question import Question
from dpstrata.survey.releases import OPTION


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

    def randomized(self, stratum: int, raw: Sequence[Any]) -> list[Any]:
        """Noise answers; refuse where the office gets raw ones and noises their sum."""
        plan, name = self.plan, self.plan.strata.name(stratum)
        if not plan.inputs.release_form.noised_at:
            raise InputError(
                f"with {option(OPTION, plan.inputs.release)} and no {option('device_epsilon')} the office "
                "sees raw answers and noises what it publishes, not single answers."
            )
        noise, space = noise_at(plan, name), plan.inputs.space
        values = check_answers(plan, name, raw)
        if not space.numbers:
            names = self.questions[0].names
            return [names[place] for place in noise.randomize(values.astype(np.int64)).tolist()]
        outputs = noise.randomize(on_grid(plan, values, noise))
        reports: list[float] = space.at_shares(noise.shares(outputs)).tolist()
        return reports

    def published(self, report: Any) -> dict[str, Any]:
        """Name the question."""
        return {self.questions[0].name: report}

    def levels_in_browser(self) -> tuple[int, ...]:
        """Count the answers, which are kept or replaced; browsers add no noise."""
        if not self.plan.inputs.release_form.noised_at:
            raise InputError(
                "a kit needs answers that are randomised on devices, and here the office sees raw answers; "
                f"design with {option('device_epsilon')}."
            )
        if self.plan.inputs.mechanism not in (RandomizedResponse.name, CategoryResponse.name):
            raise InputError(
                "a kit needs answers that are kept or replaced on devices, got a design that adds noise to "
                f"them. Use {option('forms', 'one')}."
            )
        return self.questions[0].candidates

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
            steps_of_reports(self.plan, self.plan.strata.name(stratum), reports)

    @property
    def cells(self) -> int | None:
        """Two, of yes and no that devices flip."""
        return 2 if isinstance(self.plan.inputs.release_form.device, RandomizedResponse) else None

    def reports_of_cells(self, stratum: int, cells: Sequence[int]) -> list[Any]:
        """Write outputs as devices report them: what :func:`steps_of_reports` reads again."""
        shares = noise_at(self.plan, self.plan.strata.name(stratum)).shares(np.array(cells, dtype=np.int64))
        return [float(each) for each in self.plan.inputs.space.at_shares(shares)]

    # --- added up -----------------------------------------------------------------------------

    @property
    def entries(self) -> int:
        """One sum."""
        return 1

    def draw_office_noise(self, stratum: int) -> list[int]:
        """Draw noise in steps of the grid; none where that of devices is enough."""
        noise = office_noise_at(self.plan, self.plan.strata.name(stratum))
        return [0 if noise is None else int(noise.noise(1)[0])]

    def noised_sums(
        self, stratum: int, answers: Sequence[Any], noise: Sequence[int], *, from_devices: bool
    ) -> list[tuple[Any, ...]]:
        """Add up reports, or raw answers on a grid of the noise."""
        (drawn,) = noise
        return [(noised_sum(self.plan, self.plan.strata.name(stratum), answers, drawn), len(answers))]


def noised_sum(plan: Design, stratum: str, reports: Sequence[float], noise: int) -> float:
    """Add reports up in whole steps, add the noise, and write the sum as answers are written.

    Parameters
    ----------
    plan : Design
        A design that publishes sums.
    stratum : str
        Name of the stratum.
    reports : sequence of float
        What devices sent, or raw answers where they noise nothing: at most as many as were invited.
    noise : int
        What the office draws for this stratum.
    """
    layer, m = office_noise_at(plan, stratum), len(reports)
    raw_steps = 0 if layer is None else layer.steps  # raw answers always get noise
    start, step = scale_of_reports(plan, raw_steps)
    steps = sum_of_steps(plan, stratum, reports, raw_steps) + noise + _shift(layer)
    return float(m * plan.inputs.space.lower + plan.inputs.space.range * (steps * step + m * start))


def sum_of_steps(plan: Design, stratum: str, reports: Sequence[float], raw_steps: int) -> int:
    """Add up what devices sent, or raw answers put on a grid of so many steps."""
    if not len(reports):
        return 0
    if plan.inputs.release_form.device is None:
        values = check_answers(plan, stratum, reports)
        steps = to_grid(plan.inputs.space.shares(values), raw_steps)
    else:
        require_invited(plan, stratum, len(reports))
        steps = steps_of_reports(plan, stratum, reports)
    return int(sum(steps.tolist()))


def scale_of_reports(plan: Design, raw_steps: int) -> tuple[float, float]:
    """Return the share that a report of no step stands for, and what one step adds."""
    if plan.inputs.release_form.device is None:
        return 0.0, 1.0 / raw_steps
    return noise_at(plan, plan.strata.name(0)).origin_and_unit


def steps_of_reports(plan: Design, stratum: str, reports: npt.ArrayLike) -> IntArray:
    """Find the whole steps that devices of a stratum sent, which must be what devices can send.

    Different outputs of a device are different numbers, so that nothing else leads to the same one.
    """
    values, space = np.asarray(reports, dtype=float), plan.inputs.space
    noise = noise_at(plan, stratum)
    outputs = noise.nearest(space.shares(values))
    known = np.abs(space.at_shares(noise.shares(outputs)) - values) <= noise.slack * space.range
    if not known.all():
        raise InputError(
            f"reports must be answers noised for this design, got {int((~known).sum()):,} others in stratum "
            f"{stratum!r}. Noise every answer with randomize, for its own stratum, and keep all digits."
        )
    return noise.in_units(outputs)


def _shift(noise: AdditiveGridNoise | None) -> float:
    """Return the half step by which the office's noise is off where a grid has no middle, in steps."""
    return 0.0 if noise is None else float(noise.shares(np.zeros(1, dtype=np.int64))[0]) * noise.steps
