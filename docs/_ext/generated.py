"""Fill ``<!-- generated: NAME -->`` in a page with Markdown made from the code: it cannot go stale."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from command_line import command_line_pages
from form_tables import result_table, size_table
from import_graph import draw_import_graph, module_tables
from json_api import json_api_page
from options_table import option_tables
from release_tables import release_tables
from schema_tables import schema_page
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).parent.parent
PARTS: dict[str, Callable[[], str]] = {
    "command-line": command_line_pages,
    "design-document-schema": lambda: schema_page(DOCS / "design-document.schema.json"),
    "form-results": result_table,
    "form-sizes": size_table,
    "json-api": json_api_page,
    "options": option_tables,
    "release-tables": release_tables,
    "import-graph": draw_import_graph,
    "module-tables": module_tables,
}
_MARK = re.compile(r"^<!-- generated: (\S+) -->$", re.MULTILINE)


def fill(text: str) -> str:
    """Replace every mark by its part."""

    def part(match: re.Match[str]) -> str:
        if match[1] not in PARTS:
            raise ExtensionError(f"a generated part is one of {', '.join(PARTS)}, got {match[1]!r}.")
        return PARTS[match[1]]()

    return _MARK.sub(part, text)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    if _MARK.search(source[0]):
        app.env.note_reread()
        source[0] = fill(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the filling."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
