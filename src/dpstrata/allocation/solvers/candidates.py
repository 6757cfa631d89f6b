"""Lists of candidate allocations, and the best of them."""

import math
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.errors import DpstrataError
from dpstrata.numerics.arrays import IntArray

_CHUNK = 1 << 18
_CLOSE = 1e-13  # relative distance of two objectives that plain summation does not settle


def count_compositions(lower: IntArray, upper: IntArray, total: int, *, enough: int) -> int:
    """Count the whole-number allocations within the bounds that add up to ``total``.

    Stops counting beyond ``enough``, and then returns some larger number.
    """
    room = total - int(lower.sum())
    widths = sorted(min(int(width), room) for width in upper - lower)
    at_most = math.prod(width + 1 for width in widths[:-1])  # the widest stratum makes up the total
    if at_most <= enough or room * len(widths) > 10**7:
        return at_most
    ways = [1] + [0] * room
    for width in widths:
        sums, running = [], 0
        for used in range(room + 1):
            running += ways[used] - (ways[used - width - 1] if used > width else 0)
            sums.append(running)
        ways = sums
    return ways[room]


def every_composition(lower: IntArray, upper: IntArray, total: int) -> Iterator[IntArray]:
    """Yield all of them, in chunks of rows."""
    room = total - int(lower.sum())
    ranges = [np.arange(low, min(high, low + room) + 1) for low, high in zip(lower, upper, strict=True)]
    yield from every_product(ranges, lower, upper, total)


def every_product(
    ranges: Sequence[IntArray], lower: IntArray, upper: IntArray, total: int
) -> Iterator[IntArray]:
    """Yield the allocations whose first k - 1 sizes come from ``ranges`` and whose last makes up the total.

    Rows whose last size leaves its bounds are dropped, as early as that can be known.
    """
    k = len(lower)
    least = np.concatenate([np.cumsum(lower[::-1])[::-1], [0]])
    most = np.concatenate([np.cumsum(upper[::-1])[::-1], [0]])
    # one row for each stratum here, since it is strata that are looked at one by one
    stack: list[tuple[IntArray, IntArray]] = [(np.empty((0, 1), dtype=np.int64), np.array([total]))]
    while stack:
        sizes, left = stack.pop()
        i = len(sizes)
        if i == k - 1:
            last = np.vstack([sizes, left])
            yield last[:, (left >= lower[-1]) & (left <= upper[-1])].T
            continue
        choices = ranges[i]
        step = max(1, _CHUNK // max(1, len(choices)))
        for start in range(0, len(left), step):
            rest = left[start : start + step, None] - choices
            begun, choice = np.nonzero((rest >= least[i + 1]) & (rest <= most[i + 1]))
            grown = np.vstack([sizes[:, start + begun], choices[choice]])
            stack.append((grown, rest[begun, choice]))


def pick_best(problem: Problem, candidates: Iterator[IntArray]) -> IntArray:
    """Return the candidate with the least objective; ties go to the earlier stratum."""
    best, close = np.inf, []
    for rows in candidates:
        if not len(rows):
            continue
        value = np.zeros(len(rows))
        for i in range(rows.shape[1]):
            low, high = int(rows[:, i].min()), int(rows[:, i].max())
            table = problem.terms.values(np.arange(low, high + 1.0), np.full(high - low + 1, i))
            value += table[rows[:, i] - low]
        best = min(best, float(value.min()))
        near = value <= best + _CLOSE * abs(best)
        close.append((rows[near], value[near]))
    if not close:
        raise DpstrataError("no allocation meets the bounds and the total.")
    rows = np.concatenate([part[value <= best + _CLOSE * abs(best)] for part, value in close])
    return _pick_exactly(problem, rows)


def _pick_exactly(problem: Problem, rows: IntArray) -> IntArray:
    """Compare in exact arithmetic; what agrees to 100 digits is a tie."""
    from mpmath import mp

    value = cache(problem.terms.exact_value)
    winner: IntArray = rows[0]
    with mp.workdps(150):
        tie = mp.mpf(10) ** -100 * problem.objective(winner)
        for rival in rows[1:]:
            better = mp.fsum(
                value(i, int(winner[i])) - value(i, int(rival[i]))
                for i in np.flatnonzero(rival != winner).tolist()
            )
            if better > tie or (better >= -tie and tuple(rival) > tuple(winner)):
                winner = rival
    return winner
