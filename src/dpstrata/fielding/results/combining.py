"""Strata put together: results for the whole, the domains and the strata themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dpstrata.allocation.domains import WHOLE
from dpstrata.designs.record import Design
from dpstrata.fielding.covariances import Errors, Origins
from dpstrata.fielding.intervals.tilt import Groups, Limits
from dpstrata.fielding.losses import check_response
from dpstrata.fielding.neighbours import find_stand_ins, named_stand_ins
from dpstrata.fielding.results.figures import Causes, QuestionFigures
from dpstrata.fielding.results.form_figures import TableCounts
from dpstrata.fielding.results.results import AboutQuestion, Results, Wave
from dpstrata.fielding.results.table import (
    IN_UNITS,
    TOTAL,
    Cells,
    Columns,
    borrowed_in,
    columns_of,
    groupings_of,
    reported,
    texts,
)
from dpstrata.numerics.arrays import FloatArray, IntArray


def combine(
    plan: Design,
    questions: Iterable[QuestionFigures],
    *,
    answered: IntArray,
    notes: Sequence[str] | None = None,
    counts: Sequence[TableCounts] = (),
    waves: Sequence[Wave] = (),
) -> Results:
    """Put what is known of every stratum together.

    Parameters
    ----------
    plan : Design
        The design.
    questions : iterable of QuestionFigures
        What is known of each question.
    answered : array of int
        How many people of every stratum answered anything.
    notes : sequence of str, optional
        What to know about all of it; by default, what the numbers of answers say about the promise.
    counts : sequence of TableCounts
        What was counted on the forms, from which ratios are estimated.
    waves : sequence of Wave
        The waves that it is from, if there are two.
    """
    return gather(
        plan,
        (_question_results(plan, each) for each in questions),
        answered=answered,
        notes=notes_on(plan, answered) if notes is None else notes,
        counts=counts,
        waves=waves,
    )


def gather(
    plan: Design,
    questions: Iterable[tuple[Columns, AboutQuestion]],
    *,
    answered: IntArray,
    notes: Sequence[str],
    counts: Sequence[TableCounts] = (),
    waves: Sequence[Wave] = (),
) -> Results:
    """Make one table of the results of all questions."""
    columns, about = zip(*questions, strict=True)
    origins = [
        Origins.of_question(place, len(each.errors[0].variances), len(rows.level), plan.strata.population)
        for place, (rows, each) in enumerate(zip(columns, about, strict=True))
    ]
    table = Columns.joined(columns)
    if plan.inputs.clip:  # another quantity than the mean of all answers
        said = (filter(None, (note, plan.inputs.mean_in_words)) for note in table.notes)
        table = table._replace(notes=texts(map("; ".join, said)))
    return Results(
        design=plan,
        columns=table,
        questions={str(rows.question[0]): each for rows, each in zip(columns, about, strict=True)},
        origins=Origins.joined(origins),
        answered=answered,
        notes=tuple(notes),
        counts=tuple(counts),
        waves=tuple(waves),
    )


def notes_on(plan: Design, answered: IntArray) -> list[str]:
    """Say what was clipped, and what the numbers of answers say about the promise."""
    response = check_response(plan, answered)
    said = (plan.inputs.unlimited_in_words, None if response is None else response.in_words)
    return [each for each in said if each is not None]


def _question_results(plan: Design, known: QuestionFigures) -> tuple[Columns, AboutQuestion]:
    """Put the strata together for all figures of a question."""
    figures, answered = known.figures, known.figures[0].answered
    stand_ins = find_stand_ins(plan, answered)
    places, each_groups = zip(*reported(plan, stand_ins), strict=True)
    groups = Groups.joined(each_groups, len(plan.strata))
    limits = [figure.limits(groups) for figure in figures]

    def add(name: str, power: int) -> FloatArray:
        values = (getattr(figure, name) for figure in figures)
        return np.stack([groups.add(groups.weights**power * each[groups.at]) for each in values])

    names = plan.strata.names
    estimates, variances = add("estimates", 1), add("variances", 2)
    borrowed = borrowed_in(plan, places, answered)
    columns = columns_of(
        known.question,
        [figure.level for figure in figures],
        groupings_of(places, stand_ins, invited=figures[0].invited, answered=answered, doubts=known.doubts),
        Cells(
            estimates=estimates,
            errors=np.sqrt(variances),
            limits=Limits(*map(np.stack, zip(*limits, strict=True))),
            largest_biases=np.stack([figure.limits.within[1] * borrowed for figure in figures]),
        ),
    )
    return with_total(columns, plan.strata.population), AboutQuestion(
        known=known,
        causes=_causes(*(add(name, 2)[:, 0] for name in ("variances", "device", "office")))
        if known.splits
        else None,
        stand_ins=named_stand_ins(plan, stand_ins),
        doubts={
            words: tuple(names[i] for i in np.flatnonzero(strata).tolist())
            for words, strata in known.doubts.items()
            if strata.any()
        },
        errors=(Errors(each_groups, np.stack([figure.variances for figure in figures]), known.together),),
    )


def with_total(columns: Columns, population: int) -> Columns:
    """Put the population totals after the figures of the whole, which come first."""
    whole = columns.at(columns.column == WHOLE)
    total = whole._replace(
        column=texts([TOTAL] * len(whole.column)),
        **{name: getattr(whole, name) * population for name in IN_UNITS},
    )
    return Columns.joined([whole, total, columns.at(columns.column != WHOLE)])


def _causes(variances: FloatArray, device: FloatArray, office: FloatArray) -> Causes:
    """Split the variance for the whole population by cause: of several shares half the sum."""
    each = [
        Causes.of(variance, max(of_device, 0.0), of_office)
        for variance, of_device, of_office in zip(
            variances.tolist(), device.tolist(), office.tolist(), strict=True
        )
    ]
    factor = 0.5 if len(each) > 1 else 1.0
    return Causes(*(factor * sum(values) for values in zip(*each, strict=True)))
