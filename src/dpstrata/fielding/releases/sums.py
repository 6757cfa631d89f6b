"""One noised mean a stratum, with the number of its answers.

A mean shows no spread, so sampling is counted with the standard deviations of the design.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.fielding.answer_files import ANSWER, STRATUM, read_noised, read_numbers
from dpstrata.fielding.estimators import Estimation, StratumParts, combine
from dpstrata.fielding.grid_noise import check_answers, noise_at, on_grid
from dpstrata.fielding.releases.base import Fielding
from dpstrata.numerics.arrays import FloatArray
from dpstrata.privacy.mechanisms.grid import AdditiveGridNoise
from dpstrata.survey.releases import OPTION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COUNT = "answers"  # how many a mean is of


class CuratorFielding(Fielding):
    """Noise the mean of each stratum, once."""

    def noise_answers(self, plan: Design, stratum: str, answers: npt.ArrayLike) -> FloatArray:
        """Refuse: a curator gets raw answers."""
        raise InputError(
            f"with {option(OPTION, plan.inputs.release.name)} the mean of a stratum is noised, not single "
            "answers."
        )

    def noised(
        self, plan: Design, answers: Mapping[str, Sequence[Any]], progress: Callable[[int], None]
    ) -> dict[str, list[Any]]:
        """Noise the mean of every stratum, with how many answers it is of."""
        columns: dict[str, list[Any]] = {STRATUM: [], ANSWER: [], COUNT: []}
        for name in sorted(answers):
            columns[STRATUM].append(name)
            columns[ANSWER].append(noise_mean(plan, name, answers[name]))
            columns[COUNT].append(len(answers[name]))
            progress(len(answers[name]))
        return columns

    def read(self, path: Path, stratum: str, answer: str) -> tuple[Sequence[Any], ...]:
        """Read noised means, and how many answers each is of."""
        return *read_noised(path, stratum, answer), read_numbers(path, COUNT)

    def estimate(self, plan: Design, *columns: Any) -> Estimation:
        """Estimate from noised means."""
        return estimate_from_means(plan, *columns)

    def estimate_on_spark(self, plan: Design, data: DataFrame, stratum: str, answer: str) -> Estimation:
        """Bring the noised means here, and estimate from them."""
        from dpstrata.fielding.noised_on_spark import collect_numbers

        return estimate_from_means(plan, *collect_numbers(data, stratum, answer, COUNT))


def noise_mean(plan: Design, stratum: str, answers: npt.ArrayLike) -> float:
    """Noise the mean of a stratum once.

    The answers are added up in whole steps of the grid, one whole number of noise is added, and the result is
    divided by their number.

    Parameters
    ----------
    plan : Design
        A design for a curator.
    stratum : str
        Name of the stratum.
    answers : array
        One answer of each person who answered; at most as many as were invited, at least one.
    """
    noise = noise_at(plan, stratum)
    assert isinstance(noise, AdditiveGridNoise)
    k = on_grid(plan, check_answers(plan, stratum, answers), noise)
    if not len(k):
        raise InputError(f"stratum {stratum!r} has no answer.")
    noised = int(sum(k.tolist())) + int(noise.noise(1)[0])
    shift = float(noise.shares(np.zeros(1, dtype=np.int64))[0])  # half a step where a grid has no middle
    share = (noised / noise.steps + shift) / len(k)
    return float(plan.inputs.answers.lower + plan.inputs.answers.range * share)


def estimate_from_means(
    plan: Design, strata: Sequence[str], means: npt.ArrayLike, answers: npt.ArrayLike
) -> Estimation:
    """Estimate from noised means.

    Parameters
    ----------
    plan : Design
        A design for a curator.
    strata : sequence of str
        Every stratum of the design once.
    means : array
        The noised mean of each.
    answers : array of int
        How many answers each is the mean of.
    """
    if sorted(strata) != sorted(plan.strata.names):
        raise InputError("there must be one noised mean for every stratum of the design.")
    place = {name: i for i, name in enumerate(strata)}
    order = np.array([place[name] for name in plan.strata.names])
    values = np.asarray(means, dtype=float)[order]
    given = np.asarray(answers, dtype=float)[order]
    whole = np.isfinite(given) & (given == np.floor(given)) & (given >= 0) & (given <= 1e12)
    counts = np.where(whole, given, 0).astype(np.int64)
    if not (np.all(np.isfinite(values)) and np.all((counts >= 1) & (counts <= plan.sample_sizes))):
        raise InputError(
            "every noised mean must be a number, of at least one answer and at most one for each invitation."
        )
    noise = plan.problem.terms.noise_variances(plan.sample_sizes.astype(float))
    known = np.full(len(counts), math.inf)
    parts = StratumParts(values, counts, plan.sds**2, noise / counts**2, known)
    return combine(plan, parts, floored=(), single=(), few=())
