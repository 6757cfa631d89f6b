"""A chart: one Vega-Lite definition, shown in a notebook or exported without a browser, and its parts.

What all charts share is here: palette, axes, lines, and layers on top of them. Series differ in colour and in
dash, shape or lightness, so that a grey print can be read. Colours are Okabe and Ito's, safe for colour-blind
readers. What is drawn around the data (rules, shades, notes) has a style of its own in the configuration, so
that a page in the dark can set it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpstrata.errors import InputError, MissingExtraError
from dpstrata.files.writing import require_same_kind, write_atomically

ENDINGS = (".svg", ".png", ".pdf", ".json")
# Control characters, lone surrogates and non-characters: XML and HTML cannot hold them.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

# The palest comes last, and no line is so thinly dotted that a pale one could not be seen. One dash more than
# colours, so that pairs of them repeat late.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 1], [10, 4], [12, 2, 2, 2, 2, 2], [4, 4])
# One colour, one meaning; those that stand beside each other are also told apart by lightness alone.
OWN_COLOUR = "#0B4F7D"
MEANINGS = {
    **dict.fromkeys(("this design", "this plan", "best"), OWN_COLOUR),
    "Neyman": "#D55E00",
    "proportional": "#C9E3D7",
    "held plan": "#A9A9A9",
    "given": "#A9A9A9",
    "sampling": "#4D4D4D",
    "privacy": "#CC79A7",
    "without privacy": "#009E73",
    "with a split budget": "#E69F00",
}
CONFIG = {
    "background": "white",
    # Fonts as wide as the one that texts are measured with, so that no label is cut where it is shown.
    "font": "Arial, Liberation Sans, Helvetica, sans-serif",
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
    "style": {
        "note": {"fontSize": 12, "color": "#333333"},
        "limit": {"color": "#333333", "strokeDash": [4, 3], "strokeWidth": 1.5},
        "beyond": {"color": "#000000", "opacity": 0.07},
        "current": {"color": "#000000", "opacity": 1, "size": 110},
    },
}
MOST_BARS = 40  # lines of a chart that has one for each stratum
STRATUM = {"field": "stratum", "type": "nominal", "sort": None, "title": "stratum"}
BARS: dict[str, Any] = {"type": "bar", "tooltip": True, "stroke": "#333", "strokeWidth": 0.6}


@dataclass(frozen=True, slots=True)
class Chart:
    """A Vega-Lite definition with its data in it.

    Attributes
    ----------
    spec : dict
        The definition, as plain data.
    """

    spec: dict[str, Any]

    def svg(self) -> str:
        """Return the chart as SVG text."""
        return str(_converter().vegalite_to_svg(_fit(self.spec)))

    def png(self, *, scale: float = 2.0) -> bytes:
        """Return the chart as a PNG image."""
        return bytes(_converter().vegalite_to_png(_fit(self.spec), scale=scale))

    def save(self, path: str | Path) -> None:
        """Write the chart as ``.svg``, ``.png``, ``.pdf`` or, as its definition, ``.json``.

        A design, ledger or other document of dpstrata that is there stays, with an :class:`InputError`.
        """
        path = Path(path)
        check_chart_path(path)
        match path.suffix.lower():
            case ".svg":
                content = self.svg().encode()
            case ".png":
                content = self.png()
            case ".pdf":
                content = bytes(_converter().vegalite_to_pdf(_fit(self.spec)))
            case _:
                content = json.dumps(self.spec, indent=1).encode()
        write_atomically(path, content)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"image/svg+xml": self.svg(), "application/vnd.vegalite.v6+json": self.spec}


def check_chart_path(path: Path | None) -> None:
    """Refuse at once a path that no chart could be written to later."""
    if path is None:
        return
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"a chart file must end in .svg, .png, .pdf or .json, got {path.name!r}.")
    if path.suffix.lower() != ".json":
        require_charts()
    require_same_kind(path)


def fit_text(text: str) -> str:
    """Put a replacement character where a picture or a page could not hold the one given."""
    return _UNFIT.sub("\ufffd", text)


def _fit(part: Any) -> Any:
    """Make all texts of a definition fit; the converter would abort the process over one that does not."""
    if isinstance(part, str):
        return fit_text(part)
    if isinstance(part, dict):
        return {name: _fit(value) for name, value in part.items()}
    return [_fit(value) for value in part] if isinstance(part, list | tuple) else part


def require_charts() -> None:
    """Raise :class:`MissingExtraError` at once if charts could not be drawn later."""
    _converter()


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("charts need", "charts") from None
    return vl_convert


# --- parts of charts ----------------------------------------------------------------------------------


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
    looks: Mapping[str, int] | None = None,
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
    looks : mapping, optional
        Which colour and dash each series has, for charts that show different series of one family; if left
        out, they go by the order of the rows.
    """
    if not rows:
        raise InputError("a chart needs at least one row of data.")
    order = list(dict.fromkeys(row[series[0]] for row in rows))
    places = [looks[name] for name in order] if looks is not None else list(range(len(order)))
    colours = [
        MEANINGS.get(name, COLOURS[place % len(COLOURS)]) for name, place in zip(order, places, strict=True)
    ]
    encoding = {
        "x": number_axis(rows, x, log=log_x, zero=False),
        "y": number_axis(rows, y, log=log_y, zero=from_zero),
        "color": colour_scale(order, series[1], field=series[0], colours=colours)
        | {"legend": {"symbolType": "stroke"}},
        "strokeDash": {
            "field": series[0],
            "type": "nominal",
            "sort": None,
            "title": series[1],
            "scale": {"domain": order, "range": [DASHES[place % len(DASHES)] for place in places]},
        },
    }
    mark: dict[str, Any] = {"type": "line", "strokeWidth": 2, "tooltip": True}
    if points:
        mark["point"] = {"size": 45, "filled": True}
    width = 560
    if panels is not None:
        encoding["column"] = {"field": panels[0], "type": "nominal", "sort": None, "title": panels[1]}
        width = 560 // len({row[panels[0]] for row in rows})
    return make_chart(rows, mark, encoding, titled(title, subtitle), width=width)


