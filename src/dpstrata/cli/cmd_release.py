"""``dpstrata privatize`` and ``publish``: answers noised one by one, or added up and published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpstrata.cli.options import DesignFile, Sheet

if TYPE_CHECKING:
    from dpstrata.fielding.releasing import Released

DrawnId = Annotated[
    str | None,
    typer.Option(help="Column that identifies a person; by default, as in the draw.", show_default=False),
]
DrawnStratum = Annotated[
    list[str] | None,
    typer.Option(
        help="Column with the stratum; repeat it where several are crossed. By default, as in the draw.",
        show_default=False,
    ),
]
Again = Annotated[
    bool, typer.Option("--again", help="Release even though something was released before; losses add up.")
]
AcceptResponse = Annotated[
    bool,
    typer.Option(
        "--accept-response",
        help="Release even though too few people answered to keep the promise; the ledger counts the loss.",
    ),
]


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
    sample: Annotated[Path, typer.Option(help="The sample that was drawn.")] = Path("sample.csv"),
    key_file: Annotated[Path, typer.Option(help="Key file of the draw.")] = Path("draw.key"),
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
