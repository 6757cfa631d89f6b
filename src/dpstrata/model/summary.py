"""A design for the eye: a table of strata, a table of rivals, and sentences. Plain text and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from dpstrata.model.comparison import Comparison
from dpstrata.model.statement import plain_number, round_up

if TYPE_CHECKING:
    from dpstrata.model.design_record import Design

SHOWN_STRATA = 40
TITLES = {
    "optimal": "this design",
    "neyman": "Neyman",
    "proportional": "proportional",
    "equal": "equal",
}


class TextTable(NamedTuple):
    """A table of formatted cells; the first column is text, the others are numbers."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""


def strata_table(plan: Design) -> TextTable:
    """Sample sizes, local budgets and noise of each stratum."""
    shown = min(len(plan.strata), SHOWN_STRATA)
    local, noise = plan.local_epsilons, plan.noise_sds
    rows: list[tuple[str, ...]] = [
        (
            plan.strata.name(i),
            f"{plan.strata.sizes[i]:,}",
            f"{plan.sds[i]:.4g}",
            f"{plan.sample_sizes[i]:,}",
            f"{plan.sample_sizes[i] / plan.strata.sizes[i]:.3%}",
            round_up(float(local[i]), 3),
            f"{noise[i]:.4g}",
        )
        for i in range(shown)
    ]
    left = len(plan.strata) - shown
    rows.append(("all", f"{plan.strata.population:,}", "", f"{plan.total:,}", "", "", ""))
    return TextTable(
        f"{plan.total:,} interviews in {len(plan.strata):,} strata, "
        f"epsilon = {plain_number(plan.inputs.epsilon)}, {plan.mechanism.title} noise",
        ("stratum", "size", "sd", "sample size", "rate", "local epsilon", "noise sd"),
        rows,
        f"{left:,} more strata are not shown." if left else "",
    )


def comparison_table(plan: Design) -> TextTable:
    """Set the design beside Neyman, proportional and equal allocation."""
    mean = plan.inputs.objective == "mean"
    measure = "standard error" if mean else "objective"
    rows = [
        (
            TITLES[row.design],
            _short_sizes(row),
            f"{row.variance if row.standard_error is None else row.standard_error:.4g}",
            f"{row.variance:.4g}",
            "1" if row.design == "optimal" else f"{row.ratio:.3f} times",
            "" if row.effective_sample_size is None else f"{row.effective_sample_size:.1f}",
        )
        for row in plan.compare()
    ]
    return TextTable(
        "The same privacy with other allocations",
        (
            "allocation",
            "sample sizes",
            measure,
            "variance",
            "variance ratio",
            "effective size",
        ),
        rows,
    )


def _short_sizes(row: Comparison) -> str:
    sizes = row.sample_sizes
    return " + ".join(str(n) for n in sizes.tolist()) if len(sizes) <= 6 else f"{int(sizes.sum()):,} in all"


def sentences(plan: Design) -> list[str]:
    """State the result, its certificate and its promise, a sentence or two each."""
    parts = plan.variance_parts
    share = parts.privacy / parts.total if parts.total > 0 else 0.0
    if plan.standard_error is not None:
        result = (
            f"{plan.total:,} interviews give a standard error of {plan.standard_error:.4g} for the "
            f"population mean; {share:.1%} of the variance comes from privacy, the rest from sampling."
        )
    else:
        result = (
            f"{plan.total:,} interviews give an objective ({plan.inputs.objective}) of {plan.variance:.4g}; "
            f"{share:.1%} of it comes from privacy, the rest from sampling."
        )
    outcome = []
    if plan.outcome is not None:
        outcome.append(plan.outcome.in_words(plan.total, mean=plan.inputs.objective == "mean"))
    privacy = plan.privacy
    assumptions = f"The assumptions: {'; '.join(privacy['assumptions'])}."
    return [result, *outcome, plan.certificate.in_words, privacy["in_words"], assumptions]


def as_text(plan: Design) -> str:
    """Everything as plain text."""
    lines = []
    for table in (strata_table(plan), comparison_table(plan)):
        cells = [table.header, *table.rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(table.header))]
        lines.append(table.title)
        for first, *others in cells:
            numbers = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
            lines.append("  ".join(["", first.ljust(widths[0]), *numbers]))
        lines += [f"  {table.note}"] if table.note else []
        lines.append("")
    return "\n".join([*lines, *sentences(plan)])


def as_html(plan: Design) -> str:
    """Everything as HTML for a notebook; all text is escaped."""
    return "".join(
        [
            "<div>",
            *(_html_table(table) for table in (strata_table(plan), comparison_table(plan))),
            *(f"<p>{escape(sentence)}</p>" for sentence in sentences(plan)),
            "</div>",
        ]
    )


def _html_table(table: TextTable) -> str:
    def line(tag: str, cells: tuple[str, ...]) -> str:
        align = ("left",) + ("right",) * (len(cells) - 1)
        return "".join(
            f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>'
            for side, cell in zip(align, cells, strict=True)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in table.rows)
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return (
        f"<table><caption>{escape(table.title)}</caption><thead><tr>{line('th', table.header)}</tr></thead>"
        f"<tbody>{body}</tbody></table>{note}"
    )
