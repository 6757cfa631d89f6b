"""What privacy needs to know of the answers that it protects; nothing here knows a question."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpstrata.errors import InputError
from dpstrata.numerics.arrays import FloatArray

MOST_STEPS = 10**9


@dataclass(frozen=True, slots=True)
class AnswerSpace:
    """The possible answers: numbers between two ends, on a grid if there is a step, or one of several names.

    Mechanisms are given and return shares of the range; of names they are given the places, from 0 on.

    Parameters
    ----------
    lower, upper : float
        lower < upper; for names 0 and 1, between which their shares lie.
    step : float, optional
        Distance between neighbouring numbers; (upper - lower) / step must be a whole number.
    names : int
        How many names there are; 0 for numbers.

    Raises
    ------
    InputError
        If no such answers exist.

    Examples
    --------
    >>> space = AnswerSpace(0, 100, 5)
    >>> space.steps, space.values, space.range
    (20, 21, 100.0)
    >>> AnswerSpace(names=3).described
    '3 categories'
    """

    lower: float = 0.0
    upper: float = 1.0
    step: float | None = None
    names: int = 0

    def __post_init__(self) -> None:
        # floats, so that a design has the same digest as the document that it was saved in
        object.__setattr__(self, "lower", float(self.lower))
        object.__setattr__(self, "upper", float(self.upper))
        ends = f"{self.lower:g} and {self.upper:g}"
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper):
            raise InputError(f"answers must have lower < upper, got {ends}.")
        if not 1e-30 <= self.range <= 1e30:
            raise InputError(f"answers must span at least 1e-30 and at most 1e30, got {ends}.")
        if self.step is not None:
            object.__setattr__(self, "step", float(self.step))
            ratio = self.range / self.step if self.step > 0 else math.nan
            if not (0.5 < ratio <= MOST_STEPS and abs(ratio - round(ratio)) <= 1e-9 * ratio):
                raise InputError(
                    f"the range of answers must be a whole number of steps (at most {MOST_STEPS:g}), got "
                    f"{ends} in steps of {self.step:g}."
                )

    @property
    def numbers(self) -> bool:
        """Whether answers are numbers, whose mean is estimated; otherwise the share of every name is."""
        return not self.names

    @property
    def range(self) -> float:
        """R = upper - lower."""
        return self.upper - self.lower

    @property
    def steps(self) -> int | None:
        """K = range / step on a grid, otherwise ``None``."""
        return None if self.step is None else round(self.range / self.step)

    @property
    def values(self) -> int | None:
        """How many different answers there are; ``None`` if any number in the range is one."""
        return self.names or (None if self.steps is None else self.steps + 1)

    @property
    def described(self) -> str:
        """How many different answers there are, in words."""
        if self.names:
            return f"{self.names:,} categories"
        if self.values is None:
            return "any number in a range"
        return "two values" if self.values == 2 else f"{self.values:,} values"

    def shares(self, values: FloatArray) -> FloatArray:
        """Turn numbers into shares of the range, 0 for its lower end and 1 for its upper end."""
        return (values - self.lower) / self.range

    def at_shares(self, shares: FloatArray) -> FloatArray:
        """Turn shares of the range back into numbers; noised ones may lie outside it."""
        return self.lower + self.range * shares

    def __str__(self) -> str:
        if self.names:
            return self.described
        steps = "" if self.step is None else f" in steps of {self.step:g}"
        return f"[{self.lower:g}, {self.upper:g}]{steps}"
