"""Rows of answers, sent as they are or replaced as a whole: how often, how exactly, and with what variance.

A form has K cells: every combination of the levels of its questions. A device sends the true row with
probability 1 − ρ, and otherwise one of the K rows at random, each as likely. That is K-ary randomized
response, whose local budget is exactly E, with

    ρ = K/(y + K),   y = exp(E) − 1,   r = ρ/(1 − ρ) = K/y.

A reported answer, stretched by 1 + r around the middle of its levels, is unbiased. Its variance, over the
people of a stratum, their rounding to levels and the replacing, is quadratic in r, with coefficients that do
not depend on the other questions of the form. All spreads here are in units of the range of the answer; the
figure of a category is half the sum over its shares, which for two categories is the variance of either.

What a device does is done in whole numbers, from bytes that nobody can predict. A number is put on one of the
two levels next to it, up or down at random, so that its expectation stays. Then the row, as one of K cells,
is kept with probability P/(P + KQ) and otherwise replaced by a cell drawn at random. P/Q is a fraction just
below y, so the row loses ln(1 + P/Q) ≤ E, exactly. Given the same bytes, every implementation of these steps
makes the same row.
"""

from __future__ import annotations

import math
import secrets
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpstrata.numerics.arrays import FloatArray

Source = Callable[[int], bytes]
"""Returns as many random bytes as asked for."""

DENOMINATOR = 2**40  # Q: the odds are rounded down by less than 1e-12

_DOWN = 1.0 - 2.0**-48


class Quadratic(NamedTuple):
    """Variance of one person's unbiased answer, S² + noise, as a polynomial in r.

    Attributes
    ----------
    constant, linear, square : array
        Coefficients of 1, r and r²; they broadcast against each other.
    """

    constant: FloatArray
    linear: FloatArray
    square: FloatArray

    def at(self, r: float | FloatArray) -> FloatArray:
        """Evaluate it at r = K/(exp(E) − 1)."""
        return np.asarray(self.constant + r * (self.linear + r * self.square))


def stretch(cells: int, device_epsilon: float) -> float:
    """Return r = K/(exp(E) − 1): reported answers are stretched by 1 + r to be unbiased.

    Parameters
    ----------
    cells : int
        K, combinations of answers on the form, >= 1.
    device_epsilon : float
        E, from 1e-6 to 100.

    Examples
    --------
    >>> round(stretch(8, 3.0), 4)
    0.4192
    """
    return cells / math.expm1(device_epsilon)


def replaced(cells: int, device_epsilon: float) -> float:
    """Return ρ = K/(exp(E) − 1 + K), the probability that a row is replaced by a random one.

    Parameters
    ----------
    cells : int
        K, combinations of answers on the form, >= 1.
    device_epsilon : float
        E, from 1e-6 to 100.

    Examples
    --------
    >>> round(replaced(8, 3.0), 4)
    0.2954
    """
    r = stretch(cells, device_epsilon)
    return r / (1 + r)


def shares_in_row(levels: int, spread: FloatArray) -> Quadratic:
    """Return the variance of a question whose k levels are names: yes/no or categories.

    Parameters
    ----------
    levels : int
        k >= 2; yes/no has two.
    spread : array
        S²: half the sum of p(1 − p) over the shares, divisor N − 1.

    Notes
    -----
    Half of the sum of the noise over k shares is (k − 1)/(2k)·r(2 + r), whatever the true shares are; for
    yes/no r(2 + r)/4.
    """
    share = (levels - 1) / levels
    return Quadratic(spread, np.asarray(share), np.asarray(share / 2))


def largest_rounding(levels: int) -> float:
    """Return 1/(4(L − 1)²), the most variance that rounding to L levels adds: half-way between two of them.

    Examples
    --------
    >>> largest_rounding(2), largest_rounding(5)
    (0.25, 0.015625)
    """
    return 1 / (4 * (levels - 1) ** 2)


