"""Estimates of the whole, the domains and the strata, from what is known of every stratum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.covariances.covariance import Errors
from dpstrata.fielding.intervals.grouping import Place, added, grouped, with_limits
from dpstrata.fielding.intervals.of_design import PartLimits
from dpstrata.fielding.intervals.parts import Causes, StratumMeans, StratumParts
from dpstrata.fielding.intervals.tilt import Groups, Limits
from dpstrata.fielding.neighbours import borrowed_shares, find_stand_ins, named_stand_ins, taken_from
from dpstrata.fielding.response import check_response
from dpstrata.fielding.results.estimators import Estimate, Estimates, Estimation
from dpstrata.numerics.arrays import FloatArray, IntArray


def combine(
    plan: Design,
    parts: StratumParts,
    limits: PartLimits,
    *,
    floored: tuple[str, ...],
    single: tuple[str, ...],
    few: tuple[str, ...],
) -> Estimation:
    """Put what one wave shows of strata together to the whole, the domains and themselves."""
    found = combine_strata(plan, StratumMeans.of(plan, parts, limits), notes_on(plan, parts.counts))
    return replace(found, floored=floored, single=single, few=few)


def combine_strata(plan: Design, known: StratumMeans, notes: tuple[str, ...]) -> Estimation:
    """Put strata together to the whole, the domains and themselves, whatever they are known from."""
    stand_ins = find_stand_ins(plan, known.answers)
    every = list(with_limits(plan, grouped(plan, stand_ins), known.limits))
    each = [
        replace(
            _estimates(plan, known, *found),
            taken_from=taken_from(stand_ins, known.answers, found[0].codes, found[0].labels),
        )
        for found in every
    ]
    strata = each[-1]
    whole, all_strata = each[0][0], every[0][1]
    device, office = (
        float(all_strata.add(all_strata.weights**2 * noise[all_strata.at])[0])
        for noise in (known.device, known.office)
    )
    return replace(
        estimation_of(plan, whole, strata, tuple(chain(*each[1:-1])), notes),
        stand_ins=named_stand_ins(plan, stand_ins),
        errors=(Errors(tuple(groups for _, groups, _ in every), known.variances[None]),),
        causes=Causes.of(whole.standard_error**2, device, office),
        by_stratum=known,
    )


def _estimates(plan: Design, known: StratumMeans, place: Place, groups: Groups, limits: Limits) -> Estimates:
    weight, at, number = groups.weights, groups.at, groups.number
    return estimates_of(
        ([place.column] * number, place.labels),
        groups.add(weight * known.means[at]),
        groups.add(weight**2 * known.variances[at]),
        groups.add(weight**4 * known.doubts[at]),
        (added(place.codes, number, known.invited), added(place.codes, number, known.answers)),
        limits,
        plan.inputs.space.range * borrowed_shares(plan, known.answers, place.codes, number),
    )


def notes_on(plan: Design, counts: IntArray) -> tuple[str, ...]:
    """Say what was clipped, and what the numbers of answers say about the promise."""
    response = check_response(plan, counts)
    said = (plan.inputs.unlimited_in_words, None if response is None else response.in_words)
    return tuple(filter(None, said))


def estimation_of(
    plan: Design,
    whole: Estimate,
    strata: Sequence[Estimate],
    domains: Sequence[Estimate],
    notes: tuple[str, ...],
) -> Estimation:
    """Wrap up estimates of a design."""
    return Estimation(
        whole,
        strata,
        domains,
        (),
        (),
        (),
        plan.strata.population,
        plan.inputs.mean_in_words,
        notes,
        plan.inputs.confidence,
        plan.inputs.question.of_kind.counts_people,
    )


def estimates_of(
    names: tuple[Sequence[str], Sequence[str]],
    estimates: FloatArray,
    variances: FloatArray,
    doubts: FloatArray,
    people: tuple[IntArray, IntArray],
    limits: Limits,
    largest_biases: FloatArray,
) -> Estimates:
    """Put estimates together with what is known of them.

    Parameters
    ----------
    names : (sequence of str, sequence of str)
        The column of each, and its group.
    estimates, variances : array
        The estimates and their variances.
    doubts : array
        Sums of the squares of each variance's parts, each over its degrees of freedom (Satterthwaite).
    people : (array, array)
        How many were invited, and how many answered.
    limits : Limits
        Their intervals.
    largest_biases : array
        The largest error that strata without an answer can make in each.
    """
    degrees = np.full(len(estimates), math.inf)
    np.divide(variances**2, doubts, out=degrees, where=doubts > 0)
    return Estimates(
        *names, estimates, np.sqrt(variances), limits.lower, limits.upper, degrees, *people, largest_biases
    )
