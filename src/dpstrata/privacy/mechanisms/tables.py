r"""The office's noise on the tables of a questionnaire, and the noise of published rows.

Both are the noise of several questions at once, as one variance: neither is in the registry, because nobody
chooses them. They follow from the forms.
"""

from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.answers.base import parse_answers
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism, NoRemainder
from dpstrata.privacy.mechanisms.kernels import Point, Step

_UNIT = parse_answers((0, 1))  # every question is counted in units of its own range


class TableNoise(Mechanism):
    r"""Discrete Laplace noise on several tables that share a budget.

    .. math:: v(e) = \sum_t g_t\, s(e / q_t)

    A table whose counts one person moves by :math:`q` in all has noise of the variance s(e/q) on every
    count; g is what that adds up to in the result. Since s(e/q) is :math:`q^2 s(e)` and a bounded remainder
    (see :mod:`~dpstrata.privacy.mechanisms.shared`), the weight is :math:`\sum g q^2`.

    Parameters
    ----------
    factors, sensitivities : array
        g >= 0 and q >= 1 of every table.
    """

    name = "discrete_laplace"
    title = "Discrete Laplace"

    def __init__(self, factors: FloatArray, sensitivities: FloatArray) -> None:
        self._tables = tuple(zip(factors.tolist(), sensitivities.tolist(), strict=True))
        self.weight = float((factors * sensitivities**2).sum())
        # every split magnifies the rounding of e by e/q, and their sum has no cancellation
        self.rounding = 256.0
        super().__init__(_UNIT)

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """v(e), less the weight times s(e)."""
        return sum((g * kernels.split(at, q, whole=whole) for g, q in self._tables), np.zeros_like(at.e))

    def remainder_slopes(
        self, at: Point, *, whole: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """v(e), less the weight times s(e), with two derivatives."""
        slopes = [np.zeros_like(at.e) for _ in range(3)]
        for g, q in self._tables:
            for total, part in zip(slopes, kernels.split_slopes(at, q, whole=whole), strict=True):
                total += g * part
        return slopes[0], slopes[1], slopes[2]

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of v(e), less the weight times s(e)."""
        parts = (g * kernels.split_step(step, q, whole=whole) for g, q in self._tables)
        return sum(parts, np.zeros_like(step.d))

    def exact_variance(self, e: Any) -> Any:
        """Σ g/(2·sinh²(e/(2q)))."""
        mp = e.context
        return sum((mp.mpf(g) / (2 * mp.sinh(e / (2 * mp.mpf(q))) ** 2) for g, q in self._tables), mp.mpf(0))


class RowNoise(NoRemainder):
    r"""Rows of which a share is replaced by random ones, at the local budget of each person.

    .. math:: v(e) = \frac{2 w_1}{y} + \frac{2 w}{y^2}, \qquad y = e^e - 1

    With y = C/n the first part adds the same to every term, however many people are asked.

    Parameters
    ----------
    linear, square : float
        2·w₁ and 2·w.
    """

    name = "randomized_response"
    title = "Randomized response"
    additive = False
    worst_case = True

    def __init__(self, linear: float, square: float) -> None:
        self.weight = square / 2.0
        self.offset = linear - square
        self._line = linear / 2.0
        super().__init__(_UNIT)

    def variance_at(self, at: Point) -> FloatArray:
        """v(e)."""
        inverse = at.b / at.z
        return 2.0 * inverse * (self._line + self.weight * inverse)

    def exact_variance(self, e: Any) -> Any:
        """2·w₁/y + 2·w/y²."""
        mp = e.context
        y = mp.expm1(e)
        return 2 * mp.mpf(self._line) / y + 2 * mp.mpf(self.weight) / y**2
