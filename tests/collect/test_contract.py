"""What a page and its server say to each other: fixed lengths, nothing counted twice, and nothing taken on trust."""

import hashlib
import json
import logging
import socket
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from collecting import Counting, serving
from dpstrata.collect.contract import LENGTH, POLICY, make_page_app
from dpstrata.collect.store import BusyError

JSON = {"content-type": "application/json"}


@pytest.fixture
def store():
    return Counting()


@pytest.fixture
def client(small_kit, store):
    with TestClient(make_page_app(small_kit, store), base_url="http://127.0.0.1") as made:
        yield made


def post(client, path, body, **more):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(path, content=content.ljust(LENGTH), headers=JSON | more)


def test_a_look_changes_nothing(client, store):
    token = store.invite(1)
    for _ in range(3):
        assert post(client, "/look", {"token": token}).json() == {"state": "open", "form": 1, "odds": 0}
    assert store.counted == []


def test_a_cell_is_counted_once(client, store):
    token = store.invite(1)
    assert post(client, "/send", {"token": token, "cell": 9}).json() == {"state": "counted"}
    assert post(client, "/send", {"token": token, "cell": 3}).json() == {"state": "used"}
    assert post(client, "/look", {"token": token}).json() == {"state": "used"}
    assert store.counted == [(1, 9)]


@pytest.mark.parametrize("state", ["used", "closed", "unknown"])
def test_other_links_say_how_it_stands_and_nothing_about_the_form(client, store, state):
    token = store.invite(1, state=state) if state != "unknown" else "A" * 22
    assert post(client, "/look", {"token": token}).json() == {"state": state}
    assert post(client, "/send", {"token": token, "cell": 0}).json() == {"state": state}
    assert store.counted == []


@pytest.mark.parametrize("cell", [-1, 10, 11, 10**30])
def test_a_cell_out_of_range_uses_no_token_up(client, store, cell):
    token = store.invite(1)
    assert post(client, "/send", {"token": token, "cell": cell}).json() == {"state": "out_of_range"}
    assert post(client, "/send", {"token": token, "cell": 0}).json() == {"state": "counted"}


@pytest.mark.parametrize("token", ["", "x", "A" * 21, "A" * 23, "A" * 21 + "=", "A" * 21 + "\n", "é" * 9, "../../etc/passwd"])  # fmt: skip
def test_what_is_no_token_does_not_reach_the_store(client, store, token):
    assert post(client, "/look", {"token": token}).json() == {"state": "unknown"}
    assert store.looks == 0


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"null", b"[]", b'"x"', b"\xff", b"[" * 100, {}, {"token": 1}, {"token": None}, {"token": True},
        {"token": "x", "cell": 1, "more": 1}, {"cell": 1}, b'{"token": "\\ud800"}' * 2,
    ],
)  # fmt: skip
def test_malformed_bodies_are_refused(client, store, body):
    for path in ("/look", "/send"):
        reply = post(client, path, body)
        assert reply.status_code == 400
        assert set(reply.json()) == {"error"}
    assert store.counted == []


@pytest.mark.parametrize("cell", [True, False, "1", 1.0, None, [1], {}])
def test_only_whole_numbers_are_cells(client, store, cell):
    """JSON's true is an int for Python."""
    token = store.invite(1)
    assert post(client, "/send", {"token": token, "cell": cell}).status_code == 400
    assert post(client, "/look", {"token": token}).json()["state"] == "open"


def test_bodies_and_replies_have_one_length(client, store):
    token = store.invite(1)
    short = json.dumps({"token": token}).encode()
    for content in (short, short.ljust(LENGTH - 1), short.ljust(LENGTH + 1), short.ljust(10**6)):
        assert client.post("/look", content=content, headers=JSON).status_code == 400
    bodies = [("/look", {"token": token}), ("/look", {"token": "x"}), ("/send", {"token": token, "cell": 99}),
              ("/send", {"token": token, "cell": 1}), ("/send", {"token": token, "cell": 1}), ("/send", {})]  # fmt: skip
    replies = [post(client, path, body) for path, body in bodies]
    assert {len(reply.content) for reply in replies} == {LENGTH}
    assert {reply.headers["content-length"] for reply in replies} == {str(LENGTH)}


