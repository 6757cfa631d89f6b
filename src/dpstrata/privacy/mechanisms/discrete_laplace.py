"""Discrete Laplace noise on a grid of K steps (Ghosh, Roughgarden and Sundararajan 2009).

Noise is a whole number of steps h = R/K with P(j) ∝ p^|j| and p = exp(−e/K). Two answers are at most
K steps apart, so the loss is exactly e. Answers off the grid would have disjoint outputs and no
protection at all, which is why the grid is required.
"""

from typing import Any

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import DiscreteLaplaceNoise, GridNoise
from dpstrata.privacy.mechanisms.noise import RowNoise, ScaledNoise, TableNoise


class DiscreteLaplace(ScaledNoise, Mechanism):
    """v(e) = h²·2p/(1−p)² with p = exp(−e/K), for answers on a grid."""

    name = "discrete_laplace"
    title = "Discrete Laplace"

    def __init__(self, space: AnswerSpace) -> None:
        Mechanism.__init__(self, space)
        self._steps = K = space.steps or 0
        # in units of R² s(e/K)/K², like the noise on a table; of one step it is s(e), and nothing else
        noise = RowNoise(2.0, 2.0) if K == 1 else TableNoise(np.array([K**-2.0]), np.array([float(K)]))
        ScaledNoise.__init__(self, noise, space.range**2)

    def check(self) -> None:
        """Require a grid."""
        if self.space.steps is None:
            raise InputError(
                f"Discrete Laplace protects answers on a grid, got {self.space.described}. Give the step "
                f"of the grid too, as in {option('questions', '0:100:1')}, or use another mechanism."
            )

    def never_worse_than(self, least: float, most: float) -> frozenset[str]:
        """Whatever adds noise to answers of two values: it has s(e), to which the others add something."""
        return frozenset({"laplace", "tulap", "staircase"} if self._steps == 1 else ())

    def share_changed(self, e: float) -> float:
        """2p/(1 + p): all but the probability of no step."""
        p = float(np.exp(-e / self._steps))
        return 2.0 * p / (1.0 + p)

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
