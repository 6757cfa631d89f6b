"""How the precision of a design depends on the number of interviews and on epsilon: rows of two charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpstrata.allocation.comparison import OWN, Comparison, compare_designs
from dpstrata.allocation.posing import pose
from dpstrata.designs.record import Design
from dpstrata.errors import InfeasibleError, InputError, option
from dpstrata.planning.goal_search import design_for
from dpstrata.privacy.promises import never_amplified
from dpstrata.survey.goals import GOAL_OPTIONS
from dpstrata.survey.inputs import Inputs
from dpstrata.words.design_tables import TITLES

POINTS = 40
_EPSILONS = (0.05, 10.0)
_LEAST_EPSILON, _MOST_EPSILON = 1e-6, 100.0


def precision_rows(plan: Design, *, points: int = POINTS) -> tuple[list[dict[str, Any]], int | None]:
    """Score the best design and Neyman's for many numbers of interviews, all else as in ``plan``.

    Parameters
    ----------
    plan : Design
        The plan; its own number is one of them. Its mechanism is kept, even where it was chosen as the best.
    points : int
        How many numbers, about, >= 2.

    Returns
    -------
    rows : list of dict
        With ``total``, ``design``, ``variance`` and ``standard_error``.
    best : int or None
        The number of interviews beyond which more of them hurt; ``None`` if more never do.

    Examples
    --------
    >>> import dpstrata as dps
    >>> strata = dps.Strata(sizes=[7000, 8000, 9000, 10000], sds=[0.283, 0.08, 0.0226, 0.0064])
    >>> rows, best = precision_rows(dps.design(strata, epsilon=0.1, total=200), points=5)
    >>> best, rows[0]["design"], rows[0]["total"]
    (584, 'this design', 20)
    """
    least, most = int(plan.problem.lower.sum()), int(plan.problem.upper.sum())
    outcome = design_for(plan.strata, _ask(plan.inputs, at_most=most), plan.problem).outcome
    assert outcome is not None
    best = outcome.best_total
    first = max(least, round_number(min(plan.total, best) / 8, up=False), 1)
    last = min(most, max(round_number(3 * max(plan.total, best), up=True), first))
    totals = {int(total) for total in np.rint(np.geomspace(first, last, points))}
    totals = {min(max(total, least), most) for total in totals} | {plan.total, best}
    asked = [{"total": total} for total in sorted(totals)]
    return _rows(plan, asked, ["total"]), best if best < most else None


def round_number(value: float, *, up: bool) -> int:
    """Round to 1, 2 or 5 times a power of ten, so that curves of similar plans have the same ends.

    Examples
    --------
    >>> round_number(25, up=False), round_number(2529, up=True), round_number(0.5, up=False)
    (20, 5000, 0)
    """
    if value < 1:
        return int(up)
    decade = int(10 ** (len(str(int(value))) - 1))
    marks = [step * decade for step in (1, 2, 5, 10)]
    return (
        min(mark for mark in marks if mark >= value) if up else max(mark for mark in marks if mark <= value)
    )


def epsilon_rows(plan: Design, *, points: int = POINTS) -> list[dict[str, Any]]:
    """Score the best design and Neyman's for many values of epsilon, with as many interviews as ``plan``.

    Parameters
    ----------
    plan : Design
        The plan; its own epsilon is one of them. Its promise must be one of epsilon. Its mechanism is kept.
    points : int
        How many values, about, >= 2.

    Returns
    -------
    list of dict
        With ``epsilon``, ``design``, ``variance`` and ``standard_error``; values of epsilon that no design
        can keep with so many interviews are left out.

    Examples
    --------
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> [round(row["epsilon"], 2) for row in epsilon_rows(plan, points=3)][::2]
    [0.05, 0.71, 1.0, 10.0]
    """
    if not plan.inputs.promise.amplified:
        raise InputError(
            f"varying {option('epsilon')} requires a promise of epsilon, got one of {never_amplified()}."
        )
    epsilon = plan.inputs.promise.central_epsilon
    low = max(_LEAST_EPSILON, min(_EPSILONS[0], epsilon / 4))
    high = min(_MOST_EPSILON, max(_EPSILONS[1], epsilon * 4))
    values = {float(value) for value in np.clip(np.geomspace(low, high, points), low, high)} | {epsilon}
    asked = [{"epsilon": value, "total": plan.total} for value in sorted(values)]
    return _rows(plan, asked, ["epsilon"])


def _rows(plan: Design, asked: Iterable[dict[str, Any]], varied: Sequence[str]) -> list[dict[str, Any]]:
    """Design for each goal, beside Neyman's allocation."""
    rows = []
    for goal in asked:
        inputs = _ask(plan.inputs, **goal)
        same = inputs.promise == plan.inputs.promise
        try:
            posed = pose(inputs, plan.strata, like=plan.problem if same else None)
            found = plan if inputs is plan.inputs else design_for(plan.strata, inputs, posed)
        except InfeasibleError:
            continue
        rows += [
            {
                **{name: goal[name] for name in varied},
                "design": TITLES[row.design],
                "variance": row.variance,
                "standard_error": row.standard_error,
            }
            for row in _beside_neyman(found, known=found is plan)
        ]
    return rows


def _beside_neyman(plan: Design, *, known: bool) -> Sequence[Comparison]:
    """Score a design and Neyman's allocation of as many people; ``known`` where it is compared anyway."""
    if known and not plan.strata.costs_differ:  # else its rivals cost as much, and may be others
        return [row for row in plan.compare() if row.design in (OWN, "neyman")]
    return compare_designs(
        plan.problem,
        plan.sample_sizes,
        finite_population=plan.inputs.finite_population,
        rivals=("neyman",),
        own=plan.variance_parts,
    )


def _ask(inputs: Inputs, **goal: Any) -> Inputs:
    """Ask something else of the same survey; domains and all targets are left out.

    Unless figures of the domains are what is published; those have no targets. The inputs themselves where
    that is what they ask.
    """
    domains = () if inputs.release_form.noised_once else ("domains",)
    none = dict.fromkeys((*GOAL_OPTIONS, "expected_mean", *domains))
    none["questions"] = inputs.questions.without_targets()
    asked = {**none, **goal}
    if all(getattr(inputs, name) == value for name, value in asked.items()):
        return inputs
    return replace(inputs, **asked)
