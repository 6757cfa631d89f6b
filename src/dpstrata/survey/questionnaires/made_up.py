"""Made-up answers that have a given mean and variance, or a standard deviation, for simulations."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.answer_space import AnswerSpace

_MOVES = 10_000


def counts_with_moments(points: int, size: int, mean: float, variance: float) -> IntArray:
    """Place people on a grid from 0 to 1 so that mean and variance (divisor N) come as near as they can.

    Two groups that have both are put on the grid; then single people move to where both come nearer.

    Parameters
    ----------
    points : int
        Of the grid, at least 2.
    size : int
        People, at least 1.
    mean, variance : float
        Between 0 and 1, and at most mean·(1 − mean).

    Examples
    --------
    >>> counts_with_moments(5, 100, 0.5, 0.25).tolist()
    [50, 0, 0, 0, 50]
    """
    grid = np.linspace(0.0, 1.0, points)
    counts = np.zeros(points, dtype=np.int64)
    for place, people in _two_groups(size, mean, variance):
        below = min(math.floor(place * (points - 1)), points - 2)
        above = round(people * (place * (points - 1) - below))
        counts[below] += people - above
        counts[below + 1] += above
    for _ in range(_MOVES):
        moved = _nearer(counts, grid, size, mean, variance)
        if moved is None:
            break
        counts = moved
    return counts


def _two_groups(size: int, mean: float, variance: float) -> list[tuple[float, int]]:
    """Return two places and how many people are at each."""
    if variance <= 0 or size == 1:
        return [(mean, size)]
    # from halves to as uneven as it takes for both to lie between 0 and 1
    least, most = variance / ((1 - mean) ** 2 + variance), mean**2 / (mean**2 + variance)
    upper = min(max(round(size * min(max(0.5, least), most)), 1), size - 1)
    odds = math.sqrt(upper / (size - upper))
    low, high = mean - math.sqrt(variance) * odds, mean + math.sqrt(variance) / odds
    return [(min(max(low, 0.0), 1.0), size - upper), (min(max(high, 0.0), 1.0), upper)]


def _nearer(counts: IntArray, grid: FloatArray, size: int, mean: float, variance: float) -> IntArray | None:
    """Move the one person, by one point, who brings both moments nearest; nobody if that does not help."""
    first, second = float(counts @ grid) / size, float(counts @ grid**2) / size

    def off(one: FloatArray | float, two: FloatArray | float) -> FloatArray:
        return np.asarray((two - np.square(one) - variance) ** 2 + 0.1 * (one - mean) ** 2)

    best, chosen = float(off(first, second)) * (1 - 1e-9), None
    for step in (1, -1):
        origin = np.arange(len(grid) - 1) + (step < 0)
        move = grid[origin + step] - grid[origin]
        squares = grid[origin + step] ** 2 - grid[origin] ** 2
        errors = np.where(counts[origin] > 0, off(first + move / size, second + squares / size), np.inf)
        i = int(np.argmin(errors))
        if errors[i] < best:
            best, chosen = float(errors[i]), (int(origin[i]), step)
    if chosen is None:
        return None
    moved = counts.copy()
    moved[chosen[0]] -= 1
    moved[chosen[0] + chosen[1]] += 1
    return moved


def two_groups(
    space: AnswerSpace, size: int, above: int, low: float, distance: float
) -> npt.NDArray[np.float64]:
    """Let some people answer ``low``, and the others that much more."""
    values = np.full(size, low)
    values[size - above :] += distance
    return np.asarray(np.clip(values, space.lower, space.upper))


def two_groups_on_grid(size: int, sd: float, most_steps: int) -> tuple[int, int]:
    """Distance in steps, and size of the upper group, whose deviation is nearest to ``sd`` steps."""
    best, choice = abs(sd), (0, 0)
    for steps in range(max(1, int(sd)), most_steps + 1):
        share = 4 * sd**2 * (size - 1) / (size * steps**2)
        if share > 1.05:
            continue
        exact = size / 2 * (1 - np.sqrt(max(1 - share, 0.0)))
        for above in {each for each in (int(exact), int(exact) + 1) if each < size}:
            miss = abs(steps * np.sqrt(above * (size - above) / (size * max(size - 1, 1))) - sd)
            if miss < best:
                best, choice = miss, (steps, above)
        if best <= 1e-9 * sd:
            break
    return choice
