"""Port state and rate of every RDMA port, InfiniBand and RoCE, once a second on kept-open descriptors."""

import os
from collections.abc import Collection
from functools import partial

from holdfast.catalog import nccl
from holdfast.model import subject
from holdfast.model.signal import Event, Reading, Signal
from holdfast.model.subject import Subject
from holdfast.node.sources.fabric.counters import InfinibandCountersSource
from holdfast.node.sources.fabric.port import NEED_THE_STATE, RdmaPort
from holdfast.node.sources.fabric.port_ledger import PortLedger
from holdfast.node.sources.fabric.port_track import DAY, HOUR, TEN_MINUTES, PortOutage, Track
from holdfast.node.sources.fabric.ports import find_ports, root_of
from holdfast.node.sources.host.repairs import RepairsSource
from holdfast.node.sources.open_files import error_text
from holdfast.node.sources.part_reads import PartReads
from holdfast.node.sources.small_file import text_or_nothing

__all__ = ["InfinibandCountersSource", "InfinibandSource"]

_AMAZON = "0x1d0f"
_SCAN_SECONDS = 10.0
_CALM_EVERY = 1.0
_TENSE_EVERY = 0.2  # while an outage runs towards a transport's deadline
_TENSE_SECONDS = 150.0  # the longest deadline in common use (NCCL_IB_TIMEOUT=22) is 120 s


class InfinibandSource:
    """The source of the downtime ledger."""

    name = "infiniband"
    deadline = 5.0
    carries = ("port_state", "port_up", "port_phys_state", "port_rate_bytes_per_second", "port_outage_seconds",
               "port_down_seconds_10m", "port_down_seconds_1h", "port_down_seconds_24h", "port_flaps_24h",
               "port_expected", "port_link_layer", "port_pci_address")  # fmt: skip

    def __init__(self, node: str, sys: str = "/sys", exclude: Collection[str] = (), ledger: str = "") -> None:
        self.every = self._calm = _CALM_EVERY
        self._tense = False
        self._node = node
        self._sys = sys
        self._exclude = frozenset(exclude)
        self._ledger = PortLedger(ledger)
        self._ports: dict[str, RdmaPort] = {}
        self._gone: dict[str, tuple[bool, str]] = {}  # port -> (certainly down, why it cannot be read)
        self._scanned: float | None = None
        self._blind = ""
        self._reads = PartReads()
        self._reported: set[str] = set()  # ports that hang
        self._repairs = RepairsSource(os.path.dirname(ledger)) if ledger else None

    def read(self, now: float) -> Reading:
        now = self._ledger.begin(now)
        if self._scanned is None or now - self._scanned >= _SCAN_SECONDS:
            self._scan(now)
            self._apply_repairs(now)
        if not self._ports and not self._gone:
            return Reading(source=self.name, at=now, blind=self._blind)
        if not self._reads.run({name: partial(port.sample, now) for name, port in self._ports.items()}):
            return Reading(source=self.name, at=now)  # abandoned: another thread continues
        gathered = _Gathered()
        self._report_ports(now, gathered)
        self._report_gone(now, gathered)
        self._report_ledger(gathered)
        return Reading(
            source=self.name,
            at=now,
            signals=gathered.signals,
            absent=gathered.absent,
            present=gathered.present,
            events=gathered.events,
        )

    def abandon(self) -> bool:
        return self._reads.abandon()

    def _scan(self, now: float) -> None:
        self._scanned = now
        self._blind = ""
        try:
            places = find_ports(self._sys, self._exclude)
        except OSError as error:
            places = []
            self._blind = f"no RDMA device: {root_of(self._sys)}: {error_text(error)}"
        self._blind = self._blind or f"no RDMA device in {root_of(self._sys)}"
        found = {place.name: place for place in places}
        for name in self._ports.keys() - found.keys():
            self._ports.pop(name).close()
        for name, place in found.items():
            if name not in self._ports or self._ports[name].place != place:
                self._ports[name] = RdmaPort(self._node, place)
            if self._reads.hanging(name) is None:
                self._ports[name].refresh()
            self._ledger.track(name).pci_address = place.pci_address
        seated = {(place.pci_address, place.number) for place in places if place.pci_address}
        self._gone = {
            name: self._why_gone(name, track.pci_address)
            for name, track in self._ledger.ports().items()
            if name not in found and self._missed(name, track, seated)
        }

    def _apply_repairs(self, now: float) -> None:
        """A part that an operator marked as repaired starts without history."""
        for mark in self._repairs.read(now).events if self._repairs else ():
            for name, track in self._ledger.ports().items():
                if mark.subject in (subject.node(self._node), subject.port(self._node, *name.rsplit("/", 1))):
                    track.repaired_at = max(track.repaired_at, mark.at)

    def _missed(self, name: str, track: Track, seated: set[tuple[str, str]]) -> bool:
        """Whether a missing port is expected: it was in use, is not excluded and was not renamed."""
        device, _, number = name.partition("/")
        excluded = device in self._exclude or track.pci_address in self._exclude
        in_use = track.ever_up or track.down_since is not None
        return in_use and not excluded and (track.pci_address, number) not in seated

    def _why_gone(self, name: str, pci_address: str) -> tuple[bool, str]:
        device = name.partition("/")[0]
        if not pci_address:
            return False, f"device {device} disappeared"
        function = os.path.join(self._sys, "bus", "pci", "devices", pci_address)
        if not os.path.exists(function):
            return True, f"device {device} disappeared with its PCI function {pci_address}"
        no_interface = text_or_nothing(os.path.join(function, "vendor")) == _AMAZON  # EFA never has one to move
        let_go = not os.path.lexists(os.path.join(function, "driver")) or _has_entries(os.path.join(function, "net"))
        if let_go or no_interface:
            return True, f"device {device} disappeared, its driver let go of it"
        return False, f"device {device} disappeared with its network interface: moved into a container, or lost"

    def _report_ports(self, now: float, gathered: "_Gathered") -> None:
        up_devices: dict[tuple[str, ...], set[str]] = {}
        for port in self._ports.values():
            if port.up:
                up_devices.setdefault(port.make, set()).add(port.place.device)
        tense = False
        for name, port in self._ports.items():
            if (seconds := self._reads.hanging(name)) is not None:
                self._report_hanging(name, port, seconds, now, gathered)
                continue
            self._reported.discard(name)
            track = self._ledger.track(name)
            peers_up = bool(up_devices.get(port.make, set()) - {port.place.device})
            expected = track.ever_up or peers_up or port.up is not False  # a port with an unknown state may be expected
            if expected:
                track = self._ledger.observe(name, port.up, now, port.link_downed)
                gathered.present.append(port.subject)
            gathered.signals += port.signals
            gathered.signals.append(Signal(port.subject, "port_expected", float(expected)))
            if port.up is not None:
                gathered.signals += _downtime(port.subject, track, now)
            gathered.absent.update(port.absent)
            tense |= 0.0 < track.outage_seconds(now) <= _TENSE_SECONDS or (track.down_since == now)
            if port.unreadable:
                self._scanned = None  # the device may be gone: list the devices again before the usual time
        self._set_interval(tense)

    def _report_hanging(self, name: str, port: RdmaPort, seconds: float, now: float, gathered: "_Gathered") -> None:
        """The adapter does not answer its driver. Ports of other adapters are still read."""
        why = f"reading its state has hung for {seconds:.0f} s: the adapter does not answer"
        gathered.present.append(port.subject)
        gathered.signals.append(Signal(port.subject, "port_expected", 1.0))
        gathered.absent |= {(port.subject, signal): why for signal in ("port_state", *NEED_THE_STATE)}
        if name not in self._reported:
            self._reported.add(name)
            device = port.place.pci_address
            text = f"{port.place.device} {device}: {why}"
            gathered.events.append(Event(kind="nic", at=now, text=text, device=device, code="hang", severity="fatal"))

    def _set_interval(self, tense: bool) -> None:
        """Read more often while an outage approaches a transport timeout, so that it is reported on time."""
        if not self._tense:
            self._calm = self.every
        self._tense = tense
        self.every = min(_TENSE_EVERY, self._calm) if tense else self._calm

    def _report_gone(self, now: float, gathered: "_Gathered") -> None:
        for name, (surely_down, why) in self._gone.items():
            device, _, number = name.partition("/")
            where = subject.port(self._node, device, number)
            track = self._ledger.observe(name, False if surely_down else None, now)
            gathered.present.append(where)
            gathered.signals.append(Signal(where, "port_expected", 1.0))
            gathered.absent[(where, "port_state")] = why
            gathered.absent[(where, "port_rate_bytes_per_second")] = why
            if surely_down:
                gathered.signals.append(Signal(where, "port_up", 0.0))
                gathered.signals += _downtime(where, track, now)
            else:
                gathered.absent |= {(where, signal): why for signal in NEED_THE_STATE}

    def _report_ledger(self, gathered: "_Gathered") -> None:
        node = subject.node(self._node)
        gathered.signals.append(Signal(node, "port_ledger_writable", float(not self._ledger.trouble)))
        gathered.signals.append(Signal(node, "port_ledger_corrupt_lines_total", float(self._ledger.corrupt_lines)))
        if self._ledger.trouble:
            gathered.absent[(node, "port_ledger_file")] = self._ledger.trouble


