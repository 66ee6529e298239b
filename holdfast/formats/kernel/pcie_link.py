"""Kernel messages about a device that runs below its own speed or that of its slot."""

import re

from holdfast.formats.kernel.line import KernelLine
from holdfast.formats.pci import address as pci_address
from holdfast.model.signal import Event

_LIMITED = re.compile(
    rf"(?P<driver>[\w-]+) (?P<device>{pci_address.PATTERN}): [\d.]+ Gb/s available PCIe bandwidth, "
    rf"limited by (?P<speed>\d{{1,3}}(?:\.\d+)?) GT/s PCIe x(?P<width>\d{{1,2}}) link at (?P<at>{pci_address.PATTERN}) "
    r"\(capable of [\d.]+ Gb/s with (?P<best_speed>\d{1,3}(?:\.\d+)?) GT/s PCIe x(?P<best_width>\d{1,2}) link\)"
)
_WIDE_LANES = 8  # accelerators and fast adapters have at least as many lanes, on-board controllers do not
_TRAINING_DRIVERS = frozenset({"mlx5_core", "mlx4_core", "nvidia", "nvme"})


def find(line: KernelLine) -> Event | None:
    match = _LIMITED.match(line.text)
    if match is None:
        return None
    matters = match["driver"] in _TRAINING_DRIVERS or int(match["best_width"]) >= _WIDE_LANES
    return line._replace(text=match[0]).event(
        "pcie_link",
        code="narrow" if int(match["width"]) < int(match["best_width"]) else "slow",
        device=pci_address.normal(match["device"]),
        severity="warning" if matters else "info",
        action="check_hardware" if matters else "ignore",
        detail={
            "limited_at": pci_address.normal(match["at"]),
            "speed_transfers_per_second": float(match["speed"]) * 1e9,
            "width_lanes": int(match["width"]),
            "capable_speed_transfers_per_second": float(match["best_speed"]) * 1e9,
            "capable_width_lanes": int(match["best_width"]),
        },
    )
