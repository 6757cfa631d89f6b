r"""Estimates from answers that were noised one by one: means of numbers, and shares of categories.

In a stratum with m noised answers of variance s², and noise of variance v, the variance of the answers
themselves is estimated by s² − v, never below zero, and that of their mean by

.. math:: \frac{\max(s^2 - v,\, 0)}{m} \left(1 - \frac{m}{N}\right) + \frac{v}{m} .

A category whose share is p is reported with probability :math:`q + d p`. If it is a share
:math:`\hat\lambda` of a stratum's reports, the estimate is :math:`\hat p = (\hat\lambda - q)/d`. It may
lie outside 0 to 1; those of all categories add up to 1. Its standard error is that of a mean of debiased
reports, whose noise depends on p and is taken at :math:`\hat p`. The intervals of all categories hold
together: each has its share of the chance to miss. Two shares are one, so they need not divide it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpstrata.designs.record import Design
from dpstrata.errors import InputError, option
from dpstrata.fielding.answer_files import places, read_noised, read_noised_names
from dpstrata.fielding.covariances import Reported, Together
from dpstrata.fielding.frames.spark import finite, quoted, spark_errors, text_of_column
from dpstrata.fielding.intervals.of_design import (
    limits_of_shares,
    limits_over_surveys,
)
from dpstrata.fielding.intervals.tilt import Limits
from dpstrata.fielding.results.combining import combine
from dpstrata.fielding.results.figures import (
    Figure,
    NumberReports,
    QuestionFigures,
    StratumParts,
    doubts_about,
    levels_of,
)
from dpstrata.fielding.results.form_figures import TableCounts
from dpstrata.fielding.results.reader import NOISED_TABLE, Reader, Surveys, count_on_spark
from dpstrata.fielding.results.results import Results
from dpstrata.files.cells import unmarked
from dpstrata.files.headers import require_columns
from dpstrata.files.tables import Table
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray, read_only
from dpstrata.privacy.mechanisms.category_response import CategoryResponse
from dpstrata.survey.classes import refuse_late
from dpstrata.survey.releases import OPTION
from dpstrata.survey.releases.microdata import Microdata

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class MicrodataReader(Reader):
    """Take the noise off the spread of noised answers."""

    def read(self, table: Table, stratum: str) -> tuple[Sequence[Any], ...]:
        """Read noised answers."""
        return read_noised(table, stratum, self.plan.inputs.question.name)

    def estimate(self, *columns: Any) -> Results:
        """Estimate from noised answers."""
        return estimate_means(self.plan, *columns)

    def estimate_closely(self, *columns: Any) -> Results:
        """See in every answer how much noise there was, where that depends on what was answered."""
        return estimate_from_moments(self.plan, _moments(self.plan, *columns, closely=True))

    def limits_in_surveys(self, surveys: Surveys) -> Limits:
        """Take the noise off the spread of noised answers in each."""
        slope = _slope_of(self.plan)
        each = [_parts_of(self.plan, Moments(*moments)) for moments in zip(*surveys[:3], strict=True)]
        return limits_over_surveys(self.plan, [parts.limits(self.plan, slope) for parts in each])

    def estimate_on_spark(self, data: DataFrame, stratum: str) -> Results:
        """Let Spark add noised answers up, and estimate from that."""
        rows = sum_numbers(data, stratum, self.plan.inputs.question.name)
        order = places(self.plan, [row[0] for row in rows])
        counts, means, squares = (np.zeros(len(self.plan.strata)) for _ in range(3))
        for place, (_, count, mean, square) in zip(order.tolist(), rows, strict=True):
            counts[place], means[place], squares[place] = count, mean, square
        return estimate_from_moments(self.plan, Moments(counts.astype(np.int64), means, squares))


def estimate_means(plan: Design, strata: Sequence[str], answers: npt.ArrayLike, **late: Any) -> Results:
    """Estimate means from noised answers.

    Parameters
    ----------
    plan : Design
        The design, with noise on every answer.
    strata : sequence of str
        The stratum of each answer.
    answers : array
        The noised answers, in any order; fewer than invited are fine.
    **late
        ``classes`` and ``weights``, which cannot be brought in after the draw: refused with the reason.

    Returns
    -------
    Results
        As :func:`dpstrata.estimate`.

    Raises
    ------
    InputError
        If there are answers of strata that the design does not have, more than were invited, or none at all;
        or if classes or weights are brought in.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata([700, 900], names=["north", "south"])
    >>> plan = dps.design(strata, epsilon=1, total=40, questions="yes_no", min_per_stratum=2)
    >>> names = [name for name, n in zip(strata.names, plan.sample_sizes) for _ in range(n)]
    >>> result = dps.estimate_means(plan, names, [dps.randomize(plan, name, 1).value for name in names])
    >>> result[0].answered, [each.group for each in result.by("stratum")]
    (40, ['north', 'south'])
    """
    refuse_late(**late)
    return estimate_from_moments(plan, _moments(plan, strata, answers))


class Moments(NamedTuple):
    """What noised answers come down to, stratum by stratum."""

    counts: IntArray
    means: FloatArray
    squares: FloatArray
    """Sum of squared distances from the mean."""
    fourths: FloatArray | None = None
    """Sum of their squares, where the answers themselves were at hand."""
    seen: FloatArray | None = None
    """Variance of the noise as answers show it that were looked at closely, where it depends on them."""

    @classmethod
    def of(cls, plan: Design, codes: IntArray, values: FloatArray, *, closely: bool = False) -> Moments:
        """Add answers up, given the place of each one's stratum; ``closely``, see what they show of noise."""
        mechanism, space = plan.mechanism, plan.inputs.space
        counts = np.bincount(codes, minlength=len(plan.strata))

        def add(each: FloatArray) -> FloatArray:
            return np.bincount(codes, weights=each, minlength=len(counts)).astype(float, copy=False)

        with np.errstate(over="ignore", invalid="ignore"):  # refused where it happens
            means, seen = add(values) / np.maximum(counts, 1), None
            squares = np.square(values - means[codes])
            if closely and mechanism.worst_case:
                variances = mechanism.seen_variance(space.shares(values), plan.local_epsilons[codes])
                seen = space.range**2 * np.maximum(add(variances) / np.maximum(counts, 1), 0.0)
            return cls(counts, means, add(squares), add(np.square(squares)), seen)

    def without(self, noise: FloatArray, stated: FloatArray) -> StratumParts:
        """Take noise of this variance off the spread; a single answer has the one that is stated."""
        counts = np.maximum(self.counts, 1)
        observed = self.squares / np.maximum(self.counts - 1, 1)
        spreads = np.where(self.counts > 1, np.maximum(observed - noise, 0.0), stated)
        return StratumParts(self.means, self.counts, spreads, noise / counts, np.zeros(len(counts)))

    def reports(self, noise: FloatArray, unit: float) -> NumberReports | None:
        """Say how far apart answers with added noise of this variance are, in units of their range."""
        if self.fourths is None:
            return None
        freedom, nothing = np.maximum(self.counts - 1.0, 0.0), np.zeros(len(self.counts))
        return NumberReports(
            freedom=freedom,
            variances=self.squares / np.maximum(freedom, 1.0) / unit**2,
            fourths=self.fourths / unit**4,
            squares=self.squares**2 / np.maximum(self.counts, 1) / unit**4,
            stretch=nothing,
            constant=(noise if self.seen is None else self.seen) / unit**2,
            rounding=nothing,
            office=nothing,
        )

    def are_floored(self, noise: FloatArray) -> BoolArray:
        """Whether the noised answers of each stratum vary less than the noise alone would."""
        return np.asarray((self.counts > 1) & (self.squares < noise * (self.counts - 1)))


