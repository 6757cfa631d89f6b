"""The application: the page, its files, the API, and previews of the respondents' page."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from dpstrata.collect.kit import kit_from_content
from dpstrata.collect.preview import PAGE, make_preview
from dpstrata.servers.guard import Guard
from dpstrata.servers.routes import HEALTH, files_route, page_route
from dpstrata.web.endpoints import ENDPOINTS, Endpoint, openapi_document
from dpstrata.web.replies import RefusedError, Reply, reply_error, reply_json
from dpstrata.web.requests import LIMITS, Limits
from dpstrata.web.workers import ClientGoneError, Pool

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
STATIC = Path(__file__).parent / "static"
IN_BODY = "refusals=in-body"
_LATE, _CLIENT_LEFT = 408, 499
PLACE = "/respondents"


def make_app(*, host: str = "127.0.0.1", limits: Limits = LIMITS) -> Starlette:
    """Make the application.

    Parameters
    ----------
    host : str
        The address it is served on; requests must name it or this machine.
    limits : Limits
        What it accepts.
    """
    previews = Previews(host, limits)
    service = _Service(limits, {"preview": previews.keep})
    routes: list[BaseRoute] = [
        page_route(STATIC / "index.html", cache_control="no-cache"),
        HEALTH,
        Route("/api/openapi.json", _show_openapi),
        *(
            Route(endpoint.path, service.replier(endpoint), methods=[endpoint.method], name=endpoint.job)
            for endpoint in ENDPOINTS
        ),
        Mount(PLACE + "/{token}", previews),
        files_route(STATIC),
    ]
    return Starlette(
        routes=routes,
        lifespan=service.run_workers,
        middleware=[Middleware(Guard, policy=POLICY, explain=_refuse, host=host)],
        exception_handlers={HTTPException: _explain_http, 500: _explain_fault},
    )


def _refuse(status: int, sentence: str) -> bytes:
    return reply_error(status, sentence).content


class _Service:
    """The endpoints with the workers behind them, and what is done here with what some jobs make."""

    def __init__(self, limits: Limits, finish: Mapping[str, Callable[[Reply], Reply]]) -> None:
        self._limits = limits
        self._finish = finish
        self._held = Held(limits.held_bytes)
        self._pool: Pool | None = None

    @asynccontextmanager
    async def run_workers(self, app: Starlette) -> AsyncIterator[None]:
        """Keep workers for as long as the application runs."""
        self._pool = Pool(self._limits)
        await self._pool.start()
        try:
            yield
        finally:
            await self._pool.stop()

    def replier(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """Make the function that answers requests to an endpoint."""

        async def answer(request: Request) -> Response:
            try:
                reply = await self._reply(endpoint, request)
            except RefusedError as refusal:
                reply = reply_error(refusal.status, str(refusal))
            except (ClientGoneError, ClientDisconnect):
                return Response(status_code=_CLIENT_LEFT)
            response = _respond_as_preferred(reply, request)
            if reply.status == _LATE:  # the connection must not wait for the rest of the body
                response.headers["connection"] = "close"
            return response

        return answer

    async def _reply(self, endpoint: Endpoint, request: Request) -> Reply:
        """Let a worker do what a request asks for; its body is held for that long."""
        assert self._pool is not None  # requests come while the application runs
        with self._held.hold() as take:
            body = await _read_body(request, endpoint, self._limits, take)
            parameters = {**request.query_params, **request.path_params}
            async with _watching(request) as gone:
                made = await self._pool.run(endpoint.job, parameters, body, gone=gone)
        finish = self._finish.get(endpoint.job)
        return finish(made) if finish and made.status == 200 else made


async def _show_openapi(request: Request) -> Response:
    return _respond(reply_json(openapi_document()))


class Held:
    """What the bodies of all requests take together."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._now = 0

    @contextmanager
    def hold(self) -> Iterator[Callable[[int], None]]:
        """Give a function that counts the bytes of one request, until the request is done with."""
        own = 0

        def take(number: int) -> None:
            nonlocal own
            if self._now + number > self._most:
                raise RefusedError(503, "too many requests are under way; try again in a moment.")
            own += number
            self._now += number

        try:
            yield take
        finally:
            self._now -= own


