"""From questions to the items that are divided over forms, each as it counts in a mixture of the strata."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpstrata.allocation.forms import Form, FormItem, Forms, FormsProblem, LevelChoice, TargetsProblem
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.proof.forms import Pricing
from dpstrata.allocation.rows_on_forms import importances
from dpstrata.errors import InputError
from dpstrata.numerics.arrays import FloatArray, IntArray
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.survey.forms import FormPlan
from dpstrata.survey.questionnaires.spreads import Spreads

_NO_TARGET = 100.0  # times the loosest target
_OF_CELLS = ("sine", "cells")  # mechanisms
_MOST_CELLS = 4096  # of one item; more cost more than they tell at any budget that is of use


def forms_problem(
    spreads: Spreads,
    weights: FloatArray,
    odds: FloatArray,
    targets: FloatArray | None = None,
    *,
    alone: bool = True,
    fewer_levels: bool = True,
) -> FormsProblem:
    """State the choice of forms for a mixture of the strata.

    Parameters
    ----------
    spreads : Spreads
        What is known of the answers, and the questionnaire.
    weights : array
        What each stratum counts for; they add up to 1.
    odds : array
        y of each stratum: the same of all devices, or that of published rows.
    targets : array, optional
        Variances that the questions may have, in squared ranges, where these are to be reached with the
        fewest people; infinite without a target.
    alone : bool
        Whether the only question of a form may be noised by a mechanism of its own.
    fewer_levels : bool
        Whether scales of many points may be put on fewer levels.
    """
    # r = K/y of a stratum is (y0/y) times K/y0: its part of the mixture is scaled by that
    y0 = 1.0 / float((weights / odds).sum())
    mixture = np.stack([weights, weights * (y0 / odds), weights * (y0 / odds) ** 2])
    together: dict[str, list[int]] = {}
    everyone = []
    for place, question in enumerate(spreads.questionnaire):
        if question.everyone:
            everyone.append([place])
        else:
            together.setdefault(question.together or f"\0{place}", []).append(place)
    counts = importances(spreads.questionnaire) if targets is None else _per_target(targets)
    own, shared = (
        tuple(_item(spreads, members, mixture, counts, fewer_levels=fewer_levels) for members in part)
        for part in (together.values(), everyone)
    )
    if alone:
        own = tuple(
            replace(item, alone=_alone(spreads, item.questions, weights, odds, counts)) for item in own
        )
    return (FormsProblem if targets is None else TargetsProblem)(own, shared, y0)


def _per_target(targets: FloatArray) -> FloatArray:
    """Return what the variance of a question counts in units of its target; without one next to nothing."""
    loosest = float(targets[np.isfinite(targets)].max())
    return np.asarray(1.0 / np.where(np.isfinite(targets), targets, _NO_TARGET * max(loosest, 1.0)))


def _item(
    spreads: Spreads,
    members: Sequence[int],
    mixture: FloatArray,
    share: FloatArray,
    *,
    fewer_levels: bool,
) -> FormItem:
    """Make an item of a question, or of several that are kept together, with all levels that may be best."""
    candidates = [spreads.questionnaire[place].candidates for place in members]
    if not fewer_levels:
        points = [spreads.questionnaire[place].answer_count for place in members]
        candidates = [(own,) if own in each else each for own, each in zip(points, candidates, strict=True)]
    if sum(len(each) > 1 for each in candidates) > 1:  # all combinations would be too many
        most = 16 if len(members) < 4 else 6
        candidates = [_some(each, most) if len(each) > 1 else each for each in candidates]
    choices: list[LevelChoice] = []
    for levels in itertools.product(*candidates):
        cells = math.prod(levels)
        if cells > _MOST_CELLS and choices:
            continue
        parts = np.array(
            [
                share[place] * _mixed(spreads, place, number, mixture)
                for place, number in zip(members, levels, strict=True)
            ]
        )
        constant, linear, square = parts.sum(axis=0).tolist()
        each = tuple((a, b, c) for a, b, c in parts.tolist())
        choices.append(LevelChoice(cells, levels, constant, linear, square, parts=each))
    return FormItem(tuple(members), tuple(choices))


def _alone(
    spreads: Spreads,
    members: tuple[int, ...],
    weights: FloatArray,
    odds: FloatArray,
    counts: FloatArray,
) -> dict[str, float]:
    """Return the weighted variance of an answer on a form with nothing else, by mechanisms of its own.

    They are those whose outputs are cells, so that every device of a survey sends one of a few; names are
    replaced anyway.
    """
    place, *others = members
    question = spreads.questionnaire[place]
    if others or not question.of_kind.averaged or question.levels == "all":
        return {}
    spread, found = float(weights @ spreads.variances[:, place]), {}
    for name in _OF_CELLS:
        try:
            mechanism = get_mechanism(name, question.space)
        except InputError:  # a scale that it has no windows for
            continue
        noise = float(weights @ mechanism.variance(np.log1p(odds))) / mechanism.unit
        found[name] = float(counts[place]) * (spread + noise)
    return found


def _some(levels: tuple[int, ...], most: int) -> tuple[int, ...]:
    """Return few numbers of levels, up to a largest."""
    return tuple(each for each in levels if each in (2, 3, 4, 6, 8, 12, 16) and each <= most)


def _mixed(spreads: Spreads, place: int, levels: int, mixture: FloatArray) -> FloatArray:
    curve = spreads.in_row(place, levels)
    return np.array([(np.broadcast_to(c, w.shape) * w).sum() for c, w in zip(curve, mixture, strict=True)])


def mixture_of(problem: Problem, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return what each stratum counts for at given sizes, and its y: those of :func:`forms_problem`."""
    weights = problem.terms.coefficients**2 / sizes
    budgets = problem.terms.budgets(sizes.astype(float)).e
    return np.asarray(weights / weights.sum()), problem.forms.odds_at(budgets)


def as_items(
    problem: FormsProblem, spreads: Spreads, plans: Sequence[FormPlan]
) -> tuple[FormsProblem, Forms]:
    """Write forms in terms of items, with the value that their own shares of people give.

    The problem is the same, and lists what these forms ask of everyone.
    """
    place = {question.name: i for i, question in enumerate(spreads.questionnaire)}
    forms = []
    for plan in plans:
        levels = {place[name]: number for name, number in zip(plan.questions, plan.levels, strict=True)}
        asked = [(i, item) for i, item in enumerate(problem.items) if item.questions[0] in levels]
        choices = tuple(_choice(item, levels) if plan.keeps_rows else 0 for _, item in asked)
        shared = tuple(_choice(item, levels) for item in problem.everyone)
        items = tuple(i for i, _ in asked)
        forms.append(Form(items, choices, shared, plan.cells, plan.share, plan.mechanism))
    found = Forms(tuple(forms), 0.0)
    problem = replace(problem, kept=tuple(dict.fromkeys(form.everyone for form in forms)))
    return problem, replace(found, value=Pricing(problem).reached(found))


def _choice(item: FormItem, levels: dict[int, int]) -> int:
    wanted = tuple(levels[place] for place in item.questions)
    found = [i for i, choice in enumerate(item.choices) if choice.levels == wanted]
    if not found:
        raise InputError(f"a question of this kind cannot have the levels {wanted}.")
    return found[0]
