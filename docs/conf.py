"""How the documentation site is built; ``make docs`` runs it.

Nothing here or in the site asks another machine: fonts are the reader's own, MathJax lies in ``_static``.
"""

import logging
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from docutils import nodes
from sphinx.application import Sphinx

from dpstrata.version import __version__

# `make test` leaves to `make docs` what takes a third of the time: slow cells, the index for searching, the
# menu but on pages called index, and in it the names that pages document.
QUICK = bool(os.environ.get("DPSTRATA_QUICK_SITE"))

project = "dpstrata"
author = copyright = "The dpstrata developers"
version = release = __version__
language = "en_GB"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "running",
    "generated",
    "public_names",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # the changelog's own headings, below the page's

# --- the library's docstrings -----------------------------------------------------------------
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries = not QUICK
napoleon_google_docstring = False
napoleon_use_param = False  # "float, > 0" is prose, not the name of a class
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
# Other people's classes are named, not linked: their addresses would have to be fetched to be checked.
nitpick_ignore_regex = [
    (
        "py:.*",
        r"(numpy|np|npt|pathlib|datetime|collections|typing|narwhals|abc|float64|int64|pandas|polars|pyarrow)\b.*",
    ),
    (
        "py:.*",
        r"(Path|Any|Literal|Mapping|Sequence|Callable|Iterator|ArrayLike|NDArray|Into\w+|DataFrame|ABC)",
    ),
    (
        "py:.*",
        r"(Engine|FrameLibrary|Sift|SpreadRecord|Forms|Questions|FloatArray|IntArray|Texts)",
    ),  # aliases of a few strings, records or a callable
    (
        "py:.*",
        r"dpstrata\.(privacy\.answer_space\.AnswerSpace|allocation\.terms\.Terms|allocation\.form_terms\.FormTerms|privacy\.mechanisms\.noise\.Noise|survey\.questionnaires\.kinds\.base\.QuestionKind|privacy\.rows\.Quadratic|allocation\.domains\.(Family|Partition)|survey\.goals\.\w+|survey\.targets\.\w+|survey\.releases\.base\.Release|words\.tables\.TextTable|fielding\.sample\.ReportKey|fielding\.covariances\.(Errors|Origins)|fielding\.results\.(form_figures\.TableCounts|figures\.QuestionFigures)|allocation\.posing\.DefaultMinimum)|Release",
    ),  # inner parts
]

# --- looks ------------------------------------------------------------------------------------
html_theme = "furo"
html_title = f"dpstrata {__version__}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b4f7d", "color-brand-content": "#0b5f97"},
    "dark_css_variables": {"color-brand-primary": "#7cc0ec", "color-brand-content": "#7cc0ec"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}  # its menu would load more from elsewhere


# The colours of code (a11y_pygments) let every package log; Spark's bridge then says when it hangs up.
logging.getLogger("py4j").setLevel(logging.WARNING)


def _trim(app: object, tree: nodes.document) -> None:
    """Drop the empty last line of examples, which doctest needs and readers do not."""
    for block in tree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        block.rawsource = text
        block.children = [nodes.Text(text)]


def _leave_out_search(app: Sphinx) -> None:
    app.builder.search = False  # type: ignore[attr-defined]


def _leave_out_menu(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    if page.rpartition("/")[2] != "index":
        context["toctree"] = lambda **_: ""


def setup(app: Sphinx) -> None:
    """Connect what is too small for an extension."""
    app.connect("doctree-read", _trim)
    if QUICK:
        app.connect("builder-inited", _leave_out_search)
        app.connect("html-page-context", _leave_out_menu, priority=100)  # before the theme reads it
