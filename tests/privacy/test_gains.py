"""Every further person adds less than the one before: what solvers and certificate rely on, at whole numbers.

Convexity on a grid of budgets is not enough. Where the variance has a corner, each side can be convex and the whole not:
between two neighbouring budgets of a grid nobody sees it.
"""

import math

import numpy as np
import pytest
from mpmath import mp

from dpstrata.allocation.terms import Terms
from dpstrata.privacy.mechanisms import get_mechanism, sine
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.kernels import SERIES_BELOW, point
from dpstrata.privacy.mechanisms.staircase import BETTER_FROM
from dpstrata.privacy.promises.epsilon import PureEpsilon
from dpstrata.survey.releases.microdata import Microdata
from dpstrata.survey.releases.sums import Sums
from extent import crossed, few
from problems import MECHANISMS, answers_of, is_additive

pytestmark = pytest.mark.slow

SIZES = (2, 60, 3000, 10**6, 10**12)
EPSILONS = (1e-6, 0.05, 0.3, 1.0, 4.0, 20.0)
SDS = (0.0, 1e-3, 0.5)
ODDS = (math.log1p(1.7183), math.log1p(53.598))  # of the curve that cells are planned with
SEAMS = (sine._JOINT, SERIES_BELOW, BETTER_FROM, *ODDS)  # budgets at which some formula gives way to another
DENSE = few(1000, of=6000)
RANDOM = few(100, of=3000)
IN_DOUBT = 40  # at most so many gains of a problem are settled in mpmath


def terms_of(mechanism, *, size, epsilon, sd, release=None):
    one = np.ones(1)
    power = (release or Microdata()).noise_power
    return Terms(np.array([size]), sd**2 * one, one, "mean", PureEpsilon(epsilon), mechanism, power)


def sample_sizes(terms, seams):
    """Every small one, some large ones, and those next to the budgets ``seams``."""
    N = int(terms.sizes[0])
    generator = np.random.default_rng(N)
    near = [N * terms.promise.odds_minus_one / math.expm1(e) + k for e in seams for k in range(-3, 4)]
    n = np.concatenate([np.arange(1, DENSE + 1), N ** generator.random(RANDOM), near, [N - 2]])
    return np.unique(n[(n >= 1) & (n + 2 <= N)].astype(np.int64))


