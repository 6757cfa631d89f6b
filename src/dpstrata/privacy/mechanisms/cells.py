r"""Cells: the sine mechanism's windows for a scale of k points whose mean is wanted, k from 3 to 21.

A line of M whole numbers has a window of w of them for every point. The ends of the windows cut the line
into cells. A number is drawn, each in the window of the answer exp(e) times as likely as each outside, and
the cell that it lies in is sent. So with X = exp(e), y = X − 1, and L for the length of a cell,

.. math:: P(\text{cell} \mid \text{point}) = \frac{L \cdot (X \text{ inside its window, else } 1)}{M + wy} .

The odds of any cell are at most X : 1, which is the promise. A cell is read as a number. Points and readings
are counted in half ranges from the middle of the scale, where one side is the mirror image of the other. If
r₀ has the mean x in the window of every point x, then r = r₀(M + wy)/(wy) is unbiased. With κ = M/w, A for
the mean square of r₀ over the line, and C for its mean square distance from x in the window, the variance is

.. math:: V_x = \frac{κ^2 A}{y^2} + \frac{κ(A + x^2 + C)}{y} + C .

The readings are those for which the largest V_x is least. The windows are in ``cells.csv``, for every quarter
of a budget; ``scripts/find_cells.py`` searches for them. The largest variance is within 1% of the least that
any unbiased mechanism for so many points can have.

Variances are planned with a curve just above the largest, γ_j at the odds y_j:

.. math:: v(e) = R^2 \left( \frac{q}{y^2} + \frac{l}{y} + γ_0
          + \sum_j J_j \frac{\max(0, y - y_j)^3}{y^2} \right), \qquad
          3 J_j = \frac{γ_{j+1} - γ_j}{y_{j+1} - y_j} - \frac{γ_j - γ_{j-1}}{y_j - y_{j-1}} .

So half the second derivative of y²v is the polygon through all (y_j, γ_j). As these are positive, y²v is
convex in y, and every term of an allocation in its sample size. The least variance is not quite convex by
itself, because it falls in steps where cells fall together; the curve is up to 6% above it, and 1.5% on
average.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property
from importlib import resources
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dpstrata.errors import InputError, option
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray
from dpstrata.privacy.mechanisms.base import Mechanism
from dpstrata.privacy.mechanisms.grid import CellNoise, GridNoise
from dpstrata.privacy.mechanisms.kernels import Point, Slopes, Step
from dpstrata.privacy.rows import Source, drawn_near

FEWEST, MOST = 3, 21  # points of a scale
_LARGEST = 13.0  # budget up to which the curve follows the variance; beyond it has a floor of 1e-6 or less
_SMALLEST = 0.01  # budget from which on it is below that of sine noise, for at most
_SHORT = 12  # steps; on longer scales the two are within 2% of each other at some budgets
_MOST_ROUNDS = 60  # about 15 are needed
_CLOSE = 1e-6  # how close the largest variance comes to the least possible with the same windows


class Cells(Mechanism):
    """v(e) as above, for answers on a grid of 2 to 20 steps."""

    name = "cells"
    title = "Cell"
    square = 1.0003
    linear = 1.0075
    additive = False
    worst_case = True
    rounding = 2.0**22  # large budgets: gains are small differences of nearly equal parts

    def check(self) -> None:
        """Require a scale of 3 to 21 points."""
        steps = self.space.steps
        if steps is None or not FEWEST <= steps + 1 <= MOST:
            raise InputError(
                f"Cells protect answers on a scale of {FEWEST} to {MOST} points, got "
                f"{self.space.described}. Give the step, as in {option('questions', '1:5:1')}, or use "
                "another mechanism."
            )
        self._steps: int = steps
        self._curve = _curve(steps + 1)

    def never_worse_than(self, least: float, most: float) -> frozenset[str]:
        """Name additive and piecewise noise, where the curve is close; on short scales sine, too."""
        if most > _LARGEST:
            return frozenset()
        worse = {"laplace", "tulap", "staircase", "piecewise", "discrete_laplace"}
        if self._steps <= _SHORT and least >= _SMALLEST:
            worse.add("sine")
        return frozenset(worse)

    # --- the curve ----------------------------------------------------------------------------

    # y²v less q + ly is a cubic in t = y − y_j on part j; only its coefficient of t³ can be negative.
    # With u = 1/y and s = tu = 1 − y_j·u, ψ is c₀u² + c₁us + c₂s² + c₃s³/u.

    def remainder(self, at: Point, *, whole: bool = False) -> FloatArray:
        """ψ, or v."""
        u = at.b / at.z
        c0, c1, c2, c3, start = self._part(at.e, whole=whole)
        s = 1.0 - start * u
        return np.asarray(u * (c0 * u + c1 * s) + s * s * (c2 + c3 * s / u))

    def remainder_slopes(self, at: Point, *, whole: bool = False) -> Slopes:
        """Evaluate the same with two derivatives; u' = −u(1 + u)."""
        u = at.b / at.z
        c0, c1, c2, c3, start = self._part(at.e, whole=whole)
        s, fall = 1.0 - start * u, u * (1.0 + u)
        share = s / u
        slope = 2.0 * (c0 * u - c2 * s * start) + c1 * (s - start * u)
        slope -= c3 * s * share * (3.0 * start + share)
        cubes = 3.0 * share * start * (start + share) + share**3
        bend = 2.0 * (c0 - c1 * start + c2 * start**2 + c3 * cubes)
        return (
            u * (c0 * u + c1 * s) + s * s * (c2 + c3 * share),
            -slope * fall,
            fall * (bend * fall + slope * (1.0 + 2.0 * u)),
        )

    def remainder_step(self, step: Step, *, whole: bool = False) -> FloatArray:
        """Increase along one cubic, and what those below it have beside it."""
        curve, before, after = self._curve, step.before, step.after
        rise = before.b * np.expm1(step.d) / (before.z * after.z)  # of u
        u0, u1 = before.b / before.z, after.b / after.z
        c0, c1, c2, c3, start = self._part(before.e, whole=whole)
        s0, s1 = 1.0 - start * u0, 1.0 - start * u1
        cubes = s1**3 / (u0 * u1) + start * (s0 * s0 + s0 * s1 + s1 * s1) / u0
        squares = start * (s0 + s1)
        increase = np.asarray(
            rise * (c0 * (u0 + u1) + c1 * (1.0 - start * (u0 + u1)) - c2 * squares - c3 * cubes)
        )
        j, last = curve.parts(before.e), curve.parts(after.e)
        rows = np.flatnonzero(j > last)
        while rows.size:  # steps that pass one of the odds, or several
            at, u = j[rows], u1[rows]
            increase[rows] -= curve.jumps[at] * (1.0 - curve.odds[at] * u) ** 3 / u
            j[rows] -= 1
            rows = rows[j[rows] > last[rows]]
        return increase

    def _part(self, e: FloatArray, *, whole: bool) -> FloatArray:
        """Return c₀ to c₃ and y_j at budgets, a row each."""
        curve = self._curve
        return (curve.wholes if whole else curve.coefficients)[:, curve.parts(e)]

    def exact_variance(self, e: Any) -> Any:
        """R²·v, from the decimals of the file."""
        mp = e.context
        y = mp.expm1(e)
        part = max(j for j, odds in enumerate(self._curve.exact_odds) if odds == 0 or _exact(odds, mp) <= y)
        c0, c1, c2, c3 = (_exact(c, mp) for c in self._curve.exact[part])
        t = y - _exact(self._curve.exact_odds[part], mp)
        whole = mp.mpf(self.square) + mp.mpf(self.linear) * y + c0 + t * (c1 + t * (c2 + t * c3))
        return mp.mpf(self.answer_range) ** 2 * whole / y**2

    # --- what is sent -------------------------------------------------------------------------

    def simulated_release(self, shares: FloatArray, e: float, generator: np.random.Generator) -> FloatArray:
        """Draw cells and read them; for simulations only."""
        noise = CellsNoise(e, self._steps)
        place = shares * self._steps
        below = np.floor(place)
        k = np.minimum(below.astype(np.int64) + (generator.random(shares.shape) < place - below), self._steps)
        w, outside = noise.window, noise.line - noise.window
        inside = generator.random(shares.shape) < w / (w + outside * math.exp(-e))
        within = noise.starts[k] + generator.integers(0, w, shares.shape)
        other = generator.integers(0, outside, shares.shape)
        other += w * (other >= noise.starts[k])
        return noise.shares(noise.cells_at(np.where(inside, within, other)))

    def informative(self, e: float) -> float:
        """1 − M/(M + wy) = y/(κ + y): otherwise any number of the line is sent."""
        windows, y = _windows(e, self._steps + 1), math.expm1(e)
        return y * windows.length / (windows.length * (1.0 + y) + windows.outside)

    def seen_variance(self, shares: FloatArray, e: FloatArray) -> FloatArray:
        """Give every cell a number whose mean is the variance, whatever was answered."""
        found = np.empty_like(shares)
        for budget in np.unique(e).tolist():
            noise, same = CellsNoise(budget, self._steps), e == budget
            found[same] = noise.seen_variances[noise.nearest(shares[same])]
        return found

    def grid_steps(self, e: float) -> int:
        """Return the steps of the scale."""
        return self._steps

    def on_grid(self, e: float, steps: int) -> GridNoise:
        """Return the cells at this budget, whose steps are those of the scale."""
        return CellsNoise(e, self._steps)


