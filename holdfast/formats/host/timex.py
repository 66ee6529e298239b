"""The kernel's view of its clock: the status word of adjtimex(2), or a key=value file that stands in for it."""

from typing import NamedTuple

STA_UNSYNC = 0x0040
STA_NANO = 0x2000
TIME_ERROR = 5


class ClockState(NamedTuple):
    synchronised: bool
    offset_seconds: float
    max_error_seconds: float


def from_kernel(returned: int, status: int, offset: int, max_error_microseconds: int) -> ClockState:
    """Clock state from adjtimex(2). The status word says whether `offset` is in nanoseconds or microseconds."""
    unit = 1e-9 if status & STA_NANO else 1e-6
    synchronised = returned != TIME_ERROR and not status & STA_UNSYNC
    return ClockState(synchronised, offset * unit, max_error_microseconds * 1e-6)


def from_text(text: str) -> ClockState | str:
    """Clock state from key=value text: status (the word), synchronised (0 or 1), offset_seconds, max_error_seconds.
    Returns an error message if the text is wrong."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if not equals:
            continue
        try:
            found[key.strip()] = float(int(value, 0)) if key.strip() == "status" else float(value)
        except (ValueError, OverflowError):
            return f"{key.strip()!r} is not a number"
    missing = [key for key in ("offset_seconds", "max_error_seconds") if key not in found]
    if missing or not found.keys() & {"status", "synchronised"}:
        return f"no {missing[0] if missing else 'status or synchronised'}"
    synchronised = bool(found.get("synchronised", 1.0)) and not int(found.get("status", 0.0)) & STA_UNSYNC
    return ClockState(synchronised, found["offset_seconds"], found["max_error_seconds"])
