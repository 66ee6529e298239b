"""One RDMA port: its open files and their last values."""

import os
from collections.abc import Callable

from holdfast.formats.fabric import infiniband
from holdfast.model import subject
from holdfast.model.signal import Signal, Value
from holdfast.model.subject import Subject
from holdfast.node.sources.fabric.ports import Identity, PortPlace, identify
from holdfast.node.sources.open_files import CounterFile, OpenFile, close_all

_Parser = Callable[[bytes], float | None]
NEED_THE_STATE = ("port_up", "port_outage_seconds", "port_down_seconds_10m")  # not reported without it
_QUICK = ("state", "phys_state", "rate")
_LINK_DOWNED_SECONDS = 30.0  # the adapter itself must answer for a counter: read it no more often than the others


class RdmaPort:
    """Bytes that did not change are not parsed again."""

    def __init__(self, node: str, place: PortPlace) -> None:
        self.place = place
        self.subject = subject.port(node, place.device, place.number)
        self.up: bool | None = None
        self.link_downed: float | None = None  # where this reading has it
        self.signals: list[Signal] = []
        self.absent: dict[tuple[Subject, str], str] = {}
        self.make: tuple[str, ...] = ()
        self._files = [OpenFile(os.path.join(place.path, name)) for name in _QUICK]
        self._link_downed = CounterFile(os.path.join(place.path, "counters", "link_downed"))
        self._link_downed_at: float | None = None
        self._identity = Identity("", "", "", "")
        self._raws: list[bytes | str] = []

    @property
    def unreadable(self) -> bool:
        return bool(self._raws) and isinstance(self._raws[0], str)

    def refresh(self) -> None:
        """Called from time to time, to notice new firmware and replaced files."""
        for file in (*self._files, self._link_downed):
            file.refresh()
        identity = identify(self.place)
        if identity != self._identity:
            self._identity = identity
            self._raws = []
        function = self.place.pci_address.rpartition(".")[2]  # the second port of a card has peers of its own
        self.make = (self.place.number, identity.link_layer, identity.board_id, identity.hca_type, function)

    def sample(self, now: float) -> None:
        self.link_downed = self._count_link_downed(now)
        raws = [file.attempt() for file in self._files]
        if raws == self._raws:
            return
        self._raws = raws
        state, phys_state, rate = raws
        self.signals = self._identities()
        self.absent = {}
        known = self._take("port_state", "state", state, infiniband.port_state)
        self.up = None if known is None else known == infiniband.ACTIVE
        if self.up is None:
            why = self.absent[(self.subject, "port_state")]
            self.absent |= {(self.subject, name): why for name in NEED_THE_STATE}
        else:
            self.signals.append(Signal(self.subject, "port_up", float(self.up)))
        self._take("port_phys_state", "phys_state", phys_state, infiniband.phys_state)
        self._take("port_rate_bytes_per_second", "rate", rate, infiniband.rate_bytes_per_second)

    def _count_link_downed(self, now: float) -> float | None:
        if self._link_downed_at is not None and now - self._link_downed_at < _LINK_DOWNED_SECONDS:
            return None
        self._link_downed_at = now
        raw = self._link_downed.attempt_at(now)
        return infiniband.counter(raw) if isinstance(raw, bytes) else None

    def _take(self, name: str, file: str, raw: bytes | str, parse: _Parser) -> float | None:
        if isinstance(raw, str):
            self.absent[(self.subject, name)] = f"file {file} cannot be read: {raw}"
            return None
        value = parse(raw)
        if value is None:
            self.absent[(self.subject, name)] = f"file {file} reads {infiniband.text_of(raw)[:60]!r}"
            return None
        self.signals.append(Signal(self.subject, name, float(value)))
        return value

    def _identities(self) -> list[Signal]:
        values: dict[str, Value] = {
            "port_link_layer": self._identity.link_layer,
            "port_pci_address": self.place.pci_address,
            "port_firmware_version": self._identity.firmware_version,
            "port_board_id": self._identity.board_id,
            "port_hca_type": self._identity.hca_type,
        }
        return [Signal(self.subject, name, value) for name, value in values.items() if value]

    def close(self) -> None:
        close_all((*self._files, self._link_downed))
