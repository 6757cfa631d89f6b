r"""Figures of several families, with one draw of noise each, which share the room of every stratum.

1. Relax: sizes and strengths as real numbers, with the prices of people and of room.
2. Round: strengths are lowered together until whole people are enough, the exact solver allots the people,
   and the strengths are found anew for those sizes.
3. Where strata are few, exchange single people between them.

The prices of the relaxation bound every design. What whole people add to that is left as a gap, which the
design states: a few tenths of a percent of the variance at a thousand interviews.

The relaxation is solved by Newton's method with logarithmic barriers: with slacks
:math:`c_i = \mathrm{room}_i(n_i) - \sum_g a_{ig} R s_g` it minimises

.. math:: \tau \left(\sum_i f_i(n_i) + \sum_g W_g/s_g^2\right)
    - \sum_i \ln c_i - \sum_i \ln (n_i - l_i)(h_i - n_i), \qquad \sum_i n_i = \eta ,

for a rising τ. Sizes are eliminated stratum by stratum, so that each step solves a linear system in the
strengths alone; :math:`1/(\tau c_i)` is the price of a stratum's room.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np

from dpstrata.allocation.proof.single_mean import certify_single_mean
from dpstrata.allocation.single_mean import SingleMean
from dpstrata.allocation.solvers.exact import solve_exactly
from dpstrata.allocation.solvers.solution import SingleMeanSolution
from dpstrata.errors import PrecisionError
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray

_GAP = 1e-8  # of the relaxation, relative
_FACTOR = 30.0  # by which τ rises
_NEWTON = 60
_ENOUGH = 1e-4  # half the squared Newton decrement at which a centre is close enough
_SHRINKS = (1.0, 0.9995, 0.999, 0.998, 0.996, 0.992, 0.984, 0.97)
_ROUNDS = 6
_FEW = 6  # strata between which single people are exchanged: rounding costs most where few people are asked


class Barrier:
    """The relaxation between bounds; equal bounds fix a size."""

    def __init__(self, problem: SingleMean, lower: IntArray, upper: IntArray) -> None:
        self.problem = problem
        self.terms = problem.problem.terms
        total = problem.problem.total
        free: BoolArray = lower < upper
        if total in (int(lower.sum()), int(upper.sum())):
            lower = upper = lower if total == int(lower.sum()) else upper
            free = np.zeros(len(lower), dtype=bool)
        self.free = free
        self.lower, self.upper = lower.astype(float), upper.astype(float)
        room = self.upper - self.lower
        spare = total - self.lower.sum()
        self.n = self.lower + room * (spare / max(float(room.sum()), 1.0))
        self.W = np.concatenate(problem.noise_weights)
        # by families (rows) and strata: the place of its figure among all, and what a unit of strength uses
        first = np.cumsum([0, *map(len, problem.families[:-1])])
        self.codes = np.stack([family.codes + k for family, k in zip(problem.families, first, strict=True)])
        self.B = np.stack([family.coefficients for family in problem.families]) * problem.answer_range
        alone = [family.smallest(problem.levels(self.n, family)) for family in problem.families]
        self.s = 0.5 * np.concatenate(problem.raised(self.n, alone))
        self.price = 0.0
        self.room_prices = np.zeros(len(lower))

    def run(self) -> None:
        """Follow the centres until the gap of the relaxation is small."""
        barriers = len(self.n) + 2 * int(self.free.sum())
        tau = barriers / self._objective(self.n, self.s)
        while True:
            self._centre(tau)
            if barriers / tau <= _GAP * self._objective(self.n, self.s):
                return
            tau *= _FACTOR

    def _objective(self, n: FloatArray, s: FloatArray) -> float:
        return float(self.terms.values(n).sum() + (self.W / s**2).sum())

    def _slack(self, n: FloatArray, s: FloatArray) -> FloatArray:
        return np.asarray(self.problem.room(n) - (self.B * s[self.codes]).sum(axis=0))

    def _add_up(self, values: FloatArray) -> FloatArray:
        """Add up values by families and strata for every figure."""
        sums = np.bincount(self.codes.ravel(), weights=values.ravel(), minlength=len(self.s))
        return sums.astype(float, copy=False)

    def _merit(self, tau: float, n: FloatArray, s: FloatArray) -> float:
        """Return what is minimised; infinite outside."""
        free = self.free
        below, above = (n - self.lower)[free], (self.upper - n)[free]
        if min(s.min(), below.min(initial=1.0), above.min(initial=1.0)) <= 0:
            return np.inf
        c = self._slack(n, s)
        if c.min() <= 0:
            return np.inf
        logs = float(np.log(c).sum() + np.log(below).sum() + np.log(above).sum())
        return tau * self._objective(n, s) - logs

    def _centre(self, tau: float) -> None:
        """Newton's method with steps that are halved until they help."""
        merit = self._merit(tau, self.n, self.s)
        for _ in range(_NEWTON):
            dn, ds, decrement = self._step(tau)
            if decrement <= 2.0 * _ENOUGH:
                return
            share = 1.0
            while (reached := self._merit(tau, self.n + share * dn, self.s + share * ds)) > (
                merit - 1e-4 * share * decrement
            ):
                share *= 0.5
                if share < 1e-10:
                    return
            self.n, self.s, merit = self.n + share * dn, self.s + share * ds, reached
        raise PrecisionError(f"the relaxation did not settle within {_NEWTON} steps.")

    def _step(self, tau: float) -> tuple[FloatArray, FloatArray, float]:
        """Newton's step; the prices of people and of room come with it."""
        n, s, c = self.n, self.s, self._slack(self.n, self.s)
        _, slope = self.problem.room_and_slope(n)
        bend = self.problem.room_bend(n)
        W, H = self.terms.curve(n)
        A = self.terms.scale
        with np.errstate(divide="ignore"):
            below = np.where(self.free, 1.0 / (n - self.lower), 0.0)
            above = np.where(self.free, 1.0 / (self.upper - n), 0.0)
        g_n = -tau * A * W / n**2 - slope / c - below + above
        own = tau * A * H / n**3 + bend / c + below**2 + above**2
        per = (slope / c) ** 2
        inverse = np.where(self.free, 1.0 / (own + per), 0.0)
        kappa = np.where(self.free, own * inverse, 1.0) / c**2
        lifted = self.B * (slope * inverse / c**2)
        g_s = self._add_up(self.B / c) - 2.0 * tau * self.W / s**3
        system = np.diag(6.0 * tau * self.W / s**4)
        np.add.at(system, (self.codes[:, None], self.codes), self.B[:, None] * self.B * kappa)
        q, right = -self._add_up(lifted), -self._add_up(lifted * g_n) - g_s
        share = float(inverse.sum())
        first = -float((inverse * g_n).sum())
        if share > 0:
            system += np.outer(q, q) / share
            right += q * (first / share)
        ds = _solve(system, right)
        nu = (first - float(q @ ds)) / share if share > 0 else 0.0
        dn = -inverse * (g_n - slope / c**2 * (self.B * ds[self.codes]).sum(axis=0) + nu)
        self.price, self.room_prices = max(nu / tau, 0.0), 1.0 / (tau * c)
        return dn, ds, -float(g_n @ dn + g_s @ ds)


