"""The downtime of every port: each outage with its start and length, over sliding windows, across restarts.

Downtime is what breaks a job, so it is measured from the port's state and not from link_downed, which stops at 255.
"""

from dataclasses import dataclass, field
from typing import Any

from holdfast.sources.ledger_file import LedgerFile

TEN_MINUTES, HOUR, DAY = 600.0, 3600.0, 86400.0
_GAP_SECONDS = 5.0  # longer than this without a look, and the end of an outage is only known to lie before it
_STILL_SECONDS = 10.0  # how often an ongoing outage is noted, so that a restart knows how long it lasted at least
_COMPACT_SECONDS = 3600.0
_COMPACT_AGAIN_SECONDS = 60.0
_MAX_OUTAGES = 2000  # per port; beyond it the oldest are folded together and no downtime is lost


@dataclass(slots=True)
class Outage:
    start: float
    seconds: float  # seen to be down
    at_most: float | None = None  # set where nobody looked at its end: it may have lasted this long
    count: int = 1  # how many outages were folded into this one

    @property
    def end(self) -> float:
        return self.start + self.seconds

    def inside(self, since: float) -> float:
        """Its seconds after a moment."""
        return max(0.0, self.end - max(self.start, since))


@dataclass(slots=True)
class Track:
    """What is known of one port."""

    pci_address: str = ""
    ever_up: bool = False
    looked: float = 0.0  # when it was last seen, up or down
    up: bool | None = None
    down_since: float | None = None
    noted: float = 0.0  # when the ongoing outage was last written
    seen_down: float = 0.0
    outages: list[Outage] = field(default_factory=list)
    flaps: list[float] = field(default_factory=list)  # too short to be seen in the state
    link_downed: float | None = None
    maybe_flap: bool = False
    mended: float = 0.0  # when somebody said it was repaired: what was before is kept and no longer counts

    def quiet(self) -> bool:
        return self.down_since is None and not self.outages and not self.flaps

    def last_outage(self) -> Outage | None:
        """The last one that ended, unless the port was repaired since."""
        return self.outages[-1] if self.outages and self.outages[-1].end > self.mended else None

    def outage_seconds(self, now: float) -> float:
        return 0.0 if self.down_since is None else max(0.0, now - self.down_since)

    def down_seconds(self, now: float, window: float) -> float:
        since = max(now - window, self.mended)
        ongoing = 0.0 if self.down_since is None else max(0.0, now - max(self.down_since, since))
        return sum(outage.inside(since) for outage in self.outages) + ongoing

    def flaps_within(self, now: float, window: float) -> int:
        since = max(now - window, self.mended)
        seen = sum(outage.count for outage in self.outages if outage.end > since)
        return seen + sum(at > since for at in self.flaps) + (self.down_since is not None)


