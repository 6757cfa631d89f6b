r"""Estimates from noised answers, with intervals that contain sampling and privacy.

In a stratum with m noised answers of variance s², and noise of variance v, the variance of the answers
themselves is estimated by s² − v, never below zero, and that of their mean by

.. math:: \frac{\max(s^2 - v,\, 0)}{m} \left(1 - \frac{m}{N}\right) + \frac{v}{m} .
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from dpstrata.arrays import FloatArray, IntArray, read_only
from dpstrata.errors import InputError
from dpstrata.model.design_record import Design
from dpstrata.model.domains import find_partitions
from dpstrata.survey.noising import rows_by_name
from dpstrata.survey.response import check_response

FEW = 10


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean or the total, with its precision.

    Attributes
    ----------
    column, group : str
        What it is the mean of: ``all``, a stratum, or a domain; or ``total``.
    estimate, standard_error : float
        The estimate and its standard error, from sampling and privacy together.
    lower, upper : float
        Interval at the design's confidence.
    degrees_of_freedom : float
        Of the t distribution behind it (Satterthwaite); infinite where no variance had to be estimated.
    invited, answers : int
        How many people were to be asked, and how many noised answers there are.
    """

    column: str
    group: str
    estimate: float
    standard_error: float
    lower: float
    upper: float
    degrees_of_freedom: float
    invited: int
    answers: int


@dataclass(frozen=True, slots=True, eq=False)
class Estimates(Sequence[Estimate]):
    """Estimates as columns, made into records where they are looked at: there may be many strata.

    Attributes
    ----------
    columns, groups : sequence of str
        What each is the mean of.
    estimates, standard_errors, lower, upper, degrees_of_freedom : array
        As in :class:`Estimate`.
    invited, answers : array of int
        As in :class:`Estimate`.
    """

    columns: Sequence[str]
    groups: Sequence[str]
    estimates: FloatArray
    standard_errors: FloatArray
    lower: FloatArray
    upper: FloatArray
    degrees_of_freedom: FloatArray
    invited: IntArray
    answers: IntArray

    def __len__(self) -> int:
        return len(self.groups)

    @overload
    def __getitem__(self, at: int) -> Estimate: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Estimate, ...]: ...

    def __getitem__(self, at: int | slice) -> Estimate | tuple[Estimate, ...]:
        """Return one of them, or several."""
        if isinstance(at, slice):
            return tuple(self)[at]
        return Estimate(self.columns[at], self.groups[at], *(figure[at].item() for figure in self._figures))

    def __iter__(self) -> Iterator[Estimate]:
        return map(Estimate, self.columns, self.groups, *(figure.tolist() for figure in self._figures))

    @property
    def _figures(self) -> tuple[npt.NDArray[Any], ...]:
        precision = (self.estimates, self.standard_errors, self.lower, self.upper, self.degrees_of_freedom)
        return (*precision, self.invited, self.answers)


@dataclass(frozen=True, slots=True, eq=False)
class Estimation:
    """Everything that was estimated.

    Attributes
    ----------
    whole : Estimate
        The population mean; times the population it is the total.
    strata, domains : sequence of Estimate
        Every stratum, and the domains of the design.
    floored : tuple of str
        Strata whose noised answers vary less than the noise alone: their spread is taken as zero.
    single : tuple of str
        Strata with one answer, whose spread is taken from the design.
    few : tuple of str
        Strata with 2 to 9 answers, too few to rely on an interval of their own.
    population : int
        How many people there are.
    of : str
        What the means are of: "mean", or "mean of answers clipped to" the range of a design that clips them.
    notes : tuple of str
        What is to be said of the promise, in sentences: where fewer people answered than it counts on.
    """

    whole: Estimate
    strata: Sequence[Estimate]
    domains: Sequence[Estimate]
    floored: tuple[str, ...]
    single: tuple[str, ...]
    few: tuple[str, ...]
    population: int
    of: str = "mean"
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[Estimate, ...]:
        """The means: of the whole, the domains, the strata."""
        return (self.whole, *self.domains, *self.strata)

    @property
    def total(self) -> Estimate:
        """The population total."""
        whole, people = self.whole, self.population
        return replace(
            whole,
            column="total",
            estimate=whole.estimate * people,
            standard_error=whole.standard_error * people,
            lower=whole.lower * people,
            upper=whole.upper * people,
        )


