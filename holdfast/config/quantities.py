"""Numbers with units: durations, sizes and shares from text, and durations as text."""

import re
from collections.abc import Callable, Mapping

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0, "y": 31_536_000.0}
BYTES = {f"{prefix}B": 1000.0**power for power, prefix in enumerate(("", "k", "M", "G", "T", "P"))}
BYTES |= {f"{prefix}iB": 1024.0**power for power, prefix in enumerate(("K", "M", "G", "T", "P"), 1)} | {"KB": 1000.0}
MOST_SECONDS = 1_000 * 31_536_000.0
DURATION = "a duration such as 90s, 10m, 2h or 30d"
_UNITS = ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 0, ""))
_QUANTITY = re.compile(r"([0-9][0-9_,]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+)\s*([A-Za-z%/]*)")


def scaled(units: Mapping[str, float]) -> Callable[[str], float | None]:
    """A parser of one number with one of these units; None for other text."""

    def parse(text: str) -> float | None:
        found = _QUANTITY.fullmatch(text)
        if found is None or found[2] not in units:
            return None
        return float(found[1].replace(",", "").replace("_", "")) * units[found[2]]

    return parse


def duration(text: str) -> float | None:
    """Seconds of a duration such as 90s or 1h30m. None for other text, and for a number without a unit."""
    parts = _QUANTITY.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.replace(" ", ""):
        return None
    if any(unit not in SECONDS for _, unit in parts):
        return None
    return sum(float(number.replace(",", "").replace("_", "")) * SECONDS[unit] for number, unit in parts)


def lasting(seconds: float) -> str:
    """A duration as text, the same in the controller's sentences, the terminal and the console (shell/time.ts).

    40 s, 24 min, 1 h 35 min, 2 d 3 h. Durations are rounded down.
    """
    left = max(0, int(seconds))
    for size, unit, smaller, name in _UNITS:
        if left >= size:
            rest = left % size // smaller if smaller else 0
            return f"{left // size} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{left} s"
