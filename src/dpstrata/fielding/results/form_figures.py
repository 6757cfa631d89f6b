r"""Single figures of a questionnaire, a share or a mean: on a form, in a stratum, and over strata.

A level that is reported with share :math:`\lambda` among m rows of a form has the true share
:math:`(\lambda - \rho/k)(1 + r)`, without bias. Nothing is clipped, so that shares add up to one and strata
add up to the whole. The variance is that of the reported share, stretched, with the finite population
correction on the part that is due to sampling, and the office's noise:

.. math:: (1 + r)^2 \left(\frac{\lambda (1 - \lambda)}{m - 1} + \frac{v}{m^2}\right) - \frac{p (1 - p)}{N} .
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import places
from dpstrata.fielding.intervals.means import Means
from dpstrata.fielding.intervals.of_design import limits_over_forms
from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.randomizers.row import office_budgets, sensitivity, table_entries, table_label
from dpstrata.fielding.results.figures import Figure
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
from dpstrata.privacy.mechanisms.kernels import point, s
from dpstrata.privacy.rows import DENOMINATOR, largest_rounding, odds_below
from dpstrata.survey.questionnaires.question import Question


class TableCounts(NamedTuple):
    """One table of a form, in all strata.

    Attributes
    ----------
    form : int
        The position of the form.
    answers : array of int
        How many people of each stratum answered on it.
    questions : tuple of str
        What it is about.
    levels : tuple of int
        The levels of each.
    counts : array or None
        How often each combination was reported, strata in rows; with noise they may be below zero.
    sums : array or None
        Where it is the sum of the levels of a number instead: that sum.
    noise : array
        Variance of the office's noise of each count, before they are put on their known total, or of the sum.
    """

    form: int
    answers: IntArray
    questions: tuple[str, ...]
    levels: tuple[int, ...]
    counts: FloatArray | None
    sums: FloatArray | None
    noise: FloatArray

    def about(self, *questions: str) -> TableCounts:
        """Add up over the other questions of a table of combinations."""
        if self.counts is None or set(questions) >= set(self.questions):
            return self
        kept = [i for i, name in enumerate(self.questions) if name in questions]
        others = tuple(axis + 1 for axis in range(len(self.levels)) if axis not in kept)
        levels = tuple(self.levels[i] for i in kept)
        counts = self.counts.reshape(len(self.counts), *self.levels).sum(axis=others)
        return self._replace(
            questions=tuple(self.questions[i] for i in kept),
            levels=levels,
            counts=counts.reshape(len(counts), -1),
            noise=self.noise * (math.prod(self.levels) // math.prod(levels)),
        )


def count_rows(
    plan: Design, strata: Sequence[str], forms: Sequence[str], cells: Sequence[str]
) -> list[TableCounts]:
    """Count published rows: one table of all questions of each form."""
    at = places(plan, list(strata))
    designed = plan.forms
    numbers = [_whole(form, 1, len(designed)) - 1 for form in forms]
    found = []
    for t, form in enumerate(designed):
        rows = [i for i, number in enumerate(numbers) if number == t]
        counts = np.zeros((len(plan.strata), form.cells))
        for i in rows:
            counts[at[i], _whole(cells[i], 0, form.cells - 1)] += 1
        answers = counts.sum(axis=1).astype(np.int64)
        _require_dealt(plan, t, answers)
        nothing = np.zeros(len(plan.strata))
        found.append(TableCounts(t, answers, form.questions, form.levels, counts, None, nothing))
    return found


def _whole(text: Any, least: int, most: int) -> int:
    if str(text).isdecimal() and least <= int(text) <= most:
        return int(text)
    raise InputError("published rows must be those of this design, got other forms or cells.")


def _require_dealt(plan: Design, t: int, answers: IntArray) -> None:
    if np.any(answers < 0) or np.any(answers > plan.forms[t].sample_sizes):
        raise InputError(
            f"every stratum must have at most one answer on form {t + 1} for each person who was dealt it."
        )


def published_counts(
    plan: Design, values: Mapping[tuple[str, int, str, str], float], answers: Mapping[tuple[str, int], int]
) -> list[TableCounts]:
    """Read noised tables.

    Parameters
    ----------
    plan : Design
        A design that publishes tables.
    values : mapping
        By stratum, number of the form, table and entry.
    answers : mapping
        How many people answered, by stratum and number of the form.
    """
    found = []
    names = plan.strata.names
    for t, form in enumerate(plan.forms):
        given = np.array([answers[name, t + 1] for name in names], dtype=np.int64)
        _require_dealt(plan, t, given)
        for table in form.tables:
            entries = table_entries(plan, t, table.questions)
            label = table_label(table.questions)
            counts = np.array([[values[name, t + 1, label, entry] for entry in entries] for name in names])
            found.append(_table_counts(plan, t, table.questions, table.budget, counts, given))
    return found


def _table_counts(
    plan: Design, t: int, questions: tuple[str, ...], share: float, counts: FloatArray, answers: IntArray
) -> TableCounts:
    """Put counts on their known total, which takes a part of the noise off; that of yes gives that of no."""
    form = plan.forms[t]
    levels = tuple(form.levels[form.questions.index(name)] for name in questions)
    budgets = office_budgets(plan)[:, t] * share
    moved = sensitivity(plan, t, questions)
    finite = np.where(np.isinf(budgets), 1.0, budgets)
    noise = np.where(np.isinf(budgets), 0.0, s(point(finite / moved)))
    cells = math.prod(levels)
    if counts.shape[1] == cells:
        counts = counts - (counts.sum(axis=1) - answers)[:, None] / cells
        return TableCounts(t, answers, questions, levels, counts, None, noise)
    if levels == (2,):  # as if both had been counted, each with noise of its own
        yes = counts[:, 0]
        both = np.stack([answers - yes, yes], axis=1)
        return TableCounts(t, answers, questions, levels, both, None, 2.0 * noise)
    return TableCounts(t, answers, questions, levels, None, counts[:, 0], noise)


class OnForm(NamedTuple):
    """One figure on one form: estimates of all strata, and variances as if these were endless."""

    form: int
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
    plan: Design,
    level: str,
    parts: Sequence[OnForm],
    *,
    question: Question | None = None,
    together: int = 1,
) -> Figure:
    """Join a figure of several forms, whose people are one sample drawn without replacement.

    The spread of a share follows from it. So many shares are to lie in their intervals together.
    """
    total = np.sum([part.answers for part in parts], axis=0)
    weights = weights_of(parts)
    limits = limits_over_forms(
        plan,
        [part.known for part in parts],
        weights,
        total,
        together=together,
        within=(0.0, 1.0) if question is None else (question.lower or 0.0, question.range),
    )

    def add(name: str, power: int) -> FloatArray:
        pairs = zip(weights, parts, strict=True)
        return np.asarray(np.sum([w**power * getattr(part, name) for w, part in pairs], axis=0))

    estimates, variances = add("estimates", 1), add("variances", 2)
    if plan.inputs.finite_population:
        N = plan.strata.sizes
        true = np.clip(estimates, 0.0, 1.0)
        spread = true * (1.0 - true) * (N / np.maximum(N - 1.0, 1.0))
        variances = variances - (spread if question is None else add("spread", 1)) / N
    return Figure(
        level=level,
        estimates=estimates,
        variances=np.maximum(variances, 0.0),
        device=add("device", 2),
        office=add("office", 2),
        invited=np.sum([plan.forms[part.form].sample_sizes for part in parts], axis=0),
        answered=total,
        limits=limits,
    )


def weights_of(parts: Sequence[OnForm]) -> list[FloatArray]:
    """Return the share of the answers of every stratum that each form has."""
    total = np.sum([part.answers for part in parts], axis=0)
    return [part.answers / np.maximum(total, 1) for part in parts]


def stretches(plan: Design, t: int) -> FloatArray:
    """Return r = K/y of a form in every stratum, with the odds that rows were really replaced with."""
    device = plan.inputs.device_epsilon
    budgets = plan.local_epsilons if device is None else np.full(len(plan.strata), device)
    return plan.forms[t].cells / _odds(budgets.tobytes())


@lru_cache(maxsize=16)  # every figure asks for them
def _odds(budgets: bytes) -> FloatArray:
    return read_only(np.array([odds_below(e) / DENOMINATOR for e in np.frombuffer(budgets).tolist()]))


def share_on(plan: Design, table: TableCounts, place: int) -> OnForm:
    """Return the share of one level (or of one combination), and its variance."""
    assert table.counts is not None
    answers = table.answers
    r, m, k = stretches(plan, table.form), np.maximum(answers, 1.0), table.counts.shape[1]
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
    variances = (1.0 + r) ** 2 * seen + of_office
    return OnForm(table.form, shares, variances, answers, known, device / m, of_office, k)


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


def mean_on(plan: Design, question: Question, table: TableCounts) -> OnForm:
    """Return the mean of a scale or number in its own units, and its variance."""
    r, m = stretches(plan, table.form), np.maximum(table.answers, 1.0)
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
        table.form,
        (question.lower or 0.0) + question.range * share,
        question.range**2 * variance,
        table.answers,
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
