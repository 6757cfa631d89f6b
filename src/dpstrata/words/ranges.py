"""The range of an amount for the eye: what each choice gives, and what it means for the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.words.numbers import figure, share_in_percent
from dpstrata.words.tables import TextTable

if TYPE_CHECKING:
    from dpstrata.planning.choose_range import AmountRange, RangeChoice

_AIMS = {"trusted": "intervals to be trusted", "least_error": "least mean square error", "given": "as given"}


def range_table(found: RangeChoice) -> TextTable:
    """Show the chosen range above the other one."""
    return TextTable(
        f"Ranges for {found.sample_size:,} answers under {found.prior.in_words}",
        ("chosen for", "range", "clipped", "bias", "of the mean", "standard error", "bias in errors"),
        [_row(each) for each in (found.chosen, found.other)],
    )


def _row(each: AmountRange) -> tuple[str, ...]:
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
