"""Other ways to solve the same problem, each behind one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize

import dpstrata as dps
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.solvers.solve import solve


class Rival(NamedTuple):
    """A way to solve, what it finds, and the problems it is tried on, from small to large."""

    name: str
    finds: str
    problems: list[tuple[int, int]]
    run: Callable[[Problem, float], str]
    """Solve within a time limit; return a remark, or 'refuses …'."""


def paper_problem(k: int, total: int) -> Problem:
    """Pose the paper's timing experiment (section 5.3), its strata repeated beyond ten."""
    rows = np.arange(k) % 10
    strata = dps.Strata(20_000 - 1_000 * rows, np.sqrt(0.08 ** (1.1 + 0.1 * rows)))
    return dps.design(strata, epsilon=1, total=total, mechanism="laplace").problem


def _verdict(problem: Problem, sizes: np.ndarray) -> str:
    """Say by how much a result misses the optimum, if it does."""
    excess = problem.objective(sizes) / problem.objective(solve(problem).sizes) - 1
    return "" if excess <= 1e-12 else f" (worse by {excess:.0e})"


def _own(method: str) -> Callable[[Problem, float], str]:
    def run(problem: Problem, _: float) -> str:
        try:
            sizes = solve(problem, method).sizes  # type: ignore[arg-type]
        except dps.InputError:
            return "refuses: too many candidates"
        return _verdict(problem, sizes)

    return run


def _scipy(method: str) -> Callable[[Problem, float], str]:
    def run(problem: Problem, _: float) -> str:
        terms = problem.terms
        k, total = len(terms), float(problem.total)
        best = problem.objective(solve(problem, "continuous").sizes)

        def gradient(x: np.ndarray) -> np.ndarray:
            W, _ = terms.curve(x)
            return (terms.origin - terms.scale * W / x**2) / best

        result = optimize.minimize(
            lambda x: problem.objective(x) / best,
            np.full(k, total / k),
            jac=gradient,
            method=method,
            bounds=optimize.Bounds(problem.lower, problem.upper),
            constraints=optimize.LinearConstraint(np.ones((1, k)), total, total),
            options={"maxiter": 3000},
        )
        excess = problem.objective(result.x) / best - 1
        return f" (within {max(excess, 1e-16):.0e})"

    return run


def _scip(problem: Problem, seconds: float) -> str:
    from pyscipopt import Model, log, quicksum

    terms = problem.terms
    c = terms.promise.odds_minus_one
    scale = problem.objective(solve(problem).sizes)
    model = Model()
    model.hideOutput()
    model.setParam("limits/time", seconds)
    n = [
        model.addVar(vtype="I", lb=int(low), ub=int(high))
        for low, high in zip(problem.lower, problem.upper, strict=True)
    ]
    bound = model.addVar(lb=0.0)
    model.addCons(quicksum(n) == problem.total)
    model.addCons(
        quicksum(
            float(a**2) * (float(V) + 2 / log(1 + c * int(N) / x) ** 2) / x / scale
            for a, V, N, x in zip(terms.coefficients, terms.variances, terms.sizes, n, strict=True)
        )
        <= bound
    )
    model.setObjective(bound)
    model.optimize()
    if model.getStatus() != "optimal":
        return f" (stopped at {seconds:g} s, gap {model.getGap():.1e})"
    return _verdict(problem, np.array([round(model.getVal(x)) for x in n]))


RIVALS = [
    Rival(
        "exhaustive search",
        "the optimum",
        [(3, 30), (5, 30), (8, 30), (10, 30), (10, 48)],
        _own("exhaustive"),
    ),
    Rival(
        "Algorithm 1 of the paper",
        "the optimum, unproven",
        [(4, 48), (8, 48), (10, 48), (10, 10**5), (12, 48), (16, 48), (40, 480)],
        _own("algorithm1"),
    ),
    Rival(
        "SciPy SLSQP",
        "the relaxation",
        [(10, 48), (100, 4_000), (300, 12_000), (1000, 40_000)],
        _scipy("SLSQP"),
    ),
    Rival(
        "SciPy trust-constr",
        "the relaxation",
        [(10, 48), (100, 4_000), (300, 12_000), (1000, 40_000)],
        _scipy("trust-constr"),
    ),
    Rival("SCIP (pyscipopt)", "the optimum with a bound", [(2, 200), (4, 200), (6, 200), (10, 200)], _scip),
]
