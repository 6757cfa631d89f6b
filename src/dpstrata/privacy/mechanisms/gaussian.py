r"""Gaussian noise for a promise of (ε, δ) (Balle and Wang 2018).

A secret sample at rate q turns a local (e, δ') into (log1p(q·expm1(e)), qδ'), so an answer may use δ' = δ/q.
With q = c/expm1(e), c = expm1(ε), that is :math:`\delta'(e) = \kappa\,\mathrm{expm1}(e)` with κ = δ/c: like
the budget itself, a function of e alone. The deviation σ (in ranges) solves

.. math:: \Phi(1/(2\sigma) - e\sigma) - \mathrm{e}^{e}\, \Phi(-1/(2\sigma) - e\sigma) = \delta'(e) .

With x = −1/(2σ) − eσ and Q = (Φ(x) + κ)/φ(x), implicit differentiation gives σ' = −σ²Q and
Q' = (1 + xQ)·x'. The variance has no closed form, so its increase over a step is the integral of −v' by
Gauss's rule, which loses no digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy import randomness
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import kernels
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import AdditiveGridNoise, GridNoise, fineness
from dpstrata.privacy.mechanisms.kernels import Point, Slopes, Step
from dpstrata.privacy.mechanisms.noise import ConstantRemainder

LARGEST_LOCAL_DELTA = 0.01
_LEAST_EPSILON = 0.01
_KNOTS = 400
_LEAST_DELTA = 1e-50
_GRID_MARGIN = 1e-6  # more noise than in theory: a grid is not quite a line
_FINE = 1000.0  # steps to a standard deviation, from which on the margin is enough
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


class Gaussian(Mechanism):
    """v(e) = R²σ², σ from the analytic Gaussian mechanism at (e, δ/q), for any number in the range."""

    name = "gaussian"
    title = "Gaussian"
    convexity_proven = False  # prepare() checks it at every budget of its table
    needs_delta = True
    rounding = 4096.0

    def prepare(self, epsilon: float, delta: float) -> None:
        """Fit the mechanism to the promise: κ, a table of σ to begin Newton's method from, and the weight.

        The weight is the least ratio of σ² to s, with which the core falls nearly like 1/n. Whether it does,
        and is convex, is checked here for every budget that the promise leads to, for sums too.
        """
        if epsilon < _LEAST_EPSILON:
            raise InputError(
                f"Gaussian noise needs {option('epsilon')} of at least {_LEAST_EPSILON:g}, "
                f"got {option('epsilon', epsilon, 'g')}.",
                value=epsilon,
            )
        if not _LEAST_DELTA <= delta < LARGEST_LOCAL_DELTA:
            raise InputError(
                f"Gaussian noise needs {option('delta')} of at least {_LEAST_DELTA:g} and below "
                f"{LARGEST_LOCAL_DELTA:g}, got {option('delta', delta, 'g')}.",
                value=delta,
            )
        self._kappa = delta / math.expm1(epsilon)
        most = math.log1p(LARGEST_LOCAL_DELTA / self._kappa)
        self._knots = np.exp(np.linspace(math.log(0.9 * epsilon), math.log(1.1 * most), _KNOTS))
        self._table = np.log(_bisect(self._knots, self._kappa * np.expm1(self._knots)))
        at = kernels.point(np.exp(np.linspace(math.log(epsilon), math.log(most), 4 * _KNOTS)))
        self._weight = float((self._slopes(at.e)[0] / kernels.s(at)).min()) * (1.0 - 1e-6)
        self.square = self.linear = 2.0 * self._weight
        rho, first, second = self.remainder_slopes(at)
        fall = rho + at.z * first
        bend = 2.0 * rho + (4.0 - at.z) * at.z * first + at.z * at.z * second
        # The terms of sums, times rx: the kernel adds 2w/expm1(e) to the fall and twice that to the bend.
        kernel = self.linear * at.b / at.z
        mean_fall = kernel + 2.0 * rho + at.z * first
        mean_bend = 2.0 * kernel + 6.0 * rho + (6.0 - at.z) * at.z * first + at.z * at.z * second
        convex = (fall > 0) & (bend > 0.9 * fall) & (bend < 2.1 * fall) & (mean_fall > 0) & (mean_bend > 0)
        if not np.all(convex):
            raise InputError(
                f"{option('delta', delta, 'g')} is too large for Gaussian noise at "
                f"{option('epsilon', epsilon, 'g')}: the best design could not be proven. Use a "
                "smaller delta.",
                value=delta,
            )

    def _sigma(self, e: FloatArray) -> FloatArray:
        """σ in ranges: three steps of Newton's method on the logarithms from the table."""
        sigma = np.exp(np.interp(np.log(e), np.log(self._knots), self._table))
        goal = np.log(self._kappa * np.expm1(e))
        for _ in range(3):
            loss, density = _delta(sigma, e)
            sigma = sigma * np.exp((np.log(loss) - goal) * loss * sigma / density)
        return np.asarray(sigma)

    def _slopes(self, e: FloatArray) -> Slopes:
        """σ² with two derivatives in e."""
        from scipy.special import erfcx

        sigma = self._sigma(e)
        x = -0.5 / sigma - e * sigma
        Q = math.sqrt(math.pi / 2) * erfcx(-x / math.sqrt(2)) + self._kappa * math.sqrt(2 * math.pi) * np.exp(
            x * x / 2
        )
        first = -sigma * sigma * Q
        moved = (0.5 / sigma**2 - e) * first - sigma
        second = -2.0 * sigma * first * Q - sigma * sigma * (1.0 + x * Q) * moved
        return sigma * sigma, 2.0 * sigma * first, 2.0 * (first * first + sigma * second)

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """σ², less w·s(e)."""
        value = self._sigma(at.e) ** 2
        return value if whole else value - self._weight * kernels.s(at)

    def remainder_slopes(self, at: Point, *, whole: bool = False) -> Slopes:
        """σ², less w·s(e), with two derivatives."""
        value = self._slopes(at.e)
        if whole:
            return value
        part = kernels.s_slopes(at)
        w = self._weight
        return value[0] - w * part[0], value[1] - w * part[1], value[2] - w * part[2]

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase of σ², less w·s(e)."""
        increase = np.zeros_like(step.d)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            increase -= weight * self._slopes(step.after.e + 0.5 * (1.0 + node) * step.d)[1]
        increase *= 0.5 * step.d
        return increase if whole else increase - self._weight * kernels.s_step(step)

    def simulated_noise(self, e: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
        """Draw Gaussian noise; for simulations only."""
        return generator.normal(0.0, self.answer_range * float(self._sigma(np.array([e]))[0]), shape)

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Discrete Gaussian noise, with so much more of it on a coarse grid that delta is kept there too."""
        scale = float(self._sigma(np.array([e]))[0]) * steps * (1.0 + _GRID_MARGIN)
        allowed = self._kappa * math.expm1(e)
        while scale < _FINE and _delta_on_grid(scale, steps, e) > allowed:
            scale *= 1.005
        return _DiscreteGaussian(e, steps, scale)

    def exact_variance(self, e: Any) -> Any:
        """R²σ², by Newton's method in mpmath on the equation itself."""
        mp = e.context
        kappa = mp.mpf(self._kappa)
        goal = kappa * mp.expm1(e)
        sigma = mp.mpf(float(self._sigma(np.array([float(e)]))[0]))
        for _ in range(40):
            a, x = 1 / (2 * sigma) - e * sigma, -1 / (2 * sigma) - e * sigma
            loss = mp.ncdf(a) - mp.exp(e) * mp.ncdf(x)
            move = sigma**2 * (loss - goal) / mp.npdf(a)
            sigma += move
            if abs(move) <= sigma * mp.mpf(10) ** (5 - mp.dps):
                break
        return (mp.mpf(self.answer_range) * sigma) ** 2


