"""Yes or no, coded as 1 and 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpstrata.errors import InputError
from dpstrata.privacy.answers.base import Answers
from dpstrata.privacy.answers.grid import Grid
from dpstrata.privacy.answers.interval import read_numbers
from dpstrata.words.numbers import share_in_percent

_WORD = "binary"
_NUMBERS = [0.0, 1.0, 1.0]
_SPELLINGS = {"yes": 1.0, "y": 1.0, "true": 1.0, "no": 0.0, "n": 0.0, "false": 0.0}


@dataclass(frozen=True, slots=True, repr=False)
class YesNo(Grid):
    """1 for yes and 0 for no, so that a mean is a share.

    Parameters
    ----------
    lower, upper, step : float
        0, 1 and 1.
    """

    form: ClassVar[str] = f"'{_WORD}'"
    figure: ClassVar[str] = "share"
    counts_people: ClassVar[bool] = True
    written: ClassVar[str] = "yes or no, or 1 or 0"

    def _check_step(self) -> None:
        Grid._check_step(self)
        if [self.lower, self.upper, self.step] != _NUMBERS:
            raise InputError(f"yes and no must be 0 and 1 in steps of 1, got {self}.")

    def from_cell(self, cell: Any) -> float | str | None:
        """Read yes, no, true, false, y and n in any case, and numbers."""
        word = _SPELLINGS.get(cell.strip().casefold()) if isinstance(cell, str) else None
        return Grid.from_cell(self, cell) if word is None else word

    @classmethod
    def read(cls, given: Any) -> Answers | None:
        """Read the word, or its three numbers."""
        word = isinstance(given, str) and given == _WORD
        return cls(*_NUMBERS) if word or read_numbers(given) == _NUMBERS else None

    @property
    def text(self) -> str:
        """The word."""
        return _WORD

    @property
    def code(self) -> str:
        """The word as Python writes it."""
        return f'"{_WORD}"'

    def shown(self, estimate: float) -> str:
        """Write a share in percent."""
        return share_in_percent(estimate)
