r"""Estimates of a questionnaire: the share of every category, the means of scales and numbers, cross-tables.

A level that is reported with share :math:`\lambda` among m rows of a form has the true share
:math:`(\lambda - \rho/k)(1 + r)`, without bias. Nothing is clipped, so that shares add up to one and strata
add up to the whole. The variance is that of the reported share, stretched, with the finite population
correction on the part that is due to sampling, and the office's noise:

.. math:: (1 + r)^2 \left(\frac{\lambda (1 - \lambda)}{m - 1} + \frac{v}{m^2}\right) - \frac{p (1 - p)}{N} .
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.fielding.estimators import added, with_limits
from dpstrata.fielding.intervals.means import Means
from dpstrata.fielding.intervals.of_design import limits_over_forms
from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.intervals.tilt import FindLimits
from dpstrata.fielding.neighbours import StandIn, find_stand_ins, named_stand_ins
from dpstrata.fielding.questionnaires.counts import FormCounts, TableCounts
from dpstrata.fielding.questionnaires.rows import odds_in
from dpstrata.fielding.response import check_response
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.survey.questionnaires.question import Question
from dpstrata.words.question_estimates import few_answers, questions_in_words, questions_table
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
        Interval at the design's confidence, which holds for all answers to the question together; never
        outside what can be.
    answers : int
        How many rows it is from.
    crossed : bool
        Whether it is a combination of answers to several questions.
    taken_from : str
        Of a stratum in which nobody answered the question: the one whose result it takes.
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
    stand_ins : mapping of str to (tuple of StandIn, float)
        By question, if nobody answered it in some strata: these, and the range of the answers.
    """

    rows: tuple[QuestionEstimate, ...]
    confidence: float
    notes: tuple[str, ...] = ()
    stand_ins: Mapping[str, tuple[tuple[StandIn, ...], float]] = field(default_factory=dict)

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
    limits: FindLimits


def estimate_questions(plan: Design, forms: Sequence[FormCounts]) -> QuestionnaireEstimation:
    """Estimate all questions from counts."""
    questionnaire = plan.inputs.questionnaire
    assert questionnaire is not None
    rows: list[QuestionEstimate] = []
    stand_ins = {}
    for question in questionnaire:
        for answer, parts in _figures(plan, question, forms):
            rows += _combined(plan, question.name, answer, parts)
        if not parts.answers.all():
            without = named_stand_ins(plan, find_stand_ins(plan, parts.answers))
            stand_ins[question.name] = without, question.range
    for names, answer, parts in _cross_tables(plan, forms):
        crossed = _combined(plan, " by ".join(names), answer, parts)
        rows += [replace(row, crossed=True) for row in crossed]
    response = check_response(plan, np.sum([form.answers for form in forms], axis=0))
    said = None if response is None else response.in_words
    notes = [*([] if said is None else [said]), *few_answers([form.answers for form in forms])]
    return QuestionnaireEstimation(tuple(rows), plan.inputs.confidence, tuple(notes), stand_ins)


class _OnForm(NamedTuple):
    """One figure on one form: estimates of all strata, and variances as if these were endless."""

    estimates: FloatArray
    variances: FloatArray
    answers: IntArray
    known: Reports | Means
    """The same for intervals, which take the strata to be finite where they are joined."""


def _figures(plan: Design, question: Question, forms: Sequence[FormCounts]) -> Iterator[tuple[str, _Parts]]:
    """Estimate the figures of one question in every stratum, from all forms that it is on."""
    on = [
        (t, form.answers, table.about(question.name))
        for t, form in enumerate(forms)
        for table in form.tables
        if question.name in table.questions
    ]
    if question.kind in ("scale", "number"):
        each = [_mean(plan, question, t, answers, table) for t, answers, table in on]
        yield "mean", _joined(plan, each, question=question)
        return
    cases = question.of_kind.cases(question) or ("no", "yes")
    shown = [place for place, name in enumerate(cases) if question.kind == "category" or name == "yes"]
    for place in shown:
        each = [_share(plan, t, answers, table, place) for t, answers, table in on]
        yield cases[place], _joined(plan, each, together=len(shown))


def _joined(
    plan: Design, each: Sequence[_OnForm], *, question: Question | None = None, together: int = 1
) -> _Parts:
    """Join a figure of several forms, whose people are one sample drawn without replacement.

    The spread of a share follows from it; that of the mean of a question is known from the design. So many
    shares are to lie in their intervals together.
    """
    total = np.sum([part.answers for part in each], axis=0)
    weights = [part.answers / np.maximum(total, 1) for part in each]
    spread = None if question is None else question.range**2 * _spread(plan, question)
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
        if spread is None:
            true = np.clip(estimates, 0.0, 1.0)
            spread = true * (1.0 - true) * (N / np.maximum(N - 1.0, 1.0))
        variances = variances - spread / N
    return _Parts(estimates, np.maximum(variances, 0.0), total, limits)


