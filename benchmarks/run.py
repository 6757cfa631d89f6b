"""Measure the design engine against itself and against other ways, and write docs/reference/benchmarks.md.

Every figure is a ratio of two things measured side by side in this run; seconds would only describe the
machine. ``make bench`` runs it; it ends with status 1 if a limit is broken.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import statistics
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dpstrata as dps
from dpstrata.allocation.posing import pose
from dpstrata.allocation.solvers.solve import solve
from dpstrata.planning.goal_search import design_for
from dpstrata.present.charts.chart import lines as lines_chart
from rivals import RIVALS, paper_problem

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "benchmarks.md"
CHART = Path(__file__).parent.parent / "docs" / "images" / "benchmarks.svg"
Rows = list[tuple[str, float, float]]
GIVE_UP = 60.0  # a way that takes longer is not tried on larger problems


def best_of(function: Callable[[], Any], repeats: int, seconds: float = 20.0) -> float:
    """Least time of several runs, stopping early when they take long."""
    best, start = math.inf, time.perf_counter()
    for _ in range(repeats):
        before = time.perf_counter()
        function()
        now = time.perf_counter()
        best = min(best, now - before)
        if now - start > seconds:
            break
    return best


EACH = {"epsilon": 1, "mechanism": "laplace"}
DEVICE_EPSILON = 5.0


class Survey(NamedTuple):
    """A population with one question about it."""

    strata: dps.Strata
    options: dict[str, Any]

    def design(self) -> dps.Design:
        """Answer the question."""
        return dps.design(self.strata, **EACH, **self.options)


def survey(k: int, *, scale: int = 1, kind: str = "total") -> Survey:
    """Sizes log-uniform from 10^2 to 10^6, variances from 10^-4 to 10^-0.6, total 5% of the population.

    10^-0.6 is a little more than answers between 0 and 1 can have, so variances end at 1/4.
    """
    rng = np.random.default_rng(k)
    sizes = np.floor(10 ** rng.uniform(2, 6, k)).astype(np.int64) * scale
    sds = np.sqrt(np.minimum(10 ** rng.uniform(-4, -0.6, k), 0.25))
    total = int(0.05 * sizes.sum())
    rates = rng.uniform(0.3, 1.0, k) if kind == "response" else None
    options = {
        "total": {"total": total},
        "at most": {"at_most": total},
        "cap": {"total": total, "local_epsilon_cap": 3.0},
        "response": {"total": total},
        "sums": {"total": total, "release": "sums", "device_epsilon": DEVICE_EPSILON},
    }[kind]
    return Survey(dps.Strata(sizes, sds, response_rates=rates), options)


def plain_objective(strata: dps.Strata, n: np.ndarray, kind: str) -> Callable[[], float]:
    """Write the objective in plain NumPy, as anyone would; constants are prepared outside."""
    N, S = strata.sizes.astype(float), strata.sds
    a, c, sizes = N / N.sum(), np.expm1(1.0), n.astype(float)
    if kind == "sums":
        d = 2 / DEVICE_EPSILON**2
        return lambda: float(np.sum(a**2 * (S**2 + d + 2 / np.log1p(c * N / sizes) ** 2 / sizes) / sizes))
    if strata.response_rates is not None:
        r, q = strata.response_rates, 1 - strata.response_rates

        def with_chance() -> float:
            u = r * sizes
            inverse = (1 + q / u + q * (1 + q) / u**2 + 2 * q * (1 + 4 * q + q * q) / u**3) / u
            return float(np.sum(a**2 * (S**2 + 2 / np.log1p(c * r * N / sizes) ** 2) * inverse))

        return with_chance
    return lambda: float(np.sum(a**2 * (S**2 + 2 / np.log1p(c * N / sizes) ** 2) / sizes))


def in_evaluations(k: int, repeats: int, kind: str) -> float:
    """Time of one design, in evaluations of its objective."""
    asked = survey(k, kind=kind)
    plan = asked.design()
    assert plan.certificate.optimal
    unit = best_of(plain_objective(asked.strata, plan.sample_sizes, kind), 5 * repeats)
    return best_of(asked.design, repeats) / unit


def paired_ratio(
    first: Callable[[], Any], second: Callable[[], Any], *, rounds: int, repeats: tuple[int, int]
) -> float:
    """Median over rounds of the time of one thing over that of another, measured in turn.

    Neighbouring measurements share whatever else the machine is doing.
    """
    first(), second()
    ratios = []
    for _ in range(rounds):
        times = [best_of(run, count) for run, count in zip((first, second), repeats, strict=True)]
        ratios.append(times[0] / times[1])
    return statistics.median(ratios)


def peak_arrays(k: int, kind: str) -> float:
    """Peak memory of a design beyond its input, in arrays of k doubles."""
    asked = survey(k, kind=kind)
    asked.design()
    tracemalloc.start()
    asked.design()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * k)


def measure_engine(largest: int, kind: str, allowance: float) -> Rows:
    """Each figure of the engine with its limit, for one kind of question."""
    factor = largest / 10**6
    growth = paired_ratio(
        survey(largest, kind=kind).design, survey(10**6, kind=kind).design, rounds=3, repeats=(3, 3)
    )
    scaling = paired_ratio(
        survey(1000, scale=10**6, kind=kind).design,
        survey(1000, kind=kind).design,
        rounds=9,
        repeats=(30, 30),
    )
    return [
        (
            f"{kind}: design at k = 1,000,000, in evaluations of the objective",
            in_evaluations(10**6, 7, kind),
            40.0 if kind == "sums" else 40 * allowance,
        ),
        (f"{kind}: its peak memory, in arrays of k doubles", peak_arrays(10**6, kind), 30 * allowance),
        (
            f"{kind}: design at k = {largest:,}, in designs at k = 1,000,000",
            growth,
            1.2 * factor * allowance,
        ),
        (
            f"{kind}: k = 1,000 with sizes and total a million times larger, in designs without",
            scaling,
            1.5 * allowance,
        ),
        (
            f"{kind}: design at k = 10, in evaluations of the objective",
            in_evaluations(10, 1000, kind),
            200 * allowance,
        ),
    ]


def measure_questions() -> Rows:
    """Measure other questions in single designs of the same strata."""
    rows: Rows = []
    for k in (10, 1000, 100_000):
        asked = survey(k)
        best = dps.design(asked.strata, **EACH, at_most=asked.strata.population)
        near = best.standard_error * (1 + 1e-6)
        middle = asked.design().standard_error
        for words, target in (("as precise as a given design", middle), ("just short of the best", near)):
            wanted = partial(dps.design, asked.strata, **EACH, target_se=target)
            repeats = (5, 5) if k > 1000 else (20, 50)
            ratio = paired_ratio(wanted, asked.design, rounds=5, repeats=repeats)
            rows.append((f"target at k = {k:,}, {words}, in designs", ratio, 15))
    ten = survey(10)
    totals = [ten.options["total"] // 100 * (i + 1) for i in range(100)]
    sweep = partial(dps.sweep, ten.strata, **EACH, total=totals)
    singles = [partial(dps.design, ten.strata, **EACH, total=total) for total in totals]
    ratio = paired_ratio(sweep, lambda: [run() for run in singles], rounds=9, repeats=(5, 5))
    rows.append(("sweep of 100 designs at k = 10, in single ones", 100 * ratio, 100))
    return rows


def measure_mean() -> Rows:
    """Measure designs of one number, in designs of published answers for the same strata and total."""
    asked = survey(10**6)
    mean = partial(dps.design, asked.strata, **EACH, **asked.options, release="mean")
    assert mean().certificate.relative_gap < 1e-4
    ratio = paired_ratio(mean, asked.design, rounds=3, repeats=(1, 3))
    return [("one number: design at k = 1,000,000, in designs of published answers", ratio, 20)]


def fifty_questions() -> dps.Questionnaire:
    """Make up a questionnaire of every kind, with importances from 1 to 10."""
    rng = np.random.default_rng(50)
    questions = []
    for i in range(50):
        kind = ("yes_no", "category", "scale", "number")[i % 4]
        more: dict[str, Any] = {"importance": float(rng.integers(1, 11))}
        if kind == "category":
            more["categories"] = [f"answer {c}" for c in range(int(rng.integers(3, 13)))]
        if kind in ("yes_no", "category"):
            more["blank"] = False
        else:
            more |= {"lower": 0, "upper": int(rng.integers(4, 11))}
        questions.append(dps.Question(f"q{i}", kind, **more))
    return dps.Questionnaire(questions)


def measure_questionnaires() -> Rows:
    """Measure 50 questions: choosing and proving their forms, and their allocation once they are chosen."""
    asked = fifty_questions()
    rng = np.random.default_rng(7)
    ten, thousand = (dps.Strata(rng.integers(2_000, 90_000, k), np.full(k, 0.4)) for k in (10, 1000))
    options: dict[str, Any] = {"epsilon": 1, "release": "sums", "device_epsilon": 5.0}
    whole = partial(dps.design, ten, questions=asked, total=20_000, **options)
    single = partial(dps.design, ten, **EACH, total=20_000)
    chosen = dps.design(thousand, questions=asked, total=2_000_000, **options).inputs

    def allocate() -> dps.Design:
        return design_for(thousand, chosen, pose(chosen, thousand))

    one = partial(dps.design, thousand, **EACH, total=2_000_000)
    return [
        (
            "50 questions: their forms with the proof, at k = 10, in designs of one question",
            paired_ratio(whole, single, rounds=3, repeats=(1, 50)),
            10_000,
        ),
        (
            "50 questions on forms: allocation at k = 1,000, in designs of one question",
            paired_ratio(allocate, one, rounds=3, repeats=(1, 20)),
            100,
        ),
    ]


def measure_best() -> Rows:
    """Measure the choice of the best mechanism in designs with the mechanism that it takes."""
    rows: Rows = []
    for k, rounds, repeats in ((10, 15, 30), (10**6, 5, 2)):
        strata, options = survey(k, kind="sums")  # where sine and staircase can be the best
        best = partial(dps.design, strata, epsilon=1, **options)
        taken = best()
        assert taken.choice is not None
        assert len(taken.choice) == 2  # nothing rules one of them out
        named = partial(best, mechanism=taken.inputs.mechanism)
        ratio = paired_ratio(best, named, rounds=rounds, repeats=(repeats, repeats))
        rows.append((f"best of the mechanisms at k = {k:,}, in designs with the one it takes", ratio, 3))
    return rows


def measure_estimates() -> Rows:
    """Measure estimates from ten answers a stratum, in estimates of fewer strata and in designs."""
    few, many = estimates(10**4), estimates(10**5)
    growth = paired_ratio(many[1], few[1], rounds=5, repeats=(3, 5))
    designs = paired_ratio(few[1], few[0], rounds=5, repeats=(5, 20))
    return [
        ("estimates at k = 100,000, in estimates at k = 10,000", growth, 12),
        ("estimates at k = 10,000, in designs of the same strata", designs, 100),
    ]


def estimates(k: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Prepare a design of k named strata, and estimates from answers to it."""
    rng = np.random.default_rng(k)
    names = [f"stratum {i}" for i in range(k)]
    strata = dps.Strata(rng.integers(100, 9000, k), rng.uniform(0.05, 0.45, k), names)
    asked = partial(dps.design, strata, **EACH, total=10 * k)
    plan = asked()
    told = np.repeat(np.array(names, dtype=object), plan.sample_sizes).tolist()
    return asked, partial(dps.estimate_means, plan, told, rng.normal(0.5, 1.0, plan.total))