def number_in_row(
    levels: int, spread: FloatArray, squares: tuple[FloatArray, FloatArray], *, rounded: bool
) -> Quadratic:
    r"""Return the variance of a question whose levels are equidistant numbers, in units of their range.

    Parameters
    ----------
    levels : int
        L >= 2, the two ends of the range among them.
    spread : array
        S², divisor N − 1.
    squares : pair of array
        Smallest and largest value that x² can have, the mean squared distance of the answers from the middle
        of the range; at most 1/4. They are equal where it is known.
    rounded : bool
        Whether answers lie between levels, and are put on one of the two next to them at random, so that the
        expectation stays.

    Notes
    -----
    With rounding of variance u on average and the mean square of the levels μ₂ = (L + 1)/(12(L − 1)),

    .. math:: S^2 + r x^2 + \mu_2 r (1 + r) + (1 + r) u

    Half-way between two levels u is largest, 1/(4(L − 1)²). What was rounded still lies in the range, so
    x² + u is at most 1/4; at L = 2 it is exactly 1/4. Each coefficient takes the worst of what is not known.
    """
    low, high = squares
    most = largest_rounding(levels) if rounded else 0.0
    mean_square = (levels + 1) / (12 * (levels - 1))
    rounding = np.clip(0.25 - low, 0.0, most)
    return Quadratic(
        np.asarray(spread + rounding),
        np.asarray(np.minimum(high + most, 0.25) + mean_square),
        np.asarray(mean_square),
    )


@lru_cache(maxsize=4096)
def spendable(budget: float) -> float:
    """Return a budget rounded down, by more than any logarithm that it was made with can be off."""
    return math.nextafter(budget * _DOWN, 0.0)


def odds_below(epsilon: float) -> int:
    """Return P, the largest whole number for which P/Q is at most exp(E) − 1.

    Parameters
    ----------
    epsilon : float
        E, as the design states it: taken for exactly that number.

    Examples
    --------
    >>> import math
    >>> odds = odds_below(3.0)
    >>> 0 <= math.expm1(3.0) - odds / DENOMINATOR < 1e-11
    True
    """
    from mpmath import mp

    with mp.workdps(80 + int(epsilon)):
        return int(mp.floor(mp.expm1(mp.mpf(epsilon)) * DENOMINATOR))


def below(number: int, source: Source = secrets.token_bytes) -> int:
    """Draw a whole number from 0 to ``number`` − 1, all equally likely.

    Takes the fewest bytes that can hold such a number, keeps their highest bits, and starts anew if the
    result is too large.
    """
    bits = (number - 1).bit_length()
    size = (bits + 7) // 8
    while True:
        drawn = int.from_bytes(source(size), "big") >> (8 * size - bits)
        if drawn < number:
            return drawn


def level_of(share: Fraction, levels: Sequence[int], source: Source = secrets.token_bytes) -> int:
    """Put a share of the range on one of the levels next to it, at random if it lies between two.

    Parameters
    ----------
    share : Fraction
        Where the answer lies in its range, from 0 to 1.
    levels : sequence of int
        Where the levels lie, from 0 at the lower end of the range to the last one at its upper end.
    source : callable
        Where bytes come from.

    Examples
    --------
    >>> level_of(Fraction(1, 2), range(3)), level_of(Fraction(1, 2), [0, 4, 5, 8])
    (1, 1)
    """
    wanted = share.numerator * levels[-1]
    lower = bisect_right(levels, wanted // share.denominator) - 1
    rest = wanted - levels[lower] * share.denominator
    if rest == 0:
        return lower
    between = Fraction(rest, (levels[lower + 1] - levels[lower]) * share.denominator)
    return lower + (below(between.denominator, source) < between.numerator)


def drawn_near(start: int, window: int, line: int, odds: int, source: Source = secrets.token_bytes) -> int:
    """Draw a number of a line: each in the window is 1 + P/Q times as likely as each outside.

    Parameters
    ----------
    start, window : int
        The first number of the window, and how many it has.
    line : int
        M: the numbers are 0 to M − 1.
    odds : int
        P.
    source : callable
        Where bytes come from.
    """
    inside = window * odds
    drawn = below(inside + line * DENOMINATOR, source)
    return start + drawn // odds if drawn < inside else below(line, source)


def randomized_cell(cell: int, cells: int, odds: int, source: Source = secrets.token_bytes) -> int:
    """Keep a cell, or replace it by one drawn from all of them."""
    return drawn_near(cell, 1, cells, odds, source)


def cell_of(places: Sequence[int], levels: Sequence[int]) -> int:
    """Return the number of a row: the levels of its questions, the first one counting most.

    Examples
    --------
    >>> cell_of([1, 0, 2], [2, 2, 3])
    8
    """
    cell = 0
    for place, number in zip(places, levels, strict=True):
        cell = cell * number + place
    return cell


def places_of(cell: int, levels: Sequence[int]) -> tuple[int, ...]:
    """Return the levels of the questions of a row, from its number.

    Examples
    --------
    >>> places_of(8, [2, 2, 3])
    (1, 0, 2)
    """
    places = []
    for number in reversed(levels):
        cell, place = divmod(cell, number)
        places.append(place)
    return tuple(reversed(places))
