r"""The sine mechanism: unbiased, as noisy for every answer, and close to the least noise there can be.

An answer x between −1 and 1 is sent as a number u between 0 and 1, and read as a point of a sine curve. With
X = exp(e), y = X − 1, two angles ν and a, τ = a + ν, θ = 2τ and the half width h = ν/θ:

- The place of x is c = ½ + arcsin(x·sin a)/θ. What is sent lies within h of it with the density ρX, and
  anywhere else with the density ρ = τ/(τ + νy). So the odds of any u are at most X : 1, which is the promise.
- It is read as D·sin(θ(u − ½)), with D = (τ + νy)/(y·sin ν·sin a). The sine integrates over any window of
  half width h to a multiple of the sine of its middle, which is the multiple of x that D undoes.
- The variance of that is V₀ + βx². With probability q = β/(1 + β) = 1 − y·tan ν/(τ + νy) x is rounded at
  random to one of the two ends instead, which is sent with odds X : 1 and read as ±C, C = (X + 1)/(X − 1).
  That has the variance C² − x², so the two together have the same variance for every answer:

.. math:: y^2 V = q (y + 2)^2 + \frac{y\,(2τ - \sin 2τ + y (2ν - \sin 2ν))}{2 \sin 2ν \sin^2 a}, \qquad
          v(e) = \frac{R^2}{4} V .

Any two angles with q ≥ 0 are private and unbiased; the ones chosen here are the best but for 3e-5 of the
variance (4e-4 below the joint). From the joint, e = 1.972, they are such that q = 0. At the joint they are
the very best ones: there the variance does not change with them, so v(e) has no corner although they do.

``docs/explanation/least-noise.md`` shows how near that is to the least variance of any mechanism.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import CellNoise, GridNoise
from dpstrata.privacy.mechanisms.kernels import Point, Slopes, Step
from dpstrata.privacy.rows import DENOMINATOR, Source, below, drawn_near

# ν and a where both branches meet, the exact minimiser of V there, and how a changes on either side.
_NU, _A = 0.9011004607923701, 1.3378274627886779
_BELOW = 0.157  # with e; ν stays the same
_ABOVE = 0.205  # with ν, which falls


def joint(mp: Any) -> Any:
    """Return the budget from which on q = 0, about 1.972194, at the precision of an mpmath context."""
    return mp.log1p((mp.mpf(_A) + _NU) / (mp.tan(mp.mpf(_NU)) - _NU))


_JOINT = math.log1p((_A + _NU) / (math.tan(_NU) - _NU))


class Sine(Mechanism):
    """v(e) as above, for any number in the range."""

    name = "sine"
    title = "Sine"
    square = 1.0
    linear = 1.1361185686224565  # of v·y as e goes to 0, once 1/y² is off
    additive = False
    rounding = 512.0  # near the joint ψ is a small difference of v and the two parts that are taken off

    def never_worse_than(self, least: float, most: float) -> frozenset[str]:
        """Whatever else protects more than two values; see ``docs/explanation/least-noise.md``."""
        worse = {"laplace", "tulap", "staircase", "piecewise"}
        if self.space.values != 2:
            worse.add("discrete_laplace")
        return frozenset(worse)

    # Up to the joint ψ is a polynomial in e, from there on v is w² times a polynomial in w = y^(-1/3), both
    # fitted to the formula to less than 1e-17 of it. That saves solving for ν at every budget of every
    # stratum; the tests compare with the formula.

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """ψ, or v from the joint on."""
        low = at.e < _JOINT
        if low.all():
            return kernels.polynomial(at.e, _LOW)
        u, w = _inverse(at)
        value = w * w * kernels.polynomial(w, _HIGH)
        if not whole:
            value -= u * (self.linear + u * self.square)
        if low.any():
            value[low] = kernels.polynomial(at.e[low], _LOW)
        return value

    def remainder_slopes(self, at: Point, *, whole: bool = False) -> Slopes:
        """Evaluate the same with two derivatives; u' = −u(1 + u) and w' = −w(1 + u)/3."""
        low = at.e < _JOINT
        if low.all():
            return kernels.polynomial_slopes(at.e, _LOW)
        u, w = _inverse(at)
        P, P1, P2 = kernels.polynomial_slopes(w, _HIGH)
        fall = (1.0 + u) / 3.0
        first = -w * fall
        second = w * fall * (fall + u)
        F1, F2 = w * (2.0 * P + w * P1), 2.0 * P + w * (4.0 * P1 + w * P2)
        slopes = [w * w * P, F1 * first, F2 * first * first + F1 * second]
        if not whole:
            u1 = -u * (1.0 + u)
            line = self.linear + 2.0 * self.square * u
            slopes[0] -= u * (self.linear + u * self.square)
            slopes[1] -= line * u1
            slopes[2] -= 2.0 * self.square * u1 * u1 - line * u1 * (1.0 + 2.0 * u)
        if low.any():
            for slope, part in zip(slopes, kernels.polynomial_slopes(at.e[low], _LOW), strict=True):
                slope[low] = part
        return slopes[0], slopes[1], slopes[2]

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of the same, from that of e, or of u and with it of w, to the joint and from there."""
        e0, e1 = step.before.e, step.after.e
        if (e0 <= _JOINT).all():
            return -step.d * kernels.polynomial_secant(e0, e1, _LOW)
        u0, w0 = _inverse(step.before)
        u1, w1 = _inverse(step.after)
        rise = step.before.b * np.expm1(step.d) / (step.before.z * step.after.z)
        crossing = (e0 > _JOINT) & (e1 < _JOINT)
        end = u1
        if crossing.any():  # up to the joint here, and on from it below
            u1, w1 = np.where(crossing, _JOINT_U, u1), np.where(crossing, _JOINT_W, w1)
            beyond = np.where(crossing, rise, 0.0)
            rise = np.where(crossing, _JOINT_U * np.expm1(_JOINT - e0) / np.expm1(-e0), rise)
            beyond -= np.where(crossing, rise, 0.0)
        moved = rise / (w0 * w0 + w0 * w1 + w1 * w1)
        P0 = kernels.polynomial(w0, _HIGH)
        increase = moved * (w1 * w1 * kernels.polynomial_secant(w0, w1, _HIGH) + (w0 + w1) * P0)
        if not whole:
            increase -= rise * (self.linear + self.square * (u0 + u1))
        if crossing.any():
            start = np.full(int(crossing.sum()), _JOINT)
            # of d, not of e1: an error in where a short step is split then does not change its length
            rest = step.d[crossing] - (e0[crossing] - _JOINT)
            increase[crossing] -= rest * kernels.polynomial_secant(start, e1[crossing], _LOW)
            if whole:
                increase += beyond * (self.linear + self.square * (u1 + end))
        low = e0 <= _JOINT
        if low.any():
            increase[low] = -step.d[low] * kernels.polynomial_secant(e0[low], e1[low], _LOW)
        return increase

    def simulated_release(self, shares: FloatArray, e: float, generator: np.random.Generator) -> FloatArray:
        """Draw a place on the sine curve, or an end; for simulations only."""
        nu, a, q = _angles(e)
        tau, y = a + nu, math.expm1(e)
        x, half = 2.0 * shares - 1.0, nu / (2.0 * tau)
        middle = 0.5 + np.arcsin(x * math.sin(a)) / (2.0 * tau)
        inside = generator.random(shares.shape) < nu * (y + 1.0) / (tau + nu * y)
        place = generator.random(shares.shape)
        outside = place * (1.0 - 2.0 * half)  # the rest of [0, 1], with the window cut out
        outside = np.where(outside < middle - half, outside, outside + 2.0 * half)
        sent = np.where(inside, middle + half * (2.0 * place - 1.0), outside)
        read = (tau + nu * y) / (y * math.sin(nu) * math.sin(a)) * np.sin(2.0 * tau * (sent - 0.5))
        if q > 0:
            end = np.where(generator.random(shares.shape) < shares, 1.0, -1.0)
            kept = generator.random(shares.shape) < 1.0 / (1.0 + math.exp(-e))
            ends = np.where(kept, end, -end) / math.tanh(0.5 * e)
            read = np.where(generator.random(shares.shape) < q, ends, read)
        return np.asarray((read + 1.0) / 2.0)

    def informative(self, e: float) -> float:
        """1 − (1 − q)ρ − 2q/(y + 2), for the cells that are sent."""
        return SineCells(e).informative

    def grid_steps(self, e: float) -> int:
        """Return the number of levels of answers, less one."""
        return SineCells(e).steps

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Return cells, whose levels follow from the budget."""
        return SineCells(e)

    def exact_variance(self, e: Any) -> Any:
        """R²/4·V."""
        mp = e.context
        nu, a, q = angles(e, mp)
        y, tau = mp.expm1(e), a + nu
        waves = 2 * tau - mp.sin(2 * tau) + y * (2 * nu - mp.sin(2 * nu))
        whole = q * (y + 2) ** 2 + y * waves / (2 * mp.sin(2 * nu) * mp.sin(a) ** 2)
        return mp.mpf(self.answer_range) ** 2 * whole / (4 * y * y)


def angles(e: Any, mp: Any) -> tuple[Any, Any, Any]:
    """Return ν, a and q at one budget, at the precision of an mpmath context."""
    y, nu, a = mp.expm1(e), mp.mpf(_NU), mp.mpf(_A)
    if e < joint(mp):
        a -= mp.mpf(_BELOW) * (joint(mp) - e)
        return nu, a, 1 - y * mp.tan(nu) / (a + nu + nu * y)
    # q = 0 where τ = y(tan ν − ν): Newton's method from the right, where the difference is convex
    level, slope = a - mp.mpf(_ABOVE) * nu, mp.mpf(_ABOVE)
    nu = min(nu, mp.cbrt(3 * (level + (1 + slope) * nu) / y))
    while True:
        gap = y * _tan_excess(nu, mp) - level - (1 + slope) * nu
        step = gap / (y * mp.tan(nu) ** 2 - 1 - slope)
        nu -= step
        if step <= 8 * mp.eps * nu:  # from the right every step is one down, but for rounding
            return nu, level + slope * nu, mp.mpf(0)


def _angles(e: float) -> tuple[float, float, float]:
    """Return the same in double precision."""
    from mpmath import fp

    nu, a, q = angles(e, fp)
    return float(nu), float(a), float(q)


def _tan_excess(nu: Any, mp: Any = math) -> Any:
    """Return tan ν − ν, which loses digits as it stands where ν is small."""
    if not isinstance(nu, float):
        with mp.extraprec(-3 * mp.mag(nu) + 10 if nu < 1 else 0):
            return mp.tan(nu) - nu
    if nu > 0.1:
        return math.tan(nu) - nu
    s = nu * nu
    return nu * s * (1 / 3 + s * (2 / 15 + s * (17 / 315 + s * (62 / 2835 + s * 1382 / 155925))))


def _inverse(at: Point) -> tuple[FloatArray, FloatArray]:
    """Return u = 1/y and its cube root w."""
    u = at.b / at.z
    return u, np.cbrt(u)


class SineCells(CellNoise):
    """The sine mechanism on cells: exactly private and, but for the rounding of doubles, unbiased.

    There are M cells and a window of w of them for every level of answers, M − w + 1 in all. An answer is put
    on one of the two levels next to it, at random, and a cell is drawn: each in the window is 1 + P/Q times
    as likely as each outside. With φ for the angle of a cell the sines of cells and windows add up as they
    integrate, so that all of the formulas hold cell by cell, with levels sin γ_i/sin γ_last at the middles
    γ_i of the windows. φ is chosen such that every level has the same variance. Below the joint the two ends
    are cells M and M + 1.

    Attributes
    ----------
    angle : int
        φ, in units of 2⁻⁶⁴.
    ends : int
        In how many of 2⁴⁰ cases an end is sent.
    stretch : float
        D: a cell is read as D·sin of its angle from the middle, in half ranges.
    """

    slack = 1e-9  # of sines that differ in their last digit

    def __init__(self, e: float) -> None:
        e = min(e, _FINEST)
        nu, a, q = _angles(e)
        w = self.window = _WINDOW
        super().__init__(e, round(w * a / nu))
        y, M = self.y, self.steps + w
        self.line = M
        mass = 1.0 / (M + w * y)  # of a cell outside the window
        if q == 0:
            nu = _balanced(w, y * mass, M * mass, nu)
        self.angle = round(2.0 * nu / w * _ONE)
        self._angle = self.angle / _ONE
        half, last = 0.5 * self._angle, 0.5 * self._angle * self.steps
        window = math.sin(w * half) / math.sin(half)
        self._sine_of_last = math.sin(last)
        self.stretch = 1.0 / (mass * y * window * self._sine_of_last)
        excess = math.sin(w * self._angle) / math.sin(self._angle) / (mass * y * window**2) - 1.0
        self.ends = round(excess / (1.0 + excess) * DENOMINATOR) if q > 0 else 0
        self._at_ends = self.ends / DENOMINATOR
        self._end = (y + 2.0) / y
        self.cells = M + 2 * (self.ends > 0)
        self.informative = 1.0 - (1.0 - self._at_ends) * M * mass - self._at_ends * 2.0 / (y + 2.0)
        most = self.stretch * math.sin(min(half * (M - 1), math.pi / 2))
        most = max(most, self._end if self.ends else 0.0)
        self._set_units(most)
        self._most = round(most * (self.units / 2))

    # --- levels of answers --------------------------------------------------------------------

    @property
    def level_places(self) -> Sequence[int]:
        """Return the sines of the levels less that of the first, in units of 2⁻⁶⁴."""
        return _SineLevels(self.angle, self.steps)

    @property
    def specification(self) -> dict[str, Any]:
        """Return what levels, windows and readings follow from."""
        ends = {"ends": str(self.ends), "end": self._end} if self.ends else {}
        sizes = {"cells": self.cells, "line": self.line, "window": self.window, "last": self.steps}
        return {**sizes, "angle": str(self.angle), "stretch": self.stretch, **ends}

    def levels(self, k: IntArray) -> FloatArray:
        """Return the shares of the range that levels stand for."""
        x = np.sin(self._angle * (k - 0.5 * self.steps)) / self._sine_of_last
        return np.asarray(0.5 + 0.5 * x)

    # --- cells --------------------------------------------------------------------------------

    def draw(self, level: int, source: Source = secrets.token_bytes) -> int:
        """Draw inside the window or anywhere else; or an end."""
        if not self.ends or below(DENOMINATOR, source) >= self.ends:
            return drawn_near(level, self.window, self.line, self.odds, source)
        upper = below(self.level_places[-1], source) < self.level_places[level]
        kept = below(self.odds + 2 * DENOMINATOR, source) < self.odds + DENOMINATOR
        return self.line + (upper == kept)

    # --- readings -----------------------------------------------------------------------------

    def nearest(self, shares: FloatArray) -> IntArray:
        """Find the cells on either side of the sine's highest and lowest point, and the ends."""
        M, read = self.line, 2.0 * np.asarray(shares) - 1.0
        turn = np.arcsin(np.clip(np.nan_to_num(read / self.stretch), -1.0, 1.0))
        found = [angle / self._angle + 0.5 * (M - 1) for angle in (turn, np.pi - turn, -np.pi - turn)]
        cells = np.clip(np.rint(np.array(found)), 0, M - 1).astype(np.int64)
        if self.ends:
            cells = np.concatenate([cells, np.broadcast_to([[M], [M + 1]], (2, len(read)))])
        distance = np.abs(self.shares(cells) - shares)
        return np.asarray(np.take_along_axis(cells, np.argmin(distance, axis=0)[None], axis=0)[0])

    def in_units(self, outputs: IntArray) -> IntArray:
        """Read cells, as whole numbers of units from the middle of the range."""
        read = self.stretch * np.sin(self._angle * (outputs - 0.5 * (self.line - 1)))
        if self.ends:
            read = np.where(outputs < self.line, read, self._end * (2.0 * (outputs - self.line) - 1.0))
        return self._in_units(read)