def measure_draw(people: int) -> Rows:
    """Measure the secret draw in a process of its own."""
    script = Path(__file__).parent / "draw.py"
    printed = subprocess.run(
        [sys.executable, script, str(people)], check=True, capture_output=True, text=True
    ).stdout.split()
    return [
        (
            f"secret draw from {people:,} people in 1,000 strata, in scans of the two columns",
            float(printed[0]),
            8,
        ),
        ("its peak memory, in megabytes", float(printed[1]), 1000),
    ]


def measure_rivals(give_up: float) -> tuple[list[tuple[str, str, list[str]]], list[dict[str, Any]]]:
    """Time other ways in exact designs of the same problem, until each takes too long; rows and points."""
    rows, points = [], []
    for rival in RIVALS:
        cells, stopped = [], False
        rival.run(paper_problem(*rival.problems[0]), give_up)  # loads what it needs
        for k, total in rival.problems:
            problem = paper_problem(k, total)
            if stopped:
                cells.append("–")
                continue
            exact = best_of(lambda problem=problem: solve(problem), 20, seconds=5)
            before = time.perf_counter()
            outcome = rival.run(problem, give_up)
            elapsed = time.perf_counter() - before
            stopped = elapsed > give_up or outcome.startswith("refuses")
            mark = outcome if outcome.startswith("refuses") else f"{elapsed / exact:,.0f}×{outcome}"
            cells.append(f"k = {k}, total {total:,}: {mark}")
            if not outcome.startswith("refuses"):
                points.append({"k": k, "ratio": elapsed / exact, "way": rival.name})
            print(f"  {rival.name}: {cells[-1]}", flush=True)
        rows.append((rival.name, rival.finds, [cell for cell in cells if cell != "–"]))
    return rows, points


