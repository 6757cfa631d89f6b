"""The intervals of a design's strata, domains and whole, in the units of its answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.intervals.means import Means, mean_limits
from dpstrata.fielding.intervals.shares import Reports, share_limits, unsampled_share
from dpstrata.fielding.intervals.tilt import FindLimits, Groups, Limits
from dpstrata.numerics.arrays import FloatArray, IntArray


def limits_of_shares(
    plan: Design,
    shares: FloatArray,
    answers: IntArray,
    *,
    floor: FloatArray | float,
    slope: FloatArray | float,
    noise: FloatArray,
    together: int = 1,
) -> FindLimits:
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
    unsampled = unsampled_share(plan.strata.sizes, answers, finite=plan.inputs.finite_population)
    reports = Reports(
        m * (floor + slope * shares), m, unsampled, floor * ones, slope * ones, noise * (m * slope) ** 2
    )
    alpha = _chance_to_miss(plan, together)

    def find(groups: Groups) -> Limits:
        return _in_units(plan, share_limits(reports, groups, alpha))

    return find


def limits_of_means(
    plan: Design,
    means: FloatArray,
    answers: IntArray,
    *,
    spreads: FloatArray,
    noise: FloatArray,
    noise_of_groups: FloatArray | float = 0.0,
) -> FindLimits:
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
    noise_of_groups : array or float
        Variance of the noise that the estimate of each group has besides.
    """
    inputs, square = plan.inputs, plan.inputs.answers.range**2
    parts = Means(
        inputs.answers.shares(means),
        answers.astype(float),
        1.0 - answers / plan.strata.sizes if inputs.finite_population else np.ones(len(answers)),
        spreads / square,
        noise / square,
    )

    def find(groups: Groups) -> Limits:
        return _in_units(plan, mean_limits(parts, groups, 1.0 - inputs.confidence, noise_of_groups / square))

    return find


def limits_over_forms(
    plan: Design,
    known: Sequence[Reports | Means],
    shares: Sequence[FloatArray],
    answers: IntArray,
    *,
    together: int,
    within: tuple[float, float],
) -> FindLimits:
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
    alpha = _chance_to_miss(plan, together)
    lower, reach = within
    (kind,) = {type(part) for part in known}
    parts = kind(*(np.concatenate(values) for values in zip(*known, strict=True)))
    unsampled = unsampled_share(plan.strata.sizes, answers, finite=plan.inputs.finite_population)
    parts = parts._replace(unsampled=np.tile(unsampled, len(known)))

    def find(groups: Groups) -> Limits:
        divided = groups.over_forms(shares)
        found = (
            share_limits(parts, divided, alpha)
            if isinstance(parts, Reports)
            else mean_limits(parts, divided, alpha)
        )
        return Limits(*(lower + reach * ends for ends in found))

    return find


def _chance_to_miss(plan: Design, together: int) -> float:
    """Divide it among shares that are to lie in their intervals at once; two of them are one."""
    return (1.0 - plan.inputs.confidence) / (together if together > 2 else 1)


def _in_units(plan: Design, limits: Limits) -> Limits:
    answers = plan.inputs.answers
    return Limits(*(answers.lower + answers.range * ends for ends in limits))
