"""One noised mean of the population, or of each domain, with the numbers of answers.

The office adds reports up stratum by stratum, weights the sums by people over answers, and adds one whole
number of noise to each figure (``figure_grid``). The scale of the noise follows from the numbers of answers:
they are published too, since standard errors need them and they do not depend on what was answered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.figure_grid import figure_grids, report_steps
from dpstrata.fielding.published_columns import COLUMN, COUNT, GROUP, MEAN, STRATUM
from dpstrata.fielding.releases.sums import SumsFielding, require_noise_for, scale_of_reports, sum_of_steps
from dpstrata.numerics.arrays import IntArray

if TYPE_CHECKING:
    pass


class MeanFielding(SumsFielding):
    """Weight the means of the strata, and noise each figure once."""

    def drawn_for(self, plan: Design, counts: IntArray) -> str:
        """Name what noise depends on beside the design: the numbers of answers, which set its scale."""
        return hashlib.sha256(",".join(map(str, counts.tolist())).encode()).hexdigest()

    def draw_office_noise(self, plan: Design, counts: IntArray) -> dict[str, int]:
        """Draw the noise of every figure."""
        return {_label(each.column, each.group): each.draw_noise() for each in figure_grids(plan, counts)}

    def published(
        self,
        plan: Design,
        reports: Mapping[str, Sequence[float]],
        noise: Mapping[str, int],
        progress: Callable[[int], None],
    ) -> dict[str, list[Any]]:
        """Make the table that is published: the figures, then the number of answers of every stratum."""
        sums, counts, raw_steps = [], [], report_steps(plan)
        for name in plan.strata.names:
            sums.append(sum_of_steps(plan, name, reports[name], raw_steps))
            counts.append(len(reports[name]))
            progress(counts[-1])
        space = plan.inputs.space
        columns: dict[str, list[Any]] = {COLUMN: [], GROUP: [], MEAN: [], COUNT: []}
        start, step = scale_of_reports(plan, raw_steps)

        def row(column: str, group: str, mean: float | None, count: int) -> None:
            for name, cell in zip(columns, (column, group, mean, count), strict=True):
                columns[name].append(cell)

        m = np.array(counts, dtype=np.int64)
        grids = figure_grids(plan, m)
        require_noise_for(noise, [_label(each.column, each.group) for each in grids])
        for each in grids:
            share = start + step * each.noised_steps(sums, noise[_label(each.column, each.group)])
            row(
                each.column,
                each.group,
                float(space.lower + space.range * share),
                int(m[each.strata].sum()),
            )
        named = {(each.column, each.group) for each in grids}
        for figure in plan.figures:
            if (figure.column, figure.group) not in named:
                row(figure.column, figure.group, None, 0)
        if STRATUM not in columns[COLUMN]:
            for name, count in zip(plan.strata.names, counts, strict=True):
                row(STRATUM, name, None, count)
        return columns


def _label(column: str, group: str) -> str:
    return f"{column}={group}"
