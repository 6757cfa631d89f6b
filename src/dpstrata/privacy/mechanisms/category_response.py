r"""Randomized response for categories (k-ary; Kairouz, Bonawitz and Ramage 2016).

With x = exp(e) an answer is sent as it is with probability x/(x + k − 1), and every other category with
probability q = 1/(x + k − 1) each, so that the probabilities of any output are exactly x apart. A category of
share p is reported with probability q + d·p, d = (x − 1)/(x + k − 1). What is estimated from a report is
therefore its indicator less q, over d; summed over the k categories, its noise has the variance

.. math:: \frac{(k-1)(2x + k - 2)}{(x-1)^2} = \frac{2(k-1)}{x-1} + \frac{k(k-1)}{(x-1)^2} ,

whatever was answered. Half of it is the variance of this mechanism, which for k = 2 is that of randomized
response. With x − 1 = C/n both parts are polynomials in n: over n, a constant and a straight line.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import GridNoise, Replacements
from dpstrata.privacy.mechanisms.noise import ConstantRemainder


class CategoryResponse(ConstantRemainder, Mechanism):
    """v(e) = (k−1)(2x + k − 2)/(2(x−1)²) with x = exp(e): half the sum over the shares of k categories."""

    name = "category_response"
    title = "K-ary randomized response"
    additive = False
    replaces = True
    numbers: ClassVar[bool] = False

    def check(self) -> None:
        """Require categories."""
        if self.space.values is None or self.space.numbers:
            raise InputError(
                f"K-ary randomized response protects categories, got {self.space.described}. Name them, as "
                f"in {option('questions', 'rent|own|other')}, or use another mechanism."
            )
        self._k = k = self.space.values
        self.square, self.linear = k * (k - 1) / 2, k - 1.0

    def in_words(self, what: str) -> str:
        """Say that nothing is added."""
        return "Each answer is kept, or replaced by another category, by k-ary randomized response"

    def exact_variance(self, e: Any) -> Any:
        """(k−1)(2x + k − 2)/(2(x−1)²)."""
        mp = e.context
        x, k = mp.exp(e), mp.mpf(self._k)
        return (k - 1) * (2 * x + k - 2) / (2 * (x - 1) ** 2)

    def chances(self, e: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return q, with which any category is reported, and d, by how much more often the true one is."""
        b = np.exp(-np.asarray(e, dtype=float))
        whole = 1.0 + (self._k - 1) * b
        return b / whole, (1.0 - b) / whole

    def noise_of_shares(self, shares: FloatArray, e: FloatArray) -> FloatArray:
        """Variance of the noise of one report's estimate of a category's share, where a share has it."""
        q, d = self.chances(e)
        return (shares * (q + d) * (1.0 - q - d) + (1.0 - shares) * q * (1.0 - q)) / d**2

    def simulated_release(self, shares: FloatArray, e: float, generator: np.random.Generator) -> FloatArray:
        """Replace categories now and then, and debias; for simulations only.

        ``shares`` are the places of categories; a further axis has what each report says about every one.
        """
        q = float(self.chances(np.array(e))[0])
        answers = shares.astype(np.int64)
        other = generator.integers(0, self._k - 1, answers.shape)
        other += other >= answers
        replaced = generator.random(answers.shape) < (self._k - 1) * q
        return self.on_grid(e, self._k - 1).shares(np.where(replaced, other, answers))

    def grid_steps(self, e: float) -> int:
        """Return k − 1: categories are the numbers from 0 to it."""
        return self._k - 1

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Keep or replace."""
        return _Categories(e, steps)


class _Categories(Replacements):
    """Categories, of which a report says how likely each was given."""

    def shares(self, outputs: IntArray) -> FloatArray:
        """Debias: what every output says about every category, on a further axis."""
        b = np.exp(-self.e)
        q, d = np.array([b, 1.0 - b]) / (1.0 + self.steps * b)
        return np.asarray((np.equal.outer(outputs, np.arange(self.steps + 1)) - q) / d)
