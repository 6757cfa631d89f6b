"""How many interviews Neyman's allocation would need to do as well as a design."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpstrata.arrays import IntArray
from dpstrata.model.baselines import baseline_sizes
from dpstrata.model.bound import best_at_prices
from dpstrata.model.design_record import Design
from dpstrata.model.problem import Problem

_GRID = 24
_STRATA_LOOKED_AT = 4_000_000  # an effort of well under a second
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Match:
    """The fewest interviews with which Neyman's allocation does as well as a design.

    Attributes
    ----------
    total : int or None
        The number; ``None`` if none does, since more interviews can hurt.
    proven : bool
        Whether every smaller number (every number, if there is none) is known to fail. If not, the number
        does as well and one less does not, but rounding might let a smaller one do it too.
    """

    total: int | None
    proven: bool


def match_neyman(plan: Design) -> Match:
    """Find the fewest interviews with which Neyman's allocation is as precise as ``plan``.

    Privacy, bounds and objective are those of the plan.

    Notes
    -----
    Neyman's sizes are shares rounded by largest remainders, so the variance falls in small steps, and rises
    again where more interviews hurt. For totals from a to b the size of a stratum lies between its size at a
    less 1 and its size at b plus 1; the terms are convex, so each has a least value there, and their sum
    bounds the variance of all those totals at once.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> match_neyman(dps.design(strata, epsilon=1.0, total=200))
    Match(total=684, proven=True)
    """
    return _Search(plan).fewest()


class _Search:
    """Neyman's variance at any total, each computed at most once."""

    def __init__(self, plan: Design) -> None:
        self.problem: Problem = plan.problem
        # Without the finite population correction, which is the same for all sizes.
        self.goal = self.problem.objective(plan.sample_sizes) * (1 + _ROUNDING)
        self.free = best_at_prices(
            self.problem.terms,
            np.ones(len(plan.strata)),
            np.zeros(len(plan.strata)),
            self.problem.lower,
            self.problem.upper,
            plan.sample_sizes,
        )
        self.sizes: dict[int, IntArray] = {}
        self.looks = max(_STRATA_LOOKED_AT // len(plan.strata), 4 * _GRID)

    def at(self, total: int) -> IntArray:
        """Neyman's sizes for a total."""
        if total not in self.sizes:
            self.sizes[total] = baseline_sizes(replace(self.problem, total=total), "neyman")
            self.looks -= 1
        return self.sizes[total]

    def does(self, total: int) -> bool:
        """Whether Neyman's allocation of so many is as precise."""
        return self.problem.objective(self.at(total)) <= self.goal

    def fewest(self) -> Match:
        """Find a number that does, then prove that no smaller one does."""
        least, most = int(self.problem.lower.sum()), int(self.problem.upper.sum())
        grid = sorted({int(total) for total in np.rint(np.geomspace(least, most, _GRID))} | {least, most})
        found = next((total for total in grid if self.does(total)), None)
        if found is not None and found > least:
            fails = grid[grid.index(found) - 1]
            while found - fails > 1:
                middle = (found + fails) // 2
                found, fails = (middle, fails) if self.does(middle) else (found, middle)
        end = most if found is None else found - 1
        smaller, proven = self._first_in([(a, b) for a, b in _pieces([*grid, end], least, end)])
        return Match(found if smaller is None else smaller, proven)

    def _first_in(self, pieces: list[tuple[int, int]]) -> tuple[int | None, bool]:
        """Return the first total that does in any of the pieces, and whether that is certain."""
        stack = pieces[::-1]
        while stack:
            first, last = stack.pop()
            if self.looks <= 0:
                return None, False
            if self._least_between(first, last) > self.goal:
                continue
            if first == last:
                if self.does(first):
                    return first, True
                continue
            middle = max(math.isqrt(first * last), first)
            stack += [(middle + 1, last), (first, middle)]
        return None, True

    def _least_between(self, first: int, last: int) -> float:
        """Bound the objective of every total from ``first`` to ``last`` from below."""
        low = np.maximum(self.at(first) - 1, self.problem.lower)
        high = np.minimum(self.at(last) + 1, self.problem.upper)
        return self.problem.objective(np.clip(self.free, low, high)) * (1 - _ROUNDING)


def _pieces(ends: list[int], least: int, most: int) -> list[tuple[int, int]]:
    """Cut the whole numbers from ``least`` to ``most`` into pieces that end at the given ones."""
    pieces, first = [], least
    for end in sorted(set(ends)):
        if first <= end <= most:
            pieces.append((first, end))
            first = end + 1
    return pieces
