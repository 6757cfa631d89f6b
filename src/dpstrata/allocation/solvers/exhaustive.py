"""Exhaustive search: every allocation is tried. Slow, plain, and the judge of the other solvers."""

import numpy as np

from dpstrata.allocation.problem import Problem
from dpstrata.allocation.solvers.candidates import count_compositions, every_composition, pick_best
from dpstrata.allocation.solvers.solution import Solution
from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import IntArray

MOST_CANDIDATES = 50_000_000


def solve_exhaustively(problem: Problem, *, most_candidates: int = MOST_CANDIDATES) -> Solution:
    """Try every allocation within the bounds.

    Parameters
    ----------
    problem : Problem
        Terms, bounds and total.
    most_candidates : int
        Refuse problems with more allocations than this.

    Raises
    ------
    InputError
        If there are too many allocations.
    """
    number = count_compositions(problem.lower, problem.upper, problem.total, enough=most_candidates)
    if number > most_candidates:
        raise InputError(
            f"exhaustive search tries at most {most_candidates:,} allocations, got a problem with more. "
            f"Use {option('method', 'exact')}."
        )
    best: IntArray = pick_best(problem, every_composition(problem.lower, problem.upper, problem.total))
    return Solution(np.asarray(best, dtype=np.int64), None, None)
