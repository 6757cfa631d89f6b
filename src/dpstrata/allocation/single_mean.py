r"""Figures of many strata, each published with one draw of noise.

Figure g is :math:`\sum_i a_{ig}` times the mean of stratum i, with Laplace noise of scale :math:`b_g`. One
answer moves it by at most :math:`a_{ig} R / n_i`, and a secret sample allows all figures of a person together
the local budget :math:`e_i(n_i)`, so the promise is kept if in every stratum

.. math:: \sum_g a_{ig} R / b_g \;\le\; n_i\, e_i(n_i) = r_i n_i \ln(1 + cN_i/n_i) ,

the *room* of the stratum (with a response rate r, that of the :math:`r_i n_i` answers that are expected). It
is concave in n, so with :math:`s_g = 1/b_g`, the *strength*,

.. math:: \sum_i f_i(n_i) + \sum_g W_g / s_g^2, \qquad W_g = 2 \omega_g ,

is minimised over a convex set. f is the sampling variance (with what devices add) and :math:`\omega_g` what
the noise of a figure counts.

Where not everyone answers, strengths are set after the field, from the public numbers of answers m: a stratum
then has the room :math:`m_i \ln(1 + c r_i N_i / m_i)`. It rises with m, so a strength that was fixed in
advance would be too large where few answer. What is planned with is the expectation of the noise over m,
which is larger than the noise at the expected answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dpstrata.allocation.domains import Family
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.response import nearest_with_answers, willing_people
from dpstrata.numerics.arrays import ALL, FloatArray, IntArray, Rows, blocks, read_only

# Rounding of a room, with a margin: a strength is taken down by it, so that the promise is never exceeded.
_SAFE = 1.0 - 2.0**-48
_MOST_STEPS = 100
_TIGHT = 1e-9  # room that is left, relative, where strengths cannot rise
_REACH = 9.0  # standard deviations of m beyond which there is nothing
_CERTAIN = 1e-5  # relative standard deviation of m below which it is taken at its mean
_NEVER = -800.0  # logarithm of a chance that is none


@dataclass(frozen=True, slots=True, eq=False)
class SingleMean:
    """Minimise the variance from sampling and from one draw of noise for each figure.

    Parameters
    ----------
    problem : Problem
        Terms without noise, bounds, total and figures.
    """

    problem: Problem
    _odds: FloatArray = field(init=False)  # cN
    _rates: FloatArray | None = field(init=False)

    def __post_init__(self) -> None:
        terms = self.problem.terms
        object.__setattr__(self, "_odds", read_only(terms.promise.odds_minus_one * terms.sizes))
        object.__setattr__(self, "_rates", terms.response_rates)

    @property
    def families(self) -> tuple[Family, ...]:
        """The figures."""
        return self.problem.families

    @property
    def answer_range(self) -> float:
        """R."""
        return self.problem.forms.fitted.answer_range

    @property
    def noise_weights(self) -> tuple[FloatArray, ...]:
        """W = 2ω of every figure, by family."""
        return tuple(2.0 * family.weights for family in self.families)

    def room(self, n: FloatArray, rows: Rows = ALL) -> FloatArray:
        """r·n·ln(1 + cN/n): what all figures together may use of a stratum."""
        room = np.log1p(self._odds[rows] / n)
        room *= n
        return room if self._rates is None else room * self._rates[rows]

    def room_of_answers(self, m: FloatArray, rows: Rows = ALL) -> FloatArray:
        """m·ln(1 + c·r·N/m): the room of a stratum once its number of answers is known."""
        odds = self._odds[rows] if self._rates is None else self._odds[rows] * self._rates[rows]
        return np.asarray(m * np.log1p(odds / m))

    def room_and_slope(self, n: FloatArray, rows: Rows = ALL) -> tuple[FloatArray, FloatArray]:
        """Room with its derivative, at real sizes."""
        odds = self._odds[rows]
        z = odds / n
        e = np.log1p(z)
        slope = e - z / (1.0 + z)
        small = np.flatnonzero(z < 1e-4)
        slope[small] = z[small] ** 2 * (0.5 - z[small] * (2.0 / 3.0))
        room = e * n
        if self._rates is not None:
            room, slope = room * self._rates[rows], slope * self._rates[rows]
        return room, slope

    def room_bend(self, n: FloatArray) -> FloatArray:
        """Second derivative of the room, with the sign changed: r·(cN)²/(n(n + cN)²)."""
        ratio = self._odds / (n + self._odds)
        bend = ratio * ratio / n
        return bend if self._rates is None else bend * self._rates

    def split(self, strengths: FloatArray) -> list[FloatArray]:
        """Cut the strengths of all figures, in their order, into those of each family."""
        ends = np.cumsum([len(family) for family in self.families])
        return np.split(strengths, ends[:-1])

    def raised(self, n: IntArray | FloatArray, strengths: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
        """Raise, or lower, strengths to the largest in their proportions that keep the promise."""
        return self._rescaled(strengths, self.room(np.asarray(n, dtype=float)))

    def raised_to_answers(self, m: IntArray, strengths: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
        """Do the same for the numbers of answers that came: figures are published with these strengths.

        A stratum without an answer is stood in for by its neighbour, which then counts for both. What is
        promised rests on the response rates, as for every release.
        """
        given = self.given_answers(m)
        room = given.room_of_answers(np.maximum(m, 1).astype(float))
        if len(self.families) > 1:
            room[m <= 0] = np.inf  # nothing is spent there
        return given._rescaled(strengths, room)

    def given_answers(self, m: IntArray) -> SingleMean:
        """Let strata with answers count for their neighbours without: one answer then moves more.

        Neighbours are those of the same figure, so they may differ by family.
        """
        if np.all(m > 0):
            return self
        families = (family.moved(nearest_with_answers(m, [family.codes])) for family in self.families)
        return SingleMean(replace(self.problem, families=tuple(families)))

    def _rescaled(self, strengths: Sequence[FloatArray], room: FloatArray) -> tuple[FloatArray, ...]:
        """Figures of one family each take what their strata allow; those of several rise together."""
        used = self.use(strengths)
        ratio = np.divide(room, used, out=np.full_like(room, np.inf), where=used > 0)
        if len(self.families) == 1:
            return (strengths[0] * self.families[0].smallest(ratio) * _SAFE,)
        return tuple(strength * (ratio.min() * _SAFE) for strength in strengths)

    def use(self, strengths: Sequence[FloatArray]) -> FloatArray:
        """Σ_g a·R·s: how much room of each stratum the figures use."""
        used = np.zeros(len(self._odds))
        for family, strength in zip(self.families, strengths, strict=True):
            used += family.coefficients * strength[family.codes]
        return used * self.answer_range

    def scales_at(self, n: IntArray | FloatArray) -> tuple[FloatArray, ...]:
        """Return the scales b that go with sizes: the smallest, of several families in their proportions."""
        if len(self.families) == 1:
            return (1.0 / self.strengths(n, self.families[0]),)
        scales = self.problem.scales
        strengths = tuple(1.0 / scale for scale in scales)
        spare = float((self.room(np.asarray(n, dtype=float)) / self.use(strengths)).min())
        if 1.0 <= spare < 1.0 + _TIGHT:  # they are those of these sizes, to the last digit
            return scales
        return tuple(1.0 / strength for strength in self.raised(n, strengths))

    def strengths_at(self, n: IntArray | FloatArray) -> tuple[FloatArray, ...]:
        """Return the strengths that go with sizes."""
        if len(self.families) == 1:
            return (self.strengths(n, self.families[0]),)
        return tuple(1.0 / scale for scale in self.scales_at(n))

    def budgets_at(self, n: IntArray | FloatArray) -> FloatArray:
        """Return what all figures together spend of a person, if as many answer as expected."""
        answers = n if self._rates is None else n * self._rates
        return np.asarray(self.use(self.strengths_at(n)) / answers)

    def budgets_given(self, m: IntArray) -> FloatArray:
        """Return the same for the numbers of answers that came."""
        answers = np.maximum(m, 1)
        strengths = self.raised_to_answers(m, self.strengths_at(answers))
        return np.where(m > 0, self.given_answers(m).use(strengths) / answers, 0.0)

    def strengths(self, n: IntArray | FloatArray, family: Family) -> FloatArray:
        """Return the largest strengths of the figures of one family, if there is no other.

        A little is taken off for rounding, so that no stratum uses more than its room.
        """
        return family.smallest(self.levels(np.asarray(n, dtype=float), family)) * _SAFE

    def levels(self, n: FloatArray, family: Family, rows: Rows = ALL) -> FloatArray:
        """room/(aR): the strength that each stratum allows, infinite where it does not count."""
        needed = family.coefficients[rows] * self.answer_range
        room = self.room(n, rows)
        return np.divide(room, needed, out=np.full_like(room, np.inf), where=needed > 0)

    def real_sizes(self, needed: FloatArray, start: FloatArray, rows: Rows = ALL) -> FloatArray:
        """Return the real sizes whose room is ``needed``, to about eight digits: Newton's method, from below.

        Parameters
        ----------
        needed : array
            At most the room of the whole stratum; strata that need nothing get nearly nobody.
        start : array
            Sizes nearby, > 0.
        rows : slice or array of int
            The strata concerned; with many, pass one block at a time, so that it stays in cache.
        """
        x = start
        for _ in range(_MOST_STEPS):
            room, slope = self.room_and_slope(x, rows)
            following = np.maximum(x + (needed - room) / slope, 0.125 * x)
            done = np.abs(following - x) <= 1e-4 * x  # the next error is nearly its square
            x = following
            if np.all(done | (x < 1e-9)):
                break
        return x

    def least_sizes(self, needed: FloatArray, guess: FloatArray) -> IntArray:
        """Return the fewest people, within the limits, whose room is at least ``needed``.

        The maximum where even that has less. What a room is, is decided by :meth:`room` at whole numbers.
        """
        sizes = np.empty(len(needed), dtype=np.int64)
        for rows in blocks(len(needed)):
            sizes[rows] = self._least_sizes(needed[rows], guess[rows], rows)
        return sizes

    def _least_sizes(self, needed: FloatArray, guess: FloatArray, rows: slice) -> IntArray:
        lower, upper = self.problem.lower[rows], self.problem.upper[rows]
        x = self.real_sizes(np.minimum(needed, self.room(upper.astype(float), rows)), guess, rows)
        n = np.clip(np.ceil(x), lower, upper).astype(np.int64)
        while (short := (self.room(n.astype(float), rows) < needed) & (n < upper)).any():
            n += short
        while (spare := (n > lower) & (self.room(np.maximum(n - 1.0, 1.0), rows) >= needed)).any():
            n -= spare
        return n

    def sizes_for(self, strengths: Sequence[FloatArray], guess: FloatArray) -> IntArray:
        """Return the fewest people, within the limits, who keep the promise, but for rounding."""
        return self.least_sizes(self.use(strengths) * _SAFE, guess)

    def noise(self, strengths: Sequence[FloatArray]) -> float:
        """Σ W/s²: what the noise of all figures counts."""
        pairs = zip(self.noise_weights, strengths, strict=True)
        return float(sum((W / (s * s)).sum() for W, s in pairs))

    def value(self, n: IntArray, strengths: Sequence[FloatArray]) -> float:
        """Return what is minimised."""
        return self.problem.objective(n) + self.noise(strengths)


def figure_variances(
    problem: SingleMean, sizes: IntArray, strengths: Sequence[FloatArray]
) -> tuple[FloatArray, ...]:
    r"""Return the variance :math:`2 b_g^2` of the noise of every figure, expected over how many answer.

    Parameters
    ----------
    problem : SingleMean
        Sizes, response rates and figures.
    sizes : array of int
        People invited.
    strengths : sequence of array
        As planned, by family.

    Notes
    -----
    Given that every stratum has an answer. The numbers of answers are independent and hypergeometric, so the
    distribution of the largest :math:`b` among the strata is the product of theirs, and the expectation is a
    sum over its steps. The rN people who would answer are rounded down, which never makes it smaller.
    """
    planned = tuple(2.0 / strength**2 for strength in strengths)
    rates = problem.problem.terms.response_rates
    if rates is None:
        return planned
    used = problem.use(strengths)
    rows, m, chance = _chances(problem, sizes, rates)
    square = (used[rows] / problem.room_of_answers(m, rows)) ** 2
    if len(problem.families) > 1:
        together = np.zeros(len(sizes), dtype=np.int64)
        factor = float(_largest(square, rows, chance, together)[0])
        return tuple(each * factor for each in planned)
    return (planned[0] * _largest(square, rows, chance, problem.families[0].codes),)


def _largest(square: FloatArray, rows: IntArray, chance: FloatArray, codes: IntArray) -> FloatArray:
    """Take the expectation of the largest square among the strata of each figure.

    Parameters
    ----------
    square : array
        Of every stratum and number of answers; it falls with them.
    rows : array of int
        The strata, in their order.
    chance : array
        log P(m' > m) − log P(m' >= m).
    codes : array of int
        The figure of each stratum.
    """
    figure = codes[rows]
    order = np.lexsort((-square, figure))
    figure, square = figure[order], square[order]
    logs = np.cumsum(chance[order])
    first = np.flatnonzero(np.diff(figure, prepend=-1))
    logs -= (logs - chance[order])[first][figure]
    below = np.exp(np.maximum(logs, _NEVER))  # chance that all are below
    above = np.roll(below, 1)
    above[first] = 1.0
    return np.asarray(np.bincount(figure, weights=square * (above - below)), dtype=float)


def _chances(
    problem: SingleMean, sizes: IntArray, rates: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """List every number of answers that may come, with log P(m' > m) − log P(m' >= m)."""
    N, n = problem.problem.terms.sizes.astype(float), sizes.astype(float)
    A = np.maximum(willing_people(problem.problem.terms.sizes, rates)[0], 1.0)
    u = n * A / N
    sd = np.sqrt(u * (1.0 - A / N) * ((N - n) / np.maximum(N - 1.0, 1.0)))
    sd = np.where(sd <= _CERTAIN * u, 0.0, sd)
    reach = np.where(sd > 0, _REACH * sd + _REACH, 0.0)
    least = np.maximum(np.maximum(np.floor(u - reach), n - (N - A)), 1.0)
    most = np.maximum(np.minimum(np.ceil(u + reach), np.minimum(n, A)), least)
    most = np.where(sd > 0, most, least)
    entries = (most - least).astype(np.int64) + 1
    ends = np.cumsum(entries)
    rows = np.repeat(np.arange(len(n)), entries)
    m = least[rows] + (np.arange(len(rows)) - (ends - entries)[rows])
    with np.errstate(divide="ignore"):
        ratio = (A[rows] - m) * (n[rows] - m) / ((m + 1.0) * np.maximum((N - A - n)[rows] + m + 1.0, 1.0))
        step = np.maximum(np.log(np.maximum(ratio, 0.0)), _NEVER)
    log = np.cumsum(step) - step
    log -= np.maximum.reduceat(log, ends - entries)[rows]
    weight = np.exp(np.maximum(log, _NEVER))
    tail = np.cumsum(weight[::-1])[::-1]  # from m on, with all later strata
    after = np.append(tail, 0.0)[ends]
    tail -= after[rows]
    rest = tail - weight
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.log(np.maximum(rest, 0.0) / tail)
    return rows, m, np.where(np.isfinite(chance), chance, _NEVER)
