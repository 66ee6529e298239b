"""node.topology: each GPU should share PCI switch and NUMA node with the NIC that belongs to it."""

from holdfast.model.health import FailureClass, Health
from holdfast.model.manifest import TOPOLOGY
from holdfast.model.signal import Value
from holdfast.model.subject import Subject, kind
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.node.inventory import NO_MANIFEST

_WORDS = {"pci_switch": "PCI switch", "pci_parent": "upstream port", "pci_numa_node": "NUMA node"}


def judge(window: Window, limits: Limits) -> Verdict:
    placed = {
        subject: {name: values[name] for name in TOPOLOGY if name in values}
        for subject, values in window.inventory.expect.items()
        if kind(subject) == "pci"
    }
    if not any(placed.values()):
        return Verdict(rows=(Row(window.node, Health.UNKNOWN, reason=NO_MANIFEST),))
    rows = [_judge_place(window, subject, wanted) for subject, wanted in placed.items() if wanted]
    rows.append(Row(window.node, Health.PASS))
    return Verdict(rows=tuple(rows), evidence=tuple(_pairs(window)))


def _judge_place(window: Window, device: Subject, wanted: dict[str, Value]) -> Row:
    if window.value(device, "pci_role") is None:  # node.inventory reports that it is missing
        return Row(device, Health.UNKNOWN, reason=window.why_absent(device, "pci_role"))
    moved = []
    for name, place in wanted.items():
        value = window.value(device, name)
        if value != place:
            moved.append(f"{_WORDS[name]} {_text(value)} instead of {_text(place)}")
    if not moved:
        return Row(device, Health.PASS)
    return Row(device, Health.DEGRADED, reason=f"is in another place than the manifest says: {', '.join(moved)}")


def _text(place: Value | None) -> str:
    return "none" if place is None else f"{place:g}" if isinstance(place, float | int) else place


def _pairs(window: Window) -> list[str]:
    """Which NICs share a switch with which GPU, as evidence."""
    by_switch: dict[str, dict[str, list[str]]] = {}
    for device in window.inventory.expected("pci"):
        role, switch = window.value(device, "pci_role"), window.value(device, "pci_switch")
        if role in ("gpu", "nic") and isinstance(switch, str) and switch:
            by_switch.setdefault(switch, {}).setdefault(str(role), []).append(device.rpartition("/")[2])
    return [
        f"switch {switch}: GPU {', '.join(parts['gpu'])} with NIC {', '.join(parts.get('nic', ['none']))}"
        for switch, parts in sorted(by_switch.items())
        if "gpu" in parts
    ]


CHECK = Check(
    name="node.topology",
    asks="Do GPUs and NICs sit on the PCI switches and NUMA nodes they were built on?",
    about="node",
    part="pci",
    reads=(),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="compare BIOS settings (NUMA per socket, bifurcation) and slots with a good node",
    owner="hardware",
)
