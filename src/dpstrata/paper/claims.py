"""Every claim in the paper's prose that a number can test, a row each."""

from __future__ import annotations

import math

import numpy as np

import dpstrata as dps
from dpstrata.paper.items import (
    MECHANISMS,
    Advance,
    Extent,
    Item,
    Row,
    four_strata,
    growing_strata,
    paper_design,
)

NEYMAN, PURE = "no noise (Neyman)", "pure noise (proportional)"


def claims(items: dict[str, Item], extent: Extent, advance: Advance) -> Item:
    """Judge the claims from the figures already computed, and compute what is missing."""
    rows = [
        *_table(items["table-1"]),
        *_mean_ratios(items["ratio-mean"]),
        *_trace_ratios(items["ratio-trace"]),
        *_interplay(items["interplay"]),
        *_times(items["computation-time"]),
        *_algorithm(items["computation-time"], items["growth"]),
        *_closed_forms(),
        *_gap(extent, advance),
    ]
    return Item(
        "claims",
        "Claims, one by one",
        "What the paper says in prose",
        rows,
        note="“Holds” is judged on the grid of this run.",
    )


def _claim(claim: str, computed: str, holds: bool | str) -> Row:
    return {
        "claim": claim,
        "computed": computed,
        "holds": holds if isinstance(holds, str) else ("yes" if holds else "no"),
    }


def _table(item: Item) -> list[Row]:
    same = sum(row["same_digits"] for row in item.rows)
    return [
        _claim(
            "Table 1, all ten ratios", f"{same} of {len(item.rows)} agree to every printed digit", same == 10
        )
    ]


def _largest(item: Item, mechanism: str, low: float = 0.0, high: float = math.inf) -> tuple[float, float]:
    """Largest ratio of a mechanism within a range of ε, and where."""
    inside = [row for row in item.rows if row["mechanism"] == mechanism and low <= row["epsilon"] <= high]
    best = max(inside, key=lambda row: row["ratio"])
    return best["ratio"], best["epsilon"]


def _mean_ratios(mean: Item) -> list[Row]:
    laplace, at = _largest(mean, "Laplace", 1, 10)
    tulap, tulap_at = _largest(mean, "TuLap")
    discrete, _ = _largest(mean, "Discrete Laplace")
    return [
        _claim(
            "Laplace, mean: the naive variance is up to 2.5 times larger within 1 < ε < 10",
            f"at most {laplace:.2f} times, at ε = {at:.3g}",
            "no: 2.5 is not reached" if laplace < 2.45 else True,
        ),
        _claim(
            "TuLap, mean: the ratio can reach as high as 4",
            f"at most {tulap:.3f}, at ε = {tulap_at:.3g}",
            tulap >= 4,
        ),
        _claim(
            "Discrete Laplace, mean: the optimal design is Neyman's, so the ratio is 1",
            f"at most {discrete:.6f}: exactly 1 for real sizes; in whole numbers largest remainders are not "
            "always the best rounding",
            discrete < 1.0005,
        ),
    ]