def write_page(engine: Rows, rivals: list[tuple[str, str, list[str]]], points: list[dict[str, Any]]) -> None:
    """Fill the page, and draw its chart; its prose lives in benchmarks/page.md."""
    slowest: dict[tuple[str, int], dict[str, Any]] = {}
    for point in points:  # the same k may have been tried with several totals
        known = slowest.setdefault((point["way"], point["k"]), point)
        known["ratio"] = max(known["ratio"], point["ratio"])
    lines_chart(
        list(slowest.values()),
        x=("k", "strata"),
        y=("ratio", "time, in exact designs of the same problem"),
        series=("way", "way"),
        title="Other ways to solve the same problem",
        log_y=True,
        points=True,
    ).save(CHART)
    lines = ["| what | measured | limit |", "| --- | ---: | ---: |"]
    lines += [f"| {what} | {value:.1f} | {limit:g} |" for what, value, limit in engine]
    others = ["| way | finds | time, in exact designs of the same problem |", "| --- | --- | --- |"]
    others += [f"| {name} | {finds} | {'<br>'.join(cells)} |" for name, finds, cells in rivals]
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("dpstrata", "numpy", "scipy", "duckdb", "pyscipopt")
    )
    where = f"{os.cpu_count()} cores of {platform.machine()}, {platform.system()}"
    machine = f"{where}, Python {platform.python_version()}, {packages}"
    template = (Path(__file__).parent / "page.md").read_text(encoding="utf-8")
    text = template.replace("{engine}", "\n".join(lines)).replace("{rivals}", "\n".join(others))
    PAGE.write_text(text.replace("{machine}", machine), encoding="utf-8")


