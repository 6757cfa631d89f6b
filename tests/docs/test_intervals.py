"""The figures on the page about intervals, from the exact distribution of the reports of one stratum."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.intervals.tilt import Groups

PAGE = Path(__file__).parent.parent.parent / "docs" / "explanation" / "intervals.md"
PEOPLE = 10_000
SURVEYS = [
    (60, 8, 0.001),
    (60, 8, 0.01),
    (60, 8, 0.05),
    (150, 4, 0.01),
    (150, 4, 0.1),
    (150, 2, 0.01),
    (1000, 2, 0.01),
    (1000, 5, 0.002),
    (1000, 5, 0.3),
]


def chance_of_each_count(answers, true, floor, slope):
    """Of a stratum that is much larger than its sample, exactly."""
    some = np.arange(answers + 1)
    sampled = stats.hypergeom.pmf(some, PEOPLE, true, answers)
    mass = np.zeros(answers + 1)
    for number in np.flatnonzero(sampled > 1e-12):
        kept = stats.binom.pmf(some[: number + 1], number, floor + slope)
        made = stats.binom.pmf(some[: answers - number + 1], answers - number, floor)
        mass += sampled[number] * np.convolve(kept, made)
    return mass


def coverages(answers, epsilon, share):
    """How often 1.96 standard errors and the tilted interval contain the truth, and where the former end."""
    floor = 1 / (1 + np.exp(epsilon))
    slope, counts = 1 - 2 * floor, np.arange(answers + 1.0)
    mass = chance_of_each_count(answers, round(PEOPLE * share), floor, slope)
    ones = np.ones(len(counts))
    m = answers * ones
    reports = Reports(counts, m, m, PEOPLE * ones, floor * ones, slope * ones, 0 * ones)
    lower, upper = reports.limits(Groups(np.arange(len(counts)), len(counts), ones), 0.05)
    reported = counts / answers
    reach = 1.96 * np.sqrt(reported * (1 - reported) / (answers - 1)) / slope
    usual = np.abs(reports.shares - share) <= reach
    return mass[usual].sum(), mass[(lower <= share) & (share <= upper)].sum()


def test_what_a_class_after_the_draw_would_lose():
    """Two of 20 people of a class, who each spent the budget of 50 out of 1,000."""
    odds = np.expm1(1.0) * 1000 / 50
    assert f"loses {np.log1p(2 / 20 * odds):.2f} if two answers" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("answers", "epsilon", "share"), SURVEYS)
def test_the_table_of_coverages(answers, epsilon, share):
    usual, tilted = coverages(answers, epsilon, share)
    row = f"| {answers:,} | {epsilon} | {100 * share:g}% | {100 * usual:.1f}% | {100 * tilted:.1f}% |"
    assert row in PAGE.read_text(encoding="utf-8")
    assert tilted >= 0.93
