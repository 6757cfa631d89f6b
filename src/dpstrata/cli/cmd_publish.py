"""``dpstrata publish``: answers added up, noised at the office, and published as sums or a mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpstrata.cli.options import Sheet


def publish_command(
    design: Annotated[Path, typer.Argument(help="The design document (.json).", show_default=False)],
    answers: Annotated[
        Path,
        typer.Argument(
            help="Table of answers: noised on devices, or raw for a design without --device-epsilon.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="New file for the results (.csv, .parquet, .xlsx).")],
    sample: Annotated[Path, typer.Option(help="The sample that was drawn.")] = Path("sample.csv"),
    key_file: Annotated[Path, typer.Option(help="Key of the draw.")] = Path("draw.key"),
    id: Annotated[str, typer.Option(help="Column that identifies a person.")] = "id",
    stratum: Annotated[
        list[str] | None,
        typer.Option(
            help="Column with the stratum; repeat the option as in the draw.", show_default="stratum"
        ),
    ] = None,
    answer: Annotated[str, typer.Option(help="Column with the answers.")] = "answer",
    sheet: Sheet = None,
    again: Annotated[
        bool, typer.Option("--again", help="Publish although something was released before: losses add up.")
    ] = False,
    accept_response: Annotated[
        bool,
        typer.Option(
            "--accept-response",
            help="Release even though too few people answered to keep the promise; the ledger counts the "
            "loss.",
        ),
    ] = False,
) -> None:
    """Publish sums of the strata, or a mean, each with one draw of noise; no single answer is written."""
    from dpstrata.cli.refusals import in_flags
    from dpstrata.cli.screen import progress_of
    from dpstrata.fielding.publish import publish
    from dpstrata.words.released import published_sentences

    with progress_of("answers") as progress:
        released = publish(
            design,
            answers,
            sample=sample,
            id=id,
            stratum=stratum or ["stratum"],
            answer=answer,
            out=out,
            key_file=key_file,
            sheet=sheet,
            again=again,
            accept_response=accept_response,
            progress=progress,
        )
    for sentence in published_sentences(released, out):
        typer.echo(in_flags(sentence))
