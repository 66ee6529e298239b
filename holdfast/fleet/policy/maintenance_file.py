"""`[[maintenance]]` of the policy file: nodes and times of planned work, once or weekly."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from holdfast.config.tables import Document
from holdfast.fleet.decisions.lifecycle.maintenance import DAY_SECONDS, WEEK_SECONDS, Maintenance
from holdfast.formats.slurm import hostlist
from holdfast.model.settings import SettingsError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKLY = re.compile(r"([A-Za-z]{3}) ([0-9]{2}):([0-9]{2})-(?:([A-Za-z]{3}) )?([0-9]{2}):([0-9]{2})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """An entry of the file."""

    name: str
    nodes: str = ""
    pool: str = ""
    start: datetime | None = None
    end: datetime | None = None
    weekly: str = ""


def read(document: Document, tables: Any) -> tuple[Maintenance, ...]:
    if not isinstance(tables, list):
        raise document.refuse("", "maintenance", f"expected tables headed [[maintenance]], found {tables!r}")
    found: list[Maintenance] = []
    for number, table in enumerate(tables):
        place = f"maintenance[{number}]"
        written = document.fill(_Written, table, place)
        if not _NAME.fullmatch(written.name):
            raise document.refuse(place, "name", f"expected one word, found {written.name!r}")
        if any(other.name == written.name for other in found):
            raise document.refuse(place, "name", f"another maintenance is called {written.name!r} already")
        start, end = _once(document, written, place) if not written.weekly else _weekly(document, written, place)
        found.append(
            Maintenance(
                name=written.name,
                nodes=_nodes(document, written, place),
                pool=written.pool,
                start=start,
                end=end,
                weekly=bool(written.weekly),
            )
        )
    return tuple(found)


def _nodes(document: Document, written: _Written, place: str) -> frozenset[str]:
    try:
        names = frozenset(hostlist.expand(written.nodes))
    except hostlist.NotAHostlist as error:
        raise document.refuse(place, "nodes", str(error)) from None
    if written.nodes and not names:
        raise document.refuse(place, "nodes", f"expected names such as n[001-016], found {written.nodes!r}")
    return names


def _once(document: Document, written: _Written, place: str) -> tuple[float, float]:
    times = []
    for key, value in (("start", written.start), ("end", written.end)):
        if value is None:
            raise document.refuse(place, key, "is missing; expected start and end, or weekly")
        if value.tzinfo is None:
            raise document.refuse(place, key, f"expected a time with its zone, such as 2026-11-20T02:00:00Z: {value}")
        times.append(value.timestamp())
    if times[1] <= times[0]:
        raise document.refuse(place, "end", "expected a time after start")
    return times[0], times[1]


def _weekly(document: Document, written: _Written, place: str) -> tuple[float, float]:
    """Weekly work, in UTC. Without a second day it ends on the first day, or in the following night."""
    if written.start or written.end:
        raise document.refuse(place, "weekly", "expected either weekly, or start and end")
    found = _WEEKLY.fullmatch(written.weekly)
    try:
        if found is None:
            raise SettingsError
        start = _seconds(found[1], found[2], found[3])
        end = _seconds(found[4] or found[1], found[5], found[6])
    except SettingsError:
        expected = "expected a day and two times in UTC, such as 'Sun 02:00-06:00' or 'Sat 22:00-Sun 04:00'"
        raise document.refuse(place, "weekly", f"{expected}, found {written.weekly!r}") from None
    if not found[4] and end <= start:
        end += DAY_SECONDS
    if start == end:
        raise document.refuse(place, "weekly", "expected an end other than its start")
    return start, end % WEEK_SECONDS if end > WEEK_SECONDS else end


def _seconds(day: str, hour: str, minute: str) -> float:
    if day.lower() not in DAYS or int(hour) > 24 or int(minute) > 59 or (hour == "24" and minute != "00"):
        raise SettingsError
    return DAYS.index(day.lower()) * DAY_SECONDS + int(hour) * 3600.0 + int(minute) * 60.0
