"""Laplace noise: scale R/e on a real answer (Dwork, McSherry, Nissim and Smith 2006)."""

from typing import Any

from dpstrata.arrays import FloatArray
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.kernels import Point, Step


class Laplace(Mechanism):
    """v(e) = 2R²/e², for any number in the answer range."""

    name = "laplace"
    title = "Laplace"
    weight = 1.0

    def remainder(self, at: Point) -> FloatArray:
        """2/e² - s(e)."""
        return kernels.r(at)

    def remainder_slopes(self, at: Point) -> tuple[FloatArray, FloatArray, FloatArray]:
        """2/e² - s(e), with two derivatives."""
        return kernels.r_slopes(at)

    def remainder_step(self, step: Step) -> FloatArray:
        """Increase of 2/e² - s(e)."""
        return kernels.r_step(step)

    def exact_variance(self, e: Any) -> Any:
        """2R²/e²."""
        return 2 * e.context.mpf(self.answer_range) ** 2 / e**2
