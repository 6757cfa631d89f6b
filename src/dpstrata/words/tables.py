"""Tables of text, and how they are shown: plain or as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

SHOWN_STRATA = 40


class TextTable(NamedTuple):
    """A table of formatted cells; the first columns are text, the others are numbers."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
    columns_of_text: int = 1

    @classmethod
    def of_columns(
        cls, title: str, columns: Mapping[str, Sequence[str]], note: str = "", *, columns_of_text: int = 1
    ) -> TextTable:
        """Make a table from its columns, each under its heading."""
        return cls(title, tuple(columns), list(zip(*columns.values(), strict=True)), note, columns_of_text)


def not_shown(left: int, what: str) -> str:
    """Say how many rows a table leaves out, if it does."""
    return f"{left:,} more {what} are not shown." if left > 0 else ""


def shown_as_text(tables: Sequence[TextTable], sentences: Sequence[str], *, lead: Sequence[str] = ()) -> str:
    """Tables and sentences as plain text; some sentences may come first."""
    return "\n".join(
        [
            *(f"{sentence}\n" for sentence in lead),
            *(f"{as_plain_text(each)}\n" for each in tables),
            *sentences,
        ]
    )


def as_plain_text(table: TextTable) -> str:
    """One table as plain text."""
    cells = [table.header, *table.rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(table.header))]
    lines = [table.title]
    for row in cells:
        texts = [
            cell.ljust(width) if column < table.columns_of_text else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(["", *texts]))
    return "\n".join([*lines, *([f"  {table.note}"] if table.note else [])])


def shown_as_html(
    tables: Sequence[TextTable], sentences: Sequence[str] = (), *, lead: Sequence[str] = ()
) -> str:
    """Tables and sentences as HTML for a notebook; all text is escaped."""
    return "".join(
        [
            "<div>",
            *(f"<p>{escape(sentence)}</p>" for sentence in lead),
            *(_html_table(table) for table in tables),
            *(f"<p>{escape(sentence)}</p>" for sentence in sentences),
            "</div>",
        ]
    )


def _html_table(table: TextTable) -> str:
    def line(tag: str, cells: tuple[str, ...]) -> str:
        align = ["left" if column < table.columns_of_text else "right" for column, _ in enumerate(cells)]
        return "".join(
            f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>'
            for side, cell in zip(align, cells, strict=True)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in table.rows)
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return (
        f"<table><caption>{escape(table.title)}</caption><thead><tr>{line('th', table.header)}</tr></thead>"
        f"<tbody>{body}</tbody></table>{note}"
    )
