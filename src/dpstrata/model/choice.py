"""Which mechanisms can protect the answers of a survey, and what each would give."""

from __future__ import annotations

import math
from collections.abc import Callable
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
    if not inputs.promise.amplified:
        return []
    valid = []
    for name in MECHANISMS:
        try:
            mechanism = get_mechanism(name, inputs.answers)
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
        title, variance = _with_inputs(plan, replace(plan.inputs, mechanism=name, delta=0.0))
        if variance < least:
            best, least = (title, variance), variance
    return best


def curator_instead(plan: Design) -> tuple[str, float] | None:
    """Find what the same sample sizes would give if a curator noised the mean of each stratum.

    With the design's own mechanism, or the best one that a curator can use.

    Returns
    -------
    (title, variance) or None
        ``None`` where that is not better, as for designs that have a curator.
    """
    if plan.inputs.trust == "curator":
        return None
    inputs = replace(plan.inputs, trust="curator", local_epsilon_cap=None)
    names = [inputs.mechanism] if plan.mechanism.additive else valid_mechanisms(inputs)
    found = (_with_inputs(plan, replace(inputs, mechanism=name)) for name in names)
    title, variance = min(found, key=lambda row: row[1])
    return (title, variance) if variance < plan.variance * (1.0 - 1e-9) else None


def _with_inputs(plan: Design, inputs: Inputs) -> tuple[str, float]:
    """Return the mechanism and the variance of the same sample sizes with other inputs; nothing is solved."""
    problem = replace(plan.problem, terms=inputs.terms(plan.strata))
    parts = variance_parts(problem, plan.sample_sizes, finite_population=inputs.finite_population)
    return problem.terms.mechanism.title, parts.total


def curator_in_words(plan: Design, *, released: bool = False) -> str | None:
    """Say in one line what a curator's noised means would give, for offices that see raw answers.

    Parameters
    ----------
    plan : Design
        The design.
    released : bool
        Whether it is too late for this one: its answers were noised at the office.
    """
    found = curator_instead(plan)
    if found is None:
        return None
    show, measure = _measure(plan)
    title, variance = found
    noise = "" if title == plan.mechanism.title else f" with {title} noise"
    gives = f"the {measure} {show(variance):.4g} instead of {show(plan.variance):.4g}"
    if released:
        return (
            f"An office that sees raw answers does better to noise the mean of each stratum once{noise}. "
            f"Designed for a curator, the same sample sizes would have had {gives}, with the same promise to "
            "everyone else."
        )
    return (
        "Will the office see raw answers? Then design for a curator (trust='curator', --trust curator), who "
        f"noises the mean of each stratum once{noise}: the same sample sizes would have {gives}."
    )


def _measure(plan: Design) -> tuple[Callable[[float], float], str]:
    """Return how a variance is shown, and what it is called."""
    return (math.sqrt, "standard error") if plan.inputs.objective == "mean" else (float, "objective")


def in_words(plan: Design) -> str | None:
    """Say in one line that another mechanism would do better, or which was chosen and why."""
    show, measure = _measure(plan)
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
