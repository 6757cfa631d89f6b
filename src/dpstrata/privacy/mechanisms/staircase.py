r"""Staircase noise (Geng and Viswanath 2014): the additive noise of least variance for a real answer.

With its stairs at the best width the variance is :math:`R^2 (2^{-2/3} b^{2/3} (1+b)^{2/3} + b)/(1-b)^2`,
b = exp(−e). Written with :math:`y = \cosh(e/2)^{2/3}` that is :math:`R^2 (s(e) + 1/(4(1 + y + y^2)))`: the
remainder is smooth, falls from 1/12 to 0, and loses no digits anywhere.
"""

from functools import cached_property
from typing import Any

import numpy as np

from dpstrata.arrays import FloatArray, IntArray
from dpstrata.privacy import randomness
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import AdditiveGridNoise, GridNoise
from dpstrata.privacy.mechanisms.kernels import Point, Step


class Staircase(Mechanism):
    """v(e) = R²(2^(−2/3)·b^(2/3)·(1+b)^(2/3) + b)/(1−b)² with b = exp(−e), for any number in the range."""

    name = "staircase"
    title = "Staircase"
    weight = 1.0
    rounding = 128.0

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """1/(4(1 + y + y²)), with y = cosh(e/2)^(2/3)."""
        y = _y(at)
        rho = 0.25 / (1.0 + y + y * y)
        return rho + kernels.s(at) if whole else rho

    def remainder_slopes(
        self, at: Point, *, whole: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Evaluate the same with two derivatives; y' = y·tanh(e/2)/3."""
        y = _y(at)
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
        """Increase of 1/(4(1 + y + y²)): the difference of two y's from that of two logarithms of cosh."""
        y0, y1 = _y(step.before), _y(step.after)
        half = np.sinh(step.d / 4.0)
        tanh = step.after.z / (1.0 + step.after.b)
        # ln cosh(x + δ) − ln cosh(x) = log1p(2 sinh²(δ/2) + tanh(x)·sinh(δ)), x = e₁/2 and δ = d/2
        rise = np.log1p(2.0 * half * half + tanh * np.sinh(step.d / 2.0))
        fall = y1 * np.expm1(2.0 / 3.0 * rise)  # y0 − y1
        increase = 0.25 * fall * (1.0 + y0 + y1) / ((1.0 + y0 + y0 * y0) * (1.0 + y1 + y1 * y1))
        return increase + kernels.s_step(step) if whole else increase

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


def _y(at: Point) -> FloatArray:
    """cosh(e/2)^(2/3); cosh² = (1 + b)²/(4b)."""
    cosh = 1.0 + at.b
    return np.asarray(np.cbrt(cosh * cosh / (4.0 * at.b)))


class _Stairs(AdditiveGridNoise):
    """P(±(gK + i)) ∝ b^g for the first r steps of a stair and b^(g+1) for the others, b = exp(−e)."""

    def __init__(self, e: float, steps: int) -> None:
        super().__init__(e, steps)
        self.upper = int(np.clip(round(best_width(float(np.exp(-e))) * steps), 1, steps))

    @cached_property
    def _high(self) -> randomness.Chance:
        from mpmath import mp

        K, r = self.steps, self.upper
        return randomness.Chance(lambda: mp.mpf(r) / (r + mp.exp(-mp.mpf(self.e)) * (K - r)))

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

    def variance(self, k: int) -> float:
        """Sum (gK + i)² over all stairs g, in closed form: Σ b^g, Σ g·b^g and Σ g²·b^g are known."""
        b, K, r = float(np.exp(-self.e)), float(self.steps), float(self.upper)

        def sums(n: float) -> tuple[float, float, float]:
            return n, n * (n - 1) / 2, (n - 1) * n * (2 * n - 1) / 6

        zeroth, first, second = (
            (1 - b) * part + b * all_ for part, all_ in zip(sums(r), sums(K), strict=True)
        )
        total = (
            b * (1 + b) / (1 - b) ** 3 * K**2 * zeroth + 2 * b / (1 - b) ** 2 * K * first + second / (1 - b)
        )
        return 2.0 * total / (2.0 * zeroth / (1 - b) - 1.0) / K**2

    def noise_mass(self) -> FloatArray:
        """Evaluate the stairs, and divide by their sum."""
        b = np.exp(-self.e)
        stairs = int(np.ceil(36.0 / self.e)) + 1
        one = np.where(np.arange(self.steps) < self.upper, 1.0, b)
        side = np.concatenate([b**g * one for g in range(stairs)])
        mass = np.concatenate([side[:0:-1], side])
        return np.asarray(mass / mass.sum())
