"""Kernel messages as events. Storms are folded here, so that nothing downstream is flooded."""

import logging
import os
import re
import stat
import time
from collections.abc import Callable
from dataclasses import replace

from holdfast.formats.kernel.folding import EventFolder, ends_a_fault, state_of
from holdfast.formats.kernel.line import sequence_of
from holdfast.formats.kernel.log import KernelLog
from holdfast.model import subject
from holdfast.model.event_log import FOLD_SECONDS, Key, key_of
from holdfast.model.signal import Event, Reading, Signal
from holdfast.node.sources.host.kmsg_reader import DeviceReader, FileReader, KmsgReader

log = logging.getLogger("holdfast.node.agent")

_HOLD_SECONDS = 1.0  # a reported event is not repeated for this long; its repeats follow together
_MAX_REMEMBERED = 4096
_RETRY_SECONDS = 1.0
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?")
_VOLUME = re.compile(r"dm-\d{1,6}")
_NOT_DISKS = ("loop", "rbd", "nbd", "drbd", "zd")  # images and network volumes of pods
_BOOT_TIME = re.compile(rb"^btime (\d{1,12})$", re.MULTILINE)


class KmsgSource:
    """Reads /dev/kmsg or a file of kernel messages. `wait` blocks until there is something to read."""

    name = "kmsg"
    every = 10.0
    deadline = 5.0
    carries = ("kmsg_records_total",)

    def __init__(
        self,
        node: str,
        path: str = "/dev/kmsg",
        proc: str = "",
        monotonic: Callable[[], float] = time.monotonic,
        sys: str = "",
    ) -> None:
        """`proc`: where to read the boot time that the messages of a file count from; '' is this machine's.
        `sys`: where the PCI devices of this node are listed; '' believes every address."""
        self._node = subject.node(node)
        self._path = path
        self._proc = proc
        self._monotonic = monotonic
        self._devices = _Devices(sys)
        self._file_booted: float | None = None
        self._reader: KmsgReader | None = None
        self._log = KernelLog()
        self._sequence: int | None = None
        self._records = self._gaps = self._folded = 0
        self._reported: dict[Key, float] = {}  # when an event was last reported
        self._held = EventFolder(FOLD_SECONDS)  # repeats of those, to be reported together
        self._holding = False
        self._states: dict[tuple[str, str], int | str | None] = {}
        self._release_at = 0.0

    def wait(self, seconds: float) -> bool:
        """Wait until something may be readable or the time is up; return whether to read now."""
        if self._reader is None:
            time.sleep(min(seconds, _RETRY_SECONDS))
            return True
        return self._reader.wait(min(seconds, _HOLD_SECONDS) if self._holding else seconds) or self._holding

    def read(self, now: float) -> Reading:
        try:
            if self._reader is None:
                self._reader = _open(self._path)
            data = self._reader.drain()
        except OSError as error:
            self.close()
            return Reading(source=self.name, at=now, blind=_why(self._path, error))
        gap = self._count(data)
        found = [event for event in self._log.feed(data) + self._log.settle() if self._devices.has(event)]
        booted = self._boot_time(now)
        events = self._fold([_dated(event, booted, now) for event in found], now)
        if gap:
            events.append(_gap_event(gap, now))
        return Reading(source=self.name, at=now, signals=self._signals(), events=events, present=[self._node])

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _signals(self) -> list[Signal]:
        return [
            Signal(self._node, "kmsg_records_total", float(self._records)),
            Signal(self._node, "kmsg_gaps_total", float(self._gaps)),
            Signal(self._node, "kmsg_storm_folded_total", float(self._folded)),
        ]

    def _count(self, data: bytes) -> int:
        """Count records; return how many are missing by their sequence numbers."""
        missing = 0
        for raw in data.split(b"\n"):
            if not raw or raw.startswith(b" "):  # a continuation line belongs to the record before
                continue
            self._records += 1
            number = sequence_of(raw)
            if number is None:
                continue
            if self._sequence is not None and number > self._sequence + 1:
                missing += number - self._sequence - 1
            self._sequence = number
        self._gaps += missing
        return missing

    def _boot_time(self, now: float) -> float:
        """Times on the clock of `now`, which is never set: records of the ring buffer are dated by their age. The boot
        time in /proc moves with the wall clock, so it is used only for a file, and read once."""
        if self._proc and self._file_booted is None and not isinstance(self._reader, DeviceReader):
            try:
                with open(os.path.join(self._proc, "stat"), "rb") as file:
                    found = _BOOT_TIME.search(file.read())
            except OSError:
                found = None
            self._file_booted = float(found[1]) if found else None
        return now - self._monotonic() if self._file_booted is None else self._file_booted

    def _fold(self, events: list[Event], now: float) -> list[Event]:
        """Report new events at once. Count repeats of a recent event, and report them together later."""
        self._reported = {key: at for key, at in self._reported.items() if now - at < _HOLD_SECONDS}
        fresh = EventFolder(FOLD_SECONDS)
        for event in events:
            known = not self._changes_state(event) and key_of(event) in self._reported
            (self._held if known else fresh).add(event)
            self._holding |= known
            self._folded += event.count if known else 0
            if ends_a_fault(event):  # the same fault after this is a new one
                self._reported = {key: at for key, at in self._reported.items() if key[1] != event.device}
        reported = fresh.take()
        self._folded += sum(event.count - 1 for event in reported)
        if now >= self._release_at:
            reported += self._held.take()
            self._holding = False
            self._release_at = now + _HOLD_SECONDS
        for event in reported[:_MAX_REMEMBERED]:
            self._reported[key_of(event)] = now
        return reported

    def _changes_state(self, event: Event) -> bool:
        """Down after up is a new event, however often it was reported before."""
        if (state := state_of(event)) is None:
            return False
        what, now = state
        before = self._states.get((what, event.device))
        if before is not None or len(self._states) < _MAX_REMEMBERED:
            self._states[what, event.device] = now
        return before != now


