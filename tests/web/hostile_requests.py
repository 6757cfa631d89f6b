"""Requests that are to be refused, and what every refusal must be like."""

import pytest
from browser import FOUR

JSON = {"content-type": "application/json"}


@pytest.fixture(autouse=True)
def still_well(client):
    """Whatever a test did, the server answers the next request."""
    yield
    asked = {"strata": FOUR, "options": {"epsilon": 1.0, "total": 200}}
    assert client.post("/api/design", json=asked).json()["strata"]["sample_size"] == [117, 42, 22, 19]


def refused(reply, status, words):
    assert reply.status_code == status, reply.text
    error = reply.json()["error"]
    assert set(error) == {"message", "argument", "parts", "cells", "nearest"}
    assert words in error["message"], error["message"]
    assert "Traceback" not in reply.text
    assert "/tmp" not in reply.text
    return error


def post(client, content, path="/api/design", headers=JSON, **more):
    return client.post(path, content=content, headers=headers, **more)