def estimate_means(plan: Design, strata: Sequence[str], answers: npt.ArrayLike) -> Estimation:
    """Estimate means from noised answers.

    Parameters
    ----------
    plan : Design
        The design, with noise on every answer.
    strata : sequence of str
        The stratum of each answer.
    answers : array
        The noised answers, in any order; fewer than invited are fine.

    Raises
    ------
    InputError
        If there are answers of strata that the design does not have, more than were invited, or none at all
        in some stratum.
    """
    return estimate_from_moments(plan, _moments(plan, strata, answers))


class Moments(NamedTuple):
    """What noised answers come down to, stratum by stratum."""

    counts: IntArray
    means: FloatArray
    squares: FloatArray
    """Sum of squared distances from the mean."""


def estimate_from_moments(plan: Design, moments: Moments) -> Estimation:
    """Estimate from counts, means and squares of noised answers, in the order of the design's strata.

    Raises
    ------
    InputError
        As :func:`estimate_means`.
    """
    if plan.inputs.trust == "curator":
        raise InputError("estimates from single answers need trust='local', got a design for a curator.")
    counts, means, squares = moments
    _require_counts(plan, counts)
    if not (np.all(np.isfinite(means)) and np.all(np.isfinite(squares))):
        raise InputError("noised answers must be numbers that can be added up, got larger ones.")
    noise = _noise_variances(plan, moments)
    several = counts > 1
    observed = squares / np.maximum(counts - 1, 1)
    sampling = np.where(several, np.maximum(observed - noise, 0.0), plan.sds**2)
    freedom = np.where(several, counts - 1.0, math.inf)
    names = plan.strata.names
    return _combine(
        plan,
        _Strata(means, counts, sampling, noise / counts, freedom),
        floored=tuple(names[i] for i in np.flatnonzero(several & (observed < noise)).tolist()),
        single=tuple(names[i] for i in np.flatnonzero(~several).tolist()),
        few=tuple(names[i] for i in np.flatnonzero(several & (counts < FEW)).tolist()),
    )


def estimate_from_means(
    plan: Design, strata: Sequence[str], means: npt.ArrayLike, answers: npt.ArrayLike
) -> Estimation:
    """Estimate from the noised means of a curator.

    A mean shows no spread, so sampling is counted with the standard deviations of the design.

    Parameters
    ----------
    plan : Design
        A design with ``trust="curator"``.
    strata : sequence of str
        Every stratum of the design once.
    means : array
        The noised mean of each.
    answers : array of int
        How many answers each is the mean of.
    """
    if plan.inputs.trust != "curator":
        raise InputError("estimates from noised means need a design with trust='curator'.")
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
    parts = _Strata(values, counts, plan.sds**2, noise / counts**2, known)
    return _combine(plan, parts, floored=(), single=(), few=())


class _Strata(NamedTuple):
    """What is known of every stratum."""

    means: FloatArray
    counts: IntArray
    sampling: FloatArray
    """Variance of the answers."""
    privacy: FloatArray
    """Variance of the mean that comes from noise."""
    freedom: FloatArray


def _combine(
    plan: Design, parts: _Strata, *, floored: tuple[str, ...], single: tuple[str, ...], few: tuple[str, ...]
) -> Estimation:
    """Put the strata together to the whole, the domains and themselves.

    Of the variance (s² − v)/m·(1 − m/N) + v/m of a stratum only the part with s² had to be estimated, so only
    that enters the degrees of freedom.
    """
    sizes, names = plan.strata.sizes, plan.strata.names
    fraction = parts.counts / sizes if plan.inputs.finite_population else np.zeros(len(sizes))
    variances = parts.sampling / parts.counts * (1.0 - fraction) + parts.privacy
    doubtful = (parts.sampling / parts.counts + parts.privacy) * (1.0 - fraction)

    def combined(column: str, groups: Sequence[str], codes: IntArray) -> Estimates:
        def added(values: FloatArray | IntArray) -> FloatArray:
            sums = np.bincount(codes, weights=values, minlength=len(groups))
            return sums.astype(float, copy=False)

        weight = sizes / added(sizes)[codes]
        return with_intervals(
            ([column] * len(groups), groups),
            added(weight * parts.means),
            added(weight**2 * variances),
            added((weight**2 * doubtful) ** 2 / parts.freedom),
            (added(plan.sample_sizes), added(parts.counts)),
            plan.inputs.confidence,
        )

    partitions = find_partitions(plan.strata, plan.inputs)
    domains = chain(*(combined(part.column or "all", part.groups, part.codes) for part in partitions[1:]))
    strata = combined("stratum", names, np.arange(len(names)))
    (whole,) = combined("all", ["all"], partitions[0].codes)
    response = check_response(plan, parts.counts)
    said = None if response is None else response.in_words
    return Estimation(
        whole,
        strata,
        tuple(domains),
        floored,
        single,
        few,
        plan.strata.population,
        plan.inputs.mean_in_words,
        () if said is None else (said,),
    )


