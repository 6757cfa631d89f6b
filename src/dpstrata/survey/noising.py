"""Noise for real answers: exact, from secure randomness, at the budgets of a design."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy.typing as npt

from dpstrata.arrays import FloatArray, IntArray
from dpstrata.errors import InputError, option
from dpstrata.model.design_record import Design
from dpstrata.model.strata import Strata
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import GridNoise, to_grid
from dpstrata.survey.releases import fielding_of

# Budgets are rounded down before anything is drawn, by more than any logarithm can be off.
_DOWN = 1.0 - 2.0**-48


def noise_answer(plan: Design, stratum: str, answer: float) -> float:
    """Noise one answer, as a respondent's device would before anyone sees it.

    The answer is put on a grid so fine that it cannot be seen beside the noise (at random up or down, so that
    nothing is biased), noised with whole numbers from secure randomness, and scaled back. Randomized response
    and piecewise noise are debiased. With several questions this is one of the answers, at its share of the
    budget. Where the design says ``clip=True``, an answer outside its range counts as the nearer end of it.

    Parameters
    ----------
    plan : Design
        The design.
    stratum : str
        Name of the respondent's stratum.
    answer : float
        What they answered.

    Returns
    -------
    float
        The noised answer. Its mean is the answer; it may lie outside the range.

    Raises
    ------
    InputError
        For an unknown stratum, an answer that is not a number, outside the range or off the grid of the
        design, and designs in which a curator noises means; no message shows the answer.

    Notes
    -----
    Each call spends the budget of one answer. Noising the same answer twice spends it twice.
    """
    return float(noise_answers(plan, stratum, [answer])[0])


def noise_answers(plan: Design, stratum: str, answers: npt.ArrayLike) -> FloatArray:
    """Noise answers of different people of one stratum; see :func:`noise_answer`.

    Parameters
    ----------
    plan : Design
        The design.
    stratum : str
        Name of their stratum.
    answers : array
        One answer of each.
    """
    if not isinstance(plan, Design):
        raise InputError(f"noise needs a Design, got {type(plan).__name__}.")
    return fielding_of(plan).noise_answers(plan, stratum, answers)


def check_answers(plan: Design, stratum: str, answers: npt.ArrayLike) -> FloatArray:
    """Check answers: numbers that the design allows, and no more than were invited."""
    values = as_answers(plan, answers)
    most = int(plan.sample_sizes[_row(plan, stratum)])
    if len(values) > most:
        raise InputError(
            f"the design invites {most:,} people of stratum {stratum!r}, got {len(values):,} answers; more "
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
            "the design must state what can be answered before answers from a file are noised, got the "
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
