"""Which RDMA ports a machine has, InfiniBand and RoCE alike. Excluded devices are never opened."""

import os
from collections.abc import Collection
from typing import NamedTuple

from holdfast.catalog import nics
from holdfast.formats.pci import sysfs as pcie
from holdfast.node.sources.open_files import read_text


class PortPlace(NamedTuple):
    device: str
    number: str
    path: str  # .../class/infiniband/DEVICE/ports/NUMBER
    pci_address: str  # '' where sysfs does not tell

    @property
    def name(self) -> str:
        return f"{self.device}/{self.number}"


class Identity(NamedTuple):
    """The properties that identify a port's model; '' if sysfs lacks one."""

    link_layer: str
    firmware_version: str
    board_id: str
    hca_type: str


def root_of(sys: str) -> str:
    return os.path.join(sys, "class", "infiniband")


def find_ports(sys: str, exclude: Collection[str]) -> list[PortPlace]:
    """Every port of every device that is not excluded. OSError when the class itself cannot be listed."""
    root = root_of(sys)
    places = []
    for device in sorted(os.listdir(root)):
        address = "" if device in exclude else _pci_address(os.path.join(root, device))
        if device in exclude or address in exclude:
            continue
        ports = os.path.join(root, device, "ports")
        places += [
            PortPlace(device, number, os.path.join(ports, number), address)
            for number in _listing(ports)
            if number.isdecimal()
        ]
    return places


_MAKES = {"0x1d0f": nics.EFA}  # PCI vendors whose driver prints no hca_type -> model


def identify(place: PortPlace) -> Identity:
    device = os.path.dirname(os.path.dirname(place.path))
    return Identity(
        link_layer=_text(os.path.join(place.path, "link_layer")),
        firmware_version=_text(os.path.join(device, "fw_ver")),
        board_id=_text(os.path.join(device, "board_id")),
        hca_type=_text(os.path.join(device, "hca_type")) or _make(device),
    )


def _make(device: str) -> str:
    return _MAKES.get(_text(os.path.join(device, "device", "vendor")), "")


def _pci_address(device: str) -> str:
    """The PCI address from the targets of links, which are not opened."""
    return pcie.address(os.path.basename(os.path.realpath(os.path.join(device, "device"))))


def _listing(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path), key=lambda name: (len(name), name))
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        return read_text(path)
    except OSError:
        return ""