def _stretches(plan: Design, t: int) -> FloatArray:
    """Return r = K/y of a form in every stratum, with the odds that rows were really replaced with."""
    cells = plan.forms[t].cells
    if plan.inputs.device_epsilon is not None:
        return np.full(len(plan.strata), cells / float(odds_in(plan, 0)))
    return np.array([cells / float(odds_in(plan, i)) for i in range(len(plan.strata))])


def _share(plan: Design, t: int, answers: IntArray, table: TableCounts, place: int) -> _OnForm:
    """Return the share of one level (or of one combination), and its variance.

    What is reported is taken to be at least as random as replaced rows make it.
    """
    assert table.counts is not None
    r, m, k = _stretches(plan, t), np.maximum(answers, 1.0), table.counts.shape[1]
    least = r / (1.0 + r) / k
    reported = table.counts[:, place] / m
    inside = np.clip(reported, least, least + 1.0 / (1.0 + r))
    seen = inside * (1.0 - inside) / np.maximum(m - 1.0, 1.0)
    office = (1.0 - 1.0 / k) * table.noise
    known = Reports(table.counts[:, place], m, np.ones(len(m)), least, 1.0 / (1.0 + r), office)
    return _OnForm((reported - least) * (1.0 + r), (1.0 + r) ** 2 * (seen + office / m**2), answers, known)


def _mean(plan: Design, question: Question, t: int, answers: IntArray, table: TableCounts) -> _OnForm:
    """Return the mean of a scale or number in its own units, and its variance."""
    r, m = _stretches(plan, t), np.maximum(answers, 1.0)
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
    variance = (1.0 + r) ** 2 * (seen + office / m**2)
    spread = _spread(plan, question)
    if table.counts is not None:
        spread = _spread_shown((1.0 + r) ** 2 * seen * m, share, r, ((at - 0.5) ** 2).mean())
    noise = np.maximum(variance - spread / m, 0.0)
    return _OnForm(
        (question.lower or 0.0) + question.range * share,
        question.range**2 * variance,
        answers,
        Means(share, m, np.ones(len(m)), spread, noise),
    )


def _spread_shown(variance: FloatArray, share: FloatArray, r: FloatArray, level: float) -> FloatArray:
    r"""Take the noise of replaced rows off the variance of one answer, given the mean square of the levels.

    .. math:: \mathrm{variance} = S^2 + r (S^2 + x^2 + (1 + r) \mu_2), \qquad x = \mathrm{mean} - 1/2 .
    """
    x = np.clip(share, 0.0, 1.0) - 0.5
    return np.clip((variance - r * (x**2 + (1.0 + r) * level)) / (1.0 + r), 0.0, 0.25 - x**2)


def _planned(plan: Design, question: Question, levels: int, r: FloatArray) -> FloatArray:
    """Variance of one answer as the design planned it: a sum shows no spread."""
    return plan.inputs.spreads_in(plan.strata).in_row(_place(plan, question), levels).at(r)


def _spread(plan: Design, question: Question) -> FloatArray:
    return np.asarray(plan.inputs.spreads_in(plan.strata).variances[:, _place(plan, question)])


def _place(plan: Design, question: Question) -> int:
    assert plan.inputs.questionnaire is not None
    return [each.name for each in plan.inputs.questionnaire].index(question.name)


def _cross_tables(plan: Design, forms: Sequence[FormCounts]) -> Iterator[tuple[tuple[str, ...], str, _Parts]]:
    """Estimate the shares of all combinations of questions that are kept together, from all their forms."""
    questionnaire = plan.inputs.questionnaire
    assert questionnaire is not None
    for places in questionnaire.groups.values():
        questions = [questionnaire[place] for place in places]
        names = [question.name for question in questions]
        on = [
            (t, form.answers, _only(table, names))
            for t, form in enumerate(forms)
            for table in form.tables
            if set(names) <= set(table.questions) and table.counts is not None
        ]
        levels = {joint.levels for _, _, joint in on}
        if len(levels) != 1:  # numbers with other levels on other forms have no table in common
            continue
        (common,) = levels
        for place in range(int(np.prod(common))):
            answers = [
                str(question.of_kind.answer_at(question, int(at), number))
                for question, at, number in zip(
                    questions, np.unravel_index(place, common), common, strict=True
                )
            ]
            each = [_share(plan, t, given, joint, place) for t, given, joint in on]
            parts = _joined(plan, each, together=int(np.prod(common)))
            yield tuple(names), " and ".join(answers), parts


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
    stand_ins = find_stand_ins(plan, parts.answers)
    named = {each.stratum: each.neighbour for each in named_stand_ins(plan, stand_ins)}
    for place, groups, limits in with_limits(plan, stand_ins, parts.limits):
        figures = (
            groups.add(groups.weights * parts.estimates[groups.at]),
            np.sqrt(groups.add(groups.weights**2 * parts.variances[groups.at])),
            *limits,
            added(place.codes, groups.number, parts.answers),
        )
        instead = named if place.column == "stratum" else {}
        for label, *figure in zip(place.labels, *(each.tolist() for each in figures), strict=True):
            row = QuestionEstimate(question, answer, place.column, label, *figure)
            yield replace(row, taken_from=instead[label]) if label in instead else row
