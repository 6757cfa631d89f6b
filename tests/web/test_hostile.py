"""Oversized, malformed and hostile requests get a clear message, and the next request is answered as ever."""

import asyncio
import csv
import json
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from hostile_requests import FOUR, JSON, post, refused, still_well  # noqa: F401 - after every test
from starlette.testclient import TestClient

from dpstrata.web.app import Held, make_app
from dpstrata.web.replies import RefusedError
from dpstrata.web.requests import LIMITS, Limits
from dpstrata.web.workers import ClientGoneError, Pool

pytestmark = pytest.mark.slow

BYTES = {"content-type": "application/octet-stream"}


# --- shape ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000, b'{"x": "\\ud800"}']
)
def test_what_is_not_json_is_refused(client, content):
    refused(post(client, content), 400, "the body must be JSON")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[]", "the body"),
        (b"{}", "strata"),
        (b'{"strata": [], "options": {}}', "strata"),
        (b'{"strata": {}, "options": {}}', "strata"),
        (b'{"strata": {"size": [true]}, "options": {}}', "strata.size.0"),
        (b'{"strata": {"size": [[1]]}, "options": {}}', "strata.size.0"),
        (b'{"strata": {"size": [NaN]}, "options": {}}', "strata.size.0"),
        (b'{"strata": {"size": [1e999]}, "options": {}}', "strata.size.0"),
        (b'{"strata": {"size": [1]}, "options": {"epsilon": Infinity}}', "epsilon "),
        (b'{"strata": {"size": [1]}, "options": {"epsilon": "1"}}', "epsilon "),
        (b'{"strata": {"size": [1]}, "options": {"total": 1.5}}', "total "),
        (b'{"strata": {"size": [1]}, "options": {"total": 1e300}}', "total "),
        (b'{"strata": {"size": [1]}, "options": {"nonsense": 1}}', "nonsense "),
        (b'{"strata": {"size": [1]}, "options": {}, "more": 1}', "more"),
        (b'{"strata": {"size": [1], "sd": [0.1, 0.2]}, "options": {}}', "one length"),
    ],
)
def test_what_has_the_wrong_shape_is_refused_with_its_place(client, content, words):
    refused(post(client, content), 422, words)


# --- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "row", "cell", "words"),
    [
        ("size", 1, "=1+1", "size must be a number, got '=1+1'."),
        ("size", 0, 1e308, "size must be a whole number from 1 to 10^12"),
        ("size", 0, 10**400, "size"),
        ("size", 2, "-5", "size must be a whole number"),
        ("size", 2, "", "size must be a number, got nothing."),
        ("sd", 3, "NaN", "sd must be a number"),
        ("sd", 3, "1e999", "sd must be a number >= 0"),
        ("sd", 0, "<b>0.1</b>", "sd must be a number, got '<b>0.1</b>'."),
        ("sd", 0, 0.7, "sd must be at most 0.500036"),
        ("stratum", 1, "A", "stratum names must be unique"),
        ("stratum", 1, None, "stratum must not be empty"),
    ],
)
def test_a_wrong_cell_is_reported_at_its_place(client, four, column, row, cell, words):
    four["strata"][column][row] = cell
    error = refused(client.post("/api/design", json=four), 422, "")
    assert {"row": row, "column": column} in [
        {"row": found["row"], "column": found["column"]} for found in error["cells"]
    ]
    assert any(words in found["message"] for found in error["cells"]), error


def test_all_wrong_cells_are_reported_at_once(client, four):
    four["strata"]["size"][0] = "many"
    four["strata"]["sd"][3] = "-1"
    error = refused(client.post("/api/design", json=four), 422, "2 mistakes")
    assert [(cell["row"], cell["column"]) for cell in error["cells"]] == [(0, "size"), (3, "sd")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "epsilon"),
        ({"epsilon": 1}, "total"),
        ({"epsilon": 1, "total": 200, "at_most": 300}, "one"),
        ({"epsilon": 1e308, "total": 200}, "epsilon"),
        ({"epsilon": -1, "total": 200}, "epsilon"),
        ({"epsilon": 1, "total": 2}, "total must be at least the sum of the minimums"),
        ({"epsilon": 1, "total": 10**18}, "total"),
        ({"epsilon": 1, "target_se": 1e-9}, "best possible"),
        ({"epsilon": 1, "total": 200, "mechanism": "<script>"}, "mechanism must be one of"),
        ({"epsilon": 1, "total": 200, "questions": [1, 0]}, "questions"),
        (
            {"epsilon": 1, "total": 200, "questions": "/etc/hosts.csv"},
            "questions must be 'yes_no'",
        ),  # no file
        ({"epsilon": 1, "total": 200, "domains": {"nowhere": None}}, "nowhere"),
        ({"epsilon": 1, "total": 200, "release": "sums", "mechanism": "randomized_response"}, "questions"),
    ],
)
def test_an_impossible_question_is_refused_by_the_librarys_own_sentence(client, four, options, words):
    four["options"] = options
    refused(client.post("/api/design", json=four), 422, words)


