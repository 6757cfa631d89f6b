"""How many people strata get: allocations side by side, or for many strata one as a multiple of another.

Strata keep their given order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.present.charts.chart import (
    BARS,
    MOST_BARS,
    OWN_COLOUR,
    STRATUM,
    Chart,
    colour_scale,
    colours_of,
    described,
    layered,
    make_chart,
    names_lie_down,
    number_axis,
    steady,
    titled,
)
from dpstrata.words.asking import asking_of
from dpstrata.words.design_tables import TITLES
from dpstrata.words.numbers import figure

MOST_BESIDE = 12
MOST_POINTS = 400
SIZE_CLASSES = 30
_STEP = 22  # pixels a stratum
_RATIOS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def allocation_chart(plan: Design) -> Chart:
    """Show the allocation of a design beside Neyman's and the proportional one."""
    series = {TITLES[row.design]: row.sample_sizes for row in plan.compare() if row.design != "equal"}
    beside = "beside allocations that ignore privacy"
    if len(plan.strata) > MOST_BESIDE:
        beside = "as a multiple of Neyman's allocation, which ignores privacy"
    return allocations(
        plan,
        series,
        f"Where {plan.strata.counted(plan.total)} go",
        f"{asking_of(plan).noise}, {plan.inputs.promise.in_words}; {beside}",
    )


def allocations(
    plan: Design,
    sizes: Mapping[str, Sequence[int] | IntArray],
    heading: str,
    subtitle: str = "",
    *,
    ratio: tuple[str, str] | None = None,
) -> Chart:
    """Show up to three allocations of a design's strata.

    Side by side for up to 12 strata. Beyond, how many times as many people one of them invites as another:
    a line for each stratum; beyond 40 strata a point for each, by its size; beyond 400 averages over strata
    of similar size.

    Parameters
    ----------
    plan : Design
        Whose strata.
    sizes : mapping
        Sample sizes of each allocation by its name.
    heading, subtitle : str
        What is shown.
    ratio : (str, str), optional
        Which allocation is shown as a multiple of which; by default the first of the second.
    """
    title = titled(heading, subtitle)
    if len(plan.strata) <= MOST_BESIDE:
        return _side_by_side(plan, sizes, title)
    of, to = ratio or tuple(sizes)[:2]
    rows: list[dict[str, Any]] = [
        {"stratum": name, "size": int(size), "people": int(n), "beside": int(m)}
        for name, size, n, m in zip(plan.strata.names, plan.strata.sizes, sizes[of], sizes[to], strict=True)
        if n > 0 and m > 0
    ]
    if len(rows) > MOST_POINTS:
        rows = _averages(rows)
    for row in rows:
        row["ratio"] = row["people"] / row["beside"]
    return _ratios(rows, title, of=of, to=to)


def _side_by_side(
    plan: Design, sizes: Mapping[str, Sequence[int] | IntArray], title: dict[str, Any]
) -> Chart:
    """Draw a bar for each stratum and allocation."""
    names, series = list(plan.strata.names), list(sizes)
    rows: list[dict[str, Any]] = [
        {"stratum": name, "allocation": allocation, "people": int(n), "size": int(size)}
        for allocation, people in sizes.items()
        for name, n, size in zip(names, people, plan.strata.sizes, strict=True)
    ]
    scale = {"domain": [0, steady(max(row["people"] for row in rows))], "nice": False}
    people = {"field": "people", "type": "quantitative", "title": "people invited", "scale": scale}
    offset = {"field": "allocation", "type": "nominal", "sort": None}
    colours = colour_scale(series, "allocation", colours=colours_of(series))
    if names_lie_down(names):
        encoding = {"y": STRATUM, "yOffset": offset, "x": people, "color": colours}
        chart = make_chart(rows, BARS, encoding, title, height=max(320, 42 * len(names)))
    else:
        across = {**STRATUM, "axis": {"labelAngle": 0}}
        chart = make_chart(rows, BARS, {"x": across, "xOffset": offset, "y": people, "color": colours}, title)
    told = (
        f"{name}: {', '.join(f'{title} {sizes[title][i]:,}' for title in series)}"
        for i, name in enumerate(names)
    )
    return described(chart, f"People invited in every stratum. {'; '.join(told)}.")


def _ratios(rows: Sequence[dict[str, Any]], title: dict[str, Any], *, of: str, to: str) -> Chart:
    """Draw how many times as many people one allocation invites as another, around once as many."""
    most = max(max(row["ratio"], 1.0 / row["ratio"]) for row in rows)
    end = next((each for each in _RATIOS if most <= each), 10.0 ** np.ceil(np.log10(most)))
    marks = [1.0 / each for each in _RATIOS] + [1.0, *_RATIOS]
    amount = {
        "field": "ratio",
        "type": "quantitative",
        "title": f"people invited, {of} ÷ {to}",
        "scale": {"type": "log", "domain": [1.0 / end, end], "nice": False},
        "axis": {"format": ".2~f", "values": [mark for mark in marks if 1.0 / end <= mark <= end]},
    }
    mark = {"type": "point", "filled": True, "size": 60, "opacity": 1, "tooltip": True, "color": OWN_COLOUR}
    below = []
    if "stratum" not in rows[0] or len(rows) > MOST_BARS:
        axis = "y"
        x = number_axis(rows, ("size", "people in the stratum"), log=True, zero=False)
        chart = make_chart(rows, {**mark, "opacity": 0.6}, {"x": x, "y": amount}, title)
    else:
        axis = "x"
        chart = make_chart(rows, mark, {"y": STRATUM, "x": amount}, title, height=_STEP * len(rows))
        stems = {"type": "rule", "color": OWN_COLOUR, "strokeWidth": 2, "opacity": 0.5}
        ends = {"y": STRATUM, "x": amount, "x2": {"field": "once"}}
        below = [
            {"data": {"values": [{**row, "once": 1.0} for row in rows]}, "mark": stems, "encoding": ends}
        ]
    same = {"data": {"values": [{"ratio": 1.0}]}, "mark": {"type": "rule", "style": "limit"}}
    chart = layered(chart, below=[{**same, "encoding": {axis: amount}}, *below])
    least, largest = (choose(rows, key=lambda row: row["ratio"]) for choose in (min, max))
    where = ["", ""] if "stratum" not in least else [f" in {each['stratum']}" for each in (least, largest)]
    return described(
        chart,
        f"People invited by {of} as a multiple of {to}: from {figure(least['ratio'], 3)}{where[0]} to "
        f"{figure(largest['ratio'], 3)}{where[1]}.",
    )


def _averages(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average within classes of stratum size, evenly spaced in its logarithm."""
    columns: dict[str, FloatArray] = {
        name: np.array([row[name] for row in rows], dtype=float) for name in ("size", "people", "beside")
    }
    sizes = columns["size"]
    edges = np.geomspace(sizes.min(), sizes.max() * (1 + 1e-9), SIZE_CLASSES + 1)
    place = np.clip(np.searchsorted(edges, sizes, side="right") - 1, 0, SIZE_CLASSES - 1)
    return [
        {
            **{name: float(column[place == i].mean()) for name, column in columns.items()},
            "strata": int((place == i).sum()),
        }
        for i in np.unique(place)
    ]
