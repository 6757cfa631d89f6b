"""Numbers on a grid between two ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.answers.base import Answers
from dpstrata.privacy.answers.interval import Interval, read_numbers

MOST_STEPS = 10**9
_TOLERANCE = 1e-9  # of the distance from the lower end, by which a number may miss the grid


@dataclass(frozen=True, slots=True, repr=False)
class Grid(Interval):
    """Numbers from ``lower`` to ``upper`` in steps; one step makes two values.

    Parameters
    ----------
    lower, upper : float
        lower < upper.
    step : float
        (upper - lower) / step must be a whole number.
    """

    form: ClassVar[str] = "lower, upper and step (as in 0:100:1)"
    can_clip: ClassVar[bool] = False

    step: float

    def _check_step(self) -> None:
        object.__setattr__(self, "step", float(self.step))
        if not (math.isfinite(self.step) and self.step > 0):
            raise InputError(f"the step of {option('answers')} must be positive, got {self.step:g}.")
        ratio = self.range / self.step
        if not (0.5 < ratio <= MOST_STEPS and abs(ratio - round(ratio)) <= 1e-9 * ratio):
            raise InputError(
                f"the range of {option('answers')} must be a whole number of steps (at most {MOST_STEPS:g}), "
                f"got ({self.upper:g} - {self.lower:g}) / {self.step:g} = {ratio:g}."
            )

    @property
    def steps(self) -> int:
        """K = range / step."""
        return round(self.range / self.step)

    @property
    def values(self) -> int:
        """K + 1."""
        return self.steps + 1

    @property
    def described(self) -> str:
        """Count the values."""
        return "two values" if self.values == 2 else f"{self.values:,} values"

    def _has(self, values: FloatArray) -> bool:
        """Whether all numbers are on the grid."""
        steps = (values - self.lower) / self.step
        return bool(np.all(np.abs(steps - np.rint(steps)) <= _TOLERANCE * np.maximum(np.abs(steps), 1.0)))

    def proportions_of(self, sds: FloatArray, sizes: IntArray) -> FloatArray | None:
        """Solve S² = p(1 − p)N/(N − 1), in squared ranges, for answers of two values."""
        if self.values != 2:
            return None
        spread = (sds / self.range) ** 2 * (sizes - 1) / sizes
        return np.asarray((1 - np.sqrt(np.maximum(1 - 4 * spread, 0.0))) / 2)

    def population(self, size: int, sd: float) -> FloatArray:
        """Make up two groups of people who answer alike, around the middle of the range."""
        unit = self.range / self.steps
        steps, above = _two_groups(size, sd * self.steps / self.range, self.steps)
        return self._two_groups(size, above, self.lower + unit * ((self.steps - steps) // 2), unit * steps)

    @classmethod
    def read(cls, given: Any) -> Answers | None:
        """Read three numbers."""
        numbers = read_numbers(given)
        return cls(*numbers) if len(numbers) == 3 else None

    def __str__(self) -> str:
        return f"[{self.lower:g}, {self.upper:g}] in steps of {self.step:g}"


def _two_groups(size: int, sd: float, most_steps: int) -> tuple[int, int]:
    """Distance in steps, and size of the upper group, whose deviation is nearest to ``sd`` steps."""
    best, choice = abs(sd), (0, 0)
    for steps in range(max(1, int(sd)), most_steps + 1):
        share = 4 * sd**2 * (size - 1) / (size * steps**2)
        if share > 1.05:
            continue
        exact = size / 2 * (1 - np.sqrt(max(1 - share, 0.0)))
        for above in {each for each in (int(exact), int(exact) + 1) if each < size}:
            miss = abs(steps * np.sqrt(above * (size - above) / (size * max(size - 1, 1))) - sd)
            if miss < best:
                best, choice = miss, (steps, above)
        if best <= 1e-9 * sd:
            break
    return choice
