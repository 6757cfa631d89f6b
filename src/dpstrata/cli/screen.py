"""Tables and paragraphs on the terminal; stratum names are shown as they are, never as markup."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from json import dumps
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpstrata.cli.refusals import in_flags
from dpstrata.designs.record import Design
from dpstrata.words.designs import promise_in_full, promise_in_short, reasons, result_in_words
from dpstrata.words.tables import TextTable

_QUIET = 15.0  # seconds after which a log is told how far something is


def print_design(plan: Design, tables: Sequence[TextTable], *, full: bool) -> None:
    """Print a design with its result first; what is promised briefly, unless in full."""
    short = f"Privacy: {promise_in_short(plan)}; --full shows the promise and what it assumes."
    promise = promise_in_full(plan) if full else [short]
    print_all([result_in_words(plan), *tables, *reasons(plan, full=full), *promise])


def print_result(data: Callable[[], Any], shown: Iterable[str | TextTable], *, json: bool) -> None:
    """Print sentences and tables, or only the data as JSON."""
    if json:
        typer.echo(dumps(data(), indent=1))
    else:
        print_all(shown)


def print_all(shown: Iterable[str | TextTable]) -> None:
    """Print sentences and tables."""
    for part in shown:
        if isinstance(part, TextTable):
            print_table(part)
        else:
            print_paragraph(part)


def print_table(table: TextTable) -> None:
    """Print a table with its title and note."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=110)
    grid = Table(title=Text(table.title), title_justify="left", caption_justify="left")
    for i, name in enumerate(table.header):
        grid.add_column(name, justify="left" if i < table.columns_of_text else "right")
    for row in table.rows:
        grid.add_row(*map(_text, row))
    console.print(grid)
    if table.note:
        console.print(_text(table.note))
    console.print()


class _Lines:
    """How far something is, in a line now and then."""

    def __init__(self, what: str) -> None:
        self._what, self._done, self._last = what, 0, time.monotonic()

    def add(self, number: int) -> None:
        """Count what was done, and say so if nothing was said for a while."""
        self._done += number
        if time.monotonic() - self._last >= _QUIET:
            self._last = time.monotonic()
            typer.echo(f"{self._done:,} {self._what} done.", err=True)


@contextmanager
def progress_of(what: str) -> Iterator[Callable[[int], None]]:
    """Show a bar while something goes on; what it yields is called with how much was done.

    Where there is no terminal, as in a log, a line says every quarter of a minute how far it is.
    """
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(what).add
        return
    columns = TextColumn(what), BarColumn(), TextColumn("{task.completed:,}")
    bar = Progress(*columns, console=console, transient=True)
    with bar:
        task = bar.add_task(what, total=None)
        yield lambda number: bar.advance(task, number)


def print_paragraph(text: str) -> None:
    """Print a sentence or two, wrapped, with options as they are typed."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=110)
    console.print(_text(text))
    console.print()


def _text(text: str) -> Text:
    """Take text as it is, and options that a sentence mentions as they are typed."""
    return Text(in_flags(text))
