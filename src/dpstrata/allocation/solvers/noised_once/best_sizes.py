"""The best whole sizes so far of figures of several families, with their strengths."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np

from dpstrata.allocation.noised_once import NoisedOnce
from dpstrata.allocation.solvers.exact import solve_exactly
from dpstrata.allocation.solvers.noised_once.barrier import Barrier
from dpstrata.numerics.arrays import FloatArray, IntArray

_PROMISING = 1e-3  # share by which strengths found anew for sizes may be better than those raised together


class BestSizes:
    """Tries strengths, and keeps the best sizes that go with them."""

    def __init__(self, problem: NoisedOnce) -> None:
        self.problem = problem
        self.value = np.inf
        self.sizes: IntArray
        self.strengths: FloatArray

    def try_strengths(self, s: FloatArray, guess: FloatArray, *, anew: bool = False) -> None:
        """Allot people at strengths, lowered until there are enough people for them.

        Then the strengths are raised together or, where that may pay, found anew for the sizes.
        """
        inner = self.problem.problem
        s = self._affordable(s, guess)
        lower = np.maximum(inner.lower, self.problem.sizes_for(self.problem.split(s), guess))
        if int(lower.sum()) > inner.total:
            return
        n = np.asarray(solve_exactly(replace(inner, lower=lower)).sizes, dtype=np.int64)
        if self._keep(n, s) < self.value * (1.0 + _PROMISING) and anew:
            self._strengths_anew(n)

    def improve(self) -> bool:
        """Find the best strengths of the sizes, and the best sizes of those strengths."""
        before = self.value
        self._strengths_anew(self.sizes)
        self.try_strengths(self.strengths, self.sizes.astype(float))
        return self.value < before * (1.0 - 1e-9)

    def exchange(self) -> bool:
        """Move one person from a stratum to another, each with the best strengths, wherever that helps."""
        before, inner = self.value, self.problem.problem
        for giver, taker in permutations(range(len(self.sizes)), 2):
            n = self.sizes.copy()
            n[giver] -= 1
            n[taker] += 1
            if n[giver] >= inner.lower[giver] and n[taker] <= inner.upper[taker]:
                self._strengths_anew(n)
        return self.value < before

    def _strengths_anew(self, n: IntArray) -> None:
        barrier = Barrier(self.problem, n, n)
        barrier.run()
        self._keep(n, barrier.s)

    def _keep(self, n: IntArray, s: FloatArray) -> float:
        strengths = self.problem.raised(n, self.problem.split(s))
        value = self.problem.value(n, strengths)
        if value < self.value:
            self.value, self.sizes, self.strengths = value, n, np.concatenate(strengths)
        return value

    def _affordable(self, s: FloatArray, guess: FloatArray) -> FloatArray:
        """Lower strengths together until there are enough people for them."""
        problem, total = self.problem, self.problem.problem.total

        def enough(share: float) -> bool:
            return int(problem.sizes_for(problem.split(share * s), guess).sum()) <= total

        if enough(1.0):
            return s
        low, high = 0.5, 1.0
        while not enough(low):
            low, high = 0.5 * low, low
        while high - low > 1e-6:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if enough(middle) else (low, middle)
        return low * s