class PortLedger:
    """Fed once a second per port. Without a path it lives in memory alone. One thread owns it."""

    def __init__(self, path: str = "") -> None:
        self._file = LedgerFile(path) if path else None
        self._tracks: dict[str, Track] = {}
        self._clock: float | None = None
        self._compacted = 0.0

    @property
    def trouble(self) -> str:
        """Why the ledger is not being kept on disk, or ''."""
        return self._file.trouble if self._file else ""

    @property
    def corrupt_lines(self) -> int:
        return self._file.corrupt_lines if self._file else 0

    def ports(self) -> dict[str, Track]:
        return self._tracks

    def track(self, port: str) -> Track:
        return self._tracks.setdefault(port, Track())

    def begin(self, now: float) -> float:
        """Once per look, before any port: reads the file the first time. Returns a time that never runs backwards."""
        if self._clock is None:
            self._clock = now
            self._load(now)
        self._clock = max(self._clock, now)
        since = self._clock - self._compacted
        stale = self._file is not None and self._file.wants_replacing
        if since >= _COMPACT_SECONDS or (stale and since >= _COMPACT_AGAIN_SECONDS):
            self._compact(self._clock)
        return self._clock

    def observe(self, port: str, up: bool | None, now: float, link_downed: float | None = None) -> Track:
        """Take one look at a port in. None means that its state could not be told."""
        track = self.track(port)
        if up is None:
            track.up = None
            return track
        self._count_flap(port, track, up, link_downed, now)
        if up:
            self._is_up(port, track, now)
        else:
            self._is_down(port, track, now)
        track.up = up
        track.looked = now
        return track

    def _is_up(self, port: str, track: Track, now: float) -> None:
        if track.down_since is not None:
            self._close(port, track, now)
        if not track.ever_up:
            track.ever_up = True
            self._write(_up_record(port, track, now))

    def _is_down(self, port: str, track: Track, now: float) -> None:
        if track.down_since is None:
            track.down_since = now
        track.seen_down = now
        if now - track.noted >= _STILL_SECONDS or track.noted < track.down_since:
            track.noted = now
            self._write(_down_record(port, track))

    def _close(self, port: str, track: Track, now: float) -> None:
        start = track.down_since if track.down_since is not None else now
        unwatched = now - track.seen_down > _GAP_SECONDS
        outage = Outage(start, (track.seen_down if unwatched else now) - start, now - start if unwatched else None)
        track.outages.append(outage)
        track.down_since = None
        if len(track.outages) > _MAX_OUTAGES:
            _fold_oldest(track.outages)
        self._write(_outage_record(port, outage))

    def _count_flap(self, port: str, track: Track, up: bool, link_downed: float | None, now: float) -> None:
        """link_downed grew between two looks that both saw the port up: it was down for less than a second.
        Judged one look later, because the counter may run a moment ahead of the state."""
        if track.maybe_flap and up:
            track.flaps.append(now)
            del track.flaps[:-_MAX_OUTAGES]
            self._write({"port": port, "is": "flap", "at": now})
        grew = link_downed is not None and track.link_downed is not None and link_downed > track.link_downed
        track.maybe_flap = bool(up and track.up and grew)
        if link_downed is not None:
            track.link_downed = link_downed

    def _write(self, record: dict[str, Any]) -> None:
        if self._file:
            self._file.append(record)

    def _compact(self, now: float) -> None:
        """Forget what is older than a day: in memory, and in the file."""
        self._compacted = now
        for port, track in list(self._tracks.items()):
            track.outages = [outage for outage in track.outages if outage.end > now - DAY]
            track.flaps = [at for at in track.flaps if at > now - DAY]
            if track.looked < now - DAY:
                del self._tracks[port]
        if self._file:
            self._file.replace([record for port, track in self._tracks.items() for record in _records(port, track)])

    def _load(self, now: float) -> None:
        if not self._file:
            return
        for record in self._file.load():
            if not self._take(record, now):
                self._file.corrupt_lines += 1

    def _take(self, record: dict[str, Any], now: float) -> bool:
        """One line of the file; False where it makes no sense (a time that has not come yet among them)."""
        port, kind = record.get("port"), record.get("is")
        times = [record.get(key) for key in ("at", "start", "seen", "seconds") if key in record]
        if not isinstance(port, str) or not times or not all(_is_time(time, now) for time in times):
            return False
        track = self.track(port)
        if kind == "up" and "at" in record:
            track.ever_up = True
            track.looked = max(track.looked, record["at"])
            track.pci_address = str(record.get("pci", ""))
        elif kind == "down" and {"start", "seen"} <= record.keys():
            track.down_since, track.seen_down, track.noted = record["start"], record["seen"], record["seen"]
            track.looked = max(track.looked, record["seen"])
        elif kind == "outage" and {"start", "seconds"} <= record.keys():
            track.outages.append(_outage_of(record))
            track.down_since = None
            track.looked = max(track.looked, track.outages[-1].end)
        elif kind == "flap" and "at" in record:
            track.flaps.append(record["at"])
        else:
            return False
        return True


def _is_time(value: object, now: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= now + _GAP_SECONDS


def _outage_of(record: dict[str, Any]) -> Outage:
    at_most, count = record.get("at_most"), record.get("count", 1)
    return Outage(
        record["start"],
        record["seconds"],
        float(at_most) if isinstance(at_most, int | float) else None,
        count if isinstance(count, int) and count > 0 else 1,
    )


def _fold_oldest(outages: list[Outage]) -> None:
    first, second = outages[:2]
    seconds = first.seconds + second.seconds
    outages[:2] = [Outage(second.end - seconds, seconds, None, first.count + second.count)]


def _up_record(port: str, track: Track, at: float) -> dict[str, Any]:
    return {"port": port, "is": "up", "at": at, "pci": track.pci_address}


def _down_record(port: str, track: Track) -> dict[str, Any]:
    return {"port": port, "is": "down", "start": track.down_since, "seen": track.seen_down}


def _outage_record(port: str, outage: Outage) -> dict[str, Any]:
    record = {"port": port, "is": "outage", "start": outage.start, "seconds": outage.seconds}
    if outage.at_most is not None:
        record["at_most"] = outage.at_most
    return {**record, "count": outage.count} if outage.count > 1 else record


def _records(port: str, track: Track) -> list[dict[str, Any]]:
    records = [_up_record(port, track, track.looked)] if track.ever_up else []
    records += [_outage_record(port, outage) for outage in track.outages]
    records += [{"port": port, "is": "flap", "at": at} for at in track.flaps]
    return [*records, _down_record(port, track)] if track.down_since is not None else records
