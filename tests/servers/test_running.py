"""Taking a port, and the address that follows."""

import asyncio
import logging
import socket

import pytest

import dpstrata as dps
from dpstrata.servers import running
from dpstrata.servers.running import address_of, encryption_of, open_socket
from problems import self_signed


def test_without_a_port_the_next_free_one_is_taken():
    first = open_socket("127.0.0.1", None)
    second = open_socket("127.0.0.1", None)
    try:
        assert 8000 <= first.getsockname()[1] < second.getsockname()[1] < 8020
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize(
    ("host", "port", "words"),
    [
        ("203.0.113.7", 0, "host must be an address of this machine"),
        ("no such host", 0, "host must be an address of this machine"),
        ("127.0.0.1", 70000, "port must lie between 0 and 65535"),
        ("127.0.0.1", -1, "port must lie between 0 and 65535"),
    ],
)
def test_impossible_addresses(host, port, words):
    with pytest.raises(dps.InputError, match=words):
        open_socket(host, port)


@pytest.mark.parametrize(
    ("host", "shown"), [("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1")]
)
def test_the_address_is_one_that_a_browser_reaches(host, shown):
    with open_socket(host, 0) as opened:
        assert address_of(opened) == f"http://{shown}:{opened.getsockname()[1]}/"


def test_a_certificate_and_its_key_are_taken(tmp_path):
    assert encryption_of(None, None) is None
    given = self_signed(tmp_path)
    assert encryption_of(*given) == given


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (
            lambda cert, key: (cert, None),
            "certificate and private_key must be given together, got one of them",
        ),
        (
            lambda cert, key: (None, key),
            "certificate and private_key must be given together, got one of them",
        ),
        (
            lambda cert, key: (cert.with_name("none.pem"), key),
            r"certificate must be a file in PEM, got .*none\.pem: No such file",
        ),
        (
            lambda cert, key: (cert, key.parent),
            r"private_key must be a file in PEM, got .*: Is a directory",
        ),
        (lambda cert, key: (cert, self_signed(key.parent / "other")[1]), "the key that belongs to it"),
        (lambda cert, key: (key, key), "must be a certificate in PEM and the key that belongs to it"),
        (lambda cert, key: self_signed(key.parent / "locked", password=b"secret"), "without a password"),
    ],
)
def test_what_no_server_could_encrypt_with_is_told_in_a_sentence(tmp_path, break_it, said):
    with pytest.raises(dps.InputError, match=said) as caught:
        encryption_of(*break_it(*self_signed(tmp_path)))
    assert "BEGIN" not in str(caught.value)
    assert str(caught.value).count(". ") == 0


def test_a_server_that_stopped_before_it_takes_waiting_connections_fills_no_log(caplog, monkeypatch):
    """asyncio tries again after a second, and logs that its socket is gone; other faults are logged as ever."""
    closed = socket.socket()
    closed.close()

    async def stop_meanwhile():
        loop = asyncio.get_running_loop()
        loop.call_soon(loop._start_serving, asyncio.Protocol, closed)
        loop.call_soon(divmod, 1, 0)
        await asyncio.sleep(0.01)

    logger = logging.getLogger("asyncio")
    monkeypatch.setattr(logger, "filters", [])  # those of servers that other tests ran
    asyncio.run(stop_meanwhile())
    assert [("_start_serving(" in line) for line in caplog.messages] == [True, False]
    caplog.clear()
    monkeypatch.setattr(logger, "filters", [running._is_news])
    asyncio.run(stop_meanwhile())
    assert len(caplog.messages) == 1
    assert "divmod" in caplog.text
