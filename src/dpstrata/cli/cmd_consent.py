"""``dpstrata consent``: the text for respondents."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dpstrata.cli.options import OUTPUT, DesignFile, Json


class Places(StrEnum):
    """Where answers can be changed at random."""

    device = "device"
    office = "office"


def consent_command(
    design: DesignFile,
    language: Annotated[
        str | None,
        typer.Option(help="A code such as de, or a name; by default that of the questionnaire, or English."),
    ] = None,
    noised_at: Annotated[
        Places | None,
        typer.Option(help="Where published answers are noised; by default, on devices.", show_default=False),
    ] = None,
    form: Annotated[
        int | None, typer.Option(help="A form of the questionnaire, from 1 on; by default, all of them.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the text (.txt, .html).", rich_help_panel=OUTPUT)
    ] = None,
    json: Json = False,
) -> None:
    """Write what respondents are told about a design: who sees what, what is published, how it works."""
    from json import dumps

    from dpstrata.files.writing import require_apart, write_atomically
    from dpstrata.planning.load import load_design
    from dpstrata.words.consent import as_file

    require_apart(design, out)
    told = load_design(design).consent(
        language, noised_at=None if noised_at is None else noised_at.value, form=form
    )
    if out is not None:
        write_atomically(out, as_file(told, out))
    if json:
        typer.echo(dumps(told.to_dict(), indent=1, ensure_ascii=False))
        return
    typer.echo(str(told), nl=False)
