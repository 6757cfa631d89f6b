"""Figures of several families, which share the room of every stratum.

1. Relax: sizes and strengths as real numbers, with the prices of people and of room (``barrier``).
2. Round: strengths are lowered together until whole people are enough, the exact solver allots the people,
   and the strengths are found anew for those sizes (``best_sizes``).
3. Improve: strengths are moved figure by figure to where one person fewer is enough (``cell_moves``).
4. Search: the proof (``proof.branches``) divides all designs that may be better into boxes and bounds each;
   try the strengths of those with the lowest bounds, until no bound is left much below what was found, or
   the search has become too long.
"""

from __future__ import annotations

from dpstrata.allocation.noised_once import NoisedOnce
from dpstrata.allocation.proof.noised_once import certify_noised_once
from dpstrata.allocation.solvers.noised_once.barrier import Barrier
from dpstrata.allocation.solvers.noised_once.best_sizes import BestSizes
from dpstrata.allocation.solvers.noised_once.cell_moves import search_cells
from dpstrata.allocation.solvers.solution import NoisedOnceSolution

_SHRINKS = (1.0, 0.9995, 0.999, 0.998, 0.996, 0.992, 0.984, 0.97)
_ROUNDS = 6


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
    floor = search_cells(best, barrier.s, barrier.price, barrier.room_prices)
    strengths = tuple(problem.split(best.strengths))
    bound = certify_noised_once(problem, best.sizes, strengths, [barrier.price], barrier.room_prices, floor)
    return NoisedOnceSolution(best.sizes, strengths, bound, barrier.n, barrier.room_prices, floor)
