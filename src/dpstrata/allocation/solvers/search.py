"""Trying every combination that a bound leaves, for few strata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.terms import Terms
from dpstrata.numerics.arrays import FloatArray, IntArray

_MOST_STRATA = 12
_MOST_STATES = 1_000_000
_MOST_SIZES = 20_000
_MOST_CHECKED = 1000


class Candidates(NamedTuple):
    """Sizes of one stratum that a better design could have."""

    sizes: IntArray
    variances: FloatArray
    """Of the stratum's mean, without the finite population correction."""
    excess: FloatArray
    """weight·variance + price·n, beyond its least."""


def candidates_within(
    terms: Terms,
    weights: FloatArray,
    price: FloatArray,
    lower: IntArray,
    upper: IntArray,
    best: IntArray,
    room: float,
) -> list[Candidates] | None:
    """Find the sizes of every stratum whose excess over the best at these prices is within the room.

    ``terms`` have coefficients 1. The result is ``None`` where that would be too many.
    """
    if len(best) > _MOST_STRATA:
        return None
    found = []
    for i in range(len(best)):
        reach = 8
        while True:
            start, end = max(int(lower[i]), int(best[i]) - reach), min(int(upper[i]), int(best[i]) + reach)
            n = np.arange(start, end + 1)
            variances = terms.values(n.astype(float), np.full(len(n), i))
            total = weights[i] * variances + price[i] * n
            excess = total - total[int(best[i]) - start]
            inside = excess <= room
            closed = (start == lower[i] or not inside[0]) and (end == upper[i] or not inside[-1])
            if closed:
                break
            reach *= 4
            if reach > _MOST_SIZES:
                return None
        found.append(Candidates(n[inside], variances[inside], np.maximum(excess[inside], 0.0)))
    return found


def best_combination(
    sizes: Sequence[IntArray],
    values: Sequence[FloatArray],
    excess: Sequence[FloatArray],
    uses: Sequence[FloatArray],
    limits: FloatArray,
    *,
    best: float,
    room: float,
    accept: Callable[[IntArray], bool],
) -> tuple[bool, IntArray | None]:
    """Find sizes with less value than ``best`` that stay within the limits.

    Strata are added one by one. A part of an allocation is dropped when its excess over the bound exceeds the
    room, or when the rest cannot stay within a limit even at its least use.

    Parameters
    ----------
    sizes : sequence of array
        Candidate sizes of each stratum.
    values, excess : sequence of array
        What each candidate adds to the value, and to the bound beyond the least possible.
    uses : sequence of array
        What each candidate uses of every limit, a row for each.
    limits : array
        What may be used in all.
    best, room : float
        The value to beat, and how far it is above the bound.
    accept : callable
        Whether sizes are truly within the limits; sums here may be off by their last digits.

    Returns
    -------
    complete : bool
        Whether every combination was tried; otherwise there were too many.
    sizes : array of int or None
        The best combination, or ``None`` if none beats ``best``.
    """
    least = np.array([use.min(axis=0) for use in uses])
    rest = np.vstack([np.cumsum(least[::-1], axis=0)[::-1], np.zeros((1, len(limits)))])
    cheapest = np.array([value.min() for value in values])
    value_rest = np.append(np.cumsum(cheapest[::-1])[::-1], 0.0)
    slack = 1e-12 * np.abs(limits)
    chosen = np.empty((1, 0), dtype=np.int64)
    value, over, used = np.zeros(1), np.zeros(1), np.zeros((1, len(limits)))
    for i, column in enumerate(sizes):
        if len(value) * len(column) > 20 * _MOST_STATES:
            return False, None
        next_over = over[:, None] + excess[i]
        next_value = value[:, None] + values[i]
        keep = (next_over <= room) & (next_value + value_rest[i + 1] < best)
        state, candidate = np.nonzero(keep)
        next_used = used[state] + uses[i][candidate]
        fits = np.all(next_used + rest[i + 1] <= limits + slack, axis=1)
        state, candidate, used = state[fits], candidate[fits], next_used[fits]
        if len(state) > _MOST_STATES:
            return False, None
        chosen = np.column_stack([chosen[state], column[candidate]])
        value, over = next_value[state, candidate], next_over[state, candidate]
    for i in np.argsort(value, kind="stable")[:_MOST_CHECKED].tolist():
        if accept(chosen[i]):
            return True, chosen[i]
    return len(value) <= _MOST_CHECKED, None
