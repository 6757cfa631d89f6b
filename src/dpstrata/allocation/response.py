r"""How many people answer: of the N people of a stratum A = rN would, n are invited, and m of them do.

m is hypergeometric with mean u = rn, so a variance that goes with 1/m is larger than one at u:
:math:`\mathrm{E}[1/m \mid m \ge 1] > 1/u`, by a fifth at u = 5. That expectation is not convex in n for small
u, so designs are made with a *planning bound*, which is convex and never below it. With q = 1 − r,

.. math::
    \mathrm{E}[m^{-1}] &\le \frac1u\left(1 + \tfrac{q}{u} + \tfrac{q(1+q)}{u^2}
    + \tfrac{2q(1+4q+q^2)}{u^3}\right) \\
    \mathrm{E}[m^{-2}] &\le \frac1{u^2}\left(1 + \tfrac{3q}{u} + \tfrac{q(4+7q)}{u^2}
    + \tfrac{13}{5}\tfrac{q(5+27q+18q^2)}{u^3}\right).

The first three terms are those of the asymptotic series; the last is so large that it covers all the others.
What is reported is the expectation itself.

A stratum that nobody answered in takes the result of the nearest one with answers, in the order in which the
design lists its strata; of two equally near ones, of the one before it. It is taken from the same domains if
any stratum there has answers; if not, from the same ones of the first columns of domains. Numbers of answers
are public, so this tells nothing about anyone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpstrata.errors import InputError
from dpstrata.numerics.arrays import ALL, FloatArray, IntArray, Rows, blocks

# Below this expected number of answers the distribution is summed up; from it on a series is exact to 1e-5.
_SUMMED = 64.0
_FEW_STRATA = 100  # for which numpy takes longer to begin than to add
_HOPELESS = -60.0  # logarithm of a chance that is none
_HUGE = 1e9  # people, among whom drawing with and without replacement is the same where anything can go wrong
WHOLE = (1.0, 1.0, 1.0, 1.0)  # factors of the terms of the series where everyone invited is asked
_EMPTY = 0.01  # how likely a stratum without an answer may be before it is worth a warning


class Decay(NamedTuple):
    r""":math:`g(n) = \sum_j c_j n^{-(p + j)}` for every stratum, all c >= 0: how a variance falls with n.

    Every method takes sizes for the strata in ``rows``.
    """

    power: int
    coefficients: tuple[FloatArray | float, ...]

    def _of(self, rows: Rows) -> list[FloatArray | float]:
        return [c if isinstance(c, float) else c[rows] for c in self.coefficients]

    def value(self, n: FloatArray, rows: Rows = ALL) -> FloatArray:
        """g(n)."""
        y = 1.0 / n
        *others, last = self._of(rows)
        value = np.full_like(y, last)
        for coefficient in others[::-1]:
            value *= y
            value += coefficient
        return np.asarray(value * y**self.power)

    def drop(self, n: FloatArray, rows: Rows = ALL) -> FloatArray:
        """g(n) − g(n + 1), without cancellation."""
        y, after = 1.0 / n, 1.0 / (n + 1.0)
        step, power = y * after, after.copy()  # n^-j − (n + 1)^-j and (n + 1)^-j, from j = 1 on
        first, total = step.copy(), np.zeros_like(y)
        for j, coefficient in enumerate([0.0] * (self.power - 1) + self._of(rows)):
            if j:
                step *= y
                step += power * first
                power *= after
            if j >= self.power - 1:
                total += coefficient * step
        return total

    def curve(self, x: FloatArray, rows: Rows = ALL) -> tuple[FloatArray, FloatArray, FloatArray]:
        """x·g, −x²·g' and x³·g''."""
        y = 1.0 / x
        value, first, second = (np.zeros_like(y) for _ in range(3))
        power = y ** (self.power - 1)
        for j, coefficient in enumerate(self._of(rows), start=self.power):
            part = coefficient * power
            value += part
            part *= j
            first += part
            part *= j + 1
            second += part
            power *= y
        return value, first, second


