"""A mechanism on a grid: what it releases for a whole number of steps, exactly.

Answers are put on a grid of K steps between the ends of their range, noise is drawn as whole numbers, and the
result is scaled back. No floating-point noise is ever added to a floating-point answer. Mechanisms that add
no noise draw whole numbers that are exp(e) times as likely in a window of the answer as outside.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy import randomness
from dpstrata.privacy.rows import DENOMINATOR, Source, level_of, odds_below

FINEST = 50  # binary digits of the finest grid: doubles still tell its steps apart
_INVISIBLE = 1000  # steps to a standard deviation of the noise: rounding adds less than 1e-6 of its variance


class GridNoise(ABC):
    """What one mechanism does at one budget to answers on a grid.

    Parameters
    ----------
    e : float
        The budget; what is drawn never spends more.
    steps : int
        K: two answers are at most so many steps apart.
    """

    cells: int | None = None
    """How many different outputs there are, where each can be counted; the first one is 0."""
    slack: float = 0.0
    """How far, in ranges, what another machine reads an output as may be from what this one does."""

    def __init__(self, e: float, steps: int) -> None:
        self.e = e
        self.steps = steps

    @property
    def width(self) -> int:
        """By how many units an output can move when the answer changes."""
        return self.steps

    @property
    def origin_and_unit(self) -> tuple[float, float]:
        """Share of the range that an output of no unit stands for, and how much one unit adds."""
        zero, one = self.shares(np.array([0, 1])).tolist()
        return zero, one - zero

    def place(self, shares: FloatArray) -> IntArray:
        """Put shares of the range on the grid, at random up or down, so that nothing is biased."""
        return to_grid(shares, self.steps)

    @abstractmethod
    def randomize(self, k: IntArray) -> IntArray:
        """Draw an output for each answer of ``k`` steps, 0 <= k <= K."""

    def shares(self, outputs: IntArray) -> FloatArray:
        """Turn outputs into shares of the range whose mean is the answer's share."""
        return outputs / self.steps

    def levels(self, k: IntArray) -> FloatArray:
        """Return the shares of the range that answers of ``k`` steps stand for."""
        return k / self.steps

    def in_units(self, outputs: IntArray) -> IntArray:
        """Write outputs as whole numbers of units, which can be added up."""
        return outputs

    def nearest(self, shares: FloatArray) -> IntArray:
        """Return the outputs that are nearest to shares of the range, of those that can be released."""
        start, unit = self.origin_and_unit
        with np.errstate(over="ignore", invalid="ignore"):
            rough = np.rint((shares - start) / unit)
        return np.where(np.abs(rough) < 2.0**53, rough, 0.0).astype(np.int64)


class AdditiveGridNoise(GridNoise):
    """Noise of one distribution, whatever the answer."""

    @abstractmethod
    def noise(self, size: int) -> IntArray:
        """Draw noise in steps."""

    def randomize(self, k: IntArray) -> IntArray:
        """Add noise."""
        return k + self.noise(len(k))


class DiscreteLaplaceNoise(AdditiveGridNoise):
    """P(j) ∝ exp(-e|j|/K): Laplace noise on a grid."""

    def noise(self, size: int) -> IntArray:
        """Draw from OpenDP."""
        return randomness.discrete_laplace(randomness.scale_for(self.steps, self.e), size)


def fineness(variance_share: float, *, odd: bool = False) -> int:
    """Return a number of steps so fine that rounding to them is invisible beside the noise.

    Parameters
    ----------
    variance_share : float
        Variance of the noise in units of the squared range.
    odd : bool
        Whether the number of steps must be odd.
    """
    wanted = np.log2(_INVISIBLE) - 0.5 * np.log2(max(variance_share, 1e-300))
    steps: int = 2 ** int(np.clip(np.ceil(wanted), 10, FINEST))
    return steps - 1 if odd else steps


def to_grid(shares: FloatArray, steps: int) -> IntArray:
    """Put shares of the range on a grid of ``steps``, at random up or down, so that nothing is biased.

    Shares outside 0 to 1 are clamped. The randomness is secure, to 62 bits.
    """
    place = np.clip(shares, 0.0, 1.0) * steps
    below = np.floor(place)
    up = randomness.toss(place - below)
    return np.minimum(below.astype(np.int64) + up, steps)


_BITS = 42  # of readings, which puts their mean off by less than 1e-12 of the range


class Replacements(GridNoise):
    """Numbers from 0 to K, each replaced by another one with probability K/(exp(e) + K)."""

    def __init__(self, e: float, steps: int) -> None:
        super().__init__(e, steps)
        self.cells = steps + 1

    def randomize(self, k: IntArray) -> IntArray:
        """Replace now and then, all others equally likely."""
        other = randomness.uniform(self.steps, len(k))
        other += other >= k
        return np.where(self._replaces.happens(len(k)), other, k)

    @cached_property
    def _replaces(self) -> randomness.Chance:
        return randomness.Chance(lambda mp: self.steps / (mp.exp(mp.mpf(self.e)) + self.steps))


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
        w, outside = self.window, self.outside
        return randomness.Chance(lambda mp: w / (w + outside * mp.exp(-mp.mpf(self.e))))


class CellNoise(GridNoise):
    """Noise whose outputs are cells, each read as a whole number of units from the middle of the range.

    Everything is drawn in whole numbers, so that other implementations draw the same cells from the same
    bytes: an answer is put on a level, and a number is drawn of a line, on which those in the window of the
    level are 1 + P/Q times as likely as the others.

    Attributes
    ----------
    odds : int
        P, and y = P/Q, which is at most exp(e) − 1.
    window, line : int
        How many numbers a window has, and how many there are in all.
    """

    window: int
    line: int
    cells: int
    units: int
    """How many units are a range."""
    _most: int
    """The largest reading."""

    def __init__(self, e: float, steps: int) -> None:
        super().__init__(e, steps)
        self.odds = odds_below(e)
        self.y = self.odds / DENOMINATOR

    @property
    @abstractmethod
    def level_places(self) -> Sequence[int]:
        """Where the levels of answers lie, from 0 at the lower end of the range."""

    @abstractmethod
    def draw(self, level: int, source: Source = secrets.token_bytes) -> int:
        """Draw a cell for an answer on a level."""

    @property
    @abstractmethod
    def specification(self) -> dict[str, Any]:
        """What another implementation must know, beside P, to draw the same cells and to read them."""

    def cell_of(self, share: Fraction, source: Source = secrets.token_bytes) -> int:
        """Draw a cell for an answer at a share of the range."""
        return self.draw(level_of(share, self.level_places, source), source)

    def place(self, shares: FloatArray) -> IntArray:
        """Put shares of the range on one of the two levels next to them, at random."""
        places, inside = self.level_places, np.clip(shares, 0.0, 1.0).tolist()
        return np.array([level_of(Fraction(share), places) for share in inside], dtype=np.int64)

    def randomize(self, k: IntArray) -> IntArray:
        """Draw a cell for each."""
        return np.array([self.draw(level) for level in k.tolist()], dtype=np.int64)

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
