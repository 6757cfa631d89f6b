r"""Why terms are convex in the sample size, mechanism by mechanism.

Over n, with x = exp(e) = 1 + C/n, the term (S² + v)/n is convex if and only if (x − 1)²(S² + v) is convex in x:
with t = 1/n, n ↦ φ(1/n) is convex if and only if t ↦ t·φ(t) is, and x − 1 is C·t. S² adds (x − 1)², so that only
G(x) = (x − 1)²v has to be convex. For sums, v/n² needs (x − 1)G, whose second derivative is 2G' + (x − 1)G'': that
is positive too if G is convex and rises from x = 1 on.

Here every G has its closed form, once more beside the code, with its second derivative as a sum of terms that are
plainly positive for x > 1. That of the sine mechanism is not, and is enclosed by interval arithmetic instead.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpmath import iv, mp

from dpstrata.privacy.mechanisms import get_mechanism, kernels, sine
from dpstrata.privacy.mechanisms.kernels import point
from dpstrata.privacy.mechanisms.noise import RowNoise, TableNoise
from extent import few
from problems import MECHANISMS, answers_of, curve_rows, plain_curve

pytestmark = pytest.mark.slow

DIGITS = 60
BUDGETS = np.concatenate([np.geomspace(1e-6, 1.0, few(40, of=400)), np.linspace(1.0, 60.0, few(60, of=600))])


@dataclass
class Closed:
    """G and its second derivative, as functions of an mpmath number x."""

    G: Any
    bend: Any


def pair(x, a):
    """Second derivative of x^(1+a) + x^(1−a), 0 < a < 1: positive, since x^a > 1 > x^(−a)."""
    return a / x * ((1 + a) * x**a - (1 - a) * x**-a)


def linear(constant, slope):
    return Closed(lambda x: constant + slope * (x - 1), lambda x: mp.mpf(0))


def discrete_laplace(K):
    """z(1 + z + … + z^(K−1))² with z = x^(1/K): its coefficients 1, 2, …, K, …, 2, 1 are symmetric about z^K = x."""
    pairs = [(K - i, mp.mpf(i) / K) for i in range(1, K)]
    return Closed(
        lambda x: mp.mpf(2) / K**2 * mp.root(x, K) * sum(mp.root(x, K) ** i for i in range(K)) ** 2,
        lambda x: mp.mpf(2) / K**2 * sum((weight * pair(x, a) for weight, a in pairs), mp.mpf(0)),
    )


def laplace():
    """With L = ln x, 2/e² is 2/L²; why its second derivative is positive says the test below."""

    def bend(x):
        L, share = mp.log(x), (x - 1) / x
        return 4 / L**2 - 16 * share / L**3 + 4 * share**2 * (L + 3) / L**4

    return Closed(lambda x: 2 * ((x - 1) / mp.log(x)) ** 2, bend)


@pytest.mark.parametrize("e", [0.01, 1.0, 5.0, 20.0])
def test_laplace_noise_is_an_integral_of_convex_pairs(e):
    """((x − 1)/ln x)² is the integral of x^(s + t) over the unit square: of (1 − a)(x^(1+a) + x^(1−a)) over [0, 1]."""
    with mp.workdps(DIGITS):
        x, form = mp.exp(e), laplace()
        G = 2 * mp.quad(lambda a: (1 - a) * (x ** (1 + a) + x ** (1 - a)), [0, 1])
        bend = 2 * mp.quad(lambda a: (1 - a) * pair(x, a), [0, 1])
        assert abs(G / form.G(x) - 1) <= 1e-25
        assert abs(bend / form.bend(x) - 1) <= 1e-25


def staircase():
    scale = mp.mpf(2) ** (-mp.mpf(2) / 3)
    return Closed(
        lambda x: scale * mp.cbrt(x * x + x) ** 2 + x,
        lambda x: scale * 2 / (9 * mp.cbrt(x * x + x) ** 4) * (2 * x * x + 2 * x - 1),
    )


def piecewise():
    return Closed(
        lambda x: 4 * x / 3 + (x * mp.sqrt(x) - 2 * x + mp.sqrt(x)) / 3,
        lambda x: (3 * x - 1) / (12 * x * mp.sqrt(x)),
    )


def tulap():
    return Closed(lambda x: (x - 1) ** 2 / 12 + 2 * x, lambda x: mp.mpf(1) / 6)


def cells(K):
    """Half the second derivative is a polygon, positive in all its corners and so between them."""
    odds, curvatures = zip(*((mp.mpf(y), mp.mpf(c)) for y, c in curve_rows(K)), strict=True)

    def bend(x):
        j = max(i for i, y in enumerate(odds) if y <= x - 1)
        if j + 1 == len(odds):
            return 2 * curvatures[j]
        share = (x - 1 - odds[j]) / (odds[j + 1] - odds[j])
        return 2 * ((1 - share) * curvatures[j] + share * curvatures[j + 1])

    return Closed(lambda x: (x - 1) ** 2 * plain_curve(x - 1, K), bend)


def closed_form(name, steps):
    if name == "category_response":
        k = len(steps)
        return linear(mp.mpf(k * (k - 1)) / 2, k - 1)
    return {
        "laplace": laplace,
        "tulap": tulap,
        "discrete_laplace": lambda: discrete_laplace(steps),
        "randomized_response": lambda: linear(1, 1),
        "staircase": staircase,
        "piecewise": piecewise,
        "cells": lambda: cells(steps),
    }[name]()


CASES = [
    *(
        (get_mechanism(name, answers_of(steps)), (name, steps))
        for name, steps in MECHANISMS
        if name != "sine"
    ),
    (RowNoise(1.5, 4.0), linear(mp.mpf(4), mp.mpf(1.5))),
    (TableNoise(np.array([3.0]), np.array([5.0])), 5),
]


@pytest.mark.parametrize(("mechanism", "form"), CASES, ids=lambda each: getattr(each, "name", ""))
def test_terms_are_convex_whatever_the_budget(mechanism, form):
    """The closed form is that of the code, its second derivative the one above, and positive."""
    with mp.workdps(DIGITS):
        factor = 1
        if isinstance(form, tuple):
            form = closed_form(*form)
        elif not isinstance(form, Closed):  # tables: g times q² that of q steps
            factor, form = 3 * form**2, discrete_laplace(form)
        variances = mechanism.variance_at(point(BUDGETS))
        for e, v in zip(BUDGETS.tolist(), variances.tolist(), strict=True):
            x = mp.exp(mp.mpf(e))
            G = factor * form.G(x)
            assert abs((x - 1) ** 2 * v / G - 1) <= 1e-13
            assert form.bend(x) >= 0
        for e in BUDGETS[:: few(20, of=200)].tolist():
            x = mp.exp(mp.mpf(e))
            found = mp.diff(
                lambda at: (at - 1) ** 2 * mechanism.exact_variance(mp.log(at)), x, 2, h=x * mp.mpf(10) ** -11
            )
            stated = factor * form.bend(x)
            assert abs(found - stated) <= 1e-8 * max(stated, factor * form.G(x) / x**2)
        assert mp.diff(form.G, 1) > 0  # so that G rises, and sums are convex too


# --- staircase noise at a part of the budget ---------------------------------------------------------
#
# v(e/q)/n² is log-convex in n for s, the variance of discrete Laplace noise on one step. That of staircase noise is
# s·(1 + y)/2 with y = cosh(w/2)^(2/3), w = e(n)/q. w is convex in n, and ln(1 + y) rises with w ever faster: its slope
# is the product of y/(1 + y) and tanh(w/2)/3, which are positive and rise. So the second factor is log-convex too.


@pytest.mark.parametrize("q", [1, 1.7, 4, 30])
def test_sums_at_a_part_of_the_budget_are_log_convex(q):
    mechanism = get_mechanism("staircase", answers_of(None))
    with mp.workdps(40):

        def value(n, C):
            return mp.log(mechanism.exact_variance(mp.log1p(C / n) / q)) - 2 * mp.log(n)

        for e in BUDGETS[:: few(40, of=400)].tolist():
            w = mp.mpf(e) / q
            y = mp.cosh(w / 2) ** (mp.mpf(2) / 3)
            s = 1 / (2 * mp.sinh(w / 2) ** 2)
            assert abs(mechanism.exact_variance(w) / (s * (1 + y) / 2) - 1) < mp.mpf(10) ** -25
            slope = mp.diff(lambda at: mp.log(1 + mp.cosh(at / 2) ** (mp.mpf(2) / 3)), w)
            assert abs(slope - y / (1 + y) * mp.tanh(w / 2) / 3) < mp.mpf(10) ** -15
            C = mp.expm1(mp.mpf(e))  # at n = 1
            assert mp.diff(lambda n, C=C: value(n, C), 1, 2) > 0


# --- sine -------------------------------------------------------------------------------------------
#
# An interval and its first two derivatives in one variable, all three as intervals that hold every value they take
# there: what is positive as an interval is positive everywhere in it.


class Jet:
    """A function over an interval: what it can be there, and its first and second derivative."""

    def __init__(self, value, first=0, second=0):
        self.parts = tuple(iv.mpf(part) for part in (value, first, second))

    def __add__(self, other):
        return Jet(*(a + b for a, b in zip(self.parts, jet(other).parts, strict=True)))

    def __sub__(self, other):
        return Jet(*(a - b for a, b in zip(self.parts, jet(other).parts, strict=True)))

    def __mul__(self, other):
        (f, f1, f2), (g, g1, g2) = self.parts, jet(other).parts
        return Jet(f * g, f1 * g + f * g1, f2 * g + 2 * f1 * g1 + f * g2)

    def __truediv__(self, other):
        g, g1, g2 = jet(other).parts
        return self * Jet(1 / g, -g1 / g**2, 2 * g1**2 / g**3 - g2 / g**2)

    def sine(self):
        f, f1, f2 = self.parts
        s, c = iv.sin(f), iv.cos(f)
        return Jet(s, c * f1, c * f2 - s * f1**2)


def jet(number):
    return number if isinstance(number, Jet) else Jet(number)


def between(one, other):
    """The interval from one to another, where a function is known to be monotone."""
    ends = [iv.mpf(one), iv.mpf(other)]
    return iv.mpf([min(end.a for end in ends), max(end.b for end in ends)])


def least_over(bend, least, most, floor, depth=0):
    """How many intervals it takes to see that ``bend`` is above ``floor`` everywhere: halves where it is not seen."""
    if bend(least, most).a > floor:
        return 1
    assert depth < 20, f"not above {floor} near {float(least)}"
    middle = (least + most) / 2
    return least_over(bend, least, middle, floor, depth + 1) + least_over(
        bend, middle, most, floor, depth + 1
    )


NU, A, BELOW, ABOVE = (iv.mpf(each) for each in (sine._NU, sine._A, sine._BELOW, sine._ABOVE))


LEAST_BELOW, LEAST_ABOVE = 0.018, 0.128  # of G'' below the joint, and of G''·y²/G from there on


def bend_below_the_joint(least, most):
    """G'' in x for budgets between two numbers, where ν is constant and a is a line in e.

    By the chain rule it is (G'' − G')/x² with derivatives in e.
    """
    e = Jet(iv.mpf([least, most]), 1)
    x = iv.exp(e.parts[0])
    y, joint = Jet(x - 1, x, x), iv.log(1 + (A + NU) / (iv.tan(NU) - NU))
    a = (e - joint) * BELOW + A
    tau = a + NU
    q = Jet(1) - y * iv.tan(NU) / (tau + y * NU)
    waves = tau * 2 - (tau * 2).sine() + y * (2 * NU - iv.sin(2 * NU))
    G = q * (y + 2) * (y + 2) + y * waves / (a.sine() * a.sine() * (2 * iv.sin(2 * NU)))
    return (G.parts[2] - G.parts[1]) / x**2 / 4


def scaled(nu):
    """(tan ν − ν)/ν³, (2ν − sin 2ν)/ν³ and (sin 2ν)/ν at one ν, each with two derivatives."""
    if nu == 0:
        return (
            Jet(iv.mpf(1) / 3, 0, iv.mpf(4) / 15),
            Jet(iv.mpf(4) / 3, 0, iv.mpf(-8) / 15),
            Jet(2, 0, iv.mpf(-8) / 3),
        )
    v, tangent = Jet(nu, 1), iv.tan(iv.mpf(nu))
    less = Jet(tangent - nu, tangent**2, 2 * tangent * (1 + tangent**2))
    double = (v * 2).sine()
    cube = v * v * v
    return less / cube, (v * 2 - double) / cube, double / v


def scaled_over(least, most):
    """The same over an interval of [0, 1]: all nine are monotone, so that their ends enclose them.

    The power series of tan has no negative coefficient, so that the first one and its derivatives rise. With z = 2ν
    the others are 4∫(1−s)²cos(zs)ds and 2∫cos(zs)ds over [0, 1]. Their third derivatives are integrals of positive
    multiples of sin(zs), and positive for z < π; so their second derivatives rise, and stay negative as they end so,
    so that the first derivatives fall from 0, and they themselves fall too.
    """
    return [
        Jet(*(between(*ends) for ends in zip(low.parts, high.parts, strict=True)))
        for low, high in zip(scaled(least), scaled(most), strict=True)
    ]


def bend_from_the_joint(least, most):
    """G''·y²/G, for ν between two numbers, down to 0 where e is infinite.

    There y = M/ν³ and G = N/ν⁴ with M and N smooth to the end, and G'' in y follows from derivatives in ν.
    """
    nu = Jet(iv.mpf([least, most]), 1)
    a = (nu - NU) * ABOVE + A
    tau = a + nu
    less, waves, double = scaled_over(least, most)
    M = tau / less
    N = M * (tau * 2 - (tau * 2).sine() + tau * waves / less) / (double * a.sine() * a.sine() * 8)
    (v, _, _), (m, m1, m2), (n, n1, n2) = nu.parts, M.parts, N.parts
    y1, y2 = v * m1 - 3 * m, v * v * m2 - 6 * v * m1 + 12 * m  # times ν⁴ and ν⁵
    G1, G2 = v * n1 - 4 * n, v * v * n2 - 8 * v * n1 + 20 * n  # times ν⁵ and ν⁶
    assert y1.b < 0  # so that ν says which budget it is
    return (G2 * y1 - G1 * y2) / y1**3 * m**2 / n


@pytest.fixture
def digits():
    """Twice as many as doubles have; the intervals are much wider than that."""
    before, iv.dps = iv.dps, 40
    yield
    iv.dps = before


@pytest.mark.usefixtures("digits")
def test_sine_terms_are_convex_at_every_budget():
    """By interval arithmetic, so that nothing between two budgets is missed: from e = 0 to infinity."""
    beyond = mp.mpf(sine._JOINT) + mp.mpf(10) ** -12
    assert least_over(bend_below_the_joint, mp.mpf(0), beyond, few(0.5, of=1.0) * LEAST_BELOW) > 1
    assert all(each.parts[2].b < 0 for each in scaled(sine._NU)[1:])
    assert least_over(bend_from_the_joint, mp.mpf(0), mp.mpf(sine._NU), few(0.5, of=1.0) * LEAST_ABOVE) > 1


def test_the_page_says_how_convex():
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "least-noise.md").read_text(encoding="utf-8")
    assert f"$G'' \\ge {LEAST_BELOW}$ up to the joint, $y^2 G'' \\ge {LEAST_ABOVE}\\,G$" in page


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("e", [0.0, 0.3, 1.9, 1.98, 3.0, 8.0, 22.0])
def test_intervals_hold_the_second_derivative(e):
    """Where the interval is a single budget, it is that of the textbook variance."""
    mechanism = get_mechanism("sine", answers_of())
    with mp.workdps(DIGITS):
        e = mp.mpf(e)
        if e < sine._JOINT:
            scale, found = 1, bend_below_the_joint(e, e)
        else:
            nu = sine.angles(e, mp)[0]
            scale, found = mp.expm1(e) ** 2, bend_from_the_joint(nu, nu)

        def G(x):
            return (x - 1) ** 2 * mechanism.exact_variance(mp.log(x))

        x = mp.exp(e)
        if e == 0:
            x += mp.mpf(10) ** -10
        if e >= sine._JOINT:
            scale /= G(x)
        assert found.a <= found.b <= found.a + mp.mpf(10) ** -20
        assert abs(mp.diff(G, x, 2, h=x * mp.mpf(10) ** -15) * scale - found.a) <= 1e-9


def test_sine_variances_have_no_corner():
    """Where the two branches meet, both slopes are the same: the angles there are the best ones."""
    mechanism = get_mechanism("sine", answers_of())
    with mp.workdps(DIGITS):
        joint, tiny = sine.joint(mp), mp.mpf(10) ** -40
        sides = []
        for start, h in ((joint, mp.mpf(10) ** -12), (joint - tiny, -(mp.mpf(10) ** -12))):
            v = [mechanism.exact_variance(start + k * h) for k in range(3)]
            sides.append((-3 * v[0] + 4 * v[1] - v[2]) / (2 * h))
        assert abs(sides[0] / sides[1] - 1) <= 1e-18  # what is left comes from angles rounded to doubles
        at = kernels.point(np.nextafter(sine._JOINT, [0.0, 3.0]))
        (below, above), (slope_below, slope_above), (bend_below, bend_above) = mechanism.remainder_slopes(at)
        assert below == pytest.approx(above, rel=1e-15)
        assert slope_below == pytest.approx(slope_above, rel=1e-12)
        assert bend_below != pytest.approx(bend_above, rel=0.01)  # which is no corner


def horner(coefficients, x):
    value = mp.mpf(0)
    for coefficient in reversed(coefficients):
        value = value * x + coefficient
    return value


def test_fitted_polynomials_are_the_formula():
    """To 1e-15 of ψ below the joint and of v above it."""
    mechanism = get_mechanism("sine", answers_of())
    with mp.workdps(2 * DIGITS):
        y = mp.mpf(10) ** -30  # so small that v·y² is 1 + linear·y to 30 digits
        linear = (mechanism.exact_variance(mp.log1p(y)) * y * y - 1) / y
        assert (
            abs(mechanism.linear - linear) <= 2.3e-16
        )  # which over n is a constant, whatever its last digit
        for e in np.linspace(1e-3, sine._JOINT, few(100, of=3000), endpoint=False).tolist():
            e = mp.mpf(e)
            u = 1 / mp.expm1(e)
            formula = mechanism.exact_variance(e) - u * (linear + u)
            assert abs(horner(sine._LOW, e) / formula - 1) <= 1e-15
        for e in np.concatenate(
            [np.linspace(sine._JOINT, 12.0, few(100, of=3000)), [20.0, 40.0, 90.0]]
        ).tolist():
            e = max(mp.mpf(e), sine.joint(mp))
            w = 1 / mp.cbrt(mp.expm1(e))
            formula = mechanism.exact_variance(e)
            assert abs(w * w * horner(sine._HIGH, w) / formula - 1) <= 1e-15
