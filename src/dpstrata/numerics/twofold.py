"""Products and their differences in twice the working precision (Dekker 1971)."""

from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray


def difference_of_products(x: Any, y: Any, u: Any, v: Any) -> FloatArray:
    """x·y − u·v, without the cancellation of plain subtraction."""
    first, first_rest = product(x, y)
    second, second_rest = product(u, v)
    return np.asarray((first - second) + (first_rest - second_rest))


def product(x: Any, y: Any) -> tuple[Any, Any]:
    """x·y and what rounding left out."""
    rounded = x * y
    x_high, y_high = _upper_half(x), _upper_half(y)
    x_low, y_low = x - x_high, y - y_high
    return rounded, ((x_high * y_high - rounded) + x_high * y_low + x_low * y_high) + x_low * y_low


def _upper_half(x: Any) -> Any:
    shifted = x * 134217729.0  # 2^27 + 1
    return shifted - (shifted - x)
