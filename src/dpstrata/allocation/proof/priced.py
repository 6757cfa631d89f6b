r"""What strata cost at prices of people and of room, for designs with one draw of noise for each figure."""

from __future__ import annotations

import numpy as np

from dpstrata.allocation.noised_once import NoisedOnce
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.bound import best_at_prices, first_not_worth
from dpstrata.numerics.arrays import FloatArray, IntArray

ROUNDING = 1e-12  # of a sum of so many terms, relative to what is added up
_NEWTON = 8


def correction(problem: Problem) -> float:
    """Σ a²S²/N: what the finite population correction takes off the variance of every design."""
    return float((problem.terms.coefficients**2 * problem.forms.correction(problem.terms.sizes)).sum())


def below(problem: NoisedOnce, value: float, share: float) -> float:
    """Return what is a share below a value, also once the finite population correction is taken off."""
    return value - share * max(value - correction(problem.problem), 0.0)


def best_from(problem: NoisedOnce, price: float, lower: IntArray, guess: IntArray) -> IntArray:
    """Minimise f(n) + λn from ``lower`` on."""
    inner = problem.problem
    every = np.ones(len(lower))
    return best_at_prices(inner.terms, every, price * every, lower, inner.upper, np.maximum(guess, lower))


def priced_costs(
    problem: NoisedOnce, price: float, room_prices: FloatArray, guess: IntArray, sizes: IntArray
) -> FloatArray:
    """Minimise f(n) + λ·(n − sizes) − μ·room(n) in every stratum, less what rounding may have added."""
    n = best_with_room(problem, price, room_prices, guess)
    parts = (
        problem.problem.terms.values(n.astype(float)),
        price * (n - sizes),
        -room_prices * problem.room(n.astype(float)),
    )
    cost = parts[0] + parts[1] + parts[2]
    return np.asarray(cost - ROUNDING * (np.abs(parts[0]) + np.abs(parts[1]) + np.abs(parts[2])))


def best_with_room(problem: NoisedOnce, price: float, room_prices: FloatArray, guess: IntArray) -> IntArray:
    """Minimise f(n) + λn − μ·room(n) in every stratum."""
    inner = problem.problem

    def gain(n: FloatArray, rows: IntArray) -> FloatArray:
        more = problem.room(n + 1.0, rows) - problem.room(n, rows)
        return inner.terms.gain(n, rows) + room_prices[rows] * more

    worth = np.full(len(guess), price + inner.terms.origin)
    return first_not_worth(gain, worth, inner.lower, inner.upper, guess)


def shared_bound(problem: NoisedOnce, sizes: IntArray, price: float, room_prices: FloatArray) -> float:
    """Evaluate the bound of several families at prices of people and of room."""
    bound = float(priced_costs(problem, price, room_prices, sizes, sizes).sum())
    for family, W in zip(problem.families, problem.noise_weights, strict=True):
        per_strength = family.sums(room_prices * family.coefficients) * problem.answer_range
        bound += 3.0 * float(np.cbrt(W * (0.5 * per_strength) ** 2).sum()) * (1.0 - ROUNDING)
    return bound


def roots(excess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both t with t^-2 + 2t = 3 + excess, or a little outside of them: Newton's method from outside."""
    right = 3.0 + excess
    low, high = 1.0 / np.sqrt(right), right / 2.0
    for _ in range(_NEWTON):
        for t in (low, high):
            slope = 2.0 - 2.0 / t**3
            step = np.divide(1.0 / t**2 + 2.0 * t - right, slope, out=np.zeros_like(t), where=slope != 0)
            t -= np.where(np.isfinite(step), step, 0.0)
    return low, high
