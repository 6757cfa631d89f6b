r"""What several releases of one sample lose together.

What releases lose inside the sample adds up before the secret sample hides anyone; of reports that devices
randomised once, only the office's noise is new each time (:mod:`dpstrata.privacy.amplification`). The sample
hides people only as far as nobody can tell who answered: if someone answers one time and not another, the
numbers of answers differ by one, which shows that they were drawn. In a stratum where not the same people
answered every time, nothing is left of the sample's protection, and everyone there loses what is lost inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.response import ROUNDING, central_losses, planned_shares
from dpstrata.numerics.arrays import FloatArray

if TYPE_CHECKING:
    from dpstrata.fielding.ledger import Entry, Recognition

_MOST_SETS = 6  # whose unions are all tried


def joint_shares(
    plan: Design,
    shares: FloatArray,
    earlier: Iterable[Entry],
    *,
    sampled: Recognition,
    strata: Sequence[str],
    answered: frozenset[str],
) -> FloatArray:
    """Return the largest share of the willing people of each stratum who answered, over all releases.

    Parameters
    ----------
    plan : Design
        The design.
    shares : array
        What holds for the release that is about to be made.
    earlier : iterable of Entry
        The releases of the same sample before it.
    sampled : Recognition
        Everyone in the sample.
    strata : sequence of str
        The stratum of each of them.
    answered : frozenset of str
        Those who answer now.

    Returns
    -------
    array
        1 in strata where other people answered before, or where that cannot be told.
    """
    joint = shares.copy()
    rows = {name: i for i, name in enumerate(plan.strata.names)}
    codes = np.array([rows[name] for name in strata], dtype=np.int64)
    now = np.array([person in answered for person in sampled.people], dtype=bool)
    for entry in earlier:
        if entry.shares:
            joint = np.maximum(joint, entry.shares)
        digests, known = sampled.of(entry), set(entry.people)
        if digests is None or not known <= set(digests):
            joint[:] = 1.0
            break
        before = np.array([digest in known for digest in digests], dtype=bool)
        joint[codes[before != now]] = 1.0
    return joint


def loss_of_repeats(
    plan: Design,
    times: int,
    shares: FloatArray | None = None,
    *,
    budgets: Sequence[FloatArray] = (),
    report_sets: int = 1,
) -> float:
    r"""Central loss of releasing one and the same sample several times.

    What is lost inside the sample, :math:`L_i(k)`, adds up before the sample hides anyone, so this grows
    faster than times ε:

    .. math:: \max_i \ln\bigl(1 + q_i (e^{L_i(k)} - 1)\bigr)

    Where every release draws all its noise anew, L(k) = k·e. Reports that devices randomised lose at most E,
    however often they are published.

    Parameters
    ----------
    plan : Design
        The design.
    times : int
        How often, >= 0.
    shares : array, optional
        q, the largest credible share of the willing people of each stratum who answered; by default what the
        design counts on.
    budgets : sequence of array
        What the office's noise loses in all releases of each set of reports, by stratum, where it was set
        after the field.
    report_sets : int
        Of how many different sets of reports they are made: devices' randomness is the same in each. Releases
        for which the office noises raw answers are sets of their own.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([2000, 2000], [0.3, 0.3]), epsilon=1, total=40)
    >>> round(loss_of_repeats(plan, 1), 6), round(loss_of_repeats(plan, 2), 1)
    (1.0, 5.7)
    """
    promised = plan.inputs.promise.central_epsilon
    if times == 0:
        return 0.0
    inside = _losses_inside(plan, times, budgets, report_sets)
    losses = central_losses(planned_shares(plan) if shares is None else shares, inside)
    loss = float(losses.max())
    return promised if abs(loss - promised) <= promised * ROUNDING else loss


def _losses_inside(plan: Design, times: int, budgets: Sequence[FloatArray], report_sets: int) -> FloatArray:
    """Return the loss inside the sample, by stratum.

    Someone may have sent the same report in several sets, or a new one in each: of all ways to divide the
    releases among at most so many reports, the one that loses most counts.
    """
    if budgets:
        return _worst_union(plan, budgets)
    if report_sets == 1:
        return plan.losses_inside(times)
    of_same = [plan.losses_inside(number) for number in range(times + 1)]
    most = of_same
    for _ in range(1, min(report_sets, times)):
        most = [
            np.max([most[number - j] + of_same[j] for j in range(number + 1)], axis=0)
            for number in range(times + 1)
        ]
    return most[times]


def _worst_union(plan: Design, budgets: Sequence[FloatArray]) -> FloatArray:
    """Return the same where the office's noise of each set of reports has a budget of its own.

    Sets in which someone sent the same report count as one. Which these are is not known, and uniting sets
    may lose more or less than adding them up, so every way to unite them counts.
    """
    if len(budgets) > _MOST_SETS:
        return np.asarray(np.sum(budgets, axis=0))  # at least as much: devices only lower what is lost
    first, rest = budgets[0], budgets[1:]
    worst = np.zeros_like(first)
    for chosen in product((False, True), repeat=len(rest)):
        united = first + sum(each for each, taken in zip(rest, chosen, strict=True) if taken)
        others = [each for each, taken in zip(rest, chosen, strict=True) if not taken]
        losses = plan.losses_inside(budgets=united)
        worst = np.maximum(worst, losses + _worst_union(plan, others) if others else losses)
    return worst


def delta_of_repeats(plan: Design, times: int, shares: FloatArray) -> float:
    """Central δ of the same: that of one answer adds up, and counts with the share who answered."""
    return times * plan.inputs.promise.spent.delta * float((shares / planned_shares(plan)).max())
