"""Noise of tables, of rows, and of another size against textbook variances: values, derivatives, and stable steps."""

import math

import numpy as np
import pytest
from mpmath import mp

from dpstrata.allocation.terms import Terms
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.mechanisms.kernels import point
from dpstrata.privacy.mechanisms.noise import NO_NOISE, RowNoise, ScaledNoise, SummedNoise, TableNoise
from dpstrata.privacy.promises.epsilon import PureEpsilon
from problems import answers_of

SINE = get_mechanism("sine", answers_of(None, 8.0))
TABLES = TableNoise(np.array([0.5, 0.25]), np.array([1.0, 3.0]))
ROWS = RowNoise(0.7, 0.2)
# a count beside two sums, one of them with half of the budget
SUMS = TableNoise(
    np.array([0.5, 0.25, 0.1]),
    np.array([2.0, 3.0, 1.0]),
    get_mechanism("staircase", answers_of(None, 5.0)),
    np.array([False, True, True]),
)
MIXED = SummedNoise(
    [ROWS, ScaledNoise(SINE, 0.02), ScaledNoise(get_mechanism("cells", answers_of(4, 4.0)), 0.1)]
)
NOISES = [
    *(ScaledNoise(SINE, 0.3), TABLES, ScaledNoise(TABLES, 2.0), ROWS, ScaledNoise(ROWS, 0.5), NO_NOISE),
    *(SUMS, MIXED, SummedNoise([ROWS, ScaledNoise(ROWS, 0.5)]), SummedNoise([SUMS, TABLES])),
]


@pytest.mark.parametrize("noise", NOISES)
def test_variances(noise):
    budgets = np.geomspace(1e-3, 20, 50)
    with mp.workdps(50):
        exact = [float(noise.exact_variance(mp.mpf(e))) for e in budgets.tolist()]
    assert noise.variance_at(point(budgets)) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("epsilon", [1e-4, 0.3, 4.0])
@pytest.mark.parametrize("power", [1, 2])
def test_gains_and_derivatives(noise, epsilon, power):
    N, n = 10**6, np.array([3.0, 70.0, 20_000.0])
    one = np.ones(1)
    terms = Terms(np.array([N]), 0.2 * one, one, "mean", PureEpsilon(epsilon), noise, power)
    rows = np.zeros(3, dtype=np.int64)
    gain = terms.gain(n, rows)
    W, _ = terms.curve(n, rows)
    slopes = terms.scale[rows] * W / n**2 - terms.origin
    with mp.workdps(80):
        square = mp.mpf(noise.unit * noise.square)
        tilt = square / (terms.promise.exact_odds_minus_one(mp) * N) ** 2 if power == 1 else 0
        for i, size in enumerate(n.tolist()):
            exact = terms.exact_gain(0, int(size))
            assert gain[i] == pytest.approx(float(exact + tilt), rel=1e-10)
            slope = -mp.diff(lambda x: terms.exact_value(0, x), mp.mpf(size), h=mp.mpf(10) ** -25)
            assert slopes[i] == pytest.approx(float(slope), rel=1e-8, abs=1e-10 * math.fabs(terms.origin))
