"""A signal over time as a text chart for terminals, post-mortems and tickets."""

from datetime import UTC, datetime
from typing import Any

BARS = "▁▂▃▄▅▆▇█"
GAP = "·"


def drawn(chart: dict[str, Any], since: float) -> list[str]:
    """A title with the range, the bars, and a mark where it began."""
    values: list[float | None] = chart["values"]
    seen = [value for value in values if value is not None]
    title = f"{chart['subject']} {chart['signal']}"
    if not seen:
        return [f"{title}: no readings"]
    low, high = min(seen), max(seen)
    bars = "".join(_bar(value, low, high) for value in values)
    place = round((since - chart["start"]) / chart["step"]) if chart["step"] else 0
    mark = " " * place + "^ it began" if 0 <= place < len(values) else ""
    ends = chart["start"] + chart["step"] * (len(values) - 1)
    span = f"{_hour(chart['start'])} to {_hour(ends)}"
    return [f"{title}: {low:.4g} to {high:.4g}, {span}", bars, *([mark] if mark else [])]


def _bar(value: float | None, low: float, high: float) -> str:
    if value is None:
        return GAP
    share = (value - low) / (high - low) if high > low else 0.5
    return BARS[min(len(BARS) - 1, int(share * len(BARS)))]


def _hour(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%H:%MZ")