def test_other_kinds_methods_and_addresses(client, store):
    body = json.dumps({"token": store.invite(1)}).encode().ljust(LENGTH)
    assert client.post("/look", content=body, headers={"content-type": "text/plain"}).status_code == 415
    assert client.get("/look").status_code == 405
    assert client.get("/send").status_code == 405
    assert client.post("/kit.json").status_code == 405
    for path in ("/nothing", "/static/", "/static/..%2fkit.py", "/static/%2e%2e/kit.py", "/preview"):
        assert client.get(path).status_code == 404


def test_pages_elsewhere_are_refused(client, store):
    token = store.invite(1)
    foreign = post(client, "/send", {"token": token, "cell": 1}, origin="https://elsewhere.example")
    named = post(client, "/send", {"token": token, "cell": 1}, host="elsewhere.example")
    assert (foreign.status_code, named.status_code) == (403, 400)
    assert store.counted == []


def test_the_kit_is_served_byte_for_byte(client, small_kit):
    reply = client.get("/kit.json")
    assert reply.content == small_kit.content
    assert reply.headers["content-type"] == "application/json"


def test_every_answer_has_the_policy_and_sets_no_cookie(client):
    for path in ("/", "/kit.json", "/static/page.js", "/nothing"):
        reply = client.get(path)
        assert reply.headers["content-security-policy"] == POLICY
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in reply.headers
        # no mark by which somebody is known again: the same for everyone, since it follows from the content
        mark = f'"{hashlib.sha256(reply.content).hexdigest()[:32]}"'
        assert reply.headers.get("etag", mark) == mark
    assert client.get("/").headers["cache-control"] == "no-store"
    for part in (
        "default-src 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
        "script-src 'self';",
    ):
        assert part in POLICY
    assert "unsafe" not in POLICY


def test_a_fault_says_nothing_of_what_was_sent(small_kit, store, caplog):
    class Broken(Counting):
        async def send(self, token, cell):
            raise RuntimeError("disk")

    broken = Broken()
    token = broken.invite(1)
    app = make_page_app(small_kit, broken)
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client, caplog.at_level(logging.DEBUG):  # fmt: skip
        reply = post(client, "/send", {"token": token, "cell": 7})
    assert reply.status_code == 500
    assert token not in reply.text + caplog.text
    assert len(reply.content) == LENGTH


def test_a_file_that_has_not_changed_is_not_sent_again(client):
    first = client.get("/static/page.js")
    for mark in (first.headers["etag"], f"W/{first.headers['etag']}"):
        again = client.get("/static/page.js", headers={"if-none-match": mark})
        assert (again.status_code, again.content) == (304, b"")
    assert client.get("/static/page.js", headers={"if-none-match": '"other"'}).content == first.content
    assert (
        client.get("/static/../contract.py").status_code == client.get("/static/nothing").status_code == 404
    )


def test_a_store_that_is_busy_lets_the_page_try_again(small_kit):
    class Busy:
        async def look(self, token):
            raise BusyError

    with TestClient(make_page_app(small_kit, Busy()), base_url="http://127.0.0.1") as client:
        for path, body in (("/look", {"token": "A" * 22}), ("/send", {"token": "A" * 22, "cell": 0})):
            reply = post(client, path, body)
            assert (reply.status_code, len(reply.content)) == (503, LENGTH)
            assert reply.json() == {"error": "the server is busy; try again in a moment."}
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").json() == {"state": "alive"}


def test_a_body_that_comes_too_late_ends_the_connection(small_kit, monkeypatch):
    monkeypatch.setattr("dpstrata.collect.contract.SECONDS", 0.2)
    head = (
        b"POST /look HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        b"content-length: 128\r\n\r\n"
    )
    with (
        serving(small_kit) as served,
        socket.create_connection(("127.0.0.1", urlsplit(served.address).port), timeout=5) as late,
    ):
        late.sendall(head)
        reply = b""
        while part := late.recv(4096):  # until the other side has closed
            reply += part
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in reply.lower()
