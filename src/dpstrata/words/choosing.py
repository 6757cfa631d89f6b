"""What to choose, for the eye: the smallest budget for a precision, and the range of an amount."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.errors import Sentence
from dpstrata.words.numbers import counted, figure, plain_number, share_in_percent
from dpstrata.words.tables import TextTable

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.planning.choose_range import AmountRange, RangeChoice
    from dpstrata.planning.solve_epsilon import SolvedEpsilon
    from dpstrata.survey.inputs import Inputs

_NAMES = {"epsilon": "epsilon", "device_epsilon": "device epsilon"}
_AIMS = {"trusted": "intervals to be trusted", "least_error": "least mean square error", "given": "as given"}


def goal_in_words(inputs: Inputs, at_most: int | None, unit: str) -> str:
    """Say what is to be reached, and with how many people."""
    reached = "the targets of all questions" if inputs.asks_by_question else inputs.targets.in_words
    within = "" if at_most is None else f" with at most {counted(at_most, unit)}"
    return f"{reached}{within}"


def missed_in_words(plan: Design, at_most: int) -> str:
    """Say that too many people would be needed."""
    return f"{counted(plan.total, plan.strata.unit)} are needed, more than {at_most:,}."


def budget_sentences(found: SolvedEpsilon) -> list[str]:
    """State the budget, the design, and why a smaller one does not do."""
    name, unit = _NAMES[found.solve_for], found.design.strata.unit
    value = plain_number(found.value)
    first = (
        f"{name.capitalize()} = {value} is the smallest that reaches {found.goal}; it takes "
        f"{counted(found.design.total, unit)}."
    )
    if found.missed is None:
        return [f"{first} No smaller {name} is supported."]
    reason = Sentence(found.missed.reason).marked
    said = [first, Sentence(f"The next smaller, {plain_number(found.missed.value)}, misses it: {reason}")]
    if not found.proven:
        said.append(f"That is what the search found, not a proof: a slightly smaller {name} might do.")
    return said


def budget_table(found: SolvedEpsilon) -> TextTable:
    """Show every budget that was tried."""
    unit = found.design.strata.unit
    rows = [
        (
            plain_number(each.value),
            "yes" if each.reaches else "no",
            "out of reach" if each.total is None else f"{each.total:,}",
        )
        for each in found.tried
    ]
    return TextTable("What was tried", (_NAMES[found.solve_for], "reaches it", f"{unit}s needed"), rows)


def range_table(found: RangeChoice) -> TextTable:
    """Show the chosen range above the other one."""
    return TextTable(
        f"Ranges for {found.sample_size:,} answers under {found.prior.in_words}",
        ("chosen for", "range", "clipped", "bias", "of the mean", "standard error", "bias in errors"),
        [_range_row(each) for each in (found.chosen, found.other)],
    )


def _range_row(each: AmountRange) -> tuple[str, ...]:
    return (
        _AIMS[each.aim],
        f"{figure(each.lower)} to {figure(each.upper)}",
        share_in_percent(each.share_above),
        figure(each.bias, 3),
        f"{each.relative_bias:.1%}",
        figure(each.standard_error, 3),
        figure(each.bias_in_errors, 2),
    )


def range_sentences(found: RangeChoice) -> list[str]:
    """Say what is estimated with the chosen range, and how far that is from the mean of all amounts."""
    chosen = found.chosen
    ends = f"{figure(chosen.lower)}–{figure(chosen.upper)}"
    return [
        f"The survey then estimates the mean of answers clipped to {ends}, expected at "
        f"{figure(chosen.clipped_mean)}; the mean of unlimited answers is expected to be "
        f"{figure(chosen.bias, 3)} higher."
    ]
