r"""How large noise is at a local budget: the part of a mechanism that planning needs.

Every noise variance is written as

.. math:: v(e) = U \left( \frac{q}{y^2} + \frac{l}{y} + \psi(e) \right), \qquad y = e^e - 1

with a unit U, two numbers, ``square`` and ``linear``, and a remainder :math:`\psi` that stays bounded as the
budget goes to zero. Under amplification y is C/n, so that over n the first part is a straight line in the
sample size and the second a constant. Where q = l, both together are a multiple of the kernel :math:`s` of
:mod:`dpstrata.privacy.mechanisms.kernels`.

Taking the two parts off only matters for small budgets. With ``whole=True`` a noise is asked for :math:`v/U`
itself in place of :math:`\psi`, which is cheaper; it is only asked where every budget is at least
``kernels.SERIES_BELOW``, and never unless ``takes_whole``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpstrata.numerics.arrays import BoolArray, FloatArray
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.kernels import Point, Slopes, Step


class Noise(ABC):
    """A noise variance as a function of the budget, with two derivatives and stable differences."""

    unit: float = 1.0
    """U, in which variances are counted."""
    square: float
    """q: how many times 1/y² the variance contains, in its unit."""
    linear: float
    """l: how many times 1/y it contains."""
    rounding: float = 64.0
    """Bound on the rounding error of a gain, in spacings of doubles; closer gains are settled in mpmath."""
    constant_remainder: float | None = None
    """The remainder, where it does not depend on the budget; then closed forms hold."""

    @property
    def takes_whole(self) -> bool:
        """Whether v/U may be asked for in place of the remainder, at large budgets."""
        return self.constant_remainder is None

    @abstractmethod
    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """ψ, in the unit."""

    @abstractmethod
    def remainder_slopes(self, at: Point, *, whole: bool = False) -> Slopes:
        """ψ, ψ' and ψ'', in the unit."""

    @abstractmethod
    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """ψ(after) - ψ(before), without cancellation."""

    @abstractmethod
    def exact_variance(self, e: Any) -> Any:
        """Textbook variance at an mpmath number ``e``, at mpmath's current precision."""

    def variance_at(self, at: Point) -> FloatArray:
        """Variance at described budgets."""
        inverse = at.b / at.z  # 1/y
        return self.unit * (inverse * (self.linear + self.square * inverse) + self.remainder(at))

    def variance_step(self, step: Step) -> FloatArray:
        """Increase of the variance over a step, in the unit, without cancellation."""
        before, after = step.before, step.after
        rise = before.b * np.expm1(step.d) / (before.z * after.z)  # of 1/y
        both = before.b / before.z + after.b / after.z
        return rise * (self.linear + self.square * both) + self.remainder_step(step)


class ConstantRemainder(Noise):
    """Noise whose variance is q/y² + l/y and a constant, by default zero."""

    constant_remainder: float = 0.0

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """Return the constant."""
        return np.full_like(at.e, self.constant_remainder)

    def remainder_slopes(self, at: Point, *, whole: bool = False) -> Slopes:
        """Return the constant, which does not change."""
        zero = np.zeros_like(at.e)
        return self.remainder(at), zero, zero

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Zero."""
        return np.zeros_like(step.d)


class ScaledNoise(Noise):
    """Noise of another size: g·v(e).

    Parameters
    ----------
    noise : Noise
        v.
    factor : float
        g > 0.
    """

    def __init__(self, noise: Noise, factor: float) -> None:
        self._noise, self._factor = noise, factor
        self.unit = factor * noise.unit
        self.square, self.linear, self.rounding = noise.square, noise.linear, noise.rounding
        self.constant_remainder = noise.constant_remainder

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """ψ of the other."""
        return self._noise.remainder(at, whole=whole)

    def remainder_slopes(self, at: Point, *, whole: bool = False) -> Slopes:
        """ψ of the other, with two derivatives."""
        return self._noise.remainder_slopes(at, whole=whole)

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of ψ of the other."""
        return self._noise.remainder_step(step, whole=whole)

    def exact_variance(self, e: Any) -> Any:
        """g·v(e)."""
        return e.context.mpf(self._factor) * self._noise.exact_variance(e)


