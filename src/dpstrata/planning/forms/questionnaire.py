"""Designing a questionnaire: forms first, then sample sizes, then the proof of both."""

from __future__ import annotations

from dataclasses import replace

from dpstrata.allocation.forms import TargetsProblem
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.forms import certify_forms
from dpstrata.designs.questions import forms_to_prove
from dpstrata.designs.record import Design
from dpstrata.planning.forms.plans import with_chosen_forms
from dpstrata.planning.forms.prices import bound_forms
from dpstrata.planning.forms.question_targets import design_for_targets
from dpstrata.planning.forms.targets import bound_people
from dpstrata.planning.goal_search import design_for
from dpstrata.survey.inputs import Inputs
from dpstrata.survey.strata import Strata


def design_on_forms(strata: Strata, inputs: Inputs, problem: Problem | None = None) -> Design:
    """Reach the goal of ``inputs`` with their forms, if any; ``problem`` is what they pose, if known."""
    if inputs.asks_by_question:
        return design_for_targets(strata, inputs)
    return design_for(strata, inputs, problem)


def design_questionnaire(strata: Strata, inputs: Inputs) -> Design:
    """Choose the forms of a questionnaire, then design for the goal, and prove both."""
    chosen = with_chosen_forms(strata, inputs)
    plan = design_on_forms(strata, chosen)
    problem, forms = forms_to_prove(plan)
    prices: tuple[float, ...] = ()
    if not problem.items:
        pass  # all questions are for everyone, so there is one form
    elif isinstance(problem, TargetsProblem):
        prices = bound_people(problem, forms).prices
    else:
        prices = bound_forms(problem, forms).prices
    return replace(plan, forms_bound=certify_forms(problem, forms, prices))
