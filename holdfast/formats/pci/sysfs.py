"""Values of /sys/bus/pci/devices: address, class, link and AER counters."""

import re

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]")
_SPEED = re.compile(r"(\d{1,3}(?:\.\d)?) GT/s(?: PCIe)?")
_WIDTHS = (1, 2, 4, 8, 12, 16, 32)  # 0 and 255: the kernel's values for "no link"
_AER_LINE = re.compile(r"([A-Za-z][\w -]*?) (\d{1,20})")  # older kernels print names with spaces: 'Bad TLP'
_HEX = re.compile(r"0x[0-9a-f]{1,8}")
_NVIDIA = 0x10DE
_AMD = 0x1002


def address(text: str) -> str:
    """A full PCI address in lower case, or ''."""
    lowered = text.strip().lower()
    return lowered if _ADDRESS.fullmatch(lowered) else ""


def hex_id(text: str) -> int | None:
    """'0x15b3' -> 5555."""
    lowered = text.strip().lower()
    return int(lowered, 16) if _HEX.fullmatch(lowered) else None


def role(vendor: int, pci_class: int) -> str:
    """gpu, nvswitch, nic or nvme from vendor and class code; '' for other devices."""
    base, major = pci_class >> 16, pci_class >> 8
    if base == 0x02:
        return "nic"
    if major == 0x0108:
        return "nvme"
    if (vendor == _NVIDIA and major in (0x0300, 0x0302)) or (vendor == _AMD and major in (0x0302, 0x0380, 0x1200)):
        return "gpu"
    return "nvswitch" if vendor == _NVIDIA and major == 0x0680 else ""


def link_speed(text: str) -> float | None:
    """'32.0 GT/s PCIe' -> 3.2e10 transfers a second; 'Unknown' is None."""
    found = _SPEED.fullmatch(text.strip())
    return float(found[1]) * 1e9 or None if found else None


def link_width(text: str) -> int | None:
    stripped = text.strip()
    return int(stripped) if stripped.isdecimal() and len(stripped) < 4 and int(stripped) in _WIDTHS else None


def speed_name(transfers_per_second: float) -> str:
    return f"{transfers_per_second / 1e9:g} GT/s"


def aer_counters(text: str) -> dict[str, int]:
    """An aer_dev_* file as name -> count, including the TOTAL_ line; other lines are left out."""
    found = (_AER_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {line[1]: int(line[2]) for line in found if line}


def aer_signal(kind: str, name: str) -> str:
    """('correctable', 'Bad TLP') -> pci_aer_correctable_bad_tlp_total."""
    return f"pci_aer_{kind}_{re.sub(r'[^a-z0-9]+', '_', name.lower())}_total"


def aer_total(counters: dict[str, int]) -> int | None:
    """The kernel's own total; without one, the sum; None for an empty file."""
    totals = [count for name, count in counters.items() if name.startswith("TOTAL_")]
    if totals:
        return totals[0]
    return sum(counters.values()) if counters else None
