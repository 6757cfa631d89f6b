"""Tails of skewed distributions against SciPy's own."""

import numpy as np
import pytest
from scipy import stats

from dpstrata.numerics.tails import find_roots, pearson_below


@pytest.mark.parametrize("skewness", [-2.5, -0.3, -0.0021, -0.001, 0.0, 0.0019, 0.05, 1.0, 4.0])
def test_it_is_pearsons_third_distribution(skewness):
    x = np.linspace(-4, 4, 33)
    expected = stats.norm.cdf(x) if skewness == 0 else stats.pearson3.cdf(x, skewness)
    found = pearson_below(x, np.full(33, skewness))
    assert found == pytest.approx(expected, abs=2e-4 if abs(skewness) < 0.002 else 1e-9)
    assert pearson_below(-x, np.full(33, -skewness)) == pytest.approx(1 - found, abs=1e-12)


def test_each_root_is_searched_for_itself():
    ends = np.array([-59.9, -1e-3, 0.0, 7.25])
    for function in (lambda x: x - ends, lambda x: np.tanh(ends - x), lambda x: np.exp(x) - np.exp(ends)):
        assert find_roots(function, 4, 60.0) == pytest.approx(ends, abs=1e-10)


def test_a_function_of_one_sign_does_not_disturb_the_others():
    found = find_roots(lambda x: np.array([1.0, x[1] - 2.0]), 2, 60.0)
    assert found[1] == pytest.approx(2)
