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

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpstrata.arrays import FloatArray


class Point(NamedTuple):
    """A vector of local budgets, held in the forms that lose no digits."""

    e: FloatArray
    b: FloatArray  # exp(-e)
    z: FloatArray  # 1 - exp(-e)


class Step(NamedTuple):
    """Two neighbouring points, ``after`` with the smaller budget, and their exact differences."""

    before: Point
    after: Point
    d: FloatArray  # before.e - after.e
    db: FloatArray  # after.b - before.b


def point(e: FloatArray) -> Point:
    """Describe the budgets ``e``."""
    return Point(e, np.exp(-e), -np.expm1(-e))


def scaled(step: Step, factor: float) -> Step:
    """Return the step between the budgets ``factor`` times as large."""
    before, after = point(step.before.e * factor), point(step.after.e * factor)
    d = step.d * factor
    return Step(before, after, d, before.b * np.expm1(d))


# s and its two derivatives: s' = -s·coth(e/2), s'' = s·coth² + s², coth(e/2) = (1 + b) / z.


def s(at: Point) -> FloatArray:
    """Evaluate s."""
    return 2.0 * at.b / (at.z * at.z)


def s_slopes(at: Point) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Evaluate s, s' and s''."""
    value = s(at)
    coth = (1.0 + at.b) / at.z
    return value, -value * coth, value * (coth * coth + value)


def s_step(step: Step) -> FloatArray:
    """Evaluate s(after) - s(before) without cancellation."""
    z0, z1 = step.before.z, step.after.z
    zz = z0 * z1
    return 2.0 * step.db * (z0 + step.before.b * z1) / (zz * zz)


# r by its power series below this budget and by its definition above it.
SERIES_BELOW = 2.0

# r(x) = Σ 2·B(2j)·(2j−1)/(2j)! · x^(2j−2), B the Bernoulli numbers: each correctly rounded, and the
# first one left out adds less than 5e-18 at x = 2.
_SERIES = (
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


def r(at: Point) -> FloatArray:
    """Evaluate r."""
    return _by_size(at.e, lambda: 2.0 / (at.e * at.e) - s(at), lambda: _polynomial(at.e * at.e)[0])


def r_slopes(at: Point) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Evaluate r, r' and r''."""
    e = at.e
    small = e < SERIES_BELOW
    if small.all():
        return _series_slopes(e)
    value, first, second = s_slopes(at)
    inverse = 1.0 / e
    square = 2.0 * inverse * inverse
    direct = (square - value, -2.0 * square * inverse - first, 6.0 * square * inverse * inverse - second)
    if not small.any():
        return direct
    series = _series_slopes(np.minimum(e, SERIES_BELOW))
    return (
        np.where(small, series[0], direct[0]),
        np.where(small, series[1], direct[1]),
        np.where(small, series[2], direct[2]),
    )


def r_step(step: Step) -> FloatArray:
    """Evaluate r(after) - r(before) without cancellation."""
    e0, e1 = step.before.e, step.after.e
    fall = step.d * (e0 + e1)  # e0² − e1²

    def direct() -> FloatArray:
        product = e0 * e1
        return 2.0 * fall / (product * product) - s_step(step)

    def series() -> FloatArray:
        u0, u1 = e0 * e0, e1 * e1
        value = np.full_like(u0, _SERIES[-1])
        divided = np.zeros_like(u0)
        for coefficient in _SERIES[-2::-1]:
            divided = divided * u1 + value
            value = value * u0 + coefficient
        return -divided * fall

    return _by_size(e0, direct, series)


def _by_size(
    e: FloatArray, direct: Callable[[], FloatArray], series: Callable[[], FloatArray]
) -> FloatArray:
    """Choose the form that is accurate at each budget; the usual case evaluates only one."""
    small = e < SERIES_BELOW
    if not small.any():
        return direct()
    if small.all():
        return series()
    return np.where(small, series(), direct())


def _polynomial(u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Evaluate the series in u = e² with its first two derivatives, by Horner's rule."""
    value = np.full_like(u, _SERIES[-1])
    first = np.zeros_like(u)
    second = np.zeros_like(u)
    for coefficient in _SERIES[-2::-1]:
        second = second * u + first
        first = first * u + value
        value = value * u + coefficient
    return value, first, 2.0 * second


def _series_slopes(e: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    u = e * e
    value, first, second = _polynomial(u)
    return value, 2.0 * e * first, 2.0 * first + 4.0 * u * second
