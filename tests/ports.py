"""Ports for servers that cannot choose one themselves."""

import itertools
import os
import socket

# Below what Linux gives to whoever connects or asks for any port: nobody gets one of these by chance.
FIRST, LAST = 20_000, 32_000
_KINDS = (socket.SOCK_STREAM, socket.SOCK_DGRAM)

_held: list[socket.socket] = []
_next = itertools.count(os.getpid() * 97)


def free_port() -> int:
    """A port on loopback that nothing listens on, and that no other test is given while this process lives."""
    for number in itertools.islice(_next, LAST - FIRST):
        port = FIRST + number % (LAST - FIRST)
        if _claim(port) and all(_is_free(port, kind) for kind in _KINDS):
            return port
    raise AssertionError(f"no port from {FIRST} to {LAST} is free")


def free_ports(count: int) -> list[int]:
    return [free_port() for _ in range(count)]


def _claim(port: int) -> bool:
    """A name that one process can hold, and that ends with it."""
    mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        mark.bind(f"\0holdfast-tests-port-{port}")
    except OSError:
        mark.close()
        return False
    _held.append(mark)
    return True


def _is_free(port: int, kind: socket.SocketKind) -> bool:
    with socket.socket(socket.AF_INET, kind) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