def _solve(system: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive definite system, scaled to a diagonal of ones."""
    scale = 1.0 / np.sqrt(np.diag(system))
    return np.asarray(scale * np.linalg.solve(system * np.outer(scale, scale), scale * right))


class BestSizes:
    """Tries strengths, and keeps the best sizes that go with them."""

    def __init__(self, problem: SingleMean) -> None:
        self.problem = problem
        self.value = np.inf
        self.sizes: IntArray
        self.strengths: FloatArray

    def try_strengths(self, s: FloatArray, guess: FloatArray) -> None:
        """Allot people at strengths, lowered until there are enough people; then raise those together."""
        inner = self.problem.problem
        s = self._affordable(s, guess)
        lower = np.maximum(inner.lower, self.problem.sizes_for(self.problem.split(s), guess))
        if int(lower.sum()) > inner.total:
            return
        self._keep(np.asarray(solve_exactly(replace(inner, lower=lower)).sizes, dtype=np.int64), s)

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

    def _keep(self, n: IntArray, s: FloatArray) -> None:
        strengths = self.problem.raised(n, self.problem.split(s))
        value = self.problem.value(n, strengths)
        if value < self.value:
            self.value, self.sizes, self.strengths = value, n, np.concatenate(strengths)

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


def solve_shared_room(problem: SingleMean) -> SingleMeanSolution:
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
    bound = certify_single_mean(problem, best.sizes, strengths, prices, barrier.room_prices)
    return SingleMeanSolution(best.sizes, strengths, bound, barrier.n, barrier.room_prices)
