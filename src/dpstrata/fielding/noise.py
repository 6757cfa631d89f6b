"""Noise for real answers: exact, from secure randomness, at the budgets of a design."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.releases import fielding_of


def noise_answer(plan: Design, stratum: str, answer: float | str) -> float | str:
    """Noise one answer, as a respondent's device would before anyone sees it.

    The answer is put on a grid so fine that it cannot be seen beside the noise (at random up or down, so that
    nothing is biased), noised with whole numbers from secure randomness, and scaled back. What sine, cells,
    piecewise noise and randomized response put out is debiased. Where the design says ``clip=True``, an
    answer outside its range counts as the nearer end of it.

    Parameters
    ----------
    plan : Design
        The design.
    stratum : str
        Name of the respondent's stratum.
    answer : float or str
        What they answered: a number, or the name of a category.

    Returns
    -------
    float or str
        The noised answer. The mean of a number is the answer, and it may lie outside the range; a category is
        kept, or replaced by another one.

    Raises
    ------
    InputError
        For an unknown stratum, an answer that is not a number, outside the range or off the grid of the
        design, and designs whose office sees raw answers; no message shows the answer.

    Notes
    -----
    Each call spends the budget of one answer. Noising the same answer twice spends it twice.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([700, 900], names=["north", "south"])
    >>> plan = dps.design(strata, epsilon=1, total=40, questions="yes_no", min_per_stratum=2)
    >>> sent = dps.noise_answer(plan, "north", 1)  # yes or no at random, debiased: 1.015 or -0.015
    >>> round(abs(sent - 0.5), 3)
    0.515
    """
    (noised,) = noise_answers(plan, stratum, [answer]).tolist()
    return noised if isinstance(noised, str) else float(noised)


def noise_answers(plan: Design, stratum: str, answers: npt.ArrayLike) -> npt.NDArray[Any]:
    """Noise answers of different people of one stratum; see :func:`noise_answer`.

    Parameters
    ----------
    plan : Design
        The design.
    stratum : str
        Name of their stratum.
    answers : array
        One answer of each.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([700, 900], names=["north", "south"])
    >>> plan = dps.design(strata, epsilon=1, total=40, questions="yes_no", min_per_stratum=2)
    >>> dps.noise_answers(plan, "south", [0, 1, 1, 0]).shape
    (4,)
    """
    if not isinstance(plan, Design):
        raise InputError(f"noise needs a Design, got {type(plan).__name__}.")
    return fielding_of(plan).noise_answers(plan, stratum, answers)
