"""pcie.link: a link that trained narrower or slower than both its ends can do, or that went down."""

from dataclasses import replace

from holdfast.formats.pci.sysfs import speed_name
from holdfast.model import subject
from holdfast.model.health import FailureClass, Health
from holdfast.model.subject import Subject, local_name
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.pcie.link_events import EVENT_SECONDS, judge_events

_WIDTH, _SPEED = "pci_link_width_lanes", "pci_link_speed_transfers_per_second"
_MAX = {_WIDTH: "pci_max_link_width_lanes", _SPEED: "pci_max_link_speed_transfers_per_second"}


def judge(window: Window, limits: Limits) -> Verdict:
    rows, evidence = [], []
    for device, width in window.values(_WIDTH).items():
        if not window.number(device, "pci_own_link"):
            continue  # a root or downstream port: judged at the device below it
        row = _judge_width(window, device, width, limits)
        speed = window.number(device, _SPEED)
        if row.health is Health.PASS and speed is not None:
            row, text = _judge_speed(window, device, speed, row, limits)
            evidence += text
        rows.append(row)
    reported, kernel_evidence = judge_events(window, rows)
    lost = FailureClass.CRASH if any(row.health is Health.FAIL for row in reported) else None
    unseen = {row.subject for row in reported}
    seen = [row for row in rows if row.subject not in unseen]
    return Verdict(rows=(*seen, *reported), evidence=(*evidence, *kernel_evidence), failure_class=lost)


def _judge_width(window: Window, device: Subject, width: float, limits: Limits) -> Row:
    expected, whose = _expected(window, device, _WIDTH)
    if expected is None and window.value(device, "pci_role") != "bridge":
        return _nothing_to_compare(window, device, _WIDTH)
    if expected is None or width >= expected:
        return Row(device, Health.PASS, width, expected)
    reason = f"{_role(window, device)} runs at x{width:.0f}, {whose} x{expected:.0f}"
    return Row(device, _health(window, device, width / expected, limits), width, expected, reason)


def _judge_speed(
    window: Window, device: Subject, speed: float, width_row: Row, limits: Limits
) -> tuple[Row, list[str]]:
    expected, whose = _expected(window, device, _SPEED)
    if expected is None and window.value(device, "pci_role") != "bridge":
        return _nothing_to_compare(window, device, _SPEED), []
    if expected is None or speed >= expected:
        return width_row, []
    reason = f"{_role(window, device)} runs at {speed_name(speed)}, {whose} {speed_name(expected)}"
    health = _health(window, device, speed / expected, limits)
    if window.value(device, "pci_role") == "gpu":
        slow = window.runs(device, _SPEED)[-1]
        long_enough = limits["slow_seconds"]
        if slow.end - max(slow.start, _busy_since(window, device, limits)) < long_enough:
            health = Health.DEGRADED  # not busy, or not for long: it may speed up when it has work
            if speed <= limits["power_saving_transfers_per_second"]:
                return width_row, [f"{local_name(device)}: {reason}; a GPU without work does so to save power"]
            if slow.end - slow.start < long_enough:
                early = f"{reason}; one reading: not judged, a GPU may speed up when it has work"
                return replace(width_row, reason=early), [f"{local_name(device)}: {early}"]
    return Row(device, health, speed, expected, reason), []


def _nothing_to_compare(window: Window, device: Subject, name: str) -> Row:
    why = window.why_absent(device, _MAX[name])
    return Row(device, Health.UNKNOWN, reason=f"the capability of its link is not known: {why}")


def _expected(window: Window, device: Subject, name: str) -> tuple[float | None, str]:
    """The expected value from the manifest, or the maximum that both ends of the link support."""
    reported = window.inventory.expect.get(device, {}).get(name)
    if isinstance(reported, int | float):
        return float(reported), "the manifest says"
    parent = str(window.value(device, "pci_parent") or "")
    above = subject.pci(window.inventory.node, parent)
    ends = [window.number(device, _MAX[name]), window.number(above, _MAX[name]) if parent else None]
    known = [end for end in ends if end is not None]
    if window.value(device, "pci_role") == "bridge" and len(known) < 2:
        return None, ""  # a port alone: the expected device at the other end is not known
    return min(known, default=None), "both ends support" if len(known) == 2 else "it supports"


def _health(window: Window, device: Subject, ratio: float, limits: Limits) -> Health:
    """Storage and plain Ethernet do not carry collectives: a slow link is a note, not a fault."""
    role = window.value(device, "pci_role")
    minor = role == "nvme" or (role == "nic" and not window.number(device, "pci_rdma"))
    return Health.FAIL if ratio <= limits["fail_ratio"] and not minor else Health.DEGRADED


def _busy_since(window: Window, device: Subject, limits: Limits) -> float:
    """Since when a GPU has been busy without a pause; now if it is idle."""
    gpu = window.inventory.subject_of(device.rpartition("/")[2])
    busy_since = window.now
    for run in reversed(window.runs(gpu, "gpu_utilization_ratio")):
        if float(run.value) < limits["busy_utilization_ratio"]:
            break
        busy_since = run.start
    return busy_since


def _role(window: Window, device: Subject) -> str:
    words = {"gpu": "GPU", "nic": "NIC", "nvme": "NVMe drive", "nvswitch": "NVSwitch", "bridge": "the switch port"}
    return words.get(str(window.value(device, "pci_role")), "device")


CHECK = Check(
    name="pcie.link",
    asks="Does every GPU, NIC, NVSwitch and NVMe drive have the PCI Express link that both its ends support?",
    about="pci",
    part="pci",
    reads=(_WIDTH, _SPEED),
    judge=judge,
    failure_class=FailureClass.SLOWDOWN,
    remedy="drain the node and reboot it once, to train the link again; if it stays, reseat the card, riser or cable",
    owner="hardware",
    span=EVENT_SECONDS,
    limits={
        "fail_ratio": 0.5,
        "busy_utilization_ratio": 0.1,
        "slow_seconds": 60.0,
        "power_saving_transfers_per_second": 5e9,
    },
    event_kinds=("pcie_link",),
)
