r"""What everyone loses, given how many people answered: in one release, and in several of one sample.

If A of the N people of a stratum would answer and n are invited, the number of answers m is hypergeometric.
Given m, each of the A is among those who answered with probability m/A, so that with the local budget e

.. math:: \ln\bigl(1 + \tfrac{m}{A} (e^{e} - 1)\bigr)

is lost (and the local δ times m/A); e is at most the device budget, where devices randomise. The design
counts on A ≥ r·N, with r = 1 where no response rate is given, and m ≤ n; that is its promise. Where so few
answers would come at most once in a thousand surveys if that were true, in a stratum or in all together, the
fewest willing people that are credible given m take its place: in that stratum, or in every one with fewer
answers than expected. All of this takes it that whether someone answers does not depend on the answer:
otherwise m itself, which is published, tells something about it.

What several releases lose inside the sample adds up before the secret sample hides anyone; of reports that
devices randomised once, only the office's noise is new each time (:mod:`dpstrata.privacy.amplification`). The
sample hides people only as far as nobody can tell who answered: if someone answers one time and not another,
the numbers of answers differ by one, which shows that they were drawn. In a stratum where not the same people
answered every time, nothing is left of the sample's protection, and everyone there loses what is lost inside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray, read_only
from dpstrata.words.released import response_in_words

if TYPE_CHECKING:
    from dpstrata.fielding.ledger import Entry, Recognition

RARE = 0.001
_MOST_TERMS = 1000
_MOST_SETS = 6  # whose unions are all tried
ROUNDING = 1e-9  # relative; far above that of a loss, far below what matters


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """What holds, given how many people answered in each stratum.

    Attributes
    ----------
    epsilon, delta : float
        What everyone loses at most: the promise of the design, or more where the field contradicts it.
    promised : float
        The epsilon of the design.
    strata, fewer, over : int
        How many strata there are, in how many fewer people would answer than the design counts on, and in how
        many of those more is lost than was promised.
    shares : array of float
        The largest credible share of the willing people of each stratum who answered.
    """

    epsilon: float
    delta: float
    promised: float
    strata: int
    fewer: int
    over: int
    shares: FloatArray

    @property
    def in_words(self) -> str | None:
        """What the field contradicts and what holds, in a sentence or two; ``None`` for nothing to say."""
        return response_in_words(self)

    def require_promise(self, left_out: str = "") -> None:
        """Refuse a release that would lose more than was promised; ``left_out`` says what does not count."""
        if self.over:
            said = " ".join(filter(None, (self.in_words, left_out)))
            raise InputError(
                f"{said} Wait for more answers, or pass {option('accept_response', True)} to release anyway "
                "and count that loss."
            )


def check_response(plan: Design, answers: IntArray) -> Response | None:
    """Find what holds, given the number of answers in each stratum.

    Parameters
    ----------
    plan : Design
        The design, whatever it publishes.
    answers : array of int
        How many people answered in each stratum, at most as many as were invited.

    Returns
    -------
    Response or None
        ``None`` for promises that do not depend on the sample.
    """
    promise = plan.inputs.promise
    if not promise.amplified:
        return None
    promised, sizes, invited = promise.central_epsilon, plan.strata.sizes, plan.sample_sizes
    planned, counted_on = planned_shares(plan), _counted_on(plan)
    fewer = np.flatnonzero(answers < invited)
    contradicted = _contradicts(answers[fewer], invited[fewer], sizes[fewer], counted_on[fewer])
    if _contradict_together(answers, invited, sizes, counted_on):
        contradicted |= answers[fewer] < invited[fewer] * (counted_on / sizes)[fewer]
    fewer = fewer[contradicted]
    willing = fewest_willing(answers[fewer], sample_sizes=invited[fewer], stratum_sizes=sizes[fewer])
    shares = planned * (answers / invited) if plan.scaled_by_answers else planned.copy()
    # where nobody answered, nobody may be willing, and nothing is lost
    shares[fewer] = np.maximum(shares[fewer], answers[fewer] / np.maximum(willing, 1))
    inside = plan.losses_inside(budgets=plan.budgets_given(answers))
    losses = central_losses(shares[fewer], inside[fewer])
    over = losses > promised * (1 + ROUNDING)
    return Response(
        epsilon=float(losses.max()) if over.any() else promised,
        delta=promise.spent.delta * float((shares / planned).max()),
        promised=promised,
        strata=len(sizes),
        fewer=len(fewer),
        over=int(over.sum()),
        shares=read_only(shares),
    )


def planned_shares(plan: Design) -> FloatArray:
    """Return the share of the willing people of each stratum who are invited, as the design counts on it."""
    rates = plan.problem.terms.response_rates
    return np.asarray(plan.sample_sizes / (plan.strata.sizes * (1.0 if rates is None else rates)))


def central_losses(shares: FloatArray, budgets: FloatArray) -> FloatArray:
    r"""Return :math:`\ln(1 + q (e^{e} - 1))` for shares q and local budgets e, however large these are."""
    with np.errstate(divide="ignore"):
        losses: FloatArray = np.logaddexp(np.log1p(-np.minimum(shares, 1.0)), np.log(shares) + budgets)
    return losses


def fewest_willing(answers: IntArray, *, sample_sizes: IntArray, stratum_sizes: IntArray) -> IntArray:
    """Find the fewest willing people of a stratum with whom so many answers come once in a thousand surveys.

    Parameters
    ----------
    answers, sample_sizes, stratum_sizes : array of int
        m answers, n invited, N people; 0 <= m <= n <= N, n >= 1.

    Returns
    -------
    array of int
        The smallest A with P(M >= m | A) >= 0.001.

    Notes
    -----
    Exact up to samples of about 100,000 people in a stratum. Beyond that, what 1,000 terms leave of the tail
    is bounded by a geometric series. That makes a probability at most 10% too large, so that A is rather too
    small than too large: the loss that follows is never understated.

    Examples
    --------
    >>> fewest_willing(np.array([153]), sample_sizes=np.array([800]), stratum_sizes=np.array([8000]))
    array([1220])
    """
    low, high = answers.copy(), stratum_sizes - (sample_sizes - answers)
    while (rows := np.flatnonzero(low < high)).size:
        middle = low[rows] + (high[rows] - low[rows]) // 2
        credible = _is_credible(answers[rows], middle, sample_sizes[rows], stratum_sizes[rows])
        high[rows] = np.where(credible, middle, high[rows])
        low[rows] = np.where(credible, low[rows], middle + 1)
    return low


def _counted_on(plan: Design) -> IntArray:
    """Return how many people of each stratum would answer at least, if the design is right."""
    sizes, rates = plan.strata.sizes, plan.problem.terms.response_rates
    if rates is None:
        return sizes
    # Just below r·N, since a rate is the decimal number that was written; all of them where r = 1.
    counted = np.ceil(rates * sizes * (1 - 1e-12)).astype(np.int64)
    return np.where(rates == 1.0, sizes, counted)


def _contradicts(answers: IntArray, invited: IntArray, sizes: IntArray, willing: IntArray) -> BoolArray:
    """Whether so few answers would come less than once in a thousand surveys: P(M <= m | A) < 0.001.

    The people in the sample who would not answer are hypergeometric too, n − M of N − A.
    """
    return np.asarray(~_is_credible(invited - answers, sizes - willing, invited, sizes))


def _contradict_together(answers: IntArray, invited: IntArray, sizes: IntArray, willing: IntArray) -> bool:
    """Whether so few answers in all would come less than once in a thousand surveys.

    Small strata cannot contradict anything by themselves. The sum of independent hypergeometric numbers is
    taken for normal, with half a person added.
    """
    share = willing / sizes
    spread = invited * share * (1 - share) * ((sizes - invited) / np.maximum(sizes - 1, 1))
    miss = float((answers - invited * share).sum()) + 0.5
    deviation = math.sqrt(float(spread.sum()))
    return miss < 0 if deviation == 0 else NormalDist().cdf(miss / deviation) < RARE


def _is_credible(least: IntArray, marked: IntArray, drawn: IntArray, sizes: IntArray) -> BoolArray:
    """Whether P(M >= k) >= 0.001 for the number M of marked people among those drawn."""
    k, A, n, N = (values.astype(float) for values in (least, marked, drawn, sizes))
    credible: BoolArray = k <= n * (A / N)  # up to the mean about half of the probability lies above
    rows = np.flatnonzero(~credible & (k <= A))
    k, A, n, N = k[rows], A[rows], n[rows], N[rows]
    with np.errstate(over="ignore"):  # then no tail reaches it
        needed = np.exp(math.log(RARE) - _log_probability(k, A, n, N))
    credible[rows] = _tail_reaches(needed, k, A, n, N)
    return credible


def _tail_reaches(
    needed: FloatArray, k: FloatArray, A: FloatArray, n: FloatArray, N: FloatArray
) -> BoolArray:
    """Whether P(M >= k) / P(M = k) is at least ``needed``, for k above the mean.

    The tail is a sum of products of the ratios of neighbours. These fall, so that what is left is at most a
    geometric series; a row is settled as soon as the sum reaches what is needed, or no longer can.
    """
    reached = needed <= 1.0
    rows = np.flatnonzero(~reached)
    tail, term = np.ones(rows.size), np.ones(rows.size)
    for j in range(_MOST_TERMS):
        if not rows.size:
            return reached
        more, fewer = k[rows] + j, n[rows] - k[rows] - j
        ratio = (A[rows] - more) * fewer / ((more + 1) * (N[rows] - A[rows] - fewer + 1))
        term = term * np.maximum(ratio, 0.0)
        tail = tail + term
        reached[rows] = tail >= needed[rows]
        rest = np.where(ratio < 1, term * ratio / np.maximum(1 - ratio, 1e-300), math.inf)
        going = ~reached[rows] & (tail + rest >= needed[rows])
        rows, tail, term = rows[going], tail[going], term[going]
    reached[rows] = True
    return reached


def _log_probability(k: FloatArray, A: FloatArray, n: FloatArray, N: FloatArray) -> FloatArray:
    r"""Return ln P(M = k) without the cancellation of large factorials.

    With x! = x^x e^{−x} λ(x), the powers make up four deviances around the means of the four cells of the
    table (Loader, "Fast and accurate computation of binomial probabilities", 2000), and λ grows like √x.
    """
    p = n / N
    off = k - A * p
    powers = sum(
        _deviance(mean, side * off)
        for mean, side in ((A * p, 1), (A * (1 - p), -1), ((N - A) * p, -1), ((N - A) * (1 - p), 1))
    )
    margins = _log_lambda(A) + _log_lambda(N - A) + _log_lambda(n) + _log_lambda(N - n) - _log_lambda(N)
    cells = _log_lambda(k) + _log_lambda(A - k) + _log_lambda(n - k) + _log_lambda(N - A - n + k)
    return np.asarray(margins - cells - powers)


def _deviance(mean: FloatArray, off: FloatArray) -> FloatArray:
    """Return x·ln(x/μ) − x + μ at x = μ + off; its rounding error is that of ``off``."""
    d = np.maximum(np.divide(off, mean, out=np.zeros_like(off), where=mean > 0), -1.0)
    return np.asarray(mean * ((1 + d) * np.log1p(np.where(d > -1, d, 0.0)) - d))  # x·ln(x) is 0 at 0


def _log_lambda(x: FloatArray) -> FloatArray:
    """Return ln(x!) − x·ln(x) + x of whole numbers: Stirling's series from 16 on."""
    large = np.maximum(x, 16.0)
    series = 0.5 * np.log(2 * math.pi * large) + (1 / 12 - (1 / 360 - 1 / 1260 / large**2) / large**2) / large
    return np.where(x < 16, _SMALL[np.minimum(x, 16.0).astype(np.int64)], series)


_SMALL = np.array([math.lgamma(x + 1) - x * math.log(x or 1) + x for x in range(17)])


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
