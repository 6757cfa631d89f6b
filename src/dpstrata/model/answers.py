"""The answers a survey allows: an interval, or a grid inside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpstrata.arrays import FloatArray, IntArray
from dpstrata.errors import InputError

MOST_STEPS = 10**9


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers between ``lower`` and ``upper``, on a grid if ``step`` is given.

    Parameters
    ----------
    lower, upper : float
        lower < upper; answers outside are refused, or clipped where the design says so.
    step : float or None
        Distance of two neighbouring answers; (upper - lower) / step must be a whole number.
    """

    lower: float
    upper: float
    step: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper):
            raise InputError(f"answers must have lower < upper, got {self.lower:g} and {self.upper:g}.")
        if not 1e-30 <= self.range <= 1e30:
            raise InputError(f"answers must span at least 1e-30 and at most 1e30, got {self.range:g}.")
        if self.step is not None:
            if not (math.isfinite(self.step) and self.step > 0):
                raise InputError(f"the step of answers must be positive, got {self.step:g}.")
            ratio = self.range / self.step
            if not (0.5 < ratio <= MOST_STEPS and abs(ratio - round(ratio)) <= 1e-9 * ratio):
                raise InputError(
                    f"the range of answers must be a whole number of steps (at most {MOST_STEPS:g}), "
                    f"got ({self.upper:g} - {self.lower:g}) / {self.step:g} = {ratio:g}."
                )

    @property
    def range(self) -> float:
        """R = upper - lower."""
        return self.upper - self.lower

    @property
    def steps(self) -> int | None:
        """K = range / step on a grid, otherwise ``None``."""
        return None if self.step is None else round(self.range / self.step)

    def largest_sd(self, sizes: IntArray) -> FloatArray:
        r"""Largest standard deviation (divisor N - 1) that answers of ``sizes`` people can have.

        Half of the people at each end of the range: with m = ⌊N/2⌋,
        :math:`S^2 = R^2\, m (N - m) / (N (N - 1))`; one person has no spread.
        """
        N = sizes.astype(float)
        m = np.floor(N / 2)
        spread = (m / N) * ((N - m) / np.maximum(N - 1, 1))
        largest: FloatArray = self.range * np.sqrt(spread)
        return largest

    def __str__(self) -> str:
        grid = "" if self.step is None else f" in steps of {self.step:g}"
        return f"[{self.lower:g}, {self.upper:g}]{grid}"


def parse_answers(answers: str | Answers | Sequence[float]) -> Answers:
    """Turn ``(lower, upper)``, ``(lower, upper, step)``, ``"0:100:1"`` or ``"binary"`` into Answers.

    Examples
    --------
    >>> parse_answers("binary")
    Answers(lower=0.0, upper=1.0, step=1.0)
    >>> parse_answers("0:100:1").steps
    100
    """
    if isinstance(answers, Answers):
        return answers
    try:
        if isinstance(answers, str):
            parts = [0.0, 1.0, 1.0] if answers == "binary" else [float(part) for part in answers.split(":")]
        else:
            parts = [float(part) for part in answers]
    except (TypeError, ValueError):
        parts = []
    if len(parts) not in (2, 3):
        raise InputError(
            "answers must be 'binary', lower and upper (as in 0:1), or lower, upper and step "
            f"(as in 0:100:1), got {answers!r}."
        )
    return Answers(*parts)