def estimate_from_moments(plan: Design, moments: Moments) -> Results:
    """Estimate from counts, means and squares of noised answers, in the order of the design's strata.

    Raises
    ------
    InputError
        As :func:`estimate_means`.
    """
    if plan.inputs.release_form.name != Microdata.name:
        raise InputError(
            f"estimates from single answers need {option(OPTION, Microdata.name)}, got "
            f"{option(OPTION, plan.inputs.release_form.name)}."
        )
    if plan.inputs.rows:
        raise InputError(
            "the mean of reports that are kept or replaced is not that of the answers. Use estimate, which "
            "reads the reports themselves."
        )
    if not plan.inputs.space.numbers:
        raise InputError(
            f"means are estimated from numbers, got {plan.inputs.space.described}. Use estimate."
        )
    require_counts(plan, moments.counts)
    if not all(np.all(np.isfinite(each)) for each in moments[1:] if each is not None):
        raise InputError("noised answers must be numbers that can be added up, got larger ones.")
    return combine(plan, [figures_from_moments(plan, moments)], answered=moments.counts)


def figures_from_moments(plan: Design, moments: Moments) -> QuestionFigures:
    """Estimate the mean of the only question in every stratum."""
    question, parts = plan.inputs.question, _parts_of(plan, moments)
    figure = Figure.of(plan, parts, parts.limits(plan, _slope_of(plan)), *levels_of(question))
    noise = _noise_variances(plan, moments)
    return QuestionFigures(
        question.name,
        [figure],
        doubts_about(moments.counts, moments.are_floored(noise)),
        reports=None if question.space.values == 2 else moments.reports(noise, question.range),
    )


