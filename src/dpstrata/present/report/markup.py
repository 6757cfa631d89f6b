"""Pages as HTML or PDF, and their pieces; whatever comes from outside is escaped here and nowhere else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path

from dpstrata.errors import InputError
from dpstrata.files.printing import print_page, require_printer
from dpstrata.files.writing import write_atomically
from dpstrata.present.charts.chart import Chart, fit_text, require_charts
from dpstrata.words.tables import TextTable

LONGEST = 120
_LONG, _LONG_FROM = ' class="long"', 30
_MOST_KEPT_TOGETHER = 16  # rows of a table that is not broken over two pages


def text(value: object) -> str:
    """Escape text; what HTML cannot hold becomes a replacement character, very long text is cut."""
    plain = str(value)
    if len(plain) > LONGEST:
        plain = f"{plain[: LONGEST - 1]}…"
    return long_text(plain)


def long_text(value: str) -> str:
    """Escape text of any length."""
    return escape(fit_text(value))


def paragraphs(sentences: Iterable[str], *, kind: str = "") -> str:
    """Write a paragraph for each sentence."""
    attribute = f' class="{kind}"' if kind else ""
    return "".join(f"<p{attribute}>{long_text(sentence)}</p>" for sentence in sentences)


def bullets(entries: Sequence[str]) -> str:
    """Write a list."""
    return f"<ul>{''.join(f'<li>{long_text(entry)}</li>' for entry in entries)}</ul>"


def table(content: TextTable, *, columns_of_text: int | None = None) -> str:
    """Write a table whose first columns are text and whose others are numbers.

    It scrolls sideways where there is no room, also by keyboard.
    """
    columns_of_text = content.columns_of_text if columns_of_text is None else columns_of_text
    header = "".join(
        f'<th scope="col"{_side(i, columns_of_text)}>{text(cell)}</th>'
        for i, cell in enumerate(content.header)
    )
    body = "".join(f"<tr>{_cells(row, columns_of_text)}</tr>" for row in content.rows)
    note = f'<p class="note">{long_text(content.note)}</p>' if content.note else ""
    title = long_text(content.title)
    kind = "wide" if len(content.rows) > _MOST_KEPT_TOGETHER else "wide kept"
    return (
        f'<div class="{kind}" role="region" tabindex="0" aria-label="{title}"><table>'
        f"<caption>{title}</caption><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table></div>{note}"
    )


def _cells(row: Sequence[str], columns_of_text: int) -> str:
    first, *others = row
    # bdi: a name in a right-to-left script does not reorder the row around it
    kind = _LONG if len(first) > _LONG_FROM else ""
    return f'<th scope="row"{kind}><bdi>{text(first)}</bdi></th>' + "".join(
        f"<td{_side(i, columns_of_text, len(cell))}>{text(cell)}</td>"
        for i, cell in enumerate(others, start=1)
    )


def _side(column: int, columns_of_text: int, length: int = 0) -> str:
    """Mark numbers, and text that needs room for several words in a line."""
    if column >= columns_of_text:
        return ' class="n"'
    return _LONG if length > _LONG_FROM else ""


def code(content: str, label: str) -> str:
    """Write a program or a command."""
    return (
        f'<pre tabindex="0" role="region" aria-label="{text(label)}"><code>{long_text(content)}</code></pre>'
    )


def figure(chart: Chart, words: str) -> str:
    """Draw a chart in place, with words for those who do not see it."""
    label = long_text(words)
    picture = chart.svg().replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
    # it scrolls sideways where there is no room, also by keyboard
    return (
        '<figure class="chart"><div class="wide" tabindex="0" role="group" aria-label="Chart">'
        f"{picture}</div>"
        f"<figcaption>{label}</figcaption></figure>"
    )


def section(key: str, title: str, *parts: str) -> str:
    """Write a section with its heading."""
    return f'<section aria-labelledby="{key}"><h2 id="{key}">{text(title)}</h2>{"".join(parts)}</section>'


def whole_page(title: str, body: Iterable[str]) -> str:
    """Write a page with the style of the reports, with no script and nothing from outside."""
    style = resources.files("dpstrata.present.report").joinpath("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; '
        f'style-src &#39;sha256-{digest}&#39;">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{text(title)}</title><style>{style}</style></head><body>{''.join(body)}</body></html>\n"
    )


def signatures(said: str, *, who: Iterable[str]) -> str:
    """Write what is signed, and a place to sign for each."""
    blanks = "".join(
        f'<div class="blank"></div><p class="note">{what}</p>' for what in ("Signature", "Name", "Date")
    )
    lines = "".join(f'<div class="signature"><p>{text(each)}</p>{blanks}</div>' for each in who)
    return paragraphs([said]) + f'<div class="signatures">{lines}</div>'


def write_page(page: str, path: Path) -> None:
    """Write a page to a file, as HTML or PDF, in full or not at all."""
    write_atomically(path, print_page(page) if path.suffix.lower() == ".pdf" else page.encode())


def check_report_path(path: Path) -> None:
    """Refuse at once a path that no report could be written to later."""
    if path.suffix.lower() not in (".html", ".htm", ".pdf"):
        raise InputError(f"a report file must end in .html or .pdf, got {path.name!r}.")
    if path.suffix.lower() == ".pdf":
        require_printer("PDF reports", otherwise=", or write .html and print that to PDF")
    require_charts()
