r"""The piecewise mechanism (Wang et al. 2019): the output is likely near the answer, and bounded.

The variance depends on the answer. The design uses the worst case, an answer at an end of the range, so what
is achieved is better: up to four times less noise for answers in the middle.

With q = exp(−e/2) the worst case is :math:`R^2 (\tfrac23 s(e) + q/(3(1+q)^2))`: the remainder is smooth,
falls from 1/12 to 0, and loses no digits anywhere.
"""

from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import GridNoise, WindowNoise, fineness
from dpstrata.privacy.mechanisms.kernels import Point, Slopes, Step
from dpstrata.privacy.mechanisms.staircase import BETTER_FROM


class Piecewise(Mechanism):
    """v(e) = R²·exp(e/2)/(3(exp(e/2) − 1)²) at worst, for any number in the range; a sixth of s(e/2)."""

    name = "piecewise"
    title = "Piecewise"
    square = linear = 4.0 / 3.0
    rounding = 128.0
    additive = False
    worst_case = True

    def never_worse_than(self, least: float, most: float) -> frozenset[str]:
        """Staircase noise, for small budgets."""
        return frozenset({"staircase"} if most <= BETTER_FROM else ())

    # With q = exp(−e/2) the variance is q/(3(1 − q)²) and the remainder q/(3(1 + q)²): one sign apart.

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """q/(3(1 + q)²)."""
        q = np.sqrt(at.b)
        below = 1.0 - q if whole else 1.0 + q
        return q / (3.0 * below * below)

    def remainder_slopes(self, at: Point, *, whole: bool = False) -> Slopes:
        """Evaluate the same with two derivatives; q' = −q/2."""
        q = np.sqrt(at.b)
        signed = -q if whole else q
        below = 1.0 + signed
        value = q / (3.0 * below * below)
        first = -0.5 * value * (1.0 - signed) / below
        return value, first, 0.25 * value * (1.0 - 4.0 * signed + q * q) / (below * below)

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """(q₁ − q₀)(1 − q₀q₁)/(3(1 + q₀)²(1 + q₁)²)."""
        q0, q1 = np.sqrt(step.before.b), np.sqrt(step.after.b)
        below = (1.0 - q0) * (1.0 - q1) if whole else (1.0 + q0) * (1.0 + q1)
        other = -np.expm1(-0.5 * (step.before.e + step.after.e))  # 1 − q₀q₁
        return q0 * np.expm1(0.5 * step.d) * other / (3.0 * below * below)

    def simulated_release(self, shares: FloatArray, e: float, generator: np.random.Generator) -> FloatArray:
        """Draw outputs near the answers or anywhere else; for simulations only."""
        root = float(np.exp(e / 2.0))
        bound = (root + 1.0) / (root - 1.0)
        left = (bound + 1.0) / 2.0 * (2.0 * shares - 1.0) - (bound - 1.0) / 2.0
        width = bound - 1.0
        inside = generator.random(shares.shape) < root / (root + 1.0)
        place = generator.random(shares.shape)
        outside = place * (bound + 1.0) - bound  # over the rest, with the window cut out
        outside = np.where(outside < left, outside, outside + width)
        return (np.where(inside, left + place * width, outside) + 1.0) / 2.0

    def estimated_variance(self, mean_square: FloatArray, e: FloatArray) -> FloatArray:
        """Estimate the variance of released shares from themselves, without bias but for the grid's.

        For an answer t in half ranges and E = exp(e/2) the variance of an output t* is αt² + β, α = 1/(E − 1)
        and β = (E + 3)/(3(E − 1)²), so that the mean of t*² is (1 + α)t² + β.
        """
        root = np.exp(e / 2.0)
        alpha, beta = 1.0 / (root - 1.0), (root + 3.0) / (3.0 * (root - 1.0) ** 2)
        return np.asarray((alpha * (mean_square - beta) / (1.0 + alpha) + beta) / 4.0)

    def informative(self, e: float) -> float:
        """1 − (K + w)/(w·exp(e) + K): any output is outside of some window."""
        noise = _Window(e, self.grid_steps(e))
        K, w = noise.steps, noise.window
        return float(w * np.expm1(e) / (w * np.exp(e) + K))

    def grid_steps(self, e: float) -> int:
        """Return a grid so fine that the window has a thousand steps, too."""
        return fineness(min(float(self.variance(e)) / self.answer_range**2, float(np.exp(-e))))

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Return a window of outputs that moves with the answer."""
        return _Window(e, steps)

    def exact_variance(self, e: Any) -> Any:
        """R²·exp(e/2)/(3(exp(e/2) − 1)²)."""
        mp = e.context
        root = mp.exp(e / 2)
        return mp.mpf(self.answer_range) ** 2 * root / (3 * (root - 1) ** 2)


class _Window(WindowNoise):
    """Outputs from 0 to K + w − 1; those from k to k + w − 1 are exp(e) times as likely as the others."""

    def __init__(self, e: float, steps: int) -> None:
        super().__init__(e, steps)
        self.window, self.outside = max(1, round(steps * float(np.exp(-e / 2.0)))), steps

    @property
    def width(self) -> int:
        """From the first output to the last."""
        return self.steps + self.window - 1

    def nearest(self, shares: FloatArray) -> IntArray:
        """Return one of the outputs that there are."""
        return np.clip(super().nearest(shares), 0, self.width)

    def randomize(self, k: IntArray) -> IntArray:
        """Draw inside the window or anywhere else."""
        return self.draw_numbers(k)

    def shares(self, outputs: IntArray) -> FloatArray:
        """Debias: the mean output is a straight line in k."""
        K, w = self.steps, self.window
        b = float(np.exp(-self.e))
        total = w + K * b
        start = (b * (K + w) * (K + w - 1) / 2 + (1.0 - b) * w * (w - 1) / 2) / total
        slope = (1.0 - b) * w / total
        return np.asarray((outputs - start) / slope / K)
