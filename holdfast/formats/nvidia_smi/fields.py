"""Fields of nvidia-smi and the signal of each: one table for text, XML and CSV.

A field is identified by its path: its name and the names above it, in lower case without blanks and punctuation. The
three layouts spell most paths alike; where layouts or drivers differ, a signal lists several paths.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from holdfast.model.signal import Value

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_UNITS = {
    "mib": float(1 << 20),
    "gib": float(1 << 30),
    "kib": 1024.0,
    "mb": 1e6,
    "gb": 1e9,
    "mhz": 1e6,
    "ghz": 1e9,
    "w": 1.0,
    "mw": 1e-3,
    "c": 1.0,
    "us": 1e-6,
    "ms": 1e-3,
}
_RECOVERY = {
    "none": 0.0,
    "gpureset": 1.0,
    "reset": 1.0,
    "nodereboot": 2.0,
    "reboot": 2.0,
    "drainp2p": 3.0,
    "drainandreset": 4.0,
    "drainreset": 4.0,
}
_FABRIC_STATE = {"notstarted": 1.0, "inprogress": 2.0, "completed": 3.0}


def key(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


class Field(NamedTuple):
    signal: str
    paths: tuple[str, ...]  # the first path that exists counts
    read: Callable[[str], Value | None]


def number(default: float = 1.0) -> Callable[[str], Value | None]:
    """A number in the unit printed after it; without a unit (`nounits`) in the tool's default unit."""

    def read(text: str) -> Value | None:
        found = _NUMBER.match(text.strip())
        if not found:
            return None
        unit = key(text.strip()[found.end() :].split("/")[0])
        return float(found[0]) * _UNITS.get(unit, default)

    return read


def ratio(text: str) -> Value | None:
    found = _NUMBER.match(text.strip())
    return float(found[0]) / 100.0 if found else None


def words(text: str) -> Value | None:
    return text.strip() or None


def choice(table: Mapping[str, float]) -> Callable[[str], Value | None]:
    return lambda text: table.get(key(text))


_YES = choice(
    {
        "yes": 1.0,
        "no": 0.0,
        "1": 1.0,
        "0": 0.0,
        "enabled": 1.0,
        "disabled": 0.0,
        "on": 1.0,
        "off": 0.0,
        "active": 1.0,
        "notactive": 0.0,
    }
)
COUNT, _MHZ, _MIB = number(), number(1e6), number(float(1 << 20))


def _lanes(text: str) -> Value | None:
    return COUNT(text.strip().lower().removeprefix("x"))


def _ecc(span: str, kind: str, place: str) -> Field:
    """Both orders: `ECC Errors/Volatile/DRAM Correctable` and `ecc.errors.corrected.volatile.dram`."""
    long = {"corrected": "correctable", "uncorrected": "uncorrectable"}[kind]
    old = {"corrected": "singlebit", "uncorrected": "doublebit"}[kind]
    memory = {"dram": "devicememory", "sram": "l2cache"}[place]
    return Field(
        f"gpu_ecc_{span}_{kind}_{place}_total",
        (
            f"eccerrors.{span}.{place}{long}",
            f"ecc.errors.{kind}.{span}.{place}",
            f"eccerrors.{span}.{old}.{memory}",
            *((f"ecc.errors.{kind}.{span}.devicememory",) if place == "dram" else ()),
        ),
        COUNT,
    )


def _ecc_total(span: str, kind: str) -> Field:
    old = {"corrected": "singlebit", "uncorrected": "doublebit"}[kind]
    paths = (f"ecc.errors.{kind}.{span}.total", f"eccerrors.{span}.{old}.total")
    return Field(f"gpu_ecc_{span}_{kind}_total", paths, COUNT)


