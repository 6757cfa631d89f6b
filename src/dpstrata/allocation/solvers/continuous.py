r"""The relaxation: the best real sample sizes, where :math:`-f_i'(x_i) = \lambda` off the bounds.

With the tilt put aside, :math:`-f_i' = A_i W_i(x_i)/x_i^2` where W varies slowly, so :math:`(-f_i')^{-1/2}`
is nearly a straight line. Newton's method on that line for all strata at once, with one price that keeps
the sum, converges from a plain start in about four steps.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.balance import Capped, balance, root
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.solvers.solution import Solution
from dpstrata.allocation.terms import Terms
from dpstrata.errors import PrecisionError
from dpstrata.numerics.arrays import FloatArray, IntArray, blocks

_MOST_STEPS = 60
_FULL_STEPS = 8  # after which Newton's method goes half way, in case it runs to and fro
_ENOUGH = 1e-3  # people: a step that changes a size by a share d leaves it wrong by about d²/10


class Relaxation(NamedTuple):
    """Real sizes, the price, and the terms with the origin from which the price is measured.

    That origin is the tilt of the least tilted stratum that is below its maximum, so the price is positive.
    """

    sizes: FloatArray
    price: float
    terms: Terms


def solve_relaxation(problem: Problem) -> Solution:
    """Find the best real sample sizes within the bounds."""
    sizes, price, terms = relax(problem)
    return Solution(sizes, sizes, price - terms.origin)


def relax(problem: Problem) -> Relaxation:
    r"""Solve the relaxation.

    The start is the closed form where there is one: :math:`x_i \propto a_i \sqrt{S_i^2 + R^2\psi}`, up to
    bounds and tilts, where the remainder of the mechanism does not depend on the budget (Discrete Laplace on
    two answers, TuLap), and :math:`x_i \propto N_i` for the population mean where no stratum has any spread.
    """
    terms = problem.terms
    for bound, extreme in ((problem.lower, np.max), (problem.upper, np.min)):
        if problem.total == int(bound.sum()):
            return _at_the_bounds(terms, bound.astype(float), extreme)
    search = _Balancing(problem)
    weight = terms.core_weights(problem.total)
    x = search.balance(None, weight)
    if terms.falls_like_inverse:
        return search.result(x)
    worthless = np.flatnonzero(terms.scale == 0)
    for step in range(_MOST_STEPS):
        base, weight = search.straighten(x, weight)
        base[worthless] = 0.0
        previous = x
        x = search.balance(base, weight)
        previous[worthless] = x[worthless]  # they may trade places for ever
        if _left_over(previous, x) <= _ENOUGH:
            return search.result(x)
        if step >= _FULL_STEPS:  # sizes on the way are within the bounds and add up, too
            x = 0.5 * (x + previous)
    raise PrecisionError(f"the relaxation did not settle within {_MOST_STEPS} steps.")


def _at_the_bounds(terms: Terms, x: FloatArray, extreme: Callable[[FloatArray], float]) -> Relaxation:
    """Nothing is left to choose; the price is that of the first person who could still move."""
    return Relaxation(x, float(extreme(terms.marginal(x))), terms)


class _Balancing:
    """Balances shares to the total, and remembers price and origin from one step to the next."""

    def __init__(self, problem: Problem) -> None:
        self.terms = problem.terms
        self.lower, self.upper = problem.lower.astype(float), problem.upper.astype(float)
        self.total = float(problem.total)
        self.price: float | None = None
        self.power = 2.0
        self._rank = 0
        self._order: IntArray | None = None
        self.kinks: FloatArray | None = None
        self._below: tuple[FloatArray | None, FloatArray] | None = None
        if self.terms.kinks is not None:
            worthless = self.terms.scale == 0
            self.kinks = np.where(worthless, self.lower, np.clip(self.terms.kinks, self.lower, self.upper))
            self._below = None, np.sqrt(self.terms.scale * self.terms.capped_curve(self.kinks)[0])

    def straighten(self, x: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""Take the straight lines that sizes nearly are in :math:`\lambda^{-1/p}` around ``x``.

        p = 2 is nearly right where -f' goes with 1/x². Where few people answer, or noise falls fast, it falls
        faster, and lines may start at more people than there are; a larger p lets every line start at nobody.

        Parameters
        ----------
        x : array
            Sizes.
        weight : array
            Is overwritten.

        Returns
        -------
        base, weight : array
            Where each line starts, and how fast it rises.
        """
        base = self._lines(x, weight)
        if self.terms.random_answers:
            self._straighten_below_kinks(x)
        if self._steepest == 2.0 == self.power:
            return base, weight
        if self.power > 2.0 or self._start(base) >= self.total:
            self.power = max(self.power, self._steepest)
            base = self._lines(x, weight)
            self._straighten_below_kinks(x)
        return base, weight

    def _start(self, base: FloatArray) -> float:
        """Sum of the sizes at which the lines start."""
        start = np.clip(base, self.lower, self.upper)
        if self.kinks is not None and self._below is not None and self._below[0] is not None:
            start = np.where(self.kinks > self.lower, np.clip(self._below[0], self.lower, self.kinks), start)
        return float(start.sum())

    def _lines(self, x: FloatArray, weight: FloatArray) -> FloatArray:
        base = np.empty(len(x))
        self._steepest = 2.0
        for part in blocks(len(x)):
            at = self.above_kinks(x, part)
            W, H = self.terms.curve(at, part)
            straight = np.flatnonzero(H == 0)  # then so is W: nobody, up to the price at which everyone
            H[straight] = 1.0
            share = W / H
            self._steepest = max(self._steepest, _steepness(share))
            share *= self.power
            np.multiply(at, 1.0 - share, out=base[part])
            base[part][straight] = 0.0
            share *= self._rise(at, W, part)
            weight[part] = share
        return base

    def _rise(self, at: FloatArray, W: FloatArray, part: slice) -> FloatArray:
        """x(-f')^(1/p)."""
        if self.power == 2.0:
            return np.asarray(np.sqrt(self.terms.scale[part] * W))
        return at * root(self.terms.scale[part] * W / (at * at), self.power)

    def _straighten_below_kinks(self, x: FloatArray) -> None:
        """Do the same below the kinks, if there are any; without chance it is one straight line."""
        if self.kinks is None:
            return
        at = np.minimum(x, self.kinks)
        W, H = self.terms.capped_curve(at)
        share = np.divide(W, H, out=np.full_like(W, 0.5), where=H > 0)
        self._steepest = max(self._steepest, _steepness(share))
        share *= self.power
        self._below = at * (1.0 - share), share * self._rise(at, W, slice(None))

    def above_kinks(self, x: FloatArray, part: slice) -> FloatArray:
        """Return the sizes in ``part``, or their kinks where those are larger: what lies below is exact."""
        return x[part] if self.kinks is None else np.maximum(x[part], self.kinks[part])

    def balance(self, base: FloatArray | None, weight: FloatArray) -> FloatArray:
        """Find the shares of one step."""
        if self.terms.tilts is not None:
            self._choose_origin(base, weight)
        capped = None
        if self.kinks is not None and self._below is not None:
            capped = Capped(*self._below, self.terms.origin, self.kinks)
        shares, self.price = balance(
            base,
            weight,
            self.terms.slope,
            self.lower,
            self.upper,
            self.total,
            self.price,
            capped,
            power=self.power,
        )
        return shares

    def _choose_origin(self, base: FloatArray | None, weight: FloatArray) -> None:
        """Find the least tilted stratum that need not be filled to its maximum; mostly it is the first."""
        before = self.terms.origin
        rank = self._rank
        if not self._fills(rank, base, weight) or (rank and self._fills(rank - 1, base, weight)):
            low, high = 0, len(self.lower) - 1
            while low < high:
                middle = (low + high) // 2
                low, high = (low, middle) if self._fills(middle, base, weight) else (middle + 1, high)
            rank = low
        self._rank = rank
        self.terms = self.terms.measured_from(self._by_tilt(rank))
        if self.price is not None:
            moved = self.price + self.terms.origin - before
            self.price = moved if moved > 0 else None

    def _by_tilt(self, rank: int) -> int:
        """Return the stratum at place ``rank`` in the order of the tilts."""
        assert self.terms.tilts is not None
        if rank == 0:
            return int(np.argmin(self.terms.tilts))
        if self._order is None:
            self._order = np.argsort(self.terms.tilts, kind="stable")
        return int(self._order[rank])

    def _fills(self, rank: int, base: FloatArray | None, weight: FloatArray) -> bool:
        """Whether the total is reached before the stratum at that place, unbounded, takes all the rest."""
        terms = self.terms.measured_from(self._by_tilt(rank))
        return self._at_zero_price(terms, base, weight) >= self.total

    def _at_zero_price(self, terms: Terms, base: FloatArray | None, weight: FloatArray) -> float:
        """Sum of the shares just above the price at which the stratum at the origin is unbounded."""
        assert terms.slope is not None
        lower = self.lower if self.kinks is None else self.kinks
        sum_ = 0.0
        for part in blocks(len(weight)):
            slope, share = terms.slope[part], weight[part]
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = share / root(slope, self.power)
            shares[(slope < 0) | ((slope == 0) & (share > 0))] = np.inf
            shares[(slope == 0) & (share == 0)] = 0.0
            if base is not None:
                shares += base[part]
            sum_ += float(np.minimum(np.maximum(shares, lower[part]), self.upper[part]).sum())
        return sum_

    def result(self, x: FloatArray) -> Relaxation:
        """Wrap up."""
        assert self.price is not None
        return Relaxation(x, self.price, self.terms)


def _steepness(share: FloatArray) -> float:
    """Largest H/W: with which power of the size -f' falls at most."""
    return 1.0 / float(np.min(share, where=share > 0, initial=0.5))


def _left_over(previous: FloatArray, x: FloatArray) -> float:
    """Bound the error of the sizes after a step, in people: Newton's method squares relative changes."""
    largest = 0.0
    for part in blocks(len(x)):
        change = x[part] - previous[part]
        change *= change
        change /= x[part]
        largest = max(largest, float(change.max()))
    return largest
