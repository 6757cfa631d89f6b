r"""The proof that an allocation is optimal, checked without knowing how it was found.

For separable convex terms and one sum, an allocation is optimal if and only if moving a single person
from one stratum to another never helps:

.. math:: \max_{n_i < h_i} f_i(n_i) - f_i(n_i + 1) \;\le\; \min_{n_j > l_j} f_j(n_j - 1) - f_j(n_j) .

Gains that double precision cannot tell apart are compared in exact arithmetic. This module imports no solver.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.terms import EXACT_DIGITS, Terms
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray, blocks
from dpstrata.words.proofs import certificate_in_words

Tie = Literal["none", "equal", "open"]


class Ranking(NamedTuple):
    """Exact order of some gains."""

    ranks: IntArray
    """0 for the largest gain; equal ranks are ties."""
    open: bool
    """Whether gains of different strata agree to 100 digits, so that their order stays unknown."""


def rank_exactly(terms: Terms, rows: IntArray, n: IntArray) -> Ranking:
    """Rank the gains f(n) - f(n + 1) of the strata ``rows``, largest first.

    Equal inputs tie by equality and are evaluated once, so that a million identical strata cost one
    evaluation; different inputs are compared to 100 digits.
    """
    straight = terms.is_straight(rows)
    # What a gain does not depend on is left out: the size for the mean where the gain is constant, and
    # everything where the coefficient is zero.
    worthless = terms.coefficients[rows] == 0
    constant = straight if terms.objective == "mean" else worthless
    rates = 1.0 if terms.response_rates is None else terms.response_rates[rows]
    keys = np.column_stack(
        [
            np.where(constant, 0, terms.sizes[rows]),
            np.where(straight, 0.0, terms.variances[rows]),
            np.where(constant, 0.0, terms.coefficients[rows]),
            np.where(straight, 0, n),
            np.where(worthless, 0.0, rates),
        ]
    )
    if np.all(keys == keys[0]):
        return Ranking(np.zeros(len(rows), dtype=np.int64), False)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    exact = [terms.exact_gain(int(rows[i]), int(n[i])) for i in first]
    order = sorted(range(len(exact)), key=exact.__getitem__, reverse=True)
    tolerance = max(abs(value) for value in exact) * type(exact[0])(10) ** -EXACT_DIGITS
    ranks, rank, open_ = np.zeros(len(exact), dtype=np.int64), 0, False
    for previous, current in pairwise(order):
        if exact[previous] - exact[current] > tolerance:
            rank += 1
        else:
            open_ = True
        ranks[current] = rank
    return Ranking(ranks[inverse.ravel()], open_)


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

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> proof = plan.certificate
    >>> proof.optimal, proof.margin >= 0, proof.tie
    (True, True, 'none')
    """

    optimal: bool
    largest_gain: float | None
    smallest_loss: float | None
    margin: float | None
    tie: Tie

    @property
    def in_words(self) -> str:
        """The certificate in one sentence, with the gain and the loss in a second one."""
        return certificate_in_words(self)

    @property
    def in_short(self) -> str:
        """The certificate in one sentence."""
        return certificate_in_words(self, full=False)


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

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> dps.certify(plan.problem, plan.sample_sizes).optimal
    True
    >>> dps.certify(plan.problem, plan.sample_sizes + [1, -1]).optimal
    False
    """
    n = _whole_sizes(problem, sample_sizes)
    can_grow, can_shrink = n < problem.upper, n > problem.lower
    if not (can_grow.any() and can_shrink.any()):
        return Certificate(True, None, None, None, "none")
    terms = problem.terms
    if terms.tilts is not None:
        # Gains near the price of the optimum keep most digits when measured from the least tilted of these.
        terms = terms.measured_from(int(np.argmin(np.where(can_grow, terms.tilts, np.inf))))
    exchanges = partial(_exchanges, terms, n, can_grow, can_shrink)
    found = _extremes(exchanges(part) for part in blocks(len(n)))
    tie: Tie = "none"
    if found.most_gain < found.least_loss:
        optimal = True
    elif found.least_sure_gain > found.most_sure_loss:
        optimal = False
    else:
        optimal, tie = _settle(terms, n, exchanges(slice(0, len(n))), found)
    gain, loss = found.gain, found.loss
    return Certificate(
        optimal, float(gain - terms.origin), float(loss - terms.origin), float(loss - gain), tie
    )


def _whole_sizes(problem: Problem, sample_sizes: IntArray) -> IntArray:
    """Require one whole number within the bounds for each stratum."""
    n = np.asarray(sample_sizes)
    if (
        n.shape != problem.lower.shape
        or not np.all((n >= problem.lower) & (n <= problem.upper))
        or not (np.issubdtype(n.dtype, np.integer) or np.all(n == np.floor(n)))
    ):
        raise InputError("a certificate needs one whole sample size per stratum, each within its bounds.")
    return n.astype(np.int64, copy=False)


class _Exchanges(NamedTuple):
    """Gains of one person more and losses of one fewer with their errors, infinite where nobody can move."""

    grows: FloatArray
    grow_errors: FloatArray
    shrinks: FloatArray
    shrink_errors: FloatArray


class _Extremes(NamedTuple):
    """The largest gain and the smallest loss, and between what their errors let them be."""

    gain: float
    most_gain: float
    least_sure_gain: float
    loss: float
    least_loss: float
    most_sure_loss: float


def _extremes(parts: Iterable[_Exchanges]) -> _Extremes:
    """Find the largest gain and the smallest loss of all parts."""
    gain = most_gain = least_sure_gain = -np.inf
    loss = least_loss = most_sure_loss = np.inf
    for grows, grow_errors, shrinks, shrink_errors in parts:
        gain, loss = max(gain, grows.max()), min(loss, shrinks.min())
        most_gain = max(most_gain, (grows + grow_errors).max())
        least_loss = min(least_loss, (shrinks - shrink_errors).min())
        least_sure_gain = max(least_sure_gain, (grows - grow_errors).max())
        most_sure_loss = min(most_sure_loss, (shrinks + shrink_errors).min())
    return _Extremes(gain, most_gain, least_sure_gain, loss, least_loss, most_sure_loss)


def _settle(terms: Terms, n: IntArray, exchanges: _Exchanges, found: _Extremes) -> tuple[bool, Tie]:
    """Rank the exchanges that double precision cannot tell apart: whether none helps, and which are equal."""
    growing = np.flatnonzero(exchanges.grows + exchanges.grow_errors >= found.least_loss)
    shrinking = np.flatnonzero(exchanges.shrinks - exchanges.shrink_errors <= found.most_gain)
    ranking = rank_exactly(
        terms, np.concatenate([growing, shrinking]), np.concatenate([n[growing], n[shrinking] - 1])
    )
    gain_ranks, loss_ranks = ranking.ranks[: len(growing)], ranking.ranks[len(growing) :]
    best, worst = int(gain_ranks.min()), int(loss_ranks.max())
    if best == worst and _in_two_strata(growing[gain_ranks == best], shrinking[loss_ranks == worst]):
        return True, "open" if ranking.open else "equal"
    return best >= worst, "none"


def _exchanges(
    terms: Terms, n: IntArray, can_grow: BoolArray, can_shrink: BoolArray, part: slice
) -> _Exchanges:
    """Compute what moving one person gains and loses in some of the strata."""
    sizes = n[part].astype(float)
    grows, shrinks = terms.gain(sizes, part), terms.gain(np.maximum(sizes - 1.0, 1.0), part)
    grow_errors, shrink_errors = terms.gain_error(grows, part), terms.gain_error(shrinks, part)
    grows[~can_grow[part]] = -np.inf
    shrinks[~can_shrink[part]] = np.inf
    return _Exchanges(grows, grow_errors, shrinks, shrink_errors)


def _in_two_strata(growing: IntArray, shrinking: IntArray) -> bool:
    """Whether a person could move between two different strata."""
    return not (len(growing) == 1 and len(shrinking) == 1 and growing[0] == shrinking[0])
