r"""What several releases of one sample lose together: rounds, and questions of one design.

The budgets of one person's answers add up before the secret sample hides anyone. And it hides them only as
far as nobody can tell who answered: if someone answers one question and not another, the numbers of answers
differ by one, which shows that they were drawn. In a stratum where not the same people answered every time,
nothing is left of the sample's protection, and everyone there loses the whole of their local budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.response import ROUNDING, central_losses, planned_shares
from dpstrata.numerics.arrays import FloatArray

if TYPE_CHECKING:
    from dpstrata.fielding.ledger import Entry, Recognition


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
    plan: Design, times: int, shares: FloatArray | None = None, budgets: FloatArray | None = None
) -> float:
    r"""Central loss of releasing one and the same sample several times.

    The budgets of one answer add up before the secret sample hides anyone, so this grows faster than times ε:

    .. math:: \max_i \ln\bigl(1 + q_i (e^{k e_i} - 1)\bigr)

    and at least ε, which the first release is counted with.

    Parameters
    ----------
    plan : Design
        The design.
    times : int
        How often, >= 0.
    shares : array, optional
        q, the largest credible share of the willing people of each stratum who answered; by default what the
        design counts on.
    budgets : array, optional
        What all of them spend of a person in each stratum together, k·e by default.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([2000, 2000], [0.3, 0.3]), epsilon=1, total=40)
    >>> round(loss_of_repeats(plan, 1), 6), round(loss_of_repeats(plan, 2), 1)
    (1.0, 5.7)
    """
    promised = plan.inputs.promise.central_epsilon
    if times == 0 or (times == 1 and shares is None):
        return times * promised
    spent = times * plan.local_epsilons if budgets is None else budgets
    losses = central_losses(planned_shares(plan) if shares is None else shares, spent)
    # Where a cap binds, less is spent than was promised; what was counted at first stays counted.
    loss = max(float(losses.max()), promised)
    return promised if loss <= promised * (1 + ROUNDING) else loss


def delta_of_repeats(plan: Design, times: int, shares: FloatArray) -> float:
    """Central δ of the same: that of one answer adds up, and counts with the share who answered."""
    return times * plan.inputs.promise.spent.delta * float((shares / planned_shares(plan)).max())