def rising(terms, seams=SEAMS):
    """Sample sizes n at which the next person but one adds more than the next: f(n + 1) − f(n + 2) > f(n) − f(n + 1)."""
    n = sample_sizes(terms, seams)
    rows = np.zeros(len(n), dtype=np.int64)
    first, second = (terms.gain(m.astype(float), rows) for m in (n, n + 1))
    error = terms.gain_error(first, rows) + terms.gain_error(second, rows)
    found = n[second - first > error].tolist()
    doubtful = n[np.abs(second - first) <= error]
    for m in doubtful[:: max(1, len(doubtful) // IN_DOUBT)].tolist():
        gain = terms.exact_gain(0, m)
        if terms.exact_gain(0, m + 1) - gain > abs(gain) * mp.mpf(10) ** -60:  # a straight line stays one
            found.append(m)
    return sorted(found)


@pytest.mark.parametrize(("name", "steps"), MECHANISMS)
def test_gains_fall_in_microdata(name, steps):
    for size, epsilon, sd in crossed(SIZES, EPSILONS, SDS, times=3):
        terms = terms_of(get_mechanism(name, answers_of(steps)), size=size, epsilon=epsilon, sd=sd)
        assert rising(terms) == [], (size, epsilon, sd)


@pytest.mark.parametrize(("name", "steps"), [pair for pair in MECHANISMS if is_additive(*pair)])
def test_gains_fall_in_sums(name, steps):
    for size, epsilon, sd in crossed(SIZES, EPSILONS, SDS, times=3):
        mechanism = get_mechanism(name, answers_of(steps))
        assert rising(terms_of(mechanism, size=size, epsilon=epsilon, sd=sd, release=Sums())) == [], (
            size,
            epsilon,
            sd,
        )


@pytest.mark.parametrize("release", [Microdata(), Sums()], ids=["microdata", "sums"])
@pytest.mark.parametrize(("name", "steps"), MECHANISMS)
def test_gains_keep_their_digits_across_seams(name, steps, release):
    """Where the budgets of n and n + 1 people lie on both sides of a seam, and a step is worked out in two parts."""
    mechanism = get_mechanism(name, answers_of(steps))
    if isinstance(release, Sums) and not mechanism.additive:
        return
    for size, epsilon, sd in crossed((1000, 10**6, 10**9, 10**12), (1e-3, 0.05, 0.3, 1.0), SDS, times=2):
        terms = terms_of(mechanism, size=size, epsilon=epsilon, sd=sd, release=release)
        for e in SEAMS:
            last = math.floor(size * terms.promise.odds_minus_one / math.expm1(e))
            n = np.array([m for m in range(last - 1, last + 2) if 1 <= m < size])
            gain = terms.gain(n.astype(float), np.zeros(len(n), dtype=np.int64))
            error = terms.gain_error(gain)
            with mp.workdps(80):
                square = mp.mpf(round(6 * mechanism.square)) / 6
                if name == "cells":  # a double, as it is
                    square = mp.mpf(mechanism.square)
                tilt = square / (terms.promise.exact_odds_minus_one(mp) * size) ** 2
                for i, m in enumerate(n.tolist()):
                    exact = terms.exact_gain(0, m) + (tilt if release.noise_power == 1 else 0)
                    assert abs(gain[i] - exact) <= 0.25 * error[i] + tilt * mp.mpf(10) ** -60, (
                        size,
                        epsilon,
                        sd,
                        m,
                    )


# --- a mechanism whose gains do not fall ------------------------------------------------------------


class Hybrid(Mechanism):
    """The hybrid of Wang et al. (2019): two ends up to e = 0.61, from there on mixed with piecewise noise.

    With r = exp(e/2) its worst case is C²/4 below, C = coth(e/2), and ((r + 3)/(3(r − 1)) + C²)/(4r) above. Both
    are the same at 0.61, where the variance has a concave corner.
    """

    name = "hybrid"
    title = "Hybrid"
    square = linear = 1.0
    additive = False
    worst_case = True
    rounding = 1e6

    @staticmethod
    def ends(e):
        """Two ends, at any budget, in squared ranges."""
        return e.context.coth(e / 2) ** 2 / 4

    @staticmethod
    def mixture(e):
        """The mixture, at any budget."""
        r = e.context.exp(e / 2)
        return ((r + 3) / (3 * (r - 1)) + e.context.coth(e / 2) ** 2) / (4 * r)

    def exact_variance(self, e):
        return self.ends(e) if e <= CORNER else self.mixture(e)

    def _of_each(self, e, order, whole):
        def rest(at, formula):
            u = 1 / mp.expm1(at)
            return formula(at) - (0 if whole else u * (1 + u))

        with mp.workdps(60):
            formulas = [self.ends if each <= CORNER else self.mixture for each in e]
            pairs = zip(map(mp.mpf, e.tolist()), formulas, strict=True)
            return np.array([float(mp.diff(lambda x, f=f: rest(x, f), at, order)) for at, f in pairs])

    def remainder(self, at, *, whole=False):
        return self._of_each(at.e, 0, whole)

    def remainder_slopes(self, at, *, whole=False):
        return tuple(self._of_each(at.e, order, whole) for order in range(3))

    def remainder_step(self, step, *, whole=False):
        return self.remainder(step.after, whole=whole) - self.remainder(step.before, whole=whole)


with mp.workdps(60):  # ln of a root of a cubic, by radicals, as the paper has it
    ROOT = 405 * mp.sqrt(241)
    CORNER = mp.log((-5 + 2 * mp.cbrt(6353 - ROOT) + 2 * mp.cbrt(6353 + ROOT)) / 27)


def test_the_hybrid_has_its_corner_where_the_paper_says():
    assert round(float(CORNER), 2) == 0.61
    with mp.workdps(60):
        assert abs(Hybrid.ends(CORNER) - Hybrid.mixture(CORNER)) < mp.mpf(10) ** -50
        assert mp.diff(Hybrid.mixture, CORNER) < mp.diff(Hybrid.ends, CORNER)


def test_the_hybrid_is_convex_on_a_grid_of_budgets():
    """So the check of curvatures alone has no reason to fail: it is met on either side of the corner."""
    e = np.concatenate([np.geomspace(1e-2, 1.0, few(60, of=2000)), np.linspace(1.0, 30.0, 60)])
    at = point(e)
    rho, first, second = Hybrid(answers_of()).remainder_slopes(at)
    assert np.all(2 * rho + (4 - at.z) * at.z * first + at.z**2 * second > 0.05 * rho)
    assert np.all(rho + at.z * first > 0)


@pytest.mark.parametrize(("size", "epsilon"), [(60, 0.3), (1000, 0.1), (3000, 0.3), (10**6, 0.01)])
@pytest.mark.parametrize("sd", [0.0, 0.3])
def test_the_hybrid_is_caught(size, epsilon, sd):
    terms = terms_of(Hybrid(answers_of()), size=size, epsilon=epsilon, sd=sd)
    corner = size * math.expm1(epsilon) / math.expm1(float(CORNER))
    found = rising(
        terms, SEAMS if corner < DENSE else (*SEAMS, float(CORNER))
    )  # too far out to be met by chance
    assert found
    assert all(abs(n + 1 - corner) <= 1.0 for n in found)
