"""What a solver returns."""

from dataclasses import dataclass
from typing import NamedTuple

from dpstrata.allocation.proof.bound import Bound
from dpstrata.numerics.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Sizes that a solver found.

    Attributes
    ----------
    sizes : array
        Whole numbers, or real ones from the continuous solver.
    relaxed_sizes : array or None
        The optimal real sizes, where the solver passed through them.
    price : float or None
        λ: what one more person would take off the objective. It can be negative.
    radius : float or None
        Radius of the ball that Algorithm 1 searches.
    """

    sizes: IntArray | FloatArray
    relaxed_sizes: FloatArray | None
    price: float | None
    radius: float | None = None


class Bounded(NamedTuple):
    """A design whose proof is a bound."""

    sizes: IntArray
    relaxed_sizes: FloatArray
    bound: Bound


class SingleMeanSolution(NamedTuple):
    """Sizes, scales and their proof.

    Attributes
    ----------
    sizes : array of int
        Sample sizes.
    strengths : tuple of array
        1/b of the figures, by family.
    bound : Bound
        How close they come.
    relaxed_sizes : array
        The best real sizes, nearly.
    room_prices : array or None
        With several families, what proves the bound beside its prices.
    """

    sizes: IntArray
    strengths: tuple[FloatArray, ...]
    bound: Bound
    relaxed_sizes: FloatArray
    room_prices: FloatArray | None = None

    @property
    def prices(self) -> tuple[float, ...]:
        """All that prove the bound."""
        rooms = () if self.room_prices is None else self.room_prices.tolist()
        return (*self.bound.prices, *rooms)

    @property
    def scales(self) -> tuple[FloatArray, ...]:
        """Scales b of the noise of the figures, by family."""
        return tuple(1.0 / strength for strength in self.strengths)
