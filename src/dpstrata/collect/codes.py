"""QR codes of links."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from dpstrata.errors import InputError, MissingExtraError
from dpstrata.files.writing import make_private_folder, write_atomically

CodeFormat = Literal["svg", "png"]
_PIXELS = {"svg": 4, "png": 12}  # a module of a PNG is a millimetre at 300 dots an inch


def check_code_format(given: str) -> None:
    """Refuse a kind of file that codes are not drawn as."""
    if given not in get_args(CodeFormat):
        raise InputError.must("code_format", "be one of svg, png", given)


def draw_codes(
    folder: Path, links: Sequence[str], kind: CodeFormat, *, progress: Callable[[int], None]
) -> None:
    """Draw a QR code of every link, in files that only their owner may read."""
    make_private_folder(folder)
    digits = len(str(len(links)))
    for number, link in enumerate(links, start=1):
        drawn = io.BytesIO()
        _code(link).save(drawn, kind=kind, scale=_PIXELS[kind])
        write_atomically(folder / f"{number:0{digits}}.{kind}", drawn.getvalue(), private=True)
        progress(1)


def code_in_page(link: str) -> str:
    """Draw the QR code of a link as a piece of HTML."""
    return str(_code(link).svg_inline(omitsize=True))


def require_codes() -> Any:
    """Return what draws codes.

    Raises
    ------
    MissingExtraError
        Without the extra ``collect``.
    """
    try:
        import segno
    except ImportError:
        raise MissingExtraError("QR codes need", "collect") from None
    return segno


def _code(link: str) -> Any:
    return require_codes().make(link, error="m", micro=False)
