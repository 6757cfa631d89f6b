"""Surveys in which the best design is a largest independent set of a graph (decision 8): its two inequalities."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import dpstrata as dps

C = 1e-4  # e^ε − 1
LARGE = round(1000 / C)
PRISM = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (0, 3), (1, 4), (2, 5)]
COLOURS = [0, 1, 2, 1, 2, 0]
SHRINK = 0.2  # κ


def use(n: int, N: float) -> float:
    """n·ln(1 + cN/n)/N: what all figures together may use of a stratum, in its own unit."""
    return n * math.log1p(C * N / n) / N


ONE, TWO = use(1, LARGE), use(2, LARGE)  # τ and H
SMALL = int(brentq(lambda N: use(1, N) - (ONE + TWO), 10, LARGE))


def survey() -> dps.Strata:
    """A stratum for every vertex, with one person or two, and one for every edge, with one."""
    ends = [(v,) for v in range(len(COLOURS))] + PRISM
    columns = {
        f"colour{k}": [next((str(v) for v in each if COLOURS[v] == k), "rest") for each in ends]
        for k in range(3)
    }
    sizes = [LARGE] * len(COLOURS) + [SMALL] * len(PRISM)
    most = [2] * len(COLOURS) + [1] * len(PRISM)
    return dps.Strata(sizes, [0.0] * len(sizes), mins=[1] * len(sizes), maxs=most, extra=columns)


STRATA = survey()
NAMES = [str(v) for v in range(len(COLOURS))] + [f"rest{k}" for k in range(3)]


def needs() -> np.ndarray:
    """Which figures meet in every stratum."""
    rows = np.zeros((len(STRATA.sizes), len(NAMES)))
    for k in range(3):
        for i, group in enumerate(STRATA.extra[f"colour{k}"]):
            rows[i, NAMES.index(f"rest{k}" if group == "rest" else group)] = 1.0
    return rows


def rooms(two: tuple[int, ...]) -> np.ndarray:
    people = [2 if v in two else 1 for v in range(len(COLOURS))] + [1] * len(PRISM)
    return np.array([use(n, N) for n, N in zip(people, STRATA.sizes.tolist(), strict=True)])


def least(two: tuple[int, ...], *, rest: bool) -> float:
    """The least Σ τ²/σ² with two people in some vertices, by a solver that knows nothing of ours."""
    figures = len(NAMES) if rest else len(COLOURS)
    rows, room = needs()[:, :figures], rooms(two) / ONE
    found = minimize(
        lambda s: (1 / s**2).sum() / 50,
        np.full(figures, 0.25),
        jac=lambda s: -2 / s**3 / 50,
        method="SLSQP",
        bounds=[(0.02, 5.0)] * figures,
        constraints=[{"type": "ineq", "fun": lambda s: room - rows @ s, "jac": lambda s: -rows}],
        options={"ftol": 1e-11, "maxiter": 500},
    )
    assert found.success
    return float(found.fun) * 50


def matching(two: tuple[int, ...]) -> int:
    """Edges of a matching between some vertices that cannot be made larger."""
    free = set(two)
    for u, v in PRISM:
        if {u, v} <= free:
            free -= {u, v}
    return (len(two) - len(free)) // 2


def without_edges(two: tuple[int, ...]) -> float:
    """Y·τ²: what the vertices cost if no two with two people had an edge."""
    return len(COLOURS) - len(two) + len(two) * (ONE / TWO) ** 2


RATIO = TWO / ONE
EXTRA = 8 / (1 + RATIO) ** 2 - 2 / RATIO**2  # what a matched pair costs more, in units of 1/τ²
EVERY = [two for number in (2, 3) for two in combinations(range(len(COLOURS)), number)]


def test_the_sizes_are_as_they_should_be() -> None:
    assert math.isclose(RATIO, 1.8, abs_tol=5e-4)
    assert use(1, SMALL) == pytest.approx(ONE + TWO, rel=1e-6)
    assert pytest.approx(0.403, abs=5e-4) == EXTRA


def test_a_design_that_is_close_leaves_a_large_independent_set() -> None:
    most = 1 - (1 - 1 / RATIO**2) / 3  # Y·τ²/V, where a third of the vertices or more are independent
    lost = 2 * most / EXTRA * 3  # of the largest set, for a unit of δ
    assert most < 0.77
    assert lost < 11.5
    assert 1 - lost * 0.0005 > 94 / 95


@pytest.mark.parametrize("two", EVERY)
def test_every_matched_pair_costs_something(two: tuple[int, ...]) -> None:
    found = least(two, rest=False)
    stated = without_edges(two) + matching(two) * EXTRA
    assert found >= stated * (1 - 1e-5)
    if not matching(two) or len(two) == 2:  # then nothing else is lost
        assert found == pytest.approx(stated, rel=1e-5)


@pytest.mark.parametrize("two", [two for two in EVERY if not matching(two)])
def test_without_edges_the_strengths_of_the_proof_keep_the_promise(two: tuple[int, ...]) -> None:
    vertices = [(1 - SHRINK) * (TWO if v in two else ONE) for v in range(len(COLOURS))]
    strengths = np.array([*vertices, *[SHRINK * ONE / 2] * 3])
    assert np.all(needs() @ strengths <= rooms(two) * (1 + 1e-9))
    value = (ONE**2 / strengths**2).sum()
    assert value == pytest.approx(without_edges(two) / (1 - SHRINK) ** 2 + 12 / SHRINK**2)
    assert least(two, rest=True) <= value


def test_the_design_is_an_independent_set() -> None:
    plan = dps.design(
        STRATA,
        epsilon=math.log1p(C),
        total=len(COLOURS) + len(PRISM) + 2,
        release="mean",
        domains=["colour0", "colour1", "colour2"],
    )
    two = tuple(np.flatnonzero(plan.sample_sizes == 2).tolist())
    values = {each: least(each, rest=True) for each in combinations(range(len(COLOURS)), 2)}
    assert values[two] == pytest.approx(min(values.values()), rel=1e-6)
    assert matching(two) == 0
    assert plan.certificate.relative_gap < 1e-4
    # in the unit of what is minimised: 2R²/(F N² σ²) for every figure
    unit = 2 / (3 * float(STRATA.sizes.sum()) ** 2 * ONE**2)
    assert plan.certificate.value == pytest.approx(unit * values[two], rel=1e-6)
