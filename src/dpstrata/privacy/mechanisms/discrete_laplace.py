"""Discrete Laplace noise on a grid of K steps (Ghosh, Roughgarden and Sundararajan 2009).

Noise is a whole number of steps h = R/K with P(j) ∝ p^|j| and p = exp(−e/K). Two answers are at most
K steps apart, so the loss is exactly e. Answers off the grid would have disjoint outputs and no
protection at all, which is why the grid is required.
"""

from typing import Any

import numpy as np

from dpstrata.arrays import FloatArray
from dpstrata.errors import InputError
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.kernels import Point, Step


class DiscreteLaplace(Mechanism):
    """v(e) = h²·2p/(1−p)² with p = exp(−e/K), for answers on a grid."""

    name = "discrete_laplace"
    title = "Discrete Laplace"
    weight = 1.0

    def check(self) -> None:
        """Require a grid."""
        if self.steps is None:
            raise InputError(
                "Discrete Laplace protects answers on a grid, got real answers. "
                "Give the step: answers=(lower, upper, step), or use laplace or tulap."
            )
        self._steps = self.steps
        if self.steps == 1:
            self.constant_remainder = 0.0

    # The variance in units of R² is s(e/K)/K². For small e both s are huge and the difference is
    # taken between their bounded parts r instead.

    def remainder(self, at: Point) -> FloatArray:
        """s(e/K)/K² - s(e)."""
        return self.remainder_slopes(at)[0]

    def remainder_slopes(self, at: Point) -> tuple[FloatArray, FloatArray, FloatArray]:
        """s(e/K)/K² - s(e), with two derivatives."""
        K = self._steps
        if K == 1:
            zero = np.zeros_like(at.e)
            return zero, zero, zero
        fine = kernels.point(at.e / K)
        small = at.e < kernels.SERIES_BELOW
        if small.all():
            whole, part, sign = kernels.r_slopes(at), kernels.r_slopes(fine), 1.0
        else:
            whole, part, sign = kernels.s_slopes(at), kernels.s_slopes(fine), -1.0
        result = [sign * (w - p / K ** (2 + order)) for order, (w, p) in enumerate(zip(whole, part, strict=True))]
        if small.any() and not small.all():
            rows = np.flatnonzero(small)
            for target, source in zip(result, self.remainder_slopes(Point(*(part[rows] for part in at))), strict=True):
                target[rows] = source
        return result[0], result[1], result[2]

    def remainder_step(self, step: Step) -> FloatArray:
        """Increase of s(e/K)/K² - s(e)."""
        K = self._steps
        if K == 1:
            return np.zeros_like(step.d)
        fine = kernels.scaled(step, 1.0 / K)
        small = step.before.e < kernels.SERIES_BELOW
        by_series = kernels.r_step(step) - kernels.r_step(fine) / K**2
        if small.all():
            return by_series
        return np.where(small, by_series, kernels.s_step(fine) / K**2 - kernels.s_step(step))

    def exact_variance(self, e: Any) -> Any:
        """h²·2p/(1−p)²."""
        mp = e.context
        p = mp.exp(-e / self._steps)
        return (mp.mpf(self.answer_range) / self._steps) ** 2 * 2 * p / (1 - p) ** 2
