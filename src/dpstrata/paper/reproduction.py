"""Run the whole reproduction, and write it: files for each item, and one page that shows them all."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

from dpstrata.errors import InputError
from dpstrata.files.writing import write_atomically
from dpstrata.paper import items
from dpstrata.paper.claims import claims
from dpstrata.paper.items import QUICK, Advance, Extent, Item, Row
from dpstrata.present.charts.chart import require_charts
from dpstrata.version import __version__

_SHOWN_ROWS = 24
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 60rem; margin: 2rem auto; }
body { padding: 0 1rem; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.2rem; margin-top: 2.5rem; border-top: 1px solid #ccc; padding-top: 1rem; }
table { border-collapse: collapse; font-size: .85rem; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { border: 1px solid #ccc; padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { background: #f2f2f2; }
figure { margin: 1rem 0; overflow-x: auto; }
.paper { background: #f6f3e8; padding: .5rem .8rem; border-left: 4px solid #b8860b; }
.yes { color: #00664b; font-weight: 600; }
.no { color: #a33b00; font-weight: 600; }
figure svg { min-width: 36rem; max-width: 100%; height: auto; }
@media print { table { display: table; } }
"""


def make_folder(folder: Path) -> None:
    """Make the folder for the results, before the work that fills it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if folder.is_file() else error.strerror or str(error)
        raise InputError(f"the folder {folder} cannot be made: {reason}.") from None


def write_results(items: Sequence[Item], folder: Path, *, quick: bool) -> Path:
    """Write every item and the page; return the path of the page."""
    for item in items:
        write_atomically(folder / f"{item.key}.csv", _csv(item.rows))
        if item.chart is not None:
            item.chart.save(folder / f"{item.key}.svg")
            item.chart.save(folder / f"{item.key}.png")
    page = folder / "index.html"
    write_atomically(page, _page(items, quick=quick).encode())
    return page


def _csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _page(items: Sequence[Item], *, quick: bool) -> str:
    """One file with everything in it: no script, no outside request."""
    listing = "".join(f'<li><a href="#{item.key}">{escape(item.title)}</a></li>' for item in items)
    grid = "a smaller grid (quick)" if quick else "the full grid"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper, reproduced</title><style>{_STYLE}</style></head><body>"
        "<h1>The paper, reproduced, checked and corrected</h1>"
        "<p>Y.-W. Chen, R. Pasupathy and J. A. Awan, “Optimal Survey Design for Private Mean Estimation”, "
        "2025, arXiv:2501.18121. "
        f"Computed by dpstrata {escape(__version__)} through its public interface, on {grid}, without the "
        "finite population correction, as the paper does. Times are ratios within this run.</p>"
        f"<nav><ul>{listing}</ul></nav>{''.join(_section(item) for item in items)}</body></html>"
    )


def _section(item: Item) -> str:
    table = _table(item.rows)
    if len(item.rows) > _SHOWN_ROWS:
        table = f"<details><summary>{len(item.rows)} rows</summary>{table}</details>"
    picture = (
        ""
        if item.chart is None
        else f'<figure role="img" aria-label="{escape(item.title)}">{item.chart.svg()}</figure>'
    )
    files = [f'<a href="{item.key}.csv">CSV</a>']
    if item.chart is not None:
        files += [f'<a href="{item.key}.{ending}">{ending.upper()}</a>' for ending in ("svg", "png")]
    note = f"<p>{escape(item.note)}</p>" if item.note else ""
    return (
        f'<section id="{item.key}"><h2>{escape(item.title)}</h2>'
        f'<p class="paper">The paper: {escape(item.paper)}.</p>{picture}{table}{note}'
        f"<p>{', '.join(files)}</p></section>"
    )


def _table(rows: Sequence[Row]) -> str:
    header = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(_cell(name, row[name]) for name in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"


def _cell(name: str, value: object) -> str:
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if value is None:
        value = ""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    mark = f' class="{"yes" if text.startswith("yes") else "no"}"' if name in ("holds", "same_digits") else ""
    return f"<td{mark}>{escape(text)}</td>"


def steps(*, quick: bool) -> int:
    """How many times the work reports progress."""
    extent = QUICK if quick else Extent()
    growth = len(extent.exact_strata) + len(extent.algorithm1_strata) + len(extent.first_stage_strata)
    return 3 + 3 + 1 + len(extent.totals) + growth + len(extent.gap_totals)


def reproduce(
    folder: str | Path, *, quick: bool = False, advance: Advance = lambda _: None
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
    parts = [
        items.table_1(),
        items.ratio_figure("mean", extent, advance),
        items.ratio_figure("trace", extent, advance),
        items.interplay(extent, advance),
        items.computation_time(extent, advance),
        items.growth(extent, advance),
    ]
    by_key = {item.key: item for item in parts}
    verdicts = claims(by_key, extent, advance)
    by_key = {verdicts.key: verdicts, **by_key}
    return write_results(list(by_key.values()), Path(folder), quick=quick), by_key
