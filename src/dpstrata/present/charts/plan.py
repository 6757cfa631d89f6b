"""The charts of one plan: how precise it and its questions are, on what that depends, and what strata spend.

Rows come from the caller, so that drawing never plans.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpstrata.allocation.comparison import Comparison
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import FloatArray
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
    lines,
    make_chart,
    names_lie_down,
    number_axis,
    steady,
    steady_scale,
    titled,
)
from dpstrata.privacy.promises import never_amplified
from dpstrata.words.design_tables import TITLES
from dpstrata.words.designs import result_in_short
from dpstrata.words.numbers import counted, figure, money, plain_number
from dpstrata.words.precision import precision_of

BUDGET_CLASSES = 30
CURRENT = {"type": "point", "filled": True, "style": "current", "tooltip": True}
_WIDE_ENOUGH = 0.3  # share of the width that a note inside the shade needs


def precision_chart(
    rows: Sequence[Mapping[str, Any]],
    *,
    best: int | None,
    total: int,
    value: float | None = None,
    unit: str = "interview",
) -> Chart:
    """Draw the standard error, or the objective, against the number of interviews.

    Parameters
    ----------
    rows : sequence of mappings
        With ``total``, ``design`` (the name of the line) and ``standard_error``; where that is ``None``, as
        for objectives other than ``mean``, with ``variance``. The first row names the line of this plan.
    best : int or None
        The number of interviews beyond which more of them hurt; ``None`` if more never do.
    total : int
        The plan's own number.
    value : float, optional
        The plan's own standard error (or objective). It may lie above the line if the plan was made for a
        cost or for several targets; if left out, the line must have a row for the total.
    unit : {"interview", "invitation"}
        What the total counts.

    Examples
    --------
    >>> rows = [{"total": n, "standard_error": e, "design": "this design"}
    ...         for n, e in ((100, 0.031), (200, 0.029), (400, 0.033))]
    >>> chart = precision_chart(rows, best=200, total=100)
    >>> [layer["mark"]["type"] for layer in chart.spec["layer"]]
    ['rect', 'line', 'rule', 'text', 'text', 'point']
    """
    drawn, measure = _measured(rows, "total")
    own = _own_point(drawn, "total", total, value)
    first, last = (choose(row["total"] for row in drawn) for choose in (min, max))
    log_x = last > 5 * first
    hurts = best is not None and first <= best < last
    notes = [
        f"The dot is this plan: {counted(total, unit)}.",
        *([f"Beyond {best:,} {unit}s, more of them reduce precision (shaded)."] if hurts else []),
    ]
    chart = lines(
        drawn,
        x=("total", f"{unit}s"),
        y=("value", measure),
        series=("design", "allocation"),
        title=f"{measure.capitalize()} by the number of {unit}s",
        subtitle=" ".join(notes),
        log_x=log_x,
        log_y=_spans(drawn, 8),
    )
    x, y = (chart.spec["encoding"][axis] for axis in "xy")
    y["scale"] = _scale_of(drawn, own)
    x.setdefault("axis", {})["format"] = ",d"
    below, above = [], []
    if hurts and best is not None:
        here, end = {"total": best, "end": last}, {"field": "end"}
        share = _share_right_of(best, first, last, log=log_x)
        left = share < 0.5  # then the label of the rule has more room to its left
        below = [_layer([here], {"type": "rect", "style": "beyond"}, {"x": x, "x2": end})]
        above = [
            _layer([here], {"type": "rule", "style": "limit"}, {"x": x}),
            _note(f"best: {best:,}", [here], {"x": x}, y=12, left=left),
        ]
        if share >= _WIDE_ENOUGH:
            above.append(_note(f"more {unit}s hurt", [here], {"x": x}, y=12 if left else 30))
    above.append(_layer([own], CURRENT, {"x": x, "y": y}))
    return described(
        layered(chart, below=below, above=above),
        f"{_course(drawn, 'total', measure, unit=f' {unit}s')} This plan has {figure(own['value'], 3)} with "
        f"{counted(total, unit)}." + (f" {notes[1]}" if hurts else ""),
    )


def epsilon_chart(rows: Sequence[Mapping[str, Any]], *, epsilon: float, value: float | None = None) -> Chart:
    """Draw the standard error, or the objective, against epsilon.

    Parameters
    ----------
    rows : sequence of mappings
        With ``epsilon`` and ``standard_error`` (or ``variance``), and ``design`` if there are several lines;
        the first row names the line of this plan.
    epsilon : float
        The plan's own.
    value : float, optional
        The plan's own standard error (or objective); if left out, the line must have a row for its epsilon.

    Examples
    --------
    >>> rows = [{"epsilon": e, "standard_error": s} for e, s in ((0.5, 0.04), (1.0, 0.03), (2.0, 0.025))]
    >>> chart = epsilon_chart(rows, epsilon=1.0)
    >>> chart.spec["layer"][0]["encoding"]["x"]["scale"]["type"]
    'log'
    """
    drawn, measure = _measured(rows, "epsilon")
    own = _own_point(drawn, "epsilon", epsilon, value)
    chart = lines(
        drawn,
        x=("epsilon", "epsilon (smaller protects more)"),
        y=("value", measure),
        series=("design", "allocation"),
        title=f"{measure.capitalize()} by the privacy promise",
        subtitle=f"The dot is this plan: epsilon = {plain_number(float(epsilon))}.",
        log_y=_spans(drawn, 8),
    )
    encoding = chart.spec["encoding"]
    if len({row["design"] for row in drawn}) == 1:  # one line needs no legend
        encoding["color"]["legend"] = None
        encoding["strokeDash"]["legend"] = None
    x, y = encoding["x"], encoding["y"]
    y["scale"] = _scale_of(drawn, own)
    x["axis"] = {**x.get("axis", {}), "format": "~g"}
    above = [
        _layer([own], {"type": "rule", "style": "limit"}, {"x": x}),
        _layer([own], CURRENT, {"x": x, "y": y}),
    ]
    return described(
        layered(chart, above=above),
        f"{_course(drawn, 'epsilon', measure, before='epsilon ')} This plan has {figure(own['value'], 3)} "
        f"with epsilon {plain_number(float(epsilon))}.",
    )


def parts_chart(plan: Design) -> Chart:
    """Split the error of a design and of its rivals into sampling and privacy.

    A bar is as long as the standard error, and divided as the variance is; for other objectives it is the
    objective.

    Parameters
    ----------
    plan : Design
        The design; its rivals invite as many people, or cost as much, under the same privacy.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> [row["cause"] for row in parts_chart(plan).spec["layer"][0]["data"]["values"]][:2]
    ['sampling', 'privacy']
    """
    compared = plan.compare()
    place = {"field": "allocation", "type": "nominal", "sort": None, "title": None}
    amount: dict[str, Any] = {
        "field": "part",
        "type": "quantitative",
        "title": precision_of(plan).axis,
        "stack": "zero",
        "axis": {"format": "~r", "tickCount": 6, "labelFlush": 30},  # pixels: half of 0.00007 and more
        # room for the labels at the ends of the bars
        "scale": {"domain": [0, steady(1.3 * max(map(_error, compared)))], "nice": False},
    }
    causes = ["sampling", "privacy"]
    colours = colour_scale(causes, "caused by", field="cause", colours=colours_of(causes))
    order = {"field": "cause", "type": "nominal", "sort": "descending"}  # sampling first
    what = f"A cost of {money(plan.cost)}" if plan.strata.costs_differ and plan.cost is not None else None
    chart = make_chart(
        _parts_by_cause(compared),
        BARS,
        {"y": place, "x": amount, "color": colours, "order": order},
        titled(
            "Where the error comes from",
            (what or plan.strata.counted(plan.total).capitalize())
            + ", the same privacy for all; bars are divided as the variance is",
        ),
        height=180,
    )
    ends = [
        {"allocation": TITLES[row.design], "part": _error(row), "label": f"{_error(row):#.3g}"}
        for row in compared
    ]
    label = {"type": "text", "style": "note", "align": "left", "dx": 6}
    note = {"y": place, "x": {**amount, "stack": None}, "text": {"field": "label"}}
    told = (
        f"{TITLES[row.design]} {_error(row):#.3g}, {_privacy_share(row):.0%} from privacy" for row in compared
    )
    return described(
        layered(chart, above=[_layer(ends, label, note)]),
        f"{precision_of(plan).axis.capitalize()} by cause. {'; '.join(told)}.",
    )


def _error(row: Comparison) -> float:
    """Return the length of a bar: a standard error, or where there is none the objective."""
    return row.variance if row.standard_error is None else row.standard_error


def _privacy_share(row: Comparison) -> float:
    """Return the part of the variance that privacy has."""
    return max(row.variance - row.variance_without_privacy, 0.0) / row.variance if row.variance > 0 else 0.0


def _parts_by_cause(compared: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Split the error of each allocation as its variance is split, a row for each part."""
    return [
        {"allocation": TITLES[row.design], "cause": cause, "part": share * _error(row)}
        for row in compared
        for cause, share in (("sampling", 1.0 - _privacy_share(row)), ("privacy", _privacy_share(row)))
    ]


