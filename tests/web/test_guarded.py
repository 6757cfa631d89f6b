"""Who may ask: this machine and the page of this server, and every answer has its headers."""

import json

import pytest
from hostile_requests import post, refused, still_well  # noqa: F401 - after every test
from starlette.testclient import TestClient

from dpstrata.web.app import POLICY, make_app


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "", "127.0.0.1.evil.example", "[", "localhost@evil"]
)
def test_other_names_for_this_machine_are_refused(client, host):
    refused(client.get("/", headers={"host": host}), 400, "Host header")
    refused(client.get("/api/health", headers={"host": host}), 400, "Host header")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:8123", "[::1]:8000"])
def test_this_machine_is_let_in(client, host):
    assert client.get("/api/health", headers={"host": host}).status_code == 200


@pytest.mark.slow
def test_a_server_for_all_addresses_takes_numbers_but_no_other_names():
    with TestClient(make_app(host="0.0.0.0"), base_url="http://192.0.2.7:8000") as client:
        assert client.get("/api/health").status_code == 200
        refused(client.get("/api/health", headers={"host": "evil.example"}), 400, "Host header")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "http://["])
def test_other_pages_are_refused(client, four, origin):
    refused(client.post("/api/design", json=four, headers={"origin": origin}), 403, "the page of this server")


def test_no_page_elsewhere_is_given_leave(client):
    reply = client.options(
        "/api/design",
        headers={"origin": "http://evil.example", "access-control-request-method": "POST"},
    )
    assert reply.status_code == 403
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_bodies_that_any_page_could_send_are_refused(client, four, kind):
    content = json.dumps(four).encode()
    refused(post(client, content, headers={"content-type": kind}), 415, "application/json")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/design", 405),
        ("DELETE", "/api/health", 405),
        ("GET", "/nowhere", 404),
        ("GET", "/static/../app.py", 404),
    ],
)
def test_other_addresses_and_methods(client, method, path, status):
    refused(client.request(method, path), status, "address")


def test_an_unknown_example_is_named(client):
    refused(client.get("/api/examples/%3Cscript%3E"), 404, "there is no example '<script>'")


@pytest.mark.parametrize("path", ["/api/health", "/nowhere", "/api/openapi.json"])
def test_every_answer_has_the_security_headers(client, path):
    headers = client.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_refusals_come_in_the_body_for_a_page_that_prefers_it(client, four):
    four["strata"]["size"][0] = "many"
    prefer = {"prefer": "refusals=in-body"}
    reply = client.post("/api/design", json=four, headers=prefer)
    assert reply.status_code == 200
    assert reply.headers["preference-applied"] == prefer["prefer"]
    assert reply.json() == client.post("/api/design", json=four).json()
    four["strata"]["size"][0] = 7000
    assert "preference-applied" not in client.post("/api/design", json=four, headers=prefer).headers
