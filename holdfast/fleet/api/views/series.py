"""A signal over time with its siblings, for the console's charts."""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from holdfast.model.topology import Topology

MOST_LINES = 8
MOST_SIBLINGS = 200
Values = Mapping[str, Sequence[float | None]]


class SignalWindow(Protocol):
    """The controller's bounded window of signals, in fleet time; `clock` converts it to wall-clock time."""

    @property
    def window(self) -> "Signals": ...

    @property
    def topology(self) -> Topology: ...

    def clock(self, lived: float) -> float: ...


class Signals(Protocol):
    def signals(self, about: str) -> list[str]: ...

    def subjects(self, name: str = "") -> set[str]: ...

    def series(self, name: str, wanted: Iterable[str]) -> tuple[list[float], dict[str, list[float | None]]]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LineView:
    subject: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesView:
    subject: str
    signal: str
    signals: tuple[str, ...]
    """What else is measured of it."""
    source: str
    """window or prometheus."""
    note: str
    """How far back it reaches, and why no further; '' where there is nothing to say."""
    times: tuple[float, ...]
    values: tuple[float | None, ...]
    siblings: int
    """How many others of its kind are compared with."""
    low: tuple[float | None, ...]
    middle: tuple[float | None, ...]
    high: tuple[float | None, ...]
    """Lowest, median and highest of the siblings."""
    lines: tuple[LineView, ...]
    """The siblings themselves, where they are few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectView:
    subject: str
    signals: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectsView:
    subjects: tuple[SubjectView, ...]
    more: int
    """So many others fit too."""


def siblings_of(subject: str, known: Iterable[str]) -> list[str]:
    """Other parts of the same whole, such as the GPUs of a node; without a whole, all subjects of the kind."""
    whole, _, _ = subject.rpartition("/")
    pattern = re.compile(_pattern(subject))
    alike = [one for one in known if one != subject and pattern.fullmatch(one)]
    near = [one for one in alike if one.rpartition("/")[0] == whole]
    return sorted(near or alike, key=_natural)[:MOST_SIBLINGS]


def _pattern(subject: str) -> str:
    """The pattern of an address, in which every second part is a name: node/*/gpu/* for node/n1/gpu/3."""
    parts = subject.split("/")
    return "/".join(re.escape(part) if number % 2 == 0 else "[^/]+" for number, part in enumerate(parts))


def prometheus_pattern(subject: str) -> str:
    """A pattern of the subject and its siblings, with any last name of the address."""
    parts = subject.split("/")
    return "/".join([*(re.escape(part) for part in parts[:-1]), "[^/]+"])


def _natural(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text)]


def made(
    subject: str, signal: str, times: Sequence[float], found: Values, *, signals: Sequence[str], source: str, note: str
) -> SeriesView:
    others = siblings_of(subject, found)
    rows = [found[one] for one in others]
    bands = [_band([row[place] for row in rows]) for place in range(len(times))]
    return SeriesView(
        subject=subject,
        signal=signal,
        signals=tuple(signals),
        source=source,
        note=note,
        times=tuple(times),
        values=tuple(found.get(subject, [None] * len(times))),
        siblings=len(others),
        low=tuple(low for low, _, _ in bands),
        middle=tuple(middle for _, middle, _ in bands),
        high=tuple(high for _, _, high in bands),
        lines=tuple(LineView(subject=one, values=tuple(found[one])) for one in others[:MOST_LINES])
        if len(others) <= MOST_LINES
        else (),
    )


def _band(values: Sequence[float | None]) -> tuple[float | None, float | None, float | None]:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return (min(known), median(known), max(known)) if known else (None, None, None)


def cut(
    times: Sequence[float], found: Values, span: tuple[float, float], points: int
) -> tuple[list[float], dict[str, list[float | None]]]:
    """A span of the window with fewer columns, because a chart has fewer pixels."""
    first, end = bisect_left(times, span[0]), bisect_right(times, span[1])
    places = range(first, end, max(1, math.ceil((end - first) / points)))
    return [times[place] for place in places], {name: [row[place] for place in places] for name, row in found.items()}
