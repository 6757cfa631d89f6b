"""Tables of how large forms should be and what they give, computed while the site is built."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
from md_table import table

import dpstrata as dps
from dpstrata.privacy.rows import number_in_row, replaced, shares_in_row, stretch

EXAMPLES = Path(dps.__file__).parent / "examples"
BUDGETS = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
SURVEYS = (("health10", 3.0), ("health10", 5.0), ("opinion20", 3.0), ("opinion20", 5.0), ("income5", 5.0))
_PEOPLE = 600


def size_table() -> str:
    """Say, for each budget of devices, how many cells and questions the best forms have."""
    header = [
        "E",
        "cells of a form",
        "yes/no questions",
        "5-point scales",
        "rows replaced, of 100",
        "levels of a number alone",
    ]
    rows = []
    for E in BUDGETS:
        questions = best_questions(E, 2)
        rows.append(
            [
                f"{E:g}",
                f"{2**questions:,}",
                str(questions),
                str(best_questions(E, 5)),
                f"{100 * replaced(2**questions, E):.0f}",
                str(best_levels(E)),
            ]
        )
    return table(header, rows)


def best_questions(E: float, levels: int) -> int:
    """How many of many like questions the best forms have, in the worst case of what is answered.

    Of m questions, q on a form, the value is m²·φ/q: (m/q)² forms times the sum over one of them.
    """

    def cost(q: int) -> float:
        r = stretch(levels**q, E)
        if levels == 2:
            return float(shares_in_row(2, np.array(0.25)).at(r)) / q
        worst = (np.array(0.25), np.array(0.25))
        return float(number_in_row(levels, np.array(0.25), worst, rounded=False).at(r)) / q

    return min(range(1, 15), key=cost)


def best_levels(E: float) -> int:
    """How many levels are best for the noise of a number that is alone on its form, in the worst case."""
    squares = (np.array(0.0), np.array(0.25))
    return min(
        range(2, 40),
        key=lambda levels: float(
            number_in_row(levels, np.array(0.0), squares, rounded=True).at(stretch(levels, E))
        ),
    )


@cache
def designed(name: str, E: float | None) -> dps.Design:
    """Design a shipped questionnaire for 600 of 6,366 people at epsilon 1."""
    strata = dps.Strata([41, 109, 740, 859, 1834, 2783], names=[f"occupation {i}" for i in range(1, 7)])
    questions = dps.Questionnaire.from_file(EXAMPLES / f"{name}.csv")
    spreads = dps.Spreads.from_file(EXAMPLES / f"{name}-spreads.csv", strata, questions)
    release = {"release": "microdata"} if E is None else {"release": "sums", "device_epsilon": E}
    return dps.design(strata, questions=questions, spreads=spreads, epsilon=1.0, at_most=_PEOPLE, **release)


def typical(plan: dps.Design, figure: str) -> float:
    """Return the root of the mean of the squared standard errors, in units of the range and by importance."""
    questions = plan.inputs.questions or ()
    weights = [question.importance for question in questions]
    errors = [
        getattr(each, figure) / question.range
        for question, each in zip(questions, plan.questions, strict=True)
    ]
    squares = sum(w * error**2 for w, error in zip(weights, errors, strict=True))
    return math.sqrt(squares / sum(weights))


def result_table() -> str:
    """Say what forms give beside no privacy and a split budget."""
    header = ["questionnaire", "E", "forms", "no privacy", "this design", "split budget", "gap of the forms"]
    rows = []
    for name, E in SURVEYS:
        plan = designed(name, E)
        assert plan.forms_bound is not None
        rows.append(
            [
                f"`{name}`",
                f"{E:g}",
                str(len(plan.forms)),
                *(
                    f"{typical(plan, figure):.3f}"
                    for figure in ("standard_error_without_privacy", "standard_error", "if_split")
                ),
                f"{100 * plan.forms_bound.relative_gap:.1f}%",
            ]
        )
    return table(header, rows)
