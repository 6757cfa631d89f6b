r"""Staircase noise (Geng and Viswanath 2014): the additive noise of least variance for a real answer.

With its stairs at the best width the variance is :math:`R^2 (2^{-2/3} b^{2/3} (1+b)^{2/3} + b)/(1-b)^2`,
b = exp(−e). Written with :math:`y = \cosh(e/2)^{2/3}` that is :math:`R^2 (s(e) + 1/(4(1 + y + y^2)))`: the
remainder is smooth, falls from 1/12 to 0, and loses no digits anywhere.

Written so, it can be compared with the others at every budget, in units of R²:

- TuLap is :math:`s + 1/12`, never less, since :math:`y \ge 1`.
- Discrete Laplace noise on K steps is :math:`(2/e^2)(x/\sinh x)^2` with :math:`x = e/(2K)`, which grows
  with K, towards the :math:`2/e^2` of Laplace noise. At K = 2 it is :math:`s + 1/(4(1 + y^{3/2}))`, never
  less, since :math:`y^{3/2} \le y + y^2`. So it is never less at larger K, nor is Laplace noise (Geng and
  Viswanath prove that for any additive noise). At K = 1 it is :math:`s`, which is less.
- Piecewise noise is :math:`s\,(y^{3/2} + 1)/3`. With :math:`w = \sqrt y` the difference to it has the sign of
  :math:`2w^3 - 3w^2 - 1`, which grows from −2 at e = 0 and is zero once, at
  :math:`w = 1/2 + \cosh(\operatorname{arcosh}(3)/3)`: piecewise is better below that budget, about 4.47.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy import randomness
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import AdditiveGridNoise, GridNoise
from dpstrata.privacy.mechanisms.kernels import Point, Slopes, Step

BETTER_FROM = 2.0 * math.acosh((0.5 + math.cosh(math.acosh(3.0) / 3.0)) ** 3)
"""The budget of one answer from which on its variance is below that of the piecewise mechanism."""


class Staircase(Mechanism):
    """v(e) = R²(2^(−2/3)·b^(2/3)·(1+b)^(2/3) + b)/(1−b)² with b = exp(−e), for any number in the range."""

    name = "staircase"
    title = "Staircase"
    square = linear = 2.0
    rounding = 128.0

    def never_worse_than(self, least: float, most: float) -> frozenset[str]:
        """Laplace and TuLap; discrete Laplace from two steps on; piecewise for large budgets."""
        worse = {"laplace", "tulap"}
        if self.space.steps != 1:
            worse.add("discrete_laplace")
        if least >= BETTER_FROM:
            worse.add("piecewise")
        return frozenset(worse)

    # With h = sinh²(e/2) = z²/(4b) and y = (1 + h)^(1/3) the variance is (1 + y)/(4h).

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """1/(4(1 + y + y²)), with y = cosh(e/2)^(2/3)."""
        h, y = _h_and_y(at)
        return (1.0 + y) / (4.0 * h) if whole else 0.25 / (1.0 + y + y * y)

    def remainder_slopes(self, at: Point, *, whole: bool = False) -> Slopes:
        """Evaluate the same with two derivatives; y' = y·tanh(e/2)/3."""
        _, y = _h_and_y(at)
        tanh = at.z / (1.0 + at.b)
        first = y * tanh / 3.0
        second = first * tanh / 3.0 + y * (1.0 - tanh * tanh) / 6.0
        rho = 0.25 / (1.0 + y + y * y)
        slope = -4.0 * rho * rho  # of 1/(4P) in P = 1 + y + y²
        rise = (1.0 + 2.0 * y) * first
        bend = (1.0 + 2.0 * y) * second + 2.0 * first * first
        values = rho, slope * rise, slope * bend + 32.0 * rho**3 * rise * rise
        if not whole:
            return values
        part = kernels.s_slopes(at)
        return values[0] + part[0], values[1] + part[1], values[2] + part[2]

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of 1/(4(1 + y + y²)), from that of h: y₀ − y₁ = (h₀ − h₁)/(y₀² + y₀y₁ + y₁²)."""
        before, after = step.before, step.after
        (h0, y0), (h1, y1) = _h_and_y(before), _h_and_y(after)
        # h₀ − h₁ = (b₁ − b₀)(1 − b₀b₁)/(4b₀b₁), with b₁ − b₀ = b₀·(exp(d) − 1) and 1 − b₀b₁ = z₀ + b₀z₁
        fall = np.expm1(step.d) * (before.z + before.b * after.z) / (4.0 * after.b)
        squares = y0 * (y0 + y1) + y1 * y1
        if whole:
            return fall * (1.0 + y1 - h1 / squares) / (4.0 * h0 * h1)
        return 0.25 * fall * (1.0 + y0 + y1) / (squares * (1.0 + y0 * (1.0 + y0)) * (1.0 + y1 * (1.0 + y1)))

    def simulated_noise(self, e: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
        """Draw sign, stair and place on it; for simulations only."""
        b = float(np.exp(-e))
        width = best_width(b)
        stair = generator.geometric(1.0 - b, shape) - 1.0
        upper = generator.random(shape) < width / (width + (1.0 - width) * b)
        place = generator.random(shape)
        size = stair + np.where(upper, width * place, width + (1.0 - width) * place)
        return self.answer_range * np.where(generator.random(shape) < 0.5, -size, size)

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Stairs of whole steps."""
        return _Stairs(e, steps)

    def exact_variance(self, e: Any) -> Any:
        """R²(2^(−2/3)·b^(2/3)·(1+b)^(2/3) + b)/(1−b)²."""
        mp = e.context
        b, third = mp.exp(-e), mp.mpf(2) / 3
        return mp.mpf(self.answer_range) ** 2 * (2**-third * (b * (1 + b)) ** third + b) / (1 - b) ** 2


