"""What simulated surveys and pilots gave, in a few lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpstrata.words.numbers import figure
from dpstrata.words.tables import TextTable, as_plain_text

if TYPE_CHECKING:
    from dpstrata.simulation.pilot import PilotSimulation
    from dpstrata.simulation.survey import Simulation


def simulation_lines(result: Simulation) -> str:
    """Set what simulated surveys gave beside what was predicted."""
    bias = f"{' ' * (result.bias >= 0)}{figure(result.bias, 3)}"  # with room for its sign
    most = " at most" if result.worst_case else ""
    lines = [
        f"{result.replications:,} simulated surveys (seed {result.seed}; simulated noise protects nobody)",
        f"  bias      {bias} ± {figure(result.bias_error, 2)}, predicted 0",
        f"  variance   {figure(result.variance, 6)} ± {figure(result.variance_error, 2)}, "
        f"predicted{most} {figure(result.predicted_variance, 6)}",
    ]
    if result.coverage is not None:
        lines.append(
            f"  coverage  {result.coverage: .4f} ± {result.coverage_error:.2g}, "
            f"intended {result.predicted_coverage:.4f}"
        )
    return "\n".join(lines + _questions(result))


def _questions(result: Simulation) -> list[str]:
    """Set the standard error of every question beside the predicted one."""
    if not result.questions:
        return []
    rows = [
        (
            name,
            figure(math.sqrt(each.variance)),
            f"{'at most ' if each.worst_case else ''}{figure(math.sqrt(each.predicted_variance))}",
            "" if each.coverage is None else f"{each.coverage:.4f}",
        )
        for name, each in result.questions.items()
    ]
    header = ("question", "standard error", "predicted", "coverage")
    return [as_plain_text(TextTable("Every question in its own units", header, rows))]


def pilot_simulation_lines(result: PilotSimulation) -> str:
    """Set what simulated pilots led to beside one wave without a pilot."""

    def line(name: str, value: float, more: str = "") -> str:
        return f"  {name:24}{value / result.without_pilot:.3f}{more}"

    error = result.with_pilot_error / result.without_pilot
    return "\n".join(
        [
            f"{result.replications:,} simulated pilots (seed {result.seed}; simulated noise protects nobody)",
            "mean squared error relative to one wave without a pilot",
            line("both waves combined", result.with_pilot, f" ± {error:.2g}"),
            line("after the worst pilot", result.worst),
            line("main wave alone", result.main_alone),
            line("knowing the spreads", result.knowing),
        ]
    )
