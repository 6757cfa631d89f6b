"""``dpstrata frame`` and ``draw``: from a list of everyone to the secret sample."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

FrameFile = Annotated[
    Path,
    typer.Argument(
        help="Everyone: CSV, Parquet, Excel or a DuckDB database (with --table).", show_default=False
    ),
]
Id = Annotated[str, typer.Option(help="Column that identifies a person.")]
Stratum = Annotated[list[str], typer.Option(help="Column that says the stratum; repeat it to cross several.")]
TableName = Annotated[str | None, typer.Option(help="Table of a DuckDB database.")]


class SdSource(StrEnum):
    """Where a spread may come from."""

    public = "public"
    prior = "prior"


def frame_command(
    frame: FrameFile,
    id: Id,
    stratum: Stratum,
    out: Annotated[Path, typer.Option(help="Strata file to write (.csv, .parquet, .xlsx, .json).")],
    table: TableName = None,
    sd_column: Annotated[
        str | None, typer.Option(help="Public or prior column whose spread stands for that of the answers.")
    ] = None,
    sd_source: Annotated[SdSource | None, typer.Option(help="Which of the two it is.")] = None,
) -> None:
    """Count the strata of a frame and write them as a strata file."""
    from dpstrata.model.output import write_table
    from dpstrata.survey.frames import frame_strata, open_frame

    source: Literal["public", "prior"] | None = None if sd_source is None else sd_source.value
    strata = frame_strata(
        open_frame(frame, id=id, stratum=stratum, table=table), sd_column=sd_column, sd_source=source
    )
    columns = {"stratum": list(strata.names), "size": strata.sizes.tolist()}
    if strata.sds is not None:
        columns |= {"sd": strata.sds.tolist(), "sd_source": [source] * len(strata)}
    write_table(columns, out)
    typer.echo(f"{strata.population:,} people in {len(strata):,} strata. Written to {out}.")


def draw_command(
    design: Annotated[Path, typer.Argument(help="The design document (.json).", show_default=False)],
    frame: FrameFile,
    id: Id,
    stratum: Stratum,
    out: Annotated[
        Path, typer.Option(help="The sample: written (.csv, .parquet, .xlsx), or with --verify read.")
    ],
    key: Annotated[
        Path, typer.Option(help="Key file; made if it does not exist. Who holds it knows the sample.")
    ] = Path("draw.key"),
    table: TableName = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check a sample instead of drawing one.")] = False,
) -> None:
    """Draw the secret sample of a design, or check one."""
    from dpstrata.survey.frames import open_frame
    from dpstrata.survey.records import draw, verify_draw

    everyone = open_frame(frame, id=id, stratum=stratum, table=table)
    if verify:
        verify_draw(design, everyone, sample=out, key_file=key)
        typer.echo(f"{out} is the sample that design, frame and key give.")
        return
    record = draw(design, everyone, out=out, key_file=key)
    people = sum(row["sample_size"] for row in record["strata"])
    typer.echo(
        f"{people:,} people drawn. Written to {out} and draw.json; the key is in {key}: keep it secret."
    )
