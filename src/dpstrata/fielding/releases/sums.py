"""One noised sum a stratum, with the number of its answers.

Reports are whole steps of a grid, from devices or, where the office sees raw answers, made there. The office
adds them up and adds one whole number of noise; what is published depends on nothing but that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.fielding.grid_noise import (
    as_answers,
    check_answers,
    noise_at,
    office_noise_at,
    require_invited,
)
from dpstrata.fielding.published_columns import COUNT, STRATUM, SUM
from dpstrata.fielding.releases.base import Fielding
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.mechanisms.grid import AdditiveGridNoise, to_grid
from dpstrata.survey.releases import OPTION

if TYPE_CHECKING:
    pass


class SumsFielding(Fielding):
    """Add reports up, and noise the sum of each stratum, once."""

    def noise_answers(self, plan: Design, stratum: str, answers: npt.ArrayLike) -> FloatArray:
        """Noise answers as devices do; refuse where the office gets raw answers."""
        if plan.inputs.release_form.device is None:
            raise InputError(
                f"with {option(OPTION, plan.inputs.release)} and no {option('device_epsilon')} the office "
                "sees raw answers and noises what it publishes, not single answers."
            )
        return super().noise_answers(plan, stratum, answers)

    def check_reports(self, plan: Design, reports: Mapping[str, Sequence[float]]) -> None:
        """Refuse what devices of this design cannot send, or raw answers that it does not allow."""
        for name, given in reports.items():
            if plan.inputs.release_form.device is None:
                as_answers(plan, given)
            elif len(given):
                steps_of_reports(plan, name, given)

    def drawn_for(self, plan: Design, counts: IntArray) -> str:
        """Name what the office's noise depends on beside the design: nothing."""
        return ""

    def draw_office_noise(self, plan: Design, counts: IntArray) -> dict[str, int]:
        """Draw the office's noise for every stratum, however many answers came."""
        drawn = {}
        for name in plan.strata.names:
            noise = office_noise_at(plan, name)
            drawn[name] = 0 if noise is None else int(noise.noise(1)[0])
        return drawn

    def published(
        self,
        plan: Design,
        reports: Mapping[str, Sequence[float]],
        noise: Mapping[str, int],
        progress: Callable[[int], None],
    ) -> dict[str, list[Any]]:
        """Make the table that is published: a sum with the number of its answers in every stratum."""
        require_noise_for(noise, plan.strata.names)
        columns: dict[str, list[Any]] = {STRATUM: [], SUM: [], COUNT: []}
        for name in plan.strata.names:
            given = reports[name]
            columns[STRATUM].append(name)
            columns[SUM].append(noised_sum(plan, name, given, noise[name]))
            columns[COUNT].append(len(given))
            progress(len(given))
        return columns


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
            f"{stratum!r}. Noise every answer with noise_answer, for its own stratum, and keep all digits."
        )
    return noise.in_units(outputs)


def reports_of_outputs(plan: Design, stratum: str, outputs: Sequence[int]) -> list[float]:
    """Write outputs as devices of a stratum report them: what :func:`steps_of_reports` reads again."""
    shares = noise_at(plan, stratum).shares(np.array(outputs, dtype=np.int64))
    return [float(each) for each in plan.inputs.space.at_shares(shares)]


def _shift(noise: AdditiveGridNoise | None) -> float:
    """Return the half step by which the office's noise is off where a grid has no middle, in steps."""
    return 0.0 if noise is None else float(noise.shares(np.zeros(1, dtype=np.int64))[0]) * noise.steps


def require_noise_for(noise: Mapping[str, int], labels: Iterable[str]) -> None:
    """Require that noise that was kept is that of what is published."""
    if set(noise) != set(labels):
        raise InputError("the office's noise that was kept must be that of this design, got others.")
