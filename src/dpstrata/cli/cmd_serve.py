"""``dpstrata serve``: the planner in the browser."""

from __future__ import annotations

from typing import Annotated

import typer


def serve_command(
    host: Annotated[
        str, typer.Option(help="Address to listen on; anyone who reaches it can use the planner.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(help="Port; by default the first free one from 8000 on.", show_default=False),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Plan in the browser: serve the page, to this machine alone unless --host says otherwise."""
    from dpstrata.web.serving import serve

    serve(host=host, port=port, browser=browser, say=typer.echo)
