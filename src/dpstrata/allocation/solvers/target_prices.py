r"""The best prices of several targets: they maximise the bound, a concave function.

Its gradient is by how much each target is missed. A few multiplicative steps come near (Chromy 1987), then
Newton's method on the targets that bind.
"""

from __future__ import annotations

import numpy as np

from dpstrata.allocation.solvers.priced import real_sizes
from dpstrata.allocation.solvers.target_problem import TargetProblem
from dpstrata.numerics.arrays import FloatArray, IntArray

_SCALINGS = 30
_NEWTON_STEPS = 60
_HALVINGS = 30


def best_prices(problem: TargetProblem, near: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Find the best prices of the targets, from prices ``near`` them if given, and the best real sizes."""
    search = _Prices(problem)
    prices = search.climb(search.start() if near is None else near)
    return prices, search.real(prices)[0]


class _Prices:
    """The search, with the real sizes it has come to."""

    def __init__(self, problem: TargetProblem) -> None:
        self.problem = problem
        self.lower, self.most = problem.lower.astype(float), problem.most.astype(float)
        self.x = np.sqrt(self.lower * self.most)

    def real(self, prices: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Best real sizes at prices, with what they miss of the targets, and the weights."""
        problem = self.problem
        weights = problem.weights(prices)
        self.x = real_sizes(
            problem.unit, problem.costs, scale=weights, lower=self.lower, upper=self.most, start=self.x
        )
        return self.x, problem.sums(problem.variances(self.x)) - problem.limits, weights

    def value(self, prices: FloatArray, x: FloatArray, miss: FloatArray) -> float:
        """Return the bound that the prices prove for real sizes."""
        beside = float((self.problem.base * self.problem.variances(x)).sum())
        return self.problem.cost(x) + beside + float(np.dot(prices, miss))

    def start(self) -> FloatArray:
        """Begin with prices that would do for each target alone, scaled by how much each is missed.

        Where variances fall like 1/n, the size goes with the root of the price, so the square of the ratio
        mends a single target at once.
        """
        problem = self.problem
        rough = problem.variances(self.lower) * self.lower
        root = problem.sums(np.sqrt(rough * problem.costs))  # Σ w √(g n c): within a factor of the right one
        prices = (root / problem.limits) ** 2 / len(problem.limits)
        for _ in range(_SCALINGS):
            _, miss, _ = self.real(prices)
            ratio = (miss + problem.limits) / problem.limits
            prices = np.asarray(np.maximum(prices * np.clip(ratio, 1e-3, 1e3) ** 2, 1e-300))
            if np.all((np.abs(ratio - 1) < 1e-3) | (prices < 1e-12 * prices.max())):
                break
        return np.where(prices < 1e-9 * prices.max(), 0.0, prices)

    def climb(self, prices: FloatArray) -> FloatArray:
        """Raise the bound by Newton's method on the targets that bind."""
        x, miss, weights = self.real(prices)
        value = self.value(prices, x, miss)
        for _ in range(_NEWTON_STEPS):
            free = (prices > 0) | (miss > 0)
            slack = float((np.abs(miss) * prices).sum())
            if slack <= 1e-10 * value and np.all(miss[free] <= 1e-9 * self.problem.limits[free]):
                break
            move = self.step(x, weights, miss, np.flatnonzero(free))
            for halving in range(_HALVINGS):
                trial = np.maximum(prices + move / 3.0**halving, 0.0)
                x, miss, weights = self.real(trial)
                risen = self.value(trial, x, miss)
                if risen > value:
                    break
            if risen <= value * (1 + 1e-14):
                break
            prices, value = trial, risen
        return prices

    def step(self, x: FloatArray, weights: FloatArray, miss: FloatArray, free: IntArray) -> FloatArray:
        """Newton's step in the prices of the targets ``free``."""
        curvature = self.curvature(x, weights)[np.ix_(free, free)]
        ridge = 1e-12 * float(np.trace(curvature)) / len(free) + 1e-300
        move = np.zeros(len(miss))
        move[free] = np.linalg.lstsq(curvature + ridge * np.eye(len(free)), miss[free], rcond=None)[0]
        return move

    def curvature(self, x: FloatArray, weights: FloatArray) -> FloatArray:
        """Σ_i w_di w_ei g'²/(W g''): how fast what is missed falls with the prices."""
        problem, unit = self.problem, self.problem.unit
        W, H = unit.curve(x)
        slope = unit.scale * W / x**2 - (unit.origin if unit.tilts is None else unit.tilts)
        inside = (x > self.lower) & (x < self.most) & (weights > 0) & (H > 0)
        bend = np.where(inside, weights * unit.scale * H / x**3, 1.0)
        share = np.where(inside, slope * slope / bend, 0.0)
        pairs = list(zip(problem.partitions, problem.bound, strict=True))
        rows = []
        for part, bound in pairs:
            row = []
            for other, other_bound in pairs:
                table = np.bincount(
                    part.codes * len(other.groups) + other.codes,
                    weights=share * part.weights * other.weights,
                    minlength=len(part.groups) * len(other.groups),
                ).reshape(len(part.groups), len(other.groups))
                row.append(table[bound][:, other_bound])
            rows.append(np.hstack(row))
        return np.vstack(rows)
