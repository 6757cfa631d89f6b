"""A chart: one Vega-Lite definition, shown in a notebook or exported without a browser."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpstrata.errors import InputError, MissingExtraError
from dpstrata.model.output import write_atomically

ENDINGS = (".svg", ".png", ".pdf", ".json")
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
        return str(_converter().vegalite_to_svg(self.spec))

    def png(self, *, scale: float = 2.0) -> bytes:
        """Return the chart as a PNG image."""
        return bytes(_converter().vegalite_to_png(self.spec, scale=scale))

    def save(self, path: str | Path) -> None:
        """Write the chart as ``.svg``, ``.png``, ``.pdf`` or, as its definition, ``.json``."""
        path = Path(path)
        check_chart_path(path)
        match path.suffix.lower():
            case ".svg":
                content = self.svg().encode()
            case ".png":
                content = self.png()
            case ".pdf":
                content = bytes(_converter().vegalite_to_pdf(self.spec))
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
        raise InputError(f"a chart is written to .svg, .png, .pdf or .json, got {path.name!r}.")
    if path.suffix.lower() != ".json":
        require_charts()


def require_charts() -> None:
    """Raise :class:`MissingExtraError` at once if charts could not be drawn later."""
    _converter()


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("charts need", "charts") from None
    return vl_convert
