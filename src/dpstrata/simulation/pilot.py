"""Does a pilot pay? Many simulated first waves on a known population, and the main design that each leads to.

For simulation only: its noise is seeded, in floating point, and protects nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpstrata.allocation.posing import pose
from dpstrata.allocation.variances import variance_parts
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import FloatArray
from dpstrata.pilots.pilot import design_with, pilot_weight
from dpstrata.pilots.spreads import PilotMoments, pilot_spreads
from dpstrata.planning.design import design_as_asked
from dpstrata.planning.goal_search import design_for
from dpstrata.planning.sensitivity import with_sds
from dpstrata.simulation.stratum import draw_without_replacement
from dpstrata.simulation.survey import check_population, check_whole
from dpstrata.words.what_if import pilot_simulation_lines


@dataclass(frozen=True, slots=True, eq=False)
class PilotSimulation:
    """What a pilot leads to, beside surveys of one wave with the same budget and as many people.

    Each is the mean squared error of the population mean (for other objectives, the objective's value) with
    the true spreads. That of a design is known exactly; only what the pilot shows is simulated.

    Attributes
    ----------
    replications, seed : int
        How many first waves, and the seed that repeats them.
    without_pilot : float
        One wave, designed with the standard deviations told.
    with_pilot, with_pilot_error : float
        Two waves, combined; the mean over the simulated pilots, and its Monte Carlo error.
    worst : float
        The same after the unluckiest of them.
    main_alone : float
        Two waves of which only the second is used.
    knowing : float
        One wave, designed with the true standard deviations: what nobody can beat.
    """

    replications: int
    seed: int
    without_pilot: float
    with_pilot: float
    with_pilot_error: float
    worst: float
    main_alone: float
    knowing: float

    @property
    def ratio(self) -> float:
        """Error with the pilot over that without; below 1 the pilot pays."""
        return self.with_pilot / self.without_pilot

    @property
    def pays(self) -> bool:
        """Whether the pilot is better by more than four Monte Carlo errors."""
        return self.with_pilot + 4 * self.with_pilot_error < self.without_pilot

    def __repr__(self) -> str:
        return pilot_simulation_lines(self)


def simulate_pilot(
    first: Design,
    population: Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike],
    *,
    replications: int = 200,
    seed: int = 0,
) -> PilotSimulation:
    """Carry out a pilot many times on a known population, and score the main designs that follow.

    Parameters
    ----------
    first : Design
        What :func:`dpstrata.pilot` returned.
    population : mapping or sequence of arrays
        Answers of everyone, by stratum name or in the order of the strata; real or synthetic, never noised.
    replications : int
        Number of pilots, >= 10; each leads to a design of its own.
    seed : int
        Seed that repeats the simulation exactly.

    Returns
    -------
    PilotSimulation
        Mean squared errors with the pilot, without it, and for someone who knows the spreads.

    Raises
    ------
    InputError
        If ``first`` is not a pilot, or the population does not fit it.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[20_000, 20_000])
    >>> first = dps.pilot(
    ...     strata, epsilon=1, pilot_epsilon=0.3, total=1000, pilot_total=100,
    ...     questions="yes_no", mechanism="randomized_response",
    ... )
    >>> people = [[0.0] * 10_000 + [1.0] * 10_000, [0.0] * 19_800 + [1.0] * 200]
    >>> dps.simulate_pilot(first, people, replications=50, seed=1).pays
    True
    """
    weight = pilot_weight(first)
    if first.problem.terms.response_rates is not None:
        raise InputError(
            "simulate_pilot supports only designs in which everyone answers, got response rates below 1."
        )
    check_whole("replications", replications, least=10)
    check_whole("seed", seed, least=0)
    question = first.inputs.question
    shares = [answers[question.name] for answers in check_population(first, population)]
    truth = question.range * np.array([each.std(ddof=1) if len(each) > 1 else 0.0 for each in shares])

    def true_variance(plan: Design) -> float:
        return variance_parts(
            with_sds(plan.problem, truth), plan.sample_sizes, finite_population=plan.inputs.finite_population
        ).total

    assert first.waves is not None
    alone = replace(first.inputs, epsilon=first.waves.epsilon, total=first.waves.total)
    knowing = design_for(first.strata, alone, with_sds(pose(alone, first.strata), truth))
    spreads = pilot_spreads(first, _moments(first, shares, replications, np.random.default_rng(seed)))
    main = np.array([true_variance(design_with(first, row)) for row in spreads])
    both = weight**2 * true_variance(first) + (1 - weight) ** 2 * main
    return PilotSimulation(
        replications=replications,
        seed=seed,
        without_pilot=true_variance(design_as_asked(first.strata, alone, warn=False)),
        with_pilot=float(both.mean()),
        with_pilot_error=float(both.std(ddof=1) / np.sqrt(replications)),
        worst=float(both.max()),
        main_alone=float(main.mean()),
        knowing=true_variance(knowing),
    )


def _moments(
    first: Design, population: list[FloatArray], replications: int, generator: np.random.Generator
) -> PilotMoments:
    """Summarise the noised answers of many simulated first waves."""
    mechanism = first.mechanism
    columns: list[tuple[FloatArray, ...]] = []
    for i, shares in enumerate(population):
        n, e = int(first.sample_sizes[i]), float(first.local_epsilons[i])
        sample = draw_without_replacement(len(shares), n, replications, generator)
        noised = mechanism.simulated_release(shares[sample], e, generator)
        means = noised.mean(axis=1)
        off = noised - means[:, None]
        noise = mechanism.seen_variance(noised, np.full(noised.shape, e)).mean(axis=1)
        columns.append(
            (
                np.full(replications, float(n)),
                means,
                (off**2).sum(axis=1) / max(n - 1, 1),
                np.maximum(noise, 0.0),
                (off**4).sum(axis=1),
            )
        )
    return PilotMoments(*(np.stack(each, axis=1) for each in zip(*columns, strict=True)))
