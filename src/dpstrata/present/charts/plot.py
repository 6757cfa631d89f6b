"""The charts of dpstrata, each one definition for notebook, report and page.

Strata keep their given order, and log axes are not padded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import IntArray
from dpstrata.present.charts.chart import SCHEMA, Chart
from dpstrata.present.charts.parts import (
    BARS,
    COLOURS,
    CONFIG,
    FILLS,
    STRATUM,
    colour_scale,
    lines,
    make_chart,
    names_lie_down,
    number_axis,
    titled,
)
from dpstrata.present.charts.questions import questions_chart
from dpstrata.privacy.answers.base import Answers
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.registry import MECHANISMS, get_mechanism
from dpstrata.words.designs import TITLES

MOST_BARS = 40
MOST_POINTS = 400
SIZE_CLASSES = 30


def plot(plan: Design) -> Chart:
    """Show a design: its allocation beside Neyman's and the proportional one, or the precision of questions.

    Bars for each stratum; beyond 40 strata, points of sample size against stratum size; beyond 400, their
    averages over strata of similar size. A questionnaire has a line for each question, grouped by form: its
    standard error beside those without privacy and with a split budget.

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
    return questions_chart(plan) if plan.forms else allocation_chart(plan)


def allocation_chart(plan: Design) -> Chart:
    """Show the allocation of a design beside Neyman's and the proportional one."""
    series = {TITLES[row.design]: row.sample_sizes for row in plan.compare() if row.design != "equal"}
    noise = "Randomised rows" if plan.forms else f"{plan.mechanism.title} noise"
    return allocations(
        plan,
        series,
        f"Where {plan.strata.counted(plan.total)} go",
        f"{noise}, {plan.inputs.promise.in_words}; beside allocations that ignore privacy",
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
    title = titled(heading, subtitle)
    people = {"field": "people", "type": "quantitative", "title": "people invited"}
    if len(names) > MOST_BARS:
        return _by_size(rows, series, title, averaged=len(names) > MOST_POINTS)
    offset = {"field": "allocation", "type": "nominal", "sort": None}
    colours = colour_scale(series, "allocation", colours=FILLS)
    if names_lie_down(names):
        encoding = {"y": STRATUM, "yOffset": offset, "x": people, "color": colours}
        return make_chart(rows, BARS, encoding, title, height=max(320, 42 * len(names)))
    across = {**STRATUM, "axis": {"labelAngle": 0}}
    return make_chart(rows, BARS, {"x": across, "xOffset": offset, "y": people, "color": colours}, title)


def _by_size(
    rows: Sequence[dict[str, Any]], series: Sequence[str], title: dict[str, Any], *, averaged: bool
) -> Chart:
    """Draw sample sizes against stratum sizes: every stratum, or averages of strata of similar size."""
    mark: dict[str, Any] = {"type": "point", "opacity": 0.6, "tooltip": True}
    people = "people invited"
    if averaged:
        rows = [row for name in series for row in _averages([r for r in rows if r["allocation"] == name])]
        people = "people invited, on average"
        mark |= {"opacity": 1, "size": 60}
    encoding = {
        "x": number_axis(rows, ("size", "people in the stratum"), log=True, zero=False),
        "y": number_axis(rows, ("people", people), log=True, zero=False),
        "color": colour_scale(series, "allocation"),
        "shape": {
            "field": "allocation",
            "type": "nominal",
            "sort": None,
            "title": "allocation",
            "scale": {"domain": list(series), "range": ["circle", "triangle-up", "square"]},
        },
    }
    return make_chart(rows, mark, encoding, title)


def _averages(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Average size and sample size within classes of stratum size, evenly spaced in its logarithm."""
    sizes = np.array([row["size"] for row in rows], dtype=float)
    people = np.array([row["people"] for row in rows], dtype=float)
    edges = np.geomspace(sizes.min(), sizes.max() * (1 + 1e-9), SIZE_CLASSES + 1)
    place = np.clip(np.searchsorted(edges, sizes, side="right") - 1, 0, SIZE_CLASSES - 1)
    return [
        {
            "allocation": rows[0]["allocation"],
            "size": float(sizes[place == i].mean()),
            "people": float(people[place == i].mean()),
            "strata": int((place == i).sum()),
        }
        for i in np.unique(place)
    ]


def sweep_chart(rows: Sequence[dict[str, Any]]) -> Chart:
    """Draw the standard error, or the objective, of many designs against what was varied.

    Parameters
    ----------
    rows : list of dict
        As :func:`dpstrata.sweep` returns them: the varied options come first. The number with most values is
        on the axis, the total if nothing else is; all others name the lines.

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
        x=(x, "people invited" if x == "total" else _words(x)),
        y=(measure, "objective" if measure == "variance" else "standard error"),
        series=("design", "design"),
        title=f"{'Objective' if measure == 'variance' else 'Standard error'} by {_words(x)}",
        log_x=spread > 5,
        points=True,
    )


def noise_chart(answers: Answers) -> Chart:
    """Draw the noise variance of one answer against its local budget, for every mechanism that fits.

    A mechanism has the same colour and dash for all kinds of answers.

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
    fitting = {
        place: mechanism
        for place, name in enumerate(MECHANISMS)
        if (mechanism := _fitting(name, answers)) is not None
    }
    rows = [
        {"e": float(e), "variance": float(v) / answers.range**2, "mechanism": mechanism.title}
        for mechanism in fitting.values()
        for e, v in zip(budgets, mechanism.variance(budgets), strict=True)
    ]
    return lines(
        rows,
        x=("e", "local epsilon of one answer"),
        y=("variance", "noise variance, in squared ranges"),
        series=("mechanism", "mechanism"),
        title="How much noise one answer needs",
        subtitle=f"Answers: {answers.described}",
        log_y=True,
        looks={mechanism.title: place for place, mechanism in fitting.items()},
    )


def _fitting(name: str, answers: Answers) -> Mechanism | None:
    """Return the mechanism if it fits such answers and a promise of epsilon alone."""
    try:
        mechanism = get_mechanism(name, answers)
    except InputError:
        return None
    return None if mechanism.needs_delta else mechanism


def intervals_chart(rows: Sequence[Mapping[str, Any]], *, confidence: float, of: str = "mean") -> Chart:
    """Draw estimates with their intervals, one line each.

    Parameters
    ----------
    rows : sequence of mappings
        With ``group``, ``estimate``, ``lower`` and ``upper``; shares with their ``category`` too.
    confidence : float
        Level of the intervals.
    of : str
        What is estimated.

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
    for value, row in zip(values, rows, strict=True):
        if "category" in row:
            value["group"] = f"{row['group']}: {row['category']}"
    place = {"field": "group", "type": "nominal", "sort": None, "title": None}
    axis = {"type": "quantitative", "title": f"estimated {of}", "scale": {"zero": False}}
    colour = COLOURS[0]
    return Chart(
        {
            "$schema": SCHEMA,
            "title": {
                "text": "Estimates from noised answers" if of in ("mean", "share") else of.capitalize(),
                "subtitle": f"with {100 * confidence:.10g}% intervals",
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
            "config": CONFIG,
        }
    )


def _repeats(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> bool:
    """Whether these columns do not tell all rows apart."""
    return len({tuple(str(row[name]) for name in names) for row in rows}) < len(rows)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _words(name: str) -> str:
    return name.replace("_", " ")
