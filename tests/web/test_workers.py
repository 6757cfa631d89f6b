"""What a request leaves behind: no file, no memory, no work that nobody waits for."""

import asyncio
import io
import json
import os
import subprocess
import sys
import time

import openpyxl
import psutil
import pyarrow
import pytest
import uvicorn
from pyarrow import parquet

from dpstrata.servers.running import open_socket
from dpstrata.web.app import make_app
from dpstrata.web.replies import Reply
from dpstrata.web.requests import Limits
from dpstrata.web.workers import LENGTHS, ClientGoneError, Pool, Worker, memory_kept, pack

pytestmark = pytest.mark.slow

FOUR = {
    "stratum": ["A", "B", "C", "D"],
    "size": [7000, 8000, 9000, 10000],
    "sd": [0.283, 0.08, 0.0226, 0.0064],
}
DESIGN = json.dumps({"strata": FOUR, "options": {"epsilon": 1.0, "total": 200}}).encode()
MANY = 50_000
SLOW = json.dumps(
    {
        "strata": {"stratum": list(range(MANY)), "size": [900] * MANY, "sd": [0.1] * MANY},
        "options": {"epsilon": 1, "total": 10 * MANY},
    }
).encode()


def as_bytes(columns, ending):
    """Make a file of every kind that is read."""
    if ending == "parquet":
        sink = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), sink)
        return sink.getvalue()
    if ending == "xlsx":
        book, sink = openpyxl.Workbook(), io.BytesIO()
        for row in [list(columns), *zip(*columns.values(), strict=True)]:
            book.active.append(row)
        book.save(sink)
        return sink.getvalue()
    rows = [columns, *zip(*columns.values(), strict=True)]
    return "".join(",".join(map(str, row)) + "\n" for row in rows).encode()


@pytest.fixture
def worker(tmp_path):
    """A worker as the server starts it, whose temporary files are in a folder of the test's own."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "dpstrata.web.workers"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        yield process
        process.kill()


def ask(process, job, body, **parameters):
    """Have a worker do something; return what it says about it, and the content."""
    process.stdin.write(pack({"job": job, "parameters": parameters}, body))
    process.stdin.flush()
    head, content = LENGTHS.unpack(process.stdout.read(LENGTHS.size))
    return json.loads(process.stdout.read(head)), process.stdout.read(content)


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_an_upload_never_reaches_a_disk(worker, tmp_path, ending):
    """So nothing of it stays when its worker is killed: no file is made, not even for a moment."""
    told, content = ask(worker, "table", as_bytes(FOUR, ending), name=f"s.{ending}")
    assert told["reply"]["status"] == 200
    assert json.loads(content)["strata"]["stratum"] == FOUR["stratum"]
    made = os.stat(tmp_path).st_mtime_ns
    ask(worker, "table", as_bytes(FOUR, ending), name=f"s.{ending}")
    worker.stdin.write(pack({"job": "table", "parameters": {"name": "s.csv"}}, as_bytes(FOUR, "csv") * 9999))
    worker.stdin.flush()
    time.sleep(0.05)
    worker.kill()
    worker.wait(10)
    assert list(tmp_path.iterdir()) == []
    assert os.stat(tmp_path).st_mtime_ns == made


def test_a_workbook_with_a_far_cell_is_refused_by_a_worker_that_lives_on(worker):
    book, sink = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["stratum", "size"])
    book.active.cell(1_048_576, 16_384, 1)
    book.save(sink)
    told, content = ask(worker, "table", sink.getvalue(), name="far.xlsx")
    assert told["reply"]["status"] == 422
    assert "far.xlsx must have its cells close together" in json.loads(content)["error"]["message"]
    told, _ = ask(worker, "design", DESIGN)
    assert told == {"reply": {"status": 200, "kind": "application/json", "name": None}, "spent": False}
    worker.stdin.close()
    assert worker.stderr.read() == b""


def test_a_worker_says_whether_it_kept_much_memory():
    program = (
        "from dataclasses import replace; from dpstrata.web import workers; "
        "workers.LIMITS = replace(workers.LIMITS, kept_bytes=10**7); workers.main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert ask(process, "health", b"")[0]["spent"] is True
        process.stdin.close()


@pytest.mark.parametrize("spent", [False, True])
def test_a_worker_that_kept_much_memory_is_replaced_before_the_next_request(monkeypatch, spent):
    """A refused upload left a worker with 1.4 GB, and the next report failed."""
    replaced = []

    async def start(self):
        pass

    async def answer(self, job, parameters, body):
        self.spent = spent
        return Reply(b"")

    async def end(self):
        replaced.append(self)
        self.spent = False

    for name, instead in (("start", start), ("ask", answer), ("end", end)):
        monkeypatch.setattr(Worker, name, instead)

    async def run():
        pool = Pool(Limits(workers=1))
        await pool.start()
        return [(await pool.run("health", {}, b"")).status for _ in range(3)]

    assert asyncio.run(run()) == [200] * 3
    assert len(replaced) == 3 * spent


def test_memory_is_measured():
    assert 10 * 2**20 < memory_kept() == pytest.approx(psutil.Process().memory_info().rss, rel=0.2)


def test_a_client_that_left_before_its_turn_costs_nothing():
    async def leave():
        pool = Pool(Limits(workers=1))
        await pool.start()
        gone = asyncio.Event()
        gone.set()
        try:
            with pytest.raises(ClientGoneError):
                await pool.run("precision", {}, SLOW, gone=gone)
            return (await pool.run("health", {}, b"")).status
        finally:
            await pool.stop()

    assert asyncio.run(leave()) == 200


def test_a_client_that_leaves_is_noticed_after_a_body_of_any_size(monkeypatch):
    """After more than 130 kB nobody noticed, and requests that a slider had cancelled were all worked off."""
    begun, left = [], []

    async def start_none(self):
        pass

    async def wait_until_gone(self, job, parameters, body, *, gone):
        begun.append(len(body))
        await gone.wait()
        left.append(len(body))
        raise ClientGoneError

    monkeypatch.setattr(Pool, "start", start_none)
    monkeypatch.setattr(Pool, "run", wait_until_gone)

    async def cancel(opened, size):
        host, port = opened.getsockname()
        _, writer = await asyncio.open_connection(host, port)
        head = f"POST /api/design HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {size}"
        writer.write(head.encode() + b"\r\n\r\n" + bytes(size))
        await until(lambda: size in begun)
        assert size not in left
        writer.close()
        await until(lambda: size in left)

    async def serve():
        opened = open_socket("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(make_app(), log_level="error", ws="none"))
        task = asyncio.create_task(server.serve(sockets=[opened]))
        await until(lambda: server.started)
        for size in (100, 131_072, 400_000, 5_000_000):
            await cancel(opened, size)
        server.should_exit = True
        await task

    asyncio.run(serve())
    assert begun == left == [100, 131_072, 400_000, 5_000_000]


async def until(holds):
    """Wait for something, not for ever."""
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)
