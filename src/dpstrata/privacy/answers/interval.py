"""Any number between two ends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.answers.base import Answers
from dpstrata.words.numbers import plain_number

_FIELDS = ("lower", "upper", "step")
_TOLERANCE = 1e-9  # of the range, by which an answer may miss an end of it


@dataclass(frozen=True, slots=True, repr=False)
class Interval(Answers):
    """Any number between ``lower`` and ``upper``.

    Parameters
    ----------
    lower, upper : float
        lower < upper.
    step : None
        There is none.
    """

    form: ClassVar[str] = "lower and upper (as in 0:1)"
    can_clip: ClassVar[bool] = True

    lower: float
    upper: float
    step: float | None = None

    def __post_init__(self) -> None:
        # Floats, so that a design has the same digest as the document that it was saved in.
        object.__setattr__(self, "lower", float(self.lower))
        object.__setattr__(self, "upper", float(self.upper))
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper):
            raise InputError(
                f"{option('answers')} must have lower < upper, got {self.lower:g} and {self.upper:g}."
            )
        if not 1e-30 <= self.range <= 1e30:
            raise InputError(
                f"{option('answers')} must span at least 1e-30 and at most 1e30, got {self.range:g}."
            )
        self._check_step()

    def _check_step(self) -> None:
        if self.step is not None:
            raise InputError(f"an interval has no step, got {self.step:g}.")

    @property
    def values(self) -> int | None:
        """Endlessly many."""
        return None

    @property
    def described(self) -> str:
        """Any number."""
        return "any number in a range"

    def checked(self, given: npt.ArrayLike, *, clip: bool = False, where: str | None = None) -> FloatArray:
        """Require numbers, and clip those outside if asked to."""
        place = f" in {where}" if where else ""
        values = _as_numbers(given)
        if values is None:
            raise InputError(f"every answer must be a number, got something else{place}.", where=where)
        if not self._has(values):
            raise InputError(
                f"answers must lie on the grid {self}, got one that does not{place}.", where=where
            )
        inside = np.asarray(np.clip(values, self.lower, self.upper))
        outside = int(np.sum(np.abs(values - inside) > _TOLERANCE * self.range))
        if outside and not clip:
            remedy = f", or design again with {option('clip', True)}" if self.can_clip else " or the design"
            raise InputError(
                f"answers must lie in {self}, got {outside:,} of {values.size:,} outside{place}. "
                f"Correct them{remedy}.",
                argument="answers",
                where=where,
            )
        return inside

    def _has(self, values: FloatArray) -> bool:
        """Whether all numbers are of the allowed kind, inside the range or not."""
        return True

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

    def population(self, size: int, sd: float) -> FloatArray:
        """Make up two halves of people who answer alike, around the middle of the range."""
        above = size // 2
        distance = sd * np.sqrt(size * (size - 1) / (above * (size - above))) if above else 0.0
        return self._two_groups(size, above, (self.lower + self.upper - distance) / 2, distance)

    def _two_groups(self, size: int, above: int, low: float, distance: float) -> FloatArray:
        values = np.full(size, low)
        values[size - above :] += distance
        return np.asarray(np.clip(values, self.lower, self.upper))

    @classmethod
    def read(cls, given: Any) -> Answers | None:
        """Read two numbers."""
        numbers = read_numbers(given)
        return cls(*numbers) if len(numbers) == 2 else None

    @property
    def text(self) -> str:
        """The numbers, as in 0:1."""
        return ":".join(self._numbers)

    @property
    def code(self) -> str:
        """The numbers, as in (0, 1)."""
        return f"({', '.join(self._numbers)})"

    @property
    def _numbers(self) -> list[str]:
        return [plain_number(part) for part in (self.lower, self.upper, self.step) if part is not None]

    def __str__(self) -> str:
        return f"[{self.lower:g}, {self.upper:g}]"

    def __repr__(self) -> str:
        return f"Answers(lower={self.lower!r}, upper={self.upper!r}, step={self.step!r})"


def read_numbers(given: Any) -> list[float]:
    """Read lower, upper and, if there is one, step; nothing from what is written otherwise."""
    if isinstance(given, Mapping):
        given = [given[name] for name in _FIELDS] if set(given) == set(_FIELDS) else []
        given = given[:2] if given[2:] == [None] else given
    try:
        return [float(part) for part in (given.split(":") if isinstance(given, str) else given)]
    except (TypeError, ValueError, OverflowError):
        return []


def _as_numbers(given: npt.ArrayLike) -> FloatArray | None:
    try:
        if np.ma.is_masked(given) or np.iscomplexobj(given):
            return None
        values = np.asarray(given, dtype=float)
    except (TypeError, ValueError, OverflowError):  # as a cause it would show an answer
        return None
    return values if values.ndim == 1 and np.all(np.isfinite(values)) else None
