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
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.domains import find_partitions
from dpstrata.designs.record import Design
from dpstrata.fielding.questionnaires.counts import TableCounts
from dpstrata.fielding.questionnaires.rows import odds_in
from dpstrata.numerics.arrays import FloatArray, IntArray
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
        Interval at the design's confidence.
    answers : int
        How many rows it is from.
    crossed : bool
        Whether it is a combination of answers to several questions.
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


class Parts(NamedTuple):
    """One figure in every stratum: its estimate, the variance, and how many rows it is from."""

    estimates: FloatArray
    variances: FloatArray
    answers: IntArray


class OnForm(NamedTuple):
    """One figure on one form: estimates of all strata, and variances as if these were endless."""

    estimates: FloatArray
    variances: FloatArray
    answers: IntArray


def joined(plan: Design, each: Sequence[OnForm], spread: FloatArray | None = None) -> Parts:
    """Join a figure of several forms, whose people are one sample drawn without replacement.

    The spread of a share follows from it; that of a mean is given.
    """
    total = np.sum([part.answers for part in each], axis=0)
    weights = [part.answers / total for part in each]
    estimates = np.sum([w * part.estimates for w, part in zip(weights, each, strict=True)], axis=0)
    variances = np.sum([w**2 * part.variances for w, part in zip(weights, each, strict=True)], axis=0)
    if plan.inputs.finite_population:
        N = plan.strata.sizes
        if spread is None:
            true = np.clip(estimates, 0.0, 1.0)
            spread = true * (1.0 - true) * (N / np.maximum(N - 1.0, 1.0))
        variances = variances - spread / N
    return Parts(estimates, np.maximum(variances, 0.0), total)


def stretches(plan: Design, t: int) -> FloatArray:
    """Return r = K/y of a form in every stratum, with the odds that rows were really replaced with."""
    cells = plan.forms[t].cells
    if plan.inputs.device_epsilon is not None:
        return np.full(len(plan.strata), cells / float(odds_in(plan, 0)))
    return np.array([cells / float(odds_in(plan, i)) for i in range(len(plan.strata))])


def share_on(plan: Design, t: int, answers: IntArray, table: TableCounts, place: int) -> OnForm:
    """Return the share of one level (or of one combination), and its variance.

    What is reported is taken to be at least as random as replaced rows make it.
    """
    assert table.counts is not None
    r, m, k = stretches(plan, t), answers.astype(float), table.counts.shape[1]
    least = r / (1.0 + r) / k
    reported = table.counts[:, place] / m
    inside = np.clip(reported, least, least + 1.0 / (1.0 + r))
    seen = inside * (1.0 - inside) / np.maximum(m - 1.0, 1.0)
    office = (1.0 - 1.0 / k) * table.noise / m**2
    return OnForm((reported - least) * (1.0 + r), (1.0 + r) ** 2 * (seen + office), answers)


def mean_on(plan: Design, question: Question, t: int, answers: IntArray, table: TableCounts) -> OnForm:
    """Return the mean of a scale or number in its own units, and its variance."""
    r, m = stretches(plan, t), answers.astype(float)
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
    variance = question.range**2 * (1.0 + r) ** 2 * (seen + office / m**2)
    return OnForm((question.lower or 0.0) + question.range * share, variance, answers)


def _planned(plan: Design, question: Question, levels: int, r: FloatArray) -> FloatArray:
    """Variance of one answer as the design planned it: a sum shows no spread."""
    return plan.inputs.spreads_in(plan.strata).in_row(_place(plan, question), levels).at(r)


def spread_of(plan: Design, question: Question) -> FloatArray:
    """Return S² as the design knows it, in squared ranges."""
    return np.asarray(plan.inputs.spreads_in(plan.strata).variances[:, _place(plan, question)])


def _place(plan: Design, question: Question) -> int:
    assert plan.inputs.questionnaire is not None
    return [each.name for each in plan.inputs.questionnaire].index(question.name)


def groups_of(plan: Design) -> Iterator[tuple[str, Sequence[str], IntArray]]:
    """List the whole, the groups of domains, and strata, each with the group of every stratum."""
    names = plan.strata.names
    whole, *domains = find_partitions(plan.strata, plan.inputs)
    yield "all", ["all"], whole.codes
    for part in domains:
        yield part.column or "all", part.groups, part.codes
    yield "stratum", names, np.arange(len(names))


def added_by(codes: IntArray, values: FloatArray | IntArray) -> FloatArray:
    """Add up over the strata of each group."""
    return np.bincount(codes, weights=values).astype(float)


def combined(plan: Design, question: str, answer: str, parts: Parts) -> Iterator[QuestionEstimate]:
    """Put strata together to the whole, the domains and themselves."""
    sizes, z = plan.strata.sizes, plan.inputs.z
    for column, labels, codes in groups_of(plan):
        weight = sizes / added_by(codes, sizes)[codes]
        estimates = added_by(codes, weight * parts.estimates).tolist()
        errors = np.sqrt(added_by(codes, weight**2 * parts.variances)).tolist()
        people = added_by(codes, parts.answers).astype(int).tolist()
        for label, estimate, error, number in zip(labels, estimates, errors, people, strict=True):
            ends = estimate - z * error, estimate + z * error
            yield QuestionEstimate(question, answer, column, label, estimate, error, *ends, number)
