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
    steps: list[tuple[IntArray, IntArray]] = []
    value, over, used = np.zeros(1), np.zeros(1), np.zeros((len(limits), 1))
    for i in range(len(sizes)):
        if len(value) * len(sizes[i]) > 20 * _MOST_STATES:
            return False, None
        state, candidate = _within(over, excess[i], room)
        next_value = value[state] + values[i][candidate]
        keep = next_value + value_rest[i + 1] < best
        state, candidate, value = state[keep], candidate[keep], next_value[keep]
        fits = np.ones(len(state), dtype=bool)
        next_used = []
        for j in range(len(limits)):
            next_used.append(used[j][state] + uses[i][:, j][candidate])
            fits &= next_used[-1] + rest[i + 1, j] <= limits[j] + slack[j]
        left = np.flatnonzero(fits)
        if len(left) > _MOST_STATES:
            return False, None
        left = left[np.lexsort((candidate[left], state[left]))]  # equal values: the earlier sizes win
        state, candidate, value = state[left], candidate[left], value[left]
        over = over[state] + excess[i][candidate]
        used = np.array([each[left] for each in next_used])
        steps.append((state, candidate))
    for place in np.argsort(value, kind="stable")[:_MOST_CHECKED].tolist():
        chosen = _chosen(sizes, steps, place)
        if accept(chosen):
            return True, chosen
    return len(value) <= _MOST_CHECKED, None


def _within(over: FloatArray, excess: FloatArray, room: float) -> tuple[IntArray, IntArray]:
    """Pair every part of an allocation with the candidates whose excess stays within the room."""
    order = np.argsort(excess, kind="stable")
    # a few too many, then those beyond the room are taken out: sums and differences are rounded differently
    numbers = np.searchsorted(excess[order], room - over + 1e-9 * room, side="right")
    state = np.repeat(np.arange(len(over)), numbers)
    first = np.repeat(np.cumsum(numbers) - numbers, numbers)
    candidate = order[np.arange(len(state)) - first]
    inside = over[state] + excess[candidate] <= room
    return state[inside], candidate[inside]


def _chosen(sizes: Sequence[IntArray], steps: Sequence[tuple[IntArray, IntArray]], place: int) -> IntArray:
    """Follow one combination back to its first stratum."""
    found = np.empty(len(sizes), dtype=np.int64)
    for i in reversed(range(len(sizes))):
        state, candidate = steps[i]
        found[i] = sizes[i][candidate[place]]
        place = int(state[place])
    return found
