"""Shared code of port checks: the ports that they apply to."""

from holdfast.model.inventory import natural
from holdfast.model.subject import Subject, kind
from holdfast.model.window import Window


def expected_ports(window: Window) -> list[Subject]:
    """Ports that should be up: seen up before, with peers that are up, or in the manifest."""
    ports = window.values("port_expected")
    reported = {port for port, expected in ports.items() if expected or port in window.inventory.subjects}
    listed = {subject for subject in window.inventory.subjects if kind(subject) == "nic"}
    return sorted(reported | listed, key=natural)


def why_not_seen(window: Window, port: Subject) -> str:
    """For a port of the manifest that the node does not show; '' for one that is there, or if none can be read."""
    there = window.values("port_expected")
    return "" if port in there or not there else "no such port is seen on this node; the manifest lists it"


def device_and_number(port: Subject) -> tuple[str, str]:
    """'node/n1/nic/mlx5_4/1' -> ('mlx5_4', '1')."""
    device, _, number = port.split("/", 3)[3].rpartition("/")
    return device, number


def for_seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
