"""Downtime record of one port, and its on-disk format."""

from dataclasses import dataclass, field
from typing import Any

TEN_MINUTES, HOUR, DAY = 600.0, 3600.0, 86400.0
_LAST_MOMENT = 1e11  # in the year 5138; no clock was ever set to more


@dataclass(slots=True)
class PortOutage:
    start: float
    seconds: float  # seen to be down
    at_most: float | None = None  # set where its end was not observed: it may have lasted this long
    count: int = 1  # how many outages were folded into this one

    @property
    def end(self) -> float:
        return self.start + self.seconds

    def inside(self, since: float) -> float:
        """The seconds of the outage after a time."""
        return max(0.0, self.end - max(self.start, since))


@dataclass(slots=True)
class Track:
    """The state of one port."""

    pci_address: str = ""
    ever_up: bool = False
    last_seen: float = 0.0  # when it was last seen, up or down
    up: bool | None = None
    down_since: float | None = None
    noted: float = 0.0  # when the ongoing outage was last written
    seen_down: float = 0.0
    outages: list[PortOutage] = field(default_factory=list)
    flaps: list[float] = field(default_factory=list)  # too short to be seen in the state
    link_downed: float | None = None
    downs: int = 0  # outages that began since link_downed was last read
    maybe_flaps: int = 0
    repaired_at: float = 0.0  # when an operator marked it repaired: earlier outages are kept and no longer count

    def quiet(self) -> bool:
        return self.down_since is None and not self.outages and not self.flaps

    def last_outage(self) -> PortOutage | None:
        """The last one that ended, unless the port was repaired since."""
        return self.outages[-1] if self.outages and self.outages[-1].end > self.repaired_at else None

    def longest_outage(self, now: float, window: float) -> PortOutage | None:
        """The longest one that ended inside the window, unless the port was repaired since."""
        since = max(now - window, self.repaired_at)
        ended = [outage for outage in self.outages if outage.end > since and outage.count == 1]
        return max(ended, key=lambda outage: outage.seconds, default=None)

    def outage_seconds(self, now: float) -> float:
        return 0.0 if self.down_since is None else max(0.0, now - self.down_since)

    def down_seconds(self, now: float, window: float) -> float:
        since = max(now - window, self.repaired_at)
        ongoing = 0.0 if self.down_since is None else max(0.0, now - max(self.down_since, since))
        return sum(outage.inside(since) for outage in self.outages) + ongoing

    def flaps_within(self, now: float, window: float) -> int:
        since = max(now - window, self.repaired_at)
        seen = sum(outage.count for outage in self.outages if outage.end > since)
        return seen + sum(at > since for at in self.flaps) + (self.down_since is not None)


MOMENTS = ("at", "start", "seen")
_NUMBERS = {"up": ("at",), "down": ("start", "seen"), "outage": ("start", "seconds"), "flap": ("at",)}


def is_sound(record: dict[str, Any]) -> bool:
    kind = record.get("is")
    if not isinstance(record.get("port"), str) or not isinstance(kind, str) or kind not in _NUMBERS:
        return False
    reported = [name for name in (*MOMENTS, "seconds") if name in record]
    return all(_is_time(record.get(name)) for name in (*_NUMBERS[kind], *reported))


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LAST_MOMENT


def newest(record: dict[str, Any]) -> float:
    """The last time in a record."""
    return float(
        max(record.get("at", 0.0), record.get("seen", 0.0), record.get("start", 0.0) + record.get("seconds", 0.0))
    )


def outage_of(record: dict[str, Any]) -> PortOutage:
    at_most, count = record.get("at_most"), record.get("count", 1)
    return PortOutage(
        record["start"],
        record["seconds"],
        float(at_most) if isinstance(at_most, int | float) else None,
        count if isinstance(count, int) and count > 0 else 1,
    )


def fold_oldest(outages: list[PortOutage]) -> None:
    first, second = outages[:2]
    seconds = first.seconds + second.seconds
    outages[:2] = [PortOutage(second.end - seconds, seconds, None, first.count + second.count)]


def up_record(port: str, track: Track, at: float) -> dict[str, Any]:
    return {"port": port, "is": "up", "at": at, "pci": track.pci_address}


def down_record(port: str, track: Track) -> dict[str, Any]:
    return {"port": port, "is": "down", "start": track.down_since, "seen": track.seen_down}


def outage_record(port: str, outage: PortOutage) -> dict[str, Any]:
    record = {"port": port, "is": "outage", "start": outage.start, "seconds": outage.seconds}
    if outage.at_most is not None:
        record["at_most"] = outage.at_most
    return {**record, "count": outage.count} if outage.count > 1 else record


def records_of(port: str, track: Track) -> list[dict[str, Any]]:
    records = [up_record(port, track, track.last_seen)] if track.ever_up else []
    records += [outage_record(port, outage) for outage in track.outages]
    records += [{"port": port, "is": "flap", "at": at} for at in track.flaps]
    return [*records, down_record(port, track)] if track.down_since is not None else records