class SummedNoise(Noise):
    """Several noises at the same budget, added up.

    Parameters
    ----------
    noises : sequence of Noise
        At least one.
    """

    def __init__(self, noises: Sequence[Noise]) -> None:
        self._noises = tuple(noises)
        self.square = sum(each.unit * each.square for each in noises)
        self.linear = sum(each.unit * each.linear for each in noises)
        self.rounding = max(each.rounding for each in noises)
        constants = [each.constant_remainder for each in noises]
        known = [
            each.unit * constant
            for each, constant in zip(noises, constants, strict=True)
            if constant is not None
        ]
        self.constant_remainder = sum(known) if len(known) == len(constants) else None

    @property
    def takes_whole(self) -> bool:
        """Whether all of them do."""
        return all(each.takes_whole for each in self._noises)

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """ψ of all."""
        parts = [each.unit * each.remainder(at, whole=whole) for each in self._noises]
        return np.asarray(np.sum(parts, axis=0))

    def remainder_slopes(self, at: Point, *, whole: bool = False) -> Slopes:
        """ψ of all, with two derivatives."""
        each = [(noise.unit, noise.remainder_slopes(at, whole=whole)) for noise in self._noises]
        value, first, second = (np.sum([unit * s[i] for unit, s in each], axis=0) for i in range(3))
        return value, first, second

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of ψ of all."""
        parts = [each.unit * each.remainder_step(step, whole=whole) for each in self._noises]
        return np.asarray(np.sum(parts, axis=0))

    def exact_variance(self, e: Any) -> Any:
        """Sum of the variances."""
        return sum((each.exact_variance(e) for each in self._noises), e.context.mpf(0))


class TableNoise(Noise):
    r"""The office's noise on several tables that share a budget.

    .. math:: v(e) = \sum_t g_t\, (s(e / q_t) + \psi_t(e / q_t))

    A table whose counts one person moves by :math:`q` in all has discrete Laplace noise of the variance
    s(e/q) on every count, and then ψ is 0; g is what that adds up to in the result. The sum of answers that
    are no counts has noise of a mechanism, of which :math:`s + \psi` is the variance in squared ranges, at
    the part 1/q of the budget. With :math:`s = 2/e^2 - r`, s(e/q) is :math:`q^2 s(e) + q^2 r(e) - r(e/q)`:
    s(e) weighs :math:`\sum g q^2`, and the remainder stays bounded.

    Parameters
    ----------
    factors, sensitivities : array
        g >= 0 and q >= 1 of every table.
    mechanism : Noise, optional
        What noises sums; 2/y² + 2/y is what it has beside ψ, in its unit.
    sums : array of bool, optional
        Which tables are such sums.
    """

    def __init__(
        self,
        factors: FloatArray,
        sensitivities: FloatArray,
        mechanism: Noise | None = None,
        sums: BoolArray | None = None,
    ) -> None:
        q, table = np.unique(sensitivities, return_inverse=True)  # those alike count as one
        # of a single one plain numbers, so that nothing needs a column for each
        self._q, self._g = q.squeeze(), np.bincount(table, weights=factors, minlength=len(q)).squeeze()
        self._mechanism = mechanism
        of_sums = np.where(np.zeros(len(factors), dtype=bool) if sums is None else sums, factors, 0.0)
        self._h = np.bincount(table, weights=of_sums, minlength=len(q)).squeeze()
        self._weight = float((factors * sensitivities**2).sum())
        self.square = self.linear = 2.0 * self._weight
        # Σ g·r(e/q) is the series of r with Σ g/q^2j for its coefficients
        powers = np.arange(len(kernels.SERIES))[:, None]
        moments = (factors / sensitivities ** (2.0 * powers)).sum(axis=1)
        self._series = tuple((np.array(kernels.SERIES) * moments).tolist())
        # every part magnifies the rounding of e by e/q, and their sum has no cancellation
        self.rounding = 256.0

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """v(e), less the weight times s(e); for small budgets the weight times r(e), less Σ g·r(e/q)."""
        small = np.flatnonzero(at.e < kernels.SERIES_BELOW) if not whole else np.empty(0, dtype=np.int64)
        parts = self._parts(at.e)
        value = np.dot(kernels.s(parts), self._g)
        if not whole:
            value -= self._weight * kernels.s(at)
        if small.size:
            e = at.e[small]
            value[small] = self._weight * kernels.series(e) - kernels.series(e, self._series)
        if self._mechanism is not None:
            value += np.dot(self._mechanism.remainder(parts), self._h)
        return np.asarray(value)

    def _parts(self, e: FloatArray) -> Point:
        """Describe the budgets of all tables: a column each."""
        return kernels.point(np.divide.outer(e, self._q))

    def remainder_slopes(self, at: Point, *, whole: bool = False) -> Slopes:
        """v(e), less the weight times s(e), with two derivatives."""
        at_parts = self._parts(at.e)
        parts = kernels.s_slopes(at_parts)
        slopes = [np.dot(part, self._g / self._q**order) for order, part in enumerate(parts)]
        if not whole:
            for slope, taken in zip(slopes, kernels.s_slopes(at), strict=True):
                slope -= self._weight * taken
            small = np.flatnonzero(at.e < kernels.SERIES_BELOW)
            if small.size:
                e = at.e[small]
                plain, split = kernels.series_slopes(e), kernels.series_slopes(e, self._series)
                for slope, one, other in zip(slopes, plain, split, strict=True):
                    slope[small] = self._weight * one - other
        if self._mechanism is not None:
            more = self._mechanism.remainder_slopes(at_parts)
            slopes = [
                s + np.dot(m, self._h / self._q**order)
                for order, (s, m) in enumerate(zip(slopes, more, strict=True))
            ]
        return slopes[0], slopes[1], slopes[2]

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of v(e), less the weight times s(e)."""
        before, after = self._parts(step.before.e), self._parts(step.after.e)
        parts = Step(before, after, np.divide.outer(step.d, self._q))
        increase = np.dot(kernels.s_step(parts), self._g)
        if not whole:
            increase -= self._weight * kernels.s_step(step)
            small = np.flatnonzero(step.before.e < kernels.SERIES_BELOW)
            if small.size:
                ends = step.before.e[small], step.after.e[small], step.d[small]
                plain, split = kernels.series_step(*ends), kernels.series_step(*ends, self._series)
                increase[small] = self._weight * plain - split
        if self._mechanism is not None:
            increase += np.dot(self._mechanism.remainder_step(parts), self._h)
        return np.asarray(increase)

    def exact_variance(self, e: Any) -> Any:
        """Σ g/(2·sinh²(e/(2q))), of sums the mechanism's at e/q."""
        mp, total = e.context, e.context.mpf(0)
        for g, h, q in zip(self._g.ravel(), self._h.ravel(), self._q.ravel(), strict=True):
            part = e / mp.mpf(float(q))
            total += (mp.mpf(float(g)) - mp.mpf(float(h))) / (2 * mp.sinh(part / 2) ** 2)
            if h > 0 and self._mechanism is not None:
                total += mp.mpf(float(h)) * self._mechanism.exact_variance(part) / self._mechanism.unit
        return total


class RowNoise(ConstantRemainder):
    r"""Rows of which a share is replaced by random ones, at the local budget of each person.

    .. math:: v(e) = \frac{l}{y} + \frac{q}{y^2}, \qquad y = e^e - 1

    With y = C/n the first part adds the same to every term, however many people are asked.

    Parameters
    ----------
    linear, square : float
        l and q.
    """

    def __init__(self, linear: float, square: float) -> None:
        self.linear, self.square = linear, square

    def exact_variance(self, e: Any) -> Any:
        """l/y + q/y²."""
        mp = e.context
        y = mp.expm1(e)
        return mp.mpf(self.linear) / y + mp.mpf(self.square) / y**2


NO_NOISE = RowNoise(0.0, 0.0)
"""Of strata that have none of their own, because it is added to figures of many."""