@pytest.mark.parametrize(
    "name",
    [
        "<img src=x onerror=alert(1)>",
        "</script><script>alert(1)</script>",
        "\u202egnp.exe",
        "\0",
        "😀" * 50,
        "=cmd()",
    ],
)
def test_any_name_is_carried_as_data(client, four, name):
    four["strata"]["stratum"][0] = name
    reply = client.post("/api/design", json=four)
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    assert reply.json()["strata"]["stratum"][0] == name
    assert client.post("/api/design.json", json=four).json()["strata"][0]["stratum"] == name


def test_a_name_like_a_formula_reaches_no_spreadsheet(client, four):
    four["strata"] |= {"stratum": ["=cmd|'/c calc'!A0", "B", "C", "D"], "@note": ["x", "-1+1", "y", "z"]}
    assert client.post("/api/design", json=four).json()["warnings"] == []
    for address in ("/api/strata.csv", "/api/design.csv"):
        text = client.post(address, json=four).text
        assert "'=cmd|" in text
        assert "'-1+1" in text
        assert "'@note" in text
        assert not any(
            cell.startswith(("=", "@", "-1")) for row in csv.reader(text.splitlines()) for cell in row
        )
    back = post(client, text.encode(), "/api/table?name=s.csv", BYTES).json()["strata"]
    assert back["stratum"] == four["strata"]["stratum"]
    assert back["@note"] == four["strata"]["@note"]


@pytest.mark.parametrize("name", ["__proto__", "constructor", "2024", "toString", "hasOwnProperty"])
def test_any_name_of_a_column_is_carried_as_data(client, four, name):
    four["strata"][name] = ["a", "b", "a", "b"]
    four["options"]["domains"] = {name: None}
    reply = client.post("/api/design", json=four)
    assert reply.status_code == 200, reply.text
    assert client.post("/api/design.json", json=four).json()["strata"][0]["extra"][name] == "a"
    file = client.post("/api/strata.csv", json=four).content
    table = post(client, file, "/api/table?name=s.csv", BYTES).json()
    assert table["columns"] == ["stratum", "size", "sd", "sd_source", name]
    assert table["strata"][name] == ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (b'{"strata": {"size": [9], "size": [8]}, "options": {"epsilon": 1, "total": 2}}', "size"),
        (b'{"strata": {"size": [9]}, "options": {"epsilon": 1, "total": 2, "epsilon": 9}}', "epsilon"),
        (
            b'{"strata": {"size": [9]}, "strata": {"size": [8]}, "options": {"epsilon": 1, "total": 2}}',
            "strata",
        ),
        (b'{"strata": {"size": [9], "s\\u0069ze": [8]}, "options": {"epsilon": 1, "total": 2}}', "size"),
    ],
)
def test_a_key_that_appears_twice_is_refused(client, content, key):
    refused(post(client, content), 422, f"every key of an object must be different, got {key!r} twice.")


# --- size and time ----------------------------------------------------------------------------


def test_more_rows_than_it_takes_are_refused(client):
    many = 300_000
    body = {
        "strata": {"stratum": list(range(many)), "size": [1] * many},
        "options": {"epsilon": 1, "total": many},
    }
    reply = client.post("/api/design", json=body)
    assert reply.status_code in (413, 422)
    assert "100000" in reply.json()["error"]["message"] or "16 MB" in reply.json()["error"]["message"]
    table = b"stratum,size,sd\n" + b"".join(b"%d,9,0\n" % i for i in range(many))
    refused(post(client, table, "/api/table?name=s.csv", BYTES), 413, "100,000 rows")


