r"""One term per stratum: how much variance its sample size costs.

For stratum i with size N, standard deviation S, coefficient a and sample size n,

.. math:: f(n) = a^2\, \frac{S^2 + v(e(n))}{n}, \quad e(n) = \ln(1 + C/n), \quad C = (e^{\varepsilon} - 1) N .

A mechanism's variance is :math:`v = R^2 (w\,s(e) + \rho(e))`, and under this e(n) the first part is a
straight line in n: :math:`s(e(n))/n = 2/C + 2n/C^2`. So, up to a constant,

.. math:: f(n) = a^2\, \frac{S^2 + R^2 \rho(e(n))}{n} + t\,n, \qquad t = 2 w R^2 a^2 / C^2 ,

a *core* that falls like 1/n plus a *tilt*, the price of lost secrecy. For the population mean all tilts
are equal and drop out of every comparison; elsewhere they are taken relative to the tilt of one stratum
(the origin). Gains and prices below are measured from that origin: ``gain = f(n) - f(n + 1) + origin``.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dpstrata.arrays import ALL, BLOCK, BoolArray, FloatArray, IntArray, Rows, blocks
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.kernels import SERIES_BELOW, Point, Step, point
from dpstrata.privacy.promise import Promise

Objective = Literal["mean", "trace", "unit_free", "custom"]

EXACT_DIGITS = 100
# Digits that f(n) − f(n+1) may lose by plain subtraction: 24 at n = 1e12, 26 at ε = 1e-6, and a margin.
_WORKING_DIGITS = EXACT_DIGITS + 60

_SPACING = float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The functions f_i of a problem, with their differences and derivatives.

    Every method takes sample sizes for the strata in ``rows`` and is vectorised over them.

    Parameters
    ----------
    sizes, sds, coefficients : array
        N, S and a of each stratum.
    objective : str
        How the coefficients came about; near-ties need them exactly.
    promise : Promise
        What is promised to everyone.
    mechanism : Mechanism
        What noises an answer.
    """

    sizes: IntArray
    sds: FloatArray
    coefficients: FloatArray
    objective: Objective
    promise: Promise
    mechanism: Mechanism
    tilts: FloatArray | None = field(init=False, default=None)
    """t of each stratum, or ``None`` where all are equal."""
    slope: FloatArray | None = field(init=False, default=None)
    """Tilts less the origin, each to its own full precision, or ``None`` where all are equal."""
    origin: float = field(init=False, default=0.0)
    _population: int = field(init=False, default=0)
    _C: FloatArray = field(init=False)
    _A: FloatArray = field(init=False)  # a²R²
    _V: FloatArray = field(init=False)  # S²/R²

    def __post_init__(self) -> None:
        put = object.__setattr__
        R, c = self.mechanism.answer_range, self.promise.odds_minus_one
        put(self, "_population", int(self.sizes.sum()))
        put(self, "_C", self.sizes * c)
        for name, root in (("_A", self.coefficients * R), ("_V", self.sds / R)):
            root *= root
            put(self, name, root)
        if self.objective == "mean":
            put(self, "origin", 2.0 * self.mechanism.weight * (R / c / self._population) ** 2)
        else:
            ratio = self._A / self._C / self._C
            tilts = 2.0 * self.mechanism.weight * ratio
            put(self, "tilts", tilts)
            self._measure_from(int(np.argmin(tilts)))

    def __len__(self) -> int:
        return len(self.sizes)

    def _measure_from(self, reference: int) -> None:
        if self.tilts is not None:
            put = object.__setattr__
            put(self, "origin", float(self.tilts[reference]))
            put(self, "slope", self._tilt_differences(reference))

    def measured_from(self, reference: int) -> Terms:
        """Return the same terms with the origin at the tilt of stratum ``reference``."""
        if self.tilts is None or self.tilts[reference] == self.origin:
            return self
        other = copy(self)
        other._measure_from(reference)
        return other

    def _tilt_differences(self, j: int) -> FloatArray:
        """Tilts less that of stratum ``j``, without cancellation.

        A tilt is K·q² with q = a/N, so the difference is K·(q_i − q_j)(q_i + q_j), and q_i − q_j comes from a
        difference of two products that is taken in twice the working precision.
        """
        N = self.sizes.astype(float)
        if self.objective == "unit_free":  # q = 1/(S·N)
            below, above = self.sds * N, np.ones(1)
            difference = _difference_of_products(self.sds[j], N[j], self.sds, N)
        else:
            below, above = N, np.abs(self.coefficients)
            difference = _difference_of_products(above, N[j], above[j], N)
        q = above / below
        constant = (
            2.0 * self.mechanism.weight * (self.mechanism.answer_range / self.promise.odds_minus_one) ** 2
        )
        slope: FloatArray = constant * (difference / (below * below[j])) * (q + q[j])
        return slope

    # --- budgets and values -------------------------------------------------------------------

    def budgets(self, n: FloatArray, rows: Rows = ALL) -> Point:
        """Local budgets at sample sizes ``n``."""
        C = self._C[rows]
        return Point(np.log1p(C / n), n, C)

    def noise_variances(self, n: FloatArray, rows: Rows = ALL) -> FloatArray:
        """v(e(n)): the noise variance of one answer."""
        return self._blockwise(lambda m, part: self.mechanism.variance_at(self.budgets(m, part)), n, rows)

    def values(self, n: FloatArray, rows: Rows = ALL) -> FloatArray:
        """f(n), whole: with the tilt and without the finite population correction."""

        def value(m: FloatArray, part: Rows) -> FloatArray:
            noise = self.mechanism.variance_at(self.budgets(m, part)) / self.mechanism.answer_range**2
            return self._A[part] * ((self._V[part] + noise) / m)

        return self._blockwise(value, n, rows)

    def _whole(self, at: Point) -> bool:
        """Whether tilt and core need not be kept apart: all budgets are large, so the tilt is small."""
        return self.mechanism.constant_remainder is None and bool(at.e.min() >= SERIES_BELOW)

    # --- differences --------------------------------------------------------------------------

    def gain(self, n: FloatArray, rows: Rows = ALL) -> FloatArray:
        """f(n) - f(n + 1) + origin: what the next person adds in precision."""

        def gain(m: FloatArray, part: Rows) -> FloatArray:
            C = self._C[part]
            more = m + 1.0
            before = Point(np.log1p(C / m), m, C)
            d = np.log1p(C / (m * (more + C)))
            after = Point(before.e - d, more, C)
            whole = self._whole(before)
            # (S² + R²ρ)/(n(n+1)) − R²Δρ/(n+1), all in units of R²
            core = self.mechanism.remainder(before, whole=whole)
            core += self._V[part]
            core /= m
            core -= self.mechanism.remainder_step(Step(before, after, d), whole=whole)
            core *= self._A[part] / more
            if whole:  # the tilt is still in it
                core += self.origin if self.tilts is None else self.tilts[part]
            if self.slope is not None:
                core -= self.slope[part]
            return core

        return self._blockwise(gain, n, rows)

    def gain_error(self, gain: FloatArray | float, rows: Rows = ALL) -> FloatArray:
        """Bound on the rounding error of :meth:`gain` where it is near ``gain``.

        One bound for each of ``rows``; for a single gain and equal tilts, one for all.
        """
        if self.slope is None:
            return np.asarray(self._error * np.abs(gain))
        slope = self.slope[rows]
        return np.asarray(self._error * (np.abs(gain + slope) + np.abs(slope)))

    @property
    def _error(self) -> float:
        return self.mechanism.rounding * _SPACING

    def is_straight(self, rows: Rows = ALL) -> BoolArray:
        """Whether f is a straight line: each further person is worth exactly the same."""
        straight: BoolArray = self._A[rows] == 0
        if self.mechanism.constant_remainder == 0:
            straight |= self._V[rows] == 0
        return straight

    # --- derivatives --------------------------------------------------------------------------

    def curve(self, x: FloatArray, rows: Rows = ALL) -> tuple[FloatArray, FloatArray]:
        """W and H with -f' = A·W/x² - tilt and f'' = A·H/x³, at real sample sizes ``x``."""
        at = self.budgets(x, rows)
        whole = self._whole(at)
        rho, first, second = self.mechanism.remainder_slopes(at, whole=whole)
        base = self._V[rows] + rho
        z = at.z
        lift = z * first
        W = base + lift
        if whole:  # take the tilt out: t·x²/A = 2w(x/C)²
            ratio = x / self._C[rows]
            W += (2.0 * self.mechanism.weight) * ratio * ratio
        return W, 2.0 * base + (4.0 - z) * lift + z * z * second

    def marginal(self, x: FloatArray) -> FloatArray:
        """-f' + origin at real sample sizes ``x``."""
        W, _ = self.curve(x)
        marginal = self._A * W / (x * x)
        return marginal if self.slope is None else marginal - self.slope

    @property
    def falls_like_inverse(self) -> bool:
        """Whether every core is exactly A·W/n with W constant, so that the relaxation has a closed form."""
        return self.mechanism.constant_remainder is not None

    def core_weights(self, total: int) -> FloatArray:
        """√(A·W), W held at the budget that everyone would have if all sampling rates were equal."""
        rate = total / float(self._population)
        remainder = self.mechanism.remainder(point(np.log1p(np.array([self.promise.odds_minus_one / rate]))))
        weights = self._V + remainder  # one array, in place: large problems wait for fresh memory
        weights *= self._A
        return np.sqrt(weights, out=weights)

    @property
    def scale(self) -> FloatArray:
        """A = a²R², the factor of every core."""
        return self._A

    # --- exact arithmetic ---------------------------------------------------------------------

    def exact_gain(self, row: int, n: int) -> Any:
        """f(n) - f(n + 1) of one stratum in mpmath, to 100 digits; no origin is added."""
        from mpmath import mp

        with mp.workdps(_WORKING_DIGITS):
            return self.exact_value(row, n) - self.exact_value(row, n + 1)

    def exact_value(self, row: int, n: int) -> Any:
        """f(n) of one stratum in mpmath, by the textbook formula."""
        from mpmath import mp

        with mp.workdps(_WORKING_DIGITS):
            N, S = int(self.sizes[row]), mp.mpf(float(self.sds[row]))
            match self.objective:
                case "mean":
                    a = mp.mpf(N) / self._population
                case "unit_free":
                    a = 1 / S
                case _:
                    a = mp.mpf(float(self.coefficients[row]))
            e = mp.log1p(mp.expm1(mp.mpf(self.promise.epsilon)) * N / n)
            return a**2 * (S**2 + self.mechanism.exact_variance(e)) / n

    # --- blocks -------------------------------------------------------------------------------

    def _blockwise(self, function: Any, n: FloatArray, rows: Rows) -> FloatArray:
        """Evaluate in pieces that stay in cache when all strata are asked for."""
        if not len(n):
            return np.empty(0)
        if len(n) <= BLOCK:
            return function(n, rows)  # type: ignore[no-any-return]
        out = np.empty(len(n))
        for part in blocks(len(n)):
            out[part] = function(n[part], part if isinstance(rows, slice) else rows[part])
        return out


def _difference_of_products(x: Any, y: Any, u: Any, v: Any) -> FloatArray:
    """x·y − u·v in twice the working precision (Dekker 1971)."""
    first, first_rest = _product(x, y)
    second, second_rest = _product(u, v)
    return np.asarray((first - second) + (first_rest - second_rest))


def _product(x: Any, y: Any) -> tuple[Any, Any]:
    """x·y and what rounding left out."""
    product = x * y
    x_high, y_high = _upper_half(x), _upper_half(y)
    x_low, y_low = x - x_high, y - y_high
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _upper_half(x: Any) -> Any:
    shifted = x * 134217729.0  # 2^27 + 1
    return shifted - (shifted - x)
