"""Event logs of real fleets: units, observation time, and their events.

Two forms are read, by the names of their columns: stays (a unit, from, to, and an event if one ended it) and lifetimes
(a unit, its lifetime, whether it died).
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

DAY = 86_400.0
YEAR = 365 * DAY
UNIT = ("device", "sn", "serial", "gpu", "node")
BEGIN = ("begin", "insert", "start", "installed")
END = ("end", "remove", "stop", "removed")
EVENT = ("event", "cause", "failure")
LIVED = {"years": YEAR, "days": DAY, "seconds": 1.0, "time": 1.0}
DIED = ("dead", "died", "failed")
_YES, _NO = ("true", "1", "yes"), ("false", "0", "no", "")


class BadLog(ValueError):
    """The log is invalid; the message names the line, the text and the expected form."""


@dataclass(slots=True)
class WatchedEvents:
    unit_years: float = 0.0
    events: int = 0
    units: int = 0
    repeats: int = 0  # duplicates of an event of a unit at the same time; not counted
    lifetimes: list[tuple[float, bool]] = field(default_factory=list)  # (years, whether the unit died)


def read(lines: Iterable[str]) -> WatchedEvents:
    """Reads an event log. Raises BadLog."""
    rows = csv.DictReader(lines)
    try:
        names = {name.strip().lower(): name for name in rows.fieldnames or () if name}
        unit, begin, end, event = (_first(names, which) for which in (UNIT, BEGIN, END, EVENT))
        lived, died = _first(names, tuple(LIVED)), _first(names, DIED)
        if unit and begin and end and event:
            return _stays(rows, names[unit], names[begin], names[end], names[event])
        if unit and lived and died:
            return _lifetimes(rows, names[lived], LIVED[lived], names[died])
    except csv.Error as error:
        raise BadLog(f"line {rows.line_num}: {error}") from None
    raise BadLog(
        f"line 1: expected columns such as device,begin,end,event or device,years,died;"
        f" found {', '.join(names)[:200] or 'none'}"
    )


def _first(names: Mapping[str, str], among: Iterable[str]) -> str:
    return next((name for name in among if name in names), "")


def _stays(rows: "csv.DictReader[str]", unit: str, begin: str, end: str, event: str) -> WatchedEvents:
    found = WatchedEvents()
    units: set[str] = set()
    struck: set[tuple[float, str, str]] = set()
    for row in rows:
        who, until = row[unit] or "", _moment(rows.line_num, row[end])
        units.add(who)
        if row[begin]:
            since = _moment(rows.line_num, row[begin])
            if until < since:
                raise BadLog(f"line {rows.line_num}: it ends before it begins")
            found.unit_years += (until - since) / YEAR
        if kind := row[event]:
            found.repeats += (until, who, kind) in struck
            struck.add((until, who, kind))
    found.events, found.units = len(struck), len(units)
    return found


def _lifetimes(rows: "csv.DictReader[str]", lived: str, scale: float, died: str) -> WatchedEvents:
    found = WatchedEvents()
    for row in rows:
        try:
            years = float(row[lived] or "") * scale / YEAR
        except ValueError:
            raise BadLog(f"line {rows.line_num}: {lived}: expected a number, found {row[lived]!r}") from None
        if not 0 <= years < 1e6:
            raise BadLog(f"line {rows.line_num}: {lived}: expected a time of 0 or more, found {row[lived]!r}")
        given = (row[died] or "").strip().lower()
        if given not in _YES + _NO:
            raise BadLog(f"line {rows.line_num}: {died}: expected true or false, found {row[died]!r}")
        found.lifetimes.append((years, given in _YES))
        found.unit_years += years
        found.events += given in _YES
        found.units += 1
    return found


def _moment(line: int, text: str | None) -> float:
    """A time from seconds since the epoch, or from a date and time (UTC without a zone)."""
    try:
        seconds = float(text or "")
    except ValueError:
        try:
            reported = datetime.fromisoformat((text or "").strip())
        except ValueError:
            raise BadLog(f"line {line}: expected a time such as 2026-01-31 12:00:00, found {text!r}") from None
        return (reported if reported.tzinfo else reported.replace(tzinfo=UTC)).timestamp()
    if not abs(seconds) < 1e12:
        raise BadLog(f"line {line}: expected a time, found {text!r}")
    return seconds
