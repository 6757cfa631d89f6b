"""Whole numbers that are exp(e) times as likely in a window of the answer as outside, and their readings."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy import randomness
from dpstrata.privacy.mechanisms.grid import GridNoise

_BITS = 42  # of readings, which puts their mean off by less than 1e-12 of the range


class WindowNoise(GridNoise):
    """Noise that draws a whole number from 0 on, in the window of an answer or elsewhere.

    Attributes
    ----------
    window : int
        How many numbers a window has.
    outside : int
        How many there are besides.
    """

    window: int
    outside: int

    def draw_numbers(self, starts: IntArray) -> IntArray:
        """Draw a number for each window, given by where it starts."""
        inside = self._inside.happens(len(starts))
        other = randomness.uniform(self.outside, len(starts))
        elsewhere = np.where(other < starts, other, other + self.window)
        return np.where(inside, starts + randomness.uniform(self.window, len(starts)), elsewhere)

    @cached_property
    def _inside(self) -> randomness.Chance:
        from mpmath import mp

        w, outside = self.window, self.outside
        return randomness.Chance(lambda: w / (w + outside * mp.exp(-mp.mpf(self.e))))


class CellNoise(WindowNoise):
    """Noise whose outputs are cells, each read as a whole number of units from the middle of the range."""

    units: int
    """How many units are a range."""
    _most: int
    """The largest reading."""

    def _set_units(self, most: float) -> None:
        """Choose units for readings of so many half ranges at most."""
        self.units = int(2 ** (_BITS - np.ceil(np.log2(most))))

    def _in_units(self, read: FloatArray) -> IntArray:
        """Round readings in half ranges to units."""
        return np.asarray(np.rint(read * (self.units / 2)).astype(np.int64))

    @abstractmethod
    def in_units(self, outputs: IntArray) -> IntArray:
        """Read cells."""

    @property
    def width(self) -> int:
        """From the lowest reading to the highest."""
        return 2 * self._most

    @property
    def origin_and_unit(self) -> tuple[float, float]:
        """The middle of the range, and one unit."""
        return 0.5, 1.0 / self.units

    def shares(self, outputs: IntArray) -> FloatArray:
        """Read cells, as shares of the range."""
        return np.asarray(0.5 + self.in_units(outputs) / self.units)