class ConstantGaussian(ConstantRemainder, Mechanism):
    """Gaussian noise of one deviation everywhere, for promises that a secret sample does not strengthen.

    Parameters
    ----------
    space : AnswerSpace
        What can be answered.
    sigma : float
        Standard deviation of the noise of one answer, in ranges.
    """

    name = "gaussian"
    title = "Gaussian"
    square = linear = 0.0

    def __init__(self, space: AnswerSpace, sigma: float) -> None:
        super().__init__(space)
        self.sigma = sigma
        self.constant_remainder = sigma * sigma

    def simulated_noise(self, e: float, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
        """Draw Gaussian noise; for simulations only."""
        return generator.normal(0.0, self.answer_range * self.sigma, shape)

    def grid_steps(self, e: float) -> int:
        """Return a grid so fine that rounding is invisible."""
        return fineness(self.sigma * self.sigma)

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Discrete Gaussian noise, which keeps zCDP exactly (Canonne, Kamath and Steinke 2020)."""
        return _DiscreteGaussian(e, steps, self.sigma * steps * (1.0 + _GRID_MARGIN))

    def exact_variance(self, e: Any) -> Any:
        """R²σ²."""
        mp = e.context
        return (mp.mpf(self.answer_range) * mp.mpf(self.sigma)) ** 2


class _DiscreteGaussian(AdditiveGridNoise):
    """P(j) ∝ exp(−j²/(2·scale²))."""

    def __init__(self, e: float, steps: int, scale: float) -> None:
        super().__init__(e, steps)
        self.scale = scale

    def noise(self, size: int) -> IntArray:
        """Draw from OpenDP."""
        return randomness.discrete_gaussian(self.scale, size)


def _delta_on_grid(scale: float, steps: int, e: float) -> float:
    """δ of discrete Gaussian noise between answers ``steps`` apart, at a budget e, by summation."""
    reach = int(np.ceil(40.0 * scale)) + 2 * steps
    log_mass = -0.5 * (np.arange(-reach, reach + 1) / scale) ** 2
    log_mass -= np.logaddexp.reduce(log_mass)
    near, far = log_mass[steps:], log_mass[: len(log_mass) - steps]
    return float(np.maximum(np.exp(near) - np.exp(far + e), 0.0).sum())


def _delta(sigma: FloatArray, e: FloatArray) -> tuple[FloatArray, FloatArray]:
    """δ of Gaussian noise σ at a budget e, and the density that is minus its slope in σ times σ²."""
    from scipy.special import log_ndtr

    a, x = 0.5 / sigma - e * sigma, -0.5 / sigma - e * sigma
    log_first = log_ndtr(a)
    loss = np.exp(log_first) * -np.expm1(np.minimum(e + log_ndtr(x) - log_first, -1e-300))
    return loss, np.exp(-a * a / 2) / math.sqrt(2 * math.pi)


def _bisect(e: FloatArray, goal: FloatArray) -> FloatArray:
    """σ with the given δ, to a few digits; δ falls as σ grows."""
    low, high = np.full_like(e, -8.0), np.full_like(e, 14.0)  # logarithms
    for _ in range(60):
        middle = (low + high) / 2
        enough = _delta(np.exp(middle), e)[0] <= goal
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.exp((low + high) / 2)