def best_width(b: float) -> float:
    """Width γ of the upper part of a stair, as a share of the range, at which the variance is least.

    The variance is a rational function of γ; where it is least,
    γ = −b/(1−b) + (b − 2b² + 2b⁴ − b⁵)^(1/3) / (2^(1/3)·(1−b)²).
    """
    root = (b - 2.0 * b**2 + 2.0 * b**4 - b**5) / 2.0
    return float(-b / (1.0 - b) + root ** (1.0 / 3.0) / (1.0 - b) ** 2) if b < 0.99 else 0.5


def _h_and_y(at: Point) -> tuple[FloatArray, FloatArray]:
    """sinh²(e/2) and cosh(e/2)^(2/3)."""
    h = at.z * at.z / (4.0 * at.b)
    return h, np.cbrt(1.0 + h)


class _Stairs(AdditiveGridNoise):
    """P(±(gK + i)) ∝ b^g for the first r steps of a stair and b^(g+1) for the others, b = exp(−e)."""

    def __init__(self, e: float, steps: int) -> None:
        super().__init__(e, steps)
        self.upper = int(np.clip(round(best_width(float(np.exp(-e))) * steps), 1, steps))

    @cached_property
    def _high(self) -> randomness.Chance:
        K, r = self.steps, self.upper
        return randomness.Chance(lambda mp: mp.mpf(r) / (r + mp.exp(-mp.mpf(self.e)) * (K - r)))

    def noise(self, size: int) -> IntArray:
        """Draw stair, place and sign; minus zero is drawn again."""
        K, r = self.steps, self.upper
        drawn = np.empty(0, dtype=np.int64)
        while len(drawn) < size:
            count = size - len(drawn) + 16
            stair = randomness.geometric(randomness.scale_for(1, self.e), count)
            first = self._high.happens(count)
            place = np.where(
                first, randomness.uniform(r, count), r + randomness.uniform(max(K - r, 1), count)
            )
            magnitude, minus = stair * K + place, randomness.coin(count)
            numbers = np.where(minus, -magnitude, magnitude)
            drawn = np.concatenate([drawn, numbers[~(minus & (magnitude == 0))]])
        return drawn[:size]
