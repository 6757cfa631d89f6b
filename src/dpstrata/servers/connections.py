"""Connections that ask and read in time: those that keep a server waiting are closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

HEAD_SECONDS = 10.0
READ_SECONDS = 30.0


class PromptLoop(asyncio.SelectorEventLoop):
    """A loop that gives TLS ten seconds to begin and to end; asyncio's 60 and 30 cannot be set in Uvicorn."""

    async def create_server(self, *given: Any, ssl: Any = None, **more: Any) -> asyncio.Server:
        """Listen."""
        if ssl is not None:
            more |= {"ssl_handshake_timeout": HEAD_SECONDS, "ssl_shutdown_timeout": HEAD_SECONDS}
        return await super().create_server(*given, ssl=ssl, **more)


class _Timer:
    """A call that is made unless it is stopped in time."""

    _handle: asyncio.TimerHandle | None = None

    def start(self, seconds: float, call: Callable[..., None], *given: Any) -> None:
        """Begin to wait, unless it waits already."""
        if self._handle is None:
            self._handle = asyncio.get_running_loop().call_later(seconds, call, *given)

    def stop(self) -> None:
        """Wait no longer."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


def prompt_protocol(
    seconds: float = HEAD_SECONDS, read_seconds: float = READ_SECONDS
) -> type[asyncio.Protocol]:
    """Make a protocol for Uvicorn that closes connections whose next request takes too long to arrive.

    Uvicorn waits for ever for the first request of a connection, for the rest of a head, and for a client to
    read a reply, so a few thousand connections that do nothing would leave it without any. How long a body
    may take is for the application to say.

    Parameters
    ----------
    seconds : float
        From the beginning of a connection, or the first byte of a later request, to the end of its head.
    read_seconds : float
        In which a client must have read something of a reply that waits for it.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    base: Any = AutoHTTPProtocol

    class PromptProtocol(base):  # type: ignore[misc]
        def connection_made(self, transport: asyncio.Transport) -> None:
            self._head, self._reading = _Timer(), _Timer()
            super().connection_made(transport)
            transport.set_write_buffer_limits(high=1)  # so that it is known of any reply that waits
            self._expect_head()

        def data_received(self, data: bytes) -> None:
            self._expect_head()
            super().data_received(data)
            if self._has_request():
                self._head.stop()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._reading.start(read_seconds, self._check_reading, self.transport.get_write_buffer_size())

        def resume_writing(self) -> None:
            self._reading.stop()
            super().resume_writing()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head.stop()
            self._reading.stop()
            super().connection_lost(exc)

        def _has_request(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _expect_head(self) -> None:
            if not self._has_request():
                self._head.start(seconds, self.transport.close)

        def _check_reading(self, before: int) -> None:
            left = self.transport.get_write_buffer_size()
            if left >= before:
                self.transport.abort()  # to close it would wait until the reply is read
            else:
                self._reading.stop()
                self._reading.start(read_seconds, self._check_reading, left)

    return PromptProtocol
