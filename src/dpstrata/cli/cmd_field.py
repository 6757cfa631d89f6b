"""``dpstrata frame``, ``draw``, ``privatize``, ``publish`` and ``estimate``: a design carried out."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import typer

from dpstrata.cli.options import (
    OUTPUT,
    AcceptResponse,
    Again,
    DesignFile,
    DrawnId,
    DrawnStratum,
    Json,
    KeyFile,
    Language,
    Plot,
    SampleFile,
    Sheet,
    TableOut,
)
from dpstrata.words.numbers import counted

if TYPE_CHECKING:
    from dpstrata.designs.record import Design
    from dpstrata.fielding.releasing import Released
    from dpstrata.fielding.results.results import Results

_Files: TypeAlias = tuple[Path | None, Path | None, Path | None]
"""Where the table of estimates goes, their covariances, and the chart."""

FrameFile = Annotated[
    str,
    typer.Argument(
        help="List of everyone in the population: CSV, Parquet, Excel, Stata, SPSS, a Spark table, or with "
        "--table a DuckDB or SQLite database or the address of a PostgreSQL one.",
        show_default=False,
    ),
]
Id = Annotated[str, typer.Option(help="Column that identifies a person.")]
Stratum = Annotated[
    list[str], typer.Option(help="Column with the stratum; repeat the option to cross several columns.")
]
TableName = Annotated[str | None, typer.Option(help="Table of a database that lists the people.")]


class EngineName(StrEnum):
    """What reads large tables."""

    duckdb = "duckdb"
    spark = "spark"


EngineOption = Annotated[
    EngineName,
    typer.Option(
        help="Engine that reads the table: DuckDB on this machine, or Spark, which also takes its own paths "
        "and tables."
    ),
]


class SdSource(StrEnum):
    """Where a spread may come from."""

    public = "public"
    prior = "prior"


def frame_command(
    frame: FrameFile,
    id: Id,
    stratum: Stratum,
    out: Annotated[Path, typer.Option(help="Strata file to write (.csv, .parquet, .xlsx).")],
    table: TableName = None,
    sheet: Sheet = None,
    engine: EngineOption = EngineName.duckdb,
    sd_column: Annotated[
        str | None,
        typer.Option(help="Column, public or known beforehand, whose spread is used for the answers."),
    ] = None,
    sd_source: Annotated[
        SdSource | None, typer.Option(help="Whether that column is public or prior knowledge.")
    ] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            help="Stratum column that is a weighting class: cells get sample sizes of their own, and the "
            "column reported_stratum names the coarser strata; may be repeated."
        ),
    ] = None,
) -> None:
    """Count the strata of a frame and write them as a strata file."""
    from dpstrata.fielding.frames import frame_strata, open_frame
    from dpstrata.files.writing import require_apart, require_table_path, write_unless_edited

    source: Literal["public", "prior"] | None = None if sd_source is None else sd_source.value
    everyone = open_frame(frame, id=id, stratum=stratum, table=table, sheet=sheet, engine=engine.value)
    require_apart(*everyone.files, out)
    require_table_path(out)
    strata = frame_strata(everyone, sd_column=sd_column, sd_source=source, classes=classes or ())
    columns = {"stratum": list(strata.names), "size": strata.sizes.tolist()}
    columns |= {name: list(cells) for name, cells in strata.extra.items()}
    if strata.sds is not None:
        columns |= {"sd": strata.sds.tolist(), "sd_source": [source] * len(strata)}
    write_unless_edited(columns, out)
    people = counted(strata.population, "person")
    typer.echo(f"{people} in {counted(len(strata), 'stratum')}. Written to {out}.")


def draw_command(
    design: DesignFile,
    frame: FrameFile,
    id: Id,
    stratum: Stratum,
    out: Annotated[
        Path, typer.Option(help="Sample file to write (.csv, .parquet, .xlsx) or, with --verify, to check.")
    ],
    key_file: Annotated[
        Path,
        typer.Option(
            help="Key file of the draw; created if missing. Whoever holds it can tell who is in the sample."
        ),
    ] = Path("draw.key"),
    table: TableName = None,
    sheet: Sheet = None,
    engine: EngineOption = EngineName.duckdb,
    verify: Annotated[bool, typer.Option("--verify", help="Check a sample instead of drawing one.")] = False,
) -> None:
    """Draw the secret sample of a design from a frame, or check one."""
    from dpstrata.fielding.draw import draw, verify_draw
    from dpstrata.fielding.frames import open_frame

    everyone = open_frame(frame, id=id, stratum=stratum, table=table, sheet=sheet, engine=engine.value)
    if verify:
        verify_draw(design, everyone, sample=out, key_file=key_file)
        typer.echo(f"{out} is the sample that this design, frame and key produce.")
        return
    record = draw(design, everyone, out=out, key_file=key_file)
    people = sum(row["sample_size"] for row in record["strata"])
    typer.echo(
        f"{counted(people, 'person')} drawn. Written to {out} and draw.json; the key "
        f"is in {key_file}. Keep it secret."
    )


def privatize_command(
    design: DesignFile,
    answers: Annotated[
        Path | None,
        typer.Argument(help="Table of raw answers, to noise as a batch at the office.", show_default=False),
    ] = None,
    stratum_value: Annotated[
        str | None,
        typer.Option(
            help="Stratum of one respondent, whose answers to the question are read from standard input, "
            "one per line."
        ),
    ] = None,
    sample: Annotated[Path | None, typer.Option(help="The sample that was drawn.")] = None,
    id: DrawnId = None,
    stratum: DrawnStratum = None,
    out: Annotated[
        Path | None, typer.Option(help="New file for the noised answers (.csv, .parquet, .xlsx).")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="Key file of the draw.", show_default="draw.key")
    ] = None,
    sheet: Sheet = None,
    again: Again = False,
    accept_response: AcceptResponse = False,
) -> None:
    """Noise answers: one at a time on the respondent's side, or a batch at the office.

    Will the office see raw answers? If not, noise each answer on the respondent's device (--stratum-value).
    If it will, design with --release sums and use publish: noising the sum of each stratum once is far more
    precise than noising every answer, and promises everyone else the same.
    """
    from dpstrata.errors import InputError, option

    batch = {"sample": sample, "out": out}
    others = {
        "id": id,
        "stratum": stratum,
        "key_file": key_file,
        "sheet": sheet,
        "again": again or None,
        "accept_response": accept_response or None,
    }
    given = ["a table of answers"] * (answers is not None) + [
        option(name) for name, value in (batch | others).items() if value is not None
    ]
    if stratum_value is not None:
        if given:
            raise InputError(f"{option('stratum_value')} is for one respondent only, got {given[0]} too.")
        _one_by_one(design, stratum_value)
        return
    if answers is None:
        raise InputError(
            f"privatize needs a table of answers, or {option('stratum_value')} for one respondent."
        )
    missing = [name for name in batch if batch[name] is None]
    if missing:
        raise InputError(f"a batch of answers needs {', '.join(map(option, missing))}.")
    assert sample is not None
    assert out is not None
    from dpstrata.fielding.publish import privatize
    from dpstrata.words.released import privatized_sentences

    _release(
        partial(privatize, design, answers, sample=sample, key_file=key_file or Path("draw.key"), out=out),
        {"id": id, "stratum": stratum, "sheet": sheet},
        {"again": again, "accept_response": accept_response},
        lambda released: privatized_sentences(released, out),
    )


def _one_by_one(design: Path, stratum: str) -> None:
    import sys

    from dpstrata.designs.record import Design
    from dpstrata.fielding.answer_files import place_of
    from dpstrata.fielding.randomize import randomize

    plan = Design.read(design)
    place_of(plan, stratum)  # says at once if there is no such stratum
    blank = all(question.blank for question in plan.inputs.questions)  # then that is an answer
    for line in sys.stdin:
        if blank or line.strip():
            typer.echo(str(randomize(plan, stratum, line).value))


def publish_command(
    design: DesignFile,
    answers: Annotated[
        Path,
        typer.Argument(
            help="Table of answers: noised on devices, or raw for a design without --device-epsilon.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="New file for the results (.csv, .parquet, .xlsx).")],
    sample: SampleFile = Path("sample.csv"),
    key_file: KeyFile = Path("draw.key"),
    id: DrawnId = None,
    stratum: DrawnStratum = None,
    sheet: Sheet = None,
    again: Again = False,
    accept_response: AcceptResponse = False,
) -> None:
    """Publish sums of the strata, or a mean, each with one draw of noise; no single answer is written."""
    from dpstrata.fielding.publish import publish
    from dpstrata.words.released import published_sentences

    _release(
        partial(publish, design, answers, sample=sample, key_file=key_file, out=out),
        {"id": id, "stratum": stratum, "sheet": sheet},
        {"again": again, "accept_response": accept_response},
        lambda released: published_sentences(released, out),
    )


def _release(
    step: Callable[..., Released],
    columns: dict[str, Any],
    consent: dict[str, bool],
    sentences: Callable[[Released], list[str]],
) -> None:
    """Carry out a release with a bar on the screen, and say what it comes to."""
    from dpstrata.cli.refusals import in_flags
    from dpstrata.cli.screen import progress_of

    with progress_of("answers") as progress:
        released = step(**columns, **consent, progress=progress)
    for sentence in sentences(released):
        typer.echo(in_flags(sentence))


def estimate_command(
    design: DesignFile,
    noised: Annotated[
        str,
        typer.Argument(
            help="What was published: the file that privatize, publish or collect close wrote.",
            show_default=False,
        ),
    ],
    stratum: Annotated[str, typer.Option(help="Column with the stratum.")] = "stratum",
    out: TableOut = None,
    covariance: Annotated[
        Path | None,
        typer.Option(
            help="Write the covariances of the estimates, in the order of the table (.csv, .json, .parquet, "
            ".xlsx).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    plot: Plot = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write the results as a report to sign (.html, or .pdf with the extra pdf)."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the report.")] = None,
    language: Language = None,
    pilot: Annotated[
        Path | None, typer.Option(help="Design document of the pilot, to combine both waves.")
    ] = None,
    pilot_answers: Annotated[Path | None, typer.Option(help="What the pilot published.")] = None,
    ratio: Annotated[
        list[str] | None,
        typer.Option(
            help="Estimate a ratio of this figure, written question=answer, to that of "
            "--over; several answers are separated by |. Repeat both options for more."
        ),
    ] = None,
    over: Annotated[
        list[str] | None, typer.Option(help="Denominator of a ratio, written question=answer.")
    ] = None,
    engine: EngineOption = EngineName.duckdb,
    json: Json = False,
    classes: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    weights: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Estimate means, or shares of categories, with intervals that cover both sampling and privacy."""
    from dpstrata.designs.record import Design
    from dpstrata.fielding.estimate import estimate_from
    from dpstrata.files.writing import require_apart
    from dpstrata.present.charts.chart import check_chart_path
    from dpstrata.present.report.results import require_language
    from dpstrata.survey.classes import refuse_late

    refuse_late(classes=classes or None, weights=weights)
    check_chart_path(plot)
    require_apart(design, Path(noised), pilot, pilot_answers, out, covariance, plot, report)
    reading: Any = {"stratum": stratum, "engine": engine.value}
    if report is not None:
        require_report_path(report, here=engine.value == "duckdb")
    plan = Design.read(design)  # and its proof checked, once for all that follows
    if report is not None and language is not None:
        require_language(plan, language)
    waves = [_Wave(plan, design, Path(noised))]
    result = estimate_from(plan, noised, document=design, **reading)
    if pilot is not None or pilot_answers is not None:
        first, result = _with_pilot(plan, result, pilot, pilot_answers, reading)
        waves.append(first)
    ratios = _ratios(result, ratio or [], over or [])
    _warn_unlisted(waves[0])
    if report is not None:
        _report(waves, result, ratios, report, title, language)
    _show(result, ratios, (out, covariance, plot), json=json)


