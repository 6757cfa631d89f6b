"""Connections that send or read slowly, against a real Uvicorn."""

import asyncio
import ssl

import pytest
import uvicorn

from dpstrata.servers import running
from dpstrata.servers.running import open_socket, prompt_protocol
from problems import self_signed

pytestmark = pytest.mark.slow

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"


async def answer(scope, receive, send):
    """Answer once the whole body is there."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def against_server(seconds, script, *, app=answer, read_seconds=10):
    """Run a script of reader and writer against a server that allows so many seconds for a head."""

    async def run():
        opened = open_socket("127.0.0.1", 0)
        config = uvicorn.Config(
            app, log_level="error", http=prompt_protocol(seconds, read_seconds), lifespan="off", ws="none"
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[opened]))
        while not server.started:
            await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection(*opened.getsockname())
        try:
            return await asyncio.wait_for(script(reader, writer), 20)
        finally:
            writer.close()
            server.should_exit = True
            await task

    return asyncio.run(run())


async def trickle(writer, content, pause):
    """Send a byte at a time, until the other side has closed."""
    for byte in content:
        if writer.is_closing():
            return
        writer.write(bytes([byte]))
        await asyncio.sleep(pause)


@pytest.mark.parametrize("sent", [b"", HEAD[:20]])
def test_a_head_that_does_not_come_closes_the_connection(sent):
    async def script(reader, writer):
        writer.write(sent)
        return await reader.read()

    assert against_server(0.2, script) == b""


def test_bytes_now_and_then_do_not_keep_a_connection():
    async def script(reader, writer):
        sending = asyncio.create_task(trickle(writer, HEAD, 0.05))
        try:
            return await reader.read()
        except ConnectionResetError:  # a byte was under way
            return b""
        finally:
            sending.cancel()

    assert against_server(0.3, script) == b""


def test_a_later_request_of_a_connection_has_as_long_and_a_body_may_take_longer():
    async def script(reader, writer):
        answers = []
        for _ in range(2):
            writer.write(HEAD)
            await trickle(writer, b"body", 0.2)
            answers.append((await reader.readuntil(b"ok")).splitlines()[0])
            await asyncio.sleep(0.6)  # idle between requests is no request that is late
        writer.write(HEAD[:20])
        return answers, await reader.read()

    answers, rest = against_server(0.5, script)
    assert answers == [b"HTTP/1.1 200 OK"] * 2
    assert rest == b""


def replying(size):
    """An application whose reply is so long."""

    async def reply(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(size)})

    return reply


LONG = 2**25  # more than the system keeps for anybody
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


async def read_all(reader, pause):
    """How much there is to read, a million bytes at a time."""
    number = 0
    try:
        while some := await reader.read(2**20):
            number += len(some)
            await asyncio.sleep(pause)
    except ConnectionResetError:
        pass
    return number


def test_a_client_that_does_not_read_is_disconnected():
    async def script(reader, writer):
        writer.write(GET)
        await asyncio.sleep(1)
        return await read_all(reader, 0)

    assert 0 < against_server(10, script, app=replying(LONG), read_seconds=0.2) < LONG


def test_a_client_that_reads_slowly_gets_everything():
    async def script(reader, writer):
        writer.write(GET)
        return await read_all(reader, 0.01)

    assert against_server(10, script, app=replying(LONG), read_seconds=0.5) > LONG


def test_a_handshake_that_does_not_come_closes_the_connection(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "HEAD_SECONDS", 0.2)
    encryption = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    encryption.load_cert_chain(*self_signed(tmp_path))

    async def connect():
        server = await asyncio.get_running_loop().create_server(
            asyncio.Protocol, "127.0.0.1", 0, ssl=encryption
        )
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            try:
                return await asyncio.wait_for(reader.read(), 20)
            finally:
                writer.close()

    with asyncio.Runner(loop_factory=running.PromptLoop) as runner:
        assert runner.run(connect()) == b""


def test_servers_are_started_with_it(monkeypatch):

    configs = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: configs.append(self.config))
    running.serve_app(
        lambda: answer, name="a test", host="127.0.0.1", port=0, browser=False, say=lambda text: None
    )
    assert configs[0].http.__name__ == "PromptProtocol"
    assert configs[0].get_loop_factory() is running.PromptLoop
