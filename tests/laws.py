"""The laws of what mechanisms draw on their grids, restated: probabilities of all outputs, and variances.

What is left out beyond both ends has a probability below 1e-15. Of grids so fine that not all outputs can be
listed, variances are in closed form.
"""

import math
from functools import singledispatch

import numpy as np

from dpstrata.privacy.mechanisms import cells, sine
from dpstrata.privacy.mechanisms.category_response import _Categories
from dpstrata.privacy.mechanisms.gaussian import _DiscreteGaussian
from dpstrata.privacy.mechanisms.grid import DiscreteLaplaceNoise
from dpstrata.privacy.mechanisms.piecewise import _Window
from dpstrata.privacy.mechanisms.randomized_response import _Flips
from dpstrata.privacy.mechanisms.staircase import _Stairs
from dpstrata.privacy.mechanisms.tulap import _TulapNoise
from dpstrata.privacy.rows import DENOMINATOR


@singledispatch
def probabilities(noise, k):
    """The first output for an answer of ``k`` steps, and the probabilities from there on."""
    added = _of_added(noise)
    return k - len(added) // 2, added


@singledispatch
def drawn_variance(noise, k):
    """Variance of the released share of an answer of ``k`` steps, by default from the probabilities."""
    first, mass = probabilities(noise, k)
    values = noise.shares(first + np.arange(len(mass)))
    return float(mass @ (values - mass @ values) ** 2)


@singledispatch
def _of_added(noise):
    """Probabilities of added noise from -m to m steps."""
    raise NotImplementedError(type(noise))


@_of_added.register
def _(noise: DiscreteLaplaceNoise):
    """p^|j|(1 − p)/(1 + p), p = exp(−e/K)."""
    rate = noise.e / noise.steps
    reach = math.ceil(36.0 / rate) + 1
    mass = np.exp(-rate * np.abs(np.arange(-reach, reach + 1)))
    return mass * (-math.expm1(-rate) / (1.0 + math.exp(-rate)))


@drawn_variance.register
def _(noise: DiscreteLaplaceNoise, k):
    """2p/(1 − p)²/K²."""
    return 0.5 / (math.sinh(0.5 * noise.e / noise.steps) * noise.steps) ** 2


@_of_added.register
def _(noise: _TulapNoise):
    """The probability of every range is spread evenly over it."""
    b = math.exp(-noise.e)
    reach = math.ceil(36.0 / noise.e) + 1
    ranges = b ** np.abs(np.arange(-reach, reach + 1)) * (1.0 - b) / (1.0 + b)
    return np.repeat(ranges / noise.steps, noise.steps)


@drawn_variance.register
def _(noise: _TulapNoise, k):
    """2b/(1 − b)² + (1 − 1/K²)/12."""
    return 0.5 / math.sinh(0.5 * noise.e) ** 2 + (1.0 - 1.0 / noise.steps**2) / 12.0


@_of_added.register
def _(noise: _DiscreteGaussian):
    """exp(−j²/(2·scale²)), divided by its sum."""
    reach = math.ceil(9.0 * noise.scale)
    mass = np.exp(-0.5 * (np.arange(-reach, reach + 1) / noise.scale) ** 2)
    return mass / mass.sum()


@drawn_variance.register
def _(noise: _DiscreteGaussian, k):
    """scale²/K², which a discrete Gaussian number never exceeds."""
    return (noise.scale / noise.steps) ** 2


@_of_added.register
def _(noise: _Stairs):
    """The stairs, divided by their sum."""
    b = math.exp(-noise.e)
    one = np.where(np.arange(noise.steps) < noise.upper, 1.0, b)
    side = np.concatenate([b**g * one for g in range(math.ceil(36.0 / noise.e) + 1)])
    mass = np.concatenate([side[:0:-1], side])
    return mass / mass.sum()


