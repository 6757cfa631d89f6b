"""Secure randomness: whole numbers from the operating system, and exact discrete noise from OpenDP.

Everything here is exact: no floating-point number is ever drawn. Discrete Laplace and Gaussian numbers come
from OpenDP's audited samplers, everything else from them and from ``secrets``.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from dpstrata.errors import MissingExtraError
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray


def uniform(below: int, size: int) -> IntArray:
    """Draw whole numbers from 0 to ``below`` - 1, all equally likely, 1 <= below <= 2**62."""
    if below == 1:
        return np.zeros(size, dtype=np.int64)
    bits = (below - 1).bit_length()
    mask = np.uint64((1 << bits) - 1)
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < size:  # numbers beyond the range are thrown away, which keeps the others equal
        wanted = math.ceil((size - len(drawn)) * (1 << bits) / below * 1.02) + 16
        numbers = np.frombuffer(secrets.token_bytes(8 * wanted), dtype=np.uint64) & mask
        drawn = np.concatenate([drawn, numbers[numbers < below].astype(np.int64)])
    return drawn[:size]


def coin(size: int) -> BoolArray:
    """Toss fair coins."""
    return np.asarray(uniform(2, size) == 1)


def toss(chances: FloatArray) -> BoolArray:
    """Decide an event of each of these chances, to 62 bits."""
    return np.asarray(uniform(1 << 62, len(chances)) < chances * float(1 << 62))


def discrete_laplace(scale: float, size: int) -> IntArray:
    """Draw whole numbers with P(j) proportional to exp(-|j| / scale)."""
    return np.array(_opendp("laplace", "l1_distance", scale)([0] * size), dtype=np.int64)


def discrete_gaussian(scale: float, size: int) -> IntArray:
    """Draw whole numbers with P(j) proportional to exp(-j² / (2 scale²))."""
    return np.array(_opendp("gaussian", "l2_distance", scale)([0] * size), dtype=np.int64)


def geometric(scale: float, size: int) -> IntArray:
    """Draw whole numbers j >= 0 with P(j) proportional to exp(-j / scale).

    Those of discrete Laplace numbers that are not negative have this law, and so have -1 - j of the negative
    ones, since each has exp(-1 / scale) of the probability of the one before.
    """
    drawn = discrete_laplace(scale, size)
    return np.where(drawn < 0, ~drawn, drawn)  # ~j is -1 - j


class Chance:
    """An event of a given probability, decided exactly.

    The binary digits of the probability are compared with random ones, 62 at a time; further digits are only
    looked at where all before are equal.

    Parameters
    ----------
    probability : callable
        Computes it as a number of the mpmath context that it is given; between 0 and 1.
    """

    _BITS = 62
    _DIGITS = 8

    def __init__(self, probability: Callable[[Any], Any]) -> None:
        from mpmath import mp

        with mp.workprec(self._BITS * (self._DIGITS + 2)):
            rest = probability(mp)
            self._digits = []
            for _ in range(self._DIGITS):
                rest = rest * 2**self._BITS
                self._digits.append(int(mp.floor(rest)))
                rest -= self._digits[-1]

    def happens(self, size: int) -> BoolArray:
        """Decide ``size`` independent events."""
        happened = np.zeros(size, dtype=bool)
        if self._digits[0] >= 1 << self._BITS:  # certain
            return ~happened
        open_ = np.arange(size)
        for digit in self._digits:
            drawn = uniform(1 << self._BITS, len(open_))
            happened[open_] = drawn < digit
            open_ = open_[drawn == digit]
            if not open_.size:
                break
        return happened


def scale_for(steps: int, e: float) -> float:
    """Return steps / e, rounded upwards, so that noise of that scale never spends more than e."""
    return math.nextafter(math.nextafter(steps / e, math.inf), math.inf)


@lru_cache(maxsize=4096)
def _opendp(noise: str, distance: str, scale: float) -> Any:
    """Return OpenDP's sampler; its ``prelude`` would take four times as long to import."""
    try:
        from opendp import domains, measurements, metrics
        from opendp.mod import enable_features
    except ImportError:
        raise MissingExtraError("exact noise needs", "survey") from None
    enable_features("contrib")
    numbers = domains.vector_domain(domains.atom_domain(T="i64"))
    return getattr(measurements, f"make_{noise}")(numbers, getattr(metrics, distance)(T="i64"), scale=scale)
