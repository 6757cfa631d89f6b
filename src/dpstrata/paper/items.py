"""The tables and figures of the paper, each computed into tidy rows and a chart."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import dpstrata as dps
from dpstrata.allocation.comparison import OWN
from dpstrata.allocation.solvers.solve import Method
from dpstrata.paper import settings
from dpstrata.present.charts.chart import Chart, lines

Row = dict[str, Any]
EXHAUSTIVE = "exhaustive search"


@dataclass(frozen=True, slots=True)
class Item:
    """One table or figure.

    Attributes
    ----------
    key, title : str
        Name of its files, and heading.
    paper : str
        What the paper prints or claims.
    rows : list of dict
        What was computed.
    chart : Chart or None
        Its picture.
    note : str
        How it was computed, and anything that the paper leaves open.
    """

    key: str
    title: str
    paper: str
    rows: list[Row]
    chart: Chart | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much to compute: all of it, or a smaller grid."""

    points: int = 81
    exhaustive_totals: tuple[int, ...] = (30, 32, 34)
    totals: tuple[int, ...] = (30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 100, 1_000, 10_000, 100_000)
    algorithm1_strata: tuple[int, ...] = tuple(range(2, 13))
    first_stage_strata: tuple[int, ...] = (14, 16, 18, 20, 22, 24, 26)
    exact_strata: tuple[int, ...] = (2, 6, 12, 26, 100, 1_000, 10_000, 100_000, 1_000_000)
    gap_totals: tuple[int, ...] = (48, 200, 1_000, 10_000)
    gap_strata: tuple[int, ...] = (14, 20, 26)
    repeats: int = 5


QUICK = Extent(
    points=17,
    exhaustive_totals=(30,),
    totals=(30, 36, 42, 48, 1_000, 100_000),
    algorithm1_strata=(2, 4, 6, 8, 10, 12),
    first_stage_strata=(14, 16, 18),
    exact_strata=(2, 12, 100, 10_000, 1_000_000),
    gap_strata=(14, 16, 18),
    repeats=2,
)


@dataclass(slots=True)
class Progress:
    """Where long work reports its steps."""

    advance: Callable[[str], None] = field(default=lambda _: None)


def table_1() -> Item:
    """Ratios of variances at five ε, to the printed digits."""
    rows = []
    for mechanism, printed in settings.TABLE_1.items():
        for exponent, text in zip(settings.TABLE_1_EXPONENTS, printed, strict=True):
            plan = settings.paper_design(
                settings.four_strata(), epsilon=10**exponent, total=200, mechanism=mechanism
            )
            ratio = settings.naive_ratio(plan)
            digits = len(text.partition(".")[2])
            rows.append(
                {
                    "mechanism": settings.MECHANISMS[mechanism],
                    "epsilon": 10**exponent,
                    "printed": text,
                    "computed": f"{ratio:.{digits}f}",
                    "unrounded": ratio,
                    "same_digits": round(ratio, digits) == float(text),
                    "optimal_sizes": " + ".join(map(str, plan.sample_sizes.tolist())),
                }
            )
    return Item(
        "table-1",
        "Table 1: variance ratio on the population mean",
        "Laplace 1.828, 2.095, 2.269, 2.311, 1.973; TuLap 2.405, 3.324, 3.877, 4.06, 4.076",
        rows,
        note="The naive design is Neyman's, rounded by largest remainders: 137, 44, 14, 5.",
    )


def ratio_figure(objective: str, extent: Extent, progress: Progress) -> Item:
    """Variance ratio, naive to optimal, against ε for the three mechanisms."""
    mean = objective == "mean"
    what = "population mean" if mean else "A-optimal design"
    rows: list[Row] = []
    for mechanism, name in settings.MECHANISMS.items():
        for epsilon in settings.epsilons(extent.points):
            ratios = (_mean_ratio if mean else _trace_ratios)(mechanism, epsilon)
            rows.append({"mechanism": name, "epsilon": epsilon, **ratios})
        progress.advance(f"variance ratio, {what}")
    chart = lines(
        rows,
        x=("epsilon", "epsilon (central)"),
        y=("ratio", "variance of Neyman's design over the optimal one"),
        series=("mechanism", "mechanism"),
        title=f"What ignoring privacy costs: {what}",
        subtitle="Four strata, 200 interviews; Neyman's design for the population mean",
    )
    if mean:
        claim = (
            "Laplace up to 2.5 times within 1 < ε < 10, TuLap up to 4; Discrete Laplace has the same design"
        )
        return Item("ratio-mean", f"Variance ratio, {what}", claim, rows, chart)
    return Item(
        "ratio-trace",
        f"Variance ratio, {what}",
        "Laplace up to 1.8 times within 1 < ε < 10; TuLap jumps around ε = 10; Discrete Laplace least",
        rows,
        chart,
        "The paper does not say which naive design it means here. Its 1.8 fits Neyman's for the population "
        "mean (n ∝ N·S), which is drawn; against the A-optimal design without noise (n ∝ S) the ratios are "
        "larger and stand in the second column.",
    )