@asynccontextmanager
async def _watching(request: Request) -> AsyncIterator[asyncio.Event]:
    """Give an event that is set as soon as the client leaves.

    Asking now and then is not enough: after a large body the server reads nothing, not even that the client
    has left, until someone waits for it.
    """
    gone = asyncio.Event()

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    task = asyncio.ensure_future(watch())
    try:
        yield gone
    finally:
        task.cancel()


async def _read_body(
    request: Request, endpoint: Endpoint, limits: Limits, take: Callable[[int], None]
) -> bytes:
    """Read what was sent, no more than is allowed, and only of the right kind."""
    if endpoint.takes is None:
        return b""
    # A page elsewhere cannot send these kinds without asking first, and is refused then.
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != endpoint.takes:
        raise RefusedError(415, f"the body must be {endpoint.takes}, got {kind or 'no content type'!r}.")
    too_large = RefusedError(413, f"the body must be at most {limits.body_bytes / 2**20:g} MB.")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limits.body_bytes:
        raise too_large
    parts, length = [], 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                length += len(part)
                if length > limits.body_bytes:
                    raise too_large
                take(len(part))
                parts.append(part)
    except TimeoutError:
        raise RefusedError(_LATE, f"the body must arrive within {limits.body_seconds:g} seconds.") from None
    if endpoint.query:
        for name, _ in endpoint.query:
            if not request.query_params.get(name):
                raise RefusedError(422, f"the query must hold {name}.")
    return b"".join(parts)


def _respond(reply: Reply) -> Response:
    headers = {"cache-control": "no-store"}
    if reply.name is not None:
        headers["content-disposition"] = f'attachment; filename="{reply.name}"'
    return Response(reply.content, status_code=reply.status, media_type=reply.kind, headers=headers)


def _respond_as_preferred(reply: Reply, request: Request) -> Response:
    """Answer a refusal with status 200 if that is preferred, by a page that shows refusals at their place.

    Browsers write every other status into their console as a failure, though nothing has failed.
    """
    if 400 <= reply.status < 500 and IN_BODY in request.headers.get("prefer", ""):
        response = _respond(replace(reply, status=200))
        response.headers["preference-applied"] = IN_BODY
        return response
    return _respond(reply)


async def _explain_http(request: Request, error: Exception) -> Response:
    """Answer what no endpoint answers, in the same form as every error."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {
        404: "there is nothing at this address.",
        405: "this address does not accept such a request.",
    }.get(status, "the request cannot be answered.")
    response = _respond(reply_error(status, words))
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response


async def _explain_fault(request: Request, error: Exception) -> Response:
    return _respond(reply_error(500, "dpstrata failed unexpectedly; this is a fault of the program."))


class Previews:
    """Applications of previews, by a token that only whoever asked for one learns.

    Nothing typed on their pages is sent, and randomised rows that are sent are dropped.

    Parameters
    ----------
    host : str
        The address that the planner is served on.
    limits : Limits
        How many previews are kept, and how much their kits may take together.
    """

    def __init__(self, host: str, limits: Limits) -> None:
        self._host = host
        self._limits = limits
        self._kept: OrderedDict[str, tuple[int, ASGIApp]] = OrderedDict()

    def keep(self, kit: Reply) -> Reply:
        """Make a preview from a kit, drop the oldest ones beyond the limits, and reply with its address."""
        token = secrets.token_urlsafe(16)
        app = make_preview(kit_from_content(kit.content), host=self._host)
        self._kept[token] = len(kit.content), app
        while len(self._kept) > 1 and self._is_too_much():
            self._kept.popitem(last=False)
        return reply_json({"address": f"{PLACE}/{token}/{PAGE}"})

    def _is_too_much(self) -> bool:
        size = sum(length for length, _ in self._kept.values())
        return len(self._kept) > self._limits.previews or size > self._limits.preview_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to the preview that its path names."""
        _, app = self._kept.get(scope["path_params"]["token"], (0, None))
        if app is None:
            raise HTTPException(404)
        await app(scope, receive, send)
