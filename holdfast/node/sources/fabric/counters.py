"""Every counter of every RDMA port, counters/ and hw_counters/, on kept-open descriptors."""

import os
from collections.abc import Collection
from functools import lru_cache, partial

from holdfast.formats.fabric import infiniband
from holdfast.model import subject
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import Subject
from holdfast.node.sources.fabric.ports import PortPlace, find_ports, root_of
from holdfast.node.sources.open_files import CounterFile, close_all, error_text
from holdfast.node.sources.part_reads import PartReads
from holdfast.node.sources.small_file import text_or_nothing

_READABLE = "port_counters_readable"  # absent, with the names of files that exist and cannot be parsed
_NOT_KEPT = "N/A"  # a driver's value for "this device has no such counter"
_INTERFACE_COUNTERS = ("rx_crc_errors", "rx_errors", "rx_dropped", "tx_errors", "tx_dropped")
_LEFT_OUT = ("lifespan",)  # how long the driver caches the others, in milliseconds: no counter


class InfinibandCountersSource:
    name = "infiniband_counters"
    every = 30.0
    deadline = 20.0
    carries = ("port_xmit_data_bytes_total", "port_rcv_data_bytes_total", "port_symbol_error_total",
               "port_link_downed_total", "port_link_error_recovery_total", "port_rcv_errors_total",
               "port_xmit_discards_total", "port_counters_readable")  # fmt: skip

    def __init__(self, node: str, sys: str = "/sys", exclude: Collection[str] = ()) -> None:
        self._node = node
        self._sys = sys
        self._exclude = frozenset(exclude)
        self._counters: dict[PortPlace, list[_Counter]] = {}
        self._reads = PartReads()

    def read(self, now: float) -> Reading:
        try:
            places = find_ports(self._sys, self._exclude)
        except OSError as error:
            places = []
            why = f"no RDMA device: {root_of(self._sys)}: {error_text(error)}"
        else:
            why = "" if places else f"no RDMA device in {root_of(self._sys)}"
        self._follow(places)
        signals: list[Signal] = []
        absent: dict[tuple[Subject, str], str] = {}
        if not self._reads.run({place: partial(_sample, found, now) for place, found in self._counters.items()}):
            return Reading(source=self.name, at=now)  # abandoned: another thread continues
        for place, counters in self._counters.items():
            where = subject.port(self._node, place.device, place.number)
            if (seconds := self._reads.hanging(place)) is not None:
                absent[(where, _READABLE)] = f"reading a counter has hung for {seconds:.0f} s"
                continue
            for counter in counters:
                counter.report(signals, absent)
            if trouble := _trouble(counters):
                absent[(where, _READABLE)] = trouble
            else:
                signals.append(Signal(where, _READABLE, 1.0))
        return Reading(source=self.name, at=now, signals=signals, absent=absent, blind=why)

    def abandon(self) -> bool:
        return self._reads.abandon()

    def _follow(self, places: list[PortPlace]) -> None:
        """Open new ports, close ports that disappeared."""
        for place in self._counters.keys() - set(places):
            close_all(counter.file for counter in self._counters.pop(place))
        for place in places:
            if self._reads.hanging(place) is not None:
                continue
            if place not in self._counters or _listed(place) != len(self._counters[place]):
                close_all(counter.file for counter in self._counters.get(place, ()))
                self._counters[place] = _counters_of(self._node, place)
            for counter in self._counters[place]:
                counter.file.refresh()


class _Counter:
    __slots__ = ("_name", "_raw", "_signal", "_subject", "_worth", "file", "senseless", "signal_name", "why_absent")

    def __init__(self, where: Subject, place: PortPlace, name: str, signal_name: str, worth: int) -> None:
        self.file = CounterFile(os.path.join(place.path, name))
        self.why_absent = ""
        self.senseless = False
        self._name = name
        self.signal_name = signal_name
        self._subject = where
        self._worth = worth
        self._raw: bytes | str | None = None
        self._signal: Signal | None = None

    def sample(self, now: float) -> None:
        raw = self.file.attempt_at(now)
        if raw != self._raw:
            self._raw = raw
            count = infiniband.counter(raw) if isinstance(raw, bytes) else None
            value = None if count is None else float(count * self._worth)
            self._signal = None if value is None else Signal(self._subject, self.signal_name, value)
            self._explain(raw)

    def report(self, signals: list[Signal], absent: dict[tuple[Subject, str], str]) -> None:
        if self._signal is not None:
            signals.append(self._signal)
        else:
            absent[(self._subject, self.signal_name)] = self.why_absent

    def _explain(self, raw: bytes | str) -> None:
        text = "" if isinstance(raw, str) else infiniband.text_of(raw)
        problem = f"cannot be read: {raw}" if isinstance(raw, str) else f"reads {text[:60]!r}"
        self.why_absent = "" if self._signal else f"file {self._name} {problem}"
        self.senseless = self._signal is None and isinstance(raw, bytes) and not text.startswith(_NOT_KEPT)


def _sample(counters: list[_Counter], now: float) -> None:
    for counter in counters:
        counter.sample(now)


def _trouble(counters: list[_Counter]) -> str:
    """Why the counters of a port do not show its errors reliably, or ''."""
    if not counters:
        return "the port shows no counters: counters/ and hw_counters/ are empty or missing"
    return "; ".join(counter.why_absent for counter in counters if counter.senseless)


def _counters_of(node: str, place: PortPlace) -> list[_Counter]:
    where = subject.port(node, place.device, place.number)
    counters = [
        _Counter(where, place, f"counters/{name}", *infiniband.counter_signal(name))
        for name in _names(place, "counters")
    ]
    counters += [
        _Counter(where, place, f"hw_counters/{name}", infiniband.hw_counter_signal(name), 1)
        for name in _names(place, "hw_counters")
    ]
    return counters + [
        _Counter(where, place, path, f"port_net_{os.path.basename(path)}_total", 1) for path in _interface_files(place)
    ]


def _listed(place: PortPlace) -> int:
    return len(_names(place, "counters")) + len(_names(place, "hw_counters")) + len(_interface_files(place))


@lru_cache(maxsize=256)
def _interface_files(place: PortPlace) -> list[str]:
    """Error counts of the network interface over an Ethernet port; an InfiniBand port has its own."""
    if text_or_nothing(f"{place.path}/link_layer") != "Ethernet":
        return []
    name = text_or_nothing(f"{place.path}/gid_attrs/ndevs/0")
    folder = os.path.join(os.path.dirname(os.path.dirname(place.path)), "device", "net", name, "statistics")
    paths = (os.path.join(folder, counter) for counter in _INTERFACE_COUNTERS) if name else ()
    return [path for path in paths if os.path.exists(path)]


def _names(place: PortPlace, folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(os.path.join(place.path, folder)) if name not in _LEFT_OUT)
    except OSError:
        return []
