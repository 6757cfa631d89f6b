"""What must hold for strata, whether they come from arrays or from a file; every breach is found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from dpstrata.errors import option
from dpstrata.files.columns import Finding
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray
from dpstrata.words.numbers import figure

if TYPE_CHECKING:
    from dpstrata.survey.questionnaires.question import Question

SdSource = Literal["public", "prior", "bound", "private_pilot", "confidential"]
SD_SOURCES: tuple[str, ...] = get_args(SdSource)
LARGEST_SIZE = 10**12
NEARLY_ALL = 0.9
LARGEST_POPULATION = 2**62

# Arguments of Strata and the columns of a strata file that fill them.
COLUMN_OF = {
    "sizes": "size",
    "sds": "sd",
    "coefficients": "coefficient",
    "costs": "cost",
    "mins": "min",
    "maxs": "max",
    "response_rates": "response_rate",
    "sd_epsilons": "sd_epsilon",
}


def find_mistakes(
    columns: Mapping[str, FloatArray], *, names: Sequence[str] | None, sources: str | Sequence[str]
) -> list[Finding]:
    """Find every mistake of the values; all columns have the same length."""
    sizes = columns["sizes"]
    found = _each(
        "size", sizes, "size must be a whole number from 1 to 10^12", _whole(sizes, 1, LARGEST_SIZE)
    )
    if not found and float(sizes.sum()) > LARGEST_POPULATION:
        found.append(Finding(None, "size", "all sizes together must be at most 2^62", f"{sizes.sum():.4g}"))
    for name, rule, holds in (
        ("sds", "sd must be a number >= 0", lambda v: np.isfinite(v) & (v >= 0)),
        ("coefficients", "coefficient must be 0 or between 1e-30 and 1e30 in absolute value", _moderate),
        ("costs", "cost must be between 1e-30 and 1e30", lambda v: (v > 0) & _moderate(v)),
        ("mins", "min must be a whole number >= 0", lambda v: _whole(v, 0, LARGEST_SIZE)),
        ("maxs", "max must be a whole number >= 1", lambda v: _whole(v, 1, LARGEST_SIZE)),
        (
            "response_rates",
            "response_rate must be at least 1e-12 and at most 1",
            lambda v: (v >= 1e-12) & (v <= 1),
        ),
        ("sd_epsilons", "sd_epsilon must be a number >= 0", lambda v: np.isfinite(v) & (v >= 0)),
    ):
        if name in columns:
            found += _each(COLUMN_OF[name], columns[name], rule, holds(columns[name]))
    found += _find_limits(sizes, columns.get("mins"), columns.get("maxs"))
    found += _find_doubles(names)
    listed = enumerate([sources] if isinstance(sources, str) else sources)
    found += [
        Finding(row, "sd_source", f"sd_source must be one of {', '.join(SD_SOURCES)}", repr(source))
        for row, source in listed
        if source not in SD_SOURCES
    ]
    return found + _find_confidential(sources, columns.get("sd_epsilons"), len(sizes))


def find_large_spreads(sds: FloatArray, sizes: IntArray, question: Question) -> list[Finding]:
    """Find standard deviations that no answers within their range can have.

    Where nearly all of them are too large, it is the range that is wrong, which is said once.
    """
    # Two people or more can vary at least as much as the largest stratum, so few need a closer look.
    kind = question.of_kind
    (least,) = kind.largest_sd(question, np.array([LARGEST_SIZE]))
    suspects = np.flatnonzero((sds > least) | ((sizes == 1) & (sds > 0)))
    largest = kind.largest_sd(question, sizes[suspects])
    beyond = sds[suspects] > largest * (1 + 1e-9)
    suspects, largest = suspects[beyond], largest[beyond]
    found = []
    # A person alone does not vary, whatever the range.
    several = sizes[suspects] > 1
    number = int(several.sum())
    if number > 1 and number >= NEARLY_ALL * ((sds > 0) & (sizes > 1)).sum():
        found.append(Finding(None, "sd", _wrong_range(sds[suspects[several]], question), ""))
        suspects, largest = suspects[~several], largest[~several]
    found += [
        Finding(
            int(i),
            "sd",
            f"sd must be at most {most:.6g}, the largest that answers in {question.space} can have",
            f"sd={sds[i]:g}",
        )
        for i, most in zip(suspects, largest, strict=True)
    ]
    return found


def _wrong_range(sds: FloatArray, question: Question) -> str:
    """Say that so many spreads are too large for a range, with one that would do."""
    space, wide = question.space, 4 * float(sds.max())
    advice = f" with {option('questions')}"
    if wide < 1e15:
        power = 10.0 ** math.floor(math.log10(wide))
        end = next(round_end * power for round_end in (1, 2, 5, 10) if wide <= round_end * power * (1 + 1e-9))
        upper = int(end) if end.is_integer() else float(f"{end:.1g}")
        advice = f", for example {option('questions', (0 if space.lower >= 0 else -upper, upper))}"
    return (
        f"{len(sds):,} standard deviations are too large for answers from {figure(space.lower, 10)} to "
        f"{figure(space.upper, 10)}; give the range of the answers{advice}"
    )


def _each(column: str, values: FloatArray, rule: str, holds: BoolArray) -> list[Finding]:
    return [Finding(int(i), column, rule, f"{values[i]:.15g}") for i in np.flatnonzero(~holds)]


def _find_limits(sizes: FloatArray, mins: FloatArray | None, maxs: FloatArray | None) -> list[Finding]:
    found = []
    if mins is not None and maxs is not None:
        found += [
            Finding(int(i), "min", "min must be at most max", f"min={mins[i]:g}, max={maxs[i]:g}")
            for i in np.flatnonzero(mins > maxs)
        ]
    for column, values in (("min", mins), ("max", maxs)):
        if values is not None:
            found += [
                Finding(
                    int(i),
                    column,
                    f"{column} must be at most the stratum's size",
                    f"{column}={values[i]:g}, size={sizes[i]:g}",
                )
                for i in np.flatnonzero((values > sizes) & (sizes >= 1))
            ]
    return found


def _find_doubles(names: Sequence[str] | None) -> list[Finding]:
    if names is None or len(set(names)) == len(names):
        return []
    seen: set[str] = set()
    found = []
    for row, name in enumerate(names):
        if name in seen:
            found.append(Finding(row, "stratum", "stratum names must be unique", f"{name!r} again"))
        seen.add(name)
    return found


def _find_confidential(
    sources: str | Sequence[str], epsilons: FloatArray | None, count: int
) -> list[Finding]:
    """Find spreads computed from the confidential answers whose privacy cost is not given."""
    listed = [sources] * count if isinstance(sources, str) else sources
    return [
        Finding(
            row,
            "sd_source",
            "a standard deviation computed from confidential answers must have its privacy cost in "
            "sd_epsilon, or be replaced by a public, prior or bounding value",
            f"{source!r} without sd_epsilon",
        )
        for row, source in enumerate(listed)
        if source in ("confidential", "private_pilot") and (epsilons is None or not epsilons[row] > 0)
    ]


def _moderate(values: FloatArray) -> BoolArray:
    size = np.abs(values)
    moderate: BoolArray = (size == 0) | ((size >= 1e-30) & (size <= 1e30))
    return moderate


def _whole(values: FloatArray, least: int, most: int) -> BoolArray:
    whole: BoolArray = (values == np.floor(values)) & (values >= least) & (values <= most)
    return whole
