"""Statistics of the network interfaces over Ethernet RDMA ports, as `ethtool -S` reads them: one ioctl each.

They count what sysfs does not: errors of the physical layer after correction, discards, pause storms. Reading needs no
privilege. A driver that hangs affects only its own port: the runner abandons that read.
"""

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Callable, Collection, Mapping
from functools import partial

from holdfast.formats.ethtool import live
from holdfast.model import subject
from holdfast.model.signal import Reading, Signal
from holdfast.model.subject import Subject
from holdfast.node.sources.fabric.ports import PortPlace, find_ports
from holdfast.node.sources.open_files import error_text
from holdfast.node.sources.part_reads import PartReads
from holdfast.node.sources.small_file import text_or_nothing

_SIOCETHTOOL = 0x8946
_GSTRINGS, _GSTATS, _GSSET_INFO, _STATISTICS = 0x1B, 0x1D, 0x37, 1
_NAME_BYTES = 16
MOST = 16_384  # counters of one interface; a driver with a queue per core has a few thousand
_ROOM = 2_048  # the kernel writes as many as exist now; queues may have been added since the count
RUNNING_KERNEL = "/sys"

Statistics = Callable[[str], Mapping[str, int]]


def statistics(interface: str) -> dict[str, int]:
    """Statistics of an interface. OSError if it is gone or its driver has no counters."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        info = _ask(asking, interface, struct.pack("=IIQI", _GSSET_INFO, 0, 1 << _STATISTICS, 0), 0)
        count = live.count(info)
        if not 0 < count <= MOST:
            return {}
        room = count + _ROOM
        names = _ask(asking, interface, struct.pack("=III", _GSTRINGS, _STATISTICS, count), room * live.STRING_BYTES)
        values = _ask(asking, interface, struct.pack("=II", _GSTATS, count), room * 8)
    return live.table(names, values, count)


def _ask(asking: socket.socket, interface: str, command: bytes, room: int) -> bytes:
    answer = ctypes.create_string_buffer(command, len(command) + room)
    name = interface.encode("utf-8", "replace")[: _NAME_BYTES - 1]
    fcntl.ioctl(asking, _SIOCETHTOOL, struct.pack(f"{_NAME_BYTES}sP16x", name, ctypes.addressof(answer)))
    return answer.raw


class EthtoolSource:
    name = "ethtool"
    every = 60.0
    deadline = 20.0
    carries: tuple[str, ...] = ()  # an InfiniBand port has none of these, and an adapter may count only some

    def __init__(
        self, node: str, sys: str = RUNNING_KERNEL, exclude: Collection[str] = (), ask: Statistics = statistics
    ) -> None:
        self._node = node
        self._sys = sys
        self._exclude = frozenset(exclude)
        self._ask = ask if sys == RUNNING_KERNEL or ask is not statistics else None
        self._reads = PartReads()

    def read(self, now: float) -> Reading:
        try:
            places = find_ports(self._sys, self._exclude) if self._ask else []
        except OSError:
            places = []  # no RDMA device: the port sources report this
        interfaces = {place: name for place in places if (name := _interface(place))}
        found: dict[PortPlace, dict[str, float] | str] = {}
        if not self._reads.run({place: partial(self._one, place, name, found) for place, name in interfaces.items()}):
            return Reading(source=self.name, at=now)  # abandoned: another thread continues
        signals: list[Signal] = []
        absent: dict[tuple[Subject, str], str] = {}
        for place, name in interfaces.items():
            where = subject.port(self._node, place.device, place.number)
            seconds = self._reads.hanging(place)
            answer = f"asking {name} has hung for {seconds:.0f} s" if seconds is not None else found.get(place, "")
            if isinstance(answer, str):
                absent |= {(where, signal): answer or "not asked" for signal in live.SIGNALS}
            else:
                signals += [Signal(where, signal, value) for signal, value in answer.items()]
        return Reading(source=self.name, at=now, signals=signals, absent=absent)

    def abandon(self) -> bool:
        return self._reads.abandon()

    def _one(self, place: PortPlace, interface: str, found: dict[PortPlace, dict[str, float] | str]) -> None:
        try:
            found[place] = live.signals(self._ask(interface)) if self._ask else {}
        except OSError as error:
            found[place] = f"statistics of {interface}: {error_text(error)}"


def _interface(place: PortPlace) -> str:
    """The interface of an Ethernet port. Read each time, because an interface may be renamed."""
    if text_or_nothing(f"{place.path}/link_layer") != "Ethernet":
        return ""
    return os.path.basename(text_or_nothing(f"{place.path}/gid_attrs/ndevs/0"))
