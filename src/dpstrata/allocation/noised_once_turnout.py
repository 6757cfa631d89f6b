r"""The noise of figures with one draw each, where not everyone answers.

Their strengths are set after the field, from the public numbers of answers m: a stratum then has the room
:math:`m_i \ln(1 + c r_i N_i / m_i)`. It rises with m, so a strength that was fixed in advance would be too
large where few answer. What is planned with is the expectation of the noise over m, which is larger than
the noise at the expected answers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpstrata.allocation.noised_once import NoisedOnce
from dpstrata.allocation.turnout import willing_people
from dpstrata.numerics.arrays import FloatArray, IntArray

_REACH = 9.0  # standard deviations of m beyond which there is nothing
_CERTAIN = 1e-5  # relative standard deviation of m below which it is taken at its mean
_NEVER = -800.0  # logarithm of a chance that is none


def strengths_after_field(
    problem: NoisedOnce, strengths: Sequence[FloatArray], answers: IntArray
) -> tuple[FloatArray, ...]:
    """Return the strengths with which figures are published, from how many answers came.

    Parameters
    ----------
    problem : NoisedOnce
        Sizes, response rates and figures.
    strengths : sequence of array
        As planned, by family. Figures that do not overlap each get the largest strength that keeps the
        promise; those of several families keep their proportions.
    answers : array of int
        m of each stratum; one without an answer is stood in for by its neighbour, which then counts for
        both. What is promised rests on the response rates, as for every release.
    """
    return problem.raised_to_answers(np.asarray(answers), strengths)


def figure_variances(
    problem: NoisedOnce, sizes: IntArray, strengths: Sequence[FloatArray]
) -> tuple[FloatArray, ...]:
    r"""Return the variance :math:`2 b_g^2` of the noise of every figure, expected over how many answer.

    Parameters
    ----------
    problem : NoisedOnce
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
    problem: NoisedOnce, sizes: IntArray, rates: FloatArray
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
