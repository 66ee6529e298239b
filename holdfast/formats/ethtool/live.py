"""Statistics of Ethernet drivers as the kernel returns them.

Each driver has its own names for the same few counters. Pure.
"""

import re
import struct
from collections.abc import Mapping

_MEANINGS = (
    ("port_phy_errors_total", re.compile(
        r"rx_(?:crc_errors|symbol_err|pcs_symbol_err)_phy|rx_fcs_err_frames|frames_rx_bad_fcs|rx_crc_errors\.nic")),
    ("port_fec_uncorrectable_total", re.compile(r"rx_fec_uncorrectable_blocks|fec_uncorrectable\w*")),
    ("port_phy_discards_total", re.compile(r"[rt]x_discards_phy|rx_(?:total_)?discard_pkts|rx_prio[0-7]_discards")),
    ("port_pause_storms_total", re.compile(r"tx_pause_storm_(?:warning|error)_events")),
    ("port_pcie_signal_errors_total", re.compile(r"[rt]x_pci_signal_integrity")),
    ("port_phy_link_downs_total", re.compile(r"(?:total_)?link_down_events(?:_phy)?|link_down_count")),
)  # fmt: skip
STRING_BYTES = 32
_NUMBER = struct.Struct("=I")
SIGNALS = tuple(name for name, _ in _MEANINGS)


def signals(statistics: Mapping[str, int]) -> dict[str, float]:
    """The sum for each signal that this driver reports. Counters per priority are left out if the port has a total."""
    found: dict[str, list[float]] = {}
    for counter, value in statistics.items():
        for name, pattern in _MEANINGS:
            if pattern.fullmatch(counter):
                found.setdefault(name, []).append(float(value))
    return {name: max(values) if name == "port_phy_discards_total" else sum(values) for name, values in found.items()}


def count(info: bytes) -> int:
    """Number of counters, from struct ethtool_sset_info; 0 if the answer is too short."""
    return int(_NUMBER.unpack_from(info, 16)[0]) if len(info) >= 20 else 0


def table(names: bytes, values: bytes, most: int) -> dict[str, int]:
    """Names of struct ethtool_gstrings with the values of struct ethtool_stats, as many as both contain."""
    if len(names) < 12 or len(values) < 8:
        return {}
    listed = min(most, _NUMBER.unpack_from(names, 8)[0], _NUMBER.unpack_from(values, 4)[0])
    listed = max(0, min(listed, (len(names) - 12) // STRING_BYTES, (len(values) - 8) // 8))
    texts = (names[12 + n * STRING_BYTES : 12 + (n + 1) * STRING_BYTES] for n in range(listed))
    numbers = struct.unpack_from(f"={listed}Q", values, 8)
    words = (text.split(b"\0", 1)[0].decode("ascii", "replace").strip() for text in texts)
    return dict(zip(words, numbers, strict=True))
