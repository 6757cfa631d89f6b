"""Choosing the forms of a questionnaire for a population: who is asked what, and what is published of it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from dpstrata.allocation.form_items import forms_problem, mixture_of
from dpstrata.allocation.forms import Form, Forms, FormsProblem
from dpstrata.allocation.posing import most_forms
from dpstrata.allocation.proof.forms import certify_forms
from dpstrata.allocation.proof.raw_forms import certify_raw_forms
from dpstrata.designs.questions import forms_to_prove, variance_targets
from dpstrata.designs.record import Design
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.planning.forms.choose import choose_forms
from dpstrata.planning.forms.prices import bound_forms
from dpstrata.planning.forms.raw import raw_forms
from dpstrata.planning.forms.search import best_levels, best_partition
from dpstrata.planning.forms.tables import best_tables, figure_tables
from dpstrata.survey.forms import AUTO, ONE, ROWS, FormPlan, Table, are_chosen, names_on, require_few_rows
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.questionnaires.question import Question
from dpstrata.survey.questionnaires.spreads import Spreads
from dpstrata.survey.strata import Strata


def form_choices(strata: Strata, inputs: Inputs, sizes: IntArray | None = None) -> list[Inputs]:
    """Choose what is left open of how people are asked: forms, levels, shares of people, mechanisms, tables.

    There are no more forms than the strata and the number of people carry, or the ``sizes`` that are given.

    Returns
    -------
    list of Inputs
        Those worth a design: which is best depends on the sizes that it gets.
    """
    if not inputs.rows or are_chosen(inputs.forms):
        return [inputs]
    most = max(most_forms(inputs, strata, sizes), 1)
    return _choices(inputs, inputs.spreads_in(strata), _Typical.of(strata, inputs), most)


def form_choices_at(plan: Design, asked: Inputs, sizes: IntArray | None = None) -> list[Inputs]:
    """Choose the same at the sizes of a design for what was asked."""
    if not asked.rows or are_chosen(asked.forms):
        return []
    most = max(most_forms(asked, plan.strata, sizes), 1)
    return _choices(asked, plan.spreads, _Typical.at(plan), most)


def _choices(inputs: Inputs, spreads: Spreads, typical: _Typical, most: int) -> list[Inputs]:
    """Choose forms for a typical stratum: with rows of all questions, and with mechanisms of single ones."""
    if inputs.release_form.gets_raw:
        variances = typical.weights @ spreads.variances
        return [replace(inputs, forms=raw_forms(inputs, variances, typical.office, typical.people, most))]
    _require_few_rows(inputs)
    targets = variance_targets(inputs) if inputs.asks_by_question else None
    found: list[Inputs] = []
    for alone, fewer in itertools.product((True, False), (True, False)):
        # what the office's noise adds is left out here, so that no choice is the best for certain
        problem = forms_problem(
            spreads, typical.weights, typical.odds, targets, alone=alone, fewer_levels=fewer
        )
        if alone and not (problem.has_alone and len(inputs.questions) > 1):
            continue
        if not fewer and not any(_may_have_fewer(question) for question in inputs.questions):
            continue
        plans = [_form_plan(problem, form, inputs, typical) for form in _search(problem, inputs, most).forms]
        chosen = replace(inputs, forms=tuple(plans))
        if chosen not in found:
            found.append(chosen)
    return found


def _may_have_fewer(question: Question) -> bool:
    """Whether a scale has so many points that it may be put on fewer levels."""
    return question.answer_count in question.candidates[1:]


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
    weights, odds : array
        What each stratum counts for, adding up to 1, and y of its devices or rows.
    office : float
        The office's budget.
    people : float
        How many answer.
    """

    weights: FloatArray
    odds: FloatArray
    office: float
    people: float

    @classmethod
    def of(cls, strata: Strata, inputs: Inputs) -> _Typical:
        """Take all strata to have the same sampling rate, as the goal suggests it."""
        goal = inputs.total or inputs.at_most
        if goal is None and inputs.budget is not None and strata.costs is not None:
            goal = int(inputs.budget / float((strata.costs * strata.sizes).sum() / strata.population))
        rate = min((goal or 0.1 * strata.population) / strata.population, 1.0)
        rate = max(rate, 1.0 / strata.population)
        odds = math.expm1(float(inputs.epsilon or 0.0)) / rate
        device = odds if inputs.device_epsilon is None else math.expm1(inputs.device_epsilon)
        answering = 1.0 if strata.response_rates is None else float(strata.response_rates.mean())
        people = rate * answering * strata.population / len(strata)
        weights = strata.sizes / strata.population
        return cls(weights, np.full(len(strata), device), math.log1p(odds), people)

    @classmethod
    def at(cls, plan: Design) -> _Typical:
        """Take the sizes of a design."""
        weights, odds = mixture_of(plan.problem, plan.sample_sizes)
        answers = plan.total if plan.expected_answers is None else plan.expected_answers
        return cls(weights, odds, float(weights @ plan.local_epsilons), answers / len(plan.strata))


def with_proven_forms(plan: Design) -> Design:
    """Prove how close the forms of a design come to the best there could be, where they were searched."""
    if not plan.problem.forms.dealt_out or plan.inputs.release_form.noised_once:
        return plan
    if plan.inputs.release_form.gets_raw:
        return replace(plan, forms_bound=certify_raw_forms(plan.problem, plan.sample_sizes))
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


def _form_plan(problem: FormsProblem, form: Form, inputs: Inputs, typical: _Typical) -> FormPlan:
    """Write a form down, with the tables that have the least noise at a typical budget."""
    questionnaire, levels = inputs.questions, problem.levels(form)
    if form.mechanism != ROWS:
        levels = dict.fromkeys(levels, 0)
    places = sorted(levels)
    tables: tuple[Table, ...] = ()
    if inputs.release_form.noised_once:
        tables = figure_tables(questionnaire, levels, form.mechanism)
    elif not inputs.release_form.publishes_answers:
        items = [problem.items[i].questions for i in form.items]
        items += [item.questions for item in problem.everyone]
        tables = best_tables(questionnaire, items, levels, typical.office, form.mechanism).tables
    names = tuple(questionnaire[place].name for place in places)
    return FormPlan(names, tuple(levels[place] for place in places), form.share, tables, form.mechanism)
