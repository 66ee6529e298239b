"""Adapters and where their counters stop."""

from holdfast.catalog import nics


def test_an_adapter_is_known_by_the_type_its_driver_prints() -> None:
    known = nics.adapter("MT4129")
    assert known is not None and (known.model, known.rate_bytes_per_second) == ("ConnectX-7", 5e10)
    assert nics.adapter("MT1") is None


def test_a_counter_at_its_largest_value_is_saturated() -> None:
    assert nics.is_saturated("port_link_downed_total", 255)
    assert not nics.is_saturated("port_link_downed_total", 254)
    assert not nics.is_saturated("port_unicast_rcv_packets_total", 255)
