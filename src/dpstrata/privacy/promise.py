"""The central promise (ε, δ) and the range in which dpstrata computes."""

import math
from dataclasses import dataclass

from dpstrata.errors import InputError

SMALLEST_EPSILON = 1e-6
LARGEST_EPSILON = 100.0


@dataclass(frozen=True, slots=True)
class Promise:
    """What every person of the population is promised against whoever sees the release.

    Parameters
    ----------
    epsilon : float
        Central budget, from 1e-6 to 100.
    delta : float
        By how much a probability may differ beyond the factor of epsilon, 0 <= delta < 1; 0 is pure privacy.

    Raises
    ------
    InputError
        If either is outside its range.
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and SMALLEST_EPSILON <= self.epsilon <= LARGEST_EPSILON):
            raise InputError(
                f"epsilon must lie between {SMALLEST_EPSILON:g} and {LARGEST_EPSILON:g}, "
                f"got epsilon={self.epsilon:g}."
            )
        if not 0.0 <= self.delta < 1.0:
            raise InputError(f"delta must be at least 0 and below 1, got delta={self.delta:g}.")

    @property
    def odds_minus_one(self) -> float:
        """``c = exp(epsilon) - 1``, the constant of every amplification formula."""
        return math.expm1(self.epsilon)
