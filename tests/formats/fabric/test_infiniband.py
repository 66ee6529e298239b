"""Port values of sysfs: read as the kernel means them, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.fabric import infiniband


@pytest.mark.parametrize(
    ("raw", "state"),
    [
        (b"4: ACTIVE\n", 4),
        (b"1: DOWN\n", 1),
        (b"2: INIT\n", 2),
        (b"5: ACTIVE_DEFER\n", 5),
        (b"4: ACT", None),
        (b"4", None),
        (b"4: DOWN", None),
        (b"0: NOP", None),
        (b"", None),
        (b"\x00\xff4: ACTIVE", None),
    ],
)
def test_a_state_needs_a_number_and_the_word_that_belongs_to_it(raw: bytes, state: int | None) -> None:
    assert infiniband.port_state(raw) == state


@pytest.mark.parametrize(
    ("raw", "rate"),
    [
        (b"400 Gb/sec (4X NDR)\n", 5e10),
        (b"800 Gb/sec (8X NDR)", 1e11),
        (b"2.5 Gb/sec (1X SDR)", 3.125e8),
        (b"10 Gb/sec (4X)", 1.25e9),
        (b"0 Gb/sec", None),
        (b"400 Gb", None),
        (b"N/A", None),
    ],
)
def test_a_rate_is_reported_in_bytes_a_second(raw: bytes, rate: float | None) -> None:
    assert infiniband.rate_bytes_per_second(raw) == rate


def test_a_counter_that_the_device_does_not_keep_is_no_zero() -> None:
    assert infiniband.counter(b"N/A (no PMA)\n") is None
    assert infiniband.counter(b"18446744073709551615\n") == 2**64 - 1


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("port_xmit_data", ("port_xmit_data_bytes_total", 4)),
        ("port_rcv_data", ("port_rcv_data_bytes_total", 4)),
        ("port_xmit_wait", ("port_xmit_wait_total", 1)),
        ("link_downed", ("port_link_downed_total", 1)),
        ("VL15_dropped", ("port_vl15_dropped_total", 1)),
    ],
)
def test_counters_get_one_port_in_front_and_data_counts_words(name: str, signal: tuple[str, int]) -> None:
    assert infiniband.counter_signal(name) == signal


@given(st.binary(max_size=200))
def test_no_bytes_make_a_parser_raise_or_call_a_port_active_by_chance(raw: bytes) -> None:
    infiniband.phys_state(raw), infiniband.rate_bytes_per_second(raw), infiniband.counter(raw)
    assert infiniband.port_state(raw) != infiniband.ACTIVE or b"active" in raw.lower()
