"""The `gpu_metrics` file of amdgpu: a C structure whose first four bytes name its layout.

The layouts are those of drivers/gpu/drm/amd/include/kgd_pp_interface.h. Revisions do not only append, so only an exact
match is read. A field that the firmware does not fill has all bits set.
"""

import struct
from collections.abc import Mapping
from typing import NamedTuple

_HEADER = struct.Struct("<HBB")
_SIZES = {"B": 1, "H": 2, "I": 4, "Q": 8}


class FieldPlace(NamedTuple):
    offset: int
    kind: str  # struct format: H, I or Q
    times: int = 1


class Metrics(NamedTuple):
    revision: str
    values: Mapping[str, float]
    lists: Mapping[str, tuple[float, ...]]


_AVERAGE = {  # 1.1 to 1.3: MI100 and MI200
    "temperature_edge": FieldPlace(4, "H"),
    "temperature_hotspot": FieldPlace(6, "H"),
    "temperature_mem": FieldPlace(8, "H"),
    "gfx_activity": FieldPlace(16, "H"),
    "umc_activity": FieldPlace(18, "H"),
    "socket_power": FieldPlace(22, "H"),
    "gfxclk": FieldPlace(54, "H"),
    "uclk": FieldPlace(58, "H"),
    "throttle_status": FieldPlace(68, "I"),
    "pcie_link_width": FieldPlace(74, "H"),
    "pcie_link_speed": FieldPlace(76, "H"),
}
_CURRENT = {  # the first 16 bytes of 1.4 to 1.8: MI300 and later
    "temperature_hotspot": FieldPlace(4, "H"),
    "temperature_mem": FieldPlace(6, "H"),
    "temperature_vrsoc": FieldPlace(8, "H"),
    "socket_power": FieldPlace(10, "H"),
    "gfx_activity": FieldPlace(12, "H"),
    "umc_activity": FieldPlace(14, "H"),
}


def _links(start: int) -> dict[str, FieldPlace]:
    names = ("pcie_link_width", "pcie_link_speed", "xgmi_link_width", "xgmi_link_speed")
    return {name: FieldPlace(start + 2 * index, "H") for index, name in enumerate(names)}


def _residencies(start: int) -> dict[str, FieldPlace]:
    names = ("accumulation", "prochot", "ppt", "socket_thermal", "vr_thermal", "hbm_thermal")
    return {f"{name}_residency": FieldPlace(start + 4 * index, "I") for index, name in enumerate(names)}


_1_7 = {
    **_CURRENT,
    **_residencies(40),
    **_links(68),
    "pcie_l0_to_recovery": FieldPlace(104, "Q"),
    "pcie_replay": FieldPlace(112, "Q"),
    "xgmi_read_kilobytes": FieldPlace(136, "Q", 8),
    "xgmi_write_kilobytes": FieldPlace(200, "Q", 8),
    "xgmi_link_status": FieldPlace(264, "H", 8),
    "gfxclk": FieldPlace(296, "H", 8),
    "uclk": FieldPlace(336, "H"),
    "partitions": FieldPlace(338, "H"),
}
LAYOUTS: Mapping[tuple[int, int], Mapping[str, FieldPlace]] = {
    (1, 1): _AVERAGE,
    (1, 2): _AVERAGE,
    (1, 3): {**_AVERAGE, "independent_throttle_status": FieldPlace(112, "Q")},
    (1, 4): {
        **_CURRENT,
        "throttle_status": FieldPlace(40, "I"),
        **_links(48),
        "pcie_l0_to_recovery": FieldPlace(80, "Q"),
        "pcie_replay": FieldPlace(88, "Q"),
        "gfxclk": FieldPlace(240, "H", 8),
        "uclk": FieldPlace(280, "H"),
    },
    (1, 5): {
        **_CURRENT,
        "throttle_status": FieldPlace(72, "I"),
        **_links(80),
        "pcie_l0_to_recovery": FieldPlace(112, "Q"),
        "pcie_replay": FieldPlace(120, "Q"),
        "gfxclk": FieldPlace(280, "H", 8),
        "uclk": FieldPlace(320, "H"),
    },
    (1, 6): {
        **_CURRENT,
        **_residencies(32),
        **_links(60),
        "pcie_l0_to_recovery": FieldPlace(96, "Q"),
        "pcie_replay": FieldPlace(104, "Q"),
        "gfxclk": FieldPlace(264, "H", 8),
        "uclk": FieldPlace(304, "H"),
    },
    (1, 7): _1_7,
    (1, 8): _1_7,  # differs only after the fields read here
}