def _trace_ratios(trace: Item) -> list[Row]:
    laplace, at = _largest(trace, "Laplace", 1, 10)
    own = max(
        row["ratio_to_its_own_neyman"]
        for row in trace.rows
        if row["mechanism"] == "Laplace" and 1 <= row["epsilon"] <= 10
    )
    around = {
        round(math.log10(row["epsilon"]), 2): row["ratio"]
        for row in trace.rows
        if row["mechanism"] == "TuLap"
    }
    tulap_trend, discrete_trend = (_trend(trace, name) for name in ("TuLap", "Discrete Laplace"))
    tops = {name: _largest(trace, name)[0] for name in MECHANISMS.values()}
    return [
        _claim(
            "Laplace, A-optimal: the naive variance is up to 1.8 times larger within 1 < ε < 10",
            f"at most {laplace:.2f} times, at ε = {at:.3g}, against Neyman's design for the mean; "
            f"{own:.2f} against the A-optimal design without noise",
            "partly: a little more" if laplace >= 1.85 else laplace >= 1.75,
        ),
        _claim(
            "TuLap, A-optimal: the ratio jumps around ε = 10",
            f"{around[0.5]:.3f} at ε = 3.2, {around[1.0]:.3f} at 10, {around[1.5]:.3f} at 32",
            around[1.5] - around[0.5] > 0.1,
        ),
        _claim(
            "A-optimal: Discrete Laplace follows a trend comparable to TuLap",
            f"Discrete Laplace {discrete_trend}, TuLap {tulap_trend}, as ε goes from 0.01 to 100",
            discrete_trend[:5] == tulap_trend[:5],
        ),
        _claim(
            "A-optimal: Discrete Laplace has the smallest gap",
            ", ".join(f"{name} at most {ratio:.3f}" for name, ratio in tops.items()),
            min(tops, key=lambda name: tops[name]) == "Discrete Laplace",
        ),
    ]


def _trend(item: Item, mechanism: str) -> str:
    ratios = [row["ratio"] for row in item.rows if row["mechanism"] == mechanism]
    return f"{'rises' if ratios[-1] > ratios[0] else 'falls'} from {ratios[0]:.3f} to {ratios[-1]:.3f}"


def _interplay(item: Item) -> list[Row]:
    by_epsilon: dict[float, dict[str, list[int]]] = {}
    for row in item.rows:
        by_epsilon.setdefault(row["epsilon"], {}).setdefault(row["design"], []).append(row["people"])
    grid = sorted(by_epsilon)

    def people_outside(epsilon: float) -> int:
        sizes = by_epsilon[epsilon]
        columns = zip(sizes["optimal"], sizes[NEYMAN], sizes[PURE], strict=True)
        return max(max(min(a, b) - n, n - max(a, b), 0) for n, a, b in columns)

    outside = {epsilon: people_outside(epsilon) for epsilon in grid if people_outside(epsilon)}

    def distance(epsilon: float, other: str) -> float:
        sizes = by_epsilon[epsilon]
        return float(np.abs(np.subtract(sizes["optimal"], sizes[other])).sum() / 2)

    to_pure = [distance(epsilon, PURE) for epsilon in grid]
    to_neyman = [distance(epsilon, NEYMAN) for epsilon in grid]
    return [
        _claim(
            "The optimum lies between the no-noise and the pure-noise design in every stratum",
            f"outside at {len(outside)} of {len(grid)} values of ε, by at most "
            f"{max(outside.values(), default=0)} person(s)",
            not outside or ("yes, up to rounding" if max(outside.values()) <= 1 else False),
        ),
        _claim(
            "Stronger privacy moves the design closer to pure noise, weaker privacy to Neyman",
            f"people to move to pure noise: {to_pure[0]:.0f} at ε = 0.01, {to_pure[-1]:.0f} at 100; "
            f"to Neyman: {to_neyman[0]:.0f} and {to_neyman[-1]:.0f}. The limit for ε → 0 is not pure noise "
            "but n ∝ N·√(S² + R²/6)",
            bool(np.all(np.diff(to_pure) >= -1) and np.all(np.diff(to_neyman) <= 1)),
        ),
    ]


def _times(item: Item) -> list[Row]:
    def find(solver: str, total: int) -> float:
        return next(
            float(row["time_in_exact_solves_at_the_first_total"])
            for row in item.rows
            if row["solver"] == solver and row["total"] == total
        )

    exhaustive, algorithm, exact = (
        find("exhaustive search", 30),
        find("Algorithm 1", 100_000),
        find("exact solver", 100_000),
    )
    return [
        _claim(
            "Algorithm 1 solves a total of 10⁵ in less time than exhaustive search takes for 30",
            f"{algorithm:,.0f} against {exhaustive:,.0f} exact solves; the exact solver needs {exact:.1f}",
            algorithm < exhaustive,
        ),
        _claim(
            "Exhaustive search grows exponentially with the total",
            f"candidates C(total − 1, 9): {math.comb(29, 9):,} at 30, {math.comb(47, 9):,} at 48",
            "no: polynomially, with degree 9",
        ),
    ]


