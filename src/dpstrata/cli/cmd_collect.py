"""``dpstrata invite`` and ``collect``: links for a sample, and a server that counts what devices send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpstrata.cli.options import DesignFile
from dpstrata.words.numbers import counted

SampleFile = Annotated[Path, typer.Option(help="The sample that was drawn.")]
KeyFile = Annotated[Path, typer.Option(help="Key of the draw.")]
Id = Annotated[str, typer.Option(help="Column that identifies a person.")]
Stratum = Annotated[
    list[str] | None,
    typer.Option(help="Column with the stratum; repeat the option as in the draw.", show_default="stratum"),
]
Database = Annotated[
    str | None,
    typer.Option(
        help="Address of a PostgreSQL database; by default, a SQLite file in the folder.",
        envvar="DPSTRATA_DATABASE",
        show_default=False,
    ),
]


def invite_command(
    design: DesignFile,
    survey: Annotated[Path, typer.Option(help="Folder of the survey to make, for the collector.")],
    office_key: Annotated[
        Path,
        typer.Option(
            help="The office's private key; created if missing. Keep it off the collector: closing needs it."
        ),
    ],
    address: Annotated[
        str, typer.Option(help="Where respondents reach the collector, such as https://survey.example.org.")
    ],
    out: Annotated[Path, typer.Option(help="Invitations for mail merge (.csv, .parquet, .xlsx).")] = Path(
        "invitations.csv"
    ),
    sample: SampleFile = Path("sample.csv"),
    key_file: KeyFile = Path("draw.key"),
    id: Id = "id",
    stratum: Stratum = None,
    title: Annotated[str, typer.Option(help="What the survey is called.", show_default=False)] = "",
    batch: Annotated[
        int, typer.Option(help="How many answers of one stratum and form are counted together.")
    ] = 20,
    codes: Annotated[
        Path | None, typer.Option(help="Folder for QR codes of the links (.svg).", show_default=False)
    ] = None,
    database: Database = None,
) -> None:
    """Make a secret link for everyone in the sample, and the folder of a collector that knows nobody."""
    from dpstrata.collect.invitations import invite

    made = invite(
        design,
        survey=survey,
        sample=sample,
        key_file=key_file,
        id=id,
        stratum=stratum or ["stratum"],
        office_key=office_key,
        address=address,
        out=out,
        title=title,
        batch=batch,
        codes=codes,
        database=database,
    )
    typer.echo(
        f"{counted(made.people, 'person')} invited. Written to {out} and {survey}; the office's private "
        f"key is in {office_key}. Keep it off the collector."
    )
    typer.echo("Digest of the kit, for the letters of invitation:")
    typer.echo(made.digest)
