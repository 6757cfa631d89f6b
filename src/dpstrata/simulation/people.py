"""Who is in a simulated survey: the population, samples of it, and how many of them answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpstrata.allocation.response import willing_people
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import IntArray

CHUNK = 2_000_000  # random numbers held at once


def check_whole(name: str, value: object, *, least: int) -> None:
    """Require a whole number."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or int(value) < least:  # type: ignore[call-overload]
        raise InputError(f"{name} must be a whole number >= {least}, got {value!r}.")


def by_stratum(plan: Design, population: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
    """Require something for every stratum, in their order."""
    names = plan.strata.names
    if isinstance(population, Mapping):
        missing = [name for name in names if name not in population]
        if missing:
            raise InputError(f"the population must have every stratum, got none for {missing[0]!r}.")
        if len(population) > len(names):
            raise InputError(f"the population must have {len(names)} strata, got {len(population)}.")
        population = [population[name] for name in names]
    if not isinstance(population, Sequence | np.ndarray):
        raise InputError("the population must be a mapping or a sequence of arrays, one for each stratum.")
    if len(population) != len(names):
        raise InputError(f"the population must have {len(names)} strata, got {len(population)}.")
    return population


def numbers_of_answers(plan: Design, row: int, count: int, generator: np.random.Generator) -> IntArray | None:
    """How many people of one stratum answer in each survey, at least one; ``None`` where everyone does."""
    rates = plan.problem.terms.response_rates
    if rates is None or rates[row] == 1.0:
        return None
    size, n = int(plan.strata.sizes[row]), int(plan.sample_sizes[row])
    whole, more = willing_people(plan.strata.sizes[row : row + 1], rates[row : row + 1])
    answers = np.zeros(count, dtype=np.int64)
    while (empty := np.flatnonzero(answers == 0)).size:
        willing = int(whole[0]) + (generator.random(len(empty)) < more[0])
        answers[empty] = generator.hypergeometric(willing, size - willing, n)
    return answers


def draw_without_replacement(population: int, n: int, count: int, generator: np.random.Generator) -> IntArray:
    """Draw ``count`` samples of ``n`` from ``population``, every subset equally likely."""
    if n == population:
        return np.broadcast_to(np.arange(population), (count, n))
    if n * n < 4 * population:
        # Few samples have anyone twice; drawing those again leaves all others equally likely.
        sample = generator.integers(0, population, (count, n))
        again = np.arange(count)
        while again.size:
            ordered = np.sort(sample[again], axis=1)
            again = again[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
            sample[again] = generator.integers(0, population, (len(again), n))
        return sample
    sample = np.empty((count, n), dtype=np.int64)
    step = max(1, CHUNK // population)
    for start in range(0, count, step):
        keys = generator.random((min(step, count - start), population))
        sample[start : start + step] = np.argpartition(keys, n - 1, axis=1)[:, :n]
    return sample
