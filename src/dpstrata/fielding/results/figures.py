r"""Single figures of a questionnaire, a share or a mean: on a form, in a stratum, and over strata.

A level that is reported with share :math:`\lambda` among m rows of a form has the true share
:math:`(\lambda - \rho/k)(1 + r)`, without bias. Nothing is clipped, so that shares add up to one and strata
add up to the whole. The variance is that of the reported share, stretched, with the finite population
correction on the part that is due to sampling, and the office's noise:

.. math:: (1 + r)^2 \left(\frac{\lambda (1 - \lambda)}{m - 1} + \frac{v}{m^2}\right) - \frac{p (1 - p)}{N} .
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.covariances.covariance import Errors
from dpstrata.fielding.covariances.shares import Reported, Together
from dpstrata.fielding.intervals.grouping import added, reported, with_limits
from dpstrata.fielding.intervals.means import Means
from dpstrata.fielding.intervals.of_design import PartLimits, limits_over_forms
from dpstrata.fielding.intervals.parts import Causes
from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.neighbours import borrowed_shares, find_stand_ins, taken_from
from dpstrata.fielding.results.counts import TableCounts
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.privacy.device import odds_below
from dpstrata.privacy.rows import largest_rounding
from dpstrata.survey.questionnaires.question import Question


@dataclass(frozen=True, slots=True)
class QuestionEstimate:
    """A mean or a share, with its precision.

    Attributes
    ----------
    question : str
        The question; of a cross-table all of them.
    answer : str
        ``mean``, ``yes``, a category, or a combination of answers.
    column, group : str
        What it is estimated for: ``all``, a stratum, or a domain.
    estimate, standard_error : float
        In the units of the answer; shares are not clipped to 0 and 1.
    lower, upper : float
        Interval at the design's confidence, which holds for all answers to the question together; never
        outside what can be.
    answers : int
        How many rows it is from.
    crossed : bool
        Whether it is a combination of answers to several questions.
    taken_from : str
        Of a stratum in which nobody answered the question: the one whose result it takes.
    largest_bias : float or None
        The largest error that strata without an answer to the question can make in it: the share of its
        people who are in such strata, times the range of the figure. ``None`` for ratios with such strata.
    """

    question: str
    answer: str
    column: str
    group: str
    estimate: float
    standard_error: float
    lower: float
    upper: float
    answers: int
    crossed: bool = False
    taken_from: str = ""
    largest_bias: float | None = 0.0


class Parts(NamedTuple):
    """One figure in every stratum: its estimate, the variance, and how many rows it is from."""

    estimates: FloatArray
    variances: FloatArray
    answers: IntArray
    limits: PartLimits
    on_forms: Sequence[tuple[FloatArray, OnForm]]
    """The forms that it is from, each with its share of the answers of every stratum."""


class OnForm(NamedTuple):
    """One figure on one form: estimates of all strata, and variances as if these were endless."""

    estimates: FloatArray
    variances: FloatArray
    answers: IntArray
    known: Reports | Means
    """The same for intervals, which take the strata to be finite where they are joined."""
    device: FloatArray
    """Variance that replaced rows, and rounding to levels, add; the office's noise adds the next."""
    office: FloatArray
    levels: int = 1
    """Of a share: how many shares there are."""
    spread: FloatArray | None = None
    """Of a mean: what is known to be spread of true answers, and not of rounding; of a share nothing."""


def joined(
    plan: Design, each: Sequence[OnForm], *, question: Question | None = None, together: int = 1
) -> Parts:
    """Join a figure of several forms, whose people are one sample drawn without replacement.

    The spread of a share follows from it. So many shares are to lie in their intervals together.
    """
    total = np.sum([part.answers for part in each], axis=0)
    weights = [part.answers / np.maximum(total, 1) for part in each]
    limits = limits_over_forms(
        plan,
        [part.known for part in each],
        weights,
        total,
        together=together,
        within=(0.0, 1.0) if question is None else (question.lower or 0.0, question.range),
    )
    estimates = np.sum([w * part.estimates for w, part in zip(weights, each, strict=True)], axis=0)
    variances = np.sum([w**2 * part.variances for w, part in zip(weights, each, strict=True)], axis=0)
    if plan.inputs.finite_population:
        N = plan.strata.sizes
        true = np.clip(estimates, 0.0, 1.0)
        spread = true * (1.0 - true) * (N / np.maximum(N - 1.0, 1.0))
        if question is not None:
            spread = np.sum(
                [w * np.asarray(part.spread) for w, part in zip(weights, each, strict=True)], axis=0
            )
        variances = variances - spread / N
    return Parts(estimates, np.maximum(variances, 0.0), total, limits, list(zip(weights, each, strict=True)))


