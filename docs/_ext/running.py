"""The directive ``{run}``: Python that runs while the site is built, its output shown below it.

The cells of a page share their names and an empty folder, and run in order. A cell that raises stops the
build, so a tutorial that no longer works cannot be published. What a notebook would show is shown: printed
text, warnings of the library, the last value as table, chart or text.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from dpstrata.errors import DpstrataWarning

_PAGE = "dpstrata_page"
_folders: list[tempfile.TemporaryDirectory[str]] = []


class Run(SphinxDirective):
    """Run the content, show it and what it shows."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "alt": directives.unchanged,  # what a chart shows, for those who do not see it
        "hide-code": directives.flag,
        "slow": directives.flag,  # not run where DPSTRATA_QUICK_SITE is set, as `make test` does
    }

    def run(self) -> list[nodes.Node]:
        """Run one cell."""
        code = "\n".join(self.content)
        shown: list[nodes.Node] = []
        if "hide-code" not in self.options:
            shown.append(nodes.literal_block(code, code, language="python"))
        if "slow" in self.options and os.environ.get("DPSTRATA_QUICK_SITE"):
            return shown
        names, folder = self._page()
        try:
            text, value = run_cell(code, names, folder)
        except BaseException as error:
            where = f"{self.env.docname}, cell at line {self.lineno}"
            raise ExtensionError(f"{where}: {type(error).__name__}: {error}") from error
        if text:
            shown.append(nodes.literal_block(text, text, language="text", classes=["output"]))
        if value is not None:
            shown.append(self._show(value))
        return shown

    def _page(self) -> tuple[dict[str, Any], Path]:
        if _PAGE not in self.env.temp_data:
            _folders.append(tempfile.TemporaryDirectory())
            self.env.temp_data[_PAGE] = {"__name__": "__page__"}, Path(_folders[-1].name)
        page: tuple[dict[str, Any], Path] = self.env.temp_data[_PAGE]
        return page

    def _show(self, value: object) -> nodes.Node:
        if hasattr(value, "svg"):
            if "alt" not in self.options:
                raise ExtensionError(f"{self.env.docname}, line {self.lineno}: a chart needs :alt:.")
            data = base64.b64encode(value.svg().encode()).decode()
            alt = nodes.Text(self.options["alt"]).astext().replace('"', "&quot;")
            image = f'<img class="chart" alt="{alt}" src="data:image/svg+xml;base64,{data}">'
            return nodes.raw("", image, format="html")
        if hasattr(value, "_repr_html_"):
            return nodes.raw("", f'<div class="output">{value._repr_html_()}</div>', format="html")
        return nodes.literal_block(repr(value), repr(value), language="text", classes=["output"])


def run_cell(code: str, names: dict[str, Any], folder: Path) -> tuple[str, object]:
    r"""Run code as a notebook does.

    Returns
    -------
    text : str
        What was printed, and warnings of the library.
    value : object
        Of the last line, if it is an expression.

    Examples
    --------
    >>> run_cell("a = 6\nprint(a)\na * 7", {}, Path())
    ('6\n', 42)
    """
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
        warnings.catch_warnings(record=True) as raised,
    ):
        warnings.simplefilter("always")
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    for warning in raised:
        if not issubclass(warning.category, DpstrataWarning):
            raise warning.category(str(warning.message))
        printed.write(f"Warning: {warning.message}\n")
    return printed.getvalue(), value


def _clean(app: Sphinx, error: Exception | None) -> None:
    os.chdir(app.srcdir)
    while _folders:
        _folders.pop().cleanup()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("run", Run)
    app.connect("build-finished", _clean)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
