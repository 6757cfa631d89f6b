r"""One term per stratum: how much variance its sample size costs.

For stratum i with size N, response rate r (of N people at least rN would answer), coefficient a and n people
invited,

.. math:: f(n) = a^2 \left( \frac{V}{r n} + \frac{v(e(n))}{(r n)^p} \right), \quad
    e(n) = \ln(1 + C/n), \; C = (e^\varepsilon - 1) r N .

V is all that falls like 1/n: how much answers differ, and what devices add at a fixed budget. v is the noise
at the budget that depends on n (:mod:`dpstrata.privacy.mechanisms.noise`), which every answer gets (p = 1) or
the sum of a stratum gets once (p = 2). Both are sums over all questions and forms
(:mod:`dpstrata.allocation.form_terms`).

With :math:`v = U (q/y^2 + l/y + \psi(e))`, :math:`y = e^e - 1`, and p = 1, y is C/n, so that the first part
over n is a straight line, :math:`q n/C^2`, and the second a constant, l/C. So, up to a constant,

.. math:: f(n) = a^2\, \frac{V + U \psi(e(n))}{r n} + t\,n, \qquad t = q U a^2 / (r C^2) ,

a *core* that falls like 1/n plus a *tilt*, the price of lost secrecy. For the population mean all tilts
are equal (unless response rates differ) and drop out of every comparison; elsewhere they are taken relative
to the tilt of one stratum (the origin). Gains and prices below are measured from that origin:
``gain = f(n) - f(n + 1) + origin``. A cap on the local budget changes f below its kink.

That is where everyone answers. Where the number of answers is random, 1/(rn) stands for the planning bound on
its mean inverse (see ``response``), a polynomial in 1/n. With that, or with p = 2,

.. math:: f(n) = A \left(P(n) + \psi(e(n))\, Q(n)\right) + t\,n + \mathit{const}, \qquad A = a^2 U / r ,

with polynomials P and Q in 1/n that have no negative coefficient: what (q/y² + l/y)·Q adds beyond tilt and
constant is such a polynomial too. Where Q falls like 1/n² there is no tilt.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dpstrata.allocation.response import WHOLE, Decay, exact_planning_bound, planning_decay
from dpstrata.numerics.arrays import ALL, BoolArray, FloatArray, IntArray, Rows, blockwise
from dpstrata.numerics.twofold import difference_of_products, product
from dpstrata.privacy.mechanisms.kernels import SERIES_BELOW, Point, Step, point
from dpstrata.privacy.mechanisms.noise import Noise
from dpstrata.privacy.promises.base import Promise
from dpstrata.survey.options import Objective

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
    sizes, variances, coefficients : array
        N, V and a of each stratum.
    objective : str
        How the coefficients came about; near-ties need them exactly.
    promise : Promise
        What is promised to everyone.
    noise : Noise
        v, of an answer or of a sum.
    noise_power : {1, 2}
        p: 1 where every answer gets a draw of noise, 2 where the sum of a stratum gets one.
    response_rates : array, optional
        r of each stratum, 0 < r <= 1; ``None`` where everyone answers.
    cap : float, optional
        The most that one answer may spend.
    units : array, optional
        With the unit-free objective, what the mean of each stratum is measured in: its coefficient is 1/unit.
    series_factors : tuple of float
        How much larger the terms of the planning bound are where only part of the people get a question.
    """

    sizes: IntArray
    variances: FloatArray
    coefficients: FloatArray
    objective: Objective
    promise: Promise
    noise: Noise
    noise_power: Literal[1, 2] = 1
    response_rates: FloatArray | None = None
    cap: float | None = None
    units: FloatArray | None = None
    series_factors: tuple[float, ...] = WHOLE
    tilts: FloatArray | None = field(init=False, default=None)
    """t of each stratum, or ``None`` where all are equal."""
    slope: FloatArray | None = field(init=False, default=None)
    """Tilts less the origin, each to its own full precision, or ``None`` where all are equal."""
    origin: float = field(init=False, default=0.0)
    kinks: FloatArray | None = field(init=False, default=None)
    """Sample size below which the cap binds, or ``None`` without a cap."""
    scale: FloatArray = field(init=False)
    """A = a²U/r, the factor of every core."""
    _population: int = field(init=False, default=0)
    _once: bool = field(init=False, default=False)  # whether sums are noised, once
    _unit: float = field(init=False, default=1.0)  # U
    _C: FloatArray = field(init=False)
    _V: FloatArray = field(init=False)  # V/U
    _spread: Decay | None = field(init=False, default=None)  # P, and
    _noise: Decay | None = field(init=False, default=None)  # Q, where f is not a²(V + v)/n
    _cap: Cap | None = field(init=False, default=None)
    _slope_terms: FloatArray | None = field(init=False, default=None)  # what slopes are differences of

    def __post_init__(self) -> None:
        put = object.__setattr__
        unit, c = self.noise.unit, self.promise.odds_minus_one
        put(self, "_unit", unit)
        put(self, "_once", self.noise_power == 2)
        put(self, "_population", int(self.sizes.sum()))
        put(self, "_C", self.sizes * c)
        put(self, "scale", self.coefficients * self.coefficients)
        if unit != 1.0:
            self.scale.__imul__(unit)
        put(self, "_V", self.variances if unit == 1.0 else self.variances / unit)
        if self.response_rates is not None:
            self._C.__imul__(self.response_rates)
            self.scale.__itruediv__(self.response_rates)
        if self._once or self.random_answers:
            self._put_polynomials()
        if self._once:
            return
        if self.cap is not None:
            cap = Cap(self.cap, self.promise, self.noise)
            put(self, "_cap", cap)
            put(self, "kinks", self._C / cap.odds_minus_one)
        rates = self.response_rates
        if self.objective == "mean" and (rates is None or bool(np.all(rates == rates[0]))):
            answering = 1.0 if self.response_rates is None else float(self.response_rates[0])
            put(self, "origin", self.noise.square * unit * (1.0 / c / self._population) ** 2 / answering**3)
        else:
            ratio = self.scale / self._C / self._C
            tilts = self.noise.square * ratio
            put(self, "tilts", tilts)
            self._measure_from(int(np.argmin(tilts)))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def random_answers(self) -> bool:
        """Whether the number of answers is random, because not everyone answers."""
        return self.response_rates is not None

    @property
    def _sampling(self) -> Decay:
        """How the sampling variance falls, times r, where P and Q are needed."""
        return self._decay(squared=False)

    def _decay(self, *, squared: bool) -> Decay:
        if self.response_rates is None:
            return Decay(1 + squared, (1.0,))
        return planning_decay(self.response_rates, squared=squared, factors=self.series_factors)

    def _put_polynomials(self) -> None:
        """Write P and Q; P has what (q/y² + l/y)·Q leaves beside the tilt, too."""
        sampling = noise = self._sampling
        if self._once:
            noise = self._decay(squared=True)
        spread = [self._V * c for c in sampling.coefficients]
        # (l·n/C + q·n²/C²)·Σ c_j n^-(p + j): powers from 1 on, the others being tilt and constant.
        line, square = self.noise.linear, self.noise.square
        for j, c in enumerate(noise.coefficients):
            for power, w, part in ((j - 1, line, 1.0), (j - 2, square, 1.0 / self._C)):
                if (at := noise.power + power - 1) >= 0:
                    spread[at] = spread[at] + w * c * part / self._C
        object.__setattr__(self, "_spread", Decay(1, tuple(spread)))
        object.__setattr__(self, "_noise", noise)

    def _measure_from(self, reference: int) -> None:
        if self.tilts is not None:
            put = object.__setattr__
            put(self, "origin", float(self.tilts[reference]))
            by_size, by_response = self._tilt_differences(reference)
            if by_size is None or by_response is None:
                put(self, "slope", by_response if by_size is None else by_size)
                return
            put(self, "slope", by_size + by_response)
            put(self, "_slope_terms", np.abs(by_size) + np.abs(by_response))

    def measured_from(self, reference: int) -> Terms:
        """Return the same terms with the origin at the tilt of stratum ``reference``."""
        if self.tilts is None or self.tilts[reference] == self.origin:
            return self
        other = copy(self)
        other._measure_from(reference)
        return other

    def _tilt_differences(self, j: int) -> tuple[FloatArray | None, FloatArray | None]:
        """Tilts less that of stratum ``j``, in two parts, each free of cancellation; ``None`` is zero.

        A tilt is K·q²/r³ with q = a/N, so the difference is K·(q_i − q_j)(q_i + q_j)/r_i³, where q_i − q_j
        comes from a difference of two products in twice the working precision, plus what the response rates
        add, K·q_j²·(r_j³ − r_i³)/(r_i·r_j)³.
        """
        constant = self.noise.square * self._unit * (1.0 / self.promise.odds_minus_one) ** 2
        by_size, q = self._size_differences(j)
        if by_size is not None:
            by_size *= constant
        if self.response_rates is None:
            return by_size, None
        r, r_j = self.response_rates, float(self.response_rates[j])
        cube = r * r_j
        cube *= cube * cube
        by_response = (r_j - r) * (r_j * r_j + r * (r_j + r))
        by_response *= constant * q * q
        by_response /= cube
        return (None if by_size is None else by_size / r**3), by_response

    def _size_differences(self, j: int) -> tuple[FloatArray | None, float]:
        """q_i² − q_j² with q = a/N, and q_j; nothing for the mean, where all are 1/ΣN."""
        if self.objective == "mean":
            return None, 1.0 / self._population
        N = self.sizes.astype(float)
        if self.objective == "unit_free":  # q = 1/(unit·N)
            assert self.units is not None
            below, above = self.units * N, np.ones(1)
            difference = difference_of_products(self.units[j], N[j], self.units, N)
        else:
            below, above = N, np.abs(self.coefficients)
            difference = difference_of_products(above, N[j], above[j], N)
        q = above / below
        return (difference / (below * below[j])) * (q + q[j]), float(q[j])

    # --- budgets and values -------------------------------------------------------------------

    def budgets(self, n: FloatArray, rows: Rows = ALL) -> Point:
        """Local budgets at sample sizes ``n``, at most the cap."""
        return self._uncapped(n if self.kinks is None else np.maximum(n, self.kinks[rows]), rows)

    def _uncapped(self, n: FloatArray, rows: Rows) -> Point:
        C = self._C[rows]
        return Point(np.log1p(C / n), n, C)

    def budgets_between(self, least: IntArray, most: IntArray) -> tuple[float, float]:
        """Smallest and largest local budget of any stratum, with sample sizes from ``least`` to ``most``."""
        odds = float((self._C / most).min()), float((self._C / least).max())
        cap = np.inf if self.cap is None else self.cap
        low, high = (min(float(np.log1p(each)), cap) for each in odds)
        return low, high

    def central_epsilons(self, n: FloatArray) -> FloatArray:
        """Return what is spent against whoever sees the release: epsilon, or less where the cap binds.

        NaN for a promise without an epsilon.
        """
        promised = np.full(len(n), self.promise.central_epsilon)
        if self.kinks is None or self._cap is None:
            return promised
        spent = np.log1p(n / self.kinks * self.promise.odds_minus_one)
        return np.where(n < self.kinks, np.minimum(spent, promised), promised)

    def noise_variances(self, n: FloatArray) -> FloatArray:
        """v(e(n)): the variance of one draw of noise."""
        return blockwise(lambda m, part: self.noise.variance_at(self.budgets(m, part)), n, ALL)

    def values(self, n: FloatArray, rows: Rows = ALL) -> FloatArray:
        """f(n), whole: with the tilt and without the finite population correction."""

        def value(m: FloatArray, part: Rows) -> FloatArray:
            noise = self.noise.variance_at(self.budgets(m, part)) / self._unit
            if self._noise is None:
                return self.scale[part] * ((self._V[part] + noise) / m)
            decay = self._noise.value(m, part)
            sampling = self._sampling.value(m, part) if self._once else decay
            return self.scale[part] * (self._V[part] * sampling + noise * decay)

        return blockwise(value, n, rows)

    def _whole(self, at: Point) -> bool:
        """Whether tilt and core need not be kept apart: all budgets are large, so the tilt is small."""
        if self._once:
            return False
        return self.noise.takes_whole and bool(at.e.min() >= SERIES_BELOW)

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
            core = self.noise.remainder(before, whole=whole)
            increase = self.noise.remainder_step(Step(before, after, d), whole=whole)
            if self._noise is None or self._spread is None:
                # (V + Uψ)/(n(n+1)) − UΔψ/(n+1), all in units of U
                core += self._V[part]
                core /= m
                core -= increase
                core *= self.scale[part] / more
            else:  # P(n) − P(n+1) + ψ(Q(n) − Q(n+1)) − Δψ·Q(n+1); with all of v in ψ, V·Q is all of P
                if whole:
                    core += self._V[part]
                core *= self._noise.drop(m, part)
                if not whole:
                    core += self._spread.drop(m, part)
                core -= increase * self._noise.value(more, part)
                core *= self.scale[part]
            if whole:  # the tilt is still in it
                core += self.origin if self.tilts is None else self.tilts[part]
            if self.slope is not None:
                core -= self.slope[part]
            if self._cap is not None:
                self._correct_below_the_kink(self._cap, core, before, m, part)
            return core

        return blockwise(gain, n, rows)

    def _correct_below_the_kink(
        self, cap: Cap, gain: FloatArray, before: Point, n: FloatArray, rows: Rows
    ) -> None:
        """Put the gains of people below the kink in place of those without a cap."""
        assert self.kinks is not None
        kinks = self.kinks[rows]
        near = n < kinks * (1.0 + 1e-12)
        if not near.any():
            return
        # n and n + 1 below it: A(V + v)/(n(n + 1)).
        fall = 1.0 / (n * (n + 1.0)) if self._noise is None else self._noise.drop(n, rows)
        below = self.scale[rows] * ((self._V[rows] + cap.variance) * fall)
        below += self.origin
        across = np.flatnonzero(near & (n + 1.0 > kinks * (1.0 - 1e-12)))
        if across.size:
            # Only n below it: f(n) is larger than without the cap by A times the lift over n.
            m, A = n[across], self.scale[rows][across]
            rates = 1.0 if self.response_rates is None else self.response_rates[rows][across]
            excess = cap.excess(m, self.sizes[rows][across].astype(float), rates)
            at = Point(before.e[across], m, self._C[rows][across])
            decay = 1.0 / m if self._noise is None else self._noise.value(n, rows)[across]
            lifted = gain[across] + A * (cap.lift(at, m, np.maximum(excess, 0.0)) * decay)
            below[across] = np.where(excess >= cap.odds_minus_one, below[across], lifted)
        np.copyto(gain, below, where=near)

    def gain_error(self, gain: FloatArray | float, rows: Rows = ALL) -> FloatArray:
        """Bound on the rounding error of :meth:`gain` where it is near ``gain``.

        One bound for each of ``rows``; for a single gain and equal tilts, one for all.
        """
        if self.slope is None:
            return np.asarray(self.noise.rounding * _SPACING * np.abs(gain))
        slope = self.slope[rows]
        terms = np.abs(slope) if self._slope_terms is None else self._slope_terms[rows]
        return np.asarray(self.noise.rounding * _SPACING * (np.abs(gain + slope) + terms))

    def is_straight(self, rows: Rows = ALL) -> BoolArray:
        """Whether f is a straight line: each further person is worth exactly the same."""
        straight: BoolArray = self._V[rows] == 0
        if self._spread is not None:
            for coefficient in self._spread.coefficients:
                straight &= np.broadcast_to(coefficient, len(self))[rows] == 0
        if self.noise.constant_remainder != 0:
            straight[:] = False
        elif self.kinks is not None:
            straight &= self.kinks[rows] <= 1.0
        straight |= self.scale[rows] == 0
        return straight

    # --- derivatives --------------------------------------------------------------------------

    def curve(self, x: FloatArray, rows: Rows = ALL) -> tuple[FloatArray, FloatArray]:
        """W and H with -f' = A·W/x² - tilt and f'' = A·H/x³, at real sample sizes ``x``.

        At a kink both are those of its right side.
        """
        at = self._uncapped(x, rows)
        whole = self._whole(at)
        rho, first, second = self.noise.remainder_slopes(at, whole=whole)
        z = at.z
        lift = z * first
        if self._noise is None or self._spread is None:
            base = self._V[rows] + rho
            W = base + lift
            H = 2.0 * base + (4.0 - z) * lift + z * z * second
        else:
            Q, Q1, Q2 = self._noise.curve(x, rows)
            base = rho + self._V[rows] if whole else rho
            W = base * Q1 + lift * Q
            H = base * Q2 + lift * (2.0 * Q1 + (2.0 - z) * Q) + z * z * second * Q
            if not whole:
                _, P1, P2 = self._spread.curve(x, rows)
                W += P1
                H += P2
        if whole:
            W += self._tilt_part(x, rows)
        if self.kinks is not None:
            capped = x < self.kinks[rows]
            below = self.capped_curve(x, rows)
            W = np.where(capped, below[0] + self._tilt_part(x, rows), W)
            H = np.where(capped, below[1], H)
        return W, H

    def capped_curve(self, x: FloatArray, rows: Rows = ALL) -> tuple[FloatArray, FloatArray]:
        """W and H of the line below the kink, with -f' = A·W/x² and f'' = A·H/x³: the tilt is in them."""
        assert self._cap is not None
        base = self._V[rows] + self._cap.variance
        if self._noise is None:
            return base, 2.0 * base
        _, first, second = self._noise.curve(x, rows)
        return base * first, base * second

    def _tilt_part(self, x: FloatArray, rows: Rows) -> FloatArray:
        """t·x²/A = q(x/C)²: what the tilt takes off W."""
        ratio = x / self._C[rows]
        return self.noise.square * ratio * ratio

    def marginal(self, x: FloatArray) -> FloatArray:
        """-f' + origin at real sample sizes ``x``."""
        W, _ = self.curve(x)
        marginal = self.scale * W / (x * x)
        return marginal if self.slope is None else marginal - self.slope

    @property
    def falls_like_inverse(self) -> bool:
        """Whether every core is exactly A·W/n with W constant, so that the relaxation has a closed form."""
        constant = self.noise.constant_remainder
        if self.random_answers:
            return False
        return constant == 0 if self._once else constant is not None

    def core_weights(self, total: int) -> FloatArray:
        """√(A·W), W held at the budget that everyone would have if all sampling rates were equal."""
        rate = total / float(self._population)
        if self._noise is not None:
            everywhere = np.maximum(self.sizes * rate, 1.0)
            weights = blockwise(lambda x, part: self.curve(x, part)[0], everywhere, ALL)
            weights *= self.scale
            return np.sqrt(weights, out=weights)
        remainder = self.noise.remainder(point(np.log1p(np.array([self.promise.odds_minus_one / rate]))))
        weights = self._V + remainder  # one array, in place: large problems wait for fresh memory
        weights *= self.scale
        return np.sqrt(weights, out=weights)

    def exact_gain(self, row: int, n: int) -> Any:
        """f(n) - f(n + 1) of one stratum in mpmath, to 100 digits; no origin is added."""
        from mpmath import mp

        with mp.workdps(_WORKING_DIGITS):
            return self.exact_value(row, n) - self.exact_value(row, n + 1)

    def exact_value(self, row: int, n: int) -> Any:
        """f(n) of one stratum in mpmath, by the textbook formula."""
        from mpmath import mp

        with mp.workdps(_WORKING_DIGITS):
            N, V = int(self.sizes[row]), mp.mpf(float(self.variances[row]))
            match self.objective:
                case "mean":
                    a = mp.mpf(N) / self._population
                case "unit_free":
                    assert self.units is not None
                    a = 1 / mp.mpf(float(self.units[row]))
                case _:
                    a = mp.mpf(float(self.coefficients[row]))
            r = mp.mpf(1 if self.response_rates is None else float(self.response_rates[row]))
            e = mp.log1p(self.promise.exact_odds_minus_one(mp) * r * N / n)
            if self.cap is not None:
                e = min(e, mp.mpf(self.cap))
            v = self.noise.exact_variance(e)
            if not self.random_answers:
                return a**2 * (V + (v / (r * n) if self._once else v)) / (r * n)
            factors = self.series_factors
            sampling = exact_planning_bound(r, n, squared=False, factors=factors)
            noise = exact_planning_bound(r, n, squared=True, factors=factors) if self._once else sampling
            return a**2 * (V * sampling + v * noise)


@dataclass(frozen=True, slots=True)
class Cap:
    r"""The most that one person's answers may spend, however well the sample hides them.

    With a cap E the noise is that of :math:`\min(e(n), E)`. Below the *kink* :math:`C/(\mathrm{e}^E - 1)` the
    cap binds, the noise is constant and f falls like 1/n; above it f is what it was. At the kink the slope
    drops, so f stays convex.

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
