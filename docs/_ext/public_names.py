"""Link what annotations and docstrings name to where the public API documents it.

A record lives in a module of its own (``dpstrata.survey.strata.Strata``) and is public as
``dpstrata.Strata``; the reference documents the public name.
"""

from __future__ import annotations

import re
from typing import Any

import numpy.typing as npt
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.typing import stringify_annotation

import dpstrata
from dpstrata.numerics.arrays import BoolArray, FloatArray, IntArray

# Names of types that would be written out at length.
_ALIASES = {
    stringify_annotation(kind, mode): name
    for kind, name in (
        (npt.ArrayLike, "ArrayLike"),
        (FloatArray, "NDArray[float64]"),
        (IntArray, "NDArray[int64]"),
        (BoolArray, "NDArray[bool]"),
    )
    for mode in ("smart", "fully-qualified")
}


def public_name(target: str) -> str | None:
    """Find the documented name of an object.

    Examples
    --------
    >>> public_name("dpstrata.survey.strata.Strata"), public_name("Strata.from_file"), public_name("ndarray")
    ('dpstrata.Strata', 'dpstrata.Strata.from_file', None)
    """
    parts = target.split(".")
    for start, part in enumerate(parts):
        if part in dpstrata.__all__:
            return ".".join(["dpstrata", *parts[start:]])
    return None


def readable_defaults(signature: str) -> str:
    """Write defaults that are no code as what can be read; a signature with one would not be laid out at all.

    Examples
    --------
    >>> readable_defaults("(a: int = <factory>, say = <function <lambda>>, source = <function token_bytes>)")
    '(a: int = ..., say = ..., source = token_bytes)'
    """
    return re.sub(r"<(?:function )?(?:(\w+)|<lambda>)>", _default, signature)


def _default(found: re.Match[str]) -> str:
    return found[1] if found[1] and "function" in found[0] else "..."


def _resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.Node | None:
    if node.get("refdomain") != "py":
        return None
    name = public_name(node["reftarget"])
    domain = env.domains.python_domain
    if name is None or name not in domain.objects:
        last = node["reftarget"].rpartition(".")[2]
        found = [each for each in domain.objects if each.rpartition(".")[2] == last and last[:1].isupper()]
        name = found[0] if len(found) == 1 else None
    if name is None:
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)


def _keep_colons(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Keep Napoleon from taking the words before a colon in a property's first line for its type."""
    if what in {"property", "attribute"}:
        lines[:0] = ["..", ""]


def _shorten(
    app: Sphinx, what: str, name: str, thing: object, options: object, given: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Write aliases of types in signatures as people know them."""

    def short(text: str | None) -> str | None:
        for long, alias in _ALIASES.items():
            text = text and text.replace(long, alias)
        return text and readable_defaults(text)

    return short(given), short(returned)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the resolver."""
    app.connect("missing-reference", _resolve)
    app.connect("autodoc-process-signature", _shorten)
    app.connect("autodoc-process-docstring", _keep_colons, priority=400)  # before Napoleon's 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}
