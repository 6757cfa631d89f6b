"""Which mechanisms can protect the answers of a survey, and what each would give."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpstrata.errors import InputError
from dpstrata.model.comparison import variance_parts
from dpstrata.model.inputs import Inputs
from dpstrata.privacy.registry import MECHANISMS, get_mechanism

if TYPE_CHECKING:
    from dpstrata.model.design_record import Design

BEST = "best"


@dataclass(frozen=True, slots=True)
class Choice:
    """What one mechanism would give for the same question.

    Attributes
    ----------
    mechanism : str
        Its name.
    total : int or None
        People to invite; ``None`` where no design meets the question.
    variance : float or None
        Of the estimate, or the objective.
    cost : float or None
        Of the invitations, where they have costs.
    """

    mechanism: str
    total: int | None
    variance: float | None
    cost: float | None


def valid_mechanisms(inputs: Inputs) -> list[str]:
    """Name the mechanisms that can protect such answers, and keep such a promise, in the registry's order."""
    if not inputs.amplified:
        return []
    valid = []
    for name in MECHANISMS:
        try:
            mechanism = get_mechanism(name, answer_range=inputs.answers.range, steps=inputs.answers.steps)
        except InputError:
            continue
        if mechanism.needs_delta or (inputs.trust == "curator" and not mechanism.additive):
            continue
        valid.append(name)
    return valid


def better_mechanism(plan: Design) -> tuple[str, float] | None:
    """Find the mechanism with which the same sample sizes give the least variance, if it is not the design's.

    Returns
    -------
    (title, variance) or None
        ``None`` where no other valid mechanism is better.
    """
    best: tuple[str, float] | None = None
    least = plan.variance * (1.0 - 1e-9)
    for name in valid_mechanisms(plan.inputs):
        if name == plan.inputs.mechanism:
            continue
        other = replace(plan.inputs, mechanism=name, delta=0.0)
        problem = replace(plan.problem, terms=other.terms(plan.strata))
        parts = variance_parts(problem, plan.sample_sizes, finite_population=plan.inputs.finite_population)
        if parts.total < least:
            best, least = (problem.terms.mechanism.title, parts.total), parts.total
    return best


def in_words(plan: Design) -> str | None:
    """Say in one line that another mechanism would do better, or which was chosen and why."""
    show = math.sqrt if plan.inputs.objective == "mean" else float
    measure = "standard error" if plan.inputs.objective == "mean" else "objective"
    if plan.choice is not None:
        others = [
            f"{row.mechanism} {show(row.variance):.4g} with {row.total:,} people"
            for row in plan.choice
            if row.variance is not None and row.mechanism != plan.inputs.mechanism
        ]
        listed = f" ({measure}: {', '.join(others)})" if others else ""
        return f"{plan.mechanism.title} was chosen: of the mechanisms for such answers it does best{listed}."
    better = better_mechanism(plan)
    if better is None:
        return None
    return (
        f"{better[0]} noise protects such answers as well, and with it the same sample sizes would give a "
        f"{measure} of {show(better[1]):.4g}."
    )
