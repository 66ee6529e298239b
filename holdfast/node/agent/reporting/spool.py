"""Spool of unacknowledged reports as JSON lines on disk. It survives kill -9 and long outages.

Bounded. When the bound is reached, old heartbeats are dropped first, then old reports; what was dropped is counted and
reported. The file is appended to; only acknowledged and dropped entries are cut out of it.
"""

import hashlib
import logging
import os
import secrets
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from holdfast.model.signal import Event
from holdfast.model.wire.report import Report
from holdfast.node.agent.state import write_atomically
from holdfast.runtime import codec

log = logging.getLogger("holdfast.node.agent")

MOST_BYTES = 8 << 20
MOST_UNWRITTEN = 1_000  # reports kept in memory while the disk cannot be written
HEARTBEAT_SECONDS = 3600.0  # older heartbeats are useless
NEWS_SECONDS = 7 * 86400.0
COMPACT_BYTES = 1 << 20
ROOM_SHARE = 0.9  # an overflow makes room for more than one report


@dataclass(slots=True)
class Losses:
    """Number of dropped reports, and their time span."""

    heartbeats: int = 0
    reports: int = 0  # with changes, events or outcomes
    first: float = 0.0
    last: float = 0.0

    def count(self, entry: "SpoolEntry") -> None:
        self.heartbeats += not entry.news
        self.reports += entry.news
        self.first = min(self.first or entry.at, entry.at)
        self.last = max(self.last, entry.at)


@dataclass(slots=True)
class SpoolEntry:
    """A waiting report. Its text is in the file, or in memory while the disk cannot be written."""

    session: str
    seq: int
    at: float
    news: bool
    offset: int
    length: int
    body: bytes | None = None


class _Header(msgspec.Struct):
    """State other than reports, in the first line of the file."""

    dropped: Losses
    events_until: float
    boot: str = ""
    kernel_until: float = 0.0


def session_of(started_at: float, boot: str) -> str:
    """The name of an agent's session: it says in which boot of the node the agent ran."""
    return f"{int(started_at)}-{boot}-{secrets.token_hex(8)}"


def boot_mark(boot_id: str) -> str:
    """A short id of a boot; '' if it cannot be read."""
    return hashlib.sha256(boot_id.encode()).hexdigest()[:8] if boot_id else ""


def since_boot(event: Event) -> float | None:
    seconds = event.detail.get("since_boot_seconds")
    return float(seconds) if isinstance(seconds, int | float) else None


def is_news(report: Report) -> bool:
    return bool(report.changes or report.events or report.outcomes)


