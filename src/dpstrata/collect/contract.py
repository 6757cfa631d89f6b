"""What a respondent's page and its server say to each other, over any store of invitations.

``GET /`` is the page and ``GET /kit.json`` the kit. ``POST /look`` takes a token and says how it stands with
it, and changes nothing. ``POST /send`` takes a token and a cell, and counts it once. Tokens come in bodies
alone; bodies and replies all have one length, so that nobody on the way learns anything from it.
``GET /healthz`` says that the process is alive, and ``GET /readyz`` whether answers can be counted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from dpstrata.collect.kit import Kit
from dpstrata.collect.store import TOKEN, BusyError, Invitation, Store
from dpstrata.servers.guard import Guard
from dpstrata.servers.routes import HEALTH, files_route, page_route

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
STATIC = Path(__file__).parent / "static"
LENGTH = 128  # of every body and of every reply to it, in bytes
SECONDS = 10.0  # within which a body must arrive
_JSON = "application/json"
_LATE, _CLIENT_LEFT = 408, 499


def make_page_app(
    kit: Kit, store: Store, *, host: str = "127.0.0.1", more: Sequence[BaseRoute] = ()
) -> Starlette:
    """Make the application that serves respondents.

    Parameters
    ----------
    kit : Kit
        The kit of the design.
    store : Store
        Where invitations are kept.
    host : str
        The address it is served on; requests must name it or this machine.
    more : sequence of route
        Further addresses.
    """
    service = _Service(kit, store)
    return Starlette(
        routes=[
            page_route(
                STATIC / "index.html", cache_control="no-store"
            ),  # nothing of a visit is kept for going back to it
            Route("/kit.json", service.show_kit),
            HEALTH,
            Route("/readyz", service.say_ready),
            Route("/look", _replier(service.look), methods=["POST"]),
            Route("/send", _replier(service.send), methods=["POST"]),
            *more,
            files_route(STATIC),
        ],
        middleware=[Middleware(Guard, policy=POLICY, explain=_explain, host=host)],
        exception_handlers={HTTPException: _explain_http, 500: _explain_fault},
    )


class _RefusedError(Exception):
    """A request that no page sends, with its status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class _Service:
    """The endpoints over a store."""

    def __init__(self, kit: Kit, store: Store) -> None:
        self._kit = kit
        self._store = store

    async def show_kit(self, request: Request) -> Response:
        """Hand out the kit, byte for byte."""
        return Response(self._kit.content, media_type=_JSON, headers={"cache-control": "no-cache"})

    async def say_ready(self, request: Request) -> Response:
        """Say whether answers can be counted: the store looks for a token that nobody has."""
        try:
            await self._store.look("")
        except BusyError:
            return _respond(503, _explain(503, "answers cannot be counted at the moment."))
        return _respond(200, json.dumps({"state": "ready"}).encode())

    async def look(self, body: dict[str, Any]) -> dict[str, Any]:
        """Say how it stands with a token, and which form it is for if it can be used."""
        found = await self._find(_token_of(body, {"token"}))
        if found.state != "open":
            return {"state": found.state}
        return {"state": found.state, "form": found.form, "odds": found.odds}

    async def send(self, body: dict[str, Any]) -> dict[str, Any]:
        """Count a cell, after its range was checked: a token is not used up by a cell that cannot count."""
        token, cell = _token_of(body, {"token", "cell"}), body["cell"]
        if type(cell) is not int:  # true is an int for Python
            raise _RefusedError(400, "cell must be a whole number.")
        found = await self._find(token)
        if found.state != "open":
            return {"state": found.state}
        if not 0 <= cell < self._kit.cells_at(found.form, found.odds):
            return {"state": "out_of_range"}
        return {"state": await self._store.send(token, cell)}

    async def _find(self, token: str) -> Invitation:
        return await self._store.look(token) if TOKEN.fullmatch(token) else Invitation("unknown")


def _replier(
    answer: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]],
) -> Callable[[Request], Awaitable[Response]]:
    """Make an endpoint that reads one body and writes one reply, both of the fixed length."""

    async def reply(request: Request) -> Response:
        try:
            content = json.dumps(await answer(await _read(request))).encode().ljust(LENGTH)
        except _RefusedError as refusal:
            return _respond(refusal.status, _explain(refusal.status, str(refusal)))
        except BusyError:  # the page offers to try again
            return _respond(503, _explain(503, "the server is busy; try again in a moment."))
        except ClientDisconnect:
            return Response(status_code=_CLIENT_LEFT)
        return _respond(200, content)

    return reply


async def _read(request: Request) -> dict[str, Any]:
    """Read a JSON object of the fixed length."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON:  # which a page elsewhere cannot send without asking first
        raise _RefusedError(415, f"the body must be {_JSON}.")
    body = b""
    try:
        async with asyncio.timeout(SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > LENGTH:
                    break
    except TimeoutError:
        raise _RefusedError(_LATE, f"the body must arrive within {SECONDS:g} seconds.") from None
    if len(body) != LENGTH:
        raise _RefusedError(400, f"the body must be {LENGTH} bytes long; fill it up with spaces.")
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise _RefusedError(400, "the body must be a JSON object.")
    return data


def _token_of(body: dict[str, Any], names: set[str]) -> str:
    """Return the token of a body that has these fields and no others."""
    if set(body) != names:
        raise _RefusedError(400, f"the body must have exactly these fields: {', '.join(sorted(names))}.")
    token = body["token"]
    if not isinstance(token, str):
        raise _RefusedError(400, "token must be text.")
    return token


def _respond(status: int, content: bytes) -> Response:
    headers = {"cache-control": "no-store"}
    if status == _LATE:  # the rest of the body must not be taken for another request
        headers["connection"] = "close"
    return Response(content, status_code=status, media_type=_JSON, headers=headers)


def _explain(status: int, sentence: str) -> bytes:
    return json.dumps({"error": sentence}).encode().ljust(LENGTH)


async def _explain_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {
        404: "there is nothing at this address.",
        405: "this address does not accept such a request.",
        503: "the server is busy; try again in a moment.",
    }
    return _respond(status, _explain(status, words.get(status, "the request cannot be answered.")))


async def _explain_fault(request: Request, error: Exception) -> Response:
    return _respond(500, _explain(500, "dpstrata failed unexpectedly; this is a fault of the program."))
