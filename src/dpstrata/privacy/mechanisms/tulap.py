"""Truncated-uniform-Laplace noise (Awan and Slavković 2018).

R·(DLap(exp(−e)) + U) with U uniform on (−1/2, 1/2): a whole number of ranges plus a uniform part. The
range multiplies the noise; dividing e by the range instead would lose too much unless R is whole.
"""

from typing import Any

import numpy as np

from dpstrata.arrays import FloatArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.kernels import Point, Step, simulated_discrete_laplace


class TruncatedUniformLaplace(Mechanism):
    """v(e) = R²(1/12 + 2b/(1−b)²) with b = exp(−e), for any number in the answer range."""

    name = "tulap"
    title = "Truncated-uniform-Laplace"
    weight = 1.0
    constant_remainder = 1 / 12

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """1/12, the variance of the uniform part."""
        return np.full_like(at.e, 1 / 12)

    def remainder_slopes(
        self, at: Point, *, whole: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """1/12, which does not change."""
        zero = np.zeros_like(at.e)
        return np.full_like(at.e, 1 / 12), zero, zero

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Zero."""
        return np.zeros_like(step.d)

    def simulated_noise(self, e: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
        """Draw a whole number of ranges plus a uniform part; for simulations only."""
        ranges = simulated_discrete_laplace(e, shape, generator)
        return self.answer_range * (ranges + generator.uniform(-0.5, 0.5, shape))

    def exact_variance(self, e: Any) -> Any:
        """R²(1/12 + 2b/(1−b)²)."""
        mp = e.context
        b = mp.exp(-e)
        return mp.mpf(self.answer_range) ** 2 * (mp.mpf(1) / 12 + 2 * b / (1 - b) ** 2)
