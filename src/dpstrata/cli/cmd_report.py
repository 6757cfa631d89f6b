"""``dpstrata report``: a design document as a report to sign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report_command(
    design: Annotated[Path, typer.Argument(help="The design document (.json).", show_default=False)],
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
