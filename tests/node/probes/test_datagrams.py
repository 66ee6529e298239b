"""Datagrams over the loopback interface: all arrive; what a socket refuses is lost, and the echo goes on."""

import socket

from holdfast.node.probes.sweep import datagrams


def test_all_of_them_arrive_and_come_back_over_loopback():
    found = datagrams.send("127.0.0.1", ("127.0.0.1", datagrams.echo("127.0.0.1")), 1500)
    assert found == {
        "small": {"sent": 500, "arrived": 500, "echoed": 500},
        "full": {"sent": 20, "arrived": 20, "echoed": 20},
        "mtu": 1500,
    }


def test_without_an_echo_nothing_comes_back_and_the_large_ones_are_not_tried():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        found = datagrams.send("127.0.0.1", silent.getsockname(), 1500)
    assert found["small"] == {"sent": datagrams.BATCH, "arrived": 0, "echoed": 0}
    assert found["full"]["sent"] == 0


def test_what_is_larger_than_the_interface_allows_does_not_arrive():
    port = datagrams.echo("127.0.0.1")
    found = datagrams.send("127.0.0.1", ("127.0.0.1", port), 65_535 + datagrams.IP_AND_UDP_BYTES + 10_000)
    assert found["small"]["echoed"] == 500
    assert found["full"]["sent"] > 0


def test_the_mtu_of_an_interface_that_is_not_there_is_not_known():
    assert datagrams.mtu_of("lo") > 0
    assert datagrams.mtu_of("no-such-interface") == 0
