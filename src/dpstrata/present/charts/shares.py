"""The results of a questionnaire as a chart: every share of the population with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.errors import InputError
from dpstrata.present.charts.plot import MOST_BARS, intervals_chart

if TYPE_CHECKING:
    from dpstrata.fielding.questionnaires.estimates import QuestionnaireEstimation
    from dpstrata.present.charts.chart import Chart


def shares_chart(result: QuestionnaireEstimation) -> Chart:
    """Draw the shares of all answers in the population, those of yes/no questions and of categories.

    Means have units of their own, and cross-tables too many lines; both are in the table.
    """
    rows = [
        {
            "group": f"{row.question}: {row.answer}",
            "estimate": row.estimate,
            "lower": row.lower,
            "upper": row.upper,
        }
        for row in result.whole
        if row.answer != "mean" and not row.crossed
    ]
    if not rows:
        raise InputError("a chart of a questionnaire shows shares, got means alone; see the table.")
    return intervals_chart(rows[:MOST_BARS], confidence=result.confidence, of="shares of the population")
