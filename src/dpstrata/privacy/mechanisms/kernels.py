r"""The two functions from which noise variances are built, and how they change with the budget.

With :math:`b = e^{-e}`:

.. math::
    s(e) = \frac{2b}{(1-b)^2} = \frac{1}{2\sinh^2(e/2)}, \qquad
    r(e) = \frac{2}{e^2} - s(e), \qquad r(0) = \tfrac16 .

``s`` carries all of the growth of noise as the budget shrinks, and under amplification ``s / n`` is a
straight line in the sample size. ``r`` is what Laplace noise has beyond it: bounded, smooth and slowly
varying. Keeping the two apart is what leaves double precision enough digits at ε = 1e-6, where the
straight line is a million million times larger than everything that decides the allocation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from dpstrata.numerics.arrays import ALL, FloatArray, Rows

Slopes = tuple[FloatArray, FloatArray, FloatArray]
"""A function with two derivatives."""


class Point:
    """A vector of local budgets e = ln(1 + C/n), in forms that lose no digits."""

    def __init__(self, e: FloatArray, n: FloatArray | float, C: FloatArray) -> None:
        self.e = e
        self._n = n
        self._C = C

    @cached_property
    def b(self) -> FloatArray:
        """exp(-e)."""
        return self._n / (self._n + self._C)

    @cached_property
    def z(self) -> FloatArray:
        """1 - exp(-e)."""
        return self._C / (self._n + self._C)


class Step:
    """Two neighbouring points, ``after`` with the smaller budget, and their exact distance."""

    def __init__(self, before: Point, after: Point, d: FloatArray) -> None:
        self.before = before
        self.after = after
        self.d = d


def point(e: FloatArray) -> Point:
    """Describe the budgets ``e``."""
    return Point(e, 1.0, np.expm1(e))


# s and its two derivatives: s' = -s·coth(e/2), s'' = s·coth² + s², coth(e/2) = (1 + b) / z.


def s(at: Point) -> FloatArray:
    """Evaluate s."""
    return 2.0 * at.b / (at.z * at.z)


def s_slopes(at: Point) -> Slopes:
    """Evaluate s, s' and s''."""
    value = s(at)
    coth = (1.0 + at.b) / at.z
    return value, -value * coth, value * (coth * coth + value)


def s_step(step: Step) -> FloatArray:
    """Evaluate s(after) - s(before) without cancellation."""
    z0, z1 = step.before.z, step.after.z
    zz = z0 * z1
    db = step.before.b * np.expm1(step.d)  # after.b − before.b
    return 2.0 * db * (z0 + step.before.b * z1) / (zz * zz)


# r by its power series below this budget and by its definition above it.
SERIES_BELOW = 2.0

# r(x) = Σ 2·B(2j)·(2j−1)/(2j)! · x^(2j−2), B the Bernoulli numbers: each correctly rounded, and the
# first one left out adds less than 5e-18 at x = 2.
SERIES = (
    0.16666666666666666,
    -0.008333333333333333,
    0.00033068783068783067,
    -1.1574074074074073e-05,
    3.7578162578162576e-07,
    -1.1625218305112486e-08,
    3.4794594979780167e-10,
    -1.016904088896775e-11,
    2.919261099134467e-13,
    -8.264501054520635e-15,
    2.3137811879112965e-16,
    -6.419053755473761e-18,
    1.7673535198147338e-19,
    -4.834899410600275e-21,
    1.3154124223558562e-22,
    -3.561770214700766e-24,
    9.604138339058108e-26,
    -2.580196458465717e-27,
)


# 2/e², of which s is the part that grows without bound.


def inverse_square(at: Point) -> FloatArray:
    """Evaluate 2/e²."""
    return 2.0 / (at.e * at.e)


def inverse_square_slopes(at: Point) -> Slopes:
    """Evaluate 2/e² with two derivatives."""
    inverse = 1.0 / at.e
    value = 2.0 * inverse * inverse
    first = -2.0 * value * inverse
    return value, first, -3.0 * first * inverse