def _parts_of(plan: Design, moments: Moments) -> StratumParts:
    return moments.without(_noise_variances(plan, moments), plan.sds**2)


def _slope_of(plan: Design) -> FloatArray | float:
    """Return by how much more often an answer that is kept or flipped is reported where it is true."""
    if plan.mechanism.additive:
        return 1.0
    return np.array([1.0 / plan.mechanism.debiasing(e) for e in plan.local_epsilons.tolist()])


def _moments(
    plan: Design, strata: Sequence[str], answers: npt.ArrayLike, *, closely: bool = False
) -> Moments:
    """Check the answers and put them together by stratum; no message shows one."""
    try:
        values = np.asarray(answers, dtype=float)
    except (TypeError, ValueError):
        raise InputError("noised answers must be numbers, got something else.") from None
    if values.ndim != 1 or len(values) != len(strata) or not np.all(np.isfinite(values)):
        raise InputError("noised answers must be numbers, with a stratum for each.")
    return Moments.of(plan, places(plan, strata), values, closely=closely)


def require_counts(plan: Design, counts: IntArray) -> None:
    """Require no more answers than invitations in any stratum."""
    more = np.flatnonzero(counts > plan.sample_sizes)
    if more.size:
        names = ", ".join(repr(plan.strata.name(i)) for i in more[:5].tolist())
        raise InputError(
            "every stratum must have at most one answer for each invitation, got more answers than "
            f"invitations in {names}."
        )


def _noise_variances(plan: Design, moments: Moments) -> FloatArray:
    """Variance of the noise of one answer in each stratum; for piecewise noise estimated from the outputs."""
    if plan.mechanism.worst_case:
        space = plan.inputs.space
        middle, half = (space.lower + space.upper) / 2, space.range / 2
        mean_square = ((moments.means - middle) / half) ** 2 + (
            moments.squares / np.maximum(moments.counts, 1) / half**2
        )
        estimated = plan.mechanism.estimated_variance(mean_square, plan.local_epsilons)
        return read_only(np.maximum(estimated, 0.0) * space.range**2)
    return read_only(plan.problem.terms.noise_variances(plan.sample_sizes.astype(float)))


