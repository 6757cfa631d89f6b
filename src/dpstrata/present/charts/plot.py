"""The charts of dpstrata, each one definition for notebook, report and page.

Strata keep their given order, and log axes are not padded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.present.charts.allocations import allocation_chart
from dpstrata.present.charts.chart import COLOURS, CONFIG, MOST_BARS, SCHEMA, Chart, lines, summary_of
from dpstrata.present.charts.plan import questions_chart
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import MECHANISMS, get_mechanism
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.survey.questionnaires.questionnaire import Questions, read_questions
from dpstrata.words.results import names_of, what_is_estimated

if TYPE_CHECKING:
    from dpstrata.fielding.results.results import Results


def plot(plan: Design | Results) -> Chart:
    """Show a design: its allocation beside Neyman's and the proportional one, or the precision of questions.

    Of results, the estimates with their intervals; of several questions the shares of all answers.

    Bars for each stratum; beyond 12 strata, its sample sizes as a multiple of Neyman's, a line each; beyond
    40, points by the size of the stratum; beyond 400, their averages over strata of similar size. A
    questionnaire has a line for each question, grouped by form: its standard error beside those without
    privacy and with a split budget.

    Parameters
    ----------
    plan : Design or Results
        The design, or the results of a survey.

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
    if not isinstance(plan, Design):
        return _results_chart(plan)
    return questions_chart(plan) if len(plan.questions) > 1 else allocation_chart(plan)


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
    told_apart = len({tuple(str(row[name]) for name in varied) for row in rows}) == len(rows)
    if not varied or not told_apart:  # then totals were asked for, and do not just follow
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


def noise_chart(questions: Questions) -> Chart:
    """Draw the noise variance of one answer against its local budget, for every mechanism that fits.

    A mechanism has the same colour and dash for all kinds of answers.

    Parameters
    ----------
    questions : Question or shorthand
        What is asked: one question.

    Examples
    --------
    >>> noise_chart("yes_no").spec["encoding"]["x"]["title"]
    'local epsilon of one answer'
    """
    (question,) = read_questions(questions)
    space = question.space
    budgets = np.exp(np.linspace(math.log(0.5), math.log(10.0), 60))
    fitting = {
        place: mechanism
        for place, name in enumerate(MECHANISMS)
        if (mechanism := _fitting(name, space)) is not None
    }
    rows = [
        {"e": float(e), "variance": float(v) / space.range**2, "mechanism": mechanism.title}
        for mechanism in fitting.values()
        for e, v in zip(budgets, mechanism.variance(budgets), strict=True)
    ]
    return lines(
        rows,
        x=("e", "local epsilon of one answer"),
        y=("variance", "noise variance, in squared ranges"),
        series=("mechanism", "mechanism"),
        title="How much noise one answer needs",
        subtitle=f"Answers: {space.described}",
        log_y=True,
        looks={mechanism.title: place for place, mechanism in fitting.items()},
    )


def _fitting(name: str, space: AnswerSpace) -> Mechanism | None:
    """Return the mechanism if it fits such answers and a promise of epsilon alone."""
    try:
        mechanism = get_mechanism(name, space)
    except InputError:
        return None
    return None if mechanism.needs_delta else mechanism


def intervals_chart(rows: Sequence[Mapping[str, Any]], *, confidence: float, of: str = "mean") -> Chart:
    """Draw estimates with their intervals, one line each, and at most 40 of them.

    Parameters
    ----------
    rows : sequence of mappings
        With ``group``, ``estimate``, ``lower`` and ``upper``.
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
    values = [
        {name: row[name] for name in ("group", "estimate", "lower", "upper")} for row in rows[:MOST_BARS]
    ]
    place = {"field": "group", "type": "nominal", "sort": None, "title": None}
    axis = {"type": "quantitative", "title": f"estimated {of}", "scale": {"zero": False}}
    colour = COLOURS[0]
    title = {
        "text": "Estimates from noised answers" if of in ("mean", "share") else of.capitalize(),
        "subtitle": f"with {100 * confidence:.10g}% intervals"
        + (f"; the first {MOST_BARS} of {len(rows):,}" if len(rows) > MOST_BARS else ""),
    }
    return Chart(
        {
            "$schema": SCHEMA,
            "title": title,
            "description": summary_of(title),
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


def _results_chart(result: Results) -> Chart:
    """Draw estimates with their intervals; of several questions all shares in the population.

    Means of several questions have units of their own, and cross-tables too many lines; the table has both.
    """
    found = result.shown.uncrossed
    several = len(set(found.columns.question)) > 1
    if several:
        found = found.at(found.columns.level != "")
    if not len(found):
        raise InputError("a chart of several questions shows shares, got means alone; see the table.")
    return estimates_chart(found, "shares of the population" if several else what_is_estimated(found))


def estimates_chart(rows: Results, of: str) -> Chart:
    """Draw estimates of results with their intervals, each by what tells it apart from the others."""
    lines = [
        {"group": name, "estimate": row.estimate, "lower": row.lower, "upper": row.upper}
        for name, row in zip(names_of(rows, rows), rows, strict=True)
    ]
    return intervals_chart(lines, confidence=rows.confidence, of=of)


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _words(name: str) -> str:
    return name.replace("_", " ")
