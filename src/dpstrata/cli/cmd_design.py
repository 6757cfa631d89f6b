"""Commands that make a design and show it: at once, in two waves, for the least budget, in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpstrata.cli.options import (
    OUTPUT,
    PRIVACY,
    QUESTION,
    QUESTION_NAMES,
    Browser,
    DesignFile,
    Full,
    Json,
    Plot,
    Port,
    StrataFile,
    TableOut,
    read_survey,
    takes_options,
)
from dpstrata.cli.refusals import flag
from dpstrata.errors import InputError, Mention, option
from dpstrata.privacy.promises import OTHER_THAN_EPSILON

if TYPE_CHECKING:
    from dpstrata.designs.record import Design

DesignOut = Annotated[
    Path | None,
    typer.Option(
        help="Write the design document (.json) or its table (.csv, .parquet, .xlsx).", rich_help_panel=OUTPUT
    ),
]
WaveOut = Annotated[
    Path | None, typer.Option(help="Write the design document (.json).", rich_help_panel=OUTPUT)
]
_LEFT_OUT = (
    *OTHER_THAN_EPSILON,
    "release",
    "device_epsilon",
    *(name for name in QUESTION_NAMES if name != "total"),
)


class Budgets(StrEnum):
    """Budgets that can be solved for."""

    epsilon = "epsilon"
    device_epsilon = "device_epsilon"


class Aims(StrEnum):
    """What a range can be chosen for."""

    trusted = "trusted"
    least_error = "least_error"


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
    from dpstrata.cli.screen import print_result
    from dpstrata.words.design_tables import comparison_table

    plan = _design(strata, options, out, plot)
    print_result(lambda: plan.to_dict()["comparison"], [comparison_table(plan)], json=json)
    if not json:
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


@takes_options(*_LEFT_OUT)
def pilot_command(
    strata: StrataFile,
    pilot_epsilon: Annotated[
        float, typer.Option(help="Part of --epsilon that the first wave spends.", rich_help_panel=PRIVACY)
    ],
    pilot_total: Annotated[
        int,
        typer.Option(
            help="Number of people, out of --total, to invite in the first wave.", rich_help_panel=QUESTION
        ),
    ],
    out: WaveOut = None,
    full: Full = False,
    json: Json = False,
    *,
    options: dict[str, Any],
) -> None:
    """Design a small first wave that estimates the spreads; --epsilon and --total cover both waves."""
    from dpstrata.files.writing import require_apart
    from dpstrata.pilots.pilot import pilot

    require_apart(strata, out)
    survey, given = read_survey(strata, options)
    if not {"epsilon", "total"} <= set(given):
        raise InputError(
            f"a pilot needs {option('epsilon')} and {option('total')}, each for both waves together."
        )
    first = pilot(survey, pilot_epsilon=pilot_epsilon, pilot_total=pilot_total, **given)
    _show_wave(first, out, full=full, json=json)
    if not json:
        typer.echo("Draw and noise this wave like any other survey, then run dpstrata main-design.")


def main_design_command(
    pilot: Annotated[Path, typer.Argument(help="The design document of the first wave.", show_default=False)],
    published: Annotated[
        Path,
        typer.Argument(
            help="What the first wave published: the file that privatize or publish wrote.",
            show_default=False,
        ),
    ],
    stratum: Annotated[str, typer.Option(help="Column with the stratum.")] = "stratum",
    out: WaveOut = None,
    full: Full = False,
    json: Json = False,
) -> None:
    """Design the main wave from what a pilot published."""
    from dpstrata.fielding.ledger import check_release
    from dpstrata.files.writing import require_apart
    from dpstrata.pilots.pilot import main_design
    from dpstrata.planning.load import load_design

    require_apart(pilot, published, out)
    first = load_design(pilot)
    main = main_design(first, published, stratum=stratum)
    check_release(first, published, pilot)
    _show_wave(main, out, full=full, json=json)


def _show_wave(plan: Design, out: Path | None, *, full: bool, json: bool) -> None:
    from dpstrata.cli.screen import print_design
    from dpstrata.designs.document import to_json
    from dpstrata.words.design_tables import strata_table

    if out is not None:
        plan.save(out)
    if json:
        typer.echo(to_json(plan))
        return
    print_design(plan, [strata_table(plan)], full=full)
    _say_where(out)


@takes_options("total")
def solve_epsilon_command(
    strata: StrataFile,
    solve_for: Annotated[
        Budgets, typer.Option(help="Which budget to find.", rich_help_panel=PRIVACY)
    ] = Budgets.epsilon,
    digits: Annotated[
        int, typer.Option(help="How many digits the budget has, from 1 to 6.", rich_help_panel=PRIVACY)
    ] = 3,
    out: DesignOut = None,
    json: Json = False,
    *,
    options: dict[str, Any],
) -> None:
    """Find the smallest epsilon, or device epsilon, that reaches a precision; prove that less does not."""
    from dpstrata.cli.screen import print_result
    from dpstrata.files.writing import require_apart
    from dpstrata.planning.solve_epsilon import solve_epsilon
    from dpstrata.words.what_if import budget_sentences, budget_table

    require_apart(strata, out)
    survey, given = read_survey(strata, options)
    found = solve_epsilon(survey, solve_for=solve_for.value, digits=digits, **given)
    if out is not None:
        found.design.save(out)
    print_result(found.to_dict, [*budget_sentences(found), budget_table(found)], json=json)
    if not json:
        _say_where(out)


def choose_range_command(
    prior: Annotated[
        str,
        typer.Argument(
            help="What is publicly expected of the amounts: lognormal:MU:SIGMA, gamma:SHAPE:SCALE, or a "
            "table of reference values (CSV, Parquet or Excel).",
            show_default=False,
        ),
    ],
    sample_size: Annotated[int | None, typer.Option(help="Number of answers that are expected.")] = None,
    local_epsilon: Annotated[float | None, typer.Option(help="Budget of the noise of one answer.")] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan", help="A first design (.json), with any range, in place of both and of the mechanism."
        ),
    ] = None,
    lower: Annotated[float, typer.Option(help="Lower end of the range.")] = 0.0,
    aim: Annotated[
        Aims,
        typer.Option(
            help="trusted: a bias of at most a quarter of the standard error. least_error: the least mean "
            "square error."
        ),
    ] = Aims.trusted,
    mechanism: Annotated[str, typer.Option(help="Noise mechanism; best picks the least noise.")] = "best",
    column: Annotated[str | None, typer.Option(help="Column of the reference values.")] = None,
    out: TableOut = None,
    json: Json = False,
) -> None:
    """Choose the range to which amounts are clipped, from what is publicly expected of them."""
    from dpstrata.cli.screen import print_result
    from dpstrata.files.writing import require_apart, write_result
    from dpstrata.planning.choose_range import choose_range
    from dpstrata.planning.load import load_design
    from dpstrata.words.what_if import range_sentences, range_table

    require_apart(Path(prior), plan, out)
    with _prior_in_capitals():
        found = choose_range(
            prior,
            sample_size=sample_size,
            local_epsilon=local_epsilon,
            plan=None if plan is None else load_design(plan),
            lower=lower,
            aim=aim.value,
            mechanism=mechanism,
            column=column,
        )
    if out is not None:
        write_result(found.table(), out)
    print_result(found.to_dict, [range_table(found), *range_sentences(found)], json=json)


@contextmanager
def _prior_in_capitals() -> Iterator[None]:
    """Name the prior as the help of this command does: it is no option here."""

    def named(mention: Mention) -> str:
        if mention.name != "prior":
            return flag(mention)
        return mention.value or "PRIOR"

    try:
        yield
    except InputError as error:
        if error.argument != "prior":
            raise
        raise InputError(error.sentence.worded(named)) from None


def report_command(
    design: DesignFile,
    out: Annotated[
        Path, typer.Option(help="Report file to write (.html, or .pdf if the extra pdf is installed).")
    ],
    title: Annotated[str | None, typer.Option(help="Heading of the report.")] = None,
) -> None:
    """Write a design as a report to sign: one HTML file, or PDF."""
    from dpstrata.files.writing import require_apart
    from dpstrata.planning.load import load_design
    from dpstrata.present.report.markup import check_report_path
    from dpstrata.present.report.page import TITLE, write_report

    check_report_path(out)
    require_apart(design, out)
    write_report(load_design(design), out, title=title or TITLE)
    typer.echo(f"The design was checked. Report written to {out}.")


def serve_command(
    host: Annotated[
        str, typer.Option(help="Address to listen on; anyone who can reach it can use the planner.")
    ] = "127.0.0.1",
    port: Port = None,
    browser: Browser = True,
) -> None:
    """Plan in the browser: serve the planner, to this machine only by default; use --host to change."""
    from dpstrata.web import serve

    serve(host=host, port=port, browser=browser, say=typer.echo)
