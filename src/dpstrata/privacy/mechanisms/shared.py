"""A mechanism that shares one person's budget among several questions."""

from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import GridNoise
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
        self.additive = inner.additive
        self.keeps_distance = inner.keeps_distance
        self.worst_case = inner.worst_case
        super().__init__(inner.answers)

    def in_words(self, what: str) -> str:
        """Say what noises one answer."""
        return self.inner.in_words(what)

    def _part(self, at: Point) -> Point:
        return kernels.point(at.e / self.questions)

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """v(e/m)/R², less m²w·s(e)."""
        excess = kernels.split(at, self.questions, whole=whole)
        return self.inner.weight * excess + self.inner.remainder(self._part(at))

    def remainder_slopes(
        self, at: Point, *, whole: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """v(e/m)/R², less m²w·s(e), with two derivatives."""
        inner = self.inner.remainder_slopes(self._part(at))
        excess = kernels.split_slopes(at, self.questions, whole=whole)
        value, first, second = (
            self.inner.weight * excess[order] + inner[order] / self.questions**order for order in range(3)
        )
        return value, first, second

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of v(e/m)/R², less m²w·s(e)."""
        excess = kernels.split_step(step, self.questions, whole=whole)
        return self.inner.weight * excess + self.inner.remainder_step(step.scaled(1.0 / self.questions))

    def simulated_release(self, shares: FloatArray, e: float, generator: np.random.Generator) -> FloatArray:
        """Noise at a budget of e/m; for simulations only."""
        return self.inner.simulated_release(shares, e / self.questions, generator)

    def share_changed(self, e: float) -> float | None:
        """Return what the inner mechanism changes at e/m."""
        return self.inner.share_changed(e / self.questions)

    def informative(self, e: float) -> float:
        """Depend on each answer as the inner mechanism does at e/m."""
        return self.inner.informative(e / self.questions)

    def debiasing(self, e: float) -> float:
        """Stretch as the inner mechanism does at e/m."""
        return self.inner.debiasing(e / self.questions)

    def exact_debiasing(self, e: Any) -> Any:
        """Return the same in mpmath."""
        return self.inner.exact_debiasing(e / self.questions)

    def estimated_variance(self, mean_square: FloatArray, e: FloatArray) -> FloatArray:
        """Estimate as the inner mechanism does at e/m."""
        return self.inner.estimated_variance(mean_square, e / self.questions)

    def grid_steps(self, e: float) -> int:
        """Return what the inner mechanism needs at e/m."""
        return self.inner.grid_steps(e / self.questions)

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Return what the inner mechanism does to one of the answers, at e/m."""
        return self.inner.on_grid(e / self.questions, steps)

    def exact_variance(self, e: Any) -> Any:
        """Evaluate the inner variance at e/m."""
        return self.inner.exact_variance(e / self.questions)
