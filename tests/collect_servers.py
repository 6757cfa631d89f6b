"""Collectors in processes of their own, and respondents who speak to them over the network."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

LENGTH = 128


class Unreachable(Exception):
    """A server that is gone, or that says it is busy."""


async def post(port, path, body, *, seconds=30):
    """Send a body on a connection of its own, and return status and reply."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode().ljust(LENGTH)
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
    )
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(head.encode() + content)
                reply = await reader.read()
            finally:
                writer.close()
    except OSError:
        raise Unreachable from None
    found = re.match(rb"HTTP/1\.1 (\d+) .*?\r\n\r\n(.*)", reply, re.DOTALL)
    if found is None or len(found[2]) < LENGTH:  # cut short
        raise Unreachable
    return int(found[1]), found[2]


class Server:
    """A collector, and what it said."""

    def __init__(self, made, command, folder=None):
        self.made, self.command, self.folder, self.said = made, command, folder, []
        self.start()

    def start(self):
        environment = {name: value for name, value in os.environ.items() if name != "DPSTRATA_DATABASE"}
        self.process = subprocess.Popen(
            self.command,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        for line in self.process.stdout:
            self.said.append(line.rstrip())
            if found := re.search(r"is at https?://127\.0\.0\.1:(\d+)/", line):
                self.port = int(found[1])
                break
        else:
            raise AssertionError(self.said)
        self._reading = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._reading.start()

    def _read(self, lines):
        self.said += [line.rstrip() for line in lines]

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait(timeout=30)
        self._reading.join()
        self.process.stdout.close()

    def _ask(self, path, **body):
        status, content = asyncio.run(post(self.port, path, body))
        assert (status, len(content)) == (200, LENGTH)
        return json.loads(content)

    def look(self, token):
        return self._ask("/look", token=token)

    def send(self, token, cell):
        return self._ask("/send", token=token, cell=cell)


@contextmanager
def served(made, *more):
    """Serve a survey in a process of its own."""
    program = [sys.executable, "-m", "dpstrata"]
    database = ["--database", made.database] if made.database else []
    server = Server(made, [*program, "collect", str(made.survey), "--port", "0", *database, *more])
    try:
        yield server
    finally:
        server.end()


async def send_over(server, pairs, *, at_once=32):
    """Let respondents look and send, some of them at the same time; return the tokens that were acknowledged."""
    gate, acknowledged, others = asyncio.Semaphore(at_once), [], []

    async def respond(token, cell):
        async with gate:
            try:
                status, content = await post(server.port, "/send", {"token": token, "cell": cell})
            except Unreachable:
                return
            state = json.loads(content).get("state")
            (acknowledged if (status, state) == (200, "counted") else others).append((token, status, state))

    await asyncio.gather(*(respond(*pair) for pair in pairs))
    return [token for token, *_ in acknowledged], others