def _mean_ratio(mechanism: str, epsilon: float) -> Row:
    """Compare the population mean's Neyman design with the optimal one."""
    plan = settings.paper_design(settings.four_strata(), epsilon=epsilon, total=200, mechanism=mechanism)
    return {"ratio": settings.naive_ratio(plan)}


def _trace_ratios(mechanism: str, epsilon: float) -> Row:
    """Compare two naive designs with the A-optimal one.

    The printed 1.8 belongs to the population mean's Neyman design, n ∝ N·S, not to n ∝ S.
    """
    design = partial(
        settings.paper_design, settings.four_strata(), epsilon=epsilon, total=200, mechanism=mechanism
    )
    plan = design(objective="trace")
    naive = next(r.sample_sizes for r in design().compare() if r.design == "neyman")
    best = plan.problem.objective(plan.sample_sizes)
    return {
        "ratio": plan.problem.objective(naive) / best,
        "ratio_to_its_own_neyman": settings.naive_ratio(plan),
    }


def interplay(extent: Extent, progress: Progress) -> Item:
    """Optimal, no-noise and pure-noise designs against ε."""
    strata = settings.three_strata()
    names = {"optimal": OWN, "no noise (Neyman)": "neyman", "pure noise (proportional)": "proportional"}
    rows: list[Row] = []
    for epsilon in settings.epsilons(extent.points):
        plan = settings.paper_design(strata, epsilon=epsilon, total=200)
        sizes = {row.design: row.sample_sizes.tolist() for row in plan.compare()}
        rows += [
            {
                "epsilon": epsilon,
                "stratum": f"stratum {i + 1}",
                "design": design,
                "people": people,
            }
            for design, name in names.items()
            for i, people in enumerate(sizes[name])
        ]
    progress.advance("optimal, no-noise and pure-noise designs")
    chart = lines(
        rows,
        x=("epsilon", "epsilon (central)"),
        y=("people", "people invited"),
        series=("design", "design"),
        title="Optimal design, no noise and pure noise",
        subtitle="Three strata, 200 interviews, Laplace",
        from_zero=True,
        panels=("stratum", ""),
    )
    return Item(
        "interplay",
        "Optimal, no-noise and pure-noise designs",
        "The optimum largely interpolates; strong privacy draws it to pure noise, weak privacy to Neyman",
        rows,
        chart,
        "It does not arrive at pure noise. As ε falls the noise becomes a cost per person that is the same "
        "everywhere, and what is left to decide the allocation tends to n ∝ N·√(S² + R²/6).",
    )


def _time(function: Callable[[], Any], repeats: int) -> float:
    """Least time of some runs after a first one, which also loads what it needs; long work runs once."""
    best = math.inf
    for run in range(repeats + 1):
        start = time.perf_counter()
        function()
        elapsed = time.perf_counter() - start
        if run > 0 or elapsed > 1.0:
            best = min(best, elapsed)
        if elapsed > 1.0:
            break
    return best


def computation_time(extent: Extent, progress: Progress) -> Item:
    """Exhaustive search, Algorithm 1 and the exact solver as the total grows, at k = 10."""
    seconds, optimal = _times_by_total(extent, progress)
    seconds |= _extrapolated(seconds, extent)
    unit = seconds["exact solver", extent.totals[0]]
    order = ("exact solver", "Algorithm 1", EXHAUSTIVE, f"{EXHAUSTIVE} (extrapolated)")
    rows: list[Row] = [
        {
            "total": total,
            "solver": solver,
            "time_in_exact_solves_at_the_first_total": taken / unit,
            "seconds_on_this_machine": taken,
            "candidates": math.comb(total - 1, 9) if solver.startswith(EXHAUSTIVE) else None,
            "optimal": optimal[total] if solver == "Algorithm 1" else None,
        }
        for (solver, total), taken in sorted(
            seconds.items(), key=lambda item: (order.index(item[0][0]), item[0][1])
        )
    ]
    chart = lines(
        rows,
        x=("total", "interviews (total)"),
        y=("time_in_exact_solves_at_the_first_total", "time, in exact solves"),
        series=("solver", "solver"),
        title="Computation time as the total grows",
        subtitle="k = 10, Laplace, epsilon = 1; unit: the exact solver at the smallest total",
        log_y=True,
        points=True,
    )
    return Item(
        "computation-time",
        "Computation time, k = 10",
        "Exhaustive search grows exponentially from total 30 to 48; Algorithm 1 solves 10⁵ faster than "
        "exhaustive search solves 30",
        rows,
        chart,
        "Exhaustive search has C(total − 1, 9) candidates, a polynomial of degree 9 in the total: 10 million "
        "at 30, and 1.4 thousand million at 48. Beyond what this run tries, its time is extrapolated from "
        "the number of candidates. Ratios within this run are what counts; seconds describe one machine.",
    )


