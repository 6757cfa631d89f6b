r"""The office's noise on the tables of a questionnaire, and the noise of published rows.

Both are the noise of several questions at once, as one variance: neither is in the registry, because nobody
chooses them. They follow from the forms.
"""

from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism, NoRemainder
from dpstrata.privacy.mechanisms.kernels import Point, Step

_UNIT = AnswerSpace()  # every question is counted in units of its own range


class TableNoise(Mechanism):
    r"""Discrete Laplace noise on several tables that share a budget.

    .. math:: v(e) = \sum_t g_t\, s(e / q_t)

    A table whose counts one person moves by :math:`q` in all has noise of the variance s(e/q) on every
    count; g is what that adds up to in the result. With
    :math:`s = 2/e^2 - r`, s(e/q) is :math:`q^2 s(e) + q^2 r(e) - r(e/q)`: s(e) weighs :math:`\sum g q^2`, and
    the remainder stays bounded.

    Parameters
    ----------
    factors, sensitivities : array
        g >= 0 and q >= 1 of every table.
    """

    name = "discrete_laplace"
    title = "Discrete Laplace"

    def __init__(self, factors: FloatArray, sensitivities: FloatArray) -> None:
        self._q, table = np.unique(sensitivities, return_inverse=True)  # those alike count as one
        self._g = np.bincount(table, weights=factors, minlength=len(self._q))
        self._weight = float((factors * sensitivities**2).sum())
        self.square = self.linear = 2.0 * self._weight
        # Σ g·r(e/q) is the series of r with Σ g/q^2j for its coefficients
        powers = np.arange(len(kernels.SERIES))[:, None]
        moments = (factors / sensitivities ** (2.0 * powers)).sum(axis=1)
        self._series = tuple((np.array(kernels.SERIES) * moments).tolist())
        # every part magnifies the rounding of e by e/q, and their sum has no cancellation
        self.rounding = 256.0
        super().__init__(_UNIT)

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """v(e), less the weight times s(e); for small budgets the weight times r(e), less Σ g·r(e/q)."""
        small = np.flatnonzero(at.e < kernels.SERIES_BELOW) if not whole else np.empty(0, dtype=np.int64)
        value = kernels.s(self._parts(at.e)) @ self._g
        if not whole:
            value -= self._weight * kernels.s(at)
        if small.size:
            e = at.e[small]
            value[small] = self._weight * kernels.series(e) - kernels.series(e, self._series)
        return np.asarray(value)

    def _parts(self, e: FloatArray) -> Point:
        """Describe the budgets of all tables: a column each."""
        return kernels.point(e[:, None] / self._q)

    def remainder_slopes(
        self, at: Point, *, whole: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """v(e), less the weight times s(e), with two derivatives."""
        parts = kernels.s_slopes(self._parts(at.e))
        slopes = [np.asarray(part @ (self._g / self._q**order)) for order, part in enumerate(parts)]
        if whole:
            return slopes[0], slopes[1], slopes[2]
        for slope, taken in zip(slopes, kernels.s_slopes(at), strict=True):
            slope -= self._weight * taken
        small = np.flatnonzero(at.e < kernels.SERIES_BELOW)
        if small.size:
            e = at.e[small]
            plain, split = kernels.series_slopes(e), kernels.series_slopes(e, self._series)
            for slope, one, other in zip(slopes, plain, split, strict=True):
                slope[small] = self._weight * one - other
        return slopes[0], slopes[1], slopes[2]

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of v(e), less the weight times s(e)."""
        before, after = self._parts(step.before.e), self._parts(step.after.e)
        increase = kernels.s_step(Step(before, after, step.d[:, None] / self._q)) @ self._g
        if whole:
            return np.asarray(increase)
        increase -= self._weight * kernels.s_step(step)
        small = np.flatnonzero(step.before.e < kernels.SERIES_BELOW)
        if small.size:
            ends = step.before.e[small], step.after.e[small], step.d[small]
            plain, split = kernels.series_step(*ends), kernels.series_step(*ends, self._series)
            increase[small] = self._weight * plain - split
        return np.asarray(increase)

    def exact_variance(self, e: Any) -> Any:
        """Σ g/(2·sinh²(e/(2q)))."""
        mp = e.context
        return sum(
            (
                mp.mpf(g) / (2 * mp.sinh(e / (2 * mp.mpf(q))) ** 2)
                for g, q in zip(self._g.tolist(), self._q.tolist(), strict=True)
            ),
            mp.mpf(0),
        )


class RowNoise(NoRemainder):
    r"""Rows of which a share is replaced by random ones, at the local budget of each person.

    .. math:: v(e) = \frac{l}{y} + \frac{q}{y^2}, \qquad y = e^e - 1

    With y = C/n the first part adds the same to every term, however many people are asked.

    Parameters
    ----------
    linear, square : float
        l and q.
    """

    name = "randomized_response"
    title = "Randomized response"
    additive = False
    worst_case = True

    def __init__(self, linear: float, square: float) -> None:
        self.linear, self.square = linear, square
        super().__init__(_UNIT)

    def exact_variance(self, e: Any) -> Any:
        """l/y + q/y²."""
        mp = e.context
        y = mp.expm1(e)
        return mp.mpf(self.linear) / y + mp.mpf(self.square) / y**2
