"""Forms of release side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.words.numbers import figure, plain_number, round_up
from dpstrata.words.tables import TextTable

if TYPE_CHECKING:
    from dpstrata.planning.compare_releases import ReleaseComparison, ReleaseOption


_PUBLISHED = {"microdata": "every noised answer", "sums": "sums", "mean": "one number"}


def release_table(compared: ReleaseComparison) -> TextTable:
    """Show what each release gives, and who learns what."""
    return TextTable(
        "The same goal with every form of release",
        (
            *("what is published", "people", _precision(compared), "noise"),
            *("epsilon against the public", "epsilon against the office"),
        ),
        [_row(each) for each in compared.options],
    )


def _precision(compared: ReleaseComparison) -> str:
    """Say what the precision of a design is measured by."""
    made = (each.design for each in compared.options if each.design is not None)
    return next((plan.inputs.measure for plan in made), "standard error")


def _row(each: ReleaseOption) -> tuple[str, ...]:
    published = _PUBLISHED[each.release]
    if each.release != "microdata":
        published += (
            ", of raw answers"
            if each.device_epsilon is None
            else f", of answers noised on devices at {plain_number(each.device_epsilon)}"
        )
    if each.design is None:
        return published, "cannot meet the goal", "", "", "", ""
    plan = each.design
    central = plan.inputs.promise.central_epsilon
    return (
        published,
        f"{plan.total:,}",
        figure(plan.precision),
        plan.mechanism.title,
        plain_number(central) if central == central else plan.inputs.promise.in_words,
        _against_the_office(each),
    )


def _against_the_office(each: ReleaseOption) -> str:
    if each.raw_answers:
        return "sees everything"
    if each.office_epsilon is None and each.design is not None:
        return each.design.inputs.promise.in_words
    if each.device_epsilon is not None:
        return plain_number(each.device_epsilon)
    return round_up(each.office_epsilon or 0.0, 2)
