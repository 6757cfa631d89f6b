"""What invitations cost, in the decimals in which costs and budgets are written.

Ten times 0.1 is 1 here, although in binary it is not: sums that decide are exact.
"""

import math
from fractions import Fraction

import numpy as np

from dpstrata.numerics.arrays import FloatArray, IntArray

_MOST_EXACT = 20_000  # different costs


def total_cost(costs: FloatArray, sizes: IntArray) -> float:
    """Cost of an allocation, correctly rounded; beyond 20,000 different costs nearly so."""
    prices, people = _grouped(costs, sizes)
    if len(prices) > _MOST_EXACT:
        return math.fsum((prices * people).tolist())
    return float(_exact(prices, people))


def fits_budget(costs: FloatArray, sizes: IntArray, budget: float) -> bool:
    """Whether an allocation costs at most ``budget``."""
    rough = float((costs * sizes).sum())
    if abs(rough - budget) > 1e-9 * budget:
        return rough < budget
    return _exact(*_grouped(costs, sizes)) <= Fraction(repr(float(budget)))


def _grouped(costs: FloatArray, sizes: IntArray) -> tuple[FloatArray, IntArray]:
    """Return every different cost, and how many people have it."""
    prices, place = np.unique(costs, return_inverse=True)
    people = np.zeros(len(prices), dtype=np.int64)
    np.add.at(people, place, sizes)
    return prices, people


def _exact(prices: FloatArray, people: IntArray) -> Fraction:
    pairs = zip(prices.tolist(), people.tolist(), strict=True)
    return sum((Fraction(repr(price)) * number for price, number in pairs), Fraction(0))
