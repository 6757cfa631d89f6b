"""``dpstrata paper``: the paper, reproduced."""

from pathlib import Path
from typing import Annotated

import typer


def paper_command(
    out: Annotated[Path, typer.Option(help="Folder for the results; created if missing.")] = Path(
        "paper-results"
    ),
    quick: Annotated[bool, typer.Option(help="Use a smaller grid, which takes under a minute.")] = False,
) -> None:
    """Reproduce the paper: every table, figure and claim, as files and one page."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from dpstrata.cli.screen import print_table
    from dpstrata.paper.reproduction import reproduce, steps
    from dpstrata.words.tables import TextTable

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("the paper's experiments", total=steps(quick=quick))
        page, items = reproduce(
            out, quick=quick, advance=lambda words: bar.update(task, advance=1, description=words)
        )
    print_table(
        TextTable(
            "The paper's claims",
            ("claim", "computed", "holds"),
            [(row["claim"], row["computed"], row["holds"]) for row in items["claims"].rows],
        )
    )
    typer.echo(f"Written to {page}.")
