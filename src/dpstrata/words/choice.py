"""Which noise was chosen, and what other noise or another release would give, in a line each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from dpstrata.errors import Sentence, option
from dpstrata.words.numbers import figure, money

if TYPE_CHECKING:
    from dpstrata.designs.choice import Choice
    from dpstrata.designs.record import Design


def other_releases_in_words(plan: Design, *, released: bool = False) -> list[str]:
    """Say in a line each what other releases would give, where they are better and worth suggesting.

    Parameters
    ----------
    plan : Design
        The design.
    released : bool
        Whether it is too late for this one: its answers were noised at the office.
    """
    show, measure = _measure(plan)
    return [
        release.suggestion(
            gives=f"{measure} of {figure(show(variance))} instead of {figure(show(plan.variance))}",
            noise="" if title == plan.mechanism.title else f" with {title} noise",
            too_late=released,
        )
        for release, title, variance in plan.better_releases()
        if not (released and release.device is not None)
    ]


def _measure(plan: Design) -> tuple[Callable[[float], float], str]:
    """Return how a variance is shown, and what it is called, with its article."""
    return (math.sqrt, "a standard error") if plan.inputs.objective == "mean" else (float, "an objective")


def in_words(plan: Design) -> str | None:
    """Say in one line which mechanism was chosen and why, or that another would do better."""
    if plan.figures and plan.inputs.device_epsilon is None:  # there is no choice
        return None
    if plan.choice is not None:
        return Sentence(
            f"{plan.mechanism.title} noise was chosen: {_reason(plan, plan.choice)}.{_without_delta(plan)}"
        )
    if plan.waves is not None and not plan.waves.first:  # it keeps to what was said of the first wave
        return None
    better = plan.better_mechanism()
    if better is None:
        return None
    show, measure = _measure(plan)
    return (
        f"{better[0]} noise would keep the same promise and, with the same sample sizes, give "
        f"{measure} of {figure(show(better[1]))}."
    )


def _without_delta(plan: Design) -> str:
    """Say what noise that needs no delta would give, where one was given."""
    better = None if plan.inputs.promise.any_mechanism else plan.better_mechanism()
    if better is None:
        return ""
    show, measure = _measure(plan)
    return (
        f" Without {option('delta')}, {better[0].lower()} noise keeps the same {option('epsilon')}, and the "
        f"same sample sizes would give {measure} of {show(better[1]):.4g}."
    )


def _reason(plan: Design, considered: tuple[Choice, ...]) -> str:
    """Say why a mechanism was chosen, with what the others that were considered give."""
    if not plan.inputs.promise.any_mechanism:
        return f"a promise of {plan.inputs.promise.title} requires it"
    others = [
        f"{row.title.lower()} {_figures(plan, row)}"
        for row in considered
        if row.mechanism != plan.inputs.mechanism
    ]
    listed = f" ({', '.join(others)})" if others else ""
    return f"no other noise does better for these answers{listed}"


def _figures(plan: Design, row: Choice) -> str:
    """Say what another mechanism would give, in what decides between them."""
    if row.variance is None or row.total is None:
        return "cannot meet the goal"
    people = plan.strata.counted(row.total)
    if plan.inputs.asks_for_least:
        return f"needs {people}{'' if row.cost is None else f' at a cost of {money(row.cost)}'}"
    show, measure = _measure(plan)
    among = "" if row.total == plan.total else f" with {people}"
    return f"gives {measure} of {figure(show(row.variance))}{among}"