def stretches(plan: Design, t: int) -> FloatArray:
    """Return r = K/y of a form in every stratum, with the odds that rows were really replaced with."""
    device = plan.inputs.device_epsilon
    budgets = plan.local_epsilons if device is None else np.full(len(plan.strata), device)
    return plan.forms[t].cells / _odds(budgets.tobytes())


@lru_cache(maxsize=16)  # every figure asks for them
def _odds(budgets: bytes) -> FloatArray:
    return read_only(np.array([float(odds_below(e)) for e in np.frombuffer(budgets).tolist()]))


def share_on(plan: Design, t: int, answers: IntArray, table: TableCounts, place: int) -> OnForm:
    """Return the share of one level (or of one combination), and its variance."""
    assert table.counts is not None
    r, m, k = stretches(plan, t), np.maximum(answers, 1.0), table.counts.shape[1]
    least, office = r / (1.0 + r) / k, (1.0 - 1.0 / k) * table.noise
    reported = table.counts[:, place] / m
    known = Reports(
        counts=table.counts[:, place],
        answers=m,
        sampled=m,
        population=np.full(len(m), np.inf),
        floor=least,
        slope=1.0 / (1.0 + r),
        noise=office,
    )
    seen = _reported_variances(known, plan.strata.sizes * (answers > 0))
    shares, of_office = (reported - least) * (1.0 + r), (1.0 + r) ** 2 * office / m**2
    # r (p (1 − 2/k) + 1/k) + r² (k − 1)/k², which is ((k − 1)/k) r (2 + r) over all shares together
    device = r * (shares * (1.0 - 2.0 / k) + 1.0 / k) + r**2 * (k - 1.0) / k**2
    return OnForm(shares, (1.0 + r) ** 2 * seen + of_office, answers, known, device / m, of_office, k)


def _reported_variances(known: Reports, sizes: IntArray) -> FloatArray:
    r"""Estimate the variance of the share that is reported in every stratum, without the office's noise.

    Notes
    -----
    :math:`(\lambda (1 - \lambda) + v/m^2)/(m - 1)` is unbiased, but may be below what replaced rows alone
    make it. Taking at least that in every stratum would give too much on the whole. So what strata have above
    it is scaled to what the unbiased figures, weighted by the squares of the sizes, add up to. Where the
    office's noise varies more than any single answer can, this figure is mostly noise and would decide on the
    factor of all others: there the largest variance that is possible is taken, which is small beside it.
    """
    m, q, others = known.answers, known.floor, np.maximum(known.answers - 1.0, 1.0)
    reported = known.counts / m
    inside = np.clip(reported, q, q + known.slope)
    floor = q * (1.0 - q) / m
    above = inside * (1.0 - inside) / others - floor
    unbiased = (reported * (1.0 - reported) + known.noise / m**2) / others
    drowned = known.noise > 0.25 * m**2
    largest = np.clip(0.5, q, q + known.slope)
    squares = np.where(drowned, 0.0, sizes.astype(float) ** 2)
    total, most = float(squares @ (unbiased - floor)), float(squares @ above)
    scaled = floor + above * (max(total, 0.0) / most if most > 0 else 0.0)
    return np.where(drowned, largest * (1.0 - largest) / m, scaled)


def mean_on(plan: Design, question: Question, t: int, answers: IntArray, table: TableCounts) -> OnForm:
    """Return the mean of a scale or number in its own units, and its variance."""
    r, m = stretches(plan, t), np.maximum(answers, 1.0)
    levels = table.levels[0]
    at = np.arange(levels) / (levels - 1.0)
    if table.counts is not None:
        reported = table.counts @ at / m
        least = r / (1.0 + r) * ((at - 0.5) ** 2).mean()
        squares = np.clip(table.counts @ at**2 / m - reported**2, least, 0.25)
        seen = squares / np.maximum(m - 1.0, 1.0)
        office = table.noise * ((at - at.mean()) ** 2).sum()
    else:
        assert table.sums is not None
        reported = table.sums / (levels - 1.0) / m
        seen = _planned(plan, question, levels, r) / (1.0 + r) ** 2 / m
        office = table.noise / (levels - 1.0) ** 2
    share = (reported - 0.5) * (1.0 + r) + 0.5
    of_office = (1.0 + r) ** 2 * office / m**2
    variance = (1.0 + r) ** 2 * seen + of_office
    if table.counts is None:
        spread = _planned_spread(plan, question, levels)
    else:  # as much of it may be rounding, of which asking everyone takes nothing
        shown = _spread_shown((1.0 + r) ** 2 * seen * m, share, r, ((at - 0.5) ** 2).mean())
        spread = np.maximum(shown - (largest_rounding(levels) if question.levels is None else 0.0), 0.0)
    noise = np.maximum(variance - spread / m, 0.0)
    return OnForm(
        (question.lower or 0.0) + question.range * share,
        question.range**2 * variance,
        answers,
        Means(share, m, np.ones(len(m)), spread, noise),
        question.range**2 * np.maximum(noise - of_office, 0.0),
        question.range**2 * of_office,
        spread=question.range**2 * spread,
    )