class CellsNoise(CellNoise):
    """Cells at one budget: exactly private and, but for the rounding of doubles, unbiased."""

    slack = 1e-4  # of readings that were balanced in some rounds more or less, with equal variances

    def __init__(self, e: float, steps: int) -> None:
        super().__init__(e, steps)
        self.window, outside, self.starts = _windows(e, steps + 1)
        self.line = self.window + outside
        self.edges, lengths, inside = cut(self.starts, self.window)
        self.cells = len(lengths)
        plain, self._variances = balance(lengths, inside, self.y)
        odds = lengths * np.where(inside, 1.0 + self.y, 1.0)
        self._mass = odds / (self.line + self.window * self.y)
        read = plain * (1.0 + self.line / self.window / self.y)
        self._set_units(float(np.abs(read).max()))
        self._units = self._in_units(read)
        self._most = int(self._units.max())

    @property
    def level_places(self) -> Sequence[int]:
        """Return the points, which are equally far apart."""
        return range(self.steps + 1)

    @property
    def specification(self) -> dict[str, Any]:
        """Return where windows start, and how cells are read, in half ranges from the middle."""
        read = (2.0 * self.shares(np.arange(self.cells)) - 1.0).tolist()
        sizes = {"cells": self.cells, "line": self.line, "window": self.window}
        return {**sizes, "starts": self.starts.tolist(), "read": read}

    def draw(self, level: int, source: Source = secrets.token_bytes) -> int:
        """Draw a number inside the window or anywhere else, and find its cell."""
        start = int(self.starts[level])
        number = drawn_near(start, self.window, self.line, self.odds, source)
        return int(np.searchsorted(self.edges, number, side="right")) - 1

    def cells_at(self, numbers: IntArray) -> IntArray:
        """Find the cells in which numbers from 0 to M − 1 lie."""
        return np.searchsorted(self.edges, numbers, side="right") - 1

    @cached_property
    def seen_variances(self) -> FloatArray:
        """A number for each cell whose mean is the variance of the answer; the least such numbers."""
        return np.asarray(np.linalg.lstsq(self._mass, self._variances / 4.0, rcond=None)[0])

    # --- readings -----------------------------------------------------------------------------

    def in_units(self, outputs: IntArray) -> IntArray:
        """Read cells, as whole numbers of units from the middle of the range."""
        return np.asarray(self._units[outputs])

    def nearest(self, shares: FloatArray) -> IntArray:
        """Return the cells whose readings are nearest."""
        read = self.shares(np.arange(len(self._units)))
        order, shares = np.argsort(read, kind="stable"), np.nan_to_num(shares)
        above = np.clip(np.searchsorted(read[order], shares), 1, len(read) - 1)
        low, high = order[above - 1], order[above]
        return np.where(shares - read[low] < read[high] - shares, low, high)