def test_a_body_is_counted_while_it_is_read(client):
    def endless():
        for _ in range(LIMITS.body_bytes // 2**16 + 2):
            yield b" " * 2**16

    refused(post(client, endless()), 413, "16 MB")
    refused(post(client, b"{}", headers={**JSON, "content-length": str(10**12)}), 413, "16 MB")


def test_a_body_that_comes_too_late_ends_the_connection():
    replies = []

    async def send(message):
        replies.append(message)

    headers = [(b"host", b"127.0.0.1"), *((name.encode(), kind.encode()) for name, kind in JSON.items())]
    request = {
        "type": "http",
        "method": "POST",
        "path": "/api/design",
        "query_string": b"",
        "headers": headers,
    }
    with TestClient(make_app(limits=Limits(body_seconds=0.1, workers=1))) as client:
        client.portal.call(client.app, request, partial(asyncio.sleep, 60), send)
    assert replies[0]["status"] == 408
    assert (b"connection", b"close") in replies[0]["headers"]


def slow(strata):
    return {
        "strata": {"stratum": list(range(strata)), "size": [900] * strata, "sd": [0.1] * strata},
        "options": {"epsilon": 1, "total": 10 * strata},
    }


SLOW = slow(50_000)


def test_work_that_takes_too_long_is_stopped_and_its_worker_replaced(four):
    hurried = Limits(work_seconds=0.02, workers=1)
    with TestClient(make_app(limits=hurried), base_url="http://127.0.0.1") as client:
        refused(client.post("/api/precision", json=SLOW), 413, "took longer than 0.02 seconds")
        refused(client.post("/api/precision", json=SLOW), 413, "took longer than 0.02 seconds")


def test_a_worker_that_dies_is_replaced(four):
    import psutil

    with TestClient(make_app(limits=Limits(workers=1)), base_url="http://127.0.0.1") as client:
        assert client.get("/api/health").status_code == 200
        workers = [
            child
            for child in psutil.Process().children(recursive=True)
            if "dpstrata.web.workers" in child.cmdline()
        ]
        newest = max(workers, key=lambda child: child.create_time())
        threads = newest.environ()["OPENBLAS_NUM_THREADS"]
        newest.kill()
        newest.wait(5)
        statuses = [client.post("/api/design", json=four).status_code for _ in range(2)]
        assert statuses[-1] == 200
        assert threads == "1"  # the workers share the processors
    assert not newest.is_running()


def test_no_worker_outlives_the_server(four):
    import psutil

    def workers():
        return {
            child.pid for child in psutil.Process().children() if "dpstrata.web.workers" in child.cmdline()
        }

    before = workers()
    with TestClient(make_app(), base_url="http://127.0.0.1") as client:
        client.get("/api/health")
        assert len(workers() - before) == LIMITS.workers
    assert workers() == before


def test_workers_end_with_a_server_that_was_killed(tmp_path):
    import subprocess
    import sys
    import time

    import psutil

    command = [sys.executable, "-m", "dpstrata", "serve", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        workers = psutil.Process(process.pid).children()
        assert len(workers) == LIMITS.workers
        process.kill()
    deadline = time.monotonic() + 20
    while any(worker.is_running() and worker.status() != "zombie" for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_too_many_waiting_requests_are_turned_away():
    import threading

    limits, request = Limits(workers=1, waiting=1), slow(10_000)
    with TestClient(make_app(limits=limits), base_url="http://127.0.0.1") as client:
        statuses = []
        threads = [
            threading.Thread(
                target=lambda: statuses.append(client.post("/api/precision", json=request).status_code)
            )
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(statuses) == {200, 503}


def test_bodies_together_are_bounded(four):
    """Two requests whose bodies do not fit together: the second is turned away, and fits once the first is done."""
    body = json.dumps(four).encode()
    limits = Limits(held_bytes=len(body) + len(body) // 2, workers=1)
    held = Held(limits.held_bytes)
    with held.hold() as take:
        take(len(body))
        with held.hold() as other, pytest.raises(RefusedError, match="too many requests are under way"):
            other(len(body))
    with held.hold() as take:
        take(len(body))
    with TestClient(make_app(limits=limits), base_url="http://127.0.0.1") as client:
        for _ in range(3):
            assert post(client, body).status_code == 200
        assert post(client, body + b" " * len(body)).status_code == 503
        assert post(client, body).status_code == 200


def test_work_that_nobody_waits_for_is_stopped():
    """A client that leaves during long work frees its worker."""
    body = json.dumps(SLOW).encode()

    async def leave():
        pool = Pool(Limits(workers=1, patience=0.1))
        await pool.start()
        try:
            start, gone = asyncio.get_running_loop().time(), asyncio.Event()
            asyncio.get_running_loop().call_later(0.2, gone.set)
            with pytest.raises(ClientGoneError):
                await pool.run("precision", {}, body, gone=gone)
            took = asyncio.get_running_loop().time() - start
            reply = await pool.run("health", {}, b"")
            return took, reply.status
        finally:
            await pool.stop()

    took, status = asyncio.run(leave())
    assert status == 200
    assert took < LIMITS.work_seconds / 2


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.csv", b"", "s.csv must have a header row"),
        ("s.csv", b"\xff\xfe\x00", "s.csv must be UTF-8 text"),
        ("s.csv", b"a,a\n1,2\n", "appears twice"),
        ("s.csv", b"a,b\n1\n", "a row must have 2 cells"),
        ("s.csv", b'a,b\n"1,2\n', "s.csv is not a readable CSV file"),
        ("s.csv", b"x" * 131_073 + b"\nA\n", "line 1: a cell has more than 131,072 characters"),
        ("s.parquet", b"PAR1 nonsense", "s.parquet is not a readable Parquet file"),
        ("s.xlsx", b"PK nonsense", "s.xlsx is not a readable Excel file"),
        ("s.exe", b"MZ", "a table must end in"),
        ("../../etc/passwd", b"a", "a table must end in"),
        ("..", b"a", "a table must end in"),
        ("s.\u0000csv", b"a", "a table must end in"),
    ],
)
def test_files_that_cannot_be_read(client, name, content, words):
    reply = client.post("/api/table", params={"name": name}, content=content, headers=BYTES)
    refused(reply, 422, words)


def test_small_files_that_unpack_to_huge_tables_are_refused(client, tmp_path):
    import zipfile

    import pyarrow
    import pyarrow.parquet as parquet

    column = pyarrow.array([7]).take(pyarrow.array([0] * 1_000_000))
    parquet.write_table(pyarrow.table({"stratum": column, "size": column}), tmp_path / "s.parquet")
    with (
        zipfile.ZipFile(tmp_path / "s.xlsx", "w", zipfile.ZIP_DEFLATED) as parts,
        parts.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as part,
    ):
        for _ in range(220):
            part.write(b"<row><c><v>1</v></c></row>" * 40330)
    for name, words in (("s.parquet", "1,000,000"), ("s.xlsx", "200 MB")):
        content = (tmp_path / name).read_bytes()
        assert len(content) < LIMITS.body_bytes
        refused(client.post("/api/table", params={"name": name}, content=content, headers=BYTES), 413, words)


def test_a_file_that_was_read_is_left_nowhere(client):
    name = f"stratum-{uuid4().hex}"
    file = f"stratum,size,sd\n{name},900,0.3\n".encode()
    reply = client.post("/api/table", params={"name": "s.csv"}, content=file, headers=BYTES)
    assert name in reply.text
    temporary = Path(tempfile.gettempdir())
    for path in filter(Path.is_file, [*temporary.glob("*"), *temporary.glob("dpstrata-*/*")]):
        with suppress(OSError):  # what other tests have there comes and goes
            assert name.encode() not in path.read_bytes()


def test_a_file_needs_a_name(client):
    refused(post(client, b"a,b\n", "/api/table", BYTES), 422, "name")


def test_formulas_in_a_file_stay_text(client):
    content = b'stratum,size,sd\n"=HYPERLINK(""http://evil"")",10,0.1\nB,=2+2,0.1\n'
    cells = client.post("/api/table", params={"name": "s.csv"}, content=content, headers=BYTES).json()[
        "strata"
    ]
    assert cells["stratum"][0] == '=HYPERLINK("http://evil")'
    error = refused(
        client.post("/api/design", json={"strata": cells, "options": {"epsilon": 1, "total": 4}}),
        422,
        "'=2+2'",
    )
    assert error["cells"][0]["row"] == 1
