"""A mechanism that shares one person's budget among several questions."""

from typing import Any

import numpy as np

from dpstrata.arrays import FloatArray
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.kernels import Point, Step


class SharedBudget(Mechanism):
    r"""The mechanism ``inner`` with a budget of e/m for each of m questions.

    The answers of one person compose first, to e, and are amplified once. With :math:`v(e/m)` in place of
    :math:`v(e)`, the kernel :math:`s(e/m)` is :math:`m^2 s(e) + m^2 r(e) - r(e/m)`, so the weight is
    :math:`m^2 w` and the remainder gains :math:`w (m^2 r(e) - r(e/m))`.

    Parameters
    ----------
    inner : Mechanism
        What noises one answer.
    questions : int
        m >= 2.
    """

    def __init__(self, inner: Mechanism, questions: int) -> None:
        self.inner = inner
        self.questions = questions
        self.name = inner.name  # type: ignore[misc]
        self.title = inner.title  # type: ignore[misc]
        self.weight = inner.weight * questions**2
        self.rounding = 4.0 * inner.rounding
        super().__init__(inner.answer_range, inner.steps)

    def _part(self, at: Point) -> Point:
        return kernels.point(at.e / self.questions)

    # s(e/m) − m²·s(e), with derivatives: as m²·r(e) − r(e/m) where both s are huge, plainly elsewhere.

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """v(e/m)/R², less m²w·s(e)."""
        part, m = self._part(at), self.questions
        excess = kernels.s(part)
        if not whole:
            small = at.e < kernels.SERIES_BELOW
            excess = np.where(small, m**2 * kernels.r(at) - kernels.r(part), excess - m**2 * kernels.s(at))
        return self.inner.weight * excess + self.inner.remainder(part)

    def remainder_slopes(
        self, at: Point, *, whole: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """v(e/m)/R², less m²w·s(e), with two derivatives."""
        part, w, m = self._part(at), self.inner.weight, self.questions
        inner, kernel = self.inner.remainder_slopes(part), kernels.s_slopes(part)
        excess = [value / m**order for order, value in enumerate(kernel)]
        if not whole:
            small = at.e < kernels.SERIES_BELOW
            s, r, r_part = kernels.s_slopes(at), kernels.r_slopes(at), kernels.r_slopes(part)
            excess = [
                np.where(small, m**2 * r[order] - r_part[order] / m**order, excess[order] - m**2 * s[order])
                for order in range(3)
            ]
        value, first, second = (w * excess[order] + inner[order] / m**order for order in range(3))
        return value, first, second

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of v(e/m)/R², less m²w·s(e)."""
        part, m = step.scaled(1.0 / self.questions), self.questions
        excess = kernels.s_step(part)
        if not whole:
            small = step.before.e < kernels.SERIES_BELOW
            by_series = m**2 * kernels.r_step(step) - kernels.r_step(part)
            excess = np.where(small, by_series, excess - m**2 * kernels.s_step(step))
        return self.inner.weight * excess + self.inner.remainder_step(part)

    def simulated_noise(self, e: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
        """Draw noise at a budget of e/m; for simulations only."""
        return self.inner.simulated_noise(e / self.questions, shape, generator)

    def exact_variance(self, e: Any) -> Any:
        """Evaluate the inner variance at e/m."""
        return self.inner.exact_variance(e / self.questions)
