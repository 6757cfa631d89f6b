"""How many interviews Neyman's allocation would need to do as well as a design."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpstrata.allocation.balance import balance
from dpstrata.allocation.baselines import baseline_sizes, baseline_weights
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.variances import variance_parts
from dpstrata.designs.record import Design
from dpstrata.numerics.arrays import FloatArray, IntArray

_GRID = 24
_LOOKS = 400_000  # sizes of single strata that may be tried for a proof: the effort of a few designs
_BOUNDS = 120  # how many pieces may be bounded for it
_CHUNK = 32  # so few totals are tried rather than bounded
_BLOCK = 1 << 15
_ROUNDING = 1e-12
_TIE = 1e-9  # shares that differ by less might be rounded either way


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
    again where more interviews hurt. The shares grow with the total; for totals from a to b the size of a
    stratum lies between its share at a rounded down and its share at b rounded up. The terms are convex, so
    they lie above their tangents, which bound the variance of all those totals at once. What these bounds
    leave is tried, total by total.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> match_neyman(dps.design(strata, epsilon=1.0, total=200))
    Match(total=276, proven=True)
    """
    unbounded = plan.problem.families or plan.problem.forms is not None
    return _fewest_by_halving(plan) if unbounded else _NeymanVariance(plan).fewest()


def _fewest_by_halving(plan: Design) -> Match:
    """Find it where no sum over strata bounds the variance; nothing is proven.

    That is so where figures have one draw of noise, and where whole people are dealt to forms.
    """
    low, high = int(plan.problem.lower.sum()), int(plan.problem.upper.sum())
    while low < high:
        middle = (low + high) // 2
        problem = replace(plan.problem, total=middle)
        sizes = baseline_sizes(problem, "neyman")
        parts = variance_parts(problem, sizes, finite_population=plan.inputs.finite_population)
        low, high = (low, middle) if parts.total <= plan.variance else (middle + 1, high)
    return Match(high, proven=False)


class _NeymanShares:
    """Neyman's shares clip(w·μ, lower, upper) for any totals at once; they grow with the total.

    Their sum is piecewise linear in μ, with a corner wherever a share leaves a bound.
    """

    def __init__(self, problem: Problem) -> None:
        self.weights = baseline_weights(problem, "neyman")
        self.lower, self.upper = problem.lower.astype(float), problem.upper.astype(float)
        some = self.weights > 0
        w, low, high = self.weights[some], self.lower[some], self.upper[some]
        corners = np.concatenate([low / w, high / w])
        order = np.argsort(corners, kind="stable")
        self.corners = corners[order]
        rates = np.cumsum(np.concatenate([w, -w])[order])
        rises = np.maximum(rates[:-1], 0.0) * np.diff(self.corners)
        self.sums = float(self.lower.sum()) + np.concatenate([[0.0], np.cumsum(rises)])
        # Strata without weight are filled in their order once all others are full.
        self.spare = np.where(some, 0.0, self.upper - self.lower)
        self.before = np.cumsum(self.spare) - self.spare
        self.full = float(high.sum() + self.lower[~some].sum())

    def at(self, totals: IntArray) -> FloatArray:
        """Shares for each total, a line each."""
        wanted = totals.astype(float)
        scale = np.interp(wanted, self.sums, self.corners)
        for _ in range(3):  # once would do, but for the rounding of the corners' sums
            shares: FloatArray = np.clip(self.weights * scale[:, None], self.lower, self.upper)
            if wanted.max() > self.full:
                shares += np.clip((wanted - self.full)[:, None] - self.before, 0.0, self.spare)
            miss = wanted - shares.sum(axis=1)
            off = np.abs(miss) > 1e-13 * wanted
            if not off.any():
                return shares
            rate = ((shares > self.lower) & (shares < self.upper)) @ self.weights
            scale += np.divide(miss, rate, out=np.zeros_like(miss), where=off & (rate > 0))
        for line in np.flatnonzero(np.abs(miss) > 1e-12 * wanted).tolist():
            shares[line] = balance(None, self.weights, None, self.lower, self.upper, wanted[line])[0]
        return shares