def _spread_shown(variance: FloatArray, share: FloatArray, r: FloatArray, level: float) -> FloatArray:
    r"""Take the noise of replaced rows off the variance of one answer, given the mean square of the levels.

    .. math:: \mathrm{variance} = S^2 + r (S^2 + x^2 + (1 + r) \mu_2), \qquad x = \mathrm{mean} - 1/2 .
    """
    x = np.clip(share, 0.0, 1.0) - 0.5
    return np.clip((variance - r * (x**2 + (1.0 + r) * level)) / (1.0 + r), 0.0, 0.25 - x**2)


def _planned(plan: Design, question: Question, levels: int, r: FloatArray) -> FloatArray:
    """Variance of one answer as the design planned it: a sum shows no spread."""
    return plan.spreads.in_row(_place(plan, question), levels).at(r)


def _planned_spread(plan: Design, question: Question, levels: int) -> FloatArray:
    """Return S² of true answers as the design knows it, in squared ranges, without what may be rounding."""
    spreads, place = plan.spreads, _place(plan, question)
    return np.asarray(spreads.variances[:, place] - spreads.rounding(place, levels))


def _place(plan: Design, question: Question) -> int:
    return [each.name for each in plan.inputs.questions].index(question.name)


def combined(
    plan: Design, question: str, answer: str, parts: Parts, *, crossed: bool = False
) -> Iterator[QuestionEstimate]:
    """Put strata together to what is reported: the whole, the domains and themselves."""
    stand_ins = find_stand_ins(plan, parts.answers)
    for place, groups, limits in with_limits(plan, reported(plan, stand_ins), parts.limits):
        figures = (
            groups.add(groups.weights * parts.estimates[groups.at]),
            np.sqrt(groups.add(groups.weights**2 * parts.variances[groups.at])),
            *limits,
            added(place.codes, groups.number, parts.answers),
        )
        borrowed = borrowed_shares(plan, parts.answers, place.codes, groups.number)
        instead = taken_from(stand_ins, parts.answers, place.codes, place.labels)
        columns = (place.labels, parts.limits.within[1] * borrowed, *figures)
        rows = zip(*(np.asarray(each).tolist() for each in columns), strict=True)
        for i, (label, bias, estimate, error, lower, upper, answers) in enumerate(rows):
            yield QuestionEstimate(
                *(question, answer, place.column, label),
                *(estimate, error, lower, upper, answers),
                crossed,
                instead.get(i, ""),
                bias,
            )


def causes_of(plan: Design, parts: Parts) -> Causes:
    """Split the variance of a figure of the whole population by what makes it err."""
    _, whole = reported(plan, find_stand_ins(plan, parts.answers))[0]

    def added_up(variances: FloatArray) -> float:
        return float(whole.add(whole.weights**2 * variances[whole.at])[0])

    device, office = (
        added_up(np.sum([w**2 * getattr(form, name) for w, form in parts.on_forms], axis=0))
        for name in ("device", "office")
    )
    return Causes.of(added_up(parts.variances), max(device, 0.0), office)


def errors_of(plan: Design, figures: Sequence[Parts]) -> Errors:
    """Say what makes the figures of one question, or of one cross-table, err together."""
    stand_ins = find_stand_ins(plan, figures[0].answers)
    groups = tuple(each for _, each in reported(plan, stand_ins))
    variances = np.stack([parts.variances for parts in figures])
    if len(figures) == 1:
        return Errors(groups, variances)
    return Errors(groups, variances, Together.of(plan, list(_reported(figures))))


def _reported(figures: Sequence[Parts]) -> Iterator[Reported]:
    """Collect the shares of a question form by form."""
    for t, (weights, first) in enumerate(figures[0].on_forms):
        shares = np.stack([parts.on_forms[t][1].estimates for parts in figures])
        known = first.known
        assert isinstance(known, Reports)
        yield Reported.of(shares, known.answers, weights, known.floor, known.slope, known.noise, first.levels)