def planning_decay(rates: FloatArray, *, squared: bool, factors: tuple[float, ...] = WHOLE) -> Decay:
    """Return the planning bound on E[1/m], or on E[1/m²], times r, as a function of n.

    Parameters
    ----------
    rates : array
        r of each stratum.
    squared : bool
        Whether it is that of 1/m².
    factors : tuple of float
        By how much the terms of the series are larger, where only part of those people are asked.
    """
    series = [c * factor for c, factor in zip(_planning_series(rates, squared=squared), factors, strict=True)]
    return Decay(1 + squared, tuple(c / rates ** (j + squared) for j, c in enumerate(series)))


def _planning_series(r: Any, *, squared: bool) -> tuple[Any, ...]:
    """Coefficients in 1/u; of floats, arrays or mpmath's numbers."""
    q = 1 - r
    if squared:
        return 1 + 0 * q, 3 * q, q * (4 + 7 * q), 13 * q * (5 + 27 * q + 18 * q * q) / 5
    return 1 + 0 * q, q, q * (1 + q), 2 * q * (1 + 4 * q + q * q)


def exact_planning_bound(r: Any, n: int, *, squared: bool, factors: tuple[float, ...] = WHOLE) -> Any:
    """Evaluate the planning bound in mpmath."""
    u = r * n
    series = zip(_planning_series(r, squared=squared), factors, strict=True)
    return sum(c * factor / u**j for j, (c, factor) in enumerate(series, start=1 + squared))


def expected_inverse(sizes: IntArray, rates: FloatArray, invited: FloatArray, *, squared: bool) -> FloatArray:
    """E[1/m | m >= 1], or E[1/m² | m >= 1], of each stratum.

    Where rN is not whole, one person more or fewer would answer, with the odds that give rN on average (and
    that change if someone is known to answer).

    Parameters
    ----------
    sizes, rates, invited : array
        N, r and n; whole n give the exact value, others one in between.
    squared : bool
        Whether it is that of 1/m².
    """

    def inverse(N: FloatArray, A: FloatArray, n: FloatArray) -> FloatArray:
        u = n * A / N
        out = _series(N, A, n, squared=squared)
        few = np.flatnonzero(u < _SUMMED)
        if few.size:
            out[few] = _summed(N[few], A[few], n[few])[squared]
        return out

    n = np.maximum(np.asarray(invited, dtype=float), 1.0)
    return _over_willing(inverse, sizes, rates, n, given_an_answer=True)


def chance_of_no_answer(sizes: IntArray, rates: FloatArray, invited: IntArray | FloatArray) -> FloatArray:
    """P(m = 0) of each stratum: that nobody who is invited answers.

    Examples
    --------
    >>> chance_of_no_answer(np.array([4, 1000]), np.array([0.5, 0.5]), np.array([2, 10])).round(5).tolist()
    [0.16667, 0.00093]
    """
    return _over_willing(_no_answer, sizes, rates, np.asarray(invited, dtype=float))


def _no_answer(N: FloatArray, A: FloatArray, n: FloatArray) -> FloatArray:
    """P(m = 0) where exactly A people would answer."""
    from scipy.special import gammaln

    unwilling = possible = N - A
    with np.errstate(divide="ignore"):
        log = n * np.log1p(-A / N)  # as if each were drawn by itself: a little more than the truth
    near = np.flatnonzero((log > _HOPELESS) & (N < _HUGE) & (n <= unwilling))
    N, unwilling, m = N[near], unwilling[near], n[near]
    log[near] = gammaln(unwilling + 1) - gammaln(unwilling - m + 1) - gammaln(N + 1) + gammaln(N - m + 1)
    return np.where(n <= possible, np.exp(np.minimum(log, 0.0)), 0.0)


def chance_of_empty_stratum(sizes: IntArray, rates: FloatArray, invited: IntArray) -> float:
    """Chance that some stratum is left without an answer."""
    chances = chance_of_no_answer(sizes, rates, invited)
    return float(-np.expm1(np.log1p(-np.minimum(chances, 1.0 - 1e-16)).sum()))


