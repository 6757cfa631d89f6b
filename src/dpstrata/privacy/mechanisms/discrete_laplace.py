"""Discrete Laplace noise on a grid of K steps (Ghosh, Roughgarden and Sundararajan 2009).

Noise is a whole number of steps h = R/K with P(j) ∝ p^|j| and p = exp(−e/K). Two answers are at most
K steps apart, so the loss is exactly e. Answers off the grid would have disjoint outputs and no
protection at all, which is why the grid is required.
"""

from typing import Any

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import DiscreteLaplaceNoise, GridNoise
from dpstrata.privacy.mechanisms.kernels import Point, Step


class DiscreteLaplace(Mechanism):
    """v(e) = h²·2p/(1−p)² with p = exp(−e/K), for answers on a grid."""

    name = "discrete_laplace"
    title = "Discrete Laplace"
    square = linear = 2.0

    def check(self) -> None:
        """Require a grid."""
        if self.space.steps is None:
            raise InputError(
                f"Discrete Laplace protects answers on a grid, got {self.space.described}. Give the step "
                f"of the grid too, as in {option('questions', '0:100:1')}, or use another mechanism."
            )
        self._steps = self.space.steps
        if self._steps == 1:
            self.constant_remainder = 0.0
        else:
            self.rounding = 256.0  # exp(−e/K) magnifies the rounding of e by e/K, which can be 64

    def never_worse_than(self, least: float, most: float) -> frozenset[str]:
        """Whatever adds noise to answers of two values: it has s(e), to which the others add something."""
        return frozenset({"laplace", "tulap", "staircase"} if self._steps == 1 else ())

    def share_changed(self, e: float) -> float:
        """2p/(1 + p): all but the probability of no step."""
        p = float(np.exp(-e / self._steps))
        return 2.0 * p / (1.0 + p)

    # The variance in units of R² is s(e/K)/K². Less s(e) it is r(e) − r(e/K)/K², which keeps its digits
    # while e is small; from SERIES_BELOW on the plain difference does.

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """s(e/K)/K², less s(e)."""
        if self._steps == 1:
            return np.zeros_like(at.e)
        fine = kernels.point(at.e / self._steps)
        part = kernels.s(fine) / self._steps**2
        if whole:
            return part
        small = at.e < kernels.SERIES_BELOW
        return np.where(small, kernels.r(at) - kernels.r(fine) / self._steps**2, part - kernels.s(at))

    def remainder_slopes(
        self, at: Point, *, whole: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """s(e/K)/K², less s(e), with two derivatives."""
        K = self._steps
        if K == 1:
            zero = np.zeros_like(at.e)
            return zero, zero, zero
        fine = kernels.point(at.e / K)
        value, first, second = kernels.s_slopes(fine)
        part = (value / K**2, first / K**3, second / K**4)
        if whole:
            return part
        small = at.e < kernels.SERIES_BELOW
        s, r, r_fine = kernels.s_slopes(at), kernels.r_slopes(at), kernels.r_slopes(fine)
        return (
            np.where(small, r[0] - r_fine[0] / K**2, part[0] - s[0]),
            np.where(small, r[1] - r_fine[1] / K**3, part[1] - s[1]),
            np.where(small, r[2] - r_fine[2] / K**4, part[2] - s[2]),
        )

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of s(e/K)/K², less s(e)."""
        K = self._steps
        if K == 1:
            return np.zeros_like(step.d)
        fine = step.scaled(1.0 / K)
        part = kernels.s_step(fine) / K**2
        if whole:
            return part
        small = step.before.e < kernels.SERIES_BELOW
        by_series = kernels.r_step(step) - kernels.r_step(fine) / K**2
        return np.where(small, by_series, part - kernels.s_step(step))

    def simulated_noise(self, e: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
        """Draw a difference of two geometric counts of steps; for simulations only."""
        steps = kernels.simulated_discrete_laplace(e / self._steps, shape, generator)
        return steps * (self.answer_range / self._steps)

    def grid_steps(self, e: float) -> int:
        """Return the steps of the answers' own grid."""
        return self._steps

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Discrete Laplace noise on the answers' own grid."""
        return DiscreteLaplaceNoise(e, steps)

    def exact_variance(self, e: Any) -> Any:
        """h²·2p/(1−p)²."""
        mp = e.context
        p = mp.exp(-e / self._steps)
        return (mp.mpf(self.answer_range) / self._steps) ** 2 * 2 * p / (1 - p) ** 2
