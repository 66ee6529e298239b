"""Datagrams over the loopback interface: all arrive; what a socket refuses is lost, and the echo goes on."""

import socket
import struct
import threading
from contextlib import suppress

import pytest

from holdfast.node.probes.sweep import datagrams

KEY = datagrams.new_key()


def test_all_of_them_arrive_and_come_back_over_loopback():
    found = datagrams.send("127.0.0.1", ("127.0.0.1", datagrams.echo("127.0.0.1", "127.0.0.1", KEY)), 1500, KEY)
    assert found == {
        "small": {"sent": 500, "arrived": 500, "echoed": 500},
        "full": {"sent": 20, "arrived": 20, "echoed": 20},
        "mtu": 1500,
    }


def test_without_an_echo_nothing_comes_back_and_the_large_ones_are_not_tried():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        found = datagrams.send("127.0.0.1", silent.getsockname(), 1500, KEY)
    assert found["small"] == {"sent": datagrams.BATCH, "arrived": 0, "echoed": 0}
    assert found["full"]["sent"] == 0


def test_the_echo_answers_who_has_the_key_and_no_other():
    """The attack: a neighbour finds the port, is answered, and keeps it open or has it count what was never sent."""
    port = datagrams.echo("127.0.0.1", "127.0.0.1", KEY)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as neighbour:
        neighbour.bind(("127.0.0.1", 0))
        for number in range(20):  # numbers that the true sender does not use
            body = struct.pack("!II", 10_000 + number, 0)
            for forged in (
                body.ljust(64, b"\0"),
                datagrams._tagged(body, datagrams.new_key()).ljust(64, b"\0"),
                body[:5],
            ):
                neighbour.sendto(forged, ("127.0.0.1", port))
        found = datagrams.send("127.0.0.1", ("127.0.0.1", port), 1500, KEY)
        assert 0 < found["small"]["echoed"] <= found["small"]["arrived"] <= 500, "what was forged is not counted"
        neighbour.setblocking(False)
        with pytest.raises(BlockingIOError):
            neighbour.recv(64)  # the true sender was answered after all that was forged


def test_the_echo_answers_one_address_alone():
    port = datagrams.echo("127.0.0.1", "127.0.0.2", KEY)
    assert datagrams.send("127.0.0.1", ("127.0.0.1", port), 1500, KEY)["small"]["echoed"] == 0
    assert datagrams.send("127.0.0.2", ("127.0.0.1", port), 1500, KEY)["small"]["echoed"] > 0


def test_a_forged_echo_is_not_believed():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as liar:
        liar.bind(("127.0.0.1", 0))
        threading.Thread(target=_lie, args=(liar,), daemon=True).start()
        found = datagrams.send("127.0.0.1", liar.getsockname(), 1500, KEY)
    assert (found["small"]["arrived"], found["small"]["echoed"]) == (0, 0)


def _lie(liar):
    with suppress(OSError):
        while True:
            data, sender = liar.recvfrom(2048)
            number, kind = struct.unpack_from("!II", data)
            liar.sendto(datagrams._tagged(struct.pack("!IIII", number, kind, 500, 20), datagrams.new_key()), sender)


def test_what_is_larger_than_the_interface_allows_does_not_arrive():
    port = datagrams.echo("127.0.0.1", "127.0.0.1", KEY)
    found = datagrams.send("127.0.0.1", ("127.0.0.1", port), 65_535 + datagrams.IP_AND_UDP_BYTES + 10_000, KEY)
    assert found["small"]["echoed"] == 500
    assert found["full"]["sent"] > 0


def test_the_mtu_of_an_interface_that_is_not_there_is_not_known():
    assert datagrams.mtu_of("lo") > 0
    assert datagrams.mtu_of("no-such-interface") == 0