def with_intervals(
    names: tuple[Sequence[str], Sequence[str]],
    estimates: FloatArray,
    variances: FloatArray,
    doubts: FloatArray,
    people: tuple[FloatArray, FloatArray],
    confidence: float,
) -> Estimates:
    """Put intervals around estimates.

    Parameters
    ----------
    names : (sequence of str, sequence of str)
        The column of each, and its group.
    estimates, variances : array
        The estimates and their variances.
    doubts : array
        Sums of the squares of each variance's parts, each over its degrees of freedom (Satterthwaite).
    people : (array, array)
        How many were invited, and how many answered; whole numbers.
    confidence : float
        Level of the intervals.
    """
    from scipy import stats

    degrees = np.full(len(estimates), math.inf)
    np.divide(variances**2, doubts, out=degrees, where=doubts > 0)
    errors = np.sqrt(variances)
    reach = stats.t.ppf(0.5 + confidence / 2, degrees) * errors  # normal for infinite degrees
    invited, answered = (numbers.astype(np.int64) for numbers in people)
    return Estimates(
        *names, estimates, errors, estimates - reach, estimates + reach, degrees, invited, answered
    )


def _moments(plan: Design, strata: Sequence[str], answers: npt.ArrayLike) -> Moments:
    """Check the answers and put them together by stratum; no message shows one."""
    try:
        values = np.asarray(answers, dtype=float)
    except (TypeError, ValueError):
        raise InputError("noised answers must be numbers, got something else.") from None
    if values.ndim != 1 or len(values) != len(strata) or not np.all(np.isfinite(values)):
        raise InputError("noised answers must be numbers, with a stratum for each.")
    codes = places(plan, strata)
    counts = np.bincount(codes, minlength=len(plan.strata))
    with np.errstate(over="ignore", invalid="ignore"):  # refused where it happens
        means = np.bincount(codes, weights=values, minlength=len(counts)) / np.maximum(counts, 1)
        squares = np.bincount(codes, weights=np.square(values - means[codes]), minlength=len(counts))
    return Moments(counts, means, np.asarray(squares, dtype=float))


def places(plan: Design, strata: Sequence[str]) -> IntArray:
    """Return the places of strata in a design, all of which it must have."""
    place = rows_by_name(plan.strata)
    codes = np.fromiter(map(place.get, strata, repeat(-1)), dtype=np.int64, count=len(strata))
    unknown = {str(strata[i]) for i in np.flatnonzero(codes < 0).tolist()}
    if unknown:
        raise InputError(f"the design has no stratum {min(unknown)!r}.")
    return codes


def _require_counts(plan: Design, counts: IntArray) -> None:
    for wrong, words in (
        (counts > plan.sample_sizes, "more answers than invitations"),
        (counts == 0, "no answer"),
    ):
        if wrong.any():
            names = ", ".join(repr(plan.strata.name(i)) for i in np.flatnonzero(wrong)[:5].tolist())
            raise InputError(
                "every stratum must have an answer, and at most one for each invitation, "
                f"got {words} in {names}."
            )


def _noise_variances(plan: Design, moments: Moments) -> FloatArray:
    """Variance of the noise of one answer in each stratum; for piecewise noise estimated from the outputs."""
    if plan.mechanism.worst_case:
        answers = plan.inputs.answers
        middle, half = (answers.lower + answers.upper) / 2, answers.range / 2
        mean_square = ((moments.means - middle) / half) ** 2 + moments.squares / moments.counts / half**2
        estimated = plan.mechanism.estimated_variance(mean_square, plan.local_epsilons)
        return read_only(np.maximum(estimated, 0.0) * answers.range**2)
    return read_only(plan.problem.terms.noise_variances(plan.sample_sizes.astype(float)))
