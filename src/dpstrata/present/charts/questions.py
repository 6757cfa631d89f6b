"""The chart of a questionnaire: how precise every question becomes, beside no privacy and a split budget."""

from __future__ import annotations

from typing import Any, NamedTuple

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.present.charts.chart import Chart
from dpstrata.present.charts.parts import colour_scale, colours_of, layered, make_chart, number_axis, titled
from dpstrata.words.forms import result_in_short


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
_STEP = 22  # pixels a question
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
    rows = _rows(plan)
    # in the order of the rows, whichever layer comes first
    order = list(dict.fromkeys(row["question"] for row in rows))
    place = {"field": "question", "type": "nominal", "sort": None, "title": None, "scale": {"domain": order}}
    axis = _axis(rows)
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
        height=max(_SHORTEST, _STEP * len(plan.questions)),
    )
    return layered(chart, below=[_bands(rows, place), _gaps(rows, place, axis)])


def _axis(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Make the axis of standard errors: a log one, with room at both ends, where they differ much."""
    values = [row["value"] for row in rows]
    low, high = min(values), max(values)
    log = high > _LOG_FROM * low
    axis = number_axis(rows, ("value", f"{_MEASURE} (log scale)" if log else _MEASURE), log=log, zero=True)
    if log:
        axis["scale"]["domain"] = [low / _ROOM, high * _ROOM]
    return axis


def _rows(plan: Design) -> list[dict[str, Any]]:
    """Make a row for each question and figure, in the order of the forms; what is 0 is left out."""
    if not plan.inputs.rows:
        raise InputError("a chart of questions requires the design of a questionnaire.")
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
            "question": f"{name} ({where})",
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
