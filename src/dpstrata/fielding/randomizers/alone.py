"""The only question of a form, noised by a mechanism of its own whose outputs are cells."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.draw import FORM
from dpstrata.fielding.randomizers.form import CELL, FormRandomizer, budget_of_devices
from dpstrata.fielding.randomizers.noise import grid_noise
from dpstrata.fielding.randomizers.tables import FormTable, tables_of
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.grid import CellNoise
from dpstrata.privacy.rows import Source


class AloneRandomizer(FormRandomizer):
    """A number that is sent as one of a few cells, each of which is read as a number."""

    def __init__(self, plan: Design, form: int) -> None:
        super().__init__(plan, form)
        self._published: dict[tuple[int, int], dict[str, Any]] = {}  # far fewer than reports

    def noise_in(self, stratum: int) -> CellNoise:
        """Return what devices of a stratum do."""
        (question,) = self.questions
        mechanism = get_mechanism(self.designed.mechanism, question.space)
        noise = grid_noise(mechanism, budget_of_devices(self.plan, stratum), None)
        assert isinstance(noise, CellNoise)
        return noise

    def randomized(
        self, stratum: int, raw: Sequence[tuple[Fraction, ...]], source: Source = secrets.token_bytes
    ) -> list[Any]:
        """Draw a cell for each; ``source`` is for tests alone."""
        noise = self.noise_in(stratum)
        return [noise.cell_of(share, source) for (share,) in raw]

    def published(self, stratum: int, report: Any) -> dict[str, Any]:
        """Write the form, the cell, and the number that it is read as."""
        if (stratum, report) not in self._published:
            (question,) = self.questions
            read = question.space.at_shares(self.noise_in(stratum).shares(np.array([report])))
            cells = {FORM: self.form + 1, CELL: report, question.name: float(read[0])}
            self._published[stratum, report] = cells
        return self._published[stratum, report]

    def levels_in_browser(self) -> tuple[int, ...]:
        """Return the points of a scale; 0 for other numbers."""
        (question,) = self.questions
        return (question.answer_count or 0,)

    def specification(self, stratum: int) -> dict[str, Any] | None:
        """Describe how cells are drawn."""
        return self.noise_in(stratum).specification

    def cells_in(self, stratum: int) -> int:
        """Count the cells, which follow from the budget of the stratum."""
        return self.noise_in(stratum).cells

    def check_reports(self, stratum: int, reports: Sequence[Any]) -> None:
        """Require cells that devices of the stratum can send."""
        cells = self.cells_in(stratum)
        wrong = sum(not 0 <= report < cells for report in reports)
        if wrong:
            raise InputError(
                f"reports must be cells of form {self.form + 1}, got {wrong:,} others in stratum "
                f"{self.plan.strata.name(stratum)!r}."
            )

    @cached_property
    def tables(self) -> list[FormTable]:
        """What is published of the form; of devices that all have the same budget."""
        return tables_of(self.plan, self.form, self.noise_in(0))
