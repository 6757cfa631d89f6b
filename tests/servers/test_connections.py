"""Connections that send their requests slowly, against a real Uvicorn."""

import asyncio

import pytest
import uvicorn

from dpstrata.servers.connections import prompt_protocol
from dpstrata.servers.running import open_socket

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"


async def answer(scope, receive, send):
    """Answer once the whole body is there."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def against_server(seconds, script):
    """Run a script of reader and writer against a server that allows so many seconds for a head."""

    async def run():
        opened = open_socket("127.0.0.1", 0)
        config = uvicorn.Config(
            answer, log_level="error", http=prompt_protocol(seconds), lifespan="off", ws="none"
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


def test_servers_are_started_with_it(monkeypatch):
    from dpstrata.servers import running

    configs = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: configs.append(self.config))
    running.serve_until_stopped(
        lambda: answer, name="a test", host="127.0.0.1", port=0, browser=False, say=lambda text: None
    )
    assert configs[0].http.__name__ == "PromptProtocol"
