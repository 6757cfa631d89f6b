"""Two waves of one survey: a pilot that shares its promise with the main wave that follows it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpstrata.errors import InputError
from dpstrata.survey.forms import AUTO, Forms
from dpstrata.words.numbers import as_written


@dataclass(frozen=True, slots=True)
class Waves:
    """What two waves spend and invite together.

    Attributes
    ----------
    epsilon : float
        Central budget of both together.
    total : int
        People to invite in both together; someone drawn twice counts twice.
    forms : Forms
        What was asked for of the forms of either; each wave chooses what it leaves open.
    pilot_digest : str or None
        SHA-256 of the first wave's design in that of the second, ``None`` in the first.
    """

    epsilon: float
    total: int
    forms: Forms = AUTO
    pilot_digest: str | None = None

    @property
    def first(self) -> bool:
        """Whether the design is the pilot."""
        return self.pilot_digest is None

    def left_after(self, spent: float) -> float:
        """Return what the second wave may spend."""
        return what_is_left(self.epsilon, spent)

    def require(self, *, epsilon: float | None, total: int, spent: float) -> None:
        """Require that a wave keeps to what both have.

        Parameters
        ----------
        epsilon, total : float, int
            Budget and people of the wave.
        spent : float
            What the wave before it spent.
        """
        if epsilon is None or self.first != (spent == 0) or total >= self.total:
            raise InputError("its waves do not fit the design.")
        given = as_written(epsilon) + as_written(spent)
        if given > as_written(self.epsilon) or (self.first and given == as_written(self.epsilon)):
            raise InputError(
                f"both waves together may spend epsilon = {self.epsilon:g}, got {epsilon:g} after {spent:g}."
            )


def what_is_left(epsilon: float, spent: float) -> float:
    """Return the largest budget that adds up to at most ``epsilon`` with what was spent, as both are written.

    Examples
    --------
    >>> what_is_left(1.0, 0.9)
    0.1
    """
    left = float(as_written(epsilon) - as_written(spent))
    while as_written(left) + as_written(spent) > as_written(epsilon):
        left = math.nextafter(left, 0.0)
    return left
