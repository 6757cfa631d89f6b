"""The noise of a stratum, and the answers that it may be added to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import GridNoise, to_grid
from dpstrata.survey.strata import Strata

# Budgets are rounded down before anything is drawn, by more than any logarithm can be off.
_DOWN = 1.0 - 2.0**-48


def check_answers(plan: Design, stratum: str, answers: npt.ArrayLike) -> FloatArray:
    """Check answers: numbers that the design allows, and no more than were invited."""
    values = as_answers(plan, answers)
    most = int(plan.sample_sizes[_row(plan, stratum)])
    if len(values) > most:
        raise InputError(
            f"the design invites {most:,} people in stratum {stratum!r}, got {len(values):,} answers; more "
            "would break its promise."
        )
    return values


def noise_at(plan: Design, stratum: str) -> GridNoise:
    """Return what is done in a stratum."""
    row = _row(plan, stratum)
    return _noise(plan.mechanism, plan.local_epsilon(row) if plan.inputs.promise.amplified else 0.0)


def on_grid(plan: Design, values: FloatArray, noise: GridNoise) -> IntArray:
    """Put answers on the grid of the noise, at random up or down, as whole steps from their lower end."""
    return to_grid(plan.inputs.answers.shares(values), noise.steps)


def _row(plan: Design, stratum: str) -> int:
    try:
        return rows_by_name(plan.strata)[stratum]
    except KeyError:
        raise InputError(f"the design has no stratum {stratum!r}.") from None


@lru_cache(maxsize=8)
def rows_by_name(strata: Strata) -> Mapping[str, int]:
    """Look all strata up once: a survey is noised stratum by stratum, or person by person."""
    return {name: row for row, name in enumerate(strata.names)}


def require_stated_answers(plan: Design) -> None:
    """Require that someone said what can be answered; the default range is for planning alone."""
    if plan.inputs.default_answers:
        raise InputError(
            "the design must state the possible answers before answers from a file are noised, got the "
            f"default range of 0 to 1. Design again with {option('answers')}: binary, 0:1 or the range of "
            "your question.",
            argument="answers",
        )


def as_answers(plan: Design, answers: npt.ArrayLike) -> FloatArray:
    """Check that answers are numbers that the design allows; clip them where it says so."""
    return plan.inputs.answers.checked(answers, clip=plan.inputs.clip)


@lru_cache(maxsize=4096)
def _noise(mechanism: Mechanism, e: float) -> GridNoise:
    e = math.nextafter(e * _DOWN, 0.0)  # 0 where there is no budget, and then not used
    return mechanism.on_grid(e, mechanism.grid_steps(e))
