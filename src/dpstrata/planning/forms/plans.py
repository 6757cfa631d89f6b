"""Choosing the forms of a questionnaire for a population: who is asked what, and what is published of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpstrata.allocation.form_items import forms_problem
from dpstrata.allocation.forms import Form, Forms, FormsProblem
from dpstrata.allocation.posing import most_forms
from dpstrata.allocation.proof.forms import certify_forms
from dpstrata.allocation.rows_on_forms import importances, noise_in_table
from dpstrata.designs.questions import forms_to_prove, variance_targets
from dpstrata.designs.record import Design
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.planning.forms.choose import choose_forms
from dpstrata.planning.forms.prices import bound_forms
from dpstrata.planning.forms.search import best_levels, best_partition
from dpstrata.privacy.mechanisms.kernels import point, s
from dpstrata.survey.forms import AUTO, ONE, FormPlan, Table, are_chosen, names_on, require_few_rows
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.questionnaires.questionnaire import Questionnaire
from dpstrata.survey.strata import Strata

_ROUNDS = 40  # of the search for the shares of a budget


def with_chosen_forms(strata: Strata, inputs: Inputs, sizes: IntArray | None = None) -> Inputs:
    """Choose what rows leave open: the forms, the levels of numbers, shares of people, and tables.

    There are no more forms than the strata and the number of people carry, or the ``sizes`` that are given.
    """
    if not inputs.rows or are_chosen(inputs.forms):
        return inputs
    _require_few_rows(inputs)
    typical = _Typical.of(strata, inputs)
    odds = np.full(len(strata), typical.odds)
    targets = variance_targets(inputs) if inputs.asks_by_question else None
    problem = forms_problem(inputs.spreads_in(strata), typical.weights, odds, targets)
    found = _search(problem, inputs, max(most_forms(inputs, strata, sizes), 1))
    plans = [_form_plan(problem, form, inputs, typical) for form in found.forms]
    return replace(inputs, forms=tuple(plans))


def _require_few_rows(inputs: Inputs) -> None:
    """Refuse questions that must be on one form, by what was asked for, and have too many rows together."""
    questionnaire = inputs.questions
    everyone = [question for question in questionnaire if question.everyone]
    groups = [[questionnaire[place] for place in group] for group in questionnaire.groups.values()]
    if inputs.forms == ONE:
        groups = [[question for question in questionnaire if not question.everyone]]
    groups += [
        [q for q in questionnaire if q.name in form and not q.everyone] for form in names_on(inputs.forms)
    ]
    for group in groups or [[]]:
        require_few_rows([*group, *everyone])


@dataclass(frozen=True, slots=True)
class _Typical:
    """A stratum like most others: what forms are chosen for.

    Attributes
    ----------
    weights : array
        What each stratum counts for, adding up to 1.
    odds : float
        y of the devices, or of rows at a typical sampling rate.
    office : float
        The office's budget at that rate.
    """

    weights: FloatArray
    odds: float
    office: float

    @classmethod
    def of(cls, strata: Strata, inputs: Inputs) -> _Typical:
        goal = inputs.total or inputs.at_most
        if goal is None and inputs.budget is not None and strata.costs is not None:
            goal = int(inputs.budget / float((strata.costs * strata.sizes).sum() / strata.population))
        rate = min((goal or 0.1 * strata.population) / strata.population, 1.0)
        odds = math.expm1(float(inputs.epsilon or 0.0)) / max(rate, 1.0 / strata.population)
        device = odds if inputs.device_epsilon is None else math.expm1(inputs.device_epsilon)
        return cls(strata.sizes / strata.population, device, math.log1p(odds))


def with_proven_forms(plan: Design) -> Design:
    """Prove how close the forms of a design come to the best there could be, where they were searched."""
    if not plan.problem.forms.dealt_out:
        return plan
    problem, forms = forms_to_prove(plan)
    prices = bound_forms(problem, forms).prices
    return replace(plan, forms_bound=certify_forms(problem, forms, prices))


def _search(problem: FormsProblem, inputs: Inputs, most: int) -> Forms:
    """Search at most so many forms, or the levels of those that were given."""
    if inputs.forms == ONE:
        return best_levels(problem, [range(len(problem.items))])
    if inputs.forms == AUTO:
        if inputs.asks_by_question:
            return best_partition(problem, most=most)
        return choose_forms(problem, most=most)[0]
    item_of = {
        inputs.questions[place].name: i for i, item in enumerate(problem.items) for place in item.questions
    }
    given = [sorted({item_of[name] for name in form if name in item_of}) for form in names_on(inputs.forms)]
    return best_levels(problem, given)


# --- what is published of a form -------------------------------------------------------------------


def _form_plan(problem: FormsProblem, form: Form, inputs: Inputs, typical: _Typical) -> FormPlan:
    """Write a form down, with the tables that have the least noise at a typical budget."""
    questionnaire = inputs.questions
    levels = problem.levels(form)
    places = sorted(levels)
    names = tuple(questionnaire[place].name for place in places)
    tables: tuple[Table, ...] = ()
    if inputs.release == "sums":
        items = [problem.items[i].questions for i in form.items]
        items += [item.questions for item in problem.everyone]
        tables = _best_tables(questionnaire, items, levels, typical.office)
    return FormPlan(names, tuple(levels[place] for place in places), form.share, tables)


def _best_tables(
    questionnaire: Questionnaire, items: Sequence[tuple[int, ...]], levels: dict[int, int], office: float
) -> tuple[Table, ...]:
    """Choose between a table for each question, or for those kept together, and one of all combinations."""
    apart = _shared_budget(questionnaire, items, levels, office)
    together = [tuple(sorted(levels))]
    if len(items) < 2:
        return _as_tables(questionnaire, items, apart)
    whole = np.ones(1)
    noise = [
        _noise(questionnaire, parts, levels, office, budget)
        for parts, budget in ((items, apart), (together, whole))
    ]
    parts, budget = (items, apart) if noise[0] <= noise[1] else (together, whole)
    return _as_tables(questionnaire, parts, budget)


def _as_tables(
    questionnaire: Questionnaire, parts: Sequence[tuple[int, ...]], budget: FloatArray
) -> tuple[Table, ...]:
    return tuple(
        Table(tuple(questionnaire[place].name for place in part), share)
        for part, share in zip(parts, budget.tolist(), strict=True)
    )


def _components(
    questionnaire: Questionnaire, part: tuple[int, ...], levels: dict[int, int]
) -> list[tuple[float, float]]:
    """G and q of the questions of a table that has all of the budget, by importance."""
    cells = math.prod(levels[place] for place in part) if len(part) > 1 else None
    share = importances(questionnaire)
    found = []
    for place in part:
        factor, sensitivity = noise_in_table(questionnaire, place, levels[place], cells, 1.0)
        found.append((share[place] * factor, sensitivity))
    return found


def _noise(
    questionnaire: Questionnaire,
    parts: Sequence[tuple[int, ...]],
    levels: dict[int, int],
    office: float,
    budget: FloatArray,
) -> float:
    """Add up the variances of the tables' noise."""
    return sum(
        factor * float(s(point(np.array([office * share / sensitivity])))[0])
        for part, share in zip(parts, budget.tolist(), strict=True)
        for factor, sensitivity in _components(questionnaire, part, levels)
    )


