"""No noise at all: what is left of a term when answers are noised elsewhere.

It protects nobody and is in no registry. Where one draw of noise is added to a figure of many strata, the
terms of the strata hold the sampling variance alone, and are stated with it.
"""

from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms.base import NoRemainder
from dpstrata.privacy.mechanisms.kernels import Point


class Silent(NoRemainder):
    """v(e) = 0."""

    name = "silent"
    title = "No"
    square = linear = 0.0

    def variance_at(self, at: Point) -> FloatArray:
        """Nothing."""
        return np.zeros_like(at.e)

    def exact_variance(self, e: Any) -> Any:
        """Nothing."""
        return e.context.mpf(0)
