r"""A cap on the local budget: nobody's answers may spend more, however well the sample hides them.

With a cap E the noise is that of :math:`\min(e(n), E)`. Below the *kink* :math:`C/(\mathrm{e}^E - 1)` the cap
binds, the noise is constant and f falls like 1/n; above it f is what it was. At the kink the slope drops,
so f stays convex.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpstrata.numerics.arrays import FloatArray
from dpstrata.numerics.twofold import product
from dpstrata.privacy.mechanisms.kernels import Point, Step, point
from dpstrata.privacy.mechanisms.noise import Noise
from dpstrata.privacy.promises.base import Promise


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that one person's answers may spend, and what follows from it.

    Parameters
    ----------
    epsilon : float
        E, > 0.
    promise : Promise
        What is promised to everyone.
    noise : Noise
        That of an answer.
    """

    epsilon: float
    promise: Promise
    noise: Noise
    variance: float = field(init=False)
    """Noise variance at the cap, in its unit."""
    odds_minus_one: float = field(init=False)
    """exp(E) − 1."""
    _rests: tuple[float, float] = field(init=False)  # of exp(E) − 1 and of exp(ε) − 1

    def __post_init__(self) -> None:
        from mpmath import mp

        put = object.__setattr__
        with mp.workdps(40):
            exact = [mp.expm1(mp.mpf(self.epsilon)), self.promise.exact_odds_minus_one(mp)]
            put(self, "odds_minus_one", float(exact[0]))
            rounded = (self.odds_minus_one, self.promise.odds_minus_one)
            put(self, "_rests", tuple(float(a - mp.mpf(b)) for a, b in zip(exact, rounded, strict=True)))
        (noise,) = self.noise.variance_at(point(np.array([self.epsilon]))).tolist()
        put(self, "variance", noise / self.noise.unit)

    def excess(self, n: FloatArray, sizes: FloatArray, rates: FloatArray | float) -> FloatArray:
        """C − n(exp(E) − 1), in twice the working precision: positive where the cap binds."""
        people, people_rest = product(rates, sizes)
        c, X = self.promise.odds_minus_one, self.odds_minus_one
        C, C_rest = product(c, people)
        spent, spent_rest = product(X, n)
        C_rest = C_rest + (c * people_rest + self._rests[1] * people)
        return np.asarray((C - spent) + (C_rest - (spent_rest + self._rests[0] * n)))

    def lift(self, before: Point, n: FloatArray, excess: FloatArray) -> FloatArray:
        """How much more noise the cap adds at ``n``, in its unit, without cancellation."""
        d = np.log1p(excess / (n * (1.0 + self.odds_minus_one)))
        after = point(np.full_like(n, self.epsilon))
        return self.noise.variance_step(Step(before, after, d))
