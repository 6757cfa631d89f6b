"""Which mechanisms can protect the answers of a survey, and what each would give."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpstrata.errors import InputError
from dpstrata.model.comparison import variance_parts
from dpstrata.model.inputs import Inputs
from dpstrata.model.releases import RELEASES, kind_of
from dpstrata.model.releases.base import Release
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
        if mechanism.needs_delta or inputs.release.misfit(mechanism) is not None:
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


def better_release(plan: Design) -> tuple[Release, str, float] | None:
    """Find the release worth suggesting with which the same sample sizes give the least variance.

    With the design's own mechanism, or the best one that the release can use.

    Returns
    -------
    (release, title, variance) or None
        With the mechanism's title; ``None`` where no other release is better.
    """
    others = [
        kind for kind in map(kind_of, RELEASES) if kind.suggested and kind.name != plan.inputs.release.name
    ]
    if not others:
        return None
    best: tuple[Release, str, float] | None = None
    least = plan.variance * (1.0 - 1e-9)
    for kind in others:
        inputs = kind.instead_of(plan.inputs)
        fits = inputs.release.misfit(plan.mechanism) is None
        for name in [inputs.mechanism] if fits else valid_mechanisms(inputs):
            title, variance = _with_inputs(plan, replace(inputs, mechanism=name))
            if variance < least:
                best, least = (inputs.release, title, variance), variance
    return best


def _with_inputs(plan: Design, inputs: Inputs) -> tuple[str, float]:
    """Return the mechanism and the variance of the same sample sizes with other inputs; nothing is solved."""
    problem = replace(plan.problem, terms=inputs.terms(plan.strata))
    parts = variance_parts(problem, plan.sample_sizes, finite_population=inputs.finite_population)
    return problem.terms.mechanism.title, parts.total


def other_release_in_words(plan: Design, *, released: bool = False) -> str | None:
    """Say in one line what another release would give, where one is better and worth suggesting.

    Parameters
    ----------
    plan : Design
        The design.
    released : bool
        Whether it is too late for this one: its answers were noised at the office.
    """
    found = better_release(plan)
    if found is None:
        return None
    show, measure = _measure(plan)
    release, title, variance = found
    return release.suggestion(
        gives=f"the {measure} {show(variance):.4g} instead of {show(plan.variance):.4g}",
        noise="" if title == plan.mechanism.title else f" with {title} noise",
        too_late=released,
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
