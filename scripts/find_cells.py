r"""Find the windows of cells and the curve that plans with them: ``python scripts/find_cells.py``.

It writes ``src/dpstrata/privacy/mechanisms/cells.csv`` anew, which takes an hour or two, and begins
from the windows that are there. ``--curves`` keeps them and fits the curves alone.

Windows: for every quarter of a budget the largest variance of any point is made as small as possible, on
average over the budgets that use them. The search moves offsets as long as that helps, from the windows of
sine noise, from a few regular ones, from disjoint ones and from those of the budgets next to it. It need not
find the very best: ``tests/privacy/test_cells.py`` compares what it found with a linear program.

Curve: half the second derivative of y²v is a polygon over the odds y. A linear program chooses it such that
v is above the largest variance, as closely as possible on average, that y²v is convex, and that what falls
with the sample size does not fall like a straight line, which Newton's method needs.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from mpmath import fp
from scipy.optimize import linprog

from dpstrata import Answers
from dpstrata.privacy.mechanisms import cells, get_mechanism
from dpstrata.privacy.mechanisms.sine import angles

FILE = Path(__file__).parent.parent / "src" / "dpstrata" / "privacy" / "mechanisms" / "cells.csv"
HEADER = """\
# Windows of cells for scales of 3 to 21 points, and curves to plan with, as scripts/find_cells.py finds them.
# window: its length; offsets: of the windows of the upper half of the points, from the middle of the line
# curvature: half the second derivative of y²v at these odds y, about exp(budget) - 1, in squared ranges
points,budget,odds,curvature,window,offsets
"""
BUDGETS = np.arange(0, 4 * 13 + 1) / 4
SQUARE, LINEAR = cells.Cells.square, cells.Cells.linear
ABOVE = 1.0005  # the curve over the variance, at the least
FALL = 0.45  # of the curvature at one of the odds, how much is left at the next, at the least
BEND = 0.25  # the curvature of what falls with the sample size over its slope, at the least

Offsets = tuple[int, ...]


def window_length(points: int) -> int:
    """Return at least 60, such that evenly spaced windows fit: those are the best for small budgets."""
    even = points - 1 if points % 2 else 2 * (points - 1)
    return even * math.ceil(60 / even)


def largest_variance(points: int, offsets: Offsets, e: float) -> float:
    """Return the largest variance of any point, in squared ranges; infinite where windows do not fit."""
    w = window_length(points)
    furthest = (points - 1) * w // 2
    if offsets[0] <= 0 or offsets[-1] > furthest or any(np.diff(offsets) <= 0):
        return math.inf
    lengths, inside = cells.cut(cells.starts_of(offsets, points), w)[1:]
    return float(cells.balance(lengths, inside, math.expm1(e))[1].max()) / 4


def regular(points: int, reach: float, bend: float) -> Offsets:
    """Space windows evenly, or those near the ends more widely."""
    x = np.linspace(-1, 1, points)[(points + 1) // 2 :]
    return tuple(np.rint(reach * x * (1 - bend + bend * x**2)).astype(int).tolist())


def like_sine(points: int, e: float, factor: float) -> Offsets:
    """Place windows as sine noise does."""
    nu, a, _ = angles(e, fp)
    x = np.linspace(-1, 1, points)[(points + 1) // 2 :]
    reach = factor * window_length(points) / 2 * a / nu
    return tuple(np.rint(reach * np.arcsin(x * math.sin(a)) / a).astype(int).tolist())


def moves(offsets: Offsets, step: int) -> list[Offsets]:
    """List offsets with one of them moved, with all from one on moved, or all stretched."""
    found = []
    for move in (-step, step):
        for j in range(len(offsets)):
            found.append(tuple(d + move * (i == j) for i, d in enumerate(offsets)))
            found.append(tuple(d + move * (i >= j) for i, d in enumerate(offsets)))
        found.append(tuple(round(d * (1 + move / offsets[-1])) for d in offsets))
    return found


def descend(offsets: Offsets, value: Callable[[Offsets], float]) -> Offsets:
    """Move offsets as long as that helps."""
    for step in (5, 2, 1):
        for _ in range(4):
            best = min(moves(offsets, step), key=value)
            if value(best) >= value(offsets) - 1e-5:
                break
            offsets = best
    return offsets


def average_over(points: int, budgets: np.ndarray) -> Callable[[Offsets], float]:
    """Return the mean logarithm of the largest variance, as a function of the offsets."""

    @cache
    def value(offsets: Offsets) -> float:
        return float(np.mean([np.log(largest_variance(points, offsets, e)) for e in budgets.tolist()]))

    return value


def find_windows(points: int, known: list[Offsets]) -> list[Offsets]:
    """Find windows for every budget."""
    w = window_length(points)
    disjoint = regular(points, (points - 1) * w / 2, 0.0)
    found = known or [regular(points, w / 2, 0.0)] * len(BUDGETS)
    found[0], found[-1] = regular(points, w / 2, 0.0), disjoint
    there, back = range(1, len(found) - 1), range(len(found) - 2, 0, -1)
    for order, most in ((there, 2), (back, 1)):
        for i in order:
            value = average_over(points, BUDGETS[i] + np.array([-0.12, 0.0, 0.12]))
            tries = {disjoint, *found[max(i - 2, 0) : i + 3]}
            for stretch in (0.97, 1.0, 1.03):
                tries.add(like_sine(points, BUDGETS[i], stretch))
                tries |= {regular(points, stretch * found[i][-1], bend) for bend in (0.1, 0.2, 0.3)}
            starts = sorted(tries, key=value)[:most]
            found[i] = min((descend(each, value) for each in starts), key=value)
    return found


def fit_curve(points: int, windows: list[Offsets]) -> tuple[list[str], list[str]]:
    """Return odds and curvatures as they are written."""
    odds = ["0", *(f"{math.expm1(e):.5g}" for e in BUDGETS[1:])]
    y = np.array([float(each) for each in odds])
    m = len(y)
    slopes = np.zeros((m, m))  # of the polygon, in its corners; beyond the last it is level
    for j in range(m - 1):
        slopes[j, j : j + 2] = np.array([-1, 1]) / (y[j + 1] - y[j])
    turns = np.diff(slopes, axis=0, prepend=np.zeros((1, m)))
    first = np.eye(m)[0]

    def curve(at: float) -> np.ndarray:
        """Return v without its line, in the corners."""
        return first + at * np.maximum(1 - y / at, 0) ** 3 / 3 @ turns

    def slope(at: float) -> np.ndarray:
        """Return how fast it falls with the sample size."""
        rest = np.maximum(at - y, 0) / at
        return first + at * (rest**2 - rest**3 / 3) @ turns

    rows, limits, aim = [], [], np.zeros(m)
    for i, offsets in enumerate(windows):
        near = BUDGETS[i] + np.array([-0.125, -0.095, -0.0625, -0.03, 0, 0.03, 0.0625, 0.095, 0.125])
        if i == 0:
            near = np.array([0.02, 0.05, 0.09, 0.125])
        if i == m - 1:
            near = np.append(near[:5], BUDGETS[-1] + np.array([0.25, 1, 3, 8]))
        for e in near:
            at = math.expm1(e)
            variance = largest_variance(points, offsets, e)
            rows.append(-curve(at) / variance)
            limits.append((SQUARE / at**2 + LINEAR / at) / variance - ABOVE)
            aim += curve(at) / variance
    sine = get_mechanism("sine", Answers(0, 1))
    for e in np.arange(0.01, 13.0, 0.05) if points <= 13 else []:
        at, variance = math.expm1(e), float(sine.variance(e))
        rows.append(curve(at) / variance)
        limits.append(1 - 2e-5 - (SQUARE / at**2 + LINEAR / at) / variance)
    for j in range(m - 1):
        level, following = np.eye(m)[j] * y[j + 1], np.eye(m)[j + 1] * y[j + 1]
        rows += [following - level, FALL * level - following]
        rows.append((BEND * slope(y[j + 1]) - 2 * np.eye(m)[j + 1]) * y[j + 1])
        limits += [0, 0, 0]
    scale = np.append(0.25, y[1:]) ** -0.9
    found = linprog(aim * scale, A_ub=np.array(rows) * scale, b_ub=limits, method="highs")
    if not found.success:
        raise SystemExit(f"{points} points: no curve ({found.message})")
    return odds, [f"{c:.7g}" for c in found.x * scale]


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description="Find the windows of cells.")
    parser.add_argument("--curves", action="store_true", help="keep the windows")
    keep = parser.parse_args().curves
    lines = []
    for points in range(cells.FEWEST, cells.MOST + 1):
        windows = [row.offsets for row in cells.read_file().get(points, [])]
        if not keep:
            windows = find_windows(points, windows)
        odds, curvatures = fit_curve(points, windows)
        for e, at, curvature, offsets in zip(BUDGETS, odds, curvatures, windows, strict=True):
            listed = " ".join(map(str, offsets))
            lines.append(f"{points},{e:g},{at},{curvature},{window_length(points)},{listed}\n")
        print(f"{points} points", flush=True)
    FILE.write_text(HEADER + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
