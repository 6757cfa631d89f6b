"""``dpstrata evaluate``, ``sweep``, ``sensitivity`` and ``compare-releases``: what if it were different."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpstrata.cli.options import (
    QUESTION_NAMES,
    DesignFile,
    Json,
    Plot,
    StrataFile,
    TableOut,
    read_survey,
    takes_options,
)
from dpstrata.errors import InputError, option
from dpstrata.survey.options import OPTIONS
from dpstrata.words.numbers import figure, plain_number

if TYPE_CHECKING:
    from dpstrata.survey.strata import Strata

VARIED = (
    "epsilon",
    *(name for name in QUESTION_NAMES if name != "expected_mean"),
    "mechanism",
    "objective",
    "device_epsilon",
    "local_epsilon_cap",
    "response_rate",
    "proportion",
)
_MOST_DESIGNS = 100_000


@takes_options(*(name for name in QUESTION_NAMES if name != "budget"))
def evaluate_command(
    strata: StrataFile,
    sample_sizes: Annotated[
        str | None,
        typer.Option(
            help="Number of people invited in each stratum, as in 50,50,50,50; by default, the column "
            "sample_size."
        ),
    ] = None,
    out: TableOut = None,
    plot: Plot = None,
    json: Json = False,
    *,
    options: dict[str, Any],
) -> None:
    """Compare an allocation you already have with the best one under the same privacy."""
    from dpstrata.cli.screen import print_result
    from dpstrata.files.writing import require_apart, write_result
    from dpstrata.planning.evaluate import evaluate
    from dpstrata.present.charts.allocations import allocations
    from dpstrata.present.charts.chart import check_chart_path

    check_chart_path(plot)
    require_apart(strata, out, plot)
    survey, given = read_survey(strata, options)
    result = evaluate(survey, _sizes(sample_sizes, survey), **given)
    columns = result.table()
    if out is not None:
        write_result(columns, out)
    if plot is not None:
        series = {"given": result.sample_sizes, "best": result.best.sample_sizes}
        asked = survey.counted(result.total)
        allocations(result.best, series, f"The given allocation of {asked} beside the best").save(plot)
    first, *others = result.sentences()
    print_result(result.to_dict, [first, *result.text_tables(), *others], json=json)


def _sizes(text: str | None, strata: Strata) -> list[float]:
    cells = text.split(",") if text is not None else strata.extra.get("sample_size")
    if cells is None:
        raise InputError(f"evaluate needs {option('sample_sizes')}, or a column sample_size in the file.")
    try:
        return [float(cell) for cell in cells]
    except (TypeError, ValueError):
        raise InputError(
            f"{option('sample_sizes')} must be whole numbers, one for each stratum, got {text or cells[0]!r}."
        ) from None


@takes_options(as_lists=VARIED)
def sweep_command(
    strata: StrataFile,
    out: TableOut = None,
    plot: Plot = None,
    json: Json = False,
    *,
    options: dict[str, Any],
) -> None:
    """Design for every combination of several values of epsilon, total, mechanism and other options."""
    from rich.console import Console
    from rich.progress import track

    from dpstrata.cli.screen import print_result
    from dpstrata.files.writing import require_apart, write_result
    from dpstrata.planning.evaluate import combinations, sweep_rows
    from dpstrata.present.charts.chart import check_chart_path
    from dpstrata.present.charts.plot import sweep_chart
    from dpstrata.words.tables import TextTable

    check_chart_path(plot)
    require_apart(strata, out, plot)
    survey, given = read_survey(strata, options)
    for name in VARIED:
        if isinstance(given.get(name), str):
            given[name] = _values(name, given[name])
    number = len(combinations(given))
    rows = list(
        track(
            sweep_rows(survey, given),
            total=number,
            description="designs",
            console=Console(stderr=True),
            disable=number < 50,
            transient=True,
        )
    )
    if out is not None:
        write_result({name: [row[name] for row in rows] for name in rows[0] if name != "sample_sizes"}, out)
    if plot is not None:
        sweep_chart(rows).save(plot)
    shown = [name for name in rows[0] if name != "sample_sizes"]
    columns = {name.replace("_", " "): [_cell(name, row[name]) for row in rows] for name in shown}
    print_result(lambda: rows, [TextTable.of_columns(f"{len(rows):,} designs", columns)], json=json)


def _values(name: str, text: str) -> Any:
    """Read 1,2,5 or start:stop:step as numbers, a,b as names; a single value is not varied."""
    words = [word.strip() for word in text.split(",")]
    if not OPTIONS[name].number:
        return words if len(words) > 1 else words[0]
    values: list[float] = []
    for word in words:
        try:
            ends = [float(end) for end in word.split(":")]
        except ValueError:
            raise InputError(f"{option(name)} must be numbers, got {word!r}.", value=word) from None
        if len(ends) == 1:
            values += ends
        elif len(ends) == 3 and ends[2] > 0 and ends[0] <= ends[1] < math.inf:
            count = int((ends[1] - ends[0]) / ends[2] + 1e-9) + 1
            if count > _MOST_DESIGNS:
                raise InputError(f"{option(name)} must have at most {_MOST_DESIGNS:,} values.", value=word)
            values += [round(ends[0] + i * ends[2], 12) for i in range(count)]
        else:
            raise InputError(
                f"{option(name)} must be start:stop:step with start <= stop, got {word!r}.", value=word
            )
    whole = OPTIONS[name].whole
    plain = [int(value) if whole and value.is_integer() else value for value in values]
    return plain if len(plain) > 1 else plain[0]


def _cell(name: str, value: Any) -> str:
    """Write a value: a share in percent, a result as a figure, an option with all its digits."""
    if value is None:
        return ""
    if name == "privacy_share":
        return f"{value:.1%}"
    if isinstance(value, float):
        return plain_number(value) if name in OPTIONS else figure(value)
    return f"{value:,}" if isinstance(value, int) else value if isinstance(value, str) else str(value)


def sensitivity_command(
    design: DesignFile,
    factor: Annotated[
        float, typer.Option(help="Factor by which the standard deviations may be wrong.")
    ] = 1.5,
    strata: Annotated[
        int, typer.Option(help="Number of strata for which to find the best design again.")
    ] = 5,
    out: TableOut = None,
    json: Json = False,
) -> None:
    """Show how wrong standard deviations would affect a design."""
    from dataclasses import asdict

    from dpstrata.cli.screen import print_result
    from dpstrata.files.writing import require_apart, write_result
    from dpstrata.planning.load import load_design
    from dpstrata.planning.sensitivity import sensitivity

    require_apart(design, out)
    doubt = sensitivity(load_design(design), factor=factor, strata=strata)
    if out is not None:
        write_result(doubt.table(), out)
    rows = [asdict(row) | {"ratio": row.ratio} for row in doubt.scenarios]
    data = {"factor": factor, "scenarios": rows, "strata": doubt.table()}
    print_result(lambda: data, doubt.text_tables(), json=json)


def compare_releases_command(
    design: DesignFile,
    device_epsilon: Annotated[
        float | None,
        typer.Option(
            help="Device budget for sums and a mean; by default the design's, or the largest local epsilon."
        ),
    ] = None,
    out: TableOut = None,
    json: Json = False,
) -> None:
    """Show what every form of release would give for the goal of a design, and who learns what."""
    from dpstrata.cli.screen import print_result
    from dpstrata.files.writing import require_apart, write_result
    from dpstrata.planning.compare_releases import compare_releases
    from dpstrata.planning.load import load_design
    from dpstrata.words.what_if import release_table

    require_apart(design, out)
    compared = compare_releases(load_design(design), device_epsilon=device_epsilon)
    if out is not None:
        write_result(compared.table(), out)
    print_result(compared.table, [release_table(compared)], json=json)