def main() -> int:
    """Run everything and check the limits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller problems, no page is written")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", dps.DpstrataWarning)  # totals beyond the best one are meant here
    print("Engine:")
    engine: Rows = []
    for kind in ("total", "sums", "at most", "cap", "response"):
        # questions beyond the paper's may cost twice as much
        engine += measure_engine(2 * 10**6 if quick else 10**7, kind, 1.0 if kind == "total" else 2.0)
        for what, value, limit in engine[-5:]:
            print(f"  {what}: {value:.1f} (limit {limit:g})", flush=True)
    questions = measure_questions()
    for what, value, limit in questions:
        print(f"  {what}: {value:.1f} (limit {limit:g})", flush=True)
    after = measure_mean() + measure_questionnaires() + measure_best() + measure_estimates()
    for what, value, limit in after:
        print(f"  {what}: {value:.1f} (limit {limit:g})", flush=True)
    draws = measure_draw(5_000_000 if quick else 50_000_000)
    for what, value, limit in draws:
        print(f"  {what}: {value:.1f} (limit {limit:g})", flush=True)
    engine += questions + after + draws
    print("Other ways, in exact designs of the same problem:")
    rivals, points = measure_rivals(2.0 if quick else GIVE_UP)
    if not quick:
        write_page(engine, rivals, points)
        print(f"Written to {PAGE.name}.")
    broken = [what for what, value, limit in engine if value > limit]
    for what in broken:
        print(f"Limit broken: {what}.", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
