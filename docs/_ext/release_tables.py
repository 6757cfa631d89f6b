"""Tables of what every form of release gives, for the page about sums, designed while the site is built."""

from __future__ import annotations

import csv
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from md_table import table

import dpstrata as dps

EXAMPLES = Path(dps.__file__).parent / "examples"
EPSILONS = (0.1, 1.0)
DEVICES = (8.0, 5.0, 3.0)
RELEASES: dict[str, dict[str, Any]] = {
    "every noised answer": {"release": "microdata"},
    **{f"sums, E = {E:g}": {"release": "sums", "device_epsilon": E} for E in DEVICES},
    "sums of raw answers": {"release": "sums"},
    "one number, E = 5": {"release": "mean", "device_epsilon": 5.0},
    "one number, of raw answers": {"release": "mean"},
}


class Population(NamedTuple):
    """People in strata, what they are asked, and what noises their answers."""

    title: str
    strata: dps.Strata
    options: dict[str, Any]

    @property
    def limits(self) -> tuple[int, ...]:
        """At most so many people are asked."""
        return 200, 2_000, int(self.strata.sizes.sum())


@cache
def populations() -> tuple[Population, ...]:
    """Return the paper's four strata, Fair (1978) and the schools of California."""
    return (
        Population(
            "The four strata of the paper, a number from 0 to 1",
            dps.Strata.from_file(EXAMPLES / "four-strata.csv"),
            {"questions": (0, 1), "mechanism": "best"},
        ),
        Population(
            "Fair (1978), a yes/no question in the strata of occupations",
            _strata("fair1978.csv", "occupation", "had_affair", 1.0),
            {"questions": "yes_no", "mechanism": "best"},
        ),
        Population(
            "The schools of California, performance index from 0 to 1, 57 counties",
            _strata("california_schools.csv", "county", "api00", 800.0),
            {"questions": (0, 1), "mechanism": "best"},
        ),
    )


def _strata(file: str, stratum: str, answer: str, scale: float) -> dps.Strata:
    """Return strata with their true spreads, in units of the range."""
    answers = defaultdict(list)
    with open(EXAMPLES / file, newline="", encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            answers[row[stratum]].append(float(row[answer]) / scale)
    return dps.Strata(
        [len(each) for each in answers.values()], [np.std(each, ddof=1) for each in answers.values()]
    )


@cache
def figures(place: int) -> dict[str, list[list[tuple[float, int]]]]:
    """Return, for each release and epsilon, the standard error and the number of people at each limit."""
    population = populations()[place]

    def designed(release: dict[str, Any], epsilon: float, limit: int) -> tuple[float, int]:
        options = {**population.options, **release}
        if options["release"] == "mean" and "device_epsilon" not in options:
            options["mechanism"] = "best"  # the office's noise is the same whatever is asked for
        plan = dps.design(population.strata, epsilon=epsilon, at_most=limit, **options)
        assert plan.standard_error is not None
        return plan.standard_error, plan.total

    return {
        name: [[designed(release, epsilon, limit) for limit in population.limits] for epsilon in EPSILONS]
        for name, release in RELEASES.items()
    }


def _cell(row: list[tuple[float, int]], limits: tuple[int, ...]) -> str:
    """Write standard errors, with the number of people where fewer are best."""
    parts = []
    for (error, people), limit in zip(row, limits, strict=True):
        if parts and people < limit and (error, people) == row[len(parts) - 1]:
            parts.append("same")
        else:
            digits = 4 if error >= 5e-5 else 5
            parts.append(f"{error:.{digits}f}" + (f" (best at {people:,})" if people < limit else ""))
    return " / ".join(parts)


def release_tables() -> str:
    """Write a table for every population."""
    parts = []
    for place, population in enumerate(populations()):
        limits = population.limits
        rows = [[name, *(_cell(row, limits) for row in rows)] for name, rows in figures(place).items()]
        asked = f"asking at most {limits[0]} / {limits[1]:,} / all {limits[2]:,}"
        header = f"{population.title}: standard error, {asked}"
        parts.append(
            f"**{header}**\n\n" + table(["what is published", *(f"ε = {e:g}" for e in EPSILONS)], rows)
        )
    return "\n\n".join(parts)
