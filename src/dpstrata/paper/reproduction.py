"""Run the whole reproduction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dpstrata.paper import items
from dpstrata.paper.claims import claims
from dpstrata.paper.items import QUICK, Extent, Item, Progress
from dpstrata.paper.overview import make_folder, write_results
from dpstrata.present.charts.chart import require_charts


def steps(*, quick: bool) -> int:
    """How many times the work reports progress."""
    extent = QUICK if quick else Extent()
    growth = len(extent.exact_strata) + len(extent.algorithm1_strata) + len(extent.first_stage_strata)
    return 3 + 3 + 1 + len(extent.totals) + growth + len(extent.gap_totals)


def reproduce(
    folder: str | Path, *, quick: bool = False, advance: Callable[[str], None] | None = None
) -> tuple[Path, dict[str, Item]]:
    """Compute every table, figure and claim of the paper and write them to ``folder``.

    Parameters
    ----------
    folder : path
        Made if it does not exist; files of earlier runs are replaced.
    quick : bool
        A smaller grid, in under a minute.
    advance : callable, optional
        Called with a few words after each step; there are :func:`steps` of them.

    Returns
    -------
    page : Path
        ``index.html`` in ``folder``.
    items : dict
        What was computed, by key.
    """
    require_charts()
    make_folder(Path(folder))
    extent = QUICK if quick else Extent()
    progress = Progress(advance) if advance is not None else Progress()
    parts = [
        items.table_1(),
        items.ratio_figure("mean", extent, progress),
        items.ratio_figure("trace", extent, progress),
        items.interplay(extent, progress),
        items.computation_time(extent, progress),
        items.growth(extent, progress),
    ]
    by_key = {item.key: item for item in parts}
    verdicts = claims(by_key, extent, progress)
    by_key = {verdicts.key: verdicts, **by_key}
    return write_results(list(by_key.values()), Path(folder), quick=quick), by_key
