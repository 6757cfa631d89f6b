"""Taking a port, and the address that follows."""

import pytest

import dpstrata as dps
from dpstrata.servers.running import address_of, open_socket


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
