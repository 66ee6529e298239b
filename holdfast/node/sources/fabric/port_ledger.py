"""The downtime of every port: each outage with its start and length, over sliding windows, across restarts.

Downtime breaks jobs, so it is measured from the port's state and not from link_downed, which stops at 255.
"""

from typing import Any

from holdfast.node.sources.fabric.port_track import (
    DAY,
    MOMENTS,
    PortOutage,
    Track,
    down_record,
    fold_oldest,
    is_sound,
    newest,
    outage_of,
    outage_record,
    records_of,
    up_record,
)
from holdfast.node.sources.ledger_file import LedgerFile

_GAP_SECONDS = 5.0  # after a longer gap between readings, the exact end of an outage is unknown
_STILL_SECONDS = 10.0  # how often an ongoing outage is written, so that its length survives a restart
_COMPACT_SECONDS = 3600.0
_COMPACT_AGAIN_SECONDS = 60.0
_MAX_OUTAGES = 2000  # per port; beyond it the oldest are merged, without losing downtime


class PortLedger:
    """Records port states, once a second per port. Without a path it is only in memory. One thread owns it."""

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
        """Once per reading, before any port. Reads the file first. Returns a time that never runs backwards."""
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
        """Add one reading of a port. None means that its state could not be read."""
        track = self.track(port)
        if up is None:
            track.up = None
            return track
        self._count_flaps(port, track, up, link_downed, now)
        if up:
            self._is_up(port, track, now)
        else:
            self._is_down(port, track, now)
        track.up = up
        track.last_seen = now
        return track

    def _is_up(self, port: str, track: Track, now: float) -> None:
        if track.down_since is not None:
            self._close(port, track, now)
        if not track.ever_up:
            track.ever_up = True
            self._write(up_record(port, track, now))

    def _is_down(self, port: str, track: Track, now: float) -> None:
        if track.down_since is None:
            track.down_since = now
        track.seen_down = now
        if now - track.noted >= _STILL_SECONDS or track.noted < track.down_since:
            track.noted = now
            self._write(down_record(port, track))

    def _close(self, port: str, track: Track, now: float) -> None:
        start = track.down_since if track.down_since is not None else now
        unwatched = now - track.seen_down > _GAP_SECONDS
        outage = PortOutage(start, (track.seen_down if unwatched else now) - start, now - start if unwatched else None)
        track.outages.append(outage)
        track.down_since = None
        if len(track.outages) > _MAX_OUTAGES:
            fold_oldest(track.outages)
        self._write(outage_record(port, outage))

    def _count_flaps(self, port: str, track: Track, up: bool, link_downed: float | None, now: float) -> None:
        """link_downed grew by more than the outages that were seen: the port was down for less than a second.
        Judged one reading later, because the counter may run a moment ahead of the state."""
        went_down = not up and track.down_since is None
        foreseen = went_down and track.maybe_flaps > 0
        for _ in range(track.maybe_flaps - foreseen):
            track.flaps.append(now)
            self._write({"port": port, "is": "flap", "at": now})
        del track.flaps[:-_MAX_OUTAGES]
        track.maybe_flaps = 0
        track.downs += went_down and not foreseen
        if link_downed is not None:
            self._compare(track, up, link_downed)

    @staticmethod
    def _compare(track: Track, up: bool, link_downed: float) -> None:
        before, track.link_downed = track.link_downed, link_downed
        grown = 0 if before is None else min(max(0, int(link_downed - before)), _MAX_OUTAGES)
        track.maybe_flaps = max(0, grown - track.downs) if up else 0
        track.downs = 0 if up or before is None else max(0, track.downs - grown)  # the state may run ahead as well

    def _write(self, record: dict[str, Any]) -> None:
        if self._file:
            self._file.append(record)

    def _compact(self, now: float) -> None:
        """Drops records older than a day, in memory and in the file."""
        self._compacted = now
        for port, track in list(self._tracks.items()):
            track.outages = [outage for outage in track.outages if outage.end > now - DAY]
            track.flaps = [at for at in track.flaps if at > now - DAY]
            if track.last_seen < now - DAY:
                del self._tracks[port]
        if self._file:
            self._file.replace([record for port, track in self._tracks.items() for record in records_of(port, track)])

    def _load(self, now: float) -> None:
        """All lines share the clock of the agent that wrote them. If that clock was ahead of ours, because the clock
        was set back in between, all lines are shifted so that the newest is now."""
        if not self._file:
            return
        records = self._file.load()
        sound = [record for record in records if is_sound(record)]
        ahead = max(0.0, max(map(newest, sound), default=now) - now)
        for record in sound:
            self._take({**record, **{key: record[key] - ahead for key in MOMENTS if key in record}})
        self._file.corrupt_lines += len(records) - len(sound)

    def _take(self, record: dict[str, Any]) -> None:
        port, kind = record["port"], record["is"]
        track = self.track(port)
        if kind == "up":
            track.ever_up = True
            track.last_seen = max(track.last_seen, record["at"])
            track.pci_address = str(record.get("pci", ""))
        elif kind == "down":
            track.down_since, track.seen_down, track.noted = record["start"], record["seen"], record["seen"]
            track.last_seen = max(track.last_seen, record["seen"])
        elif kind == "outage":
            track.outages.append(outage_of(record))
            track.down_since = None
            track.last_seen = max(track.last_seen, track.outages[-1].end)
        else:
            track.flaps.append(record["at"])
