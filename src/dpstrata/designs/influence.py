"""How much one person can shift a result, whatever their device sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpstrata.designs.record import Design


@dataclass(frozen=True, slots=True)
class Influence:
    """The most that one person can shift the result of a stratum, or of a form there, in shares of the range.

    Attributes
    ----------
    stratum : int
        Where it is most.
    form : int
        The form there, by position.
    answers : float
        How many answers are expected there.
    by_lying : float
        By answering anything: range/m.
    by_sending : float or None
        By sending anything that is counted, past the randomiser: range/(m(1 − ρ)). ``None`` where noise is
        added, because then any number may be sent.
    """

    stratum: int
    form: int
    answers: float
    by_lying: float
    by_sending: float | None


def largest_influence(plan: Design) -> Influence:
    """Find where one person can shift a result the most.

    Notes
    -----
    A row of K cells is kept with probability 1 − ρ = y/(y + K), y = expm1(E), and estimates divide by that.
    """
    rates = np.ones(len(plan.strata)) if plan.strata.response_rates is None else plan.strata.response_rates
    cells = [form.cells for form in plan.forms]
    sizes = [form.sample_sizes for form in plan.forms]
    answers = np.maximum(np.column_stack(sizes) * rates[:, np.newaxis], 1.0)
    kept = np.ones(answers.shape)
    if cells[0]:
        budget = plan.inputs.device_epsilon
        y = np.expm1(plan.local_epsilons if budget is None else np.full(len(plan.strata), budget))
        kept = y[:, np.newaxis] / (y[:, np.newaxis] + np.array(cells, float))
    shifts = np.where(np.column_stack(sizes) > 0, 1.0 / (answers * kept), 0.0)
    stratum, form = (int(place) for place in np.unravel_index(np.argmax(shifts), shifts.shape))
    m = float(answers[stratum, form])
    bounded = cells[0] or not plan.inputs.release_form.noised_at
    sending = float(shifts[stratum, form]) if bounded else None
    return Influence(stratum, form, m, 1.0 / m, sending)
