"""Whether a server is alive, for whoever starts it again if it is not."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


async def _say_alive(request: Request) -> Response:
    return JSONResponse({"state": "alive"}, headers={"cache-control": "no-store"})


HEALTH = Route("/healthz", _say_alive)
