"""No noise at all: what is left of a term when answers are noised elsewhere.

It protects nobody and is in no registry. Where one draw of noise is added to a figure of many strata, the
terms of the strata hold the sampling variance alone, and are stated with it.
"""

from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.kernels import Point, Step


class Silent(Mechanism):
    """v(e) = 0."""

    name = "silent"
    title = "No"
    weight = 0.0
    constant_remainder = 0.0

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """Nothing."""
        return np.zeros_like(at.e)

    def remainder_slopes(
        self, at: Point, *, whole: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Nothing, and so are its slopes."""
        zero = np.zeros_like(at.e)
        return zero, zero, zero

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Nothing."""
        return np.zeros_like(step.d)

    def variance_at(self, at: Point) -> FloatArray:
        """Nothing."""
        return np.zeros_like(at.e)

    def exact_variance(self, e: Any) -> Any:
        """Nothing."""
        return e.context.mpf(0)