class _Wave(NamedTuple):
    """A design that has been read, its document, and what was published."""

    plan: Design
    design: Path
    noised: Path


def _warn_unlisted(wave: _Wave) -> None:
    """Warn of sums that may have been released with another design; answers from devices are on no ledger."""
    from dpstrata.fielding.ledger import find_release
    from dpstrata.words.results import unlisted_in_words

    if wave.noised.is_file() and wave.plan.inputs.release != "microdata":
        found = find_release(wave.plan, wave.noised, wave.design)
        if found.entry is None and not found.others:  # others have been warned of
            typer.echo(f"Warning: {unlisted_in_words(wave.noised.name)}", err=True)


def _show(result: Results, ratios: list[Results], files: _Files, *, json: bool) -> None:
    """Write and show the estimates, and ratios of them."""
    from dpstrata.cli.screen import print_all
    from dpstrata.files.writing import write_result
    from dpstrata.present.charts.plot import plot as chart_of

    out, covariance, plot = files
    found = result.with_ratios(ratios)
    if covariance is not None:  # first, because there may be too many
        write_result(found.covariance.columns(), covariance)
    if out is not None:
        write_result(found.columns.lists(), out)
    if plot is not None:
        chart_of(result).save(plot)
    if json:
        typer.echo(found.to_json())
        return
    print_all([found.table, *found.sentences])