def _has_entries(path: str) -> bool:
    try:
        return bool(os.listdir(path))
    except OSError:
        return False


class _Gathered:
    __slots__ = ("absent", "events", "present", "signals")

    def __init__(self) -> None:
        self.signals: list[Signal] = []
        self.absent: dict[tuple[Subject, str], str] = {}
        self.present: list[Subject] = []
        self.events: list[Event] = []


_QUIET = ("port_outage_seconds", "port_down_seconds_10m", "port_down_seconds_1h", "port_down_seconds_24h",
          "port_flaps_24h")  # fmt: skip


def _downtime(where: Subject, track: Track, now: float) -> list[Signal]:
    if track.quiet():
        return [Signal(where, name, 0.0) for name in _QUIET]
    values = (
        track.outage_seconds(now),
        track.down_seconds(now, TEN_MINUTES),
        track.down_seconds(now, HOUR),
        track.down_seconds(now, DAY),
        float(track.flaps_within(now, DAY)),
    )
    signals = [Signal(where, name, round(value, 1)) for name, value in zip(_QUIET, values, strict=True)]
    if last := track.last_outage():
        signals += _outage(where, "last", last)
        signals.append(Signal(where, "port_last_outage_at_most_seconds", round(last.at_most or last.seconds, 1)))
    if longest := track.longest_outage(now, nccl.watchdog_seconds()):
        signals += _outage(where, "longest", longest)
    if of_the_day := track.longest_outage(now, DAY):
        signals.append(Signal(where, "port_longest_outage_seconds_24h", round(of_the_day.seconds, 1)))
    return signals


def _outage(where: Subject, which: str, outage: PortOutage) -> tuple[Signal, ...]:
    return (
        Signal(where, f"port_{which}_outage_seconds", round(outage.seconds, 1)),
        Signal(where, f"port_{which}_outage_end_timestamp_seconds", round(outage.end, 1)),
    )
