"""PCI Express links, AER counters and topology of GPUs, NVSwitches, NICs, NVMe drives and the ports above them."""

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass

from holdfast.formats.pci import sysfs as pcie
from holdfast.model import subject
from holdfast.model.signal import Reading, Signal, Value
from holdfast.model.subject import Subject
from holdfast.node.sources.open_files import error_text, read_text

_MELLANOX = 0x15B3
_LINK_FILES = (
    ("current_link_speed", "pci_link_speed_transfers_per_second", pcie.link_speed),
    ("max_link_speed", "pci_max_link_speed_transfers_per_second", pcie.link_speed),
    ("current_link_width", "pci_link_width_lanes", pcie.link_width),
    ("max_link_width", "pci_max_link_width_lanes", pcie.link_width),
)
_AER_KINDS = ("correctable", "nonfatal", "fatal")
_GONE = "the device disappeared from the PCI bus"


@dataclass(frozen=True, slots=True)
class _Device:
    address: str
    path: str
    role: str
    vendor: int
    pci_class: int
    rdma: bool
    ancestors: tuple[str, ...]  # root port first

    @property
    def parent(self) -> str:
        return self.ancestors[-1] if self.ancestors else ""

    @property
    def has_own_link(self) -> bool:
        """Whether the function has a link of its own. An upstream port of a switch has a link to the port above it. A
        root or downstream port is the far end of the link of the device below it."""
        return self.role != "bridge" or len(self.ancestors) % 2 == 1

    @property
    def switch(self) -> str:
        """The upstream port of the topmost switch it sits behind; '' when it hangs on a root port."""
        return self.ancestors[1] if len(self.ancestors) >= 3 else ""


class PcieSource:
    name = "pcie"
    every = 60.0
    deadline = 20.0
    carries = ("pci_link_speed_transfers_per_second", "pci_max_link_speed_transfers_per_second",
               "pci_link_width_lanes", "pci_max_link_width_lanes", "pci_aer_correctable_total",
               "pci_aer_nonfatal_total", "pci_aer_fatal_total", "pci_role", "pci_parent")  # fmt: skip

    def __init__(self, node: str, sys: str = "/sys", exclude: Collection[str] = ()) -> None:
        self._node = node
        self._root = os.path.join(sys, "bus", "pci", "devices")
        self._exclude = frozenset(exclude)
        self._known: dict[str, _Watched | None] = {}  # None: inspected once, not needed
        self._linked: set[str] = set()  # devices that once showed a link of their own, so that its loss is noticed

    def read(self, now: float) -> Reading:
        try:
            addresses = {name for name in os.listdir(self._root) if pcie.address(name)} - self._exclude
        except OSError as error:
            return Reading(source=self.name, at=now, blind=f"no PCI bus: {self._root}: {error_text(error)}")
        self._learn(addresses)
        signals: list[Signal] = []
        absent: dict[tuple[Subject, str], str] = {}
        for address, watched in self._known.items():
            if watched:
                watched.read(signals, absent)
                if watched.shows_a_link:
                    self._linked.add(address)
        for address in self._linked - addresses:
            for name in self.carries:
                absent[(subject.pci(self._node, address), name)] = _GONE
        if not self._linked:
            why = "no GPU, NVSwitch, NIC or NVMe drive with a PCI Express link"
            return Reading(source=self.name, at=now, blind=why)
        present = [subject.pci(self._node, address) for address in sorted(self._linked)]
        return Reading(source=self.name, at=now, signals=signals, absent=absent, present=present)

    def _learn(self, addresses: set[str]) -> None:
        for address in self._known.keys() - addresses:
            del self._known[address]  # a device that returns may be another one
        for address in sorted(addresses - self._known.keys()):
            self._watch(address)
        wanted = [known.device for known in self._known.values() if known and known.device.role != "bridge"]
        for ancestor in {above for device in wanted for above in device.ancestors} & addresses:
            if self._known[ancestor] is None:
                self._watch(ancestor, role="bridge")

    def _watch(self, address: str, role: str = "") -> None:
        device = _inspect(self._root, address, role)
        self._known[address] = _Watched(self._node, device) if device else None


