"""The minimum per stratum that holds by default where not everyone answers, or as much of it as fits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.turnout import fewest_for_two_answers
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.strata import Strata


def default_minimums(inputs: Inputs, strata: Strata) -> IntArray | None:
    """How many people of each stratum are invited at least, where nobody said how many.

    Returns
    -------
    array of int or None
        So many that fewer than two answers in any stratum have a chance of at most 1%; 0 in strata that
        state a minimum of their own. ``None`` where a
        minimum was given, where everyone answers, and with a questionnaire, whose forms have their own.
    """
    rates = strata.response_rates
    if inputs.min_per_stratum is not None or inputs.rows:
        return None
    if rates is None or bool(np.all(rates == 1.0)):
        return None
    found = fewest_for_two_answers(strata.sizes, rates, places=len(strata))
    return found if strata.mins is None else np.where(strata.mins > 0, 0, found)


def with_default_minimums(inputs: Inputs, strata: Strata, lower: IntArray, upper: IntArray) -> IntArray:
    """Raise minimums to those that hold by default, within maximums, total and budget.

    Where the total or the budget cannot carry them, every stratum is raised by the same share, rounded down.
    """
    wanted = default_minimums(inputs, strata)
    if wanted is None:
        return lower
    more = np.clip(wanted, lower, upper) - lower
    people = [limit for limit in (inputs.total, inputs.at_most) if limit is not None]
    shares = [_share(limit, np.ones(len(strata)), lower, more) for limit in people]
    if inputs.budget is not None and strata.costs is not None:
        shares.append(_share(inputs.budget, strata.costs, lower, more))
    share = min([1.0, *shares])
    return lower + (more if share == 1.0 else np.floor(more * share).astype(np.int64))


def _share(limit: float, costs: FloatArray, lower: IntArray, more: IntArray) -> float:
    """Return the share of what is wanted that a limit carries besides the other minimums."""
    left, needed = max(limit - float(costs @ lower), 0.0), float(costs @ more)
    if needed <= left:
        return 1.0
    return left / needed * (1 - 1e-12)  # which rounding cannot bring above the limit


class DefaultMinimum(NamedTuple):
    """What the default minimums of a design take, and what they do to it.

    Attributes
    ----------
    needed : int
        How many invitations they take.
    fits : bool
        Whether the design has all of them, and not a share.
    binds : bool
        Whether nobody is invited beyond them although more could be: fewer may be more precise.
    """

    needed: int
    fits: bool
    binds: bool


def describe_default(
    inputs: Inputs, strata: Strata, problem: Problem, sizes: IntArray
) -> DefaultMinimum | None:
    """Describe the default minimums of a design; ``None`` if it has none."""
    wanted = default_minimums(inputs, strata)
    if wanted is None:
        return None
    needed = np.clip(wanted, problem.lower, problem.upper)
    more = inputs.at_most is not None and int(sizes.sum()) < inputs.at_most
    raised = bool(np.any((problem.lower == sizes) & (problem.lower > 1) & (wanted > 0)))
    return DefaultMinimum(
        int(needed.sum()),
        fits=bool(np.all(needed <= problem.lower)),
        binds=more and raised and bool(np.all(sizes == problem.lower)),
    )
