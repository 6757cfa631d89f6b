"""Randomized response for answers of two values (Warner 1965): the answer is flipped now and then.

With b = exp(−e) it is flipped with probability b/(1 + b), so that the two outputs are exactly exp(e) apart.
What is released is debiased: its mean is the answer.
"""

from typing import Any

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import GridNoise, Replacements
from dpstrata.privacy.mechanisms.noise import ConstantRemainder


class RandomizedResponse(ConstantRemainder, Mechanism):
    """v(e) = R²·b/(1−b)² with b = exp(−e), for answers of two values; half of s(e)."""

    name = "randomized_response"
    title = "Randomized response"
    square = linear = 1.0
    additive = False
    replaces = True

    def check(self) -> None:
        """Require two values."""
        if self.space.values != 2:
            raise InputError(
                f"Randomized response protects answers of two values, got {self.space.described}. "
                f"Use {option('questions', 'yes_no')}, a grid of one step, or another mechanism."
            )

    def never_worse_than(self, least: float, most: float) -> frozenset[str]:
        """All others: it has s(e)/2, piecewise noise 2/3 of it or more, additive noise s(e) or more.

        Sine noise has s(e)/2 too, and more besides.
        """
        return frozenset({"laplace", "discrete_laplace", "tulap", "staircase", "piecewise", "sine"})

    def in_words(self, what: str) -> str:
        """Say that nothing is added."""
        return "Each answer is kept or flipped by randomized response"

    def simulated_release(self, shares: FloatArray, e: float, generator: np.random.Generator) -> FloatArray:
        """Flip shares of 0 and 1 now and then, and debias; for simulations only."""
        b = float(np.exp(-e))
        flip = b / (1.0 + b)
        seen = np.where(generator.random(shares.shape) < flip, 1.0 - shares, shares)
        return (seen - flip) / (1.0 - 2.0 * flip)

    def informative(self, e: float) -> float:
        """tanh(e/2): otherwise a fair coin is sent."""
        return float(np.tanh(0.5 * e))

    def debiasing(self, e: float) -> float:
        """coth(e/2): one over the difference of the two probabilities."""
        return float(1.0 / np.tanh(0.5 * e))

    @property
    def at_office(self) -> str:
        """Name noise of whole steps: a flip moves a sum by one."""
        return "discrete_laplace"

    def reach(self, e: float) -> float:
        """From one debiased output to the other."""
        return self.debiasing(e)

    def grid_steps(self, e: float) -> int:
        """Return 1: two values."""
        return 1

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Flip or keep."""
        return _Flips(e, steps)

    def exact_variance(self, e: Any) -> Any:
        """R²·b/(1−b)²."""
        mp = e.context
        b = mp.exp(-e)
        return mp.mpf(self.answer_range) ** 2 * b / (1 - b) ** 2


class _Flips(Replacements):
    """0 and 1, flipped with probability 1/(1 + exp(e))."""

    def nearest(self, shares: FloatArray) -> IntArray:
        """Return 0 or 1."""
        return np.clip(super().nearest(shares), 0, 1)

    def shares(self, outputs: IntArray) -> FloatArray:
        """Debias."""
        flip = 1.0 / (1.0 + np.exp(self.e))
        return np.asarray((outputs - flip) / (1.0 - 2.0 * flip), dtype=float)