class _SineLevels(Sequence[int]):
    """sin(φ(k − s/2)) + sin(φs/2) for k from 0 to s, in whole numbers, the same on every machine."""

    def __init__(self, angle: int, steps: int) -> None:
        self._angle, self._steps = angle, steps
        self._last = _whole_sine(angle * steps // 2)

    def __len__(self) -> int:
        return self._steps + 1

    def __getitem__(self, k: Any) -> Any:
        from_middle = 2 * range(self._steps + 1)[k] - self._steps
        sine = _whole_sine(self._angle * abs(from_middle) // 2)
        return self._last + sine if from_middle > 0 else self._last - sine


def _whole_sine(x: int) -> int:
    """Sum up the series of the sine of x/2⁶⁴, from 0 to 2, in units of 2⁻⁶⁴."""
    square, total, term, n = x * x >> 64, 0, x, 1
    while term:
        total += term if n % 4 == 1 else -term
        term = (term * square >> 64) // ((n + 1) * (n + 2))
        n += 2
    return total


_ONE = 2**64
_WINDOW = 64  # cells: rounding to levels then adds less than 0.1% to the variance, at any budget
_FINEST = 90.0  # beyond it the levels of answers are finer than doubles


def _balanced(w: int, share: float, rest: float, nu: float) -> float:
    """Return the ν at which windows of w cells have the same variance: tan(ν)·share = tan(ν/w).

    By Newton's method on tan(ν)·share − tan(ν/w), in which ν·(share − 1/w) is −ν·rest/w; ``nu`` solves it
    for the finest cells.
    """
    for _ in range(50):
        gap = _tan_excess(nu) * share - _tan_excess(nu / w) - nu * rest / w
        slope = math.tan(nu) ** 2 * share - math.tan(nu / w) ** 2 / w - rest / w
        step = gap / slope
        nu -= step
        if abs(step) <= 1e-15 * nu:
            break
    return nu


# ψ(e) = Σ c_j·e^j up to the joint
_LOW = (
    0.04624581712543444,
    -0.012190058774652818,
    -0.0005179738595799482,
    1.69066794638143e-05,
    0.00011871344137261372,
    2.332766056692222e-05,
    -9.157402364568219e-06,
    -2.4380083898949657e-06,
    6.081228513601267e-07,
    2.1952584526487292e-07,
    -3.35358094974863e-08,
    -2.2885598621656424e-08,
    6.345488459862355e-09,
    -1.933391972045938e-09,
    1.955730750019515e-09,
    -1.0120208729176907e-09,
    2.7620060674676505e-10,
    -4.267557728079868e-11,
    3.5197722966444443e-12,
    -1.1700033473920057e-13,
)
# v = w²·Σ c_j·w^j from the joint on
_HIGH = (
    0.30554890319502287,
    0.41678138096935163,
    0.4390401521478311,
    0.4306086254278667,
    0.3635097722309598,
    0.2710169078229051,
    0.1714955078711071,
    0.0480562848044875,
    -0.07016170525395168,
    -0.10342659241043646,
    -0.08952386693627522,
    0.2849599385207513,
    -0.8127081971678282,
    2.969508694168234,
    -7.222084010366484,
    13.252783861687261,
    -18.55174335135801,
    18.119207209489577,
    -11.240930757952542,
    3.921615193891926,
    -0.5776733290846089,
)
_JOINT_U = 1.0 / math.expm1(_JOINT)
_JOINT_W = math.cbrt(_JOINT_U)
