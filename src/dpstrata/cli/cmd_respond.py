"""``dpstrata kit`` and ``dpstrata respond``: what respondents' devices need, and what they show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DesignFile = Annotated[Path, typer.Argument(help="The design document (.json).", show_default=False)]
Title = Annotated[
    str,
    typer.Option(
        help="What the survey is called; by default the title of the questionnaire.", show_default=False
    ),
]
Text = Annotated[
    str | None,
    typer.Option(help="The question as respondents read it, for a design with a single question."),
]


def kit_command(
    design: DesignFile,
    out: Annotated[Path, typer.Option(help="File to write (.json).")],
    title: Title = "",
    text: Text = None,
) -> None:
    """Write the kit of a design: what respondents' devices ask, and how they randomise the answers."""
    from dpstrata.collect.kit import respondent_kit
    from dpstrata.designs.record import Design
    from dpstrata.files.writing import require_apart

    require_apart(design, out)
    kit = respondent_kit(Design.read(design), title=title, text=text)
    kit.save(out)
    typer.echo(f"Kit written to {out}. Its digest, for the letters of invitation:")
    typer.echo(kit.digest)


def respond_command(
    design: DesignFile,
    title: Title = "",
    text: Text = None,
    port: Annotated[
        int | None,
        typer.Option(help="Port; by default, the first free one from 8000 up.", show_default=False),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Preview what respondents see: every form, on this machine only, with nothing stored."""
    from dpstrata.collect.kit import respondent_kit
    from dpstrata.collect.preview import preview
    from dpstrata.designs.record import Design

    kit = respondent_kit(Design.read(design), title=title, text=text)
    preview(kit, port=port, browser=browser, say=typer.echo)