def number_axis(
    rows: Sequence[dict[str, Any]], column: tuple[str, str], *, log: bool, zero: bool
) -> dict[str, Any]:
    """Make an axis of numbers; a log axis ends where the data end and marks the powers of ten.

    Where these are too few, it also marks twice and five times each.
    """
    axis = {"field": column[0], "type": "quantitative", "title": column[1]}
    if not log:
        return axis | {"scale": {"zero": zero, "nice": True}}
    values = [row[column[0]] for row in rows]
    if min(values) <= 0:
        raise InputError(f"a log axis needs positive numbers, got {min(values):g} for {column[1]!r}.")
    marks = _marks_between(min(values), max(values))
    return axis | {"scale": {"type": "log", "nice": False}} | ({"axis": {"values": marks}} if marks else {})


def _marks_between(low: float, high: float) -> list[float]:
    """Choose round numbers for a log axis; none where it is so short that it needs closer ones."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5)):
        marks = [float(f"{step}e{decade}") for decade in decades for step in steps]
        within = [mark for mark in marks if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]
        if len(within) > 2:
            return within
    return []


def colour_scale(
    order: Sequence[str], title: str, *, field: str = "allocation", colours: Sequence[str] = COLOURS
) -> dict[str, Any]:
    """Give each series its colour, in the order given."""
    return {
        "field": field,
        "type": "nominal",
        "sort": None,
        "title": title,
        "scale": {"domain": list(order), "range": [colours[i % len(colours)] for i in range(len(order))]},
    }


def colours_of(names: Sequence[str]) -> list[str]:
    """Return the colours of what has a meaning of its own."""
    return [MEANINGS[name] for name in names]


_STEADY = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)


def steady(value: float) -> float:
    """Choose the end of an axis from 0: a round number that few changes of the data move.

    Examples
    --------
    >>> steady(104), steady(0.0118), steady(140), steady(0)
    (150.0, 0.015, 150.0, 1.0)
    """
    if value <= 0:
        return 1.0
    decade = math.floor(math.log10(value))
    return next(
        each
        for step in _STEADY
        for each in (float(f"{step}e{decade}"),)
        if each >= value * (1 - 1e-9) or step == _STEADY[-1]
    )


def steady_scale(values: Sequence[float], *, log: bool) -> dict[str, Any]:
    """Scale an axis so that its ends stay while data change a little: from 0, or between round numbers."""
    if not log:
        return {"domain": [0, steady(max(values))], "nice": False}
    marks = [
        float(f"{step}e{decade}")
        for decade in range(math.floor(math.log10(min(values))) - 1, math.ceil(math.log10(max(values))) + 2)
        for step in (1, 2, 5)
    ]
    first = max(mark for mark in marks if mark <= min(values) * (1 + 1e-9))
    last = min(mark for mark in marks if mark >= max(values) * (1 - 1e-9))
    return {"type": "log", "domain": [first, last], "nice": False}


def described(chart: Chart, description: str) -> Chart:
    """Say in words what a chart shows, for those who cannot see it."""
    return Chart({**chart.spec, "description": description})


def summary_of(title: Mapping[str, Any]) -> str:
    """Describe a chart by its title, where nothing better is known."""
    subtitle = title.get("subtitle", "")
    return f"{title['text']}. {subtitle}".strip()


def titled(text: str, subtitle: str = "") -> dict[str, Any]:
    """Make the title of a chart."""
    return {"text": text, **({"subtitle": subtitle} if subtitle else {})}


def names_lie_down(names: Sequence[str]) -> bool:
    """Whether strata need their names beside the bars, because there is no room below them."""
    return len(names) > 8 or max(map(len, names)) > 10


def layered(
    chart: Chart, *, below: Sequence[dict[str, Any]] = (), above: Sequence[dict[str, Any]] = ()
) -> Chart:
    """Put layers with data of their own below and above those of a chart."""
    spec = dict(chart.spec)
    layer = {name: spec.pop(name) for name in ("data", "mark", "encoding")}
    return Chart({**spec, "layer": [*below, layer, *above]})


def make_chart(
    rows: Sequence[dict[str, Any]],
    mark: dict[str, Any],
    encoding: dict[str, Any],
    title: dict[str, Any],
    *,
    width: int = 560,
    height: int = 320,
) -> Chart:
    """Make a chart of one kind of mark."""
    return Chart(
        {
            "$schema": SCHEMA,
            "title": title,
            "description": summary_of(title),
            "width": width,
            "height": height,
            "data": {"values": list(rows)},
            "mark": mark,
            "encoding": encoding,
            "config": CONFIG,
        }
    )