class Spool:
    """Owned by one thread. Disk errors are never raised; `trouble` has the message."""

    def __init__(self, path: Path, now: float, most_bytes: int = MOST_BYTES, boot: str = "") -> None:
        self._path, self._boot = path, boot
        self._most_bytes = most_bytes
        self._entries: deque[SpoolEntry] = deque()
        self._size = 0  # of the file
        self._held = 0  # bytes that still matter
        self.losses = Losses()
        # The latest events ever taken in, as a restarted agent reads old kernel lines again: by the wall clock, and by
        # the seconds since this boot, which cannot be set.
        self.events_until = self.kernel_until = 0.0
        self.skipped_lines = 0
        self.trouble = ""
        self._load()
        self._forget_old(now)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, report: Report, now: float) -> None:
        body = msgspec.json.encode(report)
        entry = SpoolEntry(report.session, report.seq, report.at, is_news(report), 0, len(body), body)
        self._entries.append(entry)
        self._held += entry.length
        self._note_events(report)
        self._write()
        self._forget_old(now)
        if self._held > self._most_bytes:
            self._make_room()

    def batch(self, most_reports: int, most_bytes: int) -> list[tuple[SpoolEntry, bytes]]:
        """The oldest reports as sent on the wire; at least one if any can be read."""
        chosen: list[tuple[SpoolEntry, bytes]] = []
        unreadable: list[SpoolEntry] = []
        size = 0
        for entry in self._entries:
            if len(chosen) == most_reports or (chosen and size + entry.length > most_bytes):
                break
            body = self._body(entry)
            if body is None:
                unreadable.append(entry)
                continue
            chosen.append((entry, body))
            size += entry.length
        self.give_up(unreadable)
        return chosen

    def acknowledge(self, entries: Iterable[SpoolEntry]) -> None:
        self._remove({(entry.session, entry.seq) for entry in entries})

    def give_up(self, entries: Iterable[SpoolEntry]) -> None:
        """Counted as lost: they were refused, or cannot be read any more."""
        gone = list(entries)
        for entry in gone:
            self.losses.count(entry)
        if gone:
            self._remove({(entry.session, entry.seq) for entry in gone})

    def take_losses(self) -> Losses:
        """The losses since the last call; the caller reports them."""
        taken, self.losses = self.losses, Losses()
        return taken

    def _load(self) -> None:
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            self._report_trouble(f"{self._path}: {error.strerror}")
            return
        offset = 0
        for line in text.split(b"\n"):
            if line:
                self._take_line(line, offset)
            offset += len(line) + 1
        self._size = len(text)
        if self.skipped_lines:
            log.warning("%s: skipped %d unreadable lines", self._path, self.skipped_lines)

    def _take_line(self, line: bytes, offset: int) -> None:
        try:
            if line.startswith(b'{"dropped"'):
                header = codec.decode(line, _Header)
                self.losses, self.events_until = header.dropped, header.events_until
                self.kernel_until = header.kernel_until if header.boot == self._boot else 0.0
                return
            report = codec.decode(line, Report)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.skipped_lines += 1
            return
        self._entries.append(SpoolEntry(report.session, report.seq, report.at, is_news(report), offset, len(line)))
        self._held += len(line)
        self._note_events(report)

    def _note_events(self, report: Report) -> None:
        self.events_until = max([self.events_until, *(event.at for event in report.events)])
        if report.session.split("-")[1:2] == [self._boot]:
            self.kernel_until = max([self.kernel_until, *filter(None, map(since_boot, report.events))])

    def had_taken(self) -> Callable[[Event], bool]:
        """Whether an event was taken in before now, for the time in which a started agent reads old lines again."""
        wall, kernel = self.events_until, self.kernel_until

        def taken(event: Event) -> bool:
            seconds = since_boot(event)
            return seconds <= kernel if self._boot and seconds is not None else event.at <= wall

        return taken

    def _body(self, entry: SpoolEntry) -> bytes | None:
        if entry.body is not None:
            return entry.body
        try:
            with self._path.open("rb") as file:
                file.seek(entry.offset)
                body = file.read(entry.length)
        except OSError as error:
            self._report_trouble(f"{self._path}: {error.strerror}")
            return None
        return body if len(body) == entry.length and body.startswith(b"{") and body.endswith(b"}") else None

    def _write(self) -> None:
        """Append reports that are only in memory; those that cannot be written stay there until the next call."""
        waiting = [entry for entry in self._entries if entry.body is not None]
        lines = b"".join(b"\n" + entry.body for entry in waiting if entry.body is not None)
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                start = os.fstat(handle).st_size
                written = os.write(handle, lines)
                if any(entry.news for entry in waiting):
                    os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            self._report_trouble(f"{self._path}: {error.strerror}")
            self.give_up(waiting[:-MOST_UNWRITTEN])
            return
        if written != len(lines):
            self._report_trouble(f"{self._path}: no space left")
            return
        for entry in waiting:
            entry.offset, entry.body = start + 1, None
            start += 1 + entry.length
        self._size = start
        self._report_trouble("")

    def _remove(self, gone: set[tuple[str, int]]) -> None:
        kept = deque(entry for entry in self._entries if (entry.session, entry.seq) not in gone)
        self._entries = kept
        self._held = sum(entry.length for entry in kept)
        if self._size and (not kept or self._size - self._held - len(kept) > COMPACT_BYTES):
            self._compact()

    def _forget_old(self, now: float) -> None:
        self.give_up(
            entry for entry in self._entries if entry.at < now - (NEWS_SECONDS if entry.news else HEARTBEAT_SECONDS)
        )

    def _make_room(self) -> None:
        """Drop the oldest heartbeats first, then other reports, which `losses` counts."""
        excess = self._held - int(ROOM_SHARE * self._most_bytes)
        gone = []
        for entry in sorted(self._entries, key=lambda entry: (entry.news, entry.at)):
            if excess <= 0:
                break
            gone.append(entry)
            excess -= entry.length
        log.warning("the spool is full: %d reports dropped", len(gone))
        self.give_up(gone)
        self._compact()

    def _compact(self) -> None:
        """Rewrite the file with the remaining entries, and rename it, so that a crash leaves the old or the new
        file."""
        parts = [msgspec.json.encode(_Header(self.losses, self.events_until, self._boot, self.kernel_until))]
        places, offset = [], len(parts[0]) + 1
        for entry in self._entries:
            body = self._body(entry)
            if body is None:
                return  # the file cannot be rewritten: keep too much rather than too little
            parts.append(body)
            places.append(offset)
            offset += entry.length + 1
        text = b"\n".join(parts)
        if trouble := write_atomically(self._path, text):
            self._report_trouble(trouble)
            return
        for entry, place in zip(self._entries, places, strict=True):
            entry.offset, entry.body = place, None
        self._size = len(text)

    def _report_trouble(self, trouble: str) -> None:
        if trouble and trouble != self.trouble:
            log.warning("reports wait in memory: %s", trouble)
        self.trouble = trouble
