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
from typing import NamedTuple, cast

import numpy as np

from dpstrata.allocation.rows_on_forms import RowsOnForms
from dpstrata.designs.record import Design
from dpstrata.errors import InputError
from dpstrata.fielding.answer_files import places, read_position
from dpstrata.fielding.intervals.means import Means
from dpstrata.fielding.intervals.of_design import limits_over_forms
from dpstrata.fielding.intervals.shares import Reports
from dpstrata.fielding.randomizers import randomizer_of
from dpstrata.fielding.randomizers.alone import AloneRandomizer
from dpstrata.fielding.randomizers.form import FormRandomizer, office_budgets
from dpstrata.fielding.randomizers.tables import FormTable
from dpstrata.fielding.results.figures import Figure, NumberReports
from dpstrata.numerics.arrays import FloatArray, IntArray, read_only
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
        Where answers or levels are added up instead: that sum, in shares of the range.
    squares : array or None
        The sum of the squares of the same, where all reports are known.
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
    squares: FloatArray | None = None

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
    plan: Design,
    strata: Sequence[str],
    forms: Sequence[str],
    cells: Sequence[str],
    times: Sequence[int] | None = None,
) -> list[TableCounts]:
    """Count published reports: one table of all questions of each form.

    ``times`` says how often each of them was published, where that was counted already.
    """
    at = places(plan, list(strata))
    which = np.array([_whole(form, 1, len(plan.forms)) - 1 for form in forms], dtype=np.int64)
    often = np.ones(len(which)) if times is None else np.array(times, dtype=float)
    found = []
    for t in range(len(plan.forms)):
        rows = np.flatnonzero(which == t)
        randomizer = randomizer_of(plan, t + 1)
        assert isinstance(randomizer, FormRandomizer)
        most = [randomizer.cells_in(stratum) for stratum in range(len(plan.strata))]
        cell = [_whole(cells[i], 0, most[at[i]] - 1) for i in rows.tolist()]
        counts = np.zeros((len(plan.strata), max(most)))
        np.add.at(counts, (at[rows], np.array(cell, dtype=np.int64)), often[rows])
        found.append(_counted(plan, t, counts))
    return found


def _counted(plan: Design, t: int, counts: FloatArray) -> TableCounts:
    """Take the counts of all cells of a form; those of a number by itself are read and added up."""
    form, randomizer = plan.forms[t], randomizer_of(plan, t + 1)
    answers = counts.sum(axis=1).astype(np.int64)
    _require_dealt(plan, t, answers)
    nothing = np.zeros(len(plan.strata))
    if not isinstance(randomizer, AloneRandomizer):
        return TableCounts(t, answers, form.questions, form.levels, counts, None, nothing)
    sums, squares = np.zeros((2, len(counts)))
    for stratum, row in enumerate(counts):
        noise = randomizer.noise_in(stratum)
        read = noise.shares(np.arange(noise.cells))
        sums[stratum] = row[: noise.cells] @ read
        squares[stratum] = row[: noise.cells] @ read**2
    return TableCounts(t, answers, form.questions, form.levels, None, sums, nothing, squares)


def _whole(cell: object, least: int, most: int) -> int:
    number = read_position(str(cell))
    if number is None or not least <= number <= most:
        raise InputError("published rows must be those of this design, got other forms or cells.")
    return number


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
    for t in range(len(plan.forms)):
        given = np.array([answers[name, t + 1] for name in names], dtype=np.int64)
        _require_dealt(plan, t, given)
        randomizer = randomizer_of(plan, t + 1)
        assert isinstance(randomizer, FormRandomizer)
        for table in randomizer.tables:
            numbers = np.array(
                [[values[name, t + 1, table.label, e] for e in table.entries] for name in names]
            )
            found.append(table_counts(plan, t, table, numbers, given))
    return found


def table_counts(
    plan: Design, t: int, table: FormTable, numbers: FloatArray, answers: IntArray
) -> TableCounts:
    """Put counts on their known total, which takes a part of the noise off; that of yes gives that of no."""
    names, levels = table.table.questions, table.levels
    noise = table.variance(office_budgets(plan)[:, t])
    if not table.counted:
        sums = table.in_shares(numbers[:, 0], answers)
        return TableCounts(t, answers, names, levels, None, sums, noise)
    if len(table.entries) == 1:  # as if both had been counted, each with noise of its own
        both = np.stack([answers - numbers[:, 0], numbers[:, 0]], axis=1)
        return TableCounts(t, answers, names, levels, both, None, 2.0 * noise)
    counts = numbers - (numbers.sum(axis=1) - answers)[:, None] / numbers.shape[1]
    return TableCounts(t, answers, names, levels, counts, None, noise)


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
    reports: NumberReports | None = None
    """Of a mean whose levels were counted: how far apart they are."""


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
    shown = _shown_by_levels if table.counts is not None else _shown_by_reports
    if table.counts is None and table.squares is None:
        shown = _planned
    mean = shown(plan, question, table)
    m = np.maximum(table.answers, 1.0)
    noise = np.maximum(mean.variance + mean.office - mean.spread / m, 0.0)
    return OnForm(
        table.form,
        (question.lower or 0.0) + question.range * mean.share,
        question.range**2 * (mean.variance + mean.office),
        table.answers,
        Means(mean.share, m, np.ones(len(m)), mean.spread, noise),
        question.range**2 * np.maximum(noise - mean.office, 0.0),
        question.range**2 * mean.office,
        spread=question.range**2 * mean.spread,
        reports=mean.reports,
    )


