"""The intervals of a design's strata, domains and whole, in the units of its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.intervals.means import Means
from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.intervals.tilt import Groups, Limits
from dpstrata.numerics.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PartLimits:
    """What is known of the parts of an estimate; called with groups of strata, it finds their intervals.

    Attributes
    ----------
    parts : Reports or Means
        One for every stratum, or all strata of the first form (or wave), then those of the second, and so on.
    alpha : float
        One less the confidence of each interval.
    within : (float, float)
        The least that the figure can be, and its range.
    shares : sequence of array
        What each form or wave counts in every stratum; nothing if there is only one.
    """

    parts: Reports | Means
    alpha: float
    within: tuple[float, float]
    shares: Sequence[FloatArray] = ()

    def __call__(self, groups: Groups) -> Limits:
        """Find the intervals of groups of strata, in the units of the answers."""
        entries = groups.divided(self.shares) if self.shares else groups
        found = [self.parts.limits(run, self.alpha) for run in entries.in_blocks()]
        return Limits(*map(np.concatenate, zip(*found, strict=True))).scaled(*self.within)


def limits_over_waves(each: Sequence[PartLimits], shares: Sequence[FloatArray]) -> PartLimits:
    """Find intervals for estimates from several waves, whose samples are drawn apart from each other.

    Parameters
    ----------
    each : sequence of PartLimits
        What is known from every wave, of the same figure.
    shares : sequence of array
        What the wave counts in the estimate of every stratum.
    """
    counted = [
        share * form
        for one, share in zip(each, shares, strict=True)
        for form in one.shares or (np.ones(len(share)),)
    ]
    return replace(each[0], parts=_one_after_another([one.parts for one in each]), shares=counted)


def limits_over_surveys(plan: Design, each: Sequence[PartLimits]) -> Limits:
    """Find the interval of the whole in every one of several surveys of the same design."""
    weights = plan.strata.sizes / plan.strata.population
    codes = np.repeat(np.arange(len(each)), len(weights))
    groups = Groups(codes, len(each), np.tile(weights, len(each)))
    return replace(each[0], parts=_one_after_another([one.parts for one in each]))(groups)


def limits_of_shares(
    plan: Design,
    shares: FloatArray,
    answers: IntArray,
    *,
    floor: FloatArray | float,
    slope: FloatArray | float,
    noise: FloatArray,
    together: int = 1,
) -> PartLimits:
    """Find intervals for the shares of one answer out of two or more.

    Parameters
    ----------
    plan : Design
        The design.
    shares : array
        The estimated share of each stratum.
    answers : array of int
        How many answers it is from.
    floor, slope : array or float
        With which probability it is reported where it is not true, and by how much more where it is.
    noise : array
        Variance of further noise in the share of each stratum.
    together : int
        How many such shares are to lie in their intervals at once.
    """
    m, ones = answers.astype(float), np.ones(len(answers))
    reports = Reports(
        counts=m * (floor + slope * shares),
        answers=m,
        sampled=m,
        population=_population_of(plan),
        floor=floor * ones,
        slope=slope * ones,
        noise=noise * (m * slope) ** 2,
    )
    return PartLimits(reports, _chance_to_miss(plan, together), _range_of(plan))


def limits_of_means(
    plan: Design,
    means: FloatArray,
    answers: IntArray,
    *,
    spreads: FloatArray,
    noise: FloatArray,
) -> PartLimits:
    """Find intervals for the means of numbers.

    Parameters
    ----------
    plan : Design
        The design.
    means : array
        The estimated mean of each stratum.
    answers : array of int
        How many answers it is from.
    spreads : array
        Variance of these answers.
    noise : array
        Variance of the noise in the mean.
    """
    inputs, square = plan.inputs, plan.inputs.space.range**2
    parts = Means(
        means=inputs.space.shares(means),
        answers=answers.astype(float),
        unsampled=1.0 - answers / _population_of(plan),
        spreads=spreads / square,
        noise=noise / square,
    )
    return PartLimits(parts, 1.0 - inputs.confidence, _range_of(plan))


def limits_over_forms(
    plan: Design,
    known: Sequence[Reports | Means],
    shares: Sequence[FloatArray],
    answers: IntArray,
    *,
    together: int,
    within: tuple[float, float],
) -> PartLimits:
    """Find intervals for a figure that is on several forms, whose people are one sample.

    Parameters
    ----------
    plan : Design
        The design.
    known : sequence of Reports or Means
        What each form shows, stratum by stratum, as if strata were endless.
    shares : sequence of array
        The share of a stratum's answers that are on the form.
    answers : array of int
        Those answers, on all forms.
    together : int
        How many such figures are to lie in their intervals at once.
    within : (float, float)
        The least that the figure can be, and its range.
    """
    parts = _one_after_another(known)
    parts = parts.drawn_from(
        np.tile(answers.astype(float), len(known)), np.tile(_population_of(plan), len(known))
    )
    return PartLimits(parts, _chance_to_miss(plan, together), within, shares)


def _one_after_another(each: Sequence[Reports | Means]) -> Reports | Means:
    """Put what is known of several forms or waves together."""
    (kind,) = {type(part) for part in each}
    return kind(*(np.concatenate(values) for values in zip(*each, strict=True)))


def _chance_to_miss(plan: Design, together: int) -> float:
    """Divide it among shares that are to lie in their intervals at once; two of them are one."""
    return (1.0 - plan.inputs.confidence) / (together if together > 2 else 1)


def _population_of(plan: Design) -> FloatArray:
    """Return N of every stratum; infinite where strata are taken to be endless."""
    return (
        plan.strata.sizes.astype(float)
        if plan.inputs.finite_population
        else np.full(len(plan.strata), np.inf)
    )


def _range_of(plan: Design) -> tuple[float, float]:
    space = plan.inputs.space
    return space.lower, space.range
