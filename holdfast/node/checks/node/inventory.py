"""node.inventory: what the manifest lists against what is there. Parts are identified by PCI address, not by index:
when a GPU disappears, later ones are renumbered, and only the missing one should be named."""

from collections.abc import Mapping

from holdfast.model.health import FailureClass, Health
from holdfast.model.manifest import HARDWARE
from holdfast.model.signal import Value
from holdfast.model.subject import Subject, kind
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits

NO_MANIFEST = "no manifest: run `holdfast node learn` on a good node and name the file in the configuration"
_ADDRESS = {"gpu": "gpu_pci_address", "nic": "port_pci_address"}
_IDENTITY = {"gpu": ("gpu_model", "gpu_pci_address"), "nic": ("port_state", "port_link_layer"), "pci": ("pci_role",)}
_WORDS = {"gpu": "GPUs", "nic": "RDMA ports", "pci": "PCI devices"}
_EXTRA_ROLES = ("gpu", "nic", "nvswitch")  # roles of which an extra part is reported; an extra drive is not


def judge(window: Window, limits: Limits) -> Verdict:
    expect = window.inventory.expect
    if not expect:
        return Verdict(rows=(Row(window.node, Health.UNKNOWN, reason=NO_MANIFEST),))
    rows, evidence = [], []
    for part in _IDENTITY:
        listed = [subject for subject in expect if kind(subject) == part]
        there = _there(window, part)
        if not listed:
            continue
        mine = [_judge_part(window, subject, expect[subject], there, limits) for subject in listed]
        rows += mine + _extra(window, part, listed, there)
        found = sum(row.health is Health.PASS or row.value is not None for row in mine)
        evidence.append(f"{found} of {len(listed)} {_WORDS[part]} that the manifest lists were found")
    rows.append(_judge_node(window, expect.get(window.node, {}), limits))
    return Verdict(rows=tuple(rows), evidence=tuple(evidence))


def _there(window: Window, part: str) -> dict[Subject, str]:
    """Parts of this kind that answer now, with their PCI address where they have one."""
    seen = [
        subject
        for subject in window.inventory.expected(part)
        if any(window.value(subject, name) is not None for name in _IDENTITY[part])
    ]
    name = _ADDRESS.get(part)
    return {subject: str((name and window.value(subject, name)) or "") for subject in seen}


def _judge_part(
    window: Window, listed: Subject, wanted: Mapping[str, Value], there: Mapping[Subject, str], limits: Limits
) -> Row:
    part = kind(listed)
    if not there and (why := _blind(window, part, listed)):
        return Row(listed, Health.UNKNOWN, reason=why)
    address = wanted.get(_ADDRESS.get(part, ""))
    found = _find(listed, address if _alone_at(window, part, address) else None, there)
    if found is None:
        place = f" at {address}" if address and part != "pci" else ""
        return Row(listed, Health.FAIL, None, "present", f"the manifest lists it{place}, and it is missing")
    return _compare(window, listed, found, wanted, limits)


def _find(listed: Subject, address: Value | None, there: Mapping[Subject, str]) -> Subject | None:
    """The part with this address, or with this name if it has no address."""
    if address and all(there.values()):
        return next((subject for subject, at in there.items() if at == address), None)
    return listed if listed in there else None


def _alone_at(window: Window, part: str, address: Value | None) -> bool:
    """Two ports of one network card share an address, so it does not identify them."""
    name = _ADDRESS.get(part, "")
    listed = [values.get(name) for subject, values in window.inventory.expect.items() if kind(subject) == part]
    return listed.count(address) == 1


def _blind(window: Window, part: str, listed: Subject) -> str:
    """Why no part of this kind was read, or '' if the source answers and has none: the driver for GPUs, the kernel for
    ports."""
    if part == "gpu" and window.value(window.node, "driver_version") is not None:
        return ""
    if part == "nic" and _there(window, "pci"):
        return ""
    return window.why_absent(listed, _IDENTITY[part][0])


def _compare(window: Window, listed: Subject, found: Subject, wanted: Mapping[str, Value], limits: Limits) -> Row:
    for name in HARDWARE:
        if name not in wanted:
            continue
        value = window.value(found, name)
        if value is None:
            return Row(listed, Health.UNKNOWN, None, wanted[name], window.why_absent(found, name))
        if not _equal(value, wanted[name], limits["tolerance_ratio"]):
            reason = f"{name} is {value}, the manifest says {wanted[name]}"
            return Row(listed, Health.FAIL, value, wanted[name], reason)
    return Row(listed, Health.PASS)


def _equal(value: Value, wanted: Value, tolerance: float) -> bool:
    if isinstance(value, str) or isinstance(wanted, str):
        return value == wanted
    return abs(value - wanted) <= tolerance * abs(wanted)


def _extra(window: Window, part: str, listed: list[Subject], there: Mapping[Subject, str]) -> list[Row]:
    """Parts that the manifest does not list, by address if they have one, so that a shifted index does not count."""
    known = {str(window.inventory.expect[subject].get(_ADDRESS.get(part, ""), "")) for subject in listed} - {""}
    extra = [
        subject
        for subject, address in there.items()
        if (address not in known if address and known else subject not in listed) and _counts(window, part, subject)
    ]
    return [Row(subject, Health.DEGRADED, "present", None, "is present, not in the manifest") for subject in extra]


def _counts(window: Window, part: str, subject: Subject) -> bool:
    if part == "pci":
        return window.value(subject, "pci_role") in _EXTRA_ROLES
    return part != "nic" or bool(window.number(subject, "port_expected"))


def _judge_node(window: Window, wanted: Mapping[str, Value], limits: Limits) -> Row:
    row = _compare(window, window.node, window.node, wanted, limits)
    return row if row.reason else Row(window.node, Health.PASS)


CHECK = Check(
    name="node.inventory",
    asks="Is every part there that the manifest lists, and of the right kind?",
    about="node",
    part="manifest",
    reads=(),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="a part is gone from the PCI bus: cold reboot, then a technician; a wrong manifest: holdfast node learn",
    owner="hardware",
    limits={"tolerance_ratio": 0.02},
)
