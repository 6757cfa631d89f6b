r"""Estimates of a questionnaire: the share of every category, the means of scales and numbers, cross-tables.

A level that is reported with share :math:`\lambda` among m rows of a form has the true share
:math:`(\lambda - \rho/k)(1 + r)`, without bias. Nothing is clipped, so that shares add up to one and strata
add up to the whole. The variance is that of the reported share, stretched, with the finite population
correction on the part that is due to sampling, and the office's noise:

.. math:: (1 + r)^2 \left(\frac{\lambda (1 - \lambda)}{m - 1} + \frac{v}{m^2}\right) - \frac{p (1 - p)}{N} .
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dpstrata.allocation.domains import find_partitions
from dpstrata.designs.record import Design
from dpstrata.fielding.questionnaires.counts import FormCounts, TableCounts
from dpstrata.fielding.questionnaires.rows import odds_in
from dpstrata.fielding.response import check_response
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.survey.questionnaires.question import Question
from dpstrata.words.question_estimates import questions_in_words, questions_table
from dpstrata.words.tables import shown_as_html, shown_as_text


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


@dataclass(frozen=True, slots=True, eq=False)
class QuestionnaireEstimation:
    """All estimates of a questionnaire.

    Attributes
    ----------
    rows : tuple of QuestionEstimate
        By question and answer: the whole, the domains, the strata.
    confidence : float
        Confidence level of the intervals.
    notes : tuple of str
        Sentences about the promise, where fewer people answered than it assumes.
    """

    rows: tuple[QuestionEstimate, ...]
    confidence: float
    notes: tuple[str, ...] = ()

    @property
    def whole(self) -> tuple[QuestionEstimate, ...]:
        """Those of the whole population."""
        return tuple(row for row in self.rows if row.column == "all")

    def __repr__(self) -> str:
        return shown_as_text([questions_table(self)], questions_in_words(self))

    def _repr_html_(self) -> str:
        return shown_as_html([questions_table(self)], questions_in_words(self))


class _Parts(NamedTuple):
    """One figure in every stratum: its estimate, the variance, and how many rows it is from."""

    estimates: FloatArray
    variances: FloatArray
    answers: IntArray


def estimate_questions(plan: Design, forms: Sequence[FormCounts]) -> QuestionnaireEstimation:
    """Estimate all questions from counts."""
    questionnaire = plan.inputs.questionnaire
    assert questionnaire is not None
    rows: list[QuestionEstimate] = []
    for question in questionnaire:
        for answer, parts in _figures(plan, question, forms):
            rows += _combined(plan, question.name, answer, parts)
    for names, answer, parts in _cross_tables(plan, forms):
        crossed = _combined(plan, " by ".join(names), answer, parts)
        rows += [replace(row, crossed=True) for row in crossed]
    answered = np.sum([form.answers for form in forms], axis=0)
    response = check_response(plan, answered)
    said = None if response is None else response.in_words
    return QuestionnaireEstimation(tuple(rows), plan.inputs.confidence, () if said is None else (said,))


def _figures(plan: Design, question: Question, forms: Sequence[FormCounts]) -> Iterator[tuple[str, _Parts]]:
    """Estimate the figures of one question in every stratum, from all forms that it is on."""
    on = [
        (t, form.answers, table.about(question.name))
        for t, form in enumerate(forms)
        for table in form.tables
        if question.name in table.questions
    ]
    total = np.sum([answers for _, answers, _ in on], axis=0)
    weights = [answers / total for _, answers, _ in on]
    if question.kind in ("scale", "number"):
        each = [_mean(plan, question, t, answers, table) for t, answers, table in on]
        yield "mean", _joined(each, weights, total)
        return
    names = question.of_kind.cases(question) or ("no", "yes")
    for place, name in enumerate(names):
        if question.kind == "yes_no" and name == "no":
            continue
        each = [_share(plan, t, answers, table, place) for t, answers, table in on]
        yield name, _joined(each, weights, total)


def _joined(
    each: Sequence[tuple[FloatArray, FloatArray]], weights: Sequence[FloatArray], total: IntArray
) -> _Parts:
    estimates = np.sum([w * part[0] for w, part in zip(weights, each, strict=True)], axis=0)
    variances = np.sum([w**2 * part[1] for w, part in zip(weights, each, strict=True)], axis=0)
    return _Parts(estimates, np.maximum(variances, 0.0), total)


def _stretches(plan: Design, t: int) -> FloatArray:
    """Return r = K/y of a form in every stratum, with the odds that rows were really replaced with."""
    cells = plan.forms[t].cells
    if plan.inputs.device_epsilon is not None:
        return np.full(len(plan.strata), cells / float(odds_in(plan, 0)))
    return np.array([cells / float(odds_in(plan, i)) for i in range(len(plan.strata))])


def _share(
    plan: Design, t: int, answers: IntArray, table: TableCounts, place: int
) -> tuple[FloatArray, FloatArray]:
    """Return the share of one level (or of one combination), and its variance."""
    assert table.counts is not None
    r, m, N = _stretches(plan, t), answers.astype(float), plan.strata.sizes
    k = table.counts.shape[1]
    reported = table.counts[:, place] / m
    share = (reported - r / (1.0 + r) / k) * (1.0 + r)
    inside = np.clip(reported, 0.0, 1.0)
    seen = inside * (1.0 - inside) / np.maximum(m - 1.0, 1.0)
    office = (1.0 + r) ** 2 * (1.0 - 1.0 / k) * table.noise / m**2
    variance = (1.0 + r) ** 2 * seen + office
    if plan.inputs.finite_population:
        true = np.clip(share, 0.0, 1.0)
        variance = variance - true * (1.0 - true) / N
    return share, np.maximum(variance, office)


def _mean(
    plan: Design, question: Question, t: int, answers: IntArray, table: TableCounts
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of a scale or number in its own units, and its variance."""
    r, m, N = _stretches(plan, t), answers.astype(float), plan.strata.sizes
    levels = table.levels[0]
    at = np.arange(levels) / (levels - 1.0)
    if table.counts is not None:
        reported = table.counts @ at / m
        squares = np.clip(table.counts @ at**2 / m - reported**2, 0.0, 0.25)
        seen = squares / np.maximum(m - 1.0, 1.0)
        office = table.noise * ((at - at.mean()) ** 2).sum()
    else:
        assert table.sums is not None
        reported = table.sums / (levels - 1.0) / m
        seen = _planned(plan, question, levels, r) / (1.0 + r) ** 2 / m
        office = table.noise / (levels - 1.0) ** 2
    share = (reported - 0.5) * (1.0 + r) + 0.5
    variance = (1.0 + r) ** 2 * (seen + office / m**2)
    if plan.inputs.finite_population:
        variance = variance - _spread(plan, question) / N
    lower = question.lower or 0.0
    least = (1.0 + r) ** 2 * office / m**2
    return lower + question.range * share, question.range**2 * np.maximum(variance, least)


