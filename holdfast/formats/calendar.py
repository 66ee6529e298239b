"""Announced work from iCalendar files (RFC 5545) and Slurm maintenance reservations."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from holdfast.formats.slurm.hostlist import NotAHostlist, expand

SUBJECT = re.compile(r"\b(?:room|cdu|loop|rack|feed|psu|switch|link|node|storage|pool|path|job)/[\w.\-/]+")
DURATION = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")
DAY_SECONDS = 86_400.0


class Announced(NamedTuple):
    name: str
    subjects: tuple[str, ...]
    start: float
    end: float
    what: str = ""


def ical(text: str) -> list[Announced]:
    """Events of a calendar that name subjects, such as cdu/c2, in LOCATION, SUMMARY or DESCRIPTION.

    CATEGORIES gives the domain. An event without a subject, without a time, or that does not end after its start is not
    announced work.
    """
    return [one for event in _events(text) if (one := _announced(event)) is not None]


def _events(text: str) -> Iterator[dict[str, tuple[str, str]]]:
    """Each VEVENT as property -> parameters and value. Folded lines are joined."""
    lines = re.sub(r"\r?\n[ \t]", "", text).splitlines()
    event: dict[str, tuple[str, str]] | None = None
    for line in lines:
        head, _, value = line.partition(":")
        name, _, parameters = head.partition(";")
        if line.strip().upper() == "BEGIN:VEVENT":
            event = {}
        elif line.strip().upper() == "END:VEVENT" and event is not None:
            yield event
            event = None
        elif event is not None and value:
            event.setdefault(name.strip().upper(), (parameters, value.strip()))


def _announced(event: dict[str, tuple[str, str]]) -> Announced | None:
    text = " ".join(event.get(key, ("", ""))[1] for key in ("LOCATION", "SUMMARY", "DESCRIPTION"))
    subjects = tuple(dict.fromkeys(SUBJECT.findall(text.replace("\\,", ","))))
    start = _time(*event["DTSTART"]) if "DTSTART" in event else None
    if start is None or not subjects or event.get("STATUS", ("", ""))[1].upper() == "CANCELLED":
        return None
    end = _time(*event["DTEND"]) if "DTEND" in event else None
    if end is None and "DURATION" in event:
        end = start + _seconds(event["DURATION"][1])
    if end is None and len(event["DTSTART"][1]) == len("20261117"):
        end = start + DAY_SECONDS
    if end is None or end <= start:
        return None
    name = event.get("SUMMARY", ("", ""))[1] or event.get("UID", ("", "calendar event"))[1]
    what = event.get("CATEGORIES", ("", ""))[1].partition(",")[0].strip().lower()
    return Announced(name, subjects, start, end, what)


def _time(parameters: str, value: str) -> float | None:
    zone = UTC
    if match := re.search(r"TZID=\"?([^;\"]+)", parameters):
        try:
            zone = ZoneInfo(match[1])  # type: ignore[assignment]
        except (ZoneInfoNotFoundError, ValueError):
            return None
    for pattern in ("%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S", "%Y%m%d"):
        try:
            return datetime.strptime(value, pattern).replace(tzinfo=zone).timestamp()
        except ValueError:
            continue
    return None


def _seconds(value: str) -> float:
    match = DURATION.fullmatch(value.strip())
    weeks, days, hours, minutes, seconds = (int(one or 0) for one in match.groups()) if match else (0,) * 5
    return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds).total_seconds()


def slurm_reservations(text: str, zone: str = "UTC") -> list[Announced]:
    """Reservations of `scontrol show reservation -o` with the flag MAINT. Slurm prints local time without its zone."""
    found = []
    for line in text.splitlines():
        fields = dict(part.split("=", 1) for part in line.split() if "=" in part)
        if "MAINT" not in fields.get("Flags", "").split(","):
            continue
        try:
            start, end = (
                datetime.fromisoformat(fields[key]).replace(tzinfo=ZoneInfo(zone)).timestamp()
                for key in ("StartTime", "EndTime")
            )
            nodes = tuple(f"node/{name}" for name in expand(fields.get("Nodes", "")))
        except (KeyError, ValueError, ZoneInfoNotFoundError, NotAHostlist):
            continue
        if nodes and end > start:
            found.append(Announced(fields.get("ReservationName", "reservation"), nodes, start, end))
    return found