class _Devices:
    """The devices of this node. A message about an unknown PCI address, a disk image or a network volume of a
    container is not about this hardware."""

    def __init__(self, sys: str) -> None:
        self._sys = sys
        self._known: set[str] = set()  # devices seen so far: messages about a device that is gone now still count
        self._refused: set[str] = set()

    def has(self, event: Event) -> bool:
        if event.kind == "disk" and _VOLUME.fullmatch(event.device):
            return self._is_on_disks(event.device)
        return self._has_address(event.device)

    def _is_on_disks(self, volume: str) -> bool:
        """Whether a mounted device is on a disk. A device that is gone was mounted only briefly; the disk below a
        device mapper reports its errors itself."""
        if not os.path.isdir(f"{self._sys}/block"):
            return True
        try:
            below = os.listdir(f"{self._sys}/block/{volume}/slaves")
        except OSError:
            return False
        return not below or not all(name.startswith(_NOT_DISKS) for name in below)

    def _has_address(self, device: str) -> bool:
        if not self._sys or not _ADDRESS.fullmatch(device) or device in self._known:
            return True
        if not os.path.isdir(f"{self._sys}/bus/pci/devices"):
            return True
        slot, _, function = device.partition(".")
        there = os.path.exists(f"{self._sys}/bus/pci/devices/{slot}.{function or '0'}")
        if there or os.path.exists(f"{self._sys}/class/pci_bus/{slot.rsplit(':', 1)[0]}"):  # unplugged: its bus stays
            self._known.add(device)
            return True
        if device not in self._refused and len(self._refused) < _MAX_REMEMBERED:
            self._refused.add(device)
            log.warning("a kernel message names PCI device %s, which this node does not have: ignored", device)
        return False


def _dated(event: Event, booted: float, now: float) -> Event:
    """A time from seconds since boot, or the moment of reading where the message has no time."""
    since_boot = event.detail.get("since_boot_seconds")
    at = booted + since_boot if isinstance(since_boot, float) else event.at
    return replace(event, at=min(at or now, now), line=0)


def _open(path: str) -> KmsgReader:
    return DeviceReader(path) if stat.S_ISCHR(os.stat(path).st_mode) else FileReader(path)


def _why(path: str, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"kernel messages are hidden: no permission to read {path} (needs root or CAP_SYSLOG)"
    if isinstance(error, FileNotFoundError):
        return f"kernel messages are hidden: there is no {path} (a container needs it passed in)"
    return f"kernel messages are hidden: {path}: {error.strerror or error}"


def _gap_event(missing: int, now: float) -> Event:
    return Event(
        kind="kmsg_gap",
        at=now,
        text=f"{missing} kernel messages were overwritten before they could be read",
        severity="warning",
        action="monitor",
        count=missing,
    )
