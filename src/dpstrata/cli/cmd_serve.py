"""``dpstrata serve``: the planner in the browser."""

from __future__ import annotations

from typing import Annotated

import typer


def serve_command(
    host: Annotated[
        str, typer.Option(help="Address to listen on; anyone who can reach it can use the planner.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(help="Port; by default, the first free one from 8000 up.", show_default=False),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Plan in the browser: serve the planner, to this machine only by default; use --host to change."""
    from dpstrata.web.serving import serve

    serve(host=host, port=port, browser=browser, say=typer.echo)
