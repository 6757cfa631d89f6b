"""What the office publishes of a form, and how the tables of a form share its budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.rows_on_forms import (
    importances,
    noise_in_table,
    variance_falls,
    variance_in_table,
)
from dpstrata.numerics.arrays import FloatArray
from dpstrata.survey.forms import Table
from dpstrata.survey.questionnaires.questionnaire import Questionnaire

_ROUNDS = 40
_CLOSE = 1e-12


class FormTables(NamedTuple):
    """The tables of a form, and the variance of their noise by importance, for one answer of all."""

    tables: tuple[Table, ...]
    noise: float


def best_tables(
    questionnaire: Questionnaire,
    items: Sequence[tuple[int, ...]],
    levels: Mapping[int, int],
    budget: float,
    mechanism: str,
) -> FormTables:
    """Choose between a table for each item and one of all combinations of answers.

    Parameters
    ----------
    questionnaire : Questionnaire
        All questions.
    items : sequence of tuples of int
        The questions of the form, by what is tabulated together.
    levels : mapping of int to int
        The levels of each; 0 for numbers that have none, which have a table of their own.
    budget : float
        The office's, at a typical sampling rate.
    mechanism : str
        What changes the answers on the form.
    """
    parts: list[tuple[int, ...]] = []
    for item in items:
        counted = tuple(place for place in item if levels[place])
        parts += [(place,) for place in item if not levels[place]]
        parts += [counted] if counted else []
    shared = _Shares(questionnaire, parts, levels, budget, mechanism).best()
    if len(parts) == 1 or not all(levels.values()):
        return shared
    together = _Shares(questionnaire, [tuple(sorted(levels))], levels, budget, mechanism).best()
    return shared if shared.noise <= together.noise else together


def figure_tables(
    questionnaire: Questionnaire, levels: Mapping[int, int], mechanism: str
) -> tuple[Table, ...]:
    """Share the budget of figures that have one draw of Laplace noise each, a table for each question.

    The parameters are those of :func:`best_tables`.
    """
    parts = [(place,) for place in sorted(levels)]
    return _Shares(questionnaire, parts, levels, 1.0, mechanism).of_small_budgets().tables


class _Shares:
    """How tables share a budget so that their noise is least.

    Where budgets are small a table has the variance 2q²/e², and the best share is the cube root of g·q². From
    there, shares are moved to where the variance falls faster, until it does so everywhere alike.
    """

    def __init__(
        self,
        questionnaire: Questionnaire,
        parts: Sequence[tuple[int, ...]],
        levels: Mapping[int, int],
        budget: float,
        mechanism: str,
    ) -> None:
        self.names = [tuple(questionnaire[place].name for place in part) for part in parts]
        self.budget, count = budget, importances(questionnaire)
        entries = []
        for t, part in enumerate(parts):
            cells = math.prod(levels[place] for place in part) if len(part) > 1 else None
            for place in part:
                found = noise_in_table(questionnaire, place, levels[place], cells, 1.0, mechanism=mechanism)
                entries.append((t, count[place] * found.factor, found.sensitivity, found.of_sum))
        table, factors, sensitivities, sums = map(np.array, zip(*entries, strict=True))
        self.table, self.factors, self.sensitivities, self.sums = table, factors, sensitivities, sums

    def _of_tables(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.table, weights=values, minlength=len(self.names)), dtype=float)

    def _noise(self, shares: FloatArray) -> FloatArray:
        budgets = self.budget * shares[self.table] / self.sensitivities
        return self._of_tables(self.factors * variance_in_table(budgets, self.sums))

    def of_small_budgets(self) -> FormTables:
        """Return the shares that are best where the variance of a table is 2q²/e²."""
        shares = self._of_tables(self.factors * self.sensitivities**2) ** (1 / 3)
        return self._with(shares / shares.sum())

    def _falls(self, shares: FloatArray) -> FloatArray:
        """Return how fast the noise of every table falls with its share."""
        budgets = self.budget * shares[self.table] / self.sensitivities
        slopes = variance_falls(budgets, self.sums) * self.factors / self.sensitivities
        return self._of_tables(slopes)

    def best(self) -> FormTables:
        """Find the shares."""
        first = self.of_small_budgets()
        shares = np.array([table.budget for table in first.tables])
        best, least = shares, first.noise
        for _ in range(_ROUNDS if len(shares) > 1 else 0):
            slopes = self._falls(shares)
            shares = shares * (slopes / slopes.mean()) ** (1 / 3)
            shares /= shares.sum()
            noise = float(self._noise(shares).sum())
            if noise >= least * (1.0 - _CLOSE):
                break
            best, least = shares, noise
        return self._with(best)

    def _with(self, shares: FloatArray) -> FormTables:
        tables = (Table(names, share) for names, share in zip(self.names, shares.tolist(), strict=True))
        return FormTables(tuple(tables), float(self._noise(shares).sum()))
