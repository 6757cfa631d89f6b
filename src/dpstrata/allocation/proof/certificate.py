r"""The proof that an allocation is optimal, checked without knowing how it was found.

For separable convex terms and one sum, an allocation is optimal if and only if moving a single person
from one stratum to another never helps:

.. math:: \max_{n_i < h_i} f_i(n_i) - f_i(n_i + 1) \;\le\; \min_{n_j > l_j} f_j(n_j - 1) - f_j(n_j) .

This module imports no solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.ties import rank_exactly
from dpstrata.allocation.terms import Terms
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray, blocks
from dpstrata.words.numbers import figure

Tie = Literal["none", "equal", "open"]


@dataclass(frozen=True, slots=True)
class Certificate:
    """The exchange inequality at an allocation.

    Attributes
    ----------
    optimal : bool
        Whether the inequality holds.
    largest_gain : float or None
        The most that adding one person lowers the objective, in any stratum below its maximum.
    smallest_loss : float or None
        The least that removing one person raises it, in any stratum above its minimum.
    margin : float or None
        ``smallest_loss - largest_gain``, computed without cancellation; 0 or more proves optimality.
    tie : {"none", "equal", "open"}
        Whether another allocation is just as good: no; yes, exactly; or undecided, because two gains agree
        to 100 digits.
    """

    optimal: bool
    largest_gain: float | None
    smallest_loss: float | None
    margin: float | None
    tie: Tie

    @property
    def in_words(self) -> str:
        """The certificate in words."""
        if self.margin is None or self.largest_gain is None or self.smallest_loss is None:
            return "Proven optimal: the minimums and maximums leave no choice."
        gain, loss = figure(self.largest_gain, 6), figure(self.smallest_loss, 6)
        if not self.optimal:
            return (
                f"Not optimal: moving one person would lower the objective by {figure(-self.margin, 3)} "
                f"(largest gain {gain}, smallest loss {loss})."
            )
        ending = {
            "none": "is as precise",
            "equal": "is more precise, though others are exactly as precise",
            "open": "is more precise, though another agrees with it to 100 digits",
        }[self.tie]
        return (
            f"Proven optimal: no other allocation of the same total {ending}. Adding one person anywhere "
            f"gains at most {gain}, and removing one loses at least {loss}."
        )


def certify(problem: Problem, sample_sizes: IntArray) -> Certificate:
    """Check the exchange inequality at ``sample_sizes``.

    Parameters
    ----------
    problem : Problem
        Terms, bounds and total.
    sample_sizes : array of int
        Within the bounds. Their sum need not be the problem's total: what is proven is that no allocation of
        the same sum is better.

    Returns
    -------
    Certificate
        In double precision where its error bound allows, otherwise in mpmath.
    """
    n = np.asarray(sample_sizes)
    if (
        n.shape != problem.lower.shape
        or not np.all((n >= problem.lower) & (n <= problem.upper))
        or not (np.issubdtype(n.dtype, np.integer) or np.all(n == np.floor(n)))
    ):
        raise InputError("a certificate needs one whole sample size per stratum, each within its bounds.")
    n = n.astype(np.int64, copy=False)
    can_grow, can_shrink = n < problem.upper, n > problem.lower
    if not (can_grow.any() and can_shrink.any()):
        return Certificate(True, None, None, None, "none")
    terms = problem.terms
    if terms.tilts is not None:
        # Gains near the price of the optimum keep most digits when measured from the least tilted of these.
        terms = terms.measured_from(int(np.argmin(np.where(can_grow, terms.tilts, np.inf))))
    gain = most_gain = least_sure_gain = -np.inf
    loss = least_loss = most_sure_loss = np.inf
    for part in blocks(len(n)):
        grows, grow_errors, shrinks, shrink_errors = _exchanges(terms, n, can_grow, can_shrink, part)
        gain, loss = max(gain, grows.max()), min(loss, shrinks.min())
        most_gain = max(most_gain, (grows + grow_errors).max())
        least_loss = min(least_loss, (shrinks - shrink_errors).min())
        least_sure_gain = max(least_sure_gain, (grows - grow_errors).max())
        most_sure_loss = min(most_sure_loss, (shrinks + shrink_errors).min())

    tie: Tie = "none"
    if most_gain < least_loss:
        optimal = True
    elif least_sure_gain > most_sure_loss:
        optimal = False
    else:
        grows, grow_errors, shrinks, shrink_errors = _exchanges(
            terms, n, can_grow, can_shrink, slice(0, len(n))
        )
        growing = np.flatnonzero(grows + grow_errors >= least_loss)
        shrinking = np.flatnonzero(shrinks - shrink_errors <= most_gain)
        ranking = rank_exactly(
            terms, np.concatenate([growing, shrinking]), np.concatenate([n[growing], n[shrinking] - 1])
        )
        gain_ranks, loss_ranks = ranking.ranks[: len(growing)], ranking.ranks[len(growing) :]
        best, worst = int(gain_ranks.min()), int(loss_ranks.max())
        optimal = best >= worst
        if best == worst and _in_two_strata(growing[gain_ranks == best], shrinking[loss_ranks == worst]):
            tie = "open" if ranking.open else "equal"
    return Certificate(
        optimal, float(gain - terms.origin), float(loss - terms.origin), float(loss - gain), tie
    )


def _exchanges(
    terms: Terms, n: IntArray, can_grow: BoolArray, can_shrink: BoolArray, part: slice
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Gains of one person more and losses of one fewer with their errors, infinite where nobody can move."""
    sizes = n[part].astype(float)
    grows, shrinks = terms.gain(sizes, part), terms.gain(np.maximum(sizes - 1.0, 1.0), part)
    grow_errors, shrink_errors = terms.gain_error(grows, part), terms.gain_error(shrinks, part)
    grows[~can_grow[part]] = -np.inf
    shrinks[~can_shrink[part]] = np.inf
    return grows, grow_errors, shrinks, shrink_errors


def _in_two_strata(growing: IntArray, shrinking: IntArray) -> bool:
    """Whether a person could move between two different strata."""
    return not (len(growing) == 1 and len(shrinking) == 1 and growing[0] == shrinking[0])
