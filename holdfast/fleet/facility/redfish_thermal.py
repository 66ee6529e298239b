"""Redfish source: temperatures, fans, supplies, power and leaks of a chassis."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from holdfast.catalog import seam_signals
from holdfast.fleet.facility.building import number
from holdfast.fleet.facility.json_api import CannotRead, get_object
from holdfast.model.signal import Event, Reading
from holdfast.runtime.source import ReadingBuilder

_INLET = re.compile(r"inlet|intake|ambient", re.IGNORECASE)
_PERCENT = "Percent"
LONGEST_NAME = 64  # longest name of a supply or detector


@dataclass(frozen=True, slots=True, kw_only=True)
class RedfishThermalSettings:
    subject: str
    """node/n17 or rack/r4: whose chassis it is."""
    url: str
    """Of the chassis: https://BMC/redfish/v1/Chassis/1"""
    every: float = 30.0
    timeout: float = 10.0
    user: str = ""
    password_file: str = ""
    verify: bool = True
    fan_full_rpm: float = 0.0
    """Top speed of a fan, for a BMC that reports rpm and no range."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "/Chassis/" not in parts.path:
            raise ValueError(f"url: expected that of a chassis, https://BMC/redfish/v1/Chassis/1, found {self.url!r}")
        if "/" not in self.subject:
            raise ValueError(f"subject: expected an address such as node/n17, found {self.subject!r}")


class RedfishThermalSource:
    def __init__(self, settings: RedfishThermalSettings) -> None:
        self.settings = settings
        self.name = f"redfish {settings.subject}"
        self.every = settings.every
        self.deadline = settings.timeout * 4
        self._leaks: set[str] = set()  # already reported
        whole = settings.subject.partition("/")[0]
        self.carries = (
            f"{whole}_inlet_celsius",
            "fan_speed_ratio",
            f"{whole}_power_watts",
            "psu_output_watts",
            "psu_healthy",
        )

    def read(self, now: float) -> Reading:
        builder = ReadingBuilder()
        missed: dict[str, str] = {}
        events: list[Event] = []
        for part, take in (("Thermal", self._thermal), ("Power", self._power)):
            try:
                take(self._get(part), builder)
            except CannotRead as error:
                if error.unreachable:
                    return Reading(source=self.name, at=now, blind=str(error))
                missed[part] = f"{part}: {error}"
        with suppress(CannotRead):  # most chassis have no leak detectors
            events = self._leaking(self._get("ThermalSubsystem/LeakDetection/LeakDetectors"), now)
        if len(missed) == 2:
            return Reading(source=self.name, at=now, blind=f"{self.settings.url}: {'; '.join(missed.values())}")
        for part, why in missed.items():
            builder.miss(self.settings.subject, why, *(self.carries[:2] if part == "Thermal" else self.carries[2:]))
        return Reading(source=self.name, at=now, signals=builder.signals, absent=builder.absent, events=events)

    def _get(self, part: str) -> Mapping[str, Any]:
        own = self.settings
        url = f"{own.url.rstrip('/')}/{part}"
        return get_object(url, own.timeout, user=own.user, password_file=own.password_file, verify=own.verify)

    def _thermal(self, found: Mapping[str, Any], builder: ReadingBuilder) -> None:
        inlets = [one for one in _rows(found, "Temperatures") if _INLET.search(str(one.get("Name", "")))]
        whole = self.settings.subject.partition("/")[0]
        self._add_mean(builder, f"{whole}_inlet_celsius", [_number(one, "ReadingCelsius") for one in inlets])
        self._add_mean(builder, "fan_speed_ratio", [self._fan(one) for one in _rows(found, "Fans")])

    def _fan(self, row: Mapping[str, Any]) -> float | None:
        speed = _number(row, "Reading")
        if speed is None:
            return None
        if row.get("ReadingUnits", "") == _PERCENT:
            return speed / 100
        top = _number(row, "MaxReadingRange") or self.settings.fan_full_rpm
        return speed / top if top else None

    def _power(self, found: Mapping[str, Any], builder: ReadingBuilder) -> None:
        whole = self.settings.subject.partition("/")[0]
        drawn = [_number(one, "PowerConsumedWatts") for one in _rows(found, "PowerControl")]
        self._add_mean(builder, f"{whole}_power_watts", drawn)
        for place, one in enumerate(_rows(found, "PowerSupplies")):
            member = str(one.get("MemberId", place))[:LONGEST_NAME]
            about = f"psu/{self.settings.subject.partition('/')[2]}-{member}"
            status = one.get("Status")
            health = status.get("Health") if isinstance(status, dict) else None
            if isinstance(health, str):
                builder.add(about, "psu_healthy", float(health == "OK"))
            output = _number(one, "LastPowerOutputWatts")
            if output is not None and not seam_signals.implausible("psu_output_watts", output):
                builder.add(about, "psu_output_watts", output)

    def _add_mean(self, builder: ReadingBuilder, name: str, values: list[float | None]) -> None:
        """The mean of several sensors without impossible values; absent, with the reason, if none is left."""
        seen = [value for value in values if value is not None]
        good = [value for value in seen if not seam_signals.implausible(name, value)]
        if good:
            builder.add(self.settings.subject, name, sum(good) / len(good))
        elif seam_signals.known(name):
            why = seam_signals.implausible(name, seen[0]) if seen else "this BMC does not report it"
            builder.miss(self.settings.subject, why, name)

    def _leaking(self, found: Mapping[str, Any], now: float) -> list[Event]:
        """An event when a leak begins."""
        wet = {str(one.get("Name", "leak detector"))[:LONGEST_NAME] for one in _rows(found, "Members") if _wet(one)}
        new, self._leaks = wet - self._leaks, wet
        return [
            Event(kind="leak", at=now, text=f"{name} reports a leak", subject=self.settings.subject) for name in new
        ]


def _rows(found: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    rows = found.get(name)
    return (one for one in (rows if isinstance(rows, list) else ()) if isinstance(one, dict))


def _number(row: Mapping[str, Any], name: str) -> float | None:
    return number(row.get(name))


def _wet(row: Mapping[str, Any]) -> bool:
    return str(row.get("DetectorState", "OK")) in ("Warning", "Critical")