def inverse_square_step(step: Step) -> FloatArray:
    """Evaluate the increase of 2/e² without cancellation."""
    product = step.before.e * step.after.e
    return 2.0 * step.d * (step.before.e + step.after.e) / (product * product)


def r(at: Point) -> FloatArray:
    """Evaluate r."""
    return _by_size(at.e, lambda: inverse_square(at) - s(at), lambda small: series(at.e[small]))


def r_slopes(at: Point) -> Slopes:
    """Evaluate r, r' and r''."""
    small = at.e < SERIES_BELOW
    if small.all():
        return series_slopes(at.e)
    inverse, part = inverse_square_slopes(at), s_slopes(at)
    slopes = inverse[0] - part[0], inverse[1] - part[1], inverse[2] - part[2]
    if small.any():
        rows = np.flatnonzero(small)
        for slope, by_series in zip(slopes, series_slopes(at.e[rows]), strict=True):
            slope[rows] = by_series
    return slopes


def r_step(step: Step) -> FloatArray:
    """Evaluate r(after) - r(before) without cancellation."""
    return _by_size(
        step.before.e,
        lambda: inverse_square_step(step) - s_step(step),
        lambda small: series_step(step.before.e[small], step.after.e[small], step.d[small]),
    )


def _by_size(
    e: FloatArray, direct: Callable[[], FloatArray], series: Callable[[Rows], FloatArray]
) -> FloatArray:
    """Choose the form that is accurate at each budget."""
    small = e < SERIES_BELOW
    if small.all():
        return series(ALL)
    values = direct()
    if small.any():
        rows = np.flatnonzero(small)
        values[rows] = series(rows)
    return values


# Polynomials by Horner's rule, from the constant up, and the power series in e²: that of r, or the same with
# other coefficients.


def polynomial(x: FloatArray, coefficients: Sequence[float]) -> FloatArray:
    """Evaluate Σ c_j·x^j."""
    value = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= x
        value += coefficient
    return value


def polynomial_slopes(x: FloatArray, coefficients: Sequence[float]) -> Slopes:
    """Evaluate it with two derivatives."""
    value = np.full_like(x, coefficients[-1])
    first = np.zeros_like(x)
    second = np.zeros_like(x)
    for coefficient in coefficients[-2::-1]:
        second *= x
        second += first
        first *= x
        first += value
        value *= x
        value += coefficient
    second *= 2.0
    return value, first, second


def polynomial_secant(x0: FloatArray, x1: FloatArray, coefficients: Sequence[float]) -> FloatArray:
    """Evaluate the slope of the line through two of its points, without cancellation."""
    value = np.full_like(x0, coefficients[-1])
    secant = np.zeros_like(x0)
    for coefficient in coefficients[-2::-1]:
        secant *= x1
        secant += value
        value *= x0
        value += coefficient
    return secant


def series(e: FloatArray, coefficients: Sequence[float] = SERIES) -> FloatArray:
    """Evaluate the series."""
    return polynomial(e * e, coefficients)


def series_slopes(e: FloatArray, coefficients: Sequence[float] = SERIES) -> Slopes:
    """Evaluate the series with two derivatives in e."""
    u = e * e
    value, first, second = polynomial_slopes(u, coefficients)
    return value, 2.0 * e * first, 2.0 * first + 4.0 * u * second


def series_step(
    before: FloatArray, after: FloatArray, d: FloatArray, coefficients: Sequence[float] = SERIES
) -> FloatArray:
    """Evaluate the increase of the series without cancellation, where ``after`` is smaller by ``d``."""
    return -polynomial_secant(before * before, after * after, coefficients) * d * (before + after)


def simulated_discrete_laplace(
    e: float, shape: tuple[int, ...], generator: np.random.Generator
) -> FloatArray:
    """Whole numbers with P(j) ∝ exp(-e|j|), for simulations only: they protect nobody."""
    success = -np.expm1(-e)
    return (generator.geometric(success, shape) - generator.geometric(success, shape)).astype(float)
