"""The interval of a ratio: Fieller's where limits are standard errors, by solving his equation numerically."""

import numpy as np
import pytest
from scipy.optimize import brentq

from dpstrata.fielding.intervals.tilt import Limits
from dpstrata.fielding.results.ratios import Bounded, ratio_limits


def bounded(estimate, lower, upper):
    return Bounded(np.array([estimate]), Limits(np.array([lower]), np.array([upper])))


def limits(over, under, correlation=0.0):
    found = ratio_limits(bounded(*over), bounded(*under), np.array([correlation]))
    return [float(end[0]) for end in found]


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.8])
@pytest.mark.parametrize("y", [3.0, 0.2, -2.0])
def test_symmetric_limits_give_those_of_fieller(y, correlation):
    x, a, b = 4.0, 0.7, 0.5

    def left(ratio):
        return (y - ratio * x) ** 2 - (a * a + ratio**2 * b * b - 2 * ratio * correlation * a * b)

    expected = [brentq(left, -9, y / x), brentq(left, y / x, 9)]
    assert limits((y, y - a, y + a), (x, x - b, x + b), correlation) == pytest.approx(expected)


def test_signs_change_sides():
    over, under = (-2.0, -2.5, -1.8), (4.0, 3.7, 4.9)
    lower, upper = limits(over, under, 0.3)
    assert limits((2.0, 1.8, 2.5), under, -0.3) == pytest.approx([-upper, -lower])
    # the ends are those at which one of both figures alone would be, and further
    assert lower < -2.5 / 4
    assert lower < -2 / 3.7
    assert upper > -1.8 / 4
    assert upper > -2 / 4.9


def test_estimates_outside_of_their_limits_are_taken_at_them():
    assert limits((-0.01, 0.0, 0.04), (0.5, 0.4, 0.6)) == limits((0.0, 0.0, 0.04), (0.5, 0.4, 0.6))


def test_a_denominator_that_may_be_zero_leaves_no_end():
    assert limits((1.0, 0.9, 1.1), (0.1, -0.2, 0.4))[1] == np.inf