class _Series(NamedTuple):
    """A figure of every question, and how it is drawn."""

    figure: str
    title: str
    shape: str


_SERIES = (
    _Series("standard_error_without_privacy", "without privacy", "diamond"),
    _Series("standard_error", "this design", "circle"),
    _Series("if_split", "with a split budget", "triangle-right"),
)
_MEASURE = "standard error, % of the range of answers"
_LOG_FROM = 8.0
_ROOM = 1.15
_QUESTION_STEP = 22  # pixels a question
_SHORTEST = 120


def questions_chart(plan: Design) -> Chart:
    """Draw the standard error of every question, in percent of its range, grouped by form.

    Parameters
    ----------
    plan : Design
        Of a questionnaire.

    Examples
    --------
    >>> import dpstrata as dps
    >>> questions = dps.Questionnaire([dps.Question("smokes", "yes_no"), dps.Question("votes", "yes_no")])
    >>> plan = dps.design(dps.Strata([700, 900]), questions=questions, epsilon=1, device_epsilon=4,
    ...                   release="sums", at_most=90)
    >>> chart = questions_chart(plan)
    >>> [layer["mark"]["type"] for layer in chart.spec["layer"]]
    ['rect', 'rule', 'point']
    """
    rows = _errors_of_questions(plan)
    # in the order of the rows, whichever layer comes first
    order = list(dict.fromkeys(row["question"] for row in rows))
    place = {"field": "question", "type": "nominal", "sort": None, "title": None, "scale": {"domain": order}}
    axis = _axis_of_errors(rows)
    series = [each for each in _SERIES if any(row["precision"] == each.title for row in rows)]
    titles = [each.title for each in series]
    legend = {"orient": "top", "symbolSize": 110, "title": None}
    colours = colour_scale(titles, "", field="precision", colours=colours_of(titles))
    shapes = {**colours, "scale": {"domain": titles, "range": [each.shape for each in series]}}
    chart = make_chart(
        rows,
        {"type": "point", "filled": True, "size": 90, "opacity": 1, "tooltip": True},
        {
            "y": place,
            "x": axis,
            "color": {**colours, "legend": legend},
            "shape": {**shapes, "legend": legend},
        },
        titled("How precise every question becomes", result_in_short(plan)),
        height=max(_SHORTEST, _QUESTION_STEP * len(plan.questions)),
    )
    return layered(chart, below=[_bands(rows, place), _gaps(rows, place, axis)])