def _shared_budget(
    questionnaire: Questionnaire, parts: Sequence[tuple[int, ...]], levels: dict[int, int], office: float
) -> FloatArray:
    """Share a budget over tables so that their noise is least.

    Where budgets are small a table has the variance 2q²/e², and the best share is the cube root of g·q². From
    there, shares are moved to where the variance falls faster, until it does so everywhere alike.
    """
    tables = [_components(questionnaire, part, levels) for part in parts]
    shares = np.array([sum(g * q**2 for g, q in table) for table in tables]) ** (1 / 3)
    shares /= shares.sum()
    best, least = shares, _noise(questionnaire, parts, levels, office, shares)
    for _ in range(_ROUNDS):
        slopes = np.array(
            [
                sum(g * _falls(office * share / q) / q for g, q in table)
                for table, share in zip(tables, shares, strict=True)
            ]
        )
        shares = shares * (slopes / slopes.mean()) ** (1 / 3)
        shares /= shares.sum()
        noise = _noise(questionnaire, parts, levels, office, shares)
        if noise >= least * (1.0 - 1e-12):
            break
        best, least = shares, noise
    return best


def _falls(e: float) -> float:
    """−s'(e)."""
    value = float(s(point(np.array([e])))[0])
    return value / math.tanh(e / 2.0)