def minimum_against_empty(sizes: IntArray, rates: FloatArray, upper: IntArray) -> int | None:
    """Find the smallest minimum per stratum under which an empty one has a chance of at most 1%, if any does.

    Parameters
    ----------
    sizes, rates : array
        N and r.
    upper : array of int
        Most people that may be invited; smaller strata are asked up to it.
    """
    if is_worth_a_warning(chance_of_empty_stratum(sizes, rates, upper)):
        return None
    low, high = 0, int(upper.max())
    while high - low > 1:
        middle = min((low + high) // 2, 2 * low + 16)
        enough = chance_of_empty_stratum(sizes, rates, np.minimum(middle, upper)) <= _EMPTY
        low, high = (low, middle) if enough else (middle, high)
    return high


def fewest_for_two_answers(sizes: IntArray, rates: FloatArray, *, places: int) -> IntArray:
    """How many people to invite so that fewer than two answers anywhere have a chance of at most 1%.

    The 1% is split evenly over all places; smaller strata are asked in full.

    Parameters
    ----------
    sizes, rates : array
        N and r.
    places : int
        Where two answers are needed: strata, or strata times forms.

    Examples
    --------
    >>> fewest_for_two_answers(np.array([100_000, 4]), np.array([0.5, 0.5]), places=12).tolist()
    [15, 4]
    """
    N = sizes.astype(float)
    A = willing_people(sizes, rates)[0]
    low, high = np.ones_like(sizes), sizes.copy()
    while np.any(high - low > 1):
        middle = np.maximum(np.minimum((low + high) // 2, 2 * low + 8), 2)
        enough = _fewer_than_two(N, A, middle.astype(float)) <= _EMPTY / places
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(np.minimum(high, sizes))


def _fewer_than_two(N: FloatArray, A: FloatArray, n: FloatArray) -> FloatArray:
    """P(m <= 1) where exactly A people would answer and n >= 2 are invited."""
    # All but one of the n do not answer; then the last one does not either, or any one of the n does.
    last = np.maximum(N - A - n + 1.0, 0.0) + n * A
    return np.asarray(_no_answer(N, A, n - 1.0) * last / np.maximum(N - n + 1.0, 1.0))


def is_worth_a_warning(chance: float) -> bool:
    """Whether a stratum without an answer is too likely to be passed over."""
    return chance > _EMPTY


def willing_people(sizes: IntArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how many people would answer, rounded down, and the chance that it is one more."""
    people = sizes * rates
    near = np.rint(people)
    people = np.where(np.abs(people - near) <= 1e-9 * near, near, people)  # 0.7 times 10 is 7
    whole = np.floor(people)
    return whole, people - whole


def _over_willing(
    function: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
    sizes: IntArray,
    rates: FloatArray,
    invited: FloatArray,
    *,
    given_an_answer: bool = False,
) -> FloatArray:
    """Average a function of N, A and n over the two numbers of willing people, block by block."""
    out = np.empty(len(sizes))
    for part in blocks(len(sizes)):
        N, n = sizes[part].astype(float), invited[part]
        A, more = willing_people(sizes[part], rates[part])
        value = function(N, np.maximum(A, 1.0), n)
        some = np.flatnonzero((more > 0) & (A >= 1.0))
        if some.size:
            one_more = N[some], A[some] + 1.0, n[some]
            share = more[some]
            if given_an_answer:  # by Bayes' rule
                with_more = share * (1.0 - _no_answer(*one_more))
                without = (1.0 - share) * (1.0 - _no_answer(N[some], A[some], n[some]))
                share = with_more / (with_more + without)
            value[some] += share * (function(*one_more) - value[some])
        out[part] = value
    return out


def _summed(N: FloatArray, A: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """E[1/m | m >= 1] and E[1/m² | m >= 1], by adding up the distribution.

    Only ratios of neighbouring probabilities are used, so that no digits are lost however large N is.
    """
    m = np.maximum(0.0, n - (N - A))  # the fewest answers there can be
    weight = np.ones_like(n)
    sums = np.zeros((3, len(n)))  # of the probabilities, of those over m, and of those over m²
    add = _add_many if len(n) <= _FEW_STRATA else _add_one
    while True:
        m, weight = add(sums, N, A, n, m, weight)
        some, inverse, squared = sums
        if not np.any(weight > 1e-18 * some):
            return inverse / some, squared / some


def _add_one(
    sums: FloatArray, N: FloatArray, A: FloatArray, n: FloatArray, m: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Add the next term to each sum; return the m and the probability that come then."""
    at, y = np.where(m > 0, weight, 0.0), 1.0 / np.maximum(m, 1.0)
    sums[0] += at
    at *= y
    sums[1] += at
    at *= y
    sums[2] += at
    weight *= _ratio(N, A, n, m)
    m += 1.0
    return m, weight


def _add_many(
    sums: FloatArray, N: FloatArray, A: FloatArray, n: FloatArray, m: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Add the next 64 terms, the same digits sooner where strata are few."""
    m = m + np.arange(64.0)[:, None]
    weights = np.multiply.accumulate(np.vstack([weight, _ratio(N, A, n, m)]))
    at, y = np.where(m > 0, weights[:-1], 0.0), 1.0 / np.maximum(m, 1.0)
    for each in sums:
        each[:] = np.add.accumulate(np.vstack([each, at]))[-1]  # one after another, as above
        at *= y
    return m[-1] + 1.0, weights[-1]


def _ratio(N: FloatArray, A: FloatArray, n: FloatArray, m: FloatArray) -> FloatArray:
    """P(m + 1) over P(m)."""
    return np.maximum((A - m) * (n - m), 0.0) / ((m + 1.0) * (N - A - n + m + 1.0))


def _series(N: FloatArray, A: FloatArray, n: FloatArray, *, squared: bool) -> FloatArray:
    """E[1/m], or E[1/m²], by its series in the central moments, for large expected numbers of answers."""
    r = A / N
    u, q = n * r, 1.0 - r
    rest = np.maximum(N - 1.0, 1.0)
    second = u * q * ((N - n) / rest)
    third = second * (1.0 - 2.0 * r) * ((N - 2.0 * n) / np.maximum(N - 2.0, 1.0))
    # The fourth cumulant but for terms of order 1/N, which are far below 1e-5 of the result.
    f = n / N
    fourth = 3.0 * second**2 + second * (1.0 - 6.0 * r * q) * (1.0 - 6.0 * f * (1.0 - f))
    moments = (second, -third, fourth, -10.0 * second * third, 15.0 * second**3)
    total = np.ones_like(u)
    for j, moment in enumerate(moments, start=2):
        total += ((j + 1.0) if squared else 1.0) * moment / u**j
    return np.asarray(total / (u * u if squared else u))


def nearest_with_answers(answers: IntArray, domains: Sequence[IntArray] = ()) -> IntArray:
    """Find the nearest stratum with answers, within the same groups of the domains where there is one.

    If there is none in the same groups of all of them, as many of the first ones count as have one.

    Examples
    --------
    >>> nearest_with_answers(np.array([0, 4, 0, 7, 0, 0])).tolist()
    [1, 1, 1, 3, 3, 3]
    >>> nearest_with_answers(np.array([3, 0, 5, 0]), [np.array([0, 1, 1, 2])]).tolist()
    [0, 2, 2, 2]
    """
    found, full = np.arange(len(answers)), np.flatnonzero(answers > 0)
    if not full.size:
        raise InputError("there must be at least one answer, got none.")
    empty = np.flatnonzero(answers <= 0)
    if not empty.size:
        return found
    found[empty] = _nearest(empty, full)
    for number in range(1, len(domains) + 1):  # the more domains are the same, the better
        keys = np.unique(np.stack(domains[:number]), axis=1, return_inverse=True)[1].ravel()
        for key in np.unique(keys[empty]).tolist():
            inside = full[keys[full] == key]
            if inside.size:
                mine = empty[keys[empty] == key]
                found[mine] = _nearest(mine, inside)
    return found


def _nearest(places: IntArray, among: IntArray) -> IntArray:
    """Return the nearest of some sorted places, the one before where two are equally near."""
    after = np.minimum(np.searchsorted(among, places), len(among) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(among[after] - places) < np.abs(places - among[before])
    return np.where(nearer, among[after], among[before])
