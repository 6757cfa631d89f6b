"""The variance of an answer in a randomised row, against enumeration of everything that can happen, in fractions.

Nothing here uses a formula of the library: a population answers, one person is drawn, numbers are rounded at random,
the row is sent through K-ary randomized response as the textbook has it, and the unbiased estimate is formed from the
probabilities of its reports.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpstrata.privacy.rows import Quadratic, number_in_row, replaced, shares_in_row, stretch

ODDS = [Fraction(3, 2), Fraction(5), Fraction(41, 2)]  # exp(E)


def reports(row, levels, odds):
    """Probability of every report: the true row is ``odds`` times as likely as any other."""
    cells = list(itertools.product(*(range(k) for k in levels)))
    total = odds + len(cells) - 1
    return {cell: (odds if cell == row else Fraction(1)) / total for cell in cells}


def moments(population, levels, odds, value):
    """Mean and variance of ``value(report)`` when a person is drawn, rows being distributions over rows."""
    first = second = Fraction(0)
    for rows in population:
        for row, chance in rows.items():
            for report, probability in reports(row, levels, odds).items():
                weight = chance * probability / len(population)
                first += weight * value(report)
                second += weight * value(report) ** 2
    return first, second - first**2


def debiased(raw, levels, question, odds):
    """Make ``raw(level)`` unbiased: solve mean = A + B·true for the two numbers A and B, by trying two rows.

    What a row has at other questions makes no difference to the report at this one.
    """
    kept = [0] * len(levels)
    means = []
    for level in (0, levels[question] - 1):
        kept[question] = level
        chances = reports(tuple(kept), levels, odds)
        means.append(sum(chance * raw(report[question]) for report, chance in chances.items()))
    span = (means[1] - means[0]) / (raw(levels[question] - 1) - raw(0))
    return lambda report: raw(0) + (raw(report[question]) - means[0]) / span


def spread(values):
    mean = Fraction(sum(values)) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def exact(quadratic, r):
    """A quadratic at a fraction; its coefficients are doubles."""
    return sum(Fraction(float(c)) * r**power for power, c in enumerate(quadratic))


def close(quadratic, r, variance, spread, people):
    """S² + noise, from what one person tells: the variance of a draw of one is S² + noise − S²/N."""
    assert float(exact(quadratic, r)) == pytest.approx(float(variance + spread / people), rel=1e-12)


def doubles(value):
    return np.array(float(value))


PEOPLE = [(0, 1, 2), (1, 0, 0), (1, 1, 1), (0, 0, 2), (1, 2, 3)]
LEVELS = (2, 3, 4)


@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize("question", [0, 1, 2])
def test_shares_of_names(question, odds):
    cells = math.prod(LEVELS)
    population = [{row: Fraction(1)} for row in PEOPLE]
    variances, spreads = [], []
    for level in range(LEVELS[question]):
        shares = [Fraction(row[question] == level) for row in PEOPLE]
        # a share of a level in the middle: the two rows tried must differ in it
        other = (level + 1) % LEVELS[question]
        chances = [
            sum(
                chance
                for report, chance in reports(
                    tuple(where if j == question else 0 for j in range(3)), LEVELS, odds
                ).items()
                if report[question] == level
            )
            for where in (other, level)
        ]

        def estimate(report, level=level, chances=chances):
            return (Fraction(report[question] == level) - chances[0]) / (chances[1] - chances[0])

        mean, variance = moments(population, LEVELS, odds, estimate)
        assert mean == sum(shares) / len(shares)  # unbiased
        variances.append(variance)
        spreads.append(spread(shares))
    half, S2 = sum(variances) / 2, sum(spreads) / 2
    close(shares_in_row(LEVELS[question], doubles(S2)), cells / (odds - 1), half, S2, len(PEOPLE))
    if LEVELS[question] == 2:
        assert variances[0] == variances[1] == half


@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize("question", [0, 1, 2])
def test_points_of_a_scale(question, odds):
    last = LEVELS[question] - 1
    estimate = debiased(lambda level: Fraction(level, last), LEVELS, question, odds)
    values = [Fraction(row[question], last) for row in PEOPLE]
    mean, variance = moments([{row: Fraction(1)} for row in PEOPLE], LEVELS, odds, estimate)
    assert mean == sum(values) / len(values)
    square = sum((value - Fraction(1, 2)) ** 2 for value in values) / len(values)
    quadratic = number_in_row(
        last + 1, doubles(spread(values)), (doubles(square), doubles(square)), rounded=False
    )
    close(quadratic, math.prod(LEVELS) / (odds - 1), variance, spread(values), len(PEOPLE))


def rounded(value, levels):
    """Put a number from 0 to 1 on one of the two levels next to it, so that its expectation stays."""
    low = min(math.floor(value * (levels - 1)), levels - 2)
    up = value * (levels - 1) - low
    return {low: 1 - up, low + 1: up}


def variance_of_numbers(values, levels, odds):
    """Variance of the estimate from one person, who also answers a question of three levels."""
    shape = (levels, 3)
    population = [
        {(level, place % 3): chance for level, chance in rounded(value, levels).items() if chance}
        for place, value in enumerate(values)
    ]
    estimate = debiased(lambda level: Fraction(level, levels - 1), shape, 0, odds)
    mean, variance = moments(population, shape, odds, estimate)
    assert mean == sum(values) / len(values)
    return variance, Fraction(3 * levels) / (odds - 1)


def known(values):
    S2 = spread(values)
    square = sum((value - Fraction(1, 2)) ** 2 for value in values) / len(values)
    return S2, square


shares = st.integers(0, 24).map(lambda number: Fraction(number, 24))


@settings(max_examples=60, deadline=None)
@given(st.lists(shares, min_size=2, max_size=5), st.integers(2, 5), st.sampled_from(ODDS))
def test_no_number_is_worse_than_what_is_planned_for(values, levels, odds):
    """Whatever is known, the true variance is never above; more knowledge never gives more."""
    variance, r = variance_of_numbers(values, levels, odds)
    people = len(values)
    S2, square = known(values)
    low = S2 * (people - 1) / people
    least = doubles(low), doubles(Fraction(1, 4))
    truth = float(variance + S2 / people)
    both = float(
        exact(number_in_row(levels, doubles(S2), (doubles(square), doubles(square)), rounded=True), r)
    )
    spread_alone = float(exact(number_in_row(levels, doubles(S2), least, rounded=True), r))
    assert truth <= both * (1 + 1e-12)
    assert both <= spread_alone * (1 + 1e-12)


@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize("levels", [2, 3, 5])
def test_worst_cases_are_reached(levels, odds):
    # Half-way between two levels, where rounding is worst; with a mean and a spread nothing is left open.
    half = Fraction(1, 2 * (levels - 1))
    values = [half, 1 - half, half, half]
    variance, r = variance_of_numbers(values, levels, odds)
    S2, square = known(values)
    squares = doubles(square), doubles(square)
    close(number_in_row(levels, doubles(S2), squares, rounded=True), r, variance, S2, len(values))
    # At the two ends, where the square is worst: a mean is not needed to know it.
    values = [Fraction(0), Fraction(1), Fraction(0), Fraction(1)]
    variance, r = variance_of_numbers(values, levels, odds)
    S2, _ = known(values)
    open_square = doubles(Fraction(1, 4)), doubles(Fraction(1, 4))
    close(number_in_row(levels, doubles(S2), open_square, rounded=True), r, variance, S2, len(values))


@pytest.mark.parametrize("odds", ODDS)
def test_two_levels(odds):
    """At L = 2, S² + noise is (1 + r)²/4 − (mean − middle)², whatever the spread: with N people, plus S²/N."""
    values = [Fraction(1, 6), Fraction(2, 3), Fraction(1, 2), Fraction(1)]
    variance, r = variance_of_numbers(values, 2, odds)
    mean = sum(values) / 4
    assert variance == (1 + r) ** 2 / 4 - (mean - Fraction(1, 2)) ** 2
    S2, square = known(values)
    close(number_in_row(2, doubles(S2), (doubles(square), doubles(square)), rounded=True), r, variance, S2, 4)


@pytest.mark.parametrize("cells", [1, 2, 7, 30])
@pytest.mark.parametrize("odds", ODDS)
def test_how_often_a_row_is_replaced(cells, odds):
    """Replacing by any row gives K-ary randomized response with odds exp(E), so exactly E."""
    rho = Fraction(cells) / (odds - 1 + cells)
    chances = reports((0,), (cells,), odds)
    assert chances[0,] == 1 - rho + rho / cells
    assert all(chance == rho / cells for cell, chance in chances.items() if cell != (0,))
    epsilon = math.log(odds)
    assert replaced(cells, epsilon) == pytest.approx(float(rho), rel=1e-12)
    assert stretch(cells, epsilon) == pytest.approx(float(rho / (1 - rho)), rel=1e-12)


def test_a_quadratic_is_evaluated_for_all_strata():
    quadratic = Quadratic(np.array([1.0, 2.0]), np.array(3.0), np.array(4.0))
    assert quadratic.at(0.5).tolist() == [3.5, 4.5]
