"""A listening socket on the interface that a job chose. Stores would otherwise listen on all interfaces."""

import ipaddress
import socket


def listen(host: str, port: int) -> socket.socket:
    """Listens on the interface of `host`. If that name resolves to loopback, as on Debian, it listens on every
    interface."""
    family, _, _, _, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    address = str(found[0])
    if ipaddress.ip_address(address).is_loopback and host not in ("localhost", address):
        address = "::" if family == socket.AF_INET6 else "0.0.0.0"
    return socket.create_server((address, port), family=family)
