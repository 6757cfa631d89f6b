"""Figures of several families, which share the room of every stratum.

1. Relax: sizes and strengths as real numbers, with the prices of people and of room (``barrier``).
2. Round: strengths are lowered together until whole people are enough, the exact solver allots the people,
   and the strengths are found anew for those sizes (``best_sizes``).
3. Where strata are few, exchange single people between them.

The prices of the relaxation bound every design. What whole people add to that is left as a gap, which the
design states: a few tenths of a percent of the variance at a thousand interviews.
"""

from __future__ import annotations

from dpstrata.allocation.noised_once import NoisedOnce
from dpstrata.allocation.proof.noised_once import certify_noised_once
from dpstrata.allocation.solvers.noised_once.barrier import Barrier
from dpstrata.allocation.solvers.noised_once.best_sizes import BestSizes
from dpstrata.allocation.solvers.solution import NoisedOnceSolution

_SHRINKS = (1.0, 0.9995, 0.999, 0.998, 0.996, 0.992, 0.984, 0.97)
_ROUNDS = 6
_FEW = 6  # strata between which single people are exchanged: rounding costs most where few people are asked


def solve_shared_room(problem: NoisedOnce) -> NoisedOnceSolution:
    """Find sizes and strengths where figures overlap."""
    inner = problem.problem
    barrier = Barrier(problem, inner.lower, inner.upper)
    barrier.run()
    best = BestSizes(problem)
    for shrink in _SHRINKS:
        best.try_strengths(shrink * barrier.s, barrier.n)
    for _ in range(_ROUNDS):
        if not best.improve():
            break
    while len(best.sizes) <= _FEW and best.exchange():
        pass
    strengths = tuple(problem.split(best.strengths))
    prices = [barrier.price]
    if inner.total == int(inner.lower.sum()):  # a price at which nobody is worth more than the minimums
        fewest = inner.lower.astype(float)
        rooms = problem.room(fewest + 1.0) - problem.room(fewest)
        worth = inner.terms.values(fewest) - inner.terms.values(fewest + 1.0) + barrier.room_prices * rooms
        prices = [float(worth.max())]
    bound = certify_noised_once(problem, best.sizes, strengths, prices, barrier.room_prices)
    return NoisedOnceSolution(best.sizes, strengths, bound, barrier.n, barrier.room_prices)
