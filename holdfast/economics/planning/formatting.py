"""Figures as text."""

from math import isfinite

_TIMES = ((31_536_000.0, "years"), (86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def time(seconds: float) -> str:
    """A time in a readable unit: 3.9 min, 7.7 h."""
    if not isfinite(seconds):
        return "never"
    for size, unit in _TIMES:
        if seconds >= 2 * size or (unit == "s"):
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def percent(value: float) -> str:
    """A percentage with as many digits as its distance from 0 or 1 needs."""
    if 0 < value < 1 and (value > 0.9995 or value < 0.0005):
        return f"{100 * value:.4f} %" if 1e-6 < value < 1 - 1e-6 else ("almost 100 %" if value > 0.5 else "almost 0 %")
    return f"{100 * value:.1f} %" if value > 0.2 else f"{100 * value:.2f} %"


def count(value: float) -> str:
    if not isfinite(value):
        return "no limit"
    return f"{value:,.0f}" if 10 <= value < 1e9 else f"{value:.3g}"


def bandwidth(bytes_per_second: float) -> str:
    for size, unit in ((1e15, "PB/s"), (1e12, "TB/s"), (1e9, "GB/s")):
        if bytes_per_second >= size:
            return f"{bytes_per_second / size:.3g} {unit}"
    return f"{bytes_per_second / 1e6:.3g} MB/s"


def money(value: float) -> str:
    return f"{value:,.2f} USD" if abs(value) < 100 else f"{value:,.0f} USD"
