r"""Solvers that try allocations one by one: all of them, or those in a ball around the continuous optimum.

Trying every allocation is slow, plain, and the judge of the other solvers. The ball is that of Algorithm 1 of
Chen, Pasupathy and Awan, kept as the paper states it, for comparison. It differs from the printed text where
that cannot run:

* the second stage searches :math:`\max(l_i, x_i^* - r) \ldots \min(x_i^* + r, h_i)`; printed is
  :math:`x_i^* \ldots \max(x_i^* + r, \eta)`, which is neither centred nor bounded by the ball;
* bounds :math:`l_i \le n_i \le h_i` (by default 1 and N) hold in both stages and in the relaxation. Without
  the lower one the first stage has no candidate when some :math:`x_i^* < 1`; the upper one is not in the
  paper at all;
* the Hessian has the factor 2 on its noise part that the printed one misses.

The lemma behind the radius uses the curvature at the continuous optimum only and is not true in general,
so its result is not a proof; the exchange certificate is.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.solvers.continuous import relax
from dpstrata.allocation.solvers.solution import Solution
from dpstrata.errors import DpstrataError, InputError, option
from dpstrata.numerics.arrays import IntArray

MOST_CANDIDATES = 50_000_000  # of exhaustive search
MOST_IN_BALL = 100_000_000  # of a stage of Algorithm 1
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


def solve_exhaustively(problem: Problem) -> Solution:
    """Try every allocation within the bounds.

    Parameters
    ----------
    problem : Problem
        Terms, bounds and total.

    Raises
    ------
    InputError
        If there are too many allocations.
    """
    number = count_compositions(problem.lower, problem.upper, problem.total, enough=MOST_CANDIDATES)
    if number > MOST_CANDIDATES:
        raise InputError(
            f"exhaustive search tries at most {MOST_CANDIDATES:,} allocations, got a problem with more. "
            f"Use {option('method', 'exact')}."
        )
    best: IntArray = pick_best(problem, every_composition(problem.lower, problem.upper, problem.total))
    return Solution(np.asarray(best, dtype=np.int64), None, None)


def solve_by_first_stage(problem: Problem) -> Solution:
    """Run the first stage alone: round all sizes but the last up or down in the best way, with the radius."""
    relaxed, price, terms = relax(problem)
    floor = np.clip(np.floor(relaxed), problem.lower, problem.upper).astype(np.int64)
    ceiling = np.clip(np.ceil(relaxed), problem.lower, problem.upper).astype(np.int64)
    nearest = _search(problem, floor, ceiling)
    _, H = problem.terms.curve(relaxed)
    curvature = float((problem.terms.scale * H / relaxed**3).min())
    excess = max(problem.objective(nearest) - problem.objective(relaxed), 0.0)
    radius = float(np.sqrt(2.0 * excess / curvature)) if curvature > 0 else np.inf
    return Solution(nearest, relaxed, price - terms.origin, radius)


def solve_by_algorithm1(problem: Problem) -> Solution:
    """Run both stages of the paper's algorithm.

    Raises
    ------
    InputError
        If a stage has too many candidates.
    """
    stage = solve_by_first_stage(problem)
    relaxed, radius = stage.relaxed_sizes, stage.radius
    assert relaxed is not None
    assert radius is not None
    reach = min(radius, float(problem.total))
    low = np.maximum(np.ceil(relaxed - reach), problem.lower).astype(np.int64)
    high = np.minimum(np.floor(relaxed + reach), problem.upper).astype(np.int64)
    best = _search(problem, np.minimum(low, stage.sizes), np.maximum(high, stage.sizes))
    return replace(stage, sizes=best)


def _search(problem: Problem, low: IntArray, high: IntArray) -> IntArray:
    """Search all sizes from ``low`` to ``high`` for strata but the last, which makes up the total."""
    number = float(np.prod((high - low + 1)[:-1].astype(float)))
    if number > MOST_IN_BALL:
        raise InputError(
            f"Algorithm 1 tries at most {MOST_IN_BALL:,} candidates, got a stage with {number:.3g}. "
            f"Use {option('method', 'exact')}."
        )
    ranges = [np.arange(start, stop + 1) for start, stop in zip(low[:-1], high[:-1], strict=True)]
    return pick_best(problem, every_product(ranges, problem.lower, problem.upper, problem.total))