FIELDS = (
    Field("gpu_model", ("productname", "name", "gpuname"), words),
    Field("gpu_serial", ("serialnumber", "serial", "gpuserial"), words),
    Field("gpu_uuid", ("gpuuuid", "uuid"), words),
    Field("gpu_vbios_version", ("vbiosversion",), words),
    Field(
        "gpu_temperature_celsius",
        ("temperature.gpucurrenttemp", "temperature.gputemp", "temperature.gpu", "temperaturegpu"),
        COUNT,
    ),
    Field(
        "gpu_memory_temperature_celsius",
        ("temperature.memorycurrenttemp", "temperature.memorytemp", "temperature.memory"),
        COUNT,
    ),
    Field(
        "gpu_thermal_margin_celsius",
        ("temperature.gputlimittemp", "temperature.gputemptlimit", "temperature.gpu.tlimit"),
        COUNT,
    ),
    Field(
        "gpu_slowdown_margin_celsius",
        ("temperature.gpuslowdowntlimittemp", "temperature.gputempslowtlimitthreshold"),
        COUNT,
    ),
    Field(
        "gpu_shutdown_margin_celsius",
        ("temperature.gpushutdowntlimittemp", "temperature.gputempmaxtlimitthreshold"),
        COUNT,
    ),
    Field(
        "gpu_slowdown_temperature_celsius", ("temperature.gpuslowdowntemp", "temperature.gputempslowthreshold"), COUNT
    ),
    Field(
        "gpu_shutdown_temperature_celsius", ("temperature.gpushutdowntemp", "temperature.gputempmaxthreshold"), COUNT
    ),
    Field(
        "gpu_memory_max_temperature_celsius",
        ("temperature.memorymaxoperatingtemp", "temperature.gputempmaxmemthreshold"),
        COUNT,
    ),
    Field(
        "gpu_power_watts",
        (
            "gpupowerreadings.instantaneouspowerdraw",
            "gpupowerreadings.instantpowerdraw",
            "gpupowerreadings.averagepowerdraw",
            "gpupowerreadings.powerdraw",
            "powerreadings.powerdraw",
            "power.draw.instant",
            "power.draw",
            "power.draw.average",
        ),
        COUNT,
    ),
    Field(
        "gpu_power_limit_watts",
        (
            "gpupowerreadings.currentpowerlimit",
            "gpupowerreadings.enforcedpowerlimit",
            "powerreadings.enforcedpowerlimit",
            "powerreadings.powerlimit",
            "gpupowerreadings.powerlimit",
            "enforced.power.limit",
            "power.limit",
        ),
        COUNT,
    ),
    Field(
        "gpu_power_default_limit_watts",
        ("gpupowerreadings.defaultpowerlimit", "powerreadings.defaultpowerlimit", "power.defaultlimit"),
        COUNT,
    ),
    Field("gpu_clock_sm_hertz", ("clocks.sm", "clocks.smclock", "clocks.current.sm"), _MHZ),
    Field("gpu_clock_memory_hertz", ("clocks.memory", "clocks.memclock", "clocks.current.memory", "clocks.mem"), _MHZ),
    Field("gpu_clock_sm_max_hertz", ("maxclocks.sm", "maxclocks.smclock", "clocks.max.sm"), _MHZ),
    Field(
        "gpu_clock_memory_max_hertz",
        ("maxclocks.memory", "maxclocks.memclock", "clocks.max.memory", "clocks.max.mem"),
        _MHZ,
    ),
    Field("gpu_utilization_ratio", ("utilization.gpu", "utilization.gpuutil"), ratio),
    Field("gpu_memory_utilization_ratio", ("utilization.memory", "utilization.memoryutil"), ratio),
    Field("gpu_memory_used_bytes", ("fbmemoryusage.used", "memory.used"), _MIB),
    Field("gpu_memory_total_bytes", ("fbmemoryusage.total", "memory.total"), _MIB),
    *(
        _ecc(span, kind, place)
        for span in ("volatile", "aggregate")
        for kind in ("corrected", "uncorrected")
        for place in ("dram", "sram")
    ),
    *(_ecc_total(span, kind) for span in ("volatile", "aggregate") for kind in ("corrected", "uncorrected")),
    Field(
        "gpu_ecc_sram_threshold_exceeded",
        ("eccerrors.aggregate.sramthresholdexceeded", "ecc.errors.uncorrected.aggregate.sram.thresholdexceeded"),
        _YES,
    ),
    Field("gpu_ecc_mode", ("eccmode.current", "eccmode.currentecc", "ecc.mode.current"), _YES),
    Field("gpu_ecc_mode_pending", ("eccmode.pending", "eccmode.pendingecc", "ecc.mode.pending"), _YES),
    Field(
        "gpu_remapped_rows_correctable",
        ("remappedrows.correctableerror", "remappedrows.remappedrowcorr", "remappedrows.correctable"),
        COUNT,
    ),
    Field(
        "gpu_remapped_rows_uncorrectable",
        ("remappedrows.uncorrectableerror", "remappedrows.remappedrowunc", "remappedrows.uncorrectable"),
        COUNT,
    ),
    Field("gpu_remapped_rows_pending", ("remappedrows.pending", "remappedrows.remappedrowpending"), _YES),
    Field(
        "gpu_remapped_rows_failure",
        ("remappedrows.remappingfailureoccurred", "remappedrows.remappedrowfailure", "remappedrows.failure"),
        _YES,
    ),
    *(
        Field(
            f"gpu_remap_{level}_banks",
            (
                f"remappedrows.bankremapavailabilityhistogram.{level}",
                f"remappedrows.rowremapperhistogram.rowremapperhistogram{level}",
                f"remappedrows.histogram.{level}",
            ),
            COUNT,
        )
        for level in ("max", "high", "partial", "low", "none")
    ),
    Field(
        "gpu_retired_pages_single_bit",
        (
            "retiredpages.singlebitecc",
            "retiredpages.multiplesinglebitretirement.retiredcount",
            "retiredpages.singlebitecc.count",
        ),
        COUNT,
    ),
    Field(
        "gpu_retired_pages_double_bit",
        ("retiredpages.doublebitecc", "retiredpages.doublebitretirement.retiredcount", "retiredpages.doublebit.count"),
        COUNT,
    ),
    Field(
        "gpu_retired_pages_pending",
        (
            "retiredpages.pendingpageblacklist",
            "retiredpages.pendingblacklist",
            "retiredpages.pendingretirement",
            "retiredpages.pending",
        ),
        _YES,
    ),
    Field(
        "gpu_pcie_generation",
        (
            "pci.gpulinkinfo.pciegeneration.current",
            "pci.pcigpulinkinfo.pciegen.currentlinkgen",
            "pcie.link.gen.gpucurrent",
            "pcie.link.gen.current",
        ),
        COUNT,
    ),
    Field(
        "gpu_pcie_max_generation",
        ("pci.gpulinkinfo.pciegeneration.max", "pci.pcigpulinkinfo.pciegen.maxlinkgen", "pcie.link.gen.max"),
        COUNT,
    ),
    Field(
        "gpu_pcie_width_lanes",
        (
            "pci.gpulinkinfo.linkwidth.current",
            "pci.pcigpulinkinfo.linkwidths.currentlinkwidth",
            "pcie.link.width.current",
        ),
        _lanes,
    ),
    Field(
        "gpu_pcie_max_width_lanes",
        ("pci.gpulinkinfo.linkwidth.max", "pci.pcigpulinkinfo.linkwidths.maxlinkwidth", "pcie.link.width.max"),
        _lanes,
    ),
    Field("gpu_pcie_replay_total", ("pci.replayssincereset", "pci.replaycounter"), COUNT),
    Field("gpu_fabric_state", ("fabric.state",), choice(_FABRIC_STATE)),
    Field("gpu_fabric_status", ("fabric.status",), lambda text: float(key(text) != "success")),
    Field("gpu_mig_mode", ("migmode.current", "migmode.currentmig", "mig.mode.current"), _YES),
    Field("gpu_mig_mode_pending", ("migmode.pending", "migmode.pendingmig", "mig.mode.pending"), _YES),
    Field("gpu_persistence_mode", ("persistencemode",), _YES),
    Field("gpu_recovery_action", ("gpurecoveryaction",), choice(_RECOVERY)),
)
SIGNALS = tuple(dict.fromkeys(one.signal for one in FIELDS))