class CategoriesReader(Reader):
    """Estimate the share of each category from noised names."""

    def read(self, table: Table, stratum: str) -> tuple[Sequence[Any], ...]:
        """Read noised names."""
        return read_noised_names(table, stratum, self.plan.inputs.question.name)

    def estimate(self, *columns: Any) -> Results:
        """Count the categories of each stratum, and estimate from that."""
        strata, answers = columns
        rows = places(self.plan, strata)
        question = self.plan.inputs.question
        found = question.of_kind.checked(question, list(answers), where="the noised answers").astype(np.int64)
        counts = np.zeros((len(self.plan.strata), len(question.names)), dtype=np.int64)
        np.add.at(counts, (rows, found), 1)
        return estimate_shares(self.plan, counts)

    def estimate_on_spark(self, data: DataFrame, stratum: str) -> Results:
        """Let Spark count the categories of each stratum, and estimate from that."""
        question = self.plan.inputs.question
        strata, names, times = count_on_spark(data, stratum, question.name)
        order = places(self.plan, strata)
        found = question.of_kind.checked(question, names, where="the noised answers").astype(np.int64)
        counts = np.zeros((len(self.plan.strata), len(question.names)), dtype=np.int64)
        np.add.at(counts, (order, found), np.array(times, dtype=np.int64))
        return estimate_shares(self.plan, counts)


def estimate_shares(plan: Design, counts: IntArray) -> Results:
    """Estimate the share of every category from how often each was reported.

    Parameters
    ----------
    plan : Design
        The design, with categories as answers.
    counts : array of int
        A row for each stratum, a column for each category.

    Raises
    ------
    InputError
        If there are more reports than invitations in a stratum, or none at all.
    """
    mechanism = plan.mechanism
    if not isinstance(mechanism, CategoryResponse):
        raise InputError(f"shares are estimated from categories, got {plan.inputs.space.described}.")
    answered = counts.sum(axis=1)
    require_counts(plan, answered)
    question = plan.inputs.question
    e, m = plan.local_epsilons, np.maximum(answered, 1)
    q, d = mechanism.chances(e)
    reported = counts.T / m
    shares = (reported - q) / d
    figures, floored = [], np.zeros(len(m), dtype=bool)
    for name, seen, share in zip(question.names, reported, shares, strict=True):
        moments = Moments(answered, share, answered * seen * (1.0 - seen) / d**2)
        noise = mechanism.noise_of_shares(np.clip(share, 0.0, 1.0), e)
        # a spread that the design states is that of all categories; of one it is at most 1/4
        stated = np.minimum(plan.sds**2, 0.25)
        limits = limits_of_shares(
            plan, share, answered, floor=q, slope=d, noise=np.zeros(len(d)), together=len(question.names)
        )
        figures.append(Figure.of(plan, moments.without(noise, stated), limits, name))
        floored |= moments.are_floored(noise)
    # how the shares of one stratum err together: a report of one category is none of another
    reports = Reported.of(shares, m.astype(float), np.ones(len(m)), q, d, np.zeros(len(m)))
    known = QuestionFigures(
        question.name, figures, doubts_about(answered, floored), Together.of(plan, [reports])
    )
    # ratios take it for a row with one answer, which is kept as often
    table = TableCounts(
        0, answered, (question.name,), (len(question.names),), counts.astype(float), None, np.zeros(len(m))
    )
    return combine(plan, [known], answered=answered, counts=[table])


def sum_numbers(data: DataFrame, stratum: str, column: str) -> list[tuple[str, int, float, float]]:
    """Add up a column by stratum: how many numbers, their mean, and their squared distances from it."""
    from pyspark.sql import functions as F  # noqa: N812

    require_columns(NOISED_TABLE, data.columns, stratum, column)
    number = finite(F.col(quoted(column)).try_cast("double"))  # nothing for what is none
    numbers = data.select(text_of_column(stratum).alias("stratum"), number.alias("number"))
    sums = F.count("*"), F.count("number"), F.avg("number"), F.var_pop("number") * F.count("*")
    with spark_errors("the noised answers"):
        rows = numbers.groupBy("stratum").agg(*sums).collect()
    if any(everyone != number for _, everyone, number, *_ in rows):
        raise InputError(f"noised answers must be numbers, got something else in column {column!r}.")
    return [
        (unmarked(name or ""), count, float(mean), float(squares)) for name, count, _, mean, squares in rows
    ]
