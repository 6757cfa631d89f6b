"""Which mechanisms can protect the answers of a survey, which can be the best, and what each would give."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpstrata.errors import InputError, Sentence, option
from dpstrata.model.comparison import variance_parts
from dpstrata.model.inputs import Inputs
from dpstrata.model.releases import RELEASES, kind_of
from dpstrata.model.releases.base import Release
from dpstrata.privacy.registry import MECHANISMS, get_mechanism
from dpstrata.privacy.written import figure, money

if TYPE_CHECKING:
    from dpstrata.model.design_record import Design
    from dpstrata.privacy.mechanisms.base import Mechanism

BEST = "best"


@dataclass(frozen=True, slots=True)
class Choice:
    """What one mechanism that was solved gives for the same question.

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


def valid_mechanisms(inputs: Inputs) -> dict[str, Mechanism]:
    """Return the mechanisms that protect such answers, and keep such a promise, in the registry's order."""
    valid = {}
    for name in MECHANISMS:
        try:
            mechanism = get_mechanism(name, inputs.answers)
        except InputError:
            continue
        fits = mechanism.needs_delta is not inputs.promise.any_mechanism
        if fits and inputs.release.misfit(mechanism) is None:
            valid[name] = mechanism
    return valid


def contenders(inputs: Inputs, least: float = 0.0, most: float = math.inf) -> list[str]:
    """Name the valid mechanisms that can be the best, in the registry's order.

    Left out is what has at least the variance of another at every local budget between ``least`` and
    ``most``. With the same sample sizes nothing is then more precise with it, whatever is asked: all else in
    f is the same. Documents of version 1 compare all valid mechanisms.
    """
    valid = valid_mechanisms(inputs)
    left = list(valid)
    if inputs.formulas == 1:
        return left
    for name, mechanism in valid.items():
        if name in left:  # of two that are equal, the first stays
            worse = mechanism.never_worse_than(least / inputs.questions, most / inputs.questions)
            left = [other for other in left if other not in worse]
    return left


def better_mechanism(plan: Design) -> tuple[str, float] | None:
    """Find the mechanism with which the same sample sizes give the least variance, if it is not the design's.

    Returns
    -------
    (title, variance) or None
        ``None`` where no other valid mechanism is better.
    """
    if not plan.inputs.promise.amplified:
        return None
    asked = replace(plan.inputs, mechanism=BEST, delta=0.0)  # whoever keeps epsilon keeps it with a delta too
    budgets = plan.local_epsilons
    names = contenders(asked, float(budgets.min()), float(budgets.max()))
    title, variance = min(
        (_with_inputs(plan, replace(asked, mechanism=name)) for name in names), key=lambda row: row[1]
    )
    return (title, variance) if variance < plan.variance * (1.0 - 1e-9) else None


def better_release(plan: Design) -> tuple[Release, str, float] | None:
    """Find the release worth suggesting with which the same sample sizes give the least variance.

    With the design's own mechanism, or the best one that the release can use.

    Returns
    -------
    (release, title, variance) or None
        With the mechanism's title; ``None`` where no other release is better.
    """
    if plan.waves is not None:  # pilots learn from single answers
        return None
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
        for name in [inputs.mechanism] if fits else contenders(inputs):
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
        gives=f"the {measure} {figure(show(variance))} instead of {figure(show(plan.variance))}",
        noise="" if title == plan.mechanism.title else f" with {title} noise",
        too_late=released,
    )


def _measure(plan: Design) -> tuple[Callable[[float], float], str]:
    """Return how a variance is shown, and what it is called."""
    return (math.sqrt, "standard error") if plan.inputs.objective == "mean" else (float, "objective")


def in_words(plan: Design) -> str | None:
    """Say in one line which mechanism was chosen and why, or that another would do better."""
    if plan.choice is not None:
        return Sentence(
            f"{plan.mechanism.title} was chosen: {_reason(plan, plan.choice)}.{_without_delta(plan)}"
        )
    if plan.waves is not None and not plan.waves.first:  # it keeps to what was said of the first wave
        return None
    better = better_mechanism(plan)
    if better is None:
        return None
    show, measure = _measure(plan)
    return (
        f"{better[0]} noise protects such answers as well, and with it the same sample sizes would give a "
        f"{measure} of {figure(show(better[1]))}."
    )


def _without_delta(plan: Design) -> str:
    """Say what noise that needs no delta would give, where one was given."""
    better = None if plan.inputs.promise.any_mechanism else better_mechanism(plan)
    if better is None:
        return ""
    show, measure = _measure(plan)
    return (
        f" Without {option('delta')} {better[0].lower()} noise keeps the same {option('epsilon')}, and the "
        f"same sample sizes would give a {measure} of {show(better[1]):.4g}."
    )


def _reason(plan: Design, considered: tuple[Choice, ...]) -> str:
    """Say why a mechanism was chosen, with what the others that were considered give."""
    if not plan.inputs.promise.any_mechanism:
        return f"it is the noise for a promise of {plan.inputs.promise.title}"
    valid = valid_mechanisms(plan.inputs)
    others = [
        f"{valid[row.mechanism].title.lower()} {_figures(plan, row)}"
        for row in considered
        if row.mechanism != plan.inputs.mechanism
    ]
    listed = f" ({', '.join(others)})" if others else ""
    return f"no other noise does better for such answers{listed}"


def _figures(plan: Design, row: Choice) -> str:
    """Say what another mechanism would give, in what decides between them."""
    if row.variance is None or row.total is None:
        return "cannot meet the question"
    people = plan.strata.counted(row.total)
    if plan.inputs.asks_for_least:
        return f"needs {people}{'' if row.cost is None else f' for a cost of {money(row.cost)}'}"
    show, measure = _measure(plan)
    among = "" if row.total == plan.total else f" with {people}"
    return f"gives a {measure} of {figure(show(row.variance))}{among}"