def _inspect(root: str, address: str, role: str = "") -> _Device | None:
    """The kind of a device; None if no check needs it, such as virtual functions, which have no link."""
    path = os.path.join(root, address)
    try:
        vendor = pcie.hex_id(read_text(os.path.join(path, "vendor")))
        pci_class = pcie.hex_id(read_text(os.path.join(path, "class")))
    except OSError:
        return None
    if vendor is None or pci_class is None or os.path.lexists(os.path.join(path, "physfn")):
        return None
    role = role or pcie.role(vendor, pci_class)
    if not role:
        return None
    rdma = role == "nic" and (vendor == _MELLANOX or os.path.isdir(os.path.join(path, "infiniband")))
    above = os.path.dirname(os.path.realpath(path)).split(os.sep)
    domain = address.partition(":")[0]  # a controller with its own domain (Intel VMD) is not a port above its drives
    ancestors = tuple(part for part in above if pcie.address(part) and part.startswith(f"{domain}:"))
    return _Device(address, path, role, vendor, pci_class, rdma, ancestors)


def _identities(where: Subject, device: _Device) -> list[Signal]:
    values: dict[str, Value] = {
        "pci_role": device.role,
        "pci_vendor": f"0x{device.vendor:04x}",
        "pci_class": f"0x{device.pci_class:06x}",
        "pci_device": _text(device.path, "device"),
        "pci_parent": device.parent,
        "pci_switch": device.switch,
    }
    signals = [Signal(where, name, value) for name, value in values.items() if value]
    signals.append(Signal(where, "pci_rdma", float(device.rdma)))
    signals.append(Signal(where, "pci_own_link", float(device.has_own_link)))
    numa = _text(device.path, "numa_node")
    if numa.isdecimal():  # -1 means that the firmware does not tell
        signals.append(Signal(where, "pci_numa_node", float(numa)))
    return signals


def _text(path: str, name: str) -> str:
    try:
        return read_text(os.path.join(path, name))
    except OSError:
        return ""


class _Watched:
    """One device: its identity, and the last content of its files. Text that did not change is not parsed again."""

    def __init__(self, node: str, device: _Device) -> None:
        self.device = device
        self.subject = subject.pci(node, device.address)
        self._identities = _identities(self.subject, device)
        self._links = [_File(device.path, file, name, parse) for file, name, parse in _LINK_FILES]
        self._errors = [_AerFile(device.path, kind) for kind in _AER_KINDS]

    @property
    def shows_a_link(self) -> bool:
        return self.device.has_own_link and bool(self._links[-1].signals)

    def read(self, signals: list[Signal], absent: dict[tuple[Subject, str], str]) -> None:
        signals += self._identities
        for file in (*self._links, *self._errors):
            file.read(self.subject)
            signals += file.signals
            if file.why_absent:
                absent[(self.subject, file.name)] = file.why_absent


class _File:
    """A file with one value."""

    def __init__(self, folder: str, file: str, name: str, parse: Callable[[str], float | None]) -> None:
        self.file = file
        self.name = name
        self.signals: list[Signal] = []
        self.why_absent = ""
        self._path = os.path.join(folder, file)
        self._parse = parse
        self._text: str | None = None

    def read(self, where: Subject) -> None:
        try:
            text = read_text(self._path)
        except OSError as error:
            self._text = None
            self.signals = []
            self.why_absent = self.refusal(error)
            return
        if text != self._text:
            self._text = text
            self.signals = self.take(where, text)
            self.why_absent = "" if self.signals else f"{self.file} reads {text[:40]!r}"

    def take(self, where: Subject, text: str) -> list[Signal]:
        value = self._parse(text)
        return [] if value is None else [Signal(where, self.name, float(value))]

    def refusal(self, error: OSError) -> str:
        return f"{self.file} cannot be read: {error_text(error)}"


class _AerFile(_File):
    """A file with a counter per line: the total, and by name those that are not zero."""

    def __init__(self, folder: str, kind: str) -> None:
        super().__init__(folder, f"aer_dev_{kind}", f"pci_aer_{kind}_total", lambda text: None)
        self._kind = kind

    def take(self, where: Subject, text: str) -> list[Signal]:
        counters = pcie.aer_counters(text)
        total = pcie.aer_total(counters)
        if total is None:
            return []
        named = [
            Signal(where, pcie.aer_signal(self._kind, error), float(count))
            for error, count in counters.items()
            if count and not error.startswith("TOTAL_")
        ]
        return [Signal(where, self.name, float(total)), *named]

    def refusal(self, error: OSError) -> str:
        if isinstance(error, FileNotFoundError):
            return "no AER counters: the kernel does not handle AER for this device"
        return super().refusal(error)
