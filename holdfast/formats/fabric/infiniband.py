"""Values of /sys/class/infiniband: port state, rate and counters. Implausible values are None."""

import re

ACTIVE = 4
DISABLED = 3  # physical state: the port was disabled
_STATES = {1: "DOWN", 2: "INIT", 3: "ARMED", 4: "ACTIVE", 5: "ACTIVE_DEFER"}
_PHYS_STATE = re.compile(r"([1-7]): ?(\S.*)")
_RATE = re.compile(r"(\d{1,5}(?:\.\d+)?) Gb/sec(?: \((\d+)X ?(\w*)\))?")
_COUNTER = re.compile(rb"\d{1,20}")
_WORD_BYTES = 4  # the kernel counts port data in words of four octets (IBTA PortXmitData)
_DATA_COUNTERS = {"port_xmit_data": "port_xmit_data_bytes_total", "port_rcv_data": "port_rcv_data_bytes_total"}


def text_of(raw: bytes) -> str:
    """One line of sysfs as text; bytes outside ASCII stay visible as escapes."""
    return raw.decode("ascii", "backslashreplace").strip()


def port_state(raw: bytes) -> int | None:
    """'4: ACTIVE' -> 4. Number and word must agree, because half a line is not a state."""
    number, _, word = text_of(raw).partition(":")
    state = int(number) if number.isdigit() and len(number) == 1 else 0
    return state if state and _STATES.get(state) == word.strip().upper() else None


def state_name(state: float) -> str:
    return _STATES.get(int(state), "unknown")


def phys_state(raw: bytes) -> int | None:
    """'5: LinkUp' -> 5."""
    found = _PHYS_STATE.fullmatch(text_of(raw))
    return int(found[1]) if found else None


def rate_bytes_per_second(raw: bytes) -> float | None:
    """'400 Gb/sec (4X NDR)' -> 5e10. A rate of zero is None."""
    found = _RATE.fullmatch(text_of(raw))
    return float(found[1]) * 1e9 / 8 or None if found else None


def counter(raw: bytes) -> int | None:
    """A plain count; None for 'N/A (no PMA)' and anything else."""
    stripped = raw.strip()
    return int(stripped) if _COUNTER.fullmatch(stripped) else None


def counter_signal(name: str) -> tuple[str, int]:
    """counters/NAME -> name of the signal, and the value of one count in its unit."""
    if name in _DATA_COUNTERS:
        return _DATA_COUNTERS[name], _WORD_BYTES
    plain = name.removeprefix("port_").lower()
    return f"port_{plain}_total", 1


def hw_counter_signal(name: str) -> str:
    """hw_counters/NAME -> the signal's name."""
    return f"port_hw_{name.lower()}_total"