def _axis_of_errors(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Make the axis of standard errors: a log one, with room at both ends, where they differ much."""
    values = [row["value"] for row in rows]
    low, high = min(values), max(values)
    log = high > _LOG_FROM * low
    axis = number_axis(rows, ("value", f"{_MEASURE} (log scale)" if log else _MEASURE), log=log, zero=True)
    if log:
        axis["scale"]["domain"] = [low / _ROOM, high * _ROOM]
    return axis


def _errors_of_questions(plan: Design) -> list[dict[str, Any]]:
    """Make a row for each question and figure, in the order of the forms; what is 0 is left out."""
    ranges = {question.name: question.range for question in plan.inputs.questions}
    designed = {question.name: question for question in plan.questions}
    everyone = {question.name for question in plan.inputs.questions if question.everyone}
    places = [(name, "all forms") for name in designed if name in everyone]
    places += [
        (name, f"form {number}")
        for number, form in enumerate(plan.forms, start=1)
        for name in form.questions
        if name not in everyone
    ]
    return [
        {
            "question": f"{name} ({where})" if len(plan.forms) > 1 else name,
            "form": where,
            "precision": each.title,
            "value": 100.0 * value / ranges[name],
        }
        for name, where in places
        for each in _SERIES
        if (value := float(getattr(designed[name], each.figure))) > 0
    ]


def _bands(rows: list[dict[str, Any]], place: dict[str, Any]) -> dict[str, Any]:
    """Shade every second form."""
    forms = list(dict.fromkeys(row["form"] for row in rows))
    shaded = {row["question"]: None for row in rows if forms.index(row["form"]) % 2}
    return {
        "data": {"values": [{"question": name} for name in shaded]},
        "mark": {"type": "rect", "style": "beyond"},
        "encoding": {"y": place},
    }


def _gaps(rows: list[dict[str, Any]], place: dict[str, Any], axis: dict[str, Any]) -> dict[str, Any]:
    """Join what belongs to one question by a line."""
    ends: dict[str, list[float]] = {}
    for row in rows:
        ends.setdefault(row["question"], []).append(row["value"])
    values = [{"question": name, "value": min(own), "end": max(own)} for name, own in ends.items()]
    return {
        "data": {"values": values},
        "mark": {"type": "rule", "style": "limit", "strokeDash": [1, 0], "strokeWidth": 1, "opacity": 0.4},
        "encoding": {"y": place, "x": axis, "x2": {"field": "end"}},
    }


def budgets_chart(plan: Design) -> Chart:
    """Show what one noised answer spends in each stratum, and the cap on it if there is one.

    Bars for each stratum; beyond 40 strata, how many strata spend how much.

    Parameters
    ----------
    plan : Design
        The design; its promise must be one of epsilon, since others have no local budget.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> budgets_chart(plan).spec["layer"][0]["encoding"]["y"]["title"]
    'local epsilon'
    """
    if not plan.inputs.promise.amplified:
        raise InputError(
            f"a chart of local budgets requires a promise of epsilon, got one of {never_amplified()}."
        )
    budgets = plan.local_epsilons
    release = plan.inputs.release_form
    cap = plan.inputs.local_epsilon_cap
    names = list(plan.strata.names)
    heading = titled(
        f"What {release.published_one} may spend",
        f"Whoever sees it and knows {release.to_know} learns at most this much",
    )
    if len(names) > MOST_BARS:
        chart, axis, amount = _budget_classes(budgets, heading)
    else:
        chart, axis, amount = _budget_bars(names, budgets, cap, heading)
    chart.spec["mark"] = {**BARS, "color": OWN_COLOUR}
    above = []
    if cap is not None:
        here = {amount["field"]: cap}
        place = {axis: {name: part for name, part in amount.items() if name != "bin"}}
        above.append(_layer([here], {"type": "rule", "style": "limit"}, place))
        text = f"cap {plain_number(cap)}"
        # a note at the right end of the axis would leave the picture
        above.append(_note(text, [here], place, y=-6 if axis == "x" else None, left=axis == "x"))
    least, most = int(budgets.argmin()), int(budgets.argmax())
    return described(
        layered(chart, above=above),
        f"{heading['text']}: from epsilon {figure(float(budgets[least]), 3)} in {names[least]} to "
        f"{figure(float(budgets[most]), 3)} in {names[most]}"
        + (f", with a cap of {plain_number(cap)}." if cap is not None else "."),
    )


def _budget_bars(
    names: Sequence[str], budgets: FloatArray, cap: float | None, heading: dict[str, Any]
) -> tuple[Chart, str, dict[str, Any]]:
    """Draw a bar for each stratum."""
    rows = [{"stratum": name, "budget": float(e)} for name, e in zip(names, budgets.tolist(), strict=True)]
    room = {"domain": [0, steady(1.05 * max(float(budgets.max()), cap or 0.0))], "nice": False}
    amount = {"field": "budget", "type": "quantitative", "title": "local epsilon", "scale": room}
    amount["axis"] = {"tickCount": 6}
    if names_lie_down(names):
        height = max(120, 24 * len(names))
        return make_chart(rows, BARS, {"y": STRATUM, "x": amount}, heading, height=height), "x", amount
    across = {**STRATUM, "axis": {"labelAngle": 0}}
    return make_chart(rows, BARS, {"x": across, "y": amount}, heading, height=240), "y", amount


def _budget_classes(budgets: FloatArray, heading: dict[str, Any]) -> tuple[Chart, str, dict[str, Any]]:
    """Count the strata by what they spend."""
    low, high = float(budgets.min()), float(budgets.max())
    span = max(high - low, 1e-3 * high)
    counts, edges = np.histogram(budgets, bins=BUDGET_CLASSES, range=(low, low + span))
    rows = [
        {"budget": float(a), "end": float(b), "strata": int(n)}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
        if n
    ]
    amount = {
        "field": "budget",
        "type": "quantitative",
        "title": "local epsilon",
        "bin": "binned",
        "scale": {"zero": False, "nice": True},
        "axis": {"tickCount": 6},
    }
    encoding = {
        "x": amount,
        "x2": {"field": "end"},
        "y": {"field": "strata", "type": "quantitative", "title": "strata"},
    }
    return make_chart(rows, BARS, encoding, heading, height=240), "x", amount


def _measured(rows: Sequence[Mapping[str, Any]], x: str) -> tuple[list[dict[str, Any]], str]:
    """Keep what is drawn: standard errors if every row has one, otherwise the objective."""
    if not rows:
        raise InputError("a chart needs at least one row of data.")
    mean = all(row.get("standard_error") is not None for row in rows)
    field = "standard_error" if mean else "variance"
    drawn = [{x: row[x], "value": row[field], "design": row.get("design", "this design")} for row in rows]
    order = list(dict.fromkeys(row["design"] for row in drawn))
    drawn.sort(key=lambda row: (order.index(row["design"]), row[x]))
    return drawn, "standard error" if mean else "objective"


def _own_point(drawn: Sequence[dict[str, Any]], x: str, place: float, value: float | None) -> dict[str, Any]:
    """Make the plan's own point, or find it on its line, the first one."""
    line = drawn[0]["design"]
    if value is not None:
        return {x: place, "value": value, "design": line}
    own = next((row for row in drawn if row[x] == place and row["design"] == line), None)
    if own is None:
        raise InputError(f"the rows must hold the plan's own {x}, got none with {x}={place:g}.")
    return own


def _scale_of(drawn: Sequence[Mapping[str, Any]], own: Mapping[str, Any]) -> dict[str, Any]:
    """Scale the axis of errors for the lines and the plan's own point."""
    return steady_scale([float(row["value"]) for row in (*drawn, own)], log=_spans(drawn, 8))


def _course(
    drawn: Sequence[Mapping[str, Any]], x: str, measure: str, *, before: str = "", unit: str = ""
) -> str:
    """Say how the plan's own line goes, from its first to its last point."""
    line = [row for row in drawn if row["design"] == drawn[0]["design"]]
    ends = [f"{figure(row['value'], 3)} at {before}{row[x]:,.10g}{unit}" for row in (line[0], line[-1])]
    return f"{measure.capitalize()}, from {ends[0]} to {ends[1]}."


def _spans(drawn: Sequence[Mapping[str, Any]], factor: float) -> bool:
    values = [float(row["value"]) for row in drawn]
    return min(values) > 0 and max(values) > factor * min(values)


def _share_right_of(value: float, first: float, last: float, *, log: bool) -> float:
    """Share of the width of an axis beyond a value."""
    if log:
        value, first, last = math.log(value), math.log(first), math.log(last)
    return (last - value) / (last - first)


def _layer(rows: Sequence[dict[str, Any]], mark: dict[str, Any], encoding: dict[str, Any]) -> dict[str, Any]:
    return {"data": {"values": list(rows)}, "mark": mark, "encoding": encoding}


def _note(
    text: str, rows: Sequence[dict[str, Any]], place: dict[str, Any], *, y: int | None, left: bool = False
) -> dict[str, Any]:
    """Write a note beside a place on an axis."""
    mark: dict[str, Any] = {"type": "text", "style": "note", "text": text}
    mark |= {"align": "right" if left else "left", "dx": -6 if left else 6}
    if y is None:  # above a level line, at its right end
        mark |= {"align": "right", "dx": 0, "dy": -8}
        return _layer(rows, mark, {**place, "x": {"value": "width"}})
    return _layer(rows, mark, {**place, "y": {"value": y}})
