"""A chart: one Vega-Lite definition, shown in a notebook or exported without a browser."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpstrata.errors import InputError, MissingExtraError
from dpstrata.files.writing import require_same_kind, write_atomically

ENDINGS = (".svg", ".png", ".pdf", ".json")
# Control characters, lone surrogates and non-characters: XML and HTML cannot hold them.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


@dataclass(frozen=True, slots=True)
class Chart:
    """A Vega-Lite definition with its data in it.

    Attributes
    ----------
    spec : dict
        The definition, as plain data.
    """

    spec: dict[str, Any]

    def svg(self) -> str:
        """Return the chart as SVG text."""
        return str(_converter().vegalite_to_svg(_fit(self.spec)))

    def png(self, *, scale: float = 2.0) -> bytes:
        """Return the chart as a PNG image."""
        return bytes(_converter().vegalite_to_png(_fit(self.spec), scale=scale))

    def save(self, path: str | Path) -> None:
        """Write the chart as ``.svg``, ``.png``, ``.pdf`` or, as its definition, ``.json``.

        A design, ledger or other document of dpstrata that is there stays, with an :class:`InputError`.
        """
        path = Path(path)
        check_chart_path(path)
        match path.suffix.lower():
            case ".svg":
                content = self.svg().encode()
            case ".png":
                content = self.png()
            case ".pdf":
                content = bytes(_converter().vegalite_to_pdf(_fit(self.spec)))
            case _:
                content = json.dumps(self.spec, indent=1).encode()
        write_atomically(path, content)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"image/svg+xml": self.svg(), "application/vnd.vegalite.v6+json": self.spec}


def check_chart_path(path: Path | None) -> None:
    """Refuse at once a path that no chart could be written to later."""
    if path is None:
        return
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"a chart file must end in .svg, .png, .pdf or .json, got {path.name!r}.")
    if path.suffix.lower() != ".json":
        require_charts()
    require_same_kind(path)


def fit_text(text: str) -> str:
    """Put a replacement character where a picture or a page could not hold the one given."""
    return _UNFIT.sub("\ufffd", text)


def _fit(part: Any) -> Any:
    """Make all texts of a definition fit; the converter would abort the process over one that does not."""
    if isinstance(part, str):
        return fit_text(part)
    if isinstance(part, dict):
        return {name: _fit(value) for name, value in part.items()}
    return [_fit(value) for value in part] if isinstance(part, list | tuple) else part


def require_charts() -> None:
    """Raise :class:`MissingExtraError` at once if charts could not be drawn later."""
    _converter()


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("charts need", "charts") from None
    return vl_convert
