"""How a design depends on the standard deviations it was told, for the eye."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpstrata.words.numbers import figure
from dpstrata.words.tables import SHOWN_STRATA, TextTable, not_shown

if TYPE_CHECKING:
    from dpstrata.planning.sensitivity import Sensitivity


def sensitivity_tables(doubt: Sensitivity) -> list[TextTable]:
    """Show the scenarios, and the strata that matter most."""
    scenarios = [
        (row.scenario, figure(row.variance), figure(row.best_variance), f"{row.ratio:.4f} times")
        for row in doubt.scenarios
    ]
    strata = [
        (name, f"{share:.1%}", figure(larger), figure(smaller))
        for name, share, larger, smaller in zip(*doubt.table().values(), strict=True)
    ]
    return [
        TextTable(
            f"Standard deviations wrong by a factor of {doubt.factor:g}",
            ("true standard deviations", "variance", "best possible", "variance ratio"),
            scenarios,
        ),
        TextTable(
            "Strata, most influential first",
            ("stratum", "share of variance", "variance if larger", "variance if smaller"),
            strata[:SHOWN_STRATA],
            not_shown(len(strata) - SHOWN_STRATA, "strata"),
        ),
    ]
