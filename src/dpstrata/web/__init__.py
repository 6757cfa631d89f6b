"""The local web planner: a page, and the JSON API that the page uses; both thin over the library.

The server keeps no state. Requests are worked on in a few processes of their own, bounded in time and memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dpstrata.servers.running import serve_app, until_stopped

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def serve(
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Serve the planner until it is interrupted.

    Parameters
    ----------
    host : str
        The address to listen on. Anyone who reaches it can use the planner; 127.0.0.1 is this machine alone.
    port : int, optional
        By default the first free one from 8000 on.
    browser : bool
        Whether to open the page.
    say : callable
        Takes a line for the user.

    Raises
    ------
    InputError
        If the port cannot be used.
    MissingExtraError
        Without the extra ``web``.
    """

    def make() -> ASGIApp:
        from dpstrata.web.app import make_app

        return make_app(host=host)

    name = "the planner"
    with until_stopped(name, say):
        serve_app(make, name=name, host=host, port=port, browser=browser, say=say)
