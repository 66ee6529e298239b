"""pcie.aer: errors the PCI Express hardware reports about itself (Advanced Error Reporting).

Two data sources: the growth of sysfs counters, and kernel messages, which also cover devices without readable counters
and devices that fell off the bus.
"""

from collections.abc import Sequence

from holdfast.model import subject
from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.subject import Subject, kind, local_name
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Run, Window, increase
from holdfast.node.checks import single_reading
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.event_rows import counted, describe_all, since, total

_FATAL, _NONFATAL, _CORRECTABLE = (f"pci_aer_{kind}_total" for kind in ("fatal", "nonfatal", "correctable"))
_MINUTE = 60.0
_RESEAT = "reseat the card, the riser or the cable at the named address; replace it if the errors return"
_GROWTH_SECONDS = 900.0
_EVENT_SECONDS = 3600.0
_LEAST_HISTORY_SECONDS = 60.0


def judge(window: Window, limits: Limits) -> Verdict:
    totals = {name: window.values(name) for name in (_FATAL, _NONFATAL, _CORRECTABLE)}
    devices = [device for device in totals[_FATAL] if device in totals[_NONFATAL] or device in totals[_CORRECTABLE]]
    reported = _events_by_device(window)
    rows = [_judge_events(reported.pop(device, []), _judge_counters(window, device, limits)) for device in devices]
    for device, events in reported.items():
        row = _judge_events(events, Row(device, Health.PASS))
        if row.health is not Health.PASS:
            rows.append(row)
    crash = any(row.health is Health.FAIL for row in rows)
    return Verdict(
        rows=tuple(rows),
        evidence=single_reading.evidence_of_one_reading(rows)
        + describe_all(since(window, _EVENT_SECONDS, "aer"), window.now)
        + _since_boot(totals),
        remedy=f"drain the node; {_RESEAT}" if crash else "",
        failure_class=FailureClass.CRASH if crash else FailureClass.SLOWDOWN,
    )


def _events_by_device(window: Window) -> dict[Subject, list[Event]]:
    by_device: dict[Subject, list[Event]] = {}
    for event in since(window, _EVENT_SECONDS, "aer"):
        by_device.setdefault(_device(window, event), []).append(event)
    return by_device


def _device(window: Window, event: Event) -> Subject:
    """The PCI function in the message; the node if a firmware record names none."""
    if kind(event.subject) == "pci":
        return event.subject
    return subject.pci(window.inventory.node, event.device) if event.device else window.node


def _judge_events(events: list[Event], counted_row: Row) -> Row:
    """Kernel events of the last hour, unless the counters show as much or worse."""
    for severity, health in (("fatal", Health.FAIL), ("nonfatal", Health.DEGRADED)):
        found = [event for event in events if event.severity == severity]
        if counted_row.health in (Health.FAIL, health):
            return counted_row
        if found:
            message = "fatal" if severity == "fatal" else "uncorrectable (non-fatal)"
            contained = ", the kernel cut the link (DPC)" if any(event.code == "contained" for event in found) else ""
            text = f"the kernel reported {counted(total(found), f'{message} PCIe error')} in the last hour{contained}"
            return Row(counted_row.subject, health, float(total(found)), 0.0, f"{text} [{found[-1].text}]")
    return counted_row


def _judge_counters(window: Window, device: Subject, limits: Limits) -> Row:
    minutes = _GROWTH_SECONDS / _MINUTE
    runs = [_recent(window, device, name) for name in (_FATAL, _NONFATAL, _CORRECTABLE)]
    fatal, nonfatal, correctable = map(increase, runs)
    if fatal > 0:
        return Row(device, Health.FAIL, fatal, 0.0, f"{fatal:.0f} fatal PCIe errors in {minutes:.0f} min")
    if nonfatal >= 1:
        health = Health.FAIL if nonfatal >= limits["fail_nonfatal"] else Health.DEGRADED
        reason = f"{nonfatal:.0f} uncorrectable (non-fatal) PCIe errors in {minutes:.0f} min"
        return Row(device, health, nonfatal, limits["fail_nonfatal"], reason)
    rate = correctable / minutes
    if rate > limits["correctable_per_minute"]:
        limit = limits["correctable_per_minute"]
        reason = f"{rate:.1f} corrected PCIe errors a minute, limit {limit:g}"
        return Row(device, Health.DEGRADED, round(rate, 2), limit, reason)
    row = Row(device, Health.PASS, fatal, 0.0)
    young = max(map(single_reading.seconds_seen, runs)) < _LEAST_HISTORY_SECONDS
    return single_reading.not_judged(row) if young else row


def _recent(window: Window, device: Subject, name: str) -> Sequence[Run]:
    return [run for run in window.runs(device, name) if window.now - run.end <= _GROWTH_SECONDS]


def _since_boot(totals: dict[str, dict[Subject, float]]) -> tuple[str, ...]:
    words = {_FATAL: "fatal", _NONFATAL: "non-fatal", _CORRECTABLE: "corrected"}
    return tuple(
        f"{local_name(device)}: {count:.0f} {words[name]} errors since boot"
        for name, by_device in totals.items()
        for device, count in by_device.items()
        if count
    )


CHECK = Check(
    name="pcie.aer",
    asks="Does any GPU, NIC, drive or switch port report PCI Express errors?",
    about="pci",
    part="pci",
    reads=(_FATAL, _NONFATAL, _CORRECTABLE),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy=_RESEAT,
    owner="hardware",
    span=_EVENT_SECONDS,
    limits={"fail_nonfatal": 10.0, "correctable_per_minute": 10.0},
    event_kinds=("aer",),
)