def _algorithm(times: Item, growth: Item) -> list[Row]:
    """Judge what the paper says of its algorithm beside its speed."""
    proven = [row["optimal"] for row in times.rows if row["solver"] == "Algorithm 1"]
    radii = {row["strata"]: row["radius"] for row in growth.rows if row["radius"] is not None}
    relaxation = next(row["seconds_on_this_machine"] for row in growth.rows if row["solver"] == "relaxation")
    return [
        _claim(
            "Algorithm 1 returns the integer optimum (theorem 3)",
            f"certified in {sum(proven)} of {len(proven)} cases; its lemma does not prove it (errata, 5)",
            all(proven),
        ),
        _claim(
            "The search radius r is relatively small",
            ", ".join(f"{radius:.2f} at k = {k}" for k, radius in radii.items()),
            max(radii.values()) < 3,
        ),
        _claim(
            "The continuous optimum takes less than a second for any k",
            f"at most {relaxation:.3f} s on this machine, up to k = 10,000",
            relaxation < 1,
        ),
    ]


def _closed_forms() -> list[Row]:
    """Propositions 2 and 3: closed forms for the population mean."""
    strata = four_strata()
    worst: dict[str, float] = {}
    for mechanism, tau in (
        ("discrete_laplace", strata.sds),
        ("tulap", np.sqrt(np.asarray(strata.sds) ** 2 + 1 / 12)),
    ):
        shares = strata.sizes * np.asarray(tau)
        relaxed = paper_design(strata, epsilon=1, total=200, mechanism=mechanism).relaxed_sizes
        worst[MECHANISMS[mechanism]] = float(np.max(np.abs(relaxed / (200 * shares / shares.sum()) - 1)))
    flat = dps.Strata(strata.sizes, [0.0] * 4)
    proportional = 200 * strata.sizes / strata.population
    worst["pure Laplace noise"] = max(
        float(np.max(np.abs(paper_design(flat, epsilon=epsilon, total=200).relaxed_sizes / proportional - 1)))
        for epsilon in (0.01, 1.0, 100.0)
    )
    text = ", ".join(f"{name} {error:.0e}" for name, error in worst.items())
    return [
        _claim(
            "Closed forms for the mean: n ∝ N·S (Discrete Laplace), N·√(S² + 1/12) (TuLap), N (pure noise)",
            f"largest relative difference from the solver: {text}",
            max(worst.values()) < 1e-9,
        )
    ]


def _gap(extent: Extent, advance: Advance) -> list[Row]:
    """Optimality gap of the first stage, whose total the paper does not state."""
    strata = extent.gap_strata
    worst: dict[int, float] = {}
    for total in extent.gap_totals:
        gaps = []
        for k in strata:
            problem = paper_design(growing_strata(k), epsilon=1, total=total).problem
            rounded = dps.solve(problem, "algorithm1_first_stage")
            best = dps.solve(problem, "continuous")
            gaps.append(problem.objective(rounded.sizes) / problem.objective(best.sizes) - 1)
        worst[total] = max(gaps)
        advance(f"first-stage gap, total {total:,}")
    text = ", ".join(f"{gap:.1e} at {total:,}" for total, gap in worst.items())
    enough = [total for total, gap in worst.items() if gap < 1e-4]
    verdict: bool | str = len(enough) == len(worst)
    if enough and not verdict:
        verdict = f"partly: from {min(enough):,} interviews on"
    return [
        _claim(
            f"The first stage is within 10⁻⁴ of the continuous optimum (k = {strata[0]} to {strata[-1]})",
            f"largest gap by total, which the paper does not state: {text}",
            verdict,
        )
    ]