class _NeymanVariance:
    """Neyman's variance at any totals, and bounds on it."""

    def __init__(self, plan: Design) -> None:
        self.problem: Problem = plan.problem
        # Without the finite population correction, which is the same for all sizes.
        self.goal = self.problem.objective(plan.sample_sizes) * (1 + _ROUNDING)
        self.shares = _NeymanShares(self.problem)
        self.rows = np.arange(len(plan.strata))
        self.least, self.most = int(self.problem.lower.sum()), int(self.problem.upper.sum())
        self.looks = _LOOKS // len(plan.strata)

    def fewest(self) -> Match:
        """Find a number that does, then prove that no smaller one does."""
        grid = np.unique(np.rint(np.geomspace(self.least, self.most, _GRID)).astype(np.int64))
        found = self.first_that_does(grid)
        if found is not None and found > self.least:
            found = self._narrow(int(grid[np.searchsorted(grid, found) - 1]), found)
        end = self.most if found is None else found - 1
        near = [end - _CHUNK * (2**i - 1) for i in range(60)]  # bounds are sharp far from a number that does
        left = self._left_by_bounds(_pieces([*grid.tolist(), *near], self.least, end))
        if left is None:
            return Match(self._step_down(found), False)
        smaller = (self.first_that_does(np.arange(first, last + 1)) for first, last in left)
        return Match(next((total for total in smaller if total is not None), found), True)

    def first_that_does(self, totals: IntArray) -> int | None:
        """Return the first of some totals at which Neyman's allocation is as precise."""
        at_once = max(_BLOCK // len(self.rows), 1)
        for start in range(0, len(totals), at_once):
            part = totals[start : start + at_once]
            does = self._objectives(self.sizes(part)) <= self.goal
            if does.any():
                return int(part[np.argmax(does)])
        return None

    def sizes(self, totals: IntArray) -> IntArray:
        """Neyman's sizes for each total, a line each: shares rounded by largest remainders."""
        shares = self.shares.at(totals)
        near = np.rint(shares)
        off = np.abs(shares - near)
        whole = off <= _TIE * near
        sizes = np.where(whole, near, np.floor(shares))
        fractions = np.where(whole, 0.0, shares - sizes).astype(np.float32)  # sorted twice as fast
        missing = totals - sizes.sum(axis=1).astype(np.int64)
        ordered = np.sort(fractions, axis=1)
        ordered = np.pad(ordered, ((0, 0), (0, 1)), constant_values=np.inf)
        place = len(self.rows) - np.clip(missing, 0, len(self.rows))
        lines = np.arange(len(totals))
        last = ordered[lines, place]
        sizes += fractions >= last[:, None]
        # What depends on the last digits is left to the code that makes the allocation.
        next_ = ordered[lines, np.maximum(place - 1, 0)]
        tie = (place > 0) & (last - next_ <= 1e-6 + 1e-12 * shares.max(axis=1))
        doubtful = (whole & (off > 1e-13 * near)).any(axis=1) | tie | (missing < 0)
        for line in np.flatnonzero(doubtful).tolist():
            sizes[line] = baseline_sizes(replace(self.problem, total=int(totals[line])), "neyman")
        return sizes.astype(np.int64)

    def _objectives(self, sizes: IntArray) -> FloatArray:
        """Evaluate each line of sizes; neighbouring totals share most sizes, and each is evaluated once."""
        first = sizes.min(axis=0)
        counts = sizes.max(axis=0) - first + 1
        terms, k = self.problem.terms, len(self.rows)
        if counts.sum() >= sizes.size:
            values = terms.values(sizes.ravel().astype(float), np.tile(self.rows, len(sizes)))
            return np.asarray(values.reshape(-1, k).sum(axis=1))
        start = np.cumsum(counts) - counts
        listed = np.arange(counts.sum()) + np.repeat(first - start, counts)
        values = terms.values(listed.astype(float), np.repeat(self.rows, counts))
        return np.asarray(values[sizes + (start - first)].sum(axis=1))

    def _narrow(self, fails: int, found: int) -> int:
        """Find a number that does, between one that fails and one that does, just above one that fails."""
        while found - fails > 1:
            inside = np.unique(np.linspace(fails, found, 8).astype(np.int64))[1:-1]
            inside = inside[(inside > fails) & (inside < found)]
            better = self.first_that_does(inside)
            fails = int(max([fails, *inside[inside < (found if better is None else better)]]))
            found = found if better is None else better
        return found

    def _step_down(self, found: int | None) -> int | None:
        """Go on to smaller numbers that do, while there are any just below."""
        while found is not None:
            better = self.first_that_does(np.arange(max(found - _CHUNK, self.least), found))
            if better is None:
                break
            found = better
        return found

    def _left_by_bounds(self, pieces: list[tuple[int, int]]) -> list[tuple[int, int]] | None:
        """Return pieces in which a total may do, from the smallest; ``None`` if they are too many to try."""
        left: list[tuple[int, int]] = []
        stack, bounds = pieces, _BOUNDS
        far = stack[-1][1] - self.looks if stack else 0
        if far > self.least and self._least_between(far, far) <= self.goal:
            return None  # so do those between, or nearly all
        while stack:
            first, last = stack.pop()
            if bounds <= 0 or sum(b - a + 1 for a, b in left) > self.looks:
                return None
            bounds -= 1
            if self._least_between(first, last) > self.goal:
                continue
            if last - first < _CHUNK:
                left.append((first, last))
            else:
                middle = max(math.isqrt(first * last), first)
                stack += [(first, middle), (middle + 1, last)]
        return left[::-1]

    def _least_between(self, first: int, last: int) -> float:
        """Bound the objective of every total from ``first`` to ``last`` from below.

        With tangents of slope D at sizes z, and any λ: Σ f(n) >= Σ f(z) + λ(Σn − Σz) + Σ (D − λ)(n − z).
        """
        lower, upper = self.problem.lower, self.problem.upper
        ends = self.shares.at(np.array([first, last]))
        low = np.maximum(np.floor(ends[0] * (1 - _TIE)), lower)
        high = np.minimum(np.ceil(ends[1] * (1 + _TIE)), upper)
        z, slope, rounding = self._tangents(ends[1])
        if slope @ (ends[1] - ends[0]) > 0:  # more hurt there, so the other end is the better one
            z, slope, rounding = self._tangents(ends[0])
        moved = np.array([first, last]) - z.sum()
        bounds = [
            np.minimum((slope - price) * (low - z), (slope - price) * (high - z)).sum()
            + (price * moved).min()
            for price in (0.0, float(np.median(slope)))
        ]
        value = float(self.problem.terms.values(z).sum()) + float(max(bounds))
        return value * (1 - _ROUNDING) - float(rounding @ (high - low))

    def _tangents(self, shares: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return whole sizes near some shares, slopes of tangents there, and how far these may be off."""
        terms, lower, upper = self.problem.terms, self.problem.lower, self.problem.upper
        z = np.clip(np.floor(shares), lower, np.maximum(upper - 1, lower))
        gain = np.where(lower < upper, terms.gain(z), terms.origin)
        return z, terms.origin - gain, _ROUNDING * (np.abs(gain) + abs(terms.origin))


def _pieces(ends: list[int], least: int, most: int) -> list[tuple[int, int]]:
    """Cut the whole numbers from ``least`` to ``most`` into pieces that end at the given ones."""
    pieces, first = [], least
    for end in sorted(set(ends)):
        if first <= end <= most:
            pieces.append((first, end))
            first = end + 1
    return pieces
