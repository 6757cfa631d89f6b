"""Compare rules for the spreads of a pilot: the figures of decision 5. ``python benchmarks/pilot_rules.py``.

Nothing here is a matter of speed; it is kept because the rules that were turned down are not in the library.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import chi2

import dpstrata as dps
from dpstrata.designs.record import Design
from dpstrata.numerics.arrays import FloatArray
from dpstrata.pilots.spreads import Moments, pilot_spreads
from dpstrata.simulation import pilot as pilot_simulation

SMALLEST = 1e-4  # variance that nothing is taken below; answers span 1
SIZES = np.array([20_000] * 3 + [10_000] * 3)
MANY = np.full(50, 3000)


def floored(plan: Design, seen: Moments) -> FloatArray:
    """s² − v; for two values p(1 − p) at the mean."""
    if plan.inputs.answers.values == 2:
        p = np.clip(seen.means, 0, 1)
        return _root(p * (1 - p))
    return _root(seen.variances - seen.noise)


def upper_bound(plan: Design, seen: Moments) -> FloatArray:
    """Upper end of a one-sided 90% interval."""
    if plan.inputs.answers.values == 2:
        error = np.sqrt(seen.variances / seen.counts)
        p = np.clip(np.minimum(seen.means, 1 - seen.means) + 1.28 * error, 0, 0.5)
        return _root(p * (1 - p))
    return _root((seen.counts - 1) * seen.variances / chi2.ppf(0.1, seen.counts - 1) - seen.noise)


def shrunk(plan: Design, seen: Moments) -> FloatArray:
    """Towards the pooled variance (James and Stein); two values with two answers of each kind added."""
    if plan.inputs.answers.values == 2:
        p = np.clip((seen.means * seen.counts + 2) / (seen.counts + 4), 0, 1)
        return _root(p * (1 - p))
    excess = seen.variances - seen.noise
    error = 2 * seen.variances**2 / (seen.counts - 1)
    pooled = np.maximum(excess.mean(axis=-1, keepdims=True), 1e-3)
    between = np.maximum(((excess - pooled) ** 2 - error).mean(axis=-1, keepdims=True), 0)
    factor = between / (between + error + 1e-15)
    return np.sqrt(np.clip(pooled + factor * (excess - pooled), 0.05 * pooled, 0.25))


def _root(variance: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.clip(variance, SMALLEST, 0.25)))


RULES: dict[str, Callable[[Design, Moments], FloatArray]] = {
    "floored": floored,
    "upper bound": upper_bound,
    "shrunk": shrunk,
    "mean given the pilot": pilot_spreads,
}


def populations(generator: np.random.Generator) -> dict[str, tuple[Any, str, FloatArray, list[FloatArray]]]:
    """Return answers, mechanism, sizes and everyone's answers of each case."""

    def yes_no(shares: Any, sizes: Any = SIZES) -> list[FloatArray]:
        return [(np.arange(n) < n * share).astype(float) for n, share in zip(sizes, shares, strict=True)]

    def numbers(sds: Any, means: Any) -> list[FloatArray]:
        found = []
        for n, sd, mean in zip(SIZES, sds, means, strict=True):
            both = mean * (1 - mean) / sd**2 - 1
            found.append(generator.beta(mean * both, (1 - mean) * both, n))
        return found

    unequal = numbers([0.4, 0.1, 0.02, 0.3, 0.05, 0.02], [0.5, 0.5, 0.3, 0.5, 0.3, 0.2])
    zeros = [
        np.where(generator.random(n) < share, generator.uniform(0.5, 1, n), 0.0)
        for n, share in zip(SIZES, (0.02, 0.02, 0.02, 0.2, 0.2, 0.3), strict=True)
    ]
    many = yes_no(generator.choice([0.5, 0.3, 0.05, 0.01], 50), MANY)
    flips = ("binary", "randomized_response")
    return {
        "yes/no very unequal": (*flips, SIZES, yes_no([0.5, 0.02, 0.01, 0.3, 0.05, 0.01])),
        "yes/no alike": (*flips, SIZES, yes_no([0.3] * 6)),
        "yes/no in 50 strata": (*flips, MANY, many),
        "numbers very unequal": ((0, 1), "staircase", SIZES, unequal),
        "numbers alike": ((0, 1), "staircase", SIZES, numbers([0.2] * 6, [0.5] * 6)),
        "mostly zero": ((0, 1), "staircase", SIZES, zeros),
        "numbers, Laplace": ((0, 1), "laplace", SIZES, unequal),
    }


def compare_rules() -> None:
    """Print every rule, where nothing was told."""
    for epsilon, total, pilot_total in ((1, 300, 60), (1, 1000, 150), (3, 1000, 150)):
        for name, (answers, mechanism, sizes, people) in populations(np.random.default_rng(3)).items():
            if pilot_total < 2 * len(sizes):
                continue
            first = dps.pilot(
                dps.Strata(sizes),
                epsilon=epsilon,
                pilot_epsilon=0.3 * epsilon,
                total=total,
                pilot_total=pilot_total,
                answers=answers,
                mechanism=mechanism,
                min_per_stratum=2,
            )
            _print(f"{name:22} {epsilon}, {total:<5}", first, people, RULES)


def compare_told() -> None:
    """Print what it gains and costs to count what was told, right or wrong by a factor up and down."""
    answers, mechanism, sizes, people = populations(np.random.default_rng(3))["yes/no very unequal"]
    spreads = np.array([values.std(ddof=1) for values in people])
    options = {
        "epsilon": 1,
        "pilot_epsilon": 0.1,
        "total": 1000,
        "pilot_total": 100,
        "answers": answers,
        "mechanism": mechanism,
        "min_per_stratum": 3,
    }
    blank = dps.pilot(dps.Strata(sizes), **options)
    rules = {"counting it": pilot_spreads, "ignoring it": lambda _, seen: pilot_spreads(blank, seen)}
    for factor in (1.0, 1.5, 3.0, 10.0):
        wrong = np.where(spreads > 0.3, 1 / factor, factor)
        first = dps.pilot(dps.Strata(sizes, np.clip(spreads * wrong, 0, 0.499)), **options)
        _print(f"told wrong by {factor:g}", first, people, rules)


def _print(name: str, first: Design, people: list[FloatArray], rules: dict[str, Any]) -> None:
    cells = []
    for words, rule in rules.items():
        pilot_simulation.pilot_spreads = rule  # type: ignore[attr-defined]
        result = dps.simulate_pilot(first, people, replications=100, seed=5)
        cells.append(f"{words} {result.ratio:.2f} ({result.worst / result.without_pilot:.2f})")
    print(name, f"knowing {result.knowing / result.without_pilot:.2f}", *cells, sep=" | ", flush=True)


if __name__ == "__main__":
    compare_rules()
    compare_told()
