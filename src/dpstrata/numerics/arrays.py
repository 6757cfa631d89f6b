"""Array types shared by every layer, and the walk over blocks that keeps large problems in cache."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Array = TypeVar("Array", bound=npt.NDArray[Any])
Rows = slice | IntArray
"""Which strata an evaluation is for: a slice, or their positions."""

ALL = slice(None)
BLOCK = 1 << 15  # 32,768 doubles are 256 kB: the temporaries of a formula stay in cache


def blocks(length: int) -> Iterator[slice]:
    """Yield slices that cover ``range(length)`` in pieces of at most ``BLOCK``."""
    for start in range(0, length, BLOCK):
        yield slice(start, min(start + BLOCK, length))


def blockwise(function: Callable[[FloatArray, Any], FloatArray], n: FloatArray, rows: Rows) -> FloatArray:
    """Evaluate a function of sample sizes and their strata in pieces that stay in cache."""
    if not len(n):
        return np.empty(0)
    if len(n) <= BLOCK:
        return function(n, rows)
    out = np.empty(len(n))
    for part in blocks(len(n)):
        out[part] = function(n[part], part if isinstance(rows, slice) else rows[part])
    return out


def read_only(array: Array) -> Array:
    """Return ``array`` after forbidding writes to it."""
    array.flags.writeable = False
    return array
