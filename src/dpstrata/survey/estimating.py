r"""Estimates from noised answers, with intervals that contain sampling and privacy.

In a stratum with m noised answers of variance s², and noise of variance v, the variance of the answers
themselves is estimated by s² − v, never below zero, and that of their mean by

.. math:: \frac{\max(s^2 - v,\, 0)}{m} \left(1 - \frac{m}{N}\right) + \frac{v}{m} .
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpstrata.arrays import FloatArray, IntArray, read_only
from dpstrata.errors import InputError
from dpstrata.model.design_record import Design
from dpstrata.model.domains import find_partitions
from dpstrata.survey.noising import noise_variance
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
class Estimation:
    """Everything that was estimated.

    Attributes
    ----------
    whole : Estimate
        The population mean; times the population it is the total.
    strata, domains : tuple of Estimate
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
    strata: tuple[Estimate, ...]
    domains: tuple[Estimate, ...]
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
    noise = np.array([noise_variance(plan, name) for name in plan.strata.names])
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

    def combined(column: str, group: str, rows: IntArray) -> Estimate:
        weight = sizes[rows] / sizes[rows].sum()
        variance = float((weight**2 * variances[rows]).sum())
        doubt = float(((weight**2 * doubtful[rows]) ** 2 / parts.freedom[rows]).sum())
        people = int(plan.sample_sizes[rows].sum()), int(parts.counts[rows].sum())
        mean = float(weight @ parts.means[rows])
        return with_interval((column, group), mean, variance, doubt, people, plan.inputs.confidence)

    everyone = np.arange(len(names))
    domains = [
        combined(part.column or "all", group, np.flatnonzero(part.codes == i))
        for part in find_partitions(plan.strata, plan.inputs)[1:]
        for i, group in enumerate(part.groups)
    ]
    strata = tuple(combined("stratum", name, everyone[i : i + 1]) for i, name in enumerate(names))
    whole = combined("all", "all", everyone)
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


def with_interval(
    name: tuple[str, str],
    estimate: float,
    variance: float,
    doubt: float,
    people: tuple[int, int],
    confidence: float,
) -> Estimate:
    """Put an interval around an estimate.

    Parameters
    ----------
    name : (str, str)
        Its column and group.
    estimate, variance : float
        The estimate and its variance.
    doubt : float
        Sum of the squares of the variance's parts, each over its degrees of freedom (Satterthwaite).
    people : (int, int)
        How many were invited, and how many answered.
    confidence : float
        Level of the interval.
    """
    from scipy import stats

    degrees = variance**2 / doubt if doubt > 0 else math.inf
    error = math.sqrt(variance)
    reach = float(stats.t.ppf(0.5 + confidence / 2, degrees)) * error  # normal for infinite degrees
    return Estimate(*name, estimate, error, estimate - reach, estimate + reach, degrees, *people)


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
    place = {name: i for i, name in enumerate(plan.strata.names)}
    unknown = {str(name) for name in strata if name not in place}
    if unknown:
        raise InputError(f"the design has no stratum {min(unknown)!r}.")
    return np.array([place[name] for name in strata], dtype=np.int64)


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
    return read_only(np.array([noise_variance(plan, name) for name in plan.strata.names]))
