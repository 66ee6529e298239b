"""A store that has no authentication listens on the interface of its job alone."""

import ipaddress
import socket

import pytest

from holdfast.runtime.listener import listen


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
def test_it_listens_on_the_interface_of_the_host(host: str) -> None:
    with listen(host, 0) as found:
        assert found.getsockname()[0] == host
        assert found.getsockname()[1]


def test_localhost_is_loopback_whether_the_machine_resolves_it_to_ipv4_or_ipv6() -> None:
    with listen("localhost", 0) as found:
        assert ipaddress.ip_address(found.getsockname()[0]).is_loopback


def test_a_name_that_debian_gives_a_loopback_address_listens_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.1.1", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answer)
    with listen("gpu-07", 0) as found:
        assert found.getsockname()[0] == "0.0.0.0"
