"""Tables and paragraphs on the terminal; stratum names are shown as they are, never as markup."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpstrata.cli.refusals import in_flags
from dpstrata.words.tables import TextTable


def print_table(table: TextTable) -> None:
    """Print a table with its title and note."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=110)
    grid = Table(title=Text(table.title), title_justify="left", caption_justify="left")
    for i, name in enumerate(table.header):
        grid.add_column(name, justify="left" if i == 0 else "right")
    for row in table.rows:
        grid.add_row(*map(_text, row))
    console.print(grid)
    if table.note:
        console.print(_text(table.note))
    console.print()


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
