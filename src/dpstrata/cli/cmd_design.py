"""``dpstrata design`` and ``dpstrata compare``: the same design, shown in two ways."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpstrata.cli.options import OUTPUT, Full, Json, Plot, StrataFile, read_survey, takes_options

if TYPE_CHECKING:
    from dpstrata.designs.record import Design

DesignOut = Annotated[
    Path | None,
    typer.Option(
        help="Write the design document (.json) or its table (.csv, .parquet, .xlsx).", rich_help_panel=OUTPUT
    ),
]


@takes_options()
def design_command(
    strata: StrataFile,
    out: DesignOut = None,
    plot: Plot = None,
    full: Full = False,
    json: Json = False,
    *,
    options: dict[str, Any],
) -> None:
    """Allocate a sample to strata: the exact optimum, with a proof."""
    from dpstrata.cli.screen import print_design
    from dpstrata.designs.document import to_json
    from dpstrata.words.design_tables import tables

    plan = _design(strata, options, out, plot)
    if json:
        typer.echo(to_json(plan))
        return
    print_design(plan, tables(plan), full=full)
    _say_where(out, plot)
    if out is not None and plan.inputs.default_questions:
        typer.echo(
            "This design is for planning only: state the possible answers (--questions) before you draw "
            "the sample."
        )


@takes_options()
def compare_command(
    strata: StrataFile,
    out: DesignOut = None,
    plot: Plot = None,
    json: Json = False,
    *,
    options: dict[str, Any],
) -> None:
    """Compare the optimum with Neyman, proportional and equal allocation."""
    from json import dumps

    from dpstrata.cli.screen import print_table
    from dpstrata.words.design_tables import comparison_table

    plan = _design(strata, options, out, plot)
    if json:
        typer.echo(dumps(plan.to_dict()["comparison"], indent=1))
        return
    print_table(comparison_table(plan))
    _say_where(out, plot)


def _design(path: Path, options: dict[str, Any], out: Path | None, plot: Path | None) -> Design:
    from dpstrata.files.writing import require_apart
    from dpstrata.planning.design import design

    require_apart(path, out, plot)
    if plot is not None:
        from dpstrata.present.charts.chart import check_chart_path

        check_chart_path(plot)
    survey, given = read_survey(path, options)
    plan = design(survey, **given)
    if out is not None:
        plan.save(out)
    if plot is not None:
        from dpstrata.present.charts.plot import plot as plot_design

        plot_design(plan).save(plot)
    return plan


def _say_where(*paths: Path | None) -> None:
    for path in paths:
        if path is not None:
            typer.echo(f"Written to {path}.")
