"""The problems of the paper's experiments, and what it prints about them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

import dpstrata as dps

TABLE_1_EXPONENTS = (-1.0, -0.5, 0.0, 0.5, 1.0)
TABLE_1 = {
    "laplace": ("1.828", "2.095", "2.269", "2.311", "1.973"),
    "tulap": ("2.405", "3.324", "3.877", "4.06", "4.076"),
}
MECHANISMS = {"laplace": "Laplace", "tulap": "TuLap", "discrete_laplace": "Discrete Laplace"}


def four_strata() -> dps.Strata:
    """Section 5.1: sizes 7,000 to 10,000, variances 0.08 to 0.08⁴; 200 interviews."""
    return dps.Strata([7000, 8000, 9000, 10000], [math.sqrt(0.08**i) for i in (1, 2, 3, 4)])


def three_strata() -> dps.Strata:
    """Section 5.2: sizes 1,000 to 3,000, variances 0.08, 0.08^1.5, 0.08²; 200 interviews."""
    return dps.Strata([1000, 2000, 3000], [math.sqrt(0.08**i) for i in (1, 1.5, 2)])


def growing_strata(k: int) -> dps.Strata:
    """Section 5.3: k strata.

    The paper writes the sizes as 10000 + 1000k, 10000 + 900k, ..., 11000, whose second term fits a sequence
    of k equal steps only for k = 10. Read here as steps of 1,000: 10000 + 1000k, 9000 + 1000k, ..., 11000,
    which is the paper's for k = 10. Variances are 0.08^(1 + i/10); beyond k = 100 the exponents start again,
    so that the spread does not vanish altogether.
    """
    rows = np.arange(k)
    return dps.Strata(10_000 + 1_000 * (k - rows), np.sqrt(0.08 ** (1.1 + 0.1 * (rows % 100))))


def paper_design(
    strata: dps.Strata, *, epsilon: float, total: int, mechanism: str = "laplace", objective: str = "mean"
) -> dps.Design:
    """Design as the paper does: answers between 0 and 1, no finite population correction.

    It fixes the total even where fewer interviews would be better, so the warning about that is left out.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dps.DpstrataWarning)
        return dps.design(
            strata,
            epsilon=epsilon,
            total=total,
            mechanism=mechanism,
            objective=objective,  # type: ignore[arg-type]
            questions="yes_no" if mechanism == "discrete_laplace" else (0, 1),
            finite_population=False,
        )


def naive_ratio(plan: dps.Design) -> float:
    """Variance of the naive (Neyman) design over that of the optimal one."""
    return next(row.ratio for row in plan.compare() if row.design == "neyman")


def epsilons(points: int) -> Sequence[float]:
    """From 0.01 to 100, evenly spaced in the logarithm."""
    return [float(10**x) for x in np.linspace(-2, 2, points)]