@drawn_variance.register
def _(noise: _Stairs, k):
    """Sum (gK + i)² over all stairs g: Σ b^g, Σ g·b^g and Σ g²·b^g are known."""
    b, K, r = math.exp(-noise.e), float(noise.steps), float(noise.upper)

    def sums(n):
        return n, n * (n - 1) / 2, (n - 1) * n * (2 * n - 1) / 6

    zeroth, first, second = ((1 - b) * part + b * all_ for part, all_ in zip(sums(r), sums(K), strict=True))
    total = b * (1 + b) / (1 - b) ** 3 * K**2 * zeroth + 2 * b / (1 - b) ** 2 * K * first + second / (1 - b)
    return 2.0 * total / (2.0 * zeroth / (1 - b) - 1.0) / K**2


@probabilities.register
def _(noise: _Window, k):
    mass = np.full(noise.width + 1, math.exp(-noise.e))
    mass[k : k + noise.window] = 1.0
    return 0, mass / mass.sum()


@drawn_variance.register
def _(noise: _Window, k):
    """About the middle of the window."""
    K, w, b = float(noise.steps), float(noise.window), math.exp(-noise.e)
    weight = w + K * b
    middle, all_ = k + (w - 1) / 2, K + w
    spread = w * (w * w - 1) / 12
    distance = (all_ - 1) / 2 - middle
    around = (1 - b) * spread + b * (all_ * (all_ * all_ - 1) / 12 + all_ * distance**2)
    shift = b * all_ * distance / weight
    slope = (1 - b) * w / weight
    return (around / weight - shift**2) / (slope * K) ** 2


@probabilities.register
def _(noise: _Flips, k):
    flip = 1.0 / (1.0 + math.exp(noise.e))
    return 0, np.array([flip, 1.0 - flip] if k else [1.0 - flip, flip])


@probabilities.register
def _(noise: _Categories, k):
    mass = np.full(noise.steps + 1, 1.0 / (math.exp(noise.e) + noise.steps))
    mass[k] *= math.exp(noise.e)
    return 0, mass


@drawn_variance.register
def _(noise: _Categories, k):
    """Half the sum of the variances of what is said about every category."""
    first, mass = probabilities(noise, k)
    values = noise.shares(first + np.arange(len(mass)))
    return float(0.5 * (mass @ (values - mass @ values) ** 2).sum())


@probabilities.register
def _(noise: cells.CellsNoise, k):
    lengths, ends = np.diff(noise.edges), noise.starts[k] + noise.window
    inside = (noise.edges[:-1] >= noise.starts[k]) & (noise.edges[1:] <= ends)
    odds = lengths * np.where(inside, 1.0 + noise.odds / DENOMINATOR, 1.0)
    return 0, odds / odds.sum()


@probabilities.register
def _(noise: sine.SineCells, k):
    """Those of all cells, and of the two ends if there are any."""
    y, ended = noise.odds / DENOMINATOR, noise.ends / DENOMINATOR
    mass = np.ones(noise.line)
    mass[k : k + noise.window] = 1.0 + y
    mass /= mass.sum()
    if noise.ends == 0:
        return 0, mass
    up = (1.0 + float(noise.levels(np.array(k))) * y) / (y + 2.0)
    return 0, np.concatenate([(1.0 - ended) * mass, ended * np.array([1.0 - up, up])])


@drawn_variance.register
def _(noise: sine.SineCells, k):
    """Sines squared add up like sines of twice the angle.

    It is that of level 0, in the middle, for every level: the two branches grow with x² alike.
    """
    M, w, angle = noise.line, noise.window, noise.angle / 2**64
    y, ended = noise.odds / DENOMINATOR, noise.ends / DENOMINATOR
    around = M - math.sin(M * angle) / math.sin(angle)
    # the window's part, w − sin(wφ)/sin φ, without its cancellation where angles are small
    inside = (_sine_deficit(w * angle) - w * _sine_deficit(angle)) / math.sin(angle)
    read = 0.5 / (M + w * y) * noise.stretch**2 * (around + y * inside)
    return ((1.0 - ended) * read + ended * ((y + 2.0) / y) ** 2) / 4.0


def _sine_deficit(x):
    """x − sin x without cancellation."""
    if x > 0.1:
        return x - math.sin(x)
    s = x * x
    return x * s * (1 / 6 - s * (1 / 120 - s * (1 / 5040 - s / 362880)))
