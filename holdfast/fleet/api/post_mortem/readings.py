"""Readings as text: values with the unit of their signal; equal changes of many subjects share a line."""

import re
from collections.abc import Sequence
from typing import Any

UNITS = (
    ("_litres_per_minute", "l/min", 1.0),
    ("_bytes_per_second", "GB/s", 1e9),
    ("_per_second", "a second", 1.0),
    ("_celsius", "°C", 1.0),
    ("_seconds", "s", 1.0),
    ("_pascals", "kPa", 1e3),
    ("_watts", "W", 1.0),
    ("_hertz", "GHz", 1e9),
    ("_volts", "V", 1.0),
    ("_ratio", "%", 0.01),
    ("_share", "%", 0.01),
)
SIZES = ((1e12, " T"), (1e9, " B"), (1e6, " M"), (1e3, " K"))
_NUMBER = r"-?\d[\d.]*(?:e[+-]\d+)?"
_SIGNS = r"(?:Hz|Pa|l/min|°C|W|V|s)(?!\w)"
_MOVED = re.compile(
    rf"(?<!\S)(\S+) ([a-z][a-z0-9_]*)(?:: | went from )({_NUMBER})(?: -> | to )({_NUMBER})(?: (?:{_SIGNS}))?"
)
_POWER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?e[+-]\d+")


def reading(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def many(value: float) -> str:
    """A large count as text: 93.6 M."""
    size, sign = next(((size, sign) for size, sign in SIZES if abs(value) >= size), (1.0, ""))
    return f"{value / size:.3g}{sign}"


def measured(signal: str, value: float) -> str:
    sign, size = next(((sign, size) for ending, sign, size in UNITS if signal.endswith(ending)), ("", 1.0))
    return f"{reading(value / size)} {sign}".rstrip()


def readable(sentence: str) -> str:
    """A sentence of the controller, its readings with units and without powers of ten."""
    return _POWER.sub(lambda found: reading(float(found[0])), _MOVED.sub(_in_units, sentence))


def _in_units(found: "re.Match[str]") -> str:
    subject, signal, before, now = found.groups()
    try:
        return f"{subject} {signal} from {measured(signal, float(before))} to {measured(signal, float(now))}"
    except ValueError:  # such as 1.2.3
        return found[0]


def moments(timeline: Sequence[dict[str, Any]]) -> list[tuple[float, str, str]]:
    """Time, domain and text, in order. Equal signal changes of several subjects are one line with a count."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in sorted(timeline, key=lambda moment: float(moment["at"])):
        moved = _MOVED.fullmatch(one["text"])
        alike = f"{one['domain']} {moved[2]} {_kind(moved[1])}" if moved else f"{one['at']} {one['text']}"
        groups.setdefault(alike, []).append(one)
    return [
        (group[0]["at"], group[0]["domain"], readable(group[0]["text"]) + _more(group)) for group in groups.values()
    ]


def paths(lines: Sequence[str]) -> list[str]:
    """Paths through subjects of the same kinds share one line."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        groups.setdefault(_way(line), []).append(line)
    return [group[0] + _more(group) for group in groups.values()]


def rivals(others: Sequence[dict[str, Any]]) -> list[str]:
    """Jobs that lost for the same reason share one line."""
    alike: dict[tuple[str, str], list[str]] = {}
    for one in others:
        alike.setdefault((one["kind"], one["why"]), []).append(one["cause"])
    return [readable(f"{', '.join(sorted(causes))} ({kind}): {why}") for (kind, why), causes in alike.items()]


def _way(line: str) -> str:
    """The start of a path and the jobs at its end, with only the kinds of the subjects between."""
    first, *others = line.split(" > ")
    kinds = [one.rstrip("0123456789") if one.startswith("job/") and "/rank/" in one else _kind(one) for one in others]
    jobs = [one for one in others if one.startswith("job/") and one.count("/") == 1]
    return " > ".join([first, *kinds, *jobs])


def _kind(subject: str) -> str:
    """The kind of a subject: gpu for a node's GPU, rank for a job's rank, otherwise the first part of the address."""
    parts = subject.split("/", 3)
    return parts[2] if len(parts) > 2 else parts[0]


def _more(group: Sequence[object]) -> str:
    return f" and {len(group) - 1} more alike" if len(group) > 1 else ""