def _times_by_total(
    extent: Extent, progress: Progress
) -> tuple[dict[tuple[str, int], float], dict[int, bool]]:
    """Time every solver at every total, and say where Algorithm 1 finds the optimum."""
    strata = settings.growing_strata(10)
    seconds: dict[tuple[str, int], float] = {}
    optimal: dict[int, bool] = {}
    for total in extent.totals:
        problem = settings.paper_design(strata, epsilon=1, total=total).problem
        seconds["exact solver", total] = _time(partial(dps.solve, problem), extent.repeats * 4)
        seconds["Algorithm 1", total] = _time(partial(dps.solve, problem, "algorithm1"), extent.repeats)
        found = np.asarray(dps.solve(problem, "algorithm1").sizes, dtype=np.int64)
        optimal[total] = dps.certify(problem, found).optimal
        if total in extent.exhaustive_totals:
            seconds[EXHAUSTIVE, total] = _time(partial(dps.solve, problem, "exhaustive"), 1)
        progress.advance(f"computation time, total {total:,}")
    return seconds, optimal


def _extrapolated(seconds: dict[tuple[str, int], float], extent: Extent) -> dict[tuple[str, int], float]:
    """Guess what exhaustive search would take where it was not tried, from its number of candidates."""
    base = extent.exhaustive_totals[0]
    per_candidate = seconds[EXHAUSTIVE, base] / math.comb(base - 1, 9)
    return {
        (f"{EXHAUSTIVE} (extrapolated)", total): per_candidate * math.comb(total - 1, 9)
        for total in extent.totals
        if total <= 48 and (EXHAUSTIVE, total) not in seconds
    }


def growth(extent: Extent, progress: Progress) -> Item:
    """Algorithm 1, its first stage and the exact solver as the number of strata grows."""
    rows = _times_by_strata(extent, progress)
    chart = lines(
        [row for row in rows if row["solver"] != "relaxation"],
        x=("strata", "strata (k)"),
        y=("time_in_exact_solves_of_two_strata", "time, in exact solves of two strata"),
        series=("solver", "solver"),
        title="Computation time as the number of strata grows",
        subtitle="20 interviews per stratum, Laplace, epsilon = 1",
        log_y=True,
        points=True,
    )
    return Item(
        "growth",
        "Growth with the number of strata",
        "Algorithm 1 for k = 2 to 12 and its first stage for 14 to 26 grow exponentially",
        rows,
        chart,
        "The paper's sizes for k other than 10 are ambiguous (10000 + 1000k, 10000 + 900k, …, 11000): read "
        "as steps of 1,000 down to 11,000. Its total is not stated: 20 interviews per stratum are used. "
        "Beyond k = 100 the exponents of the variances start again.",
    )


def _times_by_strata(extent: Extent, progress: Progress) -> list[Row]:
    """Time every solver at as many strata as it can take; the unit is the first, the relaxation the last."""
    rows: list[Row] = []

    def add(solver: str, k: int, seconds: float, radius: float | None = None) -> None:
        unit = rows[0]["seconds_on_this_machine"] if rows else seconds
        rows.append(
            {
                "strata": k,
                "solver": solver,
                "time_in_exact_solves_of_two_strata": seconds / unit,
                "seconds_on_this_machine": seconds,
                "radius": radius,
            }
        )

    for solver, k, method, repeats in _solvers_by_strata(extent):
        problem = _problem_of(k)
        seconds = _time(partial(dps.solve, problem, method), repeats)
        add(solver, k, seconds, dps.solve(problem, method).radius if method == "algorithm1" else None)
        progress.advance(f"growth with strata, {solver}, k = {k:,}")
    relaxation = max(_time(partial(dps.solve, _problem_of(k), "continuous"), 1) for k in (2, 26, 10_000))
    add("relaxation", 10_000, relaxation)
    return rows


def _solvers_by_strata(extent: Extent) -> Iterator[tuple[str, int, Method, int]]:
    """Which solver to time at how many strata, by which method, and how often."""
    for k in extent.exact_strata:
        yield "exact solver", k, "exact", extent.repeats
    for k in extent.algorithm1_strata:
        yield "Algorithm 1", k, "algorithm1", 1
    for k in extent.first_stage_strata:
        yield "first stage of Algorithm 1", k, "algorithm1_first_stage", 1


def _problem_of(k: int) -> dps.Problem:
    return settings.paper_design(settings.growing_strata(k), epsilon=1, total=20 * k).problem