def _planned(plan: Design, question: Question, levels: int, r: FloatArray) -> FloatArray:
    """Variance of one answer as the design planned it: a sum shows no spread."""
    assert plan.inputs.questionnaire is not None
    place = [each.name for each in plan.inputs.questionnaire].index(question.name)
    return plan.inputs.spreads_in(plan.strata).in_row(place, levels).at(r)


def _spread(plan: Design, question: Question) -> FloatArray:
    assert plan.inputs.questionnaire is not None
    place = [each.name for each in plan.inputs.questionnaire].index(question.name)
    return np.asarray(plan.inputs.spreads_in(plan.strata).variances[:, place])


def _cross_tables(plan: Design, forms: Sequence[FormCounts]) -> Iterator[tuple[tuple[str, ...], str, _Parts]]:
    """Estimate the shares of all combinations of questions that are kept together."""
    questionnaire = plan.inputs.questionnaire
    assert questionnaire is not None
    named = {question.name: question for question in questionnaire}
    groups: dict[str, list[str]] = {}
    for question in questionnaire:
        if question.together is not None:
            groups.setdefault(question.together, []).append(question.name)
    for names in groups.values():
        for t, form in enumerate(forms):
            for table in form.tables:
                if set(names) <= set(table.questions) and table.counts is not None:
                    joint = _only(table, names)
                    for place in range(joint.counts.shape[1] if joint.counts is not None else 0):
                        parts = np.unravel_index(place, joint.levels)
                        answer = " and ".join(
                            str(named[name].of_kind.answer_at(named[name], int(at), levels))
                            for name, at, levels in zip(joint.questions, parts, joint.levels, strict=True)
                        )
                        share, variance = _share(plan, t, form.answers, joint, place)
                        yield tuple(joint.questions), answer, _Parts(share, variance, form.answers)


def _only(table: TableCounts, names: Sequence[str]) -> TableCounts:
    """Add a table of combinations up over all questions but these."""
    assert table.counts is not None
    kept = [i for i, name in enumerate(table.questions) if name in names]
    others = tuple(axis + 1 for axis in range(len(table.levels)) if axis not in kept)
    counts = table.counts.reshape(len(table.counts), *table.levels).sum(axis=others)
    levels = tuple(table.levels[i] for i in kept)
    number = int(np.prod(table.levels)) // int(np.prod(levels))
    questions = tuple(table.questions[i] for i in kept)
    return TableCounts(questions, levels, counts.reshape(len(counts), -1), None, table.noise * number)


def _combined(plan: Design, question: str, answer: str, parts: _Parts) -> Iterator[QuestionEstimate]:
    """Put strata together to the whole, the domains and themselves."""
    sizes, names = plan.strata.sizes, plan.strata.names
    z = plan.inputs.z

    def groups(column: str, labels: Sequence[str], codes: IntArray) -> Iterator[QuestionEstimate]:
        def added(values: FloatArray | IntArray) -> FloatArray:
            return np.bincount(codes, weights=values, minlength=len(labels)).astype(float)

        weight = sizes / added(sizes)[codes]
        estimates, errors = added(weight * parts.estimates), np.sqrt(added(weight**2 * parts.variances))
        people = added(parts.answers).astype(int).tolist()
        for label, estimate, error, number in zip(
            labels, estimates.tolist(), errors.tolist(), people, strict=True
        ):
            ends = estimate - z * error, estimate + z * error
            yield QuestionEstimate(question, answer, column, label, estimate, error, *ends, number)

    whole, *domains = find_partitions(plan.strata, plan.inputs)
    yield from groups("all", ["all"], whole.codes)
    for part in domains:
        yield from groups(part.column or "all", part.groups, part.codes)
    yield from groups("stratum", names, np.arange(len(names)))
