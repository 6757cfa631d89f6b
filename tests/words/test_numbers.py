"""Numbers as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpstrata.words.numbers import at_error, figure, money, three_digits

MODERATE = st.floats(1e-4, 1e14)


def number(text):
    return float(text.replace(",", ""))


@given(MODERATE, st.integers(1, 8), st.sampled_from([-1, 1]))
def test_a_figure_keeps_its_digits_and_has_no_exponent(value, digits, sign):
    shown = figure(sign * value, digits)
    assert "e" not in shown
    assert abs(number(shown) - sign * value) <= max(
        0.5 * 10 ** (math.floor(math.log10(value)) + 1 - digits), 0
    ) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (999.96, "1,000"),
        (9.99996, "10"),
        (4230.0, "4,230"),
        (359702.0999, "359,700"),
        (0.50004, "0.5"),
        (1.23456e-5, "1.235e-05"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_figures(value, shown):
    assert figure(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, "0"), (7.5, "7.50"), (1e6, "1,000,000"), (0.999, "0.999")]
)
def test_costs(value, shown):
    assert money(value) == shown


@given(MODERATE, st.floats(1e-3, 1e9))
def test_an_estimate_is_off_by_little_of_its_error(value, error):
    (shown,) = at_error([value], error)
    assert abs(number(shown) - value) <= 0.051 * error + 1e-9 * value
    (whole,) = at_error([value], error, whole=True)
    assert number(whole).is_integer()


@pytest.mark.parametrize(
    ("values", "error", "shown"),
    [
        ([0.5, 0.25], 0.0994, ["0.500", "0.250"]),
        ([0.5], 0.0999, ["0.50"]),
        ([-0.0004, 0.2], 0.05, ["0.000", "0.200"]),
        ([227092952.0], 9541234.0, ["227,100,000"]),
        ([0.123456], 0.0, ["0.1235"]),
        ([0.123456], math.nan, ["0.1235"]),
    ],
)
def test_estimates_have_the_decimals_of_their_error(values, error, shown):
    assert at_error(values, error) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (588.2, "588"),
        (5741.0, "5,740"),
        (0.01956, "0.0196"),
        (0.99951, "1.00"),
        (1234567.0, "1,230,000"),
        (0, "0"),
    ],
)
def test_three_digits_are_written_as_people_write_them(value, shown):
    assert three_digits(value) == shown