def _reports_on(question: Question, table: TableCounts, r: FloatArray) -> NumberReports:
    """Say how far apart the levels are that were reported on a form, as if none were replaced."""
    assert table.counts is not None
    m, levels = np.maximum(table.answers, 1.0), table.levels[0]
    at = np.arange(levels) / (levels - 1.0)
    freedom, stretched = np.maximum(table.answers - 1.0, 0.0), 1.0 + r
    off = (at - (table.counts @ at / m)[:, None]) * stretched[:, None]
    squares, fourths = ((table.counts * off**power).sum(axis=1) for power in (2, 4))
    others = np.maximum(freedom, 1.0)
    level = ((at - 0.5) ** 2).mean()
    return NumberReports(
        freedom=freedom,
        variances=np.maximum(squares, 0.0) / others,
        fourths=np.maximum(fourths, 0.0),
        squares=np.maximum(squares, 0.0) ** 2 / m,
        stretch=r,
        constant=r * stretched * level,
        rounding=np.full(len(m), largest_rounding(levels) if question.is_rounded(levels) else 0.0),
        office=table.noise * (off**4).sum(axis=1) / others**2,
        two_levels=levels == 2,
    )


class _Mean(NamedTuple):
    """A mean on a form, in shares of the range.

    Attributes
    ----------
    share : array
        The mean.
    variance, office : array
        Its variance without the office's noise, and that of this noise.
    spread : array
        What is known to be spread of true answers, and not of rounding.
    reports : NumberReports or None
        How far apart the reports are, where that is shown.
    """

    share: FloatArray
    variance: FloatArray
    office: FloatArray
    spread: FloatArray
    reports: NumberReports | None = None


def _shown_by_levels(plan: Design, question: Question, table: TableCounts) -> _Mean:
    """Take a mean from the counts of its levels."""
    assert table.counts is not None
    r, m, levels = stretches(plan, table.form), np.maximum(table.answers, 1.0), table.levels[0]
    at = np.arange(levels) / (levels - 1.0)
    reported, level = table.counts @ at / m, ((at - 0.5) ** 2).mean()
    squares = np.clip(table.counts @ at**2 / m - reported**2, r / (1.0 + r) * level, 0.25)
    seen = (1.0 + r) ** 2 * squares / np.maximum(m - 1.0, 1.0)
    share = (reported - 0.5) * (1.0 + r) + 0.5
    # as much of it may be rounding, of which asking everyone takes nothing
    spread = _spread_shown(seen * m, share, r, level)
    spread = np.maximum(spread - (largest_rounding(levels) if question.is_rounded(levels) else 0.0), 0.0)
    office = (1.0 + r) ** 2 * table.noise * ((at - at.mean()) ** 2).sum() / m**2
    return _Mean(share, seen, office, spread, _reports_on(question, table, r))


def _shown_by_reports(plan: Design, question: Question, table: TableCounts) -> _Mean:
    """Take a mean from all reports of a mechanism of its own, whose noise is known."""
    assert table.sums is not None
    assert table.squares is not None
    m = np.maximum(table.answers, 1.0)
    share = table.sums / m
    noise = _answer_variance(plan, question, table.form) - plan.spreads.variances[:, _place(plan, question)]
    freedom, nothing = np.maximum(m - 1.0, 1.0), np.zeros(len(m))
    variances = np.maximum(table.squares - m * share**2, 0.0) / freedom
    spread = np.minimum(
        np.maximum(variances - noise, 0.0), question.of_kind.largest(question, plan.strata.sizes)
    )
    reports = NumberReports(
        freedom=np.where(table.answers > 1, freedom, 0.0),
        variances=variances,
        fourths=nothing,
        squares=nothing,
        stretch=nothing,
        constant=noise,
        rounding=nothing,
        office=nothing,
    )
    return _Mean(share, (spread + noise) / m, nothing, spread, reports)


def _planned(plan: Design, question: Question, table: TableCounts) -> _Mean:
    """Take a mean from a sum, which shows no spread: that of the design counts."""
    assert table.sums is not None
    r, m = stretches(plan, table.form), np.maximum(table.answers, 1.0)
    place, rows = _place(plan, question), plan.forms[table.form].cells > 0
    spreads = plan.spreads
    if rows:
        (levels,) = table.levels
        one = spreads.in_row(place, levels).at(r)
        spread = spreads.variances[:, place] - spreads.rounding(place, levels)
    else:
        one, spread = _answer_variance(plan, question, table.form), spreads.variances[:, place]
    share = (table.sums / m - 0.5) * (1.0 + r) + 0.5
    return _Mean(share, one / m, (1.0 + r) ** 2 * table.noise / m**2, spread)


def _answer_variance(plan: Design, question: Question, t: int) -> FloatArray:
    """Return the variance of one answer on a form as the design knows it, in squared ranges."""
    forms = cast(RowsOnForms, plan.problem.forms)
    entry = np.flatnonzero((forms.question == _place(plan, question)) & (forms.form == t))[0]
    return np.asarray(forms.answer_variances(plan.local_epsilons)[:, entry])


def _spread_shown(variance: FloatArray, share: FloatArray, r: FloatArray, level: float) -> FloatArray:
    r"""Take the noise of replaced rows off the variance of one answer, given the mean square of the levels.

    .. math:: \mathrm{variance} = S^2 + r (S^2 + x^2 + (1 + r) \mu_2), \qquad x = \mathrm{mean} - 1/2 .
    """
    x = np.clip(share, 0.0, 1.0) - 0.5
    return np.clip((variance - r * (x**2 + (1.0 + r) * level)) / (1.0 + r), 0.0, 0.25 - x**2)


def _place(plan: Design, question: Question) -> int:
    return [each.name for each in plan.inputs.questions].index(question.name)
