"""What holds for every answer: where requests may come from, and what a page may do."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_ONLY_ENCRYPTED = (b"strict-transport-security", b"max-age=31536000")
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


class Guard:
    """Check the host and the origin of every request, and put the security headers on every answer.

    An application inside that has a guard of its own keeps the headers which that one set.

    A web site elsewhere can make a browser send requests to this machine: by a name of its own that resolves
    to 127.0.0.1, which the Host header shows, or across origins, which the Origin header shows.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    policy : str
        The content-security policy.
    explain : callable
        Writes a refusal as JSON, from its status and a sentence.
    host : str
        The address the server listens on; a wildcard also lets in whoever names the machine by a number.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        policy: str,
        explain: Callable[[int, str], bytes],
        host: str = "127.0.0.1",
    ) -> None:
        self._app = app
        self._explain = explain
        headers: Mapping[str, str] = {"content-security-policy": policy, **HEADERS}
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._hosts = _LOCAL | {host.strip("[]").lower()}
        self._any_number = _is_wildcard(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        own = [*self._headers, _ONLY_ENCRYPTED] if scope.get("scheme") == "https" else self._headers

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                there = list(message.get("headers", []))
                names = {name for name, _ in there}
                message["headers"] = there + [each for each in own if each[0] not in names]
            await send(message)

        refusal = self._refuse(headers)
        if refusal is None:
            await self._app(scope, receive, send_with_headers)
        else:
            await self._send_refusal(*refusal, send_with_headers)

    def _refuse(self, headers: dict[bytes, str]) -> tuple[int, str] | None:
        if not self._allows(_split(f"//{headers.get(b'host', '')}").hostname):
            return (
                400,
                "the Host header must be localhost, or the name or address that the server was started with.",
            )
        origin = headers.get(b"origin")
        if origin is not None and _split(origin).netloc != headers.get(b"host"):
            return 403, "requests must come from the page of this server."
        return None

    def _allows(self, host: str | None) -> bool:
        return host is not None and (host in self._hosts or (self._any_number and _is_number(host)))

    async def _send_refusal(self, status: int, sentence: str, send: Send) -> None:
        content = self._explain(status, sentence)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def _split(url: str) -> SplitResult:
    """Take an address apart; nothing is in one that is none."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_wildcard(host: str) -> bool:
    return _is_number(host.strip("[]")) and ipaddress.ip_address(host.strip("[]")).is_unspecified
