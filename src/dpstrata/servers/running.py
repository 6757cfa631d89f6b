"""Starting and stopping a server: taking a port, and serving until someone interrupts it.

Connections must ask and read in time: those that keep a server waiting are closed.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import signal
import socket
import ssl
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpstrata.errors import InputError, MissingExtraError, option

if TYPE_CHECKING:
    from starlette.types import ASGIApp

FIRST_PORT = 8000
_TRIED_PORTS = 20
_BACKLOG = 128  # connections that wait to be taken
HEAD_SECONDS = 10.0
READ_SECONDS = 30.0


def open_socket(host: str, port: int | None) -> socket.socket:
    """Take a port: the one that is asked for, or the first free one from 8000 on.

    Raises
    ------
    InputError
        If the port is taken or the address is not one of this machine.
    """
    if port is not None and not 0 <= port <= 65535:
        raise InputError(f"{option('port')} must lie between 0 and 65535, got {port}.", value=port)
    ports = range(FIRST_PORT, FIRST_PORT + _TRIED_PORTS) if port is None else [port]
    for each in ports:
        try:
            return _bind(host, each)
        except OSError as error:
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                raise InputError(
                    f"{option('host')} must be an address of this machine, got {host!r}.", value=host
                ) from None
            if error.errno == errno.EACCES:
                raise InputError(
                    f"{option('port', each)} needs rights that you do not have; use one above 1023.",
                    value=each,
                ) from None
            if error.errno != errno.EADDRINUSE:
                raise InputError(
                    f"{host}:{each} cannot be used: {error.strerror or error}.", argument="host", value=host
                ) from None
    if port is None:
        raise InputError(
            f"ports {ports[0]} to {ports[-1]} are all taken; give a free one with {option('port')}."
        )
    raise InputError(
        f"{option('port', port)} is taken by another program; give another one, or none to find a free one.",
        value=port,
    )


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
    except OSError:
        opened.close()
        raise
    return opened


def address_of(opened: socket.socket, *, encrypted: bool = False) -> str:
    """Return the address of the page, as a browser on this machine reaches it."""
    host, port = opened.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http{'s' if encrypted else ''}://{f'[{host}]' if ':' in host else host}:{port}/"


def is_local(opened: socket.socket) -> bool:
    """Whether this machine alone can reach an address."""
    return ipaddress.ip_address(opened.getsockname()[0]).is_loopback


class Encryption(NamedTuple):
    """What a server proves its name with, and encrypts (TLS).

    Attributes
    ----------
    certificate, private_key : path
        Files in PEM; further certificates of a chain follow in the first.
    """

    certificate: Path
    private_key: Path

    def check(self) -> None:
        """Refuse at once what no server could start with.

        Raises
        ------
        InputError
            If a file cannot be read, or the key is not that of the certificate or needs a password.
        """
        for name, path in self._asdict().items():
            try:
                path.read_bytes()
            except OSError as error:
                said = f"{option(name)} must be a file in PEM, got {path}: {error.strerror or error}."
                raise InputError(said, where=str(path)) from None
        try:
            # Without an answer to give, a key with a password is refused and nobody is asked at the terminal.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*self, password=lambda: "")
        except (ssl.SSLError, ValueError):
            raise InputError(
                f"{option('certificate')} and {option('private_key')} must be a certificate in PEM and the "
                f"key that belongs to it, without a password, got {self.certificate} and {self.private_key}."
            ) from None


def encryption_of(certificate: str | Path | None, private_key: str | Path | None) -> Encryption | None:
    """Take both files, or none."""
    if certificate is None and private_key is None:
        return None
    if certificate is None or private_key is None:
        raise InputError(
            f"{option('certificate')} and {option('private_key')} must be given together, got one of them."
        )
    found = Encryption(Path(certificate), Path(private_key))
    found.check()
    return found


def _make_room() -> None:
    """Allow as many connections as the system does; others wait, and fill no log while they do."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    logging.getLogger("asyncio").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line of asyncio's log is not about a connection that waits for room.

    It logs a traceback for each of them, and another one if the server has stopped before it tries again.
    """
    line = record.getMessage()
    return "out of system resource" not in line and "_start_serving(" not in line


@contextmanager
def until_stopped(name: str, say: Callable[[str], None]) -> Iterator[None]:
    """Take SIGTERM for Ctrl-C meanwhile, and say at the end that it has stopped.

    Uvicorn catches both, and raises them again once it has stopped: by default, SIGTERM would end the process
    there.

    Parameters
    ----------
    name : str
        What has stopped: "the planner".
    say : callable
        Takes a line for the user.
    """
    in_main = threading.current_thread() is threading.main_thread()  # which alone gets signals
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if in_main else None
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, before)
    say(f"{name[0].upper()}{name[1:]} has stopped.")


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


def serve_app(
    make: Callable[[], ASGIApp],
    *,
    name: str,
    host: str,
    port: int | None,
    browser: bool,
    say: Callable[[str], None],
    path: str = "",
    encryption: Encryption | None = None,
) -> None:
    """Serve an application until a signal interrupts it, which is raised again.

    Parameters
    ----------
    make : callable
        Makes the application.
    name : str
        What to call it: "the planner".
    host : str
        The address to listen on.
    port : int or None
        ``None`` for the first free one from 8000 on.
    browser : bool
        Whether to open the page.
    say : callable
        Takes a line for the user.
    path : str
        Of the page to open, without a leading slash.
    encryption : Encryption, optional
        What to serve it with over TLS.

    Raises
    ------
    InputError
        If the port cannot be used.
    MissingExtraError
        Without the extra ``web``.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError:
        raise MissingExtraError(f"{name} needs", "web") from None
    _make_room()
    opened = open_socket(host, port)
    address = address_of(opened, encrypted=encryption is not None) + path
    title = name[0].upper() + name[1:]

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            say(f"{title} is at {address} (Ctrl-C stops it).")
            if encryption is None and not is_local(opened):
                say("Anyone who can reach this machine can use it: there is no password and no encryption.")
            if browser:
                webbrowser.open(address)

    config = uvicorn.Config(
        make(),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=3,
        http=prompt_protocol(),
        loop="dpstrata.servers.running:PromptLoop",
        ws="none",
        lifespan="on",
        ssl_certfile=encryption and encryption.certificate,
        ssl_keyfile=encryption and encryption.private_key,
    )
    try:
        Server(config).run(sockets=[opened])
    finally:
        opened.close()
