"""gpu_metrics by its exact revision; fields that are not filled are absent; no bytes make it fail."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.amd import gpu_metrics as metrics
from holdfast.formats.amd import sysfs
from holdfast.formats.amd.gpu_metrics import HARDWARE_SLOWDOWN, LAYOUTS, POWER_BRAKE, POWER_CAP, THERMAL, Metrics

SIZES = {(1, 1): 96, (1, 2): 104, (1, 3): 120, (1, 4): 288, (1, 5): 328, (1, 6): 1664, (1, 7): 2208, (1, 8): 3360}


def blob(revision: tuple[int, int], **values: int) -> bytes:
    raw = bytearray(b"\xff" * SIZES[revision])
    struct.pack_into("<HBB", raw, 0, len(raw), *revision)
    for name, value in values.items():
        place = LAYOUTS[revision][name]
        struct.pack_into(f"<{place.kind}", raw, place.offset, value)
    return bytes(raw)


@pytest.mark.parametrize("revision", list(LAYOUTS))
def test_every_revision_is_read_and_what_is_not_filled_is_absent(revision: tuple[int, int]) -> None:
    found = metrics.parse(blob(revision, temperature_hotspot=61, socket_power=512, pcie_link_width=16))
    assert isinstance(found, Metrics)
    wanted = {"temperature_hotspot": 61.0, "socket_power": 512.0, "pcie_link_width": 16.0}
    assert wanted.items() <= found.values.items()
    assert "temperature_mem" not in found.values


def test_places_of_the_kernel_header() -> None:
    assert (LAYOUTS[1, 3]["independent_throttle_status"].offset, LAYOUTS[1, 3]["gfxclk"].offset) == (112, 54)
    assert (LAYOUTS[1, 4]["uclk"].offset, LAYOUTS[1, 5]["uclk"].offset, LAYOUTS[1, 6]["uclk"].offset) == (280, 320, 304)
    assert (LAYOUTS[1, 7]["xgmi_link_status"].offset, LAYOUTS[1, 7]["hbm_thermal_residency"].offset) == (264, 60)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", "not a gpu_metrics"),
        (b"\x08\x00\x01\x09" + b"\0" * 4, "1.9"),
        (blob((1, 7))[:100], "has 100"),
        (b"\x08\x00\x01\x07" + b"\0" * 4, "too short"),
    ],
)
def test_other_bytes_say_why(raw: bytes, expected: str) -> None:
    found = metrics.parse(raw)
    assert isinstance(found, str)
    assert expected in found


@given(st.binary(max_size=400))
def test_no_bytes_make_it_fail(raw: bytes) -> None:
    metrics.parse(raw)
    sysfs.error_counts(raw.decode("latin-1"))
    sysfs.bad_pages(raw.decode("latin-1"))
    sysfs.highest_clock_hertz(raw.decode("latin-1"))
    sysfs.number(raw.decode("latin-1"))


def reasons(revision: tuple[int, int], before: dict[str, int] | None = None, **values: int) -> int | None:
    earlier = metrics.parse(blob(revision, **before)) if before else None
    now = metrics.parse(blob(revision, **values))
    assert isinstance(now, Metrics)
    return metrics.clock_reasons(now, earlier if isinstance(earlier, Metrics) else None)


def test_what_holds_the_clocks_back() -> None:
    assert reasons((1, 3), independent_throttle_status=1 << 36) == THERMAL
    assert reasons((1, 3), independent_throttle_status=1 << 0) == POWER_CAP
    assert reasons((1, 5), throttle_status=0x1) == POWER_BRAKE
    assert reasons((1, 5), throttle_status=0x6) == THERMAL | POWER_CAP
    assert reasons((1, 5), throttle_status=0) == 0
    assert HARDWARE_SLOWDOWN == 0x08


def test_residencies_need_two_readings_and_a_share_of_the_time() -> None:
    zero = {"accumulation_residency": 1000, "socket_thermal_residency": 0, "ppt_residency": 0}
    assert reasons((1, 7), None, **zero) is None
    held = {"accumulation_residency": 2000, "socket_thermal_residency": 50, "ppt_residency": 49}
    assert reasons((1, 7), zero, **held) == THERMAL


def test_error_counts_and_bad_pages() -> None:
    assert sysfs.error_counts("ue: 3\nce: 12\n") == (3, 12, 0)
    assert sysfs.error_counts("ue: 3\nce: 12\nde: 4\n") == (3, 12, 4)
    assert sysfs.error_counts("Query currently inaccessible\n") is None
    text = "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n0x00000003 : 0x00001000 : F\n"
    assert sysfs.bad_pages(text) == (1, 1, 1)
    assert sysfs.bad_pages("") == (0, 0, 0)
    assert sysfs.highest_clock_hertz("0: 132Mhz *\n1: 2100Mhz\n") == 2.1e9
    assert sysfs.highest_clock_hertz("S: 94Mhz *\n0: 500Mhz\n") == 5e8
