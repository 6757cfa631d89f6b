"""Laplace noise: scale R/e on a real answer (Dwork, McSherry, Nissim and Smith 2006)."""

from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import DiscreteLaplaceNoise, GridNoise
from dpstrata.privacy.mechanisms.kernels import Point, Slopes, Step


class Laplace(Mechanism):
    """v(e) = 2R²/e², for any number in the answer range."""

    name = "laplace"
    title = "Laplace"
    square = linear = 2.0

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """2/e², less s(e)."""
        return kernels.inverse_square(at) if whole else kernels.r(at)

    def remainder_slopes(self, at: Point, *, whole: bool = False) -> Slopes:
        """2/e², less s(e), with two derivatives."""
        return kernels.inverse_square_slopes(at) if whole else kernels.r_slopes(at)

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of 2/e², less s(e)."""
        return kernels.inverse_square_step(step) if whole else kernels.r_step(step)

    def simulated_noise(self, e: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
        """Draw Laplace noise with scale R/e; for simulations only."""
        return generator.laplace(0.0, self.answer_range / e, shape)

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Discrete Laplace noise on a fine grid."""
        return DiscreteLaplaceNoise(e, steps)

    def exact_variance(self, e: Any) -> Any:
        """2R²/e²."""
        return 2 * e.context.mpf(self.answer_range) ** 2 / e**2
