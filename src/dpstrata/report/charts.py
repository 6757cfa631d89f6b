"""The charts of dpstrata, each one definition for notebook, report and page.

Strata keep their given order, log axes are not padded, and series differ in colour and in dash, shape or
lightness, so that a grey print can be read. Colours are Okabe and Ito's, safe for colour-blind readers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpstrata.arrays import IntArray
from dpstrata.errors import InputError
from dpstrata.model.answers import Answers
from dpstrata.model.design_record import Design
from dpstrata.model.summary import TITLES
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.registry import MECHANISMS, get_mechanism
from dpstrata.report.chart import SCHEMA, Chart

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [1, 3], [10, 4], [4, 1])
FILLS = ("#0B4F7D", "#E69F00", "#C9E3D7")  # also told apart by lightness alone
MOST_BARS = 40
_CONFIG = {
    "background": "white",
    "font": "sans-serif",
    "axis": {"labelFontSize": 12, "titleFontSize": 13, "gridColor": "#e5e5e5", "labelLimit": 260},
    "legend": {
        "labelFontSize": 12,
        "titleFontSize": 13,
        "symbolStrokeWidth": 2,
        "symbolSize": 300,
        "labelLimit": 320,
    },
    "title": {"fontSize": 15, "anchor": "start", "subtitleFontSize": 12, "subtitleColor": "#444"},
    "view": {"stroke": None},
}


def plot(plan: Design) -> Chart:
    """Show the allocation of a design beside Neyman's and the proportional one.

    Bars for each stratum; beyond 40 strata, points of sample size against stratum size.

    Parameters
    ----------
    plan : Design
        The design.

    Returns
    -------
    Chart
        It renders by itself in a notebook; ``chart.save("allocation.svg")`` writes it. Both need the extra
        ``charts``.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> dps.plot(plan).spec["mark"]["type"]
    'bar'
    """
    series = {TITLES[row.design]: row.sample_sizes for row in plan.compare() if row.design != "equal"}
    return allocations(
        plan,
        series,
        f"Where {plan.total:,} interviews go",
        f"{plan.mechanism.title} noise, {plan.inputs.promise_in_words}; "
        "rivals that ignore privacy for comparison",
    )


def allocations(
    plan: Design, sizes: Mapping[str, Sequence[int] | IntArray], heading: str, subtitle: str = ""
) -> Chart:
    """Show up to three allocations of a design's strata side by side.

    Parameters
    ----------
    plan : Design
        Whose strata.
    sizes : mapping
        Sample sizes of each allocation by its name.
    heading, subtitle : str
        What is shown.
    """
    names, series = list(plan.strata.names), list(sizes)
    rows = [
        {"stratum": name, "allocation": title, "people": int(n), "size": int(size)}
        for title, allocation in sizes.items()
        for name, n, size in zip(names, allocation, plan.strata.sizes, strict=True)
    ]
    title = {"text": heading, **({"subtitle": subtitle} if subtitle else {})}
    people = {"field": "people", "type": "quantitative", "title": "people invited"}
    if len(names) > MOST_BARS:
        encoding = {
            "x": _number_axis(rows, ("size", "people in the stratum"), log=True, zero=False),
            "y": _number_axis(rows, ("people", "people invited"), log=True, zero=False),
            "color": _colour(series, "allocation"),
            "shape": {
                "field": "allocation",
                "type": "nominal",
                "sort": None,
                "title": "allocation",
                "scale": {"domain": series, "range": ["circle", "triangle-up", "square"]},
            },
        }
        return _chart(rows, {"type": "point", "opacity": 0.6}, encoding, title)
    stratum: dict[str, Any] = {"field": "stratum", "type": "nominal", "sort": None, "title": "stratum"}
    offset = {"field": "allocation", "type": "nominal", "sort": None}
    bars: dict[str, Any] = {"type": "bar", "tooltip": True, "stroke": "#333", "strokeWidth": 0.6}
    colour = _colour(series, "allocation", colours=FILLS)
    if len(names) > 8 or max(map(len, names)) > 10:  # names need room: bars lie down
        encoding = {"y": stratum, "yOffset": offset, "x": people, "color": colour}
        return _chart(rows, bars, encoding, title, height=max(320, 42 * len(names)))
    stratum["axis"] = {"labelAngle": 0}
    return _chart(rows, bars, {"x": stratum, "xOffset": offset, "y": people, "color": colour}, title)


def sweep_chart(rows: Sequence[dict[str, Any]]) -> Chart:
    """Draw the standard error, or the objective, of many designs against what was varied.

    Parameters
    ----------
    rows : list of dict
        As :func:`dpstrata.sweep` returns them: the varied options come first. The number with most values is
        on the axis, the interviews if nothing else is; all others name the lines.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000], sds=[0.283, 0.08])
    >>> chart = sweep_chart(dps.sweep(strata, epsilon=[0.5, 1.0, 2.0], total=200))
    >>> chart.spec["encoding"]["x"]["title"]
    'epsilon'
    """
    rows = [row for row in rows if row["variance"] is not None]
    if not rows:
        raise InputError("a chart needs at least one row of data.")
    columns = list(rows[0])
    varied = [name for name in columns[: columns.index("variance")] if name != "total"]
    if not varied or _repeats(rows, varied):  # then totals were asked for, and do not just follow
        varied.append("total")
    numbers = [name for name in varied if all(isinstance(row[name], int | float) for row in rows)]
    x = max(numbers or ["total"], key=lambda name: len({row[name] for row in rows}))
    others = [name for name in varied if name != x]
    measure = "variance" if rows[0]["standard_error"] is None else "standard_error"
    drawn = [
        {
            x: row[x],
            measure: row[measure],
            "design": ", ".join(f"{_words(name)} {_plain(row[name])}" for name in others) or "best design",
        }
        for row in sorted(rows, key=lambda row: row[x])
    ]
    spread = max(row[x] for row in rows) / max(min(row[x] for row in rows), 1e-300)
    return lines(
        drawn,
        x=(x, "interviews" if x == "total" else _words(x)),
        y=(measure, "objective" if measure == "variance" else "standard error"),
        series=("design", "design"),
        title=f"{'Objective' if measure == 'variance' else 'Standard error'} by {_words(x)}",
        log_x=spread > 5,
        points=True,
    )


def noise_chart(answers: Answers) -> Chart:
    """Draw the noise variance of one answer against its local budget, for every mechanism that fits.

    Parameters
    ----------
    answers : Answers
        What can be answered.

    Examples
    --------
    >>> from dpstrata import Answers
    >>> noise_chart(Answers(0, 1, 1)).spec["encoding"]["x"]["title"]
    'local epsilon of one answer'
    """
    budgets = np.exp(np.linspace(math.log(0.5), math.log(10.0), 60))
    rows = [
        {"e": float(e), "variance": float(v) / answers.range**2, "mechanism": mechanism.title}
        for name in MECHANISMS
        if (mechanism := _fitting(name, answers)) is not None
        for e, v in zip(budgets, mechanism.variance(budgets), strict=True)
    ]
    kind = {None: "any number in a range", 1: "two values"}.get(answers.steps, f"{answers.steps} steps")
    return lines(
        rows,
        x=("e", "local epsilon of one answer"),
        y=("variance", "noise variance, in squared ranges"),
        series=("mechanism", "mechanism"),
        title="How much noise one answer needs",
        subtitle=f"Answers: {kind}",
        log_y=True,
    )


def _fitting(name: str, answers: Answers) -> Mechanism | None:
    """Return the mechanism if it fits such answers and a promise of epsilon alone."""
    try:
        mechanism = get_mechanism(name, answer_range=answers.range, steps=answers.steps)
    except InputError:
        return None
    return None if mechanism.needs_delta else mechanism


def intervals_chart(rows: Sequence[Mapping[str, Any]], *, confidence: float) -> Chart:
    """Draw estimates with their intervals, one line each.

    Parameters
    ----------
    rows : sequence of mappings
        With ``group``, ``estimate``, ``lower`` and ``upper``.
    confidence : float
        Level of the intervals.

    Examples
    --------
    >>> row = {"group": "all", "estimate": 0.3, "lower": 0.2, "upper": 0.4}
    >>> chart = intervals_chart([row], confidence=0.95)
    >>> len(chart.spec["layer"])
    2
    """
    if not rows:
        raise InputError("a chart needs at least one row of data.")
    values = [{name: row[name] for name in ("group", "estimate", "lower", "upper")} for row in rows]
    place = {"field": "group", "type": "nominal", "sort": None, "title": None}
    axis = {"type": "quantitative", "title": "estimated mean", "scale": {"zero": False}}
    colour = COLOURS[0]
    return Chart(
        {
            "$schema": SCHEMA,
            "title": {
                "text": "Estimates from noised answers",
                "subtitle": f"with {confidence:.0%} intervals",
            },
            "width": 560,
            "height": {"step": 28},
            "data": {"values": values},
            "encoding": {"y": place},
            "layer": [
                {
                    "mark": {"type": "rule", "strokeWidth": 2, "color": colour},
                    "encoding": {"x": {"field": "lower", **axis}, "x2": {"field": "upper"}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 70, "color": colour, "opacity": 1},
                    "encoding": {"x": {"field": "estimate", **axis}},
                },
            ],
            "config": _CONFIG,
        }
    )


def _repeats(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> bool:
    """Whether these columns do not tell all rows apart."""
    return len({tuple(str(row[name]) for name in names) for row in rows}) < len(rows)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _words(name: str) -> str:
    return name.replace("_", " ")


def lines(
    rows: Sequence[dict[str, Any]],
    *,
    x: tuple[str, str],
    y: tuple[str, str],
    series: tuple[str, str],
    title: str,
    subtitle: str = "",
    log_x: bool = True,
    log_y: bool = False,
    from_zero: bool = False,
    points: bool = False,
    panels: tuple[str, str] | None = None,
) -> Chart:
    """Draw one line per series.

    Parameters
    ----------
    rows : list of dict
        Tidy data.
    x, y, series : (field, title)
        Columns and what they are called on the chart.
    title, subtitle : str
        What is shown.
    log_x, log_y, from_zero, points : bool
        Scales, and whether to mark the points.
    panels : (field, title), optional
        Draw one panel for each value of this column, side by side.
    """
    if not rows:
        raise InputError("a chart needs at least one row of data.")
    order = list(dict.fromkeys(row[series[0]] for row in rows))
    encoding = {
        "x": _number_axis(rows, x, log=log_x, zero=False),
        "y": _number_axis(rows, y, log=log_y, zero=from_zero),
        "color": _colour(order, series[1], field=series[0]) | {"legend": {"symbolType": "stroke"}},
        "strokeDash": {
            "field": series[0],
            "type": "nominal",
            "sort": None,
            "title": series[1],
            "scale": {"domain": order, "range": [DASHES[i % len(DASHES)] for i in range(len(order))]},
        },
    }
    mark: dict[str, Any] = {"type": "line", "strokeWidth": 2}
    if points:
        mark["point"] = {"size": 45, "filled": True}
    width = 560
    if panels is not None:
        encoding["column"] = {"field": panels[0], "type": "nominal", "sort": None, "title": panels[1]}
        width = 560 // len({row[panels[0]] for row in rows})
    heading = {"text": title, **({"subtitle": subtitle} if subtitle else {})}
    return _chart(rows, mark, encoding, heading, width=width)


def _number_axis(
    rows: Sequence[dict[str, Any]], column: tuple[str, str], *, log: bool, zero: bool
) -> dict[str, Any]:
    """Make an axis of numbers; a log axis ends where the data end and marks the powers of ten."""
    axis = {"field": column[0], "type": "quantitative", "title": column[1]}
    if not log:
        return axis | {"scale": {"zero": zero, "nice": True}}
    values = [row[column[0]] for row in rows]
    if min(values) <= 0:
        raise InputError(f"a log axis needs positive numbers, got {min(values):g} for {column[1]!r}.")
    decades = range(math.ceil(math.log10(min(values)) - 1e-9), math.floor(math.log10(max(values)) + 1e-9) + 1)
    marks = {"axis": {"values": [float(10**decade) for decade in decades]}} if len(decades) > 1 else {}
    return axis | {"scale": {"type": "log", "nice": False}} | marks


def _colour(
    order: Sequence[str], title: str, *, field: str = "allocation", colours: Sequence[str] = COLOURS
) -> dict[str, Any]:
    return {
        "field": field,
        "type": "nominal",
        "sort": None,
        "title": title,
        "scale": {"domain": list(order), "range": [colours[i % len(colours)] for i in range(len(order))]},
    }


def _chart(
    rows: Sequence[dict[str, Any]],
    mark: dict[str, Any],
    encoding: dict[str, Any],
    title: dict[str, Any],
    *,
    width: int = 560,
    height: int = 320,
) -> Chart:
    return Chart(
        {
            "$schema": SCHEMA,
            "title": title,
            "width": width,
            "height": height,
            "data": {"values": list(rows)},
            "mark": mark,
            "encoding": encoding,
            "config": _CONFIG,
        }
    )
