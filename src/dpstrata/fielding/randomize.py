"""What a respondent's device does: one person's answers are randomised before anyone else sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any, SupportsIndex

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import place_of
from dpstrata.fielding.randomizers import randomizer_of


@dataclass(frozen=True, slots=True)
class Report:
    """What a device sends.

    Attributes
    ----------
    form : int
        The form, from 1 on.
    value : int, float or str
        What is sent: of one answer with noise that number, or the name of a category; of a row that is kept
        or replaced its number, from 0 on, which a file of answers has in the column ``cell``.
    answers : dict
        What it says of every question.
    """

    form: int
    value: int | float | str
    answers: dict[str, Any]


def randomize(
    plan: Design, stratum: str, answers: Mapping[str, Any] | float | str | None, form: SupportsIndex = 1
) -> Report:
    """Randomise one person's answers before anyone else sees them.

    Call this on the respondent's own device. How depends on the form:

    - One answer gets the noise of the design's mechanism. It is put on a grid so fine that it cannot be seen
      beside the noise (at random up or down, so that nothing is biased), noised with whole numbers, and
      scaled back. What sine, cells, piecewise noise and randomized response put out is debiased: the mean of
      a number is the answer, and it may lie outside the range. A category is kept, or replaced by another
      one. Where the design says ``clip=True``, an answer outside its range counts as the nearer end of it.
    - Of several answers numbers are put on the levels of the design, at random and without bias. The whole
      row is then kept, or with the probability that the design states replaced by a random one.

    Parameters
    ----------
    plan : Design
        The design.
    stratum : str
        Name of the respondent's stratum.
    answers : float, str or mapping
        What they answered: the answer to the only question, or an answer to every question of the form by its
        name, and to no other. A blank is ``"no answer"``; an empty text, ``None``, or leaving the question
        out of the mapping is the same. It is refused where the question may not be left blank.
    form : int
        Which form they got, from 1 on.

    Returns
    -------
    Report
        What may be sent.

    Raises
    ------
    InputError
        For an unknown stratum or form, answers that are missing or that a question does not have, and designs
        whose office sees raw answers; no message shows an answer.

    Notes
    -----
    Each call spends the budget of one person. Calling it twice for the same answers spends it twice. All
    randomness comes from the operating system.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([700, 900], names=["north", "south"])
    >>> plan = dps.design(strata, epsilon=1, total=40, questions="yes_no", min_per_stratum=2)
    >>> sent = dps.randomize(plan, "north", "yes").value  # yes or no at random, debiased: 1.015 or -0.015
    >>> round(abs(sent - 0.5), 3)
    0.515
    >>> questions = [dps.Question("smokes", "yes_no"), dps.Question("drinks", "yes_no")]
    >>> strata = dps.Strata([5000, 8000], names=["north", "south"])
    >>> plan = dps.design(
    ...     strata, questions=questions, epsilon=1, device_epsilon=4, release="sums", total=400, forms="one"
    ... )
    >>> report = dps.randomize(plan, "north", {"smokes": "no", "drinks": "yes"})
    >>> 0 <= report.value < plan.forms[0].cells, sorted(report.answers)
    (True, ['drinks', 'smokes'])
    >>> report = dps.randomize(plan, "north", {"smokes": "no", "drinks": ""})  # the second is left blank
    """
    if not isinstance(plan, Design):
        raise InputError(f"randomize needs a Design, got {type(plan).__name__}.")
    randomizer, place = randomizer_of(plan, form), place_of(plan, stratum)
    (value,) = randomizer.randomized(place, [randomizer.raw(answers)])
    said = randomizer.published(place, value)
    return Report(index(form), value, {name: said[name] for name in said if name not in randomizer.marks})
