"""Connections that ask in time: one whose request does not begin soon is closed."""

from __future__ import annotations

import asyncio
from typing import Any

HEAD_SECONDS = 10.0


def prompt_protocol(seconds: float = HEAD_SECONDS) -> type[asyncio.Protocol]:
    """Make a protocol for Uvicorn that closes connections whose next request takes too long to arrive.

    Uvicorn waits for ever for the first request of a connection and for the rest of a head, so a few thousand
    connections that send a byte now and then would leave it without any. How long a body may take is for the
    application to say.

    Parameters
    ----------
    seconds : float
        From the beginning of a connection, or the first byte of a later request, to the end of its head.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    base: Any = AutoHTTPProtocol

    class PromptProtocol(base):  # type: ignore[misc]
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._expect_head()

        def data_received(self, data: bytes) -> None:
            self._expect_head()
            super().data_received(data)
            if self._has_request():
                self._stop_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _has_request(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _expect_head(self) -> None:
            if self._deadline is None and not self._has_request():
                self._deadline = self.loop.call_later(seconds, self.transport.close)

        def _stop_waiting(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return PromptProtocol