def parse(raw: bytes) -> Metrics | str:
    """The values that the firmware filled, or why there are none. Never raises."""
    if len(raw) < _HEADER.size:
        return f"{len(raw)} bytes are not a gpu_metrics file"
    size, form, content = _HEADER.unpack_from(raw)
    revision = f"{form}.{content}"
    layout = LAYOUTS.get((form, content))
    if layout is None:
        return f"revision {revision} of gpu_metrics is not known"
    if size != len(raw):
        return f"gpu_metrics {revision} says that it has {size} bytes, and has {len(raw)}"
    values: dict[str, float] = {}
    lists: dict[str, tuple[float, ...]] = {}
    for name, place in layout.items():
        if place.offset + _SIZES[place.kind] * place.times > len(raw):
            return f"gpu_metrics {revision} is too short for {name}"
        empty = (1 << 8 * _SIZES[place.kind]) - 1
        found = struct.unpack_from(f"<{place.times}{place.kind}", raw, place.offset)
        known = tuple(float(value) for value in found if value != empty)
        if place.times > 1:
            lists[name] = known
        if known:
            values[name] = max(known)
    return Metrics(revision, values, lists)


# Throttler bits, mapped to NVML's clock event reasons.
POWER_CAP, HARDWARE_SLOWDOWN, THERMAL, POWER_BRAKE = 0x04, 0x08, 0x40, 0x80
_INDEPENDENT = (  # mask of indep_throttle_status, reason
    (0x00000000000000FF, POWER_CAP),
    (0x00000000FFFF0000, POWER_CAP),  # current limits
    (0x0000FFFF00000000, THERMAL),
    (0x0300000000000000, THERMAL),  # voltage regulators too hot
    (0x0C00000000000000, POWER_BRAKE),  # PROCHOT from outside
)
_MI300 = ((0x1, POWER_BRAKE), (0x2, POWER_CAP), (0x4, THERMAL), (0x8, THERMAL), (0x10, THERMAL))
_RESIDENCIES = {"prochot": POWER_BRAKE, "ppt": POWER_CAP, "socket_thermal": THERMAL, "vr_thermal": THERMAL,
                "hbm_thermal": THERMAL}  # fmt: skip
LEAST_SHARE = 0.05  # share of the time between two readings for which a limiter must be active to count


def clock_reasons(now: Metrics, before: Metrics | None) -> int | None:
    """Why the clocks are throttled; None if this needs an earlier reading, or the firmware does not report it."""
    if (status := now.values.get("independent_throttle_status")) is not None:
        return _bits(int(status), _INDEPENDENT)
    if (status := now.values.get("throttle_status")) is not None and now.revision in ("1.4", "1.5"):
        return _bits(int(status), _MI300)
    ticks = _grown(now, before, "accumulation")
    if before is None or not ticks:
        return None
    reasons = 0
    for name, bit in _RESIDENCIES.items():
        if _grown(now, before, name) / ticks >= LEAST_SHARE:
            reasons |= bit
    return reasons


def _bits(status: int, meanings: tuple[tuple[int, int], ...]) -> int:
    found = 0
    for mask, bit in meanings:
        found |= bit if status & mask else 0
    return found


def _grown(now: Metrics, before: Metrics | None, name: str) -> float:
    key = f"{name}_residency"
    step = now.values.get(key, 0.0) - (before.values.get(key, 0.0) if before else 0.0)
    return step if step >= 0 else now.values.get(key, 0.0)
