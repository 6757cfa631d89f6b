"""The noise of a stratum, on devices and at the office, and the answers that it may be added to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import repeat

import numpy as np
import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import AdditiveGridNoise, GridNoise
from dpstrata.survey.strata import Strata
from dpstrata.words.survey import no_such_stratum

# Budgets are rounded down before anything is drawn, by more than any logarithm can be off.
_DOWN = 1.0 - 2.0**-48
_LONGEST = 60.0  # e times noise in answer ranges, beyond which it is less than once in 10^25 draws


def check_answers(plan: Design, stratum: str, answers: npt.ArrayLike) -> FloatArray:
    """Check answers: numbers that the design allows, and no more than were invited."""
    values = as_answers(plan, answers)
    require_invited(plan, stratum, len(values))
    return values


def require_invited(plan: Design, stratum: str, answers: int) -> None:
    """Refuse more answers than people were invited in a stratum."""
    most = int(plan.sample_sizes[place_of(plan, stratum)])
    if answers > most:
        raise InputError(
            f"the design invites {most:,} people in stratum {stratum!r}, got {answers:,} answers; more "
            "would break its promise."
        )


def noise_at(plan: Design, stratum: str) -> GridNoise:
    """Return what noises one answer before anyone sees it: at the device budget, or that of the stratum."""
    device, E = plan.inputs.release_form.device, plan.inputs.device_epsilon
    if device is not None and E is not None:
        noise = _noise(device, E, None)
        _require_distinct(plan, noise)
        return noise
    return _noise(plan.mechanism, _budget(plan, stratum), None)


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


def office_noise_at(plan: Design, stratum: str) -> AdditiveGridNoise | None:
    """Return what the office adds to the sum of a stratum; ``None`` where devices' noise is enough.

    It is on the grid of the reports. Where the office alone would need a finer one its budget is above that
    of devices, and whatever it adds is invisible beside their noise.
    """
    budget = float(plan.inputs.release_form.credited(np.array([_budget(plan, stratum)]))[0])
    if math.isinf(budget):
        return None
    reports = None if plan.inputs.release_form.device is None else noise_at(plan, stratum).width
    noise = _noise(plan.problem.forms.fitted, budget, reports)
    assert isinstance(noise, AdditiveGridNoise)
    if noise.steps * (1.0 + _LONGEST / budget) > 2.0**62:
        raise InputError(
            f"the office's noise does not fit on the grid of reports at "
            f"{option('device_epsilon', plan.inputs.device_epsilon, 'g')}, which is too fine for it. Use a "
            f"larger {option('epsilon')}, or noise that is added on devices."
        )
    return noise


def _budget(plan: Design, stratum: str) -> float:
    row = place_of(plan, stratum)
    return plan.local_epsilon(row) if plan.inputs.promise.amplified else 0.0


def on_grid(plan: Design, values: FloatArray, noise: GridNoise) -> IntArray:
    """Put answers on the grid of the noise."""
    return noise.place(plan.inputs.space.shares(values))


def place_of(plan: Design, stratum: str) -> int:
    """Return the position of a stratum that a design must have."""
    try:
        return rows_by_name(plan.strata)[stratum]
    except (KeyError, TypeError):  # such as for a list
        raise InputError(no_such_stratum(plan.strata, stratum)) from None


@lru_cache(maxsize=8)
def rows_by_name(strata: Strata) -> Mapping[str, int]:
    """Look all strata up once: a survey is noised stratum by stratum, or person by person."""
    return {name: row for row, name in enumerate(strata.names)}


def require_stated_answers(plan: Design) -> None:
    """Require that someone said what can be answered; the default range is for planning alone."""
    if plan.inputs.default_questions:
        raise InputError(
            "the design must state the possible answers before answers from a file are noised, got the "
            f"default range of 0 to 1. Design again with {option('questions')}: yes_no, 0:1 or the range of "
            "your question.",
            argument="questions",
        )


def as_answers(plan: Design, answers: npt.ArrayLike) -> FloatArray:
    """Check that answers are numbers that the design allows; clip them where it says so."""
    return plan.inputs.question.of_kind.checked(plan.inputs.question, answers, clip=plan.inputs.clip)


@lru_cache(maxsize=4096)
def _noise(mechanism: Mechanism, e: float, steps: int | None) -> GridNoise:
    e = math.nextafter(e * _DOWN, 0.0)  # 0 where there is no budget, and then not used
    return mechanism.on_grid(e, mechanism.grid_steps(e) if steps is None else steps)


def places(plan: Design, strata: Sequence[str]) -> IntArray:
    """Return the places of strata in a design, all of which it must have."""
    place = rows_by_name(plan.strata)
    codes = np.fromiter(map(place.get, strata, repeat(-1)), dtype=np.int64, count=len(strata))
    unknown = {str(strata[i]) for i in np.flatnonzero(codes < 0).tolist()}
    if unknown:
        raise InputError(no_such_stratum(plan.strata, min(unknown)))
    return codes
