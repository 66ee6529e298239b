"""Small files of amdgpu in sysfs: error counts per block (RAS), bad pages, clock states, hwmon labels."""

import re
from typing import NamedTuple

_COUNT = re.compile(r"^[^\S\n]*(ue|ce|de)\s*[:=]\s*(\d{1,19})\s*$", re.MULTILINE | re.IGNORECASE)
_PAGE = re.compile(r"^[^\S\n]*0x[0-9a-f]{1,16}\s*:\s*0x[0-9a-f]{1,16}\s*:\s*([RPF])\s*$", re.MULTILINE | re.IGNORECASE)
_STATE = re.compile(r"^[^\S\n]*(?:\d{1,3}|S):\s*(\d{1,6})\s*Mhz", re.MULTILINE | re.IGNORECASE)
_NUMBER = re.compile(r"-?\d{1,19}")


class ErrorCounts(NamedTuple):
    uncorrected: int
    corrected: int
    deferred: int = 0


class BadPages(NamedTuple):
    retired: int
    pending: int
    failed: int


def error_counts(text: str) -> ErrorCounts | None:
    """`ras/umc_err_count`: 'ue: 0' and 'ce: 0', and 'de: 0' on newer GPUs; None for anything else."""
    found = {name.lower(): int(count) for name, count in _COUNT.findall(text)}
    if "ue" not in found and "ce" not in found:
        return None
    return ErrorCounts(found.get("ue", 0), found.get("ce", 0), found.get("de", 0))


def bad_pages(text: str) -> BadPages:
    """`ras/gpu_vram_bad_pages`: a page frame, its size and R (retired), P (pending) or F (could not be retired)."""
    kinds = [kind.upper() for kind in _PAGE.findall(text)]
    return BadPages(kinds.count("R"), kinds.count("P"), kinds.count("F"))


def highest_clock_hertz(text: str) -> float | None:
    """`pp_dpm_sclk`: the fastest state, '1: 2100Mhz *'."""
    states = [int(number) for number in _STATE.findall(text)]
    return max(states) * 1e6 if states else None


def number(text: str) -> float | None:
    """The number in a file with one whole number."""
    stripped = text.strip()
    return float(stripped) if _NUMBER.fullmatch(stripped) else None