def cut(starts: IntArray, window: int) -> tuple[IntArray, IntArray, BoolArray]:
    """Cut the line into cells: their ends, their lengths, and which are inside the window of which point."""
    ends = starts + window
    edges = np.unique(np.concatenate([starts, ends]))
    return edges, np.diff(edges), (edges[:-1] >= starts[:, None]) & (edges[1:] <= ends[:, None])


def balance(lengths: IntArray, inside: BoolArray, y: float) -> tuple[FloatArray, FloatArray]:
    """Find the readings r₀ for which the largest V is least, and V of every point.

    For given weights of the points the readings with the least mean of V are a matter of linear algebra. That
    mean is a concave function of the weights, below the largest V of any readings, and its maximum is where
    the two meet. An interior-point method finds that: it adds μ times the logarithms of the weights, and lets
    μ fall. As readings mirror each other, the upper half of points and cells is enough.
    """
    points, cells = inside.shape
    half = slice(points // 2, None)  # with the middle, if there is one
    x = np.linspace(-1.0, 1.0, points)[half]
    upper = slice(cells - cells // 2, None)
    L, M, w = lengths[upper].astype(float), lengths.sum(), lengths[inside[0]].sum()
    above = inside[half][:, upper] * L / w
    below = inside[half][:, ::-1][:, upper] * L / w
    between = 1.0 - (above + below).sum(axis=1)  # the cell in the middle, which is read as 0
    kappa, line = M / w, 2.0 * L / M
    # y²V/(1 + y)² = f·A + g·(A + x² + C) + h·C, of which no part overflows
    f, g, h = (kappa / (1.0 + y)) ** 2, kappa * y / (1.0 + y) ** 2, (y / (1.0 + y)) ** 2
    squares = (f + g) * line + (g + h) * (above + below)
    other = slice(points % 2, None)  # the middle is unbiased as it is
    means, targets = (above - below)[other], x[other]

    n = len(x)
    weights, bound, least = np.full(n, 1.0 / n), 0.0, math.inf
    best, found = L, x
    mu, share = math.inf, 0.0
    for _ in range(_MOST_ROUNDS):
        total = weights @ squares
        turned = means / total
        system = turned @ means.T
        r = np.linalg.solve(system, targets) @ turned
        A = line @ r**2
        C = (above * (r - x[:, None]) ** 2 + below * (r + x[:, None]) ** 2).sum(axis=1) + between * x**2
        V = f * A + g * (A + x**2 + C) + h * C
        most, mean = float(V.max()), float(weights @ V)
        bound = max(bound, mean)
        if most < least:
            least, best, found = most, r, V
        if least - bound <= _CLOSE * least:
            break
        # Newton's step in the weights, which add up to 1, and by how much r moves with each of them
        moved = squares * r
        drift = turned.T @ np.linalg.solve(system, turned @ moved.T) - (moved / total).T
        mu = 3.0 * (most - mean) / n if mu == math.inf else mu * (0.2 if share > 0.5 else 1.0)
        matrix = np.zeros((n + 1, n + 1))
        matrix[:n, :n] = 2.0 * moved @ drift - np.diag(mu / weights**2)
        matrix[:n, n], matrix[n, :n] = -1.0, 1.0
        step = np.linalg.solve(matrix, np.append(-(V + mu / weights), 0.0))[:n]
        share = min(1.0, 0.9 / max(float((-step / weights).max()), 1e-9))  # so that all stay positive
        weights = weights + share * step
        weights /= weights.sum()
    read = np.zeros(cells)
    read[upper] = best
    read[: cells // 2] = -best[::-1]
    variances = np.concatenate([found[::-1][: points // 2], found]) * ((1.0 + y) / y) ** 2
    return read, variances


# --- the file ---------------------------------------------------------------------------------


class _Curve(NamedTuple):
    """Cubics: part j goes from ``odds[j]`` on."""

    odds: FloatArray
    budgets: FloatArray
    coefficients: FloatArray  # of ψ, and odds, a column for each part
    wholes: FloatArray  # of v
    jumps: FloatArray  # J
    exact_odds: tuple[Fraction, ...]
    exact: tuple[tuple[Fraction, ...], ...]

    def parts(self, e: FloatArray) -> IntArray:
        """Find the parts at budgets; next to where two meet it does not matter which."""
        return np.searchsorted(self.budgets, e, side="right") - 1


class _Row(NamedTuple):
    """A line of the file: windows for one quarter of a budget, and the curve from there on."""

    odds: Fraction
    curvature: Fraction
    window: int
    offsets: tuple[int, ...]  # of the windows of the upper half of the points, from the middle of the line


@cache
def read_file() -> dict[int, list[_Row]]:
    """Read the rows of every number of points, from budget 0 on."""
    found: dict[int, list[_Row]] = {}
    text = resources.files("dpstrata.privacy.mechanisms").joinpath("cells.csv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line[0].isdigit():
            points, _, odds, curvature, window, offsets = line.split(",")
            row = _Row(Fraction(odds), Fraction(curvature), int(window), tuple(map(int, offsets.split())))
            found.setdefault(int(points), []).append(row)
    return found


class _Windows(NamedTuple):
    length: int  # w
    outside: int  # M − w
    starts: IntArray


def _windows(e: float, points: int) -> _Windows:
    """Return the windows for the quarter that is nearest to a budget."""
    rows = read_file()[points]
    row = rows[min(round(4.0 * e), len(rows) - 1)]
    return _Windows(row.window, 2 * row.offsets[-1], starts_of(row.offsets, points))


def starts_of(offsets: tuple[int, ...], points: int) -> IntArray:
    """Return where windows start on the line: those of the lower half mirror the upper half."""
    middle = [0] if points % 2 else []
    return np.array([*(-each for each in reversed(offsets)), *middle, *offsets]) + offsets[-1]


@cache
def _curve(points: int) -> _Curve:
    """Integrate the polygon twice."""
    rows = read_file()[points]
    odds, curvatures = [row.odds for row in rows], [row.curvature for row in rows]
    runs = [after - before for before, after in pairwise(odds)]
    rises = [after - before for before, after in pairwise(curvatures)]
    slopes = [*(rise / run for rise, run in zip(rises, runs, strict=True)), Fraction(0)]
    value, slope, parts = Fraction(0), Fraction(0), []
    for curvature, steepness, t in zip(curvatures, slopes, [*runs, Fraction(0)], strict=True):
        parts.append((value, slope, curvature, steepness / 3))
        value += t * (slope + t * (curvature + t * steepness / 3))
        slope += t * (2 * curvature + t * steepness)
    line = Fraction(Cells.square), Fraction(Cells.linear)
    wholes = [
        (c0 + line[0] + line[1] * y, c1 + line[1], *rest)
        for y, (c0, c1, *rest) in zip(odds, parts, strict=True)
    ]
    knots = np.array([float(y) for y in odds])
    jumps = [after - before for before, after in pairwise([Fraction(0), *slopes])]
    return _Curve(
        odds=knots,
        budgets=np.log1p(knots),
        coefficients=np.array([[*map(float, part), float(y)] for y, part in zip(odds, parts, strict=True)]).T,
        wholes=np.array([[*map(float, part), float(y)] for y, part in zip(odds, wholes, strict=True)]).T,
        jumps=np.array([float(jump / 3) for jump in jumps]),
        exact_odds=tuple(odds),
        exact=tuple(parts),
    )


def _exact(number: Fraction, mp: Any) -> Any:
    return mp.mpf(number.numerator) / number.denominator