def require_report_path(path: Path, *, here: bool = True) -> None:
    """Refuse at once a report that could not be written later."""
    from dpstrata.errors import InputError, option
    from dpstrata.files.writing import require_room
    from dpstrata.present.report.markup import check_report_path

    check_report_path(path)
    require_room(path, 0)
    if not here:
        raise InputError(f"{option('report')} is not available together with {option('engine')} spark.")


def _report(
    waves: list[_Wave],
    result: Results,
    ratios: list[Results],
    path: Path,
    title: str | None,
    language: str | None,
) -> None:
    """Write the report of results, given each wave, the last one first."""
    from dpstrata.present.report.results import find_published, write_results

    found = [find_published(wave.plan, wave.noised, wave.design) for wave in waves]
    of_pilot = found[1] if len(found) > 1 else None
    shown: Any = {"title": title, "language": language}
    write_results(waves[0].plan, result, path, found[0], ratios=ratios, pilot=of_pilot, **shown)


def _ratios(result: Results, over: list[str], under: list[str]) -> list[Results]:
    """Estimate the ratios that are asked for."""
    from dpstrata.errors import InputError, option

    if len(over) != len(under):
        raise InputError(
            f"{option('ratio')} and {option('over')} must be given equally often, got {len(over)} and "
            f"{len(under)}."
        )
    names = set(result.columns.question)
    figures = [[_figure(text, names) for text in texts] for texts in (over, under)]
    return [result.ratio(*pair) for pair in zip(*figures, strict=True)]


def _figure(text: str, names: set[str]) -> tuple[str, list[str]]:
    """Read a question and its answers; the sign between them may be in the name of either."""
    known = [name for name in names if text.startswith(f"{name}=")]
    question = max(known, key=len, default=text.partition("=")[0])
    return question, text[len(question) + 1 :].split("|")


def _with_pilot(
    plan: Design,
    main: Results,
    pilot: Path | None,
    pilot_answers: Path | None,
    reading: Any,
) -> tuple[_Wave, Results]:
    """Combine the estimates of the main wave with those of its pilot, which is read here."""
    from dpstrata.designs.record import Design
    from dpstrata.errors import InputError, option
    from dpstrata.fielding.estimate import estimate_from
    from dpstrata.pilots.pilot import combine_waves

    if pilot is None or pilot_answers is None:
        raise InputError(f"to combine two waves, give both {option('pilot')} and {option('pilot_answers')}.")
    first = _Wave(Design.read(pilot), pilot, pilot_answers)
    of_first = estimate_from(first.plan, pilot_answers, document=pilot, **reading)
    return first, combine_waves(first.plan, plan, of_first, main)
