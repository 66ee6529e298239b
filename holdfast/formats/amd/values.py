"""Numbers with units, as amd-smi and rocm-smi print them."""

import re
from collections.abc import Callable

from holdfast.formats.nvidia_smi.fields import key

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_UNITS = {
    "mb": 1e6,
    "gb": 1e9,
    "kb": 1e3,
    "b": 1.0,
    "mib": float(1 << 20),
    "gib": float(1 << 30),
    "mhz": 1e6,
    "ghz": 1e9,
    "w": 1.0,
    "uw": 1e-6,
    "mw": 1e-3,
}
_DEGREES: dict[str, Callable[[float], float]] = {
    "": lambda value: value,
    "c": lambda value: value,
    "f": lambda value: (value - 32.0) / 1.8,
    "k": lambda value: value - 273.15,
    "mc": lambda value: value / 1000.0,
}


def number(text: str) -> float | None:
    found = _split(text)
    return None if found is None else found[0] * _UNITS.get(found[1], 1.0)


def celsius(text: str) -> float | None:
    """Degrees Celsius; None if the unit is not one of temperature."""
    found = _split(text)
    if found is None or found[1] not in _DEGREES:
        return None
    return _DEGREES[found[1]](found[0])


def _split(text: str) -> tuple[float, str] | None:
    text = text.strip()
    found = _NUMBER.match(text)
    return (float(found[0]), key(text[found.end() :])) if found else None
