r"""What a respondent's device does to a row of answers: in whole numbers, from bytes that nobody can predict.

A number is put on one of the two levels next to it, up or down at random, so that its expectation stays. Then
the row, as one of K cells, is kept with probability P/(P + KQ) and otherwise replaced by a cell drawn at
random. P/Q is a fraction just below :math:`e^E - 1`, so the row loses :math:`\ln(1 + P/Q) \le E`, exactly.
Given the same bytes, every implementation of these steps makes the same row.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

Source = Callable[[int], bytes]
"""Returns as many random bytes as asked for."""

DENOMINATOR = 2**40  # Q: the odds are rounded down by less than 1e-12


@lru_cache(maxsize=4096)
def odds_below(epsilon: float) -> Fraction:
    """Return P/Q, the largest fraction with this denominator that is at most exp(E) − 1.

    Parameters
    ----------
    epsilon : float
        E, as the design states it: taken for exactly that number.

    Examples
    --------
    >>> import math
    >>> odds = odds_below(3.0)
    >>> 0 <= math.expm1(3.0) - float(odds) < 1e-11
    True
    """
    from mpmath import mp

    with mp.workdps(80 + int(epsilon)):
        whole = int(mp.floor(mp.expm1(mp.mpf(epsilon)) * DENOMINATOR))
    return Fraction(whole, DENOMINATOR)


def kept_of(cells: int, odds: Fraction) -> tuple[int, int]:
    """Return in how many of how many equally likely cases a row of K cells is kept: P of P + KQ."""
    kept = odds.numerator
    return kept, kept + cells * odds.denominator


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


def level_of(share: Fraction, levels: int, source: Source = secrets.token_bytes) -> int:
    """Put a share of the range on one of the equidistant levels next to it, at random if it lies between.

    Parameters
    ----------
    share : Fraction
        Where the answer lies in its range, from 0 to 1.
    levels : int
        L >= 2.
    source : callable
        Where bytes come from.
    """
    lower, rest = divmod(share.numerator * (levels - 1), share.denominator)
    if rest == 0:
        return lower
    between = Fraction(rest, share.denominator)
    return lower + (below(between.denominator, source) < between.numerator)


def randomized_cell(cell: int, cells: int, odds: Fraction, source: Source = secrets.token_bytes) -> int:
    """Keep a cell, or replace it by one drawn from all of them."""
    kept, cases = kept_of(cells, odds)
    return cell if below(cases, source) < kept else below(cells, source)


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
