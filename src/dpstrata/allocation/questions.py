"""From a questionnaire on chosen forms to what the solvers see: entries of questions on forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpstrata.allocation.rows_on_forms import RowsOnForms
from dpstrata.allocation.turnout import fewest_for_two_answers
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.mechanisms.registry import get_mechanism
from dpstrata.survey.forms import FormPlan, Table
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.questionnaires.questionnaire import Questionnaire
from dpstrata.survey.questionnaires.spreads import Spreads
from dpstrata.survey.strata import Strata


def rows_on_forms(inputs: Inputs, strata: Strata, spreads: Spreads) -> RowsOnForms:
    """State what the chosen forms of a questionnaire make of the term of every stratum."""
    questionnaire = inputs.questions
    forms = inputs.chosen_forms
    place = {question.name: j for j, question in enumerate(questionnaire)}
    entries = [
        (place[name], t, levels)
        for t, form in enumerate(forms)
        for name, levels in zip(form.questions, form.levels, strict=True)
    ]
    question, form_of = (np.array([entry[part] for entry in entries], dtype=np.int64) for part in (0, 1))
    shares = np.array([form.share for form in forms])
    curves = [spreads.in_row(j, levels) for j, _, levels in entries]
    k = len(strata)
    tables = [table_noise(questionnaire, forms[t], j, levels) for j, t, levels in entries]
    return RowsOnForms(
        fitted=get_mechanism(inputs.mechanism, inputs.space),
        importances=importances(questionnaire),
        ranges=np.array([question.range for question in questionnaire]),
        spreads=spreads.variances,
        rounding=_largest_rounding(spreads, entries),
        question=question,
        form=form_of,
        weights=shares[form_of] / np.bincount(question, weights=shares[form_of])[question],
        constant=_columns([curve.constant for curve in curves], k),
        linear=_columns([curve.linear for curve in curves], k),
        square=_columns([curve.square for curve in curves], k),
        cells=np.array([float(form.cells) for form in forms]),
        shares=shares,
        factors=np.array([factor for factor, _ in tables]),
        sensitivities=np.array([sensitivity for _, sensitivity in tables]),
        fewest=fewest_per_form(strata, len(forms)),
        dealt_by_shares=inputs.asks_by_question,
        device_epsilon=inputs.device_epsilon,
    )


def importances(questionnaire: Questionnaire) -> FloatArray:
    """W of every question; they add up to 1."""
    given = np.array([question.importance for question in questionnaire])
    return np.asarray(given / given.sum())


def table_noise(questionnaire: Questionnaire, form: FormPlan, place: int, levels: int) -> tuple[float, float]:
    """Return g and q of a question on a form: how the office's noise on its table enters the variance."""
    question = questionnaire[place]
    table = next((each for each in form.tables if question.name in each.questions), None)
    if table is None:  # rows are published
        return 0.0, 1.0
    return noise_in_table(questionnaire, place, levels, _cells(form, table), table.budget)


def noise_in_table(
    questionnaire: Questionnaire, place: int, levels: int, cells: int | None, budget: float
) -> tuple[float, float]:
    """Return g and q where a table has a share of the budget; ``cells`` where it is one of combinations."""
    factor, sensitivity = questionnaire[place].of_kind.in_table(levels, cells)
    return factor, sensitivity / budget


def _cells(form: FormPlan, table: Table) -> int | None:
    return form.cells_of(table) if len(table.questions) > 1 else None


def _largest_rounding(spreads: Spreads, entries: Sequence[tuple[int, int, int]]) -> FloatArray:
    """Return how much of each spread may be rounding: on several forms, on that with the fewest levels."""
    found = np.zeros_like(spreads.variances)
    for j, _, levels in entries:
        found[:, j] = np.maximum(found[:, j], spreads.rounding(j, levels))
    return found


def _columns(values: list[FloatArray], rows: int) -> FloatArray:
    return np.stack([np.broadcast_to(value, rows) for value in values], axis=1)


def fewest_per_form(strata: Strata, forms: int) -> IntArray:
    """Return how many people of a stratum each form needs at least: two answers, nearly for certain.

    Where not everyone answers, so many that the chance of fewer than two answers on any form of any stratum
    is at most 1%.
    """
    rates = strata.response_rates
    if rates is None or bool(np.all(rates == 1.0)):
        return np.full(len(strata), 2, dtype=np.int64)
    return fewest_for_two_answers(strata.sizes, rates, places=len(strata) * forms)
