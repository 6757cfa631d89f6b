"""Truncated-uniform-Laplace noise (Awan and Slavković 2018).

R·(DLap(exp(−e)) + U) with U uniform on (−1/2, 1/2): a whole number of ranges plus a uniform part. The
range multiplies the noise; dividing e by the range instead would lose too much unless R is whole.
"""

from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy import randomness
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import AdditiveGridNoise, GridNoise, fineness
from dpstrata.privacy.mechanisms.kernels import simulated_discrete_laplace
from dpstrata.privacy.mechanisms.noise import ConstantRemainder


class TruncatedUniformLaplace(ConstantRemainder, Mechanism):
    """v(e) = R²(1/12 + 2b/(1−b)²) with b = exp(−e), for any number in the answer range."""

    name = "tulap"
    title = "Truncated-uniform-Laplace"
    square = linear = 2.0
    constant_remainder = 1 / 12  # the variance of the uniform part

    def simulated_noise(self, e: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
        """Draw a whole number of ranges plus a uniform part; for simulations only."""
        ranges = simulated_discrete_laplace(e, shape, generator)
        return self.answer_range * (ranges + generator.uniform(-0.5, 0.5, shape))

    def grid_steps(self, e: float) -> int:
        """Return an odd number, so that the uniform part has its middle on the grid."""
        return fineness(float(self.variance(e)) / self.answer_range**2, odd=True)

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Whole ranges plus a uniform number of steps."""
        return _TulapNoise(e, steps)

    def exact_variance(self, e: Any) -> Any:
        """R²(1/12 + 2b/(1−b)²)."""
        mp = e.context
        b = mp.exp(-e)
        return mp.mpf(self.answer_range) ** 2 * (mp.mpf(1) / 12 + 2 * b / (1 - b) ** 2)


class _TulapNoise(AdditiveGridNoise):
    """K·DLap(exp(−e)) plus a whole number from −(K−1)/2 to (K−1)/2; for even K half a step lower."""

    def noise(self, size: int) -> IntArray:
        """Draw whole ranges from OpenDP and the rest uniformly."""
        ranges = randomness.discrete_laplace(randomness.scale_for(1, self.e), size)
        return self.steps * ranges + randomness.uniform(self.steps, size) - self.steps // 2

    def shares(self, outputs: IntArray) -> FloatArray:
        """Add the half step back where K is even."""
        return np.asarray((outputs + (0.0 if self.steps % 2 else 0.5)) / self.steps)
