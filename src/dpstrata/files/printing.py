"""Printing pages of HTML to PDF."""

from __future__ import annotations

from typing import Any

from dpstrata.errors import InputError, MissingExtraError


def require_printer(what: str, *, otherwise: str = "") -> Any:
    """Return what prints pages.

    Parameters
    ----------
    what : str
        What is to be printed, in the plural, for messages.
    otherwise : str
        What else could be done, to end a message with.

    Raises
    ------
    MissingExtraError
        Without the extra ``pdf``.
    InputError
        Without the library that it needs.
    """
    try:
        import weasyprint
    except ImportError:
        raise MissingExtraError(f"{what} need", "pdf") from None
    except OSError:
        raise InputError(
            f"{what} need the library Pango on this machine (package libpango-1.0-0 or pango), which was "
            f"not found; install it{otherwise}."
        ) from None
    return weasyprint


def print_page(page: str, *, what: str = "PDF reports", pages: int | None = None) -> bytes:
    """Print HTML, which may ask for nothing from outside.

    Parameters
    ----------
    page : str
        The HTML.
    what : str
        As in :func:`require_printer`.
    pages : int, optional
        How many sheets it must fill.

    Raises
    ------
    InputError
        If it fills another number of sheets.
    """
    printed = require_printer(what).HTML(string=page, url_fetcher=_refuse).render()
    if pages not in (None, len(printed.pages)):
        raise InputError(f"{what} must have {pages} pages, got {len(printed.pages)}; shorten the text.")
    return bytes(printed.write_pdf())


def _refuse(url: str, **_: Any) -> Any:
    raise ValueError("a page has everything in it")
